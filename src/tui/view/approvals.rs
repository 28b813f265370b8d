//! Requests: open ones first, oldest first. Nothing is decided here, only in the request itself.

use super::{empty, window};
use crate::ledger::read::ApprovalRow;
use crate::tui::app::{Answer, Model};
use crate::tui::text::{Line, state, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column {
        title: "job",
        min: 18,
        max: 30,
        priority: 0,
        right: false,
    },
    Column {
        title: "request",
        min: 13,
        max: 13,
        priority: 1,
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
        title: "digest",
        min: 12,
        max: 12,
        priority: 6,
        right: false,
    },
    Column {
        title: "sets off, or what came of it",
        min: 34,
        max: 200,
        priority: 3,
        right: false,
    },
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
    vec![
        cell(row.job.as_str()),
        state,
        Line::dim(time::span(model.snapshot.now().since(row.requested_at))),
        Line::dim(row.digest.short()),
        cell(&outcome(row)),
    ]
}
