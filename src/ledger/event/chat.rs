//! What a chat worker's loop writes down: each turn before it is asked for, each tool call with its answer.

use crate::model::{Account, Digest, TimeMs};
use serde::{Deserialize, Serialize};

/// A turn is about to be asked for; everything that it can take is reserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// From 1 in each attempt; a repeated request is a turn of its own.
    pub turn: u32,
    /// The provider's name.
    pub provider: String,
    /// The model that is asked for.
    pub model: String,
    /// Digest of what all jobs under one contract version share: tools, rules, contract.
    pub prefix: Digest,
    /// Blob of tools, rules and contract as they were sent.
    pub system: Digest,
    /// Blob of the message that this turn appends, when it appends one.
    pub message: Option<Digest>,
    /// Tokens reserved: input as estimated, output at its ceiling.
    pub tokens: u64,
    /// Money reserved, in pico of the contract's currency; `None` when the model has no price.
    #[serde(default)]
    pub money: Option<u64>,
}

/// A tool that the model asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRef {
    /// The call's id, as the provider gave it.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub tool: String,
}

/// A turn was answered, or failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// Which.
    pub turn: u32,
    /// `done`, `tools`, `truncated`, `refused`, `paused`, `context_full` or `failed`.
    pub outcome: String,
    /// The provider's own word for the end, or why it failed: one sentence.
    pub why: String,
    /// Input that met no cache.
    pub uncached: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Input read from a cache; `None` when the provider does not say.
    pub cache_read: Option<u64>,
    /// Output, reasoning included.
    pub output: u64,
    /// How much of the output was reasoning.
    pub reasoning: u64,
    /// `reported`, `estimated` or `unknown`; for `unknown` what was reserved counts as spent.
    pub source: String,
    /// What it cost, in pico of the contract's currency; `None` when the model has no price.
    #[serde(default)]
    pub money: Option<u64>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The model that answered.
    pub model: String,
    /// Blob of the answer, to be sent back byte for byte; `None` when there is none.
    pub answer: Option<Digest>,
    /// Tools that it asks for, in order.
    #[serde(default)]
    pub calls: Vec<CallRef>,
    /// No other turn before this.
    #[serde(default)]
    pub retry_at: Option<TimeMs>,
    /// Why the loop ends with this turn, when it does.
    #[serde(default)]
    pub ends: Option<String>,
}

/// An engine before this one died while a turn was under way: nobody knows what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnUnknown {
    /// Which.
    pub turn: u32,
    /// What is known; its reservation counts as spent in full.
    pub why: String,
}

/// A tool is about to query the warehouse; its query is reserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryStarted {
    /// The turn that asked.
    pub turn: u32,
    /// The call.
    pub call: String,
}

/// A tool call and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCalled {
    /// The turn that asked.
    pub turn: u32,
    /// The call.
    pub call: String,
    /// The tool, as the model wrote it.
    pub tool: String,
    /// `answered`, `error` (the model can mend it), `refused` (it reached for what no worker may) or `drift`.
    pub outcome: String,
    /// One line for people.
    pub words: String,
    /// Blob of the answer that the model gets.
    pub answer: Digest,
    /// A config kept as the proposal, when the call made one.
    #[serde(default)]
    pub proposal: Option<Digest>,
    /// Whether it acknowledged the job rightly.
    #[serde(default)]
    pub acknowledged: bool,
    /// Queries spent.
    #[serde(default)]
    pub spent: u64,
    /// Why the loop ends with this call, when it does.
    #[serde(default)]
    pub ends: Option<String>,
}

/// The model believes that it works on something else than the ledger says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriftSeen {
    /// The turn.
    pub turn: u32,
    /// What the ledger says.
    pub expected: String,
    /// What the model said.
    pub said: String,
}

/// A model asks a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionAsked {
    /// Its id.
    pub question: String,
    /// The turn that asked.
    pub turn: u32,
    /// The call.
    pub call: String,
    /// The question.
    pub text: String,
}

/// A person answered, or the question lost its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionAnswered {
    /// Its id.
    pub question: String,
    /// Who; `None` when it lost its meaning.
    pub by: Option<Account>,
    /// The answer, or why there is none.
    pub text: String,
}

/// The loop is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatEnded {
    /// `proposed`, `cannot`, `drift`, `refused`, `truncated`, `context`, `limit`, `misuse`, `silent` or `failed`.
    pub outcome: String,
    /// One sentence.
    pub why: String,
    /// The worker's own words: a remark, never evidence.
    #[serde(default)]
    pub said: String,
}

/// What the next attempt must know was put together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckpointWritten {
    /// Blob of its fields.
    pub checkpoint: Digest,
}
