//! Requests: open ones first, oldest first; those of one moment in the source's order. Nothing is decided here, only in the request itself.

use super::{empty, window};
use crate::ledger::read::ApprovalRow;
use crate::model::Action;
use crate::tui::app::{Answer, Model};
use crate::tui::text::{self, Line, state, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("job", 20, 30, 0),
    Column::text("request", 13, 13, 1),
    Column::number("age", 4, 4, 2),
    // Jobs that cannot go into production before it.
    Column::number("holds", 5, 5, 4),
    Column::text("digest", 12, 12, 7),
    Column::text("risk, effects, or what came of it", 32, 200, 3),
];

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let rows = &model.snapshot.approvals;
    if rows.is_empty() {
        empty(
            painter,
            area,
            model,
            "No request yet. A job asks for its cutover once every clause that applies to it has passed.",
        );
        return;
    }
    let rows = window(
        model,
        rows,
        |row| row.approval.0.clone(),
        |row| cells(model, row),
    );
    draw_table(painter, area, COLUMNS, &rows);
}

/// What a request would set off; once decided, what came of it.
pub fn outcome(row: &ApprovalRow) -> String {
    if row.state == "open" {
        row.consequences.join("; ")
    } else if row.outcome.is_empty() {
        row.reason.clone()
    } else {
        row.outcome.clone()
    }
}

/// The same in a row: what tells requests apart comes first.
fn short(model: &Model, row: &ApprovalRow) -> Line {
    if row.state != "open" {
        return cell(&outcome(row));
    }
    let mut line = Line::new();
    let job = model.snapshot.asking.get(&row.job);
    if job.is_some_and(|job| job.high_risk) {
        line.push("HIGH RISK · ", Role::Warn);
    }
    if let Some(job) = job {
        let tries = text::count(u64::from(job.tries), "try", "tries");
        line.push(format!("{tries} · "), Role::Dim);
    }
    if row.action == Action::RollBack {
        line.push("ROLL BACK · ", Role::Warn);
    }
    let effects = text::count(row.consequences.len() as u64, "effect", "effects");
    line.push(effects, Role::Text);
    if let Some(job) = job {
        line.push(format!(" · {}", job.title), Role::Text);
    }
    line
}

fn cells(model: &Model, row: &ApprovalRow) -> Vec<Line> {
    let standing = state::of_request(&row.state);
    let mut state = Line::of(
        format!("{} {}", standing.glyph, standing.word),
        standing.role,
    );
    let asked = model.asked_about(&row.approval);
    if row.state == "open" && asked.is_some_and(|asked| asked.answer == Answer::Pending) {
        state = Line::of("▸ deciding", Role::Info);
    }
    let shot = &model.snapshot;
    let held_up = match shot.held.get(&row.job) {
        Some(count @ 1..) if row.state == "open" => count.to_string(),
        _ => String::new(),
    };
    vec![
        cell(row.job.as_str()),
        state,
        Line::dim(time::span(shot.now().since(row.requested_at))),
        Line::text(held_up),
        Line::dim(row.digest.short()),
        short(model, row),
    ]
}
