//! An entry before it has its place: who wrote it, and what people can ask for.

use super::Event;
use crate::model::{
    Account, ApprovalId, AttemptNo, ClauseId, ContractVersion, DecisionId, Digest, DriftId, GoalId,
    JobId, OperationId, Seq, TimeMs,
};
use serde::{Deserialize, Serialize};

/// Who wrote an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The engine's plain code.
    Engine,
    /// A person, by operating-system account.
    Person(Account),
}

impl Actor {
    /// The stored word: `engine`, or `person:NAME`.
    pub fn word(&self) -> String {
        match self {
            Self::Engine => "engine".to_owned(),
            Self::Person(account) => format!("person:{account}"),
        }
    }

    /// The account's name; `engine` for the engine.
    pub fn person(&self) -> &str {
        match self {
            Self::Engine => "engine",
            Self::Person(account) => &account.0,
        }
    }

    /// Back from the stored word.
    pub fn from_word(word: &str) -> Self {
        match word.strip_prefix("person:") {
            Some(name) => Self::Person(Account(name.to_owned())),
            None => Self::Engine,
        }
    }
}

/// One entry before it has a place in the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The engine's time; order is given by the ledger, not by this.
    pub at: TimeMs,
    /// The goal; empty for what concerns the whole ledger.
    pub goal: GoalId,
    /// The job, if it concerns one.
    pub job: Option<JobId>,
    /// The attempt, if it belongs to one.
    pub attempt: Option<AttemptNo>,
    /// Who wrote it.
    pub actor: Actor,
    /// What happened.
    pub event: Event,
}

/// What a person can ask for. The engine answers each exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// Approve the request; only for the digest that was seen.
    Approve {
        /// The request.
        approval: ApprovalId,
        /// Digest of what was seen.
        digest: Digest,
    },
    /// Reject the request.
    Reject {
        /// The request.
        approval: ApprovalId,
        /// Digest of what was seen.
        digest: Digest,
        /// Why.
        reason: String,
    },
    /// Start nothing new for the job.
    Pause,
    /// Undo a pause.
    Resume,
    /// Try a job again that was handed over, from the first strategy.
    Retry,
    /// Give the job to a person.
    HandOver {
        /// Why.
        reason: String,
    },
    /// Words for the job's next attempt.
    Comment {
        /// The words.
        text: String,
    },
    /// Words for the next attempt of each job of the goal.
    CommentGoal {
        /// The words.
        text: String,
    },
    /// Answer a model's question.
    Answer {
        /// The question.
        question: String,
        /// The answer.
        text: String,
    },
    /// Judge the rows that one was asked to look at.
    Judge {
        /// The question's id: another one is about other rows.
        sample: String,
        /// Whether they are right.
        pass: bool,
        /// Why not; may be empty for a pass.
        reason: String,
    },
    /// Rule on an operation of unknown outcome.
    Rule {
        /// The operation.
        operation: OperationId,
        /// True: it happened. False: it did not.
        happened: bool,
        /// The target's reference, when it happened.
        reference: String,
        /// Why the person is sure.
        reason: String,
    },
    /// Ask that a cut-over job goes back to the old side.
    RollBack {
        /// Why.
        reason: String,
    },
    /// Put another contract version in force.
    Amend {
        /// The version it was previewed against.
        from: ContractVersion,
        /// The digest of that version.
        base: Digest,
        /// The digest of the new one.
        contract: Digest,
        /// Blob of the new goal file's text.
        text: Digest,
        /// Where its relative paths start.
        base_dir: String,
        /// `--set` overrides.
        overrides: Vec<String>,
        /// What was asked and who agreed.
        answers: Vec<String>,
        /// The owner's reason.
        why: String,
    },
    /// Take other strategies, or another order of them, for jobs that are not done.
    RevisePlan {
        /// The revision that was seen; 0 is what was adopted.
        from: u32,
        /// Blob of the goal file's text that has them.
        text: Digest,
        /// What it is hoped to change.
        hypothesis: String,
    },
    /// Accept a job in production although a clause does not pass.
    Waive {
        /// The clause.
        clause: ClauseId,
        /// Why.
        reason: String,
    },
    /// Rule on an operation of unknown outcome: it happened, and its effect was undone by hand.
    Compensate {
        /// The operation.
        operation: OperationId,
        /// What was undone, and how.
        reason: String,
    },
    /// Accept differences between the ledger and the world, found after an unclean stop.
    AcceptDrift {
        /// Which.
        items: Vec<DriftId>,
    },
    /// Compare the ledger with the world again.
    CompareAgain,
    /// Look an operation up now.
    LookAgain {
        /// The operation.
        operation: OperationId,
    },
    /// Say that an alarm is no spinning; kept as a rule of this goal.
    OverruleSpin {
        /// The alarm's entry.
        spin: Seq,
        /// Everywhere in the goal, not for the alarm's job alone.
        everywhere: bool,
        /// Why.
        reason: String,
    },
    /// Take an overruling back.
    EnforceSpin {
        /// Its entry.
        overrule: Seq,
    },
}

/// An operator's words about the whole goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalWords {
    /// The decision that brought them; tells one from another.
    pub decision: DecisionId,
    /// The words.
    pub text: String,
}

impl Act {
    /// Whether it concerns the goal as a whole: it stands in the goal's own chain and names no job.
    pub const fn is_for_goal(&self) -> bool {
        matches!(
            self,
            Self::Amend { .. }
                | Self::RevisePlan { .. }
                | Self::AcceptDrift { .. }
                | Self::CompareAgain
                | Self::CommentGoal { .. }
        )
    }
}
