//! What the ledger knows of one job, and the one pure function that changes it.

mod changes;
mod chat;
mod operations;
mod parts;
mod spin;

pub use chat::{ChatFacts, OpenQuery, OpenQuestion, OpenTurn, ToolAnswer};
pub use operations::upstream_digest;
pub use parts::{
    ApprovalFacts, ApprovalState, ClauseFacts, DateFacts, OpenCheck, OperationFacts, RollbackFacts,
    RunFacts, SampleFacts, WaitFacts, WaiverFacts,
};

pub use spin::SpinFacts;

use super::event::{Entry, Event};
use crate::model::{
    Action, Amounts, AttemptNo, Budget, ClauseId, DecisionId, Digest, EvidenceKind, GoalId, JobId,
    JobState, OperationId, OperationState, TimeMs, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Failures of one config that are kept for the next attempt.
const MAX_FAILURES_KEPT: usize = 16;

/// All that the ledger knows of a job now; history is in the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFacts {
    /// The goal.
    pub goal: GoalId,
    /// The job.
    pub id: JobId,
    /// Place in the source's order.
    pub position: u64,
    /// One line.
    pub title: String,
    /// Words that clauses can name.
    pub tags: Vec<String>,
    /// Jobs upstream.
    pub depends_on: Vec<JobId>,
    /// Where the old definition stands.
    pub origin: String,
    /// Blob of the old definition.
    pub definition: Digest,
    /// The table it writes, as JSON.
    pub output: Option<Value>,
    /// What keeps it from being migrated, as JSON.
    pub hold: Option<Value>,
    /// High risk by contract.
    pub high_risk: bool,
    /// Clauses that apply.
    pub clauses: Vec<ClauseId>,
    /// Its state.
    pub state: JobState,
    /// Why it is in this state.
    pub reason: String,
    /// Paused by an operator.
    pub paused: bool,
    /// An operator's words for the next attempt.
    pub comment: Option<String>,
    /// The words that the current attempt was given.
    pub comment_given: Option<String>,
    /// The last words about the whole goal that an attempt of the job was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_words: Option<DecisionId>,
    /// Those that the current attempt was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_words_given: Option<String>,
    /// Current strategy, index into the plan; `None` before the first attempt.
    pub strategy: Option<u32>,
    /// The revision of the plan that the index belongs to.
    #[serde(default)]
    pub plan: u32,
    /// Current attempt.
    pub attempt: AttemptNo,
    /// Whether the current attempt is still going on.
    pub attempt_open: bool,
    /// Tries of preparing in this attempt that failed for no fault of the job.
    pub prepare_tries: u32,
    /// Why the last try of preparing failed for good, if it did.
    pub prepare_refused: Option<String>,
    /// The current config.
    pub config: Option<Digest>,
    /// Why the config before failed.
    pub last_failures: Vec<String>,
    /// The config that failed last.
    pub failed_config: Option<Digest>,
    /// Staging runs of the current config that failed. One that is made again because of a change
    /// upstream is no try.
    pub staging_tries: u32,
    /// Staging runs of all configs, for people.
    pub tries_total: u32,
    /// Configs under the current strategy that failed.
    pub repair_rounds: u32,
    /// Refusals in a row that were not the job's fault.
    pub refusals: u32,
    /// Checks in a row that ended without a verdict.
    pub check_tries: u32,
    /// Nothing is tried again before this.
    pub not_before: Option<TimeMs>,
    /// The staging run of the current config.
    pub run: Option<RunFacts>,
    /// Why the target will never take this config, if it said so.
    pub config_refused: Option<String>,
    /// Operations of the current config, and any without a known outcome.
    pub operations: BTreeMap<OperationId, OperationFacts>,
    /// Operations intended so far, by action and config, for ordinals.
    pub ordinals: BTreeMap<String, u32>,
    /// Last word by clause.
    pub evidence: BTreeMap<ClauseId, ClauseFacts>,
    /// A check in progress.
    pub open_check: Option<OpenCheck>,
    /// Rows that a person is asked to look at.
    #[serde(default)]
    pub sample: Option<SampleFacts>,
    /// Its request.
    pub approval: Option<ApprovalFacts>,
    /// Whether a person wants it back on the old side.
    #[serde(default)]
    pub rollback: Option<RollbackFacts>,
    /// Requests so far.
    pub requests: u32,
    /// What it waits for.
    pub wait: Option<WaitFacts>,
    /// Queries spent so far.
    pub queries: u64,
    /// What was spent on it of other budgets, in base units.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub spent: Amounts,
    /// The last entry that was progress: a config, a run's end, a verdict, a decision.
    pub last_progress: TimeMs,
    /// Reference of the cutover, once applied.
    pub production: Option<String>,
    /// Tries of the current config that an outage gave back.
    #[serde(default)]
    pub given_back: u32,
    /// The loop of the current attempt.
    #[serde(default, skip_serializing_if = "ChatFacts::is_empty")]
    pub chat: ChatFacts,
    /// Blob of what the last attempt left for the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Digest>,
    /// The config in production.
    #[serde(default)]
    pub production_config: Option<Digest>,
    /// What the cutover was built upon; `None` for a job without any upstream.
    #[serde(default)]
    pub production_lineage: Option<Digest>,
    /// When the config in production went there.
    #[serde(default)]
    pub cut_over_at: Option<TimeMs>,
    /// Whether its state says that it is in production: a cutover that was found later does not yet.
    #[serde(default)]
    pub confirmed: bool,
    /// In production, and to be staged anew because of a change upstream.
    #[serde(default)]
    pub outdated: bool,
    /// Digests of its clauses, once a contract was amended; before that, of the first version.
    #[serde(default)]
    pub clause_digests: BTreeMap<ClauseId, Digest>,
    /// Clauses that the owner waived for it.
    #[serde(default)]
    pub waivers: BTreeMap<ClauseId, WaiverFacts>,
    /// What its circles are seen by.
    #[serde(default)]
    pub spin: SpinFacts,
    /// Which logical date its staging runs are for.
    #[serde(default, skip_serializing_if = "DateFacts::is_empty")]
    pub dates: DateFacts,
}

impl JobFacts {
    /// The job as its source listed it; `None` when the entry is no `job.added`.
    pub fn added(entry: &Entry) -> Option<Self> {
        let Event::JobAdded {
            position,
            title,
            tags,
            depends_on,
            origin,
            definition,
            output,
            hold,
            high_risk,
            clauses,
        } = &entry.event
        else {
            return None;
        };
        Some(Self {
            goal: entry.goal.clone(),
            id: entry.job.clone()?,
            position: *position,
            title: title.clone(),
            tags: tags.clone(),
            depends_on: depends_on.clone(),
            origin: origin.clone(),
            definition: definition.clone(),
            output: output.clone(),
            hold: hold.clone(),
            high_risk: *high_risk,
            clauses: clauses.clone(),
            state: JobState::Pending,
            reason: String::new(),
            paused: false,
            comment: None,
            comment_given: None,
            goal_words: None,
            goal_words_given: None,
            strategy: None,
            plan: 0,
            attempt: AttemptNo(0),
            attempt_open: false,
            prepare_tries: 0,
            prepare_refused: None,
            config: None,
            last_failures: Vec::new(),
            failed_config: None,
            staging_tries: 0,
            tries_total: 0,
            repair_rounds: 0,
            refusals: 0,
            check_tries: 0,
            not_before: None,
            run: None,
            config_refused: None,
            operations: BTreeMap::new(),
            ordinals: BTreeMap::new(),
            evidence: BTreeMap::new(),
            open_check: None,
            sample: None,
            approval: None,
            rollback: None,
            requests: 0,
            wait: None,
            queries: 0,
            spent: Amounts::new(),
            last_progress: entry.at,
            production: None,
            given_back: 0,
            chat: ChatFacts::default(),
            checkpoint: None,
            production_config: None,
            production_lineage: None,
            cut_over_at: None,
            confirmed: false,
            outdated: false,
            clause_digests: BTreeMap::new(),
            waivers: BTreeMap::new(),
            spin: SpinFacts::default(),
            dates: DateFacts::default(),
        })
    }

    /// Key of [`JobFacts::ordinals`].
    pub fn ordinal_key(action: Action, config: &Digest) -> String {
        format!("{action}:{config}")
    }

    /// Changes the facts by one entry of this job. Pure: the same entries give the same facts.
    pub fn apply(&mut self, entry: &Entry) {
        if entry.event.ends_wait() {
            self.wait = None;
        }
        self.apply_attempt(entry);
        self.apply_operation(entry);
        self.apply_check(entry);
        self.apply_people(entry);
        self.apply_chat(entry);
        self.apply_spin(entry);
    }

    /// What the operator says for the current attempt: about the whole goal, then about the job.
    pub fn operator_words(&self) -> Option<String> {
        let goal = self
            .goal_words_given
            .as_ref()
            .map(|text| format!("About the whole goal: {text}"));
        match (goal, &self.comment_given) {
            (Some(goal), Some(job)) => Some(format!("{goal}\nAbout this job: {job}")),
            (Some(goal), None) => Some(goal),
            (None, job) => job.clone(),
        }
    }

    /// Tokens spent so far; what nobody counted is counted as reserved.
    pub fn tokens(&self) -> u64 {
        self.spent.get(&Budget::Tokens).copied().unwrap_or(0)
    }

    /// Operations whose outcome is not known, oldest first.
    pub fn unsettled(&self) -> impl Iterator<Item = &OperationFacts> {
        let mut open: Vec<&OperationFacts> = self
            .operations
            .values()
            .filter(|one| {
                matches!(
                    one.state,
                    OperationState::Intended | OperationState::Unknown
                )
            })
            .collect();
        open.sort_by(|a, b| (a.intended_at, &a.id).cmp(&(b.intended_at, &b.id)));
        open.into_iter()
    }

    /// Clauses with a pass for the current config.
    pub fn passed(&self) -> usize {
        self.passes().count()
    }

    /// Of those, the ones that are a person's or a model's word.
    pub fn passed_by(&self, by: EvidenceKind) -> usize {
        self.passes().filter(|one| one.by == by).count()
    }

    fn passes(&self) -> impl Iterator<Item = &ClauseFacts> {
        self.clauses.iter().filter_map(|id| {
            self.evidence.get(id).filter(|one| {
                one.verdict == Verdict::Pass
                    && Some(&one.config) == self.config.as_ref()
                    && self
                        .clause_digests
                        .get(id)
                        .is_none_or(|digest| *digest == one.clause_digest)
            })
        })
    }

    /// Whether the owner waived a clause, as it stands, for the config in production.
    pub fn waives(&self, clause: &ClauseId, digest: &Digest) -> bool {
        self.production.is_some()
            && self.waivers.get(clause).is_some_and(|own| {
                own.clause_digest == *digest && Some(&own.config) == self.production_config.as_ref()
            })
    }
}
