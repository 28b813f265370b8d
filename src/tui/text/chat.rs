//! Entries about a model's loop as sentences.

use crate::ledger::event::{Event, TurnEnded};
use crate::tui::theme::Role;

/// One sentence; `None` for what is not about a loop.
pub fn sentence(event: &Event) -> Option<(String, Role)> {
    Some(match event {
        Event::TurnStarted(one) => (
            format!(
                "turn {} asked of {} {}, {} tokens reserved",
                one.turn, one.provider, one.model, one.tokens
            ),
            Role::Dim,
        ),
        Event::TurnEnded(one) => turn_ended(one),
        Event::TurnUnknown(one) => (
            format!("turn {} is unknown: {}", one.turn, one.why),
            Role::Warn,
        ),
        Event::QueryStarted(_) => ("the worker queries the warehouse".to_owned(), Role::Dim),
        Event::ToolCalled(one) => (
            format!("{} {}: {}", one.tool, one.outcome, one.words),
            match one.outcome.as_str() {
                "answered" => Role::Text,
                "error" => Role::Warn,
                _ => Role::Bad,
            },
        ),
        Event::DriftSeen(one) => (
            format!(
                "DRIFT: the worker said {}; the ledger says {}",
                one.said, one.expected
            ),
            Role::Bad,
        ),
        Event::QuestionAsked(one) => (format!("the worker asks: {}", one.text), Role::Warn),
        Event::QuestionAnswered(one) => match &one.by {
            Some(by) => (format!("{by} answered: {}", one.text), Role::Text),
            None => (format!("the question lapsed: {}", one.text), Role::Dim),
        },
        Event::ChatEnded(one) => {
            let mut text = format!("the loop ended, {}", one.outcome);
            for (label, words) in [("", &one.why), ("the worker said ", &one.said)] {
                if !words.is_empty() && !text.contains(words.as_str()) {
                    text.push_str(&format!("; {label}{words}"));
                }
            }
            (text, Role::Text)
        }
        Event::CheckpointWritten(_) => (
            "a checkpoint was written for the next attempt".to_owned(),
            Role::Dim,
        ),
        _ => return None,
    })
}

fn turn_ended(one: &TurnEnded) -> (String, Role) {
    if one.outcome == "failed" {
        return (format!("turn {} failed: {}", one.turn, one.why), Role::Warn);
    }
    let input = one.uncached + one.cache_write + one.cache_read.unwrap_or(0);
    let counted = match one.source.as_str() {
        "reported" => "",
        _ => ", not counted by the provider",
    };
    let text = format!(
        "turn {} ended, {}: {input} tokens in ({} from cache), {} out{counted}",
        one.turn,
        one.outcome,
        one.cache_read.unwrap_or(0),
        one.output
    );
    (text, Role::Text)
}
