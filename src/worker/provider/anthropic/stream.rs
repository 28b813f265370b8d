//! Anthropic Messages: an answer from its events. Only `message_stop` makes it one.

use super::super::assemble::{
    Assemble, Fault, MAX_BLOCKS, Progress, count, field, maybe_count, object, parse, text,
};
use super::super::fields::Fields;
use super::super::reply::{Block, BlockKind, Outcome, TurnReply, Usage, UsageSource};
use super::super::request::RawJson;
use super::super::sse::SseEvent;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A block that is still arriving.
struct Open {
    /// As it began.
    start: Map<String, Value>,
    /// Words, reasoning or the input's JSON, joined.
    joined: String,
    signature: Option<String>,
    citations: Vec<Value>,
}

/// An answer that is still arriving.
#[derive(Default)]
pub(in super::super) struct Answer {
    model: Option<String>,
    open: BTreeMap<u64, Open>,
    closed: BTreeMap<u64, Block>,
    usage: Map<String, Value>,
    stop: Option<String>,
    details: Option<Value>,
    ended: bool,
}

impl Assemble for Answer {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, Fault> {
        let map = parse(&event.data)?;
        let kind = text(&map, "type", "an event")?.to_owned();
        if !event.event.is_empty() && event.event != kind {
            return Err(Fault::Protocol(format!(
                "an event named {} says that it is {kind}",
                event.event
            )));
        }
        let begun = self.model.is_some();
        match kind.as_str() {
            "error" => return Err(Fault::Reported(Value::Object(map))),
            "message_start" if !begun => self.start(&map)?,
            "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
                if !begun =>
            {
                return Err(Fault::Protocol(format!("{kind} before message_start")));
            }
            "content_block_start" => self.block_start(&map)?,
            "content_block_delta" => self.block_delta(&map)?,
            "content_block_stop" => self.block_stop(&map)?,
            "message_delta" => self.message_delta(&map)?,
            "message_stop" => {
                if self.stop.is_none() {
                    return Err(Fault::Protocol(
                        "message_stop without a stop_reason before it".to_owned(),
                    ));
                }
                self.ended = true;
                return Ok(Progress::Complete);
            }
            // `ping`, and whatever comes to be.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn usage(&self) -> Option<Usage> {
        self.model.as_ref()?;
        let counted = counts(&self.usage);
        // Before the end the output side only says that it began: what was said until then was most likely
        // billed, at two bytes a token as everywhere.
        let said: usize = self.closed.values().map(|one| one.raw.as_str().len()).sum();
        let saying: usize = self.open.values().map(|one| one.joined.len()).sum();
        Some(Usage {
            output: counted.output.max((said + saying) as u64 / 2),
            source: UsageSource::Estimated,
            ..counted
        })
    }

    fn finish(self: Box<Self>, request_id: Option<String>) -> Result<TurnReply, Fault> {
        let (Some(model), Some(stop), true) = (self.model, self.stop, self.ended) else {
            return Err(Fault::Cut);
        };
        let wants_tools = self
            .closed
            .values()
            .any(|block| matches!(block.kind, BlockKind::ToolCall { .. }));
        let outcome = match stop.as_str() {
            "tool_use" | "end_turn" | "stop_sequence" if wants_tools => Outcome::Tools,
            "tool_use" | "end_turn" | "stop_sequence" => Outcome::Done,
            "max_tokens" => Outcome::Truncated,
            "refusal" => Outcome::Refused,
            "pause_turn" => Outcome::Paused,
            "model_context_window_exceeded" => Outcome::ContextFull,
            _ if wants_tools => return Err(Fault::UnknownEnd(stop)),
            _ => Outcome::Done,
        };
        let stop = match self
            .details
            .as_ref()
            .filter(|_| outcome == Outcome::Refused)
        {
            Some(details) => format!("{stop}: {}", refusal(details)),
            None => stop,
        };
        // The partial text of a refusal is not to be kept.
        let refused = outcome == Outcome::Refused;
        let blocks = self.closed.into_values().filter(|_| !refused).collect();
        Ok(TurnReply {
            outcome,
            blocks,
            usage: counts(&self.usage),
            request_id,
            model,
            stop,
        })
    }
}

impl Answer {
    fn start(&mut self, map: &Map<String, Value>) -> Result<(), Fault> {
        const OF: &str = "the message of message_start";
        let message = object(map, "message", "message_start")?;
        for key in ["id", "type", "role"] {
            text(message, key, OF)?;
        }
        if !field(message, "content", OF)?.is_array() {
            return Err(Fault::Protocol(format!("`content` of {OF} is no list")));
        }
        let usage = object(message, "usage", OF)?;
        for key in ["input_tokens", "output_tokens"] {
            count(usage, key, "the usage of message_start")?;
        }
        self.usage = usage.clone();
        self.model = Some(text(message, "model", OF)?.to_owned());
        Ok(())
    }

    fn block_start(&mut self, map: &Map<String, Value>) -> Result<(), Fault> {
        let index = count(map, "index", "content_block_start")?;
        let start = object(map, "content_block", "content_block_start")?;
        match text(start, "type", "a content block")? {
            "text" => {
                text(start, "text", "a text block")?;
            }
            "tool_use" => {
                text(start, "id", "a tool_use block")?;
                text(start, "name", "a tool_use block")?;
                field(start, "input", "a tool_use block")?;
            }
            _ => {}
        }
        if self.open.len() + self.closed.len() >= MAX_BLOCKS {
            return Err(Fault::Protocol(format!("more than {MAX_BLOCKS} blocks")));
        }
        if self.open.contains_key(&index) || self.closed.contains_key(&index) {
            return Err(Fault::Protocol(format!("block {index} begins twice")));
        }
        let open = Open {
            start: start.clone(),
            joined: String::new(),
            signature: None,
            citations: Vec::new(),
        };
        self.open.insert(index, open);
        Ok(())
    }

    fn block_delta(&mut self, map: &Map<String, Value>) -> Result<(), Fault> {
        let index = count(map, "index", "content_block_delta")?;
        let delta = object(map, "delta", "content_block_delta")?;
        let open = self.open.get_mut(&index).ok_or_else(|| {
            Fault::Protocol(format!("a delta of block {index}, which is not open"))
        })?;
        match text(delta, "type", "a delta")? {
            "text_delta" => open.joined.push_str(text(delta, "text", "a text_delta")?),
            "input_json_delta" => {
                open.joined
                    .push_str(text(delta, "partial_json", "an input_json_delta")?)
            }
            "thinking_delta" => open
                .joined
                .push_str(text(delta, "thinking", "a thinking_delta")?),
            "signature_delta" => {
                open.signature = Some(text(delta, "signature", "a signature_delta")?.to_owned());
            }
            "citations_delta" if open.citations.len() < MAX_BLOCKS => open
                .citations
                .push(field(delta, "citation", "a citations_delta")?.clone()),
            // A kind of delta that is new: the block is kept as far as it is known.
            _ => {}
        }
        Ok(())
    }

    fn block_stop(&mut self, map: &Map<String, Value>) -> Result<(), Fault> {
        let index = count(map, "index", "content_block_stop")?;
        let open = self.open.remove(&index).ok_or_else(|| {
            Fault::Protocol(format!("an end of block {index}, which is not open"))
        })?;
        self.closed.insert(index, close(open));
        Ok(())
    }

    fn message_delta(&mut self, map: &Map<String, Value>) -> Result<(), Fault> {
        let delta = object(map, "delta", "message_delta")?;
        let usage = object(map, "usage", "message_delta")?;
        count(usage, "output_tokens", "the usage of message_delta")?;
        // Cumulative: what is there replaces, what is absent stays.
        for (key, value) in usage.iter().filter(|(_, value)| !value.is_null()) {
            self.usage.insert(key.clone(), value.clone());
        }
        if let Some(stop) = delta.get("stop_reason").and_then(Value::as_str) {
            self.stop = Some(stop.to_owned());
        }
        if let Some(details) = delta.get("stop_details").filter(|one| one.is_object()) {
            self.details = Some(details.clone());
        }
        Ok(())
    }
}

fn close(open: Open) -> Block {
    let word = |key: &str| open.start.get(key).and_then(Value::as_str).unwrap_or("");
    let joined = open.joined;
    let (kind, replaced) = match word("type") {
        "text" => {
            let text = format!("{}{joined}", word("text"));
            let json = Value::from(text.as_str()).to_string();
            (BlockKind::Text(text), Some(("text", json)))
        }
        "tool_use" => {
            let input = if joined.trim().is_empty() {
                open.start
                    .get("input")
                    .map_or_else(|| "{}".to_owned(), Value::to_string)
            } else {
                joined
            };
            // Half an input is never sent back; a whole one goes back as it was written.
            let json = match RawJson::parse(input.clone()) {
                Ok(raw) => raw.as_str().to_owned(),
                Err(_) => "{}".to_owned(),
            };
            let kind = BlockKind::ToolCall {
                id: word("id").to_owned(),
                name: word("name").to_owned(),
                input,
            };
            (kind, Some(("input", json)))
        }
        "thinking" => {
            let text = format!("{}{joined}", word("thinking"));
            let json = Value::from(text).to_string();
            (BlockKind::Thinking, Some(("thinking", json)))
        }
        "redacted_thinking" => (BlockKind::Thinking, None),
        other => (BlockKind::Other(other.to_owned()), None),
    };
    let signature = open.signature.map(|one| Value::from(one).to_string());
    let mut fields = Fields::default();
    let mut signed = false;
    for (key, value) in &open.start {
        fields = match (&replaced, &signature) {
            (Some((name, json)), _) if name == key => fields.raw(key, json),
            (_, Some(json)) if key == "signature" => {
                signed = true;
                fields.raw(key, json)
            }
            _ if key == "citations" && !open.citations.is_empty() => {
                fields.put(key, &open.citations)
            }
            _ => fields.put(key, value),
        };
    }
    if let Some(json) = signature.filter(|_| !signed) {
        fields = fields.raw("signature", &json);
    }
    if !open.citations.is_empty() && !open.start.contains_key("citations") {
        fields = fields.put("citations", &open.citations);
    }
    Block {
        raw: fields.raw_json(),
        kind,
    }
}

/// The disjoint counts; those of the cache may be null or missing and are 0 then.
fn counts(usage: &Map<String, Value>) -> Usage {
    let written = maybe_count(usage, "cache_creation_input_tokens").unwrap_or(0);
    let (short, hour) = match usage.get("cache_creation").and_then(Value::as_object) {
        Some(split) => (
            maybe_count(split, "ephemeral_5m_input_tokens").unwrap_or(0),
            maybe_count(split, "ephemeral_1h_input_tokens").unwrap_or(0),
        ),
        None => (written, 0),
    };
    let details = usage
        .get("output_tokens_details")
        .and_then(Value::as_object);
    Usage {
        uncached: maybe_count(usage, "input_tokens").unwrap_or(0),
        // Where the parts do not add up to the whole, the whole is what is billed.
        cache_write: short.max(written.saturating_sub(hour)),
        cache_write_1h: hour,
        cache_read: Some(maybe_count(usage, "cache_read_input_tokens").unwrap_or(0)),
        output: maybe_count(usage, "output_tokens").unwrap_or(0),
        reasoning: details
            .and_then(|details| maybe_count(details, "thinking_tokens"))
            .unwrap_or(0),
        source: UsageSource::Reported,
    }
}

fn refusal(details: &Value) -> String {
    let word = |key: &str| details.get(key).and_then(Value::as_str);
    let text = match (word("category"), word("explanation")) {
        (Some(category), Some(why)) => format!("{category}, {why}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "no reason given".to_owned(),
    };
    text.chars().take(300).collect()
}
