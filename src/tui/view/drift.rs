//! What differs between ledger and world after an unclean stop: item by item, with what accepting it does.

use super::{details_area, empty, window};
use crate::ledger::read::DriftRow;
use crate::tui::app::Model;
use crate::tui::text::{Line, labelled, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, TableRow, cell, draw as draw_table};
use ratatui::layout::Rect;

const LABEL: usize = 12;
const COLUMNS: &[Column] = &[
    Column::text("about", 12, 18, 0),
    Column::text("is", 8, 8, 1),
    Column::text("in", 15, 16, 4),
    Column::number("found", 5, 5, 3),
    Column::text("the world says", 16, 200, 2),
];

/// The rule above the list.
pub fn title(model: &Model) -> (String, String) {
    let held = model.snapshot.overview.held;
    let left = match held {
        0 => "Differences".to_owned(),
        1 => "Differences: 1 holds the engine".to_owned(),
        many => format!("Differences: {many} hold the engine"),
    };
    let mut right = Vec::new();
    if !model.drift_marks.is_empty() {
        right.push(format!("{} marked", model.drift_marks.len()));
    }
    let note = super::list_note(model);
    if !note.is_empty() {
        right.push(note);
    }
    (left, right.join(" · "))
}

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    if model.snapshot.drift.is_empty() {
        let text = "The ledger and the world agree, as far as they were compared. After an unclean stop what \
                    differs is listed here, and nothing is started before it is accepted.";
        empty(painter, area, model, text);
        return;
    }
    let rows = window(
        model,
        &model.snapshot.drift,
        |row| row.item.0.clone(),
        |row| cells(model, row),
    );
    let shown = model.snapshot.drift.iter().skip(model.list().offset);
    let rows: Vec<TableRow> = rows
        .into_iter()
        .zip(shown)
        .map(|(cells, row)| TableRow {
            marked: model.drift_marks.contains(row.item.as_str()),
            ..cells
        })
        .collect();
    draw_table(painter, area, COLUMNS, &rows);
}

fn standing(row: &DriftRow) -> (String, Role) {
    match row.state.as_str() {
        "open" => ("! open".to_owned(), Role::Bad),
        other => (other.to_owned(), Role::Dim),
    }
}

fn cells(model: &Model, row: &DriftRow) -> Vec<Line> {
    let (word, role) = standing(row);
    let about = row.job.as_ref().map_or("the goal", |job| job.as_str());
    vec![
        cell(about),
        Line::of(word, role),
        cell(&row.kind.word().replace('_', " ")),
        Line::dim(time::span(model.snapshot.now().since(row.found_at))),
        cell(&row.world_says),
    ]
}

/// Both sides of the difference under the cursor, and what accepting it does.
pub fn draw_details(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let inner = details_area(painter, area);
    let Some(row) = model.difference() else {
        return;
    };
    let width = usize::from(inner.width);
    let (word, role) = standing(row);
    let about = row.job.as_ref().map_or("the goal", |job| job.as_str());
    let mut lines = vec![
        Line::of(word, role)
            .with("  ", Role::Text)
            .with(about, Role::Strong)
            .with(format!("  {}", row.item), Role::Dim),
    ];
    let mut add =
        |name: &str, text: &str, role| lines.extend(labelled(name, text, role, LABEL, width));
    add("ledger says", &row.ledger_says, Role::Text);
    add("world says", &row.world_says, Role::Warn);
    if row.state == "open" {
        add("accepting", &row.accepting, Role::Text);
    } else {
        add("how", &row.how, Role::Text);
    }
    if row.state == "open" {
        lines.push(if model.read_only {
            Line::dim("read-only: nothing can be decided here")
        } else if model.arming_left().is_some() {
            Line::dim("A wakes in a moment")
        } else {
            Line::of("A", Role::Key)
                .with(" accept   ", Role::Text)
                .with("*", Role::Key)
                .with(" mark all   ", Role::Text)
                .with("r", Role::Key)
                .with(" look again", Role::Text)
        });
    }
    painter.lines(inner, &lines);
}
