//! What both protocols share while an answer arrives.

use super::reply::{TurnReply, Usage};
use super::sse::SseEvent;
use serde_json::{Map, Value};

/// Most blocks, and most tool calls, of one answer.
pub(super) const MAX_BLOCKS: usize = 512;

/// What a piece of an answer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// More is to come.
    More,
    /// The terminal event was seen; counts may still follow.
    Ended,
    /// Nothing more will come.
    Complete,
}

/// Why a stream gives no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// It breaks the protocol: which field or event.
    Protocol(String),
    /// The provider reported an error inside the stream, as its JSON.
    Reported(Value),
    /// It ended without its terminal event.
    Cut,
    /// It ended in a way that this version does not know.
    UnknownEnd(String),
}

/// Puts an answer together, event by event.
pub(super) trait Assemble {
    /// Takes one event.
    fn event(&mut self, event: &SseEvent) -> Result<Progress, Fault>;

    /// What was counted so far, for a turn that fails.
    fn usage(&self) -> Option<Usage>;

    /// The answer; only after the terminal event.
    fn finish(self: Box<Self>, request_id: Option<String>) -> Result<TurnReply, Fault>;
}

/// A field that must be there.
pub(super) fn field<'v>(
    map: &'v Map<String, Value>,
    key: &str,
    of: &str,
) -> Result<&'v Value, Fault> {
    map.get(key)
        .ok_or_else(|| Fault::Protocol(format!("{of} has no `{key}`")))
}

/// A text that must be there.
pub(super) fn text<'v>(map: &'v Map<String, Value>, key: &str, of: &str) -> Result<&'v str, Fault> {
    field(map, key, of)?
        .as_str()
        .ok_or_else(|| Fault::Protocol(format!("`{key}` of {of} is no text")))
}

/// An object that must be there.
pub(super) fn object<'v>(
    map: &'v Map<String, Value>,
    key: &str,
    of: &str,
) -> Result<&'v Map<String, Value>, Fault> {
    field(map, key, of)?
        .as_object()
        .ok_or_else(|| Fault::Protocol(format!("`{key}` of {of} is no object")))
}

/// A count that must be there.
pub(super) fn count(map: &Map<String, Value>, key: &str, of: &str) -> Result<u64, Fault> {
    field(map, key, of)?
        .as_u64()
        .ok_or_else(|| Fault::Protocol(format!("`{key}` of {of} is no whole number")))
}

/// A count that may be missing or null.
pub(super) fn maybe_count(map: &Map<String, Value>, key: &str) -> Option<u64> {
    map.get(key).and_then(Value::as_u64)
}

/// The JSON object of an event.
pub(super) fn parse(data: &str) -> Result<Map<String, Value>, Fault> {
    match serde_json::from_str(data) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Fault::Protocol("an event is no JSON object".to_owned())),
        Err(error) => Err(Fault::Protocol(format!("an event is no JSON: {error}"))),
    }
}
