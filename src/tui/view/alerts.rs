//! Alerts: the rule, and what was seen.

use super::{empty, window};
use crate::ledger::read::AlertRow;
use crate::tui::app::Model;
use crate::tui::text::{Line, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("rule", 10, 16, 0),
    Column::text("is", 6, 6, 1),
    Column::text("job", 12, 24, 4),
    Column::number("since", 5, 5, 3),
    Column::text("what was seen", 16, 200, 2),
];

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let rows = &model.snapshot.alerts;
    if rows.is_empty() {
        empty(painter, area, model, "No alert was raised for this goal.");
        return;
    }
    let rows = window(
        model,
        rows,
        |row| row.seq.to_string(),
        |row| cells(model, row),
    );
    draw_table(painter, area, COLUMNS, &rows);
}

fn cells(model: &Model, row: &AlertRow) -> Vec<Line> {
    let (word, role) = match row.cleared_at {
        None => ("! open", Role::Bad),
        Some(_) => ("over", Role::Dim),
    };
    let seen = if row.cleared_at.is_some() {
        format!("{} (over: {})", row.evidence, row.cleared_why)
    } else {
        row.evidence.clone()
    };
    let job = row.job.as_ref().map_or("the goal", |job| job.as_str());
    vec![
        cell(&row.rule),
        Line::of(word, role),
        cell(job),
        Line::dim(time::span(model.snapshot.now().since(row.raised_at))),
        cell(&seen),
    ]
}
