//! The handoff package: what a person gets when work ends before the goal does, from the ledger alone.

mod decision;
mod markdown;
mod take;

pub use markdown::markdown;
pub use take::package;

use crate::engine::forecast::Outlook;
use crate::engine::report::JobCounts;
use crate::model::{Account, ContractVersion, GoalId, JobId, JobState, OperationId, Seq, TimeMs};
use serde::Serialize;

/// Shape of the package for programs.
pub const SCHEMA: &str = "dogwatch.handoff/1";
/// Most rows of one list in the package for programs.
pub const MOST_ROWS: usize = 1_000;
/// Most characters of one text.
pub const MOST_CHARS: usize = 400;
/// Most attempts and verdicts of one job.
pub const MOST_TRIED: usize = 12;

/// A list that is cut, with how much was left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cut<T> {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub rows: Vec<T>,
}

impl<T> Default for Cut<T> {
    fn default() -> Self {
        Self {
            count: 0,
            rows: Vec::new(),
        }
    }
}

impl<T> Cut<T> {
    fn push(&mut self, row: T) {
        self.count += 1;
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        }
    }

    /// How many rows are not in the list.
    pub fn more(&self) -> u64 {
        self.count.saturating_sub(self.rows.len() as u64)
    }
}

/// A checker's last word.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Word {
    /// The clause.
    pub clause: String,
    /// `pass`, `fail`, `inconclusive`, `unverified`.
    pub verdict: String,
    /// One sentence.
    pub summary: String,
}

/// A job in production, with what says that it is right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Done {
    /// The job.
    pub job: JobId,
    /// What it is.
    pub title: String,
    /// The target's reference.
    pub reference: String,
    /// Who decided the cutover, and why.
    pub decided: String,
    /// Its clauses' last verdicts.
    pub evidence: Vec<Word>,
}

/// One attempt at a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// From 1.
    pub attempt: u32,
    /// By which strategy.
    pub strategy: String,
    /// `passed`, `failed`, `handed_over`, or empty while it goes on.
    pub outcome: String,
    /// Why.
    pub reason: String,
}

/// A job that a person has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Given {
    /// The job.
    pub job: JobId,
    /// What it is.
    pub title: String,
    /// Where its old definition stands.
    pub origin: String,
    /// Why it was handed over.
    pub reason: String,
    /// What was tried.
    pub tried: Vec<Tried>,
    /// Its clauses' last verdicts.
    pub evidence: Vec<Word>,
}

/// A job that is neither done nor untouched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Going {
    /// The job.
    pub job: JobId,
    /// What it is.
    pub title: String,
    /// Its state.
    pub state: JobState,
    /// Why it is in this state, or what it waits for.
    pub reason: String,
    /// Clauses with a pass, of those that apply.
    pub clauses_passed: u64,
    /// Clauses that apply.
    pub clauses: u64,
}

/// A job by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// The job.
    pub job: JobId,
    /// What it is.
    pub title: String,
}

/// An operation of unknown outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubt {
    /// Its id.
    pub operation: OperationId,
    /// The job.
    pub job: JobId,
    /// `stage`, `cut_over` or `roll_back`.
    pub action: String,
    /// What was seen.
    pub why: String,
    /// Since when.
    pub since: TimeMs,
}

/// What staging was left with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Left {
    /// The job.
    pub job: JobId,
    /// The newest reference.
    pub reference: String,
    /// How many there are.
    pub count: u64,
}

/// One budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// Its name.
    pub budget: String,
    /// Whether it renews each day; then the other numbers are today's.
    pub per_day: bool,
    /// The limit, for people; empty when there is none.
    pub limit: String,
    /// Spent, for people.
    pub spent: String,
    /// Set aside, for people.
    pub reserved: String,
    /// Percent of the limit that is spent.
    pub percent: Option<f64>,
    /// The limit in base units.
    pub limit_units: Option<u64>,
    /// Spent, in base units.
    pub spent_units: u64,
    /// Of it: may have cost less.
    pub unsure_units: u64,
}

/// A request that nobody decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// The job.
    pub job: JobId,
    /// What is asked for.
    pub approval: String,
    /// Since when.
    pub since: TimeMs,
    /// What it would set off.
    pub consequences: Vec<String>,
}

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// `more_budget`, `less_scope`, `people`, `approvals`, `to_verify`, `deadline`.
    pub kind: String,
    /// What it means, with its numbers.
    pub what: String,
    /// What to type, when it is a command.
    pub command: Option<String>,
}

/// The whole package.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Package {
    /// Its shape and version.
    pub schema: String,
    /// The goal.
    pub goal: GoalId,
    /// Its sentence.
    pub objective: String,
    /// Who decides.
    pub owner: Account,
    /// The contract's version.
    pub contract_version: ContractVersion,
    /// Why it was written.
    pub why: String,
    /// As of.
    pub at: TimeMs,
    /// As of this entry of the ledger.
    pub entry: Seq,
    /// The deadline.
    pub deadline: Option<TimeMs>,
    /// Zone in which people read times.
    pub zone: String,
    /// Jobs by how they ended.
    pub jobs: JobCounts,
    /// In production, with evidence.
    pub done: Cut<Done>,
    /// With a person.
    pub handed_over: Cut<Given>,
    /// Given up.
    pub cancelled: Cut<Going>,
    /// In work, or waiting.
    pub in_progress: Cut<Going>,
    /// Untouched.
    pub not_started: Cut<Named>,
    /// Outcomes that are not known.
    pub to_verify: Cut<Doubt>,
    /// Requests that nobody decided.
    pub approvals: Cut<Asked>,
    /// What staging was left with.
    pub staging: Cut<Left>,
    /// Budgets.
    pub budgets: Vec<Spent>,
    /// What is still needed, from measured rates.
    pub forecast: Outlook,
    /// What is asked of the owner.
    pub decision: Vec<Choice>,
}

/// At most [`MOST_CHARS`] characters of a text.
fn short(text: &str) -> String {
    let mut out: String = text.chars().take(MOST_CHARS).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests;
