//! OpenAI-compatible Chat Completions: the request's bytes. The answer is read by [`stream`].

pub(super) mod stream;

use super::fields::{Fields, list};
use super::reply::{Block, BlockKind};
use super::request::{Message, TurnRequest, UserPart};
use crate::contract::ProviderSettings;

/// Where turns are asked for, after the base URL.
pub(super) const PATH: &str = "/chat/completions";

/// The body. What stays the same from turn to turn stands first, messages last.
pub(super) fn body(request: &TurnRequest, settings: &ProviderSettings, strict: bool) -> String {
    let mut fields = Fields::default()
        .put("model", &request.model)
        .put(&settings.output_field, &request.max_output_tokens)
        .put("stream", &true);
    if settings.stream_options {
        let options = Fields::default().put("include_usage", &true);
        fields = fields.raw("stream_options", &options.end());
    }
    fields = fields
        .maybe("temperature", settings.temperature.as_ref())
        .maybe("reasoning_effort", request.effort.as_ref());
    if settings.cache_key {
        let digest = request.prefix_digest(1);
        let key: String = digest.0.chars().take(32).collect();
        fields = fields.put("prompt_cache_key", &key);
    }
    if !request.tools.is_empty() {
        if settings.tool_choice {
            fields = fields
                .put("tool_choice", "auto")
                .put("parallel_tool_calls", &false);
        }
        let tools = request.tools.iter().map(|tool| {
            let function = Fields::default()
                .put("name", &tool.name)
                .put("description", &tool.description);
            let function = if strict {
                function.put("strict", &true)
            } else {
                function
            };
            let function = function.raw("parameters", tool.input_schema.as_str());
            Fields::default()
                .put("type", "function")
                .raw("function", &function.end())
                .end()
        });
        fields = fields.raw("tools", &list(tools));
    }
    fields.raw("messages", &messages(request)).end()
}

fn messages(request: &TurnRequest) -> String {
    let mut all = Vec::new();
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|one| one.text.as_str()).collect();
        all.push(said("system", &texts.join("\n\n")));
    }
    for message in &request.messages {
        match message {
            Message::Assistant(blocks) => all.push(assistant(blocks)),
            Message::User(parts) => user(parts, &mut all),
        }
    }
    list(all)
}

fn said(role: &str, text: &str) -> String {
    Fields::default()
        .put("role", role)
        .put("content", text)
        .end()
}

/// Results first, one message each; this protocol has no mark for a failure, so the text says it.
fn user(parts: &[UserPart], all: &mut Vec<String>) {
    let mut texts = Vec::new();
    for part in parts {
        match part {
            UserPart::Text { text, .. } => texts.push(text.as_str()),
            UserPart::ToolResult {
                call, text, failed, ..
            } => {
                let text = if *failed {
                    format!("ERROR: {text}")
                } else {
                    text.clone()
                };
                let one = Fields::default()
                    .put("role", "tool")
                    .put("tool_call_id", call)
                    .put("content", &text);
                all.push(one.end());
            }
        }
    }
    if !texts.is_empty() {
        all.push(said("user", &texts.join("\n\n")));
    }
}

fn assistant(blocks: &[Block]) -> String {
    let words: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match &block.kind {
            BlockKind::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let calls: Vec<String> = blocks
        .iter()
        .filter(|block| matches!(block.kind, BlockKind::ToolCall { .. }))
        .map(|block| block.raw.as_str().to_owned())
        .collect();
    let one = Fields::default().put("role", "assistant");
    let one = if words.is_empty() && !calls.is_empty() {
        one.raw("content", "null")
    } else {
        one.put("content", &words.concat())
    };
    if calls.is_empty() {
        one.end()
    } else {
        one.raw("tool_calls", &list(calls)).end()
    }
}
