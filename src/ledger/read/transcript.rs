//! A loop as people read it: who said what in which turn, and what it took.

use super::{Answer, ToolCallRow, TurnRow, View};
use crate::model::{AttemptNo, Digest, GoalId, JobId};
use serde::Serialize;
use serde_json::Value;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The fixed part: rules and contract.
    Rules,
    /// The engine: the job block, a nudge.
    Engine,
    /// The model's words.
    Model,
    /// The model asks for a tool.
    Call,
    /// What the tool answered.
    Tool,
}

impl Speaker {
    /// The word on screen and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Engine => "engine",
            Self::Model => "model",
            Self::Call => "call",
            Self::Tool => "tool",
        }
    }
}

/// One thing said. The text is whole; whoever shows it folds it, and passes it through `SafeText`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Who.
    pub speaker: Speaker,
    /// One line: the tool and its outcome, or the beginning of the text.
    pub head: String,
    /// All of it.
    pub text: String,
    /// Whether it is long enough to be folded at first.
    pub folded: bool,
}

/// One turn of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranscriptTurn {
    /// Its row: provider, model, tokens, money.
    pub row: TurnRow,
    /// What was said, in order.
    pub lines: Vec<Line>,
}

/// Longer texts are folded at first, in lines.
const FOLD_LINES: usize = 6;
/// The same in bytes.
const FOLD_BYTES: usize = 400;

impl View<'_> {
    /// The loop of one attempt; empty when no model worked on it.
    pub fn transcript(
        &self,
        goal: &GoalId,
        job: &JobId,
        attempt: AttemptNo,
    ) -> Answer<Vec<TranscriptTurn>> {
        let calls = self.tool_calls(goal, job)?;
        let mut out = Vec::new();
        for row in self.turns(goal, job)? {
            if row.attempt != attempt {
                continue;
            }
            let mut lines = Vec::new();
            if out.is_empty() {
                lines.extend(self.rules(&row.system)?);
            }
            if let Some(message) = &row.message {
                lines.extend(told(&self.json(message)?));
            }
            if let Some(answer) = &row.answer {
                lines.extend(said(&self.json(answer)?));
            }
            for call in calls
                .iter()
                .filter(|call| call.attempt == attempt && call.turn == row.turn)
            {
                lines.push(self.tool(call)?);
            }
            out.push(TranscriptTurn { row, lines });
        }
        Ok(out)
    }

    fn json(&self, digest: &Digest) -> Answer<Value> {
        let bytes = self.blob(digest)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    fn rules(&self, digest: &Digest) -> Answer<Vec<Line>> {
        let fixed = self.json(digest)?;
        let blocks = fixed.get("system").and_then(Value::as_array);
        Ok(blocks
            .into_iter()
            .flatten()
            .filter_map(|block| block.get("text").and_then(Value::as_str))
            .map(|text| Line {
                folded: true,
                ..line(Speaker::Rules, text)
            })
            .collect())
    }

    fn tool(&self, call: &ToolCallRow) -> Answer<Line> {
        let bytes = self.blob(&call.answer)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Line {
            head: format!("{} {}: {}", call.tool, call.outcome, call.words),
            ..line(Speaker::Tool, &text)
        })
    }
}

fn line(speaker: Speaker, text: &str) -> Line {
    let first = text.lines().find(|line| !line.trim().is_empty());
    Line {
        speaker,
        head: first.unwrap_or_default().chars().take(200).collect(),
        text: text.to_owned(),
        folded: text.lines().count() > FOLD_LINES || text.len() > FOLD_BYTES,
    }
}

/// Texts of a message to the model; tools' answers stand with the turn that asked for them.
fn told(message: &Value) -> Vec<Line> {
    let parts = message.get("user").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text")?.get("text")?.as_str())
        .map(|text| line(Speaker::Engine, text))
        .collect()
}

/// The model's words and calls. Hidden reasoning is shown to nobody.
fn said(message: &Value) -> Vec<Line> {
    let blocks = message.get("assistant").and_then(Value::as_array);
    blocks
        .into_iter()
        .flatten()
        .filter_map(|block| {
            let kind = block.get("kind")?;
            if let Some(text) = kind.get("text").and_then(Value::as_str) {
                return Some(line(Speaker::Model, text));
            }
            let call = kind.get("tool_call")?;
            let name = call.get("name").and_then(Value::as_str).unwrap_or("tool");
            let input = call.get("input").and_then(Value::as_str).unwrap_or("");
            Some(Line {
                head: name.to_owned(),
                ..line(Speaker::Call, &readable(input))
            })
        })
        .collect()
}

/// Arguments as lines `name: value`; what is no object stays as it is.
fn readable(input: &str) -> String {
    let Ok(Value::Object(map)) = serde_json::from_str::<Value>(input) else {
        return input.to_owned();
    };
    let lines: Vec<String> = map
        .iter()
        .map(|(name, value)| match value.as_str() {
            Some(text) if text.contains('\n') => format!("{name}:\n{text}"),
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        })
        .collect();
    lines.join("\n")
}
