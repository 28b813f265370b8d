//! The closing report, from the ledger alone.

use crate::ledger::LedgerError;
use crate::ledger::read::{Overview, TokenTotals, View};
use crate::model::{GoalId, JobId, JobState};
use serde::Serialize;
use std::collections::BTreeMap;

/// Jobs by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// All.
    pub total: u64,
    /// In production.
    pub cut_over: u64,
    /// With a person.
    pub handed_over: u64,
    /// Given up.
    pub cancelled: u64,
    /// Not ended.
    pub open: u64,
}

impl JobCounts {
    /// From an overview.
    pub fn of(overview: &Overview) -> Self {
        let count = |state| overview.by_state.get(&state).copied().unwrap_or(0);
        let (cut_over, handed_over, cancelled) = (
            count(JobState::CutOver),
            count(JobState::HandedOver),
            count(JobState::Cancelled),
        );
        Self {
            total: overview.jobs,
            cut_over,
            handed_over,
            cancelled,
            open: overview
                .jobs
                .saturating_sub(cut_over + handed_over + cancelled),
        }
    }
}

/// Operations by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OperationCounts {
    /// Done by the environment.
    pub applied: u64,
    /// Refused by it.
    pub refused: u64,
    /// Of unknown or unrecorded outcome.
    pub to_verify: u64,
}

/// Decided requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ApprovalCounts {
    /// Yes.
    pub approved: u64,
    /// No.
    pub rejected: u64,
}

/// A job that a person has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HandedOver {
    /// The job.
    pub job: JobId,
    /// Why.
    pub reason: String,
}

/// What the ledger says at the end, or now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The goal.
    pub goal: GoalId,
    /// Jobs by how they ended.
    pub jobs: JobCounts,
    /// Operations by outcome.
    pub operations: OperationCounts,
    /// Queries spent in all.
    pub queries_used: u64,
    /// Decided requests.
    pub approvals: ApprovalCounts,
    /// What chat workers took, as their providers counted.
    pub models: TokenTotals,
    /// Differences between ledger and world that hold the engine.
    pub held: u64,
    /// Jobs that a person has now, with the reason.
    pub handed_over: Vec<HandedOver>,
}

/// Makes the report.
///
/// # Errors
/// When the ledger cannot be read.
pub fn report(view: View<'_>, goal: &GoalId) -> Result<Report, LedgerError> {
    let overview = view.overview(goal)?;
    let operations = view.operation_counts(goal)?;
    let approvals = view.approval_counts(goal)?;
    let facts = view.all_facts(goal)?;
    let of = |counts: &BTreeMap<String, u64>, word: &str| counts.get(word).copied().unwrap_or(0);
    Ok(Report {
        goal: goal.clone(),
        jobs: JobCounts::of(&overview),
        operations: OperationCounts {
            applied: of(&operations, "applied"),
            refused: of(&operations, "refused"),
            to_verify: of(&operations, "unknown") + of(&operations, "intended"),
        },
        queries_used: facts.iter().map(|one| one.queries).sum(),
        approvals: ApprovalCounts {
            approved: of(&approvals, "approved") + of(&approvals, "used"),
            rejected: of(&approvals, "rejected"),
        },
        models: view.token_totals(goal)?,
        held: overview.held,
        handed_over: facts
            .into_iter()
            .filter(|one| one.state == JobState::HandedOver)
            .map(|one| HandedOver {
                job: one.id,
                reason: one.reason,
            })
            .collect(),
    })
}

/// The goal's end in one sentence.
pub fn end_sentence(overview: &Overview) -> String {
    let counts = JobCounts::of(overview);
    format!(
        "{} jobs: {} cut over, {} handed over, {} cancelled",
        counts.total, counts.cut_over, counts.handed_over, counts.cancelled
    )
}
