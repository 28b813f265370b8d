//! Operations of unknown outcome.

use super::{empty, window};
use crate::ledger::read::OperationRow;
use crate::tui::app::Model;
use crate::tui::text::{Line, sentence, state, time};
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("job", 18, 28, 0),
    Column::text("outcome", 12, 12, 1),
    Column::text("what was asked", 14, 24, 3),
    Column::number("age", 4, 4, 2),
    Column::text("looks at", 11, 11, 5),
    Column::text("what was seen", 24, 200, 4),
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
