//! What is drawn: owned values, taken from the ledger at one moment.

use super::load::Want;
use crate::contract::Goal;
use crate::ledger::JobFacts;
use crate::ledger::read::{
    AlertRow, ApprovalRow, AttemptRow, BudgetUse, ContractRow, DecisionRow, DriftRow, EventRow,
    EvidenceRow, GoalRow, HandoffRow, JobQuery, JobRow, OperationRow, OutageRow, OverruleRow,
    Overview, PlanRow, QuestionRow, SpinRow, TranscriptTurn,
};
use crate::model::{
    ApprovalId, AttemptNo, DecisionId, Digest, JobId, JobState, OperationId, Seq, TimeMs,
};
use crate::tui::theme::Role;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Jobs that a query selects, and the rows of a window of them.
#[derive(Debug, Clone, Default)]
pub struct JobsData {
    /// What was asked.
    pub query: JobQuery,
    /// All ids, in order.
    pub ids: Arc<Vec<JobId>>,
    /// Rows near the cursor.
    pub rows: BTreeMap<JobId, JobRow>,
}

/// Everything about one job that its views show.
#[derive(Debug, Clone)]
pub struct JobData {
    /// Its row.
    pub row: JobRow,
    /// All that is known of it.
    pub facts: JobFacts,
    /// Oldest first.
    pub attempts: Vec<AttemptRow>,
    /// Oldest first.
    pub events: Vec<EventRow>,
    /// Oldest first.
    pub evidence: Vec<EvidenceRow>,
    /// Numbers and queries, by the digest of the evidence's body.
    pub numbers: BTreeMap<Digest, Value>,
    /// Oldest first.
    pub operations: Vec<OperationRow>,
    /// The loop of one attempt, when it was asked for; empty when no model worked on it.
    pub transcript: Option<(AttemptNo, Vec<TranscriptTurn>)>,
    /// Configs by digest, the old definition, and the checkpoint.
    pub texts: BTreeMap<Digest, Option<String>>,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its entry.
    pub seq: Seq,
    /// When.
    pub at: TimeMs,
    /// Which job.
    pub job: Option<JobId>,
    /// Who wrote it.
    pub actor: String,
    /// What happened.
    pub text: String,
    /// How it looks.
    pub role: Role,
}

/// The newest entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogData {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Entries before the first line that are not kept here.
    pub dropped: u64,
}

/// Something that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Since when.
    pub since: TimeMs,
    /// The job, if it concerns one.
    pub job: Option<JobId>,
    /// What.
    pub what: NeedWhat,
}

/// Kinds of needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedWhat {
    /// The engine is held until differences between ledger and world are accepted.
    Drift,
    /// A request is open.
    Approval(ApprovalId),
    /// An operation's outcome must be ruled on.
    Verify(JobId, OperationId),
    /// A model asks something: the job, and the question's id.
    Question(JobId, String),
    /// An alert is not over.
    Alert(Seq),
}

/// A contract version and the goal file it was adopted from.
#[derive(Debug, Clone)]
pub struct Version {
    /// As adopted.
    pub row: ContractRow,
    /// The goal file's text, if the ledger holds it.
    pub text: Option<String>,
}

/// The closing report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closing {
    /// Jobs by state.
    pub by_state: BTreeMap<JobState, u64>,
    /// Requests by state.
    pub approvals: BTreeMap<String, u64>,
    /// Operations by state.
    pub operations: BTreeMap<String, u64>,
    /// Queries spent in all.
    pub queries: u64,
    /// Jobs that a person has now, each with its reason.
    pub handed_over: Vec<(JobId, String)>,
    /// Jobs given up, each with its reason.
    pub cancelled: Vec<(JobId, String)>,
}

/// One moment of the ledger, as much of it as the screen shows.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// What it answers; `None` before the first one.
    pub want: Option<Want>,
    /// All goals.
    pub goals: Vec<GoalRow>,
    /// The goal shown.
    pub goal: Option<GoalRow>,
    /// Its counts.
    pub overview: Overview,
    /// Its contract.
    pub contract: Option<ContractRow>,
    /// The contract's text.
    pub contract_text: Option<String>,
    /// The contract as parsed; `None` when this program cannot read it.
    pub parsed: Option<Arc<Goal>>,
    /// For the view of the goal: the contract's versions, oldest first, each with its text.
    pub versions: Vec<Version>,
    /// The goal's zone.
    pub zone: TimeZone,
    /// What needs a person, by the cost of its delay.
    pub needs: Vec<Need>,
    /// For jobs that need a person: how many others cannot go into production before them.
    pub held: BTreeMap<JobId, u64>,
    /// The jobs that others wait for, at most two, the most awaited first.
    pub awaited: Vec<(JobId, u64)>,
    /// Only the first rows: nothing was counted, and there are more jobs than are listed.
    pub glance: bool,
    /// Rows of the jobs of listed requests.
    pub asking: BTreeMap<JobId, JobRow>,
    /// Answers to what was asked here.
    pub decisions: BTreeMap<DecisionId, DecisionRow>,
    /// For views that list jobs.
    pub jobs: Option<JobsData>,
    /// For views of one job.
    pub job: Option<Arc<JobData>>,
    /// The request shown.
    pub request: Option<ApprovalRow>,
    /// For the list of requests.
    pub approvals: Vec<ApprovalRow>,
    /// Operations without a known outcome.
    pub unsettled: Vec<OperationRow>,
    /// While the engine is held, and for the view of them: differences between ledger and world, open ones
    /// first.
    pub drift: Vec<DriftRow>,
    /// For the alerts.
    pub alerts: Vec<AlertRow>,
    /// For an alert: alarms of spinning, the newest first.
    pub spins: Vec<SpinRow>,
    /// For an alert: what people said to such alarms, the newest first.
    pub overrules: Vec<OverruleRow>,
    /// For an alert: the goal's first job, whose entry a word about the whole goal is.
    pub first_job: Option<JobId>,
    /// For an alert: outages, the newest first.
    pub outages: Vec<OutageRow>,
    /// For an alert: the last entries before it that concern it, oldest first.
    pub before_alert: Vec<EventRow>,
    /// For the budgets: totals, then the newest days.
    pub uses: Vec<BudgetUse>,
    /// For the budgets: what the engine foretold last, in its own JSON, and when.
    pub forecast: Option<(TimeMs, Value)>,
    /// For the budgets: packages written for those who take over.
    pub handoffs: Vec<HandoffRow>,
    /// What models ask people, oldest first.
    pub questions: Vec<QuestionRow>,
    /// Revisions of the plan, oldest first.
    pub plans: Vec<PlanRow>,
    /// For the view of the goal: the newest checkpoint of any job, if it is not long ago.
    pub checkpoint: Option<EventRow>,
    /// For the log.
    pub log: LogData,
    /// When it was asked for.
    pub closing: Option<Closing>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            want: None,
            goals: Vec::new(),
            goal: None,
            overview: Overview::default(),
            contract: None,
            contract_text: None,
            parsed: None,
            versions: Vec::new(),
            zone: TimeZone::UTC,
            needs: Vec::new(),
            held: BTreeMap::new(),
            awaited: Vec::new(),
            glance: false,
            asking: BTreeMap::new(),
            decisions: BTreeMap::new(),
            jobs: None,
            job: None,
            request: None,
            approvals: Vec::new(),
            unsettled: Vec::new(),
            drift: Vec::new(),
            alerts: Vec::new(),
            spins: Vec::new(),
            overrules: Vec::new(),
            first_job: None,
            outages: Vec::new(),
            before_alert: Vec::new(),
            uses: Vec::new(),
            forecast: None,
            handoffs: Vec::new(),
            questions: Vec::new(),
            plans: Vec::new(),
            checkpoint: None,
            log: LogData::default(),
            closing: None,
        }
    }
}

impl Snapshot {
    /// The engine's time as of its last beat or last entry; ages of ledger times are against this.
    pub fn now(&self) -> TimeMs {
        let beat = self
            .overview
            .engine
            .as_ref()
            .map_or(TimeMs(0), |engine| engine.engine_at);
        beat.max(self.overview.last_at)
    }

    /// The name of a strategy by its place in the plan.
    pub fn strategy(&self, index: Option<u32>) -> String {
        let Some(index) = index else {
            return String::new();
        };
        self.parsed
            .as_ref()
            .and_then(|goal| goal.strategies.get(index as usize))
            .map_or_else(
                || format!("strategy {}", index + 1),
                |strategy| strategy.id.as_str().to_owned(),
            )
    }

    /// Accounts that may decide, if the contract can be read here.
    pub fn approvers(&self) -> Option<Vec<String>> {
        let goal = self.parsed.as_ref()?;
        let me = self.contract.as_ref().map(|row| row.me.0.clone());
        let names = goal.contract.approval.by.iter().map(|account| {
            if account.0 == "@me" {
                me.clone().unwrap_or_else(|| account.0.clone())
            } else {
                account.0.clone()
            }
        });
        Some(names.collect())
    }
}
