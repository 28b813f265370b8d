//! What a model is asked, in no provider's words. Every list is in the order in which it is sent, so that
//! equal beginnings give equal bytes.

use super::reply::Block;
use crate::model::{Digest, digest_bytes};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;

/// JSON kept as it was written: key order, spelling of numbers, unknown fields.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Keeps a text that is JSON.
    ///
    /// # Errors
    /// When it is not one whole JSON value.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    /// A value in its canonical spelling; `null` for what JSON cannot hold.
    pub fn of(value: &impl Serialize) -> Self {
        let raw = serde_json::value::to_raw_value(value);
        Self(raw.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long a provider should keep what ends at this mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMark {
    /// Five minutes, renewed by each hit.
    FiveMinutes,
    /// An hour; must stand before every five-minute mark.
    OneHour,
}

/// One text of the fixed part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemBlock {
    /// The text; not empty.
    pub text: String,
    /// Whether what ends here is worth keeping.
    #[serde(default)]
    pub cache: Option<CacheMark>,
}

/// A tool that the model may ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its input: an object with all properties required and no others allowed, which both
    /// protocols accept as strict.
    pub input_schema: RawJson,
}

/// One part of what the model is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserPart {
    /// A text; not empty.
    Text {
        /// The text.
        text: String,
        /// Whether what ends here is worth keeping.
        #[serde(default)]
        cache: Option<CacheMark>,
    },
    /// The answer to one tool call of the turn before. Each call needs exactly one, in the very next
    /// message.
    ToolResult {
        /// The call's id.
        call: String,
        /// What the tool answered, or why it did not.
        text: String,
        /// Whether the tool failed.
        failed: bool,
        /// Whether what ends here is worth keeping.
        #[serde(default)]
        cache: Option<CacheMark>,
    },
}

/// One turn of the conversation so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the model was told. Tool results stand before texts.
    User(Vec<UserPart>),
    /// What it said, exactly: [`super::TurnReply::blocks`] of an earlier turn of the same provider.
    Assistant(Vec<Block>),
}

/// One turn to be asked for. The request of the next turn is this one with messages appended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The model, as the provider names it.
    pub model: String,
    /// Most tokens of the answer, hidden reasoning included.
    pub max_output_tokens: u32,
    /// How hard the model should think, as the provider names it; the same through a loop.
    #[serde(default)]
    pub effort: Option<String>,
    /// Tools, in a fixed order; the same in every turn of a loop.
    pub tools: Vec<Tool>,
    /// The fixed part: instructions, then the contract, then the job.
    pub system: Vec<SystemBlock>,
    /// The conversation; ends with the user.
    pub messages: Vec<Message>,
}

impl TurnRequest {
    /// Digest of tools and the first `blocks` system blocks, cache marks aside: the part that all turns
    /// under one contract version share.
    pub fn prefix_digest(&self, blocks: usize) -> Digest {
        let mut bytes = Vec::new();
        for tool in &self.tools {
            for text in [&tool.name, &tool.description] {
                push(&mut bytes, text);
            }
            push(&mut bytes, tool.input_schema.as_str());
        }
        bytes.push(0);
        for block in self.system.iter().take(blocks) {
            push(&mut bytes, &block.text);
        }
        digest_bytes(&bytes)
    }

    /// Whether any cache mark asks for an hour; such writes cost more.
    pub fn keeps_an_hour(&self) -> bool {
        let hour = |mark: &Option<CacheMark>| *mark == Some(CacheMark::OneHour);
        self.system.iter().any(|block| hour(&block.cache))
            || self.messages.iter().any(|message| match message {
                Message::User(parts) => parts.iter().any(|part| match part {
                    UserPart::Text { cache, .. } | UserPart::ToolResult { cache, .. } => {
                        hour(cache)
                    }
                }),
                Message::Assistant(_) => false,
            })
    }
}

/// With its length before it, so that no two lists of texts have the same bytes.
fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}
