//! What waits for what, when it is looked at again, and what is overdue.

use super::empty;
use crate::ledger::read::JobRow;
use crate::tui::app::Model;
use crate::tui::app::snapshot::Snapshot;
use crate::tui::text::{Line, state, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, TableRow, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("job", 18, 28, 0),
    Column::text("waits for", 14, 14, 1),
    Column::number("since", 5, 5, 5),
    Column::text("looks at", 11, 11, 3),
    Column::text("overdue at", 11, 11, 4),
    Column::text("why", 20, 200, 2),
];

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let Some(jobs) = model
        .snapshot
        .jobs
        .as_ref()
        .filter(|jobs| !jobs.ids.is_empty())
    else {
        empty(painter, area, model, "Nothing waits.");
        return;
    };
    let list = model.list();
    let rows: Vec<TableRow> = jobs
        .ids
        .iter()
        .skip(list.offset)
        .take(model.list_height())
        .map(|id| TableRow {
            cells: match jobs.rows.get(id) {
                Some(row) => cells(row, &model.snapshot),
                None => vec![cell(id.as_str())],
            },
            selected: list.target() == Some(id.as_str()),
            marked: false,
        })
        .collect();
    draw_table(painter, area, COLUMNS, &rows);
}

fn cells(row: &JobRow, shot: &Snapshot) -> Vec<Line> {
    let Some(wait) = &row.wait else {
        return vec![cell(row.job.as_str())];
    };
    let now = shot.now();
    let standing = state::of_wait(wait.kind);
    let late = wait.overdue < now;
    vec![
        cell(row.job.as_str()),
        Line::of(
            format!("{} {}", standing.glyph, standing.word),
            standing.role,
        ),
        Line::dim(time::span(now.since(wait.since))),
        Line::text(time::instant(wait.next_check, now, &shot.zone)),
        Line::of(
            time::instant(wait.overdue, now, &shot.zone),
            if late { Role::Bad } else { Role::Dim },
        ),
        cell(&wait.reason),
    ]
}
