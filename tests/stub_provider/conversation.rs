//! A request of either protocol as the stub sees it: segments with their bytes, and what a real server would
//! refuse.

use super::wire::Request;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Anthropic,
    Chat,
}

/// One cacheable piece in rendering order: its bytes without the mark, and the mark's lifetime in seconds.
#[derive(Debug, Clone)]
pub struct Segment {
    pub bytes: String,
    pub mark: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct Conversation {
    pub protocol: Protocol,
    pub model: String,
    pub stream: bool,
    pub include_usage: bool,
    pub max_output: u64,
    pub segments: Vec<Segment>,
    texts: Vec<String>,
    newest: String,
    answered: usize,
}

impl Conversation {
    pub fn read(protocol: Protocol, request: &Request) -> Result<Self, String> {
        let body: Value =
            serde_json::from_str(&request.body).map_err(|error| format!("no JSON: {error}"))?;
        let body = body.as_object().ok_or("the body is no object")?;
        let model = body.get("model").and_then(Value::as_str);
        let model = model
            .filter(|model| !model.is_empty())
            .ok_or("model: field required")?;
        let messages = body.get("messages").and_then(Value::as_array);
        let messages = messages.ok_or("messages: field required")?;
        let mut read = Self {
            protocol,
            model: model.to_owned(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
            include_usage: body
                .get("stream_options")
                .is_some_and(|options| options["include_usage"] == true),
            max_output: u64::MAX,
            segments: Vec::new(),
            texts: Vec::new(),
            newest: String::new(),
            answered: messages
                .iter()
                .filter(|one| one["role"] == "assistant")
                .count(),
        };
        match protocol {
            Protocol::Anthropic => read.anthropic(request, body, messages)?,
            Protocol::Chat => read.chat(body, messages)?,
        }
        Ok(read)
    }

    /// Bytes of the whole prompt.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|one| one.bytes.len() as u64).sum()
    }

    /// All words of the prompt.
    pub fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// The words of the newest message.
    pub fn newest(&self) -> String {
        self.newest.clone()
    }

    /// How many turns were answered before.
    pub fn answered(&self) -> usize {
        self.answered
    }

    fn anthropic(
        &mut self,
        request: &Request,
        body: &Map<String, Value>,
        messages: &[Value],
    ) -> Result<(), String> {
        let version = request.headers.get("anthropic-version");
        let version = version.ok_or("anthropic-version: header is required")?;
        if version == "2026-10-21" {
            for key in ["temperature", "top_p", "top_k"] {
                if body.contains_key(key) {
                    return Err(format!("{key}: not permitted with this version"));
                }
            }
        }
        let counting = request.path.ends_with("count_tokens");
        match body.get("max_tokens").and_then(Value::as_u64) {
            Some(most) => self.max_output = most,
            None if counting => {}
            None => return Err("max_tokens: field required".to_owned()),
        }
        for tool in body
            .get("tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if tool["input_schema"]["type"] != "object" {
                return Err("tools.input_schema.type: must be object".to_owned());
            }
            self.segment("tool", tool);
        }
        match body.get("system") {
            Some(Value::String(text)) => {
                self.texts.push(text.clone());
                self.segment("system", &Value::from(text.as_str()));
            }
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    self.texts.extend(block["text"].as_str().map(str::to_owned));
                    self.segment("system", block);
                }
            }
            _ => {}
        }
        if messages.is_empty() {
            return Err("messages: at least one message is required".to_owned());
        }
        let mut open: BTreeSet<String> = BTreeSet::new();
        for message in messages {
            self.anthropic_message(message, &mut open)?;
        }
        if messages.last().is_some_and(|last| last["role"] != "user") {
            return Err("messages: the conversation must end with a user message".to_owned());
        }
        if self
            .segments
            .iter()
            .filter(|one| one.mark.is_some())
            .count()
            > 4
        {
            return Err("cache_control: a maximum of 4 blocks may have it".to_owned());
        }
        Ok(())
    }

    fn anthropic_message(
        &mut self,
        message: &Value,
        open: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        let role = message["role"].as_str().unwrap_or("");
        if !["user", "assistant"].contains(&role) {
            return Err(format!("messages.role: unexpected \"{role}\""));
        }
        let text = message["content"].as_str();
        let plain = text.map(|text| vec![serde_json::json!({ "type": "text", "text": text })]);
        let blocks = plain.or_else(|| message["content"].as_array().cloned());
        let blocks = blocks.ok_or("messages.content: field required")?;
        let results: BTreeSet<String> = blocks
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .filter_map(|block| block["tool_use_id"].as_str().map(str::to_owned))
            .collect();
        if role == "user" {
            if &results != open {
                return Err(format!(
                    "messages: tool_use ids {open:?} need a tool_result each in the next message, got {results:?}"
                ));
            }
            open.clear();
            self.newest.clear();
        } else if !open.is_empty() {
            return Err("messages: tool_use without tool_result".to_owned());
        }
        for block in &blocks {
            if block["type"] == "text" && block["text"].as_str().is_none_or(str::is_empty) {
                return Err("messages: text content blocks must be non-empty".to_owned());
            }
            if role == "assistant" && block["type"] == "tool_use" {
                open.insert(block["id"].as_str().unwrap_or("").to_owned());
                if !block["input"].is_object() {
                    return Err("messages.content.tool_use.input: must be an object".to_owned());
                }
            }
            for key in ["text", "content"] {
                if let Some(text) = block[key].as_str() {
                    self.heard(role, text);
                }
            }
            self.segment(role, block);
        }
        Ok(())
    }

    fn heard(&mut self, role: &str, text: &str) {
        self.texts.push(text.to_owned());
        if role != "assistant" {
            if !self.newest.is_empty() {
                self.newest.push('\n');
            }
            self.newest.push_str(text);
        }
    }

    fn chat(&mut self, body: &Map<String, Value>, messages: &[Value]) -> Result<(), String> {
        let ceiling = ["max_completion_tokens", "max_tokens"]
            .into_iter()
            .find_map(|key| body.get(key).and_then(Value::as_u64));
        self.max_output = ceiling.unwrap_or(u64::MAX);
        if messages.is_empty() {
            return Err("messages: empty array".to_owned());
        }
        for tool in body
            .get("tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.segment("tool", tool);
        }
        let mut open: BTreeSet<String> = BTreeSet::new();
        let mut was = "";
        for message in messages {
            let role = message["role"].as_str().unwrap_or("");
            if role == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or("");
                if !open.remove(id) {
                    return Err(format!(
                        "messages: no tool call with the id \"{id}\" before"
                    ));
                }
            } else if !open.is_empty() {
                return Err("messages: tool_calls must be followed by tool messages".to_owned());
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                if !call["function"]["arguments"].is_string() {
                    return Err(
                        "messages.tool_calls.function.arguments: must be a string".to_owned()
                    );
                }
                open.insert(call["id"].as_str().unwrap_or("").to_owned());
            }
            if role == "assistant" || was == "assistant" {
                self.newest.clear();
            }
            if let Some(text) = message["content"].as_str() {
                self.heard(role, text);
            }
            self.segment(role, message);
            was = role;
        }
        Ok(())
    }

    /// A piece of the rendering, its mark taken off.
    fn segment(&mut self, of: &str, block: &Value) {
        let mut block = block.clone();
        let mark = block
            .as_object_mut()
            .and_then(|map| map.shift_remove("cache_control"))
            .map(|mark| if mark["ttl"] == "1h" { 3_600 } else { 300 });
        self.segments.push(Segment {
            bytes: format!("{of}:{block}"),
            mark,
        });
    }
}
