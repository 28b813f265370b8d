//! Operations of unknown outcome.

use super::{empty, window};
use crate::ledger::read::OperationRow;
use crate::tui::app::Model;
use crate::tui::text::{Line, sentence, state, time};
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column {
        title: "job",
        min: 18,
        max: 28,
        priority: 0,
        right: false,
    },
    Column {
        title: "outcome",
        min: 12,
        max: 12,
        priority: 1,
        right: false,
    },
    Column {
        title: "what was asked",
        min: 14,
        max: 24,
        priority: 3,
        right: false,
    },
    Column {
        title: "age",
        min: 4,
        max: 4,
        priority: 2,
        right: true,
    },
    Column {
        title: "looks at",
        min: 11,
        max: 11,
        priority: 5,
        right: false,
    },
    Column {
        title: "what was seen",
        min: 24,
        max: 200,
        priority: 4,
        right: false,
    },
];

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let rows = &model.snapshot.unsettled;
    if rows.is_empty() {
        empty(
            painter,
            area,
            model,
            "Every operation has a known outcome. One that stays unknown after look-ups appears here.",
        );
        return;
    }
    let rows = window(
        model,
        rows,
        |row| row.operation.0.clone(),
        |row| cells(model, row),
    );
    draw_table(painter, area, COLUMNS, &rows);
}

fn cells(model: &Model, row: &OperationRow) -> Vec<Line> {
    let shot = &model.snapshot;
    let standing = state::of_operation(row.state, row.to_verify);
    let look = row
        .next_look
        .map(|at| time::instant(at, shot.now(), &shot.zone));
    vec![
        cell(row.job.as_str()),
        Line::of(
            format!("{} {}", standing.glyph, standing.word),
            standing.role,
        ),
        cell(sentence::action_word(&row.action)),
        Line::dim(time::span(shot.now().since(row.intended_at))),
        Line::dim(look.unwrap_or_default()),
        cell(&row.why),
    ]
}
