//! What a worker said: a model's loop turn by turn with what its tools answered, or a script's remark.

use crate::ledger::read::{Speaker, TranscriptTurn};
use crate::model::{PicoDollars, SafeText};
use crate::tui::app::Model;
use crate::tui::app::snapshot::JobData;
use crate::tui::text::{Line, labelled, paragraph, wrap};
use crate::tui::theme::Role;
use serde_json::Value;

/// Lines shown of a folded text.
const FOLDED: usize = 3;
/// Lines shown of any text.
const MAX_LINES: usize = 2_000;
/// Columns before what was said.
const INDENT: usize = 9;

/// The pane.
pub fn lines(model: &Model, data: &JobData, width: usize) -> Vec<Line> {
    let Some((_, attempt)) = model.attempt_shown() else {
        return vec![Line::dim("no attempt yet")];
    };
    let mut lines = Vec::new();
    if !attempt.remark.is_empty() {
        lines.push(Line::dim(
            "the worker's own words; a remark, never evidence:",
        ));
        lines.extend(paragraph(&attempt.remark, Role::Text, width));
        lines.push(Line::new());
    }
    match &data.transcript {
        Some((of, turns)) if *of == attempt.attempt && !turns.is_empty() => {
            lines.push(Line::dim(if model.unfolded {
                "f folds long texts"
            } else {
                "f unfolds long texts"
            }));
            for turn in turns {
                lines.extend(one_turn(model, turn, width));
            }
        }
        Some((of, _)) if *of == attempt.attempt => {
            lines.extend(paragraph(
                "No model worked on this attempt: there are no turns.",
                Role::Dim,
                width,
            ));
        }
        _ => lines.push(Line::dim("reading the ledger…")),
    }
    if !attempt.reason.is_empty() {
        lines.push(Line::new());
        lines.extend(labelled(
            "ended",
            &attempt.reason,
            Role::Text,
            INDENT,
            width,
        ));
    }
    lines.extend(checkpoint(data, width));
    lines
}

/// Who was asked, what it took, and what was said.
fn one_turn(model: &Model, turn: &TranscriptTurn, width: usize) -> Vec<Line> {
    let row = &turn.row;
    let role = match row.outcome.as_str() {
        "failed" | "unknown" | "refused" => Role::Warn,
        _ => Role::Text,
    };
    let mut head = Line::strong(format!("Turn {}", row.turn));
    head.push(format!(" {}, {}", row.model, row.outcome), role);
    let mut counts = format!(
        "{} tokens in ({} from cache), {} out",
        row.input(),
        row.cache_read.unwrap_or(0),
        row.output
    );
    if let Some(pico) = row.cost {
        let money = PicoDollars(i64::try_from(pico).unwrap_or(i64::MAX));
        counts.push_str(&format!(", {money}"));
    }
    let mut lines = vec![Line::new(), head];
    lines.extend(labelled("", &counts, Role::Dim, INDENT, width));
    if role == Role::Warn && !row.why.is_empty() {
        lines.extend(labelled("", &row.why, Role::Warn, INDENT, width));
    }
    for one in &turn.lines {
        if one.speaker == Speaker::Rules && !model.unfolded {
            continue;
        }
        lines.extend(said(
            one.speaker,
            &one.head,
            &one.text,
            model.unfolded || !one.folded,
            width,
        ));
    }
    lines
}

fn said(speaker: Speaker, head: &str, text: &str, whole: bool, width: usize) -> Vec<Line> {
    let role = match speaker {
        Speaker::Model => Role::Text,
        Speaker::Call => Role::Info,
        Speaker::Rules | Speaker::Engine | Speaker::Tool => Role::Dim,
    };
    let mut lines = labelled(speaker.word(), head, role, INDENT, width);
    let room = width.saturating_sub(INDENT).max(1);
    let safe = SafeText::block(text);
    // What has no head of its own has its first line for one.
    let own_head = matches!(speaker, Speaker::Call | Speaker::Tool);
    let body: Vec<String> = safe
        .as_str()
        .lines()
        .skip_while(|line| !own_head && line.trim().is_empty())
        .skip(usize::from(
            !own_head && text.trim_start().starts_with(head),
        ))
        .take(MAX_LINES)
        .flat_map(|line| wrap(line, room))
        .collect();
    // One line that the head has already.
    if body.len() <= 1 && body.first().is_none_or(|line| head.contains(line.trim())) {
        return lines;
    }
    let shown = if whole { body.len() } else { FOLDED };
    let pad = " ".repeat(INDENT);
    for line in body.iter().take(shown) {
        lines.push(Line::text(pad.clone()).with(line.as_str(), role));
    }
    if body.len() > shown {
        lines.push(Line::dim(format!(
            "{pad}… {} more lines",
            body.len() - shown
        )));
    }
    lines
}

/// What the next attempt is told, field by field.
fn checkpoint(data: &JobData, width: usize) -> Vec<Line> {
    let text = data
        .facts
        .checkpoint
        .as_ref()
        .and_then(|digest| data.texts.get(digest))
        .and_then(Option::as_deref);
    let Some(Value::Object(fields)) = text.and_then(|text| serde_json::from_str(text).ok()) else {
        return Vec::new();
    };
    let mut lines = vec![Line::new(), Line::strong("Checkpoint for the next attempt")];
    for (name, value) in &fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => continue,
            other => other.to_string(),
        };
        let name = format!("  {}", name.replace('_', " "));
        lines.extend(labelled(&name, &text, Role::Text, 20, width));
    }
    lines
}
