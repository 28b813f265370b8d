//! What a model answered, in no provider's words.

use super::request::RawJson;
use serde::{Deserialize, Serialize};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It said what it had to say.
    Done,
    /// It wants tools: run them, answer all of them in the next message.
    Tools,
    /// The output ceiling cut it. Its last tool call may be half of one: never run it.
    Truncated,
    /// The provider's policy stopped it; the same prompt will be stopped again.
    Refused,
    /// A long turn of the provider's own was interrupted: send the blocks back and go on, a few times at
    /// most.
    Paused,
    /// The conversation fills the model's context: a larger ceiling does not help.
    ContextFull,
}

/// A typed view of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Words.
    Text(String),
    /// A tool call. The input is what the model wrote and may be no JSON at all.
    ToolCall {
        /// Its id, for the result.
        id: String,
        /// The tool.
        name: String,
        /// The input as it was written.
        input: String,
    },
    /// Hidden reasoning; sent back unchanged and shown to nobody.
    Thinking,
    /// A kind that this version does not know; sent back unchanged.
    Other(String),
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// As it was received, for the echo; never built again.
    pub raw: RawJson,
    /// What it is.
    pub kind: BlockKind,
}

/// Where token counts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageSource {
    /// The provider said so.
    Reported,
    /// From the size of what was sent and received.
    Estimated,
    /// Nobody knows; what was reserved stays booked.
    Unknown,
}

/// Tokens of one turn. The first four input-side counts are disjoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that met no cache.
    pub uncached: u64,
    /// Input written to a five-minute cache.
    pub cache_write: u64,
    /// Input written to a one-hour cache.
    pub cache_write_1h: u64,
    /// Input read from a cache; `None` when the provider does not say.
    pub cache_read: Option<u64>,
    /// Output, reasoning included.
    pub output: u64,
    /// How much of the output was reasoning; 0 when the provider does not say.
    pub reasoning: u64,
    /// Where the counts come from.
    pub source: UsageSource,
}

impl Usage {
    /// Nothing known.
    pub const UNKNOWN: Self = Self {
        uncached: 0,
        cache_write: 0,
        cache_write_1h: 0,
        cache_read: None,
        output: 0,
        reasoning: 0,
        source: UsageSource::Unknown,
    };

    /// All input tokens.
    pub fn input(&self) -> u64 {
        self.uncached
            .saturating_add(self.cache_write)
            .saturating_add(self.cache_write_1h)
            .saturating_add(self.cache_read.unwrap_or(0))
    }

    /// All tokens.
    pub fn total(&self) -> u64 {
        self.input().saturating_add(self.output)
    }
}

/// One answered turn: its terminal event was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnReply {
    /// How it ended.
    pub outcome: Outcome,
    /// What was said, in order. Empty is possible.
    pub blocks: Vec<Block>,
    /// What it took.
    pub usage: Usage,
    /// The provider's id of the request, when it gave one.
    pub request_id: Option<String>,
    /// The model that answered; prices go by it.
    pub model: String,
    /// The provider's own word for the end, and what it said about a refusal.
    pub stop: String,
}

impl TurnReply {
    /// The tool calls, in order: id, name, input as written.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolCall { id, name, input } => {
                Some((id.as_str(), name.as_str(), input.as_str()))
            }
            _ => None,
        })
    }

    /// All words, joined by line ends.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match &block.kind {
                BlockKind::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        words.join("\n")
    }
}
