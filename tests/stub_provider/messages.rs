//! Anthropic Messages as the stub says it: one body, or the same as events.

use super::cache::Counted;
use super::conversation::{Conversation, Protocol};
use super::error_value;
use super::scenario::{Said, Turn};
use super::wire::{Framing, Response};
use serde_json::{Map, Value, json};

pub fn answer(
    conversation: &Conversation,
    turn: &Turn,
    said: &Said,
    counted: Counted,
    drop_spec: Option<&str>,
) -> Response {
    let blocks = blocks(turn, said);
    let stop = turn.stop.clone().unwrap_or_else(|| {
        if said.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        }
        .to_owned()
    });
    let details = match stop.as_str() {
        "refusal" => {
            json!({ "type": "refusal", "category": "cyber", "explanation": "stub policy" })
        }
        _ => Value::Null,
    };
    let usage = usage(turn, counted);
    let model = turn
        .answers_as
        .clone()
        .unwrap_or_else(|| conversation.model.clone());
    let mut message = json!({
        "id": "msg_stub", "type": "message", "role": "assistant", "model": model, "content": blocks,
        "stop_reason": stop, "stop_sequence": null, "stop_details": details, "usage": usage,
    });
    let id = ("request-id".to_owned(), "req_stub".to_owned());
    if !conversation.stream {
        dropped("body", &mut message, drop_spec);
        let mut response = Response::json(200, &message);
        response.headers.push(id);
        return response;
    }
    let mut events = events(&message, said, turn);
    for event in &mut events {
        let kind = event["type"].as_str().unwrap_or("").to_owned();
        dropped(&kind, event, drop_spec);
    }
    let names = events.iter().map(|event| match event["type"].as_str() {
        Some(name) => name.to_owned(),
        None => "message_start".to_owned(),
    });
    let mut pieces: Vec<String> = names
        .zip(&events)
        .map(|(name, event)| format!("event: {name}\ndata: {event}\n\n"))
        .collect();
    let error = format!(
        "event: error\ndata: {}\n\n",
        error_value(Protocol::Anthropic, &turn.error)
    );
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let mut response = Response::stream(Vec::new());
    response.broken = spoil(&mut pieces, turn, &error, ping, &mut response.framing);
    response.pieces = pieces;
    response.pace_ms = turn.pace_ms;
    response.headers.push(id);
    response
}

/// Puts in what goes wrong; true when the body ends in the middle.
pub fn spoil(
    pieces: &mut Vec<String>,
    turn: &Turn,
    error: &str,
    ping: &str,
    framing: &mut Framing,
) -> bool {
    if let Some(after) = turn.error_after {
        pieces.truncate(after);
        pieces.push(error.to_owned());
    }
    if let Some(after) = turn.cut_after {
        pieces.truncate(after);
        if turn.cut == "clean" {
            *framing = Framing::Close;
            return false;
        }
        return true;
    }
    if turn.pings > 0 {
        *pieces = pieces
            .drain(..)
            .flat_map(|piece| std::iter::repeat_n(ping.to_owned(), turn.pings).chain([piece]))
            .collect();
    }
    false
}

/// Takes the field at `EVENT/POINTER` out of an object of that name.
pub fn dropped(name: &str, value: &mut Value, spec: Option<&str>) {
    let Some((event, pointer)) = spec.and_then(|spec| spec.split_once('/')) else {
        return;
    };
    if event != name {
        return;
    }
    let path = format!("/{pointer}");
    let (parent, last) = path.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => drop(map.shift_remove(last)),
        Some(Value::Array(list)) => {
            if let Ok(at) = last.parse::<usize>()
                && at < list.len()
            {
                list.remove(at);
            }
        }
        _ => {}
    }
}

fn blocks(turn: &Turn, said: &Said) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !said.thinking.is_empty() {
        blocks.push(
            json!({ "type": "thinking", "thinking": said.thinking, "signature": "c3R1Yg==" }),
        );
    }
    if turn.unknown {
        blocks.push(json!({ "type": "hologram", "payload": { "b": 1, "a": 2.50 } }));
    }
    if !said.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": said.text }));
    }
    for (id, tool, input) in &said.calls {
        let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
        blocks.push(json!({ "type": "tool_use", "id": id, "name": tool, "input": input }));
    }
    blocks
}

fn usage(turn: &Turn, counted: Counted) -> Value {
    let written = counted.written_5m + counted.written_1h;
    json!({
        "input_tokens": turn.counted.unwrap_or(counted.uncached),
        "cache_creation_input_tokens": written, "cache_read_input_tokens": counted.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.written_5m, "ephemeral_1h_input_tokens": counted.written_1h,
        },
        "output_tokens": counted.output, "service_tier": "standard",
    })
}

fn events(message: &Value, said: &Said, turn: &Turn) -> Vec<Value> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["stop_details"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    if turn.unknown {
        events.push(json!({ "type": "weather", "sky": "clear" }));
    }
    let mut inputs = said.calls.iter().map(|(_, _, input)| input);
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        let mut open: Map<String, Value> = block.as_object().unwrap().clone();
        let mut deltas = Vec::new();
        match block["type"].as_str().unwrap() {
            "text" => {
                open["text"] = json!("");
                for part in halves(block["text"].as_str().unwrap()) {
                    deltas.push(json!({ "type": "text_delta", "text": part }));
                }
            }
            "thinking" => {
                open["thinking"] = json!("");
                open["signature"] = json!("");
                deltas.push(json!({ "type": "thinking_delta", "thinking": block["thinking"] }));
                deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
            }
            "tool_use" => {
                open["input"] = json!({});
                deltas.push(json!({ "type": "input_json_delta", "partial_json": "" }));
                for part in halves(inputs.next().unwrap()) {
                    deltas.push(json!({ "type": "input_json_delta", "partial_json": part }));
                }
            }
            _ => {}
        }
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": open }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {
            "stop_reason": message["stop_reason"], "stop_sequence": null,
            "stop_details": message["stop_details"],
        },
        "usage": { "output_tokens": message["usage"]["output_tokens"] },
    }));
    events.push(json!({ "type": "message_stop" }));
    events
}

/// In two parts, between characters.
pub fn halves(text: &str) -> Vec<String> {
    let middle = text.chars().count() / 2;
    let first: String = text.chars().take(middle).collect();
    let second: String = text.chars().skip(middle).collect();
    [first, second]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect()
}
