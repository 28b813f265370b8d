//! Token counts out of an answer that passes by, whichever protocol it speaks.

use crate::worker::provider::{SseReader, Usage, UsageSource};
use serde_json::{Map, Value};

/// Most bytes of an answer in one JSON object that are looked at.
const MAX_JSON: usize = 32 * 1024 * 1024;

/// Reads along.
#[derive(Debug, Default)]
pub(super) struct Sniffer {
    stream: bool,
    sse: SseReader,
    json: Vec<u8>,
    counts: Map<String, Value>,
    /// Its terminal event was seen.
    ended: bool,
    /// It cannot be read along any more.
    lost: bool,
    /// The model that answered.
    model: Option<String>,
}

impl Sniffer {
    /// For an answer with a content type.
    pub(super) fn new(content_type: &str) -> Self {
        Self {
            stream: content_type
                .to_ascii_lowercase()
                .starts_with("text/event-stream"),
            ..Self::default()
        }
    }

    /// The next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if !self.stream {
            self.lost |= self.json.len() + bytes.len() > MAX_JSON;
            if !self.lost {
                self.json.extend_from_slice(bytes);
            }
            return;
        }
        let mut events = Vec::new();
        if self.sse.push(bytes, &mut events).is_err() {
            self.lost = true;
        }
        for event in events {
            if let Ok(Value::Object(map)) = serde_json::from_str(&event.data) {
                self.event(&map);
            }
        }
    }

    fn event(&mut self, map: &Map<String, Value>) {
        let kind = map.get("type").and_then(Value::as_str).unwrap_or("");
        self.ended |= matches!(
            kind,
            "message_stop" | "response.completed" | "response.incomplete" | "response.failed"
        );
        for holder in [Some(map), inside(map, "message"), inside(map, "response")] {
            let Some(holder) = holder else { continue };
            if let Some(model) = holder.get("model").and_then(Value::as_str) {
                self.model = Some(model.to_owned());
            }
            for (key, value) in inside(holder, "usage").into_iter().flatten() {
                if !value.is_null() {
                    self.counts.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// The model that answered, and what it counted; `None` when the answer was cut or said nothing.
    pub(super) fn finish(mut self) -> (Option<String>, Option<Usage>) {
        if !self.stream
            && let Ok(Value::Object(map)) = serde_json::from_slice(&self.json)
        {
            self.event(&map);
            self.ended = !self.counts.is_empty();
        }
        let usage = usage(&self.counts).filter(|_| self.ended && !self.lost);
        (self.model, usage)
    }
}

fn inside<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m Map<String, Value>> {
    map.get(key).and_then(Value::as_object)
}

/// Anthropic's fields are disjoint; the other protocol's input contains what was cached.
fn usage(counts: &Map<String, Value>) -> Option<Usage> {
    let count = |key: &str| counts.get(key).and_then(Value::as_u64);
    let detail = |of: &str, key: &str| {
        inside(counts, of)
            .and_then(|one| one.get(key))
            .and_then(Value::as_u64)
    };
    let (input, output) = (count("input_tokens")?, count("output_tokens")?);
    if counts.contains_key("input_tokens_details") {
        let read = detail("input_tokens_details", "cached_tokens");
        let write = detail("input_tokens_details", "cache_write_tokens").unwrap_or(0);
        return Some(Usage {
            uncached: input
                .saturating_sub(read.unwrap_or(0))
                .saturating_sub(write),
            cache_write: write,
            cache_write_1h: 0,
            cache_read: read,
            output,
            reasoning: detail("output_tokens_details", "reasoning_tokens").unwrap_or(0),
            source: UsageSource::Reported,
        });
    }
    let hour = detail("cache_creation", "ephemeral_1h_input_tokens").unwrap_or(0);
    let written = count("cache_creation_input_tokens").unwrap_or(0);
    Some(Usage {
        uncached: input,
        cache_write: written.saturating_sub(hour),
        cache_write_1h: hour,
        cache_read: Some(count("cache_read_input_tokens").unwrap_or(0)),
        output,
        reasoning: detail("output_tokens_details", "thinking_tokens").unwrap_or(0),
        source: UsageSource::Reported,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_protocols_are_read_along_and_a_cut_answer_counts_nothing() {
        let anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\
            \"usage\":{\"input_tokens\":7,\"cache_read_input_tokens\":2000,\"output_tokens\":1}}}\n\n\
            event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":41}}\n\n\
            event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        let read = |text: &str, kind: &str| {
            let mut sniffer = Sniffer::new(kind);
            for byte in text.bytes() {
                sniffer.push(&[byte]);
            }
            sniffer.finish()
        };
        let (model, usage) = read(anthropic, "text/event-stream; charset=utf-8");
        let usage = usage.unwrap();
        assert_eq!(model.as_deref(), Some("m"));
        assert_eq!(
            (usage.uncached, usage.cache_read, usage.output),
            (7, Some(2_000), 41)
        );
        let cut = anthropic.split("event: message_stop").next().unwrap();
        assert_eq!(read(cut, "text/event-stream").1, None);
        let responses = "data: {\"type\":\"response.completed\",\"response\":{\"model\":\"g\",\"usage\":{\
            \"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":60},\"output_tokens\":5,\
            \"output_tokens_details\":{\"reasoning_tokens\":2},\"total_tokens\":105}}}\n\n";
        let usage = read(responses, "text/event-stream").1.unwrap();
        assert_eq!(
            (usage.uncached, usage.cache_read, usage.reasoning),
            (40, Some(60), 2)
        );
        let whole = "{\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}";
        assert_eq!(read(whole, "application/json").1.unwrap().total(), 7);
        assert_eq!(read("<html>", "text/html").1, None);
    }
}
