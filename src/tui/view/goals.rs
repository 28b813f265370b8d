//! All goals of the ledger.

use super::{empty, window};
use crate::ledger::read::GoalRow;
use crate::tui::app::Model;
use crate::tui::text::{Line, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("goal", 16, 28, 0),
    Column::number("v", 2, 3, 4),
    Column::number("jobs", 6, 7, 2),
    Column::text("owner", 8, 14, 5),
    Column::text("deadline", 11, 11, 3),
    Column::text("how it stands", 16, 200, 1),
];

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let rows = &model.snapshot.goals;
    if rows.is_empty() {
        empty(
            painter,
            area,
            model,
            "There is no goal in this ledger. Adopt one: dogwatch adopt FILE.",
        );
        return;
    }
    let rows = window(
        model,
        rows,
        |row| row.goal.0.clone(),
        |row| cells(model, row),
    );
    draw_table(painter, area, COLUMNS, &rows);
}

fn cells(model: &Model, row: &GoalRow) -> Vec<Line> {
    let shot = &model.snapshot;
    let jobs = row
        .jobs_listed
        .map_or_else(|| "?".to_owned(), |jobs| jobs.to_string());
    let deadline = row
        .deadline
        .map(|at| time::instant(at, shot.now(), &shot.zone));
    let (stands, role) = match &row.ended {
        Some(text) => (format!("ended: {text}"), Role::Strong),
        None if row.heartbeat.is_empty() => ("no heartbeat yet".to_owned(), Role::Dim),
        None => (format!("heartbeat: {}", row.heartbeat), Role::Text),
    };
    vec![
        cell(row.goal.as_str()),
        Line::text(row.version.to_string()),
        Line::text(jobs),
        cell(&row.owner.0),
        Line::text(deadline.unwrap_or_else(|| "none".to_owned())),
        Line::of(stands, role),
    ]
}
