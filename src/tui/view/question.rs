//! What a model asks a person in the midst of its loop, or rows that a person is asked to look at.

use crate::tui::app::Model;
use crate::tui::text::{Line, labelled, paragraph, time};
use crate::tui::theme::Role;

const LABEL: usize = 10;
/// Lines of a question that are laid out one by one; what follows stands in the last.
const MAX_LINES: usize = 40;

/// The page.
pub fn lines(model: &Model, id: &str, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let Some(row) = shot.questions.iter().find(|row| row.question == id) else {
        return vec![Line::dim(if model.is_current() {
            "this question was answered, or its loop ended"
        } else {
            "reading the ledger…"
        })];
    };
    let age = time::span(shot.now().since(row.asked_at));
    let mut lines = vec![
        Line::of("◆ asks you", Role::Person).with(format!(" · for {age}"), Role::Text),
        Line::new(),
    ];
    for (place, piece) in row.text.splitn(MAX_LINES, '\n').enumerate() {
        let role = if place == 0 { Role::Strong } else { Role::Text };
        lines.extend(paragraph(piece, role, width));
    }
    lines.push(Line::new());
    let mut add =
        |name: &str, text: &str| lines.extend(labelled(name, text, Role::Text, LABEL, width));
    add("job", row.job.as_str());
    add("attempt", &row.attempt.to_string());
    if let Some(clause) = &row.clause {
        add("clause", clause.as_str());
    }
    if let Some(count @ 1..) = shot.held.get(&row.job) {
        add("holds up", &format!("{count} other jobs"));
    }
    lines.push(Line::new());
    lines.push(if model.read_only {
        Line::dim("read-only: nothing can be answered here")
    } else {
        Line::of("a", Role::Key)
            .with(" answer   ", Role::Text)
            .with("o", Role::Key)
            .with(" the job with its evidence and loop", Role::Text)
    });
    lines.extend(paragraph(
        if row.is_sample() {
            "Answer \"pass\", or \"fail\" and why: it is evidence in your name, and the next attempt is told why."
        } else {
            "The answer goes to the worker as a tool's answer; it changes no clause of the contract."
        },
        Role::Dim,
        width,
    ));
    lines
}
