//! What the interface remembers of its own doings: what was asked, what was said, what is held back.

use super::snapshot::Snapshot;
use crate::model::{ApprovalId, DecisionId};

/// Where something asked here stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Being written, or written and not answered by the engine.
    Pending,
    /// Done, with the engine's words.
    Accepted(String),
    /// Not done, and why.
    Refused(String),
}

/// A decision asked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The interface's own number.
    pub local: u64,
    /// Its id once written.
    pub id: Option<DecisionId>,
    /// What, for people.
    pub what: String,
    /// The request it decides, if it does.
    pub approval: Option<ApprovalId>,
    /// What was typed for it, and under which name it is kept should it be refused.
    pub typed: Option<(String, String)>,
    /// Where it stands.
    pub answer: Answer,
    /// When it was asked.
    pub at_ms: u64,
}

/// A line that goes away by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is said.
    pub text: String,
    /// Whether it is about something that did not work.
    pub bad: bool,
    /// Until when.
    pub until_ms: u64,
}

/// The display is frozen.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// Since when.
    pub since_ms: u64,
    /// The newest snapshot, not shown.
    pub held: Option<Box<Snapshot>>,
}
