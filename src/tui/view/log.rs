//! The ledger's entries, newest at the end.

use super::{empty, window};
use crate::tui::app::Model;
use crate::tui::app::place::{Kind, Place};
use crate::tui::app::snapshot::LogLine;
use crate::tui::text::{Line, time};
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("when", 11, 11, 1),
    Column::text("job", 16, 24, 3),
    Column::text("by", 8, 16, 5),
    Column::text("what happened", 40, 400, 0),
];

/// Draws the entries.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let lines = model.log_lines();
    if lines.is_empty() {
        let text = match model.filters.get(&Kind::Log) {
            Some(filter) => format!("No entry kept here fits {filter}. Esc clears the filter."),
            None => "The ledger has no entries here.".to_owned(),
        };
        empty(painter, area, model, &text);
        return;
    }
    let rows = window(
        model,
        &lines,
        |line| line.seq.to_string(),
        |line| cells(model, line),
    );
    draw_table(painter, area, COLUMNS, &rows);
}

fn cells(model: &Model, line: &LogLine) -> Vec<Line> {
    vec![
        Line::dim(time::short_stamp(
            line.at,
            model.snapshot.now(),
            &model.snapshot.zone,
        )),
        cell(line.job.as_ref().map_or("", |job| job.as_str())),
        Line::dim(line.actor.trim_start_matches("person:")),
        Line::of(line.text.as_str(), line.role),
    ]
}

/// The rule above: what is kept, what was dropped, whether it follows.
pub fn title(model: &Model) -> (String, String) {
    let mut left = match model.place() {
        Place::JobLog(job) => format!("Log of {job}"),
        _ => "Log".to_owned(),
    };
    if let Some(text) = model.filters.get(&Kind::Log) {
        left.push_str(&format!(" /{text}"));
    }
    let mut right = Vec::new();
    let dropped = model.snapshot.log.dropped;
    if dropped > 0 {
        right.push(format!("{} earlier lines dropped", thousands(dropped)));
    }
    right.push(if model.list().follow {
        "follows".to_owned()
    } else {
        "paused, G follows".to_owned()
    });
    right.push(super::list_note(model));
    (left, right.join(" · "))
}

/// `1,204`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
