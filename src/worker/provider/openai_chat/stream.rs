//! Chat Completions: an answer from its chunks. Only a `finish_reason` makes it one; the counts come after
//! it, so reading goes on. Servers differ: what can be done without is not insisted on.

use super::super::assemble::{
    Assemble, Fault, MAX_BLOCKS, Progress, field, maybe_count, object, parse,
};
use super::super::fields::Fields;
use super::super::reply::{Block, BlockKind, Outcome, TurnReply, Usage, UsageSource};
use super::super::sse::SseEvent;
use serde_json::{Map, Value};

/// A tool call that is still arriving.
#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// An answer that is still arriving.
pub(in super::super) struct Answer {
    model: String,
    words: String,
    refusal: String,
    calls: Vec<Call>,
    usage: Option<Map<String, Value>>,
    finish: Option<String>,
}

impl Answer {
    /// For a model; a server that does not say which one answered is taken at the asker's word.
    pub(in super::super) fn new(asked: &str) -> Self {
        Self {
            model: asked.to_owned(),
            words: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            usage: None,
            finish: None,
        }
    }
}

impl Assemble for Answer {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, Fault> {
        if event.data.trim() == "[DONE]" {
            return match self.finish {
                Some(_) => Ok(Progress::Complete),
                None => Err(Fault::Cut),
            };
        }
        let map = parse(&event.data)?;
        if map.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Fault::Reported(Value::Object(map)));
        }
        if let Some(model) = map.get("model").and_then(Value::as_str)
            && !model.is_empty()
        {
            model.clone_into(&mut self.model);
        }
        if let Some(usage) = map.get("usage").and_then(Value::as_object) {
            self.usage = Some(usage.clone());
        }
        let choices = field(&map, "choices", "a chunk")?
            .as_array()
            .ok_or_else(|| Fault::Protocol("`choices` of a chunk is no list".to_owned()))?;
        for choice in choices {
            let choice = choice
                .as_object()
                .ok_or_else(|| Fault::Protocol("a choice is no object".to_owned()))?;
            // One was asked for.
            if maybe_count(choice, "index").unwrap_or(0) == 0 {
                self.choice(choice)?;
            }
        }
        Ok(match self.finish {
            Some(_) => Progress::Ended,
            None => Progress::More,
        })
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.as_ref().map(counts)
    }

    fn finish(self: Box<Self>, request_id: Option<String>) -> Result<TurnReply, Fault> {
        let Some(finish) = self.finish else {
            return Err(Fault::Cut);
        };
        let refused = finish == "content_filter" || !self.refusal.is_empty();
        let outcome = match finish.as_str() {
            _ if refused => Outcome::Refused,
            // Some servers say `stop` with calls present.
            "stop" | "tool_calls" if !self.calls.is_empty() => Outcome::Tools,
            "stop" | "tool_calls" => Outcome::Done,
            "length" => Outcome::Truncated,
            _ => return Err(Fault::UnknownEnd(finish)),
        };
        let usage = match &self.usage {
            Some(usage) => counts(usage),
            None => Usage::UNKNOWN,
        };
        let stop = match self.refusal.as_str() {
            "" => finish,
            why => format!("{finish}: {}", why.chars().take(300).collect::<String>()),
        };
        let mut blocks = Vec::new();
        if !refused {
            if !self.words.is_empty() {
                blocks.push(words(self.words));
            }
            for (at, call) in self.calls.into_iter().enumerate() {
                blocks.push(tool_call(at, call)?);
            }
        }
        Ok(TurnReply {
            outcome,
            blocks,
            usage,
            request_id,
            model: self.model,
            stop,
        })
    }
}

impl Answer {
    fn choice(&mut self, choice: &Map<String, Value>) -> Result<(), Fault> {
        let delta = object(choice, "delta", "a choice")?;
        for (key, into) in [("content", &mut self.words), ("refusal", &mut self.refusal)] {
            if let Some(text) = delta.get(key).and_then(Value::as_str) {
                into.push_str(text);
            }
        }
        let pieces = delta.get("tool_calls").and_then(Value::as_array);
        for (at, piece) in pieces.into_iter().flatten().enumerate() {
            let piece = piece
                .as_object()
                .ok_or_else(|| Fault::Protocol("a tool call is no object".to_owned()))?;
            self.piece(at, piece)?;
        }
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        Ok(())
    }

    /// Joins a piece to its call: by index, else by id, else by place.
    fn piece(&mut self, at: usize, piece: &Map<String, Value>) -> Result<(), Fault> {
        let index = maybe_count(piece, "index");
        let id = piece.get("id").and_then(Value::as_str).unwrap_or("");
        let found = match index {
            Some(index) => self.calls.iter().position(|call| call.index == Some(index)),
            None if !id.is_empty() => self.calls.iter().position(|call| call.id == id),
            None => (at < self.calls.len()).then_some(at),
        };
        // Some servers send whole calls and count each of them as the first.
        let found = found.filter(|at| {
            let known = self.calls.get(*at).map_or("", |call| call.id.as_str());
            id.is_empty() || known.is_empty() || known == id
        });
        let at = match found {
            Some(at) => at,
            None if self.calls.len() >= MAX_BLOCKS => {
                return Err(Fault::Protocol(format!("more than {MAX_BLOCKS} calls")));
            }
            None => {
                self.calls.push(Call {
                    index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let function = object(piece, "function", "a tool call")?;
        if call.name.is_empty()
            && let Some(name) = function.get("name").and_then(Value::as_str)
        {
            name.clone_into(&mut call.name);
        }
        match function.get("arguments") {
            Some(Value::String(text)) => call.arguments.push_str(text),
            // An object, against the format: the meaning is clear.
            Some(value @ Value::Object(_)) => call.arguments.push_str(&value.to_string()),
            _ => {}
        }
        Ok(())
    }
}

fn words(text: String) -> Block {
    let raw = Fields::default().put("type", "text").put("text", &text);
    Block {
        raw: raw.raw_json(),
        kind: BlockKind::Text(text),
    }
}

fn tool_call(at: usize, call: Call) -> Result<Block, Fault> {
    if call.name.is_empty() {
        return Err(Fault::Protocol("a tool call has no `name`".to_owned()));
    }
    let id = if call.id.is_empty() {
        format!("call_{at}")
    } else {
        call.id
    };
    let function = Fields::default()
        .put("name", &call.name)
        .put("arguments", &call.arguments);
    let raw = Fields::default()
        .put("id", &id)
        .put("type", "function")
        .raw("function", &function.end());
    let input = if call.arguments.trim().is_empty() {
        "{}".to_owned()
    } else {
        call.arguments
    };
    Ok(Block {
        raw: raw.raw_json(),
        kind: BlockKind::ToolCall {
            id,
            name: call.name,
            input,
        },
    })
}

/// The nested counts, made disjoint. Cached tokens that are not named are unknown, not 0.
fn counts(usage: &Map<String, Value>) -> Usage {
    let inside = |key: &str, what: &str| {
        usage
            .get(key)
            .and_then(Value::as_object)
            .and_then(|details| maybe_count(details, what))
    };
    let prompt = maybe_count(usage, "prompt_tokens");
    let output = maybe_count(usage, "completion_tokens");
    let read = inside("prompt_tokens_details", "cached_tokens");
    let written = inside("prompt_tokens_details", "cache_write_tokens").unwrap_or(0);
    Usage {
        uncached: prompt
            .unwrap_or(0)
            .saturating_sub(read.unwrap_or(0))
            .saturating_sub(written),
        cache_write: written,
        cache_write_1h: 0,
        cache_read: read,
        output: output.unwrap_or(0),
        reasoning: inside("completion_tokens_details", "reasoning_tokens").unwrap_or(0),
        source: if prompt.is_some() && output.is_some() {
            UsageSource::Reported
        } else {
            UsageSource::Unknown
        },
    }
}
