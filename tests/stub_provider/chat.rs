//! Chat Completions as the stub says it: one body, or the same as chunks.

use super::cache::Counted;
use super::conversation::{Conversation, Protocol};
use super::error_value;
use super::messages::{dropped, halves, spoil};
use super::scenario::{Said, Turn};
use super::wire::Response;
use serde_json::{Value, json};

pub fn answer(
    conversation: &Conversation,
    turn: &Turn,
    said: &Said,
    counted: Counted,
    drop_spec: Option<&str>,
) -> Response {
    let stop = match turn.stop.as_deref() {
        Some("max_tokens") => "length".to_owned(),
        Some("refusal") => "content_filter".to_owned(),
        Some(other) => other.to_owned(),
        None if said.calls.is_empty() => "stop".to_owned(),
        None => "tool_calls".to_owned(),
    };
    let model = turn
        .answers_as
        .clone()
        .unwrap_or_else(|| conversation.model.clone());
    let prompt = counted.uncached + counted.read + counted.written_5m + counted.written_1h;
    let prompt = turn.counted.unwrap_or(prompt);
    let usage = json!({
        "prompt_tokens": prompt, "completion_tokens": counted.output, "total_tokens": prompt + counted.output,
        "prompt_tokens_details": { "cached_tokens": counted.read.min(prompt) },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    });
    let id = ("x-request-id".to_owned(), "req_stub".to_owned());
    let calls: Vec<Value> = said.calls.iter().map(|(id, tool, input)| {
        json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": input } })
    }).collect();
    if !conversation.stream {
        let content = if said.text.is_empty() {
            Value::Null
        } else {
            json!(said.text)
        };
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let mut body = json!({
            "id": "chatcmpl-stub", "object": "chat.completion", "created": 1_795_954_000, "model": model,
            "choices": [{ "index": 0, "finish_reason": stop, "logprobs": null, "message": message }],
            "usage": usage,
        });
        dropped("body", &mut body, drop_spec);
        let mut response = Response::json(200, &body);
        response.headers.push(id);
        return response;
    }
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": "chatcmpl-stub", "object": "chat.completion.chunk", "created": 1_795_954_000, "model": model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let mut chunks = vec![chunk(
        json!({ "role": "assistant", "content": null }),
        Value::Null,
    )];
    if !said.thinking.is_empty() {
        chunks.push(chunk(
            json!({ "reasoning_content": said.thinking }),
            Value::Null,
        ));
    }
    for part in halves(&said.text) {
        chunks.push(chunk(json!({ "content": part }), Value::Null));
    }
    for (index, (id, tool, input)) in said.calls.iter().enumerate() {
        let first = json!({ "index": index, "id": id, "type": "function",
                            "function": { "name": tool, "arguments": "" } });
        chunks.push(chunk(json!({ "tool_calls": [first] }), Value::Null));
        for part in halves(input) {
            let piece = json!({ "index": index, "function": { "arguments": part } });
            chunks.push(chunk(json!({ "tool_calls": [piece] }), Value::Null));
        }
    }
    chunks.push(chunk(json!({}), json!(stop)));
    if conversation.include_usage && !turn.no_usage {
        let mut counts = chunk(json!({}), Value::Null);
        counts["choices"] = json!([]);
        counts["usage"] = usage;
        chunks.push(counts);
    }
    let last = chunks.len() - 1;
    for (at, chunk) in chunks.iter_mut().enumerate() {
        let name = if at == 0 {
            "first"
        } else if at == last {
            "last"
        } else {
            "chunk"
        };
        dropped(name, chunk, drop_spec);
    }
    let mut pieces: Vec<String> = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    pieces.push("data: [DONE]\n\n".to_owned());
    let error = format!("data: {}\n\n", error_value(Protocol::Chat, &turn.error));
    let mut response = Response::stream(Vec::new());
    response.broken = spoil(
        &mut pieces,
        turn,
        &error,
        ": keep-alive\n\n",
        &mut response.framing,
    );
    response.pieces = pieces;
    response.pace_ms = turn.pace_ms;
    response.headers.push(id);
    response
}
