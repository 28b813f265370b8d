//! The chat worker's pure parts: what a model is told, what it may ask for, what is kept of a loop.
//!
//! The loop itself is the engine's: one turn is one step, written down before it is asked for, so that a death
//! loses at most the call in flight.

pub mod checkpoint;
pub mod prompt;
pub mod redact;
pub mod settings;
pub mod tools;

/// Turns of one loop when the strategy says nothing.
pub const DEFAULT_MAX_TURNS: u32 = 24;
/// Most turns that a strategy can ask for.
pub const MAX_TURNS: u32 = 200;
/// Tool calls of one turn that are run; more are answered with an error.
pub const MAX_CALLS_PER_TURN: usize = 8;
/// Calls that are no tool or do not fit, before the loop ends.
pub const MAX_BAD_CALLS: u32 = 3;
/// Turns in a row that a provider may pause.
pub const MAX_PAUSES: u32 = 5;
/// Calls of one tool in a row with the same answer, before the loop ends.
pub const MAX_REPEATS: u32 = 4;
/// Questions to a person in one loop.
pub const MAX_QUESTIONS: u32 = 2;
/// Claims in one loop.
pub const MAX_CLAIMS: u32 = 2;
/// Output tokens of a turn when the strategy says nothing.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 4_096;
/// Bytes of a conversation at which a loop ends, when the strategy names no context.
pub const DEFAULT_CONTEXT_TOKENS: u64 = 100_000;
/// Most bytes of one tool's answer.
pub const MAX_ANSWER_BYTES: usize = 24 * 1024;
