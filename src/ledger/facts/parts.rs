//! What the facts of a job are made of: operations, verdicts, its request, wait and run.

use crate::model::{
    Account, Action, ApprovalId, ClauseId, Digest, EvidenceKind, FailureClass, LogicalDate,
    OperationId, OperationState, TimeMs, Verdict, WaitKind, Wake,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A side effect of the current attempt or one without a known outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationFacts {
    /// Its id.
    pub id: OperationId,
    /// What.
    pub action: Action,
    /// Which config.
    pub config: Digest,
    /// Which deliberate run of it.
    pub ordinal: u32,
    /// What it was built upon.
    pub upstream: Value,
    /// The approval it used.
    pub approval: Option<ApprovalId>,
    /// Where it stands.
    pub state: OperationState,
    /// The target's reference, once applied.
    pub reference: String,
    /// Why refused or unknown.
    pub why: String,
    /// When it was intended.
    pub intended_at: TimeMs,
    /// How often the same id was sent.
    pub sends: u32,
    /// Look-ups without an answer.
    pub look_ups: u32,
    /// When it is looked up next.
    pub next_look: Option<TimeMs>,
    /// Whether it needs a person.
    pub to_verify: bool,
    /// Whether its effect was undone by hand, or taken away: what is found of it proves nothing any more.
    #[serde(default)]
    pub undone: bool,
}

/// A clause's last word under one validity key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClauseFacts {
    /// Digest of the clause judged.
    pub clause_digest: Digest,
    /// Config judged.
    pub config: Digest,
    /// Lineage judged under.
    pub lineage: Digest,
    /// Checker that judged.
    pub checker: Digest,
    /// Staging run judged.
    pub operation: OperationId,
    /// Whose word it is.
    #[serde(default)]
    pub by: EvidenceKind,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence.
    pub summary: String,
    /// Blob of the evidence.
    pub detail: Digest,
}

/// Which logical date the job's staging runs are for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DateFacts {
    /// Those chosen so far; the last one is in use.
    pub chosen: Vec<LogicalDate>,
    /// Whether the source has no other.
    pub exhausted: bool,
}

impl DateFacts {
    /// The one in use; absent while the target chooses.
    pub fn current(&self) -> Option<&LogicalDate> {
        self.chosen.last()
    }

    /// Whether nothing was ever chosen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Rows that a person is asked to look at, with the validity key of the verdict to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleFacts {
    /// The question's id.
    pub id: String,
    /// The clause.
    pub clause: ClauseId,
    /// Its digest.
    pub clause_digest: Digest,
    /// The config.
    pub config: Digest,
    /// The lineage.
    pub lineage: Digest,
    /// What chose the rows.
    pub checker: Digest,
    /// The staging run.
    pub operation: OperationId,
    /// Rows chosen.
    pub rows: u32,
    /// Blob of the rows.
    pub detail: Digest,
    /// When it was asked.
    pub asked_at: TimeMs,
}

/// A clause that the owner waived, bound to what was waived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaiverFacts {
    /// Digest of the clause.
    pub clause_digest: Digest,
    /// The config in production.
    pub config: Digest,
    /// Who.
    pub by: Account,
    /// Why.
    pub reason: String,
    /// When.
    pub at: TimeMs,
}

/// The job's open or last request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalFacts {
    /// Its id.
    pub id: ApprovalId,
    /// What a yes starts.
    pub action: Action,
    /// What it is bound to.
    pub digest: Digest,
    /// Open, or how it was decided.
    pub state: ApprovalState,
    /// When it was asked.
    pub requested_at: TimeMs,
    /// When it expires.
    pub expires_at: Option<TimeMs>,
    /// Who decided and why, for the record.
    pub decided: String,
}

/// A cut-over job that a person wants back on the old side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackFacts {
    /// Who asked.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Whether the target did it; what is left is to say so.
    pub done: bool,
    /// Why the target will not do it, if it said so.
    pub refused: Option<String>,
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Before the approver.
    Open,
    /// Yes, and not used yet.
    Approved,
    /// No.
    Rejected,
    /// Means nothing any more.
    Void,
    /// Its cutover was intended; it can start nothing else.
    Used,
}

impl ApprovalState {
    /// The word in the ledger and on screen.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Void => "void",
            Self::Used => "used",
        }
    }
}

/// What the job waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitFacts {
    /// For what.
    pub kind: WaitKind,
    /// One sentence.
    pub reason: String,
    /// What would end it.
    pub wakes: Vec<Wake>,
    /// Since when.
    pub since: TimeMs,
    /// When it is looked at again in any case.
    pub next_check: TimeMs,
    /// When it counts as stalled.
    pub overdue: TimeMs,
}

/// A check that was started and has no end in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCheck {
    /// The clause.
    pub clause: ClauseId,
    /// Queries reserved.
    pub reserved: u64,
    /// The day they count for.
    pub day: String,
}

/// The staging run of the current config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunFacts {
    /// Started and not seen to end.
    Going {
        /// The operation that started it.
        operation: OperationId,
    },
    /// Exited well.
    Succeeded {
        /// The operation that started it.
        operation: OperationId,
    },
    /// Failed.
    Failed {
        /// The operation that started it.
        operation: OperationId,
        /// Whose failure.
        class: FailureClass,
        /// One line.
        why: String,
    },
}
