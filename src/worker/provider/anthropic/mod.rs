//! Anthropic Messages: the request's bytes. The answer is read by [`stream`].

pub(super) mod stream;

use super::fields::{Fields, list};
use super::request::{CacheMark, Message, TurnRequest, UserPart};
use crate::contract::ProviderSettings;

/// Where turns are asked for, after the base URL.
pub(super) const PATH: &str = "/v1/messages";
/// Cache marks that one request may carry.
const MOST_MARKS: usize = 4;

/// The body. What stays the same from turn to turn stands first, messages last.
pub(super) fn body(request: &TurnRequest, settings: &ProviderSettings, strict: bool) -> String {
    let mut fields = Fields::default()
        .put("model", &request.model)
        .put("max_tokens", &request.max_output_tokens)
        .put("stream", &true);
    if let Some(effort) = &request.effort {
        fields = fields.raw(
            "output_config",
            &Fields::default().put("effort", effort).end(),
        );
    }
    if !request.tools.is_empty() {
        if settings.tool_choice {
            let choice = Fields::default()
                .put("type", "auto")
                .put("disable_parallel_tool_use", &true);
            fields = fields.raw("tool_choice", &choice.end());
        }
        let tools = request.tools.iter().map(|tool| {
            let one = Fields::default()
                .put("name", &tool.name)
                .put("description", &tool.description);
            let one = if strict {
                one.put("strict", &true)
            } else {
                one
            };
            one.raw("input_schema", tool.input_schema.as_str()).end()
        });
        fields = fields.raw("tools", &list(tools));
    }
    let mut left = MOST_MARKS;
    if !request.system.is_empty() {
        let blocks = request.system.iter().map(|block| {
            let one = Fields::default()
                .put("type", "text")
                .put("text", &block.text);
            let keep = block.cache.filter(|_| left > 0);
            left -= usize::from(keep.is_some());
            marked(one, keep).end()
        });
        fields = fields.raw("system", &list(blocks));
    }
    fields
        .raw("messages", &messages(&request.messages, left))
        .end()
}

/// The conversation with at most `marks` cache marks: the last ones, which reach furthest.
fn messages(all: &[Message], marks: usize) -> String {
    let marked_parts = all
        .iter()
        .filter_map(|message| match message {
            Message::User(parts) => Some(parts.iter().filter(|part| mark(part).is_some()).count()),
            Message::Assistant(_) => None,
        })
        .sum::<usize>();
    let mut skip = marked_parts.saturating_sub(marks);
    list(all.iter().map(|message| match message {
        Message::Assistant(blocks) => {
            let blocks = blocks.iter().map(|block| block.raw.as_str().to_owned());
            Fields::default()
                .put("role", "assistant")
                .raw("content", &list(blocks))
                .end()
        }
        Message::User(parts) => {
            let parts = parts.iter().map(|part| {
                let keep = mark(part).filter(|_| {
                    let dropped = skip > 0;
                    skip = skip.saturating_sub(1);
                    !dropped
                });
                marked(part_fields(part), keep).end()
            });
            Fields::default()
                .put("role", "user")
                .raw("content", &list(parts))
                .end()
        }
    }))
}

fn mark(part: &UserPart) -> Option<CacheMark> {
    match part {
        UserPart::Text { cache, .. } | UserPart::ToolResult { cache, .. } => *cache,
    }
}

fn part_fields(part: &UserPart) -> Fields {
    match part {
        UserPart::Text { text, .. } => Fields::default().put("type", "text").put("text", text),
        UserPart::ToolResult {
            call, text, failed, ..
        } => {
            let one = Fields::default()
                .put("type", "tool_result")
                .put("tool_use_id", call)
                .put("content", text);
            if *failed {
                one.put("is_error", &true)
            } else {
                one
            }
        }
    }
}

/// With the mark last, so that taking it off leaves the bytes before it as they were.
fn marked(fields: Fields, mark: Option<CacheMark>) -> Fields {
    let Some(mark) = mark else { return fields };
    let control = Fields::default().put("type", "ephemeral");
    let control = match mark {
        CacheMark::FiveMinutes => control,
        CacheMark::OneHour => control.put("ttl", "1h"),
    };
    fields.raw("cache_control", &control.end())
}
