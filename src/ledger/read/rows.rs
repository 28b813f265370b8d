//! What a question returns: owned rows.

use super::super::event::{Act, Event};
use super::super::filter::Filter;
use crate::model::{
    Account, Action, Amounts, ApprovalId, AttemptNo, Budget, ClauseId, ContractVersion, DecisionId,
    Digest, EvidenceKind, GoalId, JobId, JobState, OperationId, OperationState, Seq, SpendId,
    TimeMs, Verdict, WaitKind,
};
use rusqlite::Row;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A goal in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoalRow {
    /// Its id.
    pub goal: GoalId,
    /// Current contract version.
    pub version: ContractVersion,
    /// Its sentence.
    pub objective: String,
    /// Who may amend.
    pub owner: Account,
    /// When it must be done.
    pub deadline: Option<TimeMs>,
    /// When version 1 was adopted.
    pub adopted_at: TimeMs,
    /// Jobs listed by the source; `None` until the list was read.
    pub jobs_listed: Option<u64>,
    /// How it ended, if it did.
    pub ended: Option<String>,
    /// The last heartbeat's decision and reason.
    pub heartbeat: String,
    /// When it was.
    pub heartbeat_at: Option<TimeMs>,
    /// Why a budget ended the work; `None` while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// A contract version as adopted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContractRow {
    /// The goal.
    pub goal: GoalId,
    /// From 1.
    pub version: ContractVersion,
    /// The contract's digest.
    pub digest: Digest,
    /// Blob of the goal file's text.
    pub text: Digest,
    /// Where its relative paths start.
    pub base_dir: PathBuf,
    /// `--set` overrides.
    pub overrides: Vec<String>,
    /// What `@me` means.
    pub me: Account,
    /// What was asked at adoption and who agreed.
    pub answers: Vec<String>,
    /// When it was adopted.
    pub adopted_at: TimeMs,
    /// By whom.
    pub adopted_by: String,
    /// Why it was amended; empty for the first version.
    pub why: String,
    /// What it changed, one line each.
    pub changes: Vec<String>,
    /// What it meant when it was taken over, in one sentence.
    pub impact: String,
    /// Blob of the whole impact as JSON.
    pub impact_detail: Option<Digest>,
}

/// The engine's last beat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineBeat {
    /// Its process.
    pub pid: u32,
    /// Its host.
    pub host: String,
    /// When, by the machine's clock.
    pub beat_at: TimeMs,
    /// The engine's own time then (scaled or virtual in practice).
    pub engine_at: TimeMs,
    /// How often it beats, in real milliseconds.
    pub every_ms: i64,
    /// `running`, `idle` or `stopped`.
    pub state: String,
}

/// Counts of one goal, for the header and `status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// Jobs by state.
    pub by_state: BTreeMap<JobState, u64>,
    /// Jobs in all.
    pub jobs: u64,
    /// Jobs that wait, by what for.
    pub by_wait: BTreeMap<WaitKind, u64>,
    /// Jobs worked on that wait for nothing and nobody.
    pub in_work: u64,
    /// Requests before the approver.
    pub approvals_open: u64,
    /// Questions of models that nobody has answered.
    pub questions_open: u64,
    /// Jobs of which rows wait for somebody to look at them.
    pub samples_open: u64,
    /// Operations that need a person.
    pub to_verify: u64,
    /// Operations of unknown or unrecorded outcome, all of them.
    pub unsettled: u64,
    /// Alerts that are not over.
    pub alerts_open: u64,
    /// Differences between ledger and world that wait to be accepted; while there are any, the engine is
    /// held and starts nothing.
    pub held: u64,
    /// Paused jobs.
    pub paused: u64,
    /// Waits past their overdue time cannot be told without a clock: those whose overdue lies before
    /// the engine's last beat.
    pub stalled: u64,
    /// Decisions that the engine has not answered.
    pub decisions_pending: u64,
    /// Queries spent and reserved on the engine's current day.
    pub queries: Vec<BudgetDay>,
    /// The engine's last beat.
    pub engine: Option<EngineBeat>,
    /// Last entry of the ledger.
    pub last_seq: Seq,
    /// Time of the last entry.
    pub last_at: TimeMs,
}

/// Use of one budget, on one day or in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetUse {
    /// Which.
    pub budget: Budget,
    /// `YYYY-MM-DD` in the goal's zone; empty for all of a total.
    pub day: String,
    /// Reserved and not yet settled, in base units.
    pub reserved: u64,
    /// Spent, in base units.
    pub spent: u64,
    /// Of what was spent: may have cost less.
    pub unsure: u64,
}

/// Queries of judgements, first ones and later ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CheckMeasure {
    /// Jobs whose clauses all passed.
    pub jobs: u64,
    /// Queries of their first judgements.
    pub first: u64,
    /// Queries of the first judgements of all jobs.
    pub all_first: u64,
    /// Queries of later ones.
    pub again: u64,
}

/// What the turns of chat workers took, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TurnMeasure {
    /// Turns that ended, well or not.
    pub turns: u64,
    /// Attempts that had one.
    pub attempts: u64,
    /// Jobs with an attempt, by a chat worker or not.
    pub jobs: u64,
    /// Turns whose tokens the provider counted.
    pub reported: u64,
    /// Input of those.
    pub input: u64,
    /// Output of those.
    pub output: u64,
    /// Of those: turns of which the provider said what its cache served.
    pub of_cache: u64,
    /// Of these: input that met no cache.
    pub uncached: u64,
    /// Of these: input written to a cache.
    pub cache_write: u64,
    /// Of these: input read from a cache.
    pub cache_read: u64,
}

/// How staging runs ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunMeasure {
    /// Well.
    pub succeeded: u64,
    /// By the config's own fault.
    pub by_config: u64,
    /// By chance: the environment's fault, or nobody's.
    pub by_chance: u64,
}

impl RunMeasure {
    /// All runs that ended.
    pub fn all(self) -> u64 {
        self.succeeded + self.by_config + self.by_chance
    }
}

/// A reservation without an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenSpend {
    /// Its spender's name for it.
    pub id: SpendId,
    /// The job it is spent on.
    pub job: JobId,
    /// What is set aside.
    pub amounts: Amounts,
    /// The day it counts for.
    pub day: String,
}

/// A handoff package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HandoffRow {
    /// Its entry.
    pub seq: Seq,
    /// Why it was written.
    pub why: String,
    /// Blob of the package for programs.
    pub json: Digest,
    /// Blob of the package for people.
    pub markdown: Digest,
    /// When.
    pub written_at: TimeMs,
}

/// Use of a renewing budget on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetDay {
    /// Its name.
    pub budget: String,
    /// `YYYY-MM-DD` in the goal's zone.
    pub day: String,
    /// Reserved and not yet settled.
    pub reserved: u64,
    /// Spent.
    pub spent: u64,
}

/// A job in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRow {
    /// Its id.
    pub job: JobId,
    /// Place in the source's order.
    pub position: u64,
    /// One line.
    pub title: String,
    /// Its state.
    pub state: JobState,
    /// Why it is in this state.
    pub reason: String,
    /// Strategy index.
    pub strategy: Option<u32>,
    /// Current attempt.
    pub attempt: AttemptNo,
    /// Staging runs in all.
    pub tries: u32,
    /// Clauses passed for the current config.
    pub clauses_passed: u32,
    /// Clauses that apply.
    pub clauses_total: u32,
    /// Of those passed, how many are a model's word.
    pub passed_judge: u32,
    /// Of those passed, how many are a person's word.
    pub passed_person: u32,
    /// Paused by an operator.
    pub paused: bool,
    /// Has an operation that needs a person.
    pub to_verify: bool,
    /// High risk by contract.
    pub high_risk: bool,
    /// What it waits for.
    pub wait: Option<WaitRow>,
    /// Queries spent.
    pub queries: u64,
    /// Last progress.
    pub last_progress: TimeMs,
}

/// A wait in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitRow {
    /// For what.
    pub kind: WaitKind,
    /// One sentence.
    pub reason: String,
    /// Since when.
    pub since: TimeMs,
    /// When it is looked at again.
    pub next_check: TimeMs,
    /// When it counts as stalled.
    pub overdue: TimeMs,
}

/// Columns the jobs can be sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JobSort {
    /// The source's order.
    #[default]
    Position,
    /// Id.
    Id,
    /// State, in the order of a job's life.
    State,
    /// Staging runs.
    Tries,
    /// Last progress.
    Progress,
    /// Queries spent.
    Queries,
}

/// Which jobs, in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// Which.
    pub filter: Filter,
    /// In which order.
    pub sort: JobSort,
    /// The other way round.
    pub reverse: bool,
}

/// An attempt in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptRow {
    /// From 1.
    pub attempt: AttemptNo,
    /// By which strategy.
    pub strategy: String,
    /// When it began.
    pub started_at: TimeMs,
    /// When it ended.
    pub ended_at: Option<TimeMs>,
    /// `passed`, `failed`, `handed_over`; empty while it goes on.
    pub outcome: String,
    /// Why.
    pub reason: String,
    /// Blob of its config.
    pub config: Option<Digest>,
    /// The worker's own words.
    pub remark: String,
    /// Whether it ended without any verdict: it taught nothing.
    pub no_new_evidence: bool,
}

/// An entry as read.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Its place.
    pub seq: Seq,
    /// Its time.
    pub at: TimeMs,
    /// The goal.
    pub goal: GoalId,
    /// The job.
    pub job: Option<JobId>,
    /// The attempt.
    pub attempt: Option<AttemptNo>,
    /// Who wrote it.
    pub actor: String,
    /// Its kind.
    pub kind: String,
    /// What happened; `None` when a newer program wrote a kind that this one does not know.
    pub event: Option<Event>,
}

/// An operation in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationRow {
    /// Its id.
    pub operation: OperationId,
    /// The job.
    pub job: JobId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// `stage` or `cut_over`.
    pub action: String,
    /// Digest of the config.
    pub config: Digest,
    /// Which deliberate run.
    pub ordinal: u32,
    /// Where it stands.
    pub state: OperationState,
    /// The target's reference.
    pub reference: String,
    /// Why refused or unknown.
    pub why: String,
    /// The approval it used.
    pub approval: Option<ApprovalId>,
    /// How often it was sent.
    pub sends: u32,
    /// Look-ups without an answer.
    pub look_ups: u32,
    /// Whether it needs a person.
    pub to_verify: bool,
    /// When it was intended.
    pub intended_at: TimeMs,
    /// When it last changed.
    pub changed_at: TimeMs,
    /// When it is looked up next.
    pub next_look: Option<TimeMs>,
    /// What it set off.
    pub observed: String,
}

/// A verdict in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceRow {
    /// Its entry.
    pub seq: Seq,
    /// The attempt.
    pub attempt: AttemptNo,
    /// The clause.
    pub clause: ClauseId,
    /// Whose word it is.
    pub kind: EvidenceKind,
    /// The person, if it is a person's.
    pub by: Option<Account>,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence.
    pub summary: String,
    /// Config judged.
    pub config: Digest,
    /// Checker that judged.
    pub checker: Digest,
    /// Staging run judged.
    pub operation: OperationId,
    /// Blob with numbers and queries.
    pub detail: Digest,
    /// Queries spent.
    pub spent: u64,
    /// When.
    pub at: TimeMs,
}

/// A request in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalRow {
    /// Its id.
    pub approval: ApprovalId,
    /// The job.
    pub job: JobId,
    /// What a yes starts.
    pub action: Action,
    /// What it is bound to.
    pub digest: Digest,
    /// What was digested, by name.
    pub parts: Value,
    /// What a cutover would set off.
    pub consequences: Vec<String>,
    /// When it was asked.
    pub requested_at: TimeMs,
    /// When it expires.
    pub expires_at: Option<TimeMs>,
    /// `open`, `approved`, `rejected`, `void`, `used`.
    pub state: String,
    /// Who decided.
    pub decided_by: Option<Account>,
    /// Why.
    pub reason: String,
    /// When.
    pub decided_at: Option<TimeMs>,
    /// What the approved action then did.
    pub outcome: String,
}

/// An open request, as much of it as a queue needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// Its id.
    pub approval: ApprovalId,
    /// The job.
    pub job: JobId,
    /// When it was asked.
    pub requested_at: TimeMs,
}

/// A decision in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionRow {
    /// Its id.
    pub decision: DecisionId,
    /// Its entry; decisions are answered in this order.
    pub seq: Seq,
    /// The goal.
    pub goal: GoalId,
    /// The job.
    pub job: JobId,
    /// Who asked.
    pub by: Account,
    /// What for.
    pub act: Act,
    /// When.
    pub submitted_at: TimeMs,
    /// `pending`, `accepted`, `refused`.
    pub state: String,
    /// The engine's words.
    pub why: String,
}

/// An alert in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AlertRow {
    /// Its entry.
    pub seq: Seq,
    /// The job, if it concerns one.
    pub job: Option<JobId>,
    /// The rule.
    pub rule: String,
    /// What was seen.
    pub evidence: String,
    /// When.
    pub raised_at: TimeMs,
    /// When it was over.
    pub cleared_at: Option<TimeMs>,
    /// Why.
    pub cleared_why: String,
}

/// A measurement of a target in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProofRow {
    /// Its entry.
    pub seq: Seq,
    /// The adapter measured.
    pub adapter: String,
    /// Its version.
    pub version: String,
    /// Which action.
    pub action: String,
    /// How it was measured.
    pub method: String,
    /// What was counted.
    pub counts: Value,
    /// Whether one effect per id was seen throughout.
    pub proven: bool,
    /// When it was measured.
    pub measured_at: TimeMs,
    /// When it is void in any case.
    pub expires_at: TimeMs,
}

pub(super) fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let wait = match row
        .get::<_, Option<String>>(13)?
        .as_deref()
        .and_then(WaitKind::from_word)
    {
        Some(kind) => Some(WaitRow {
            kind,
            reason: row.get(14)?,
            since: TimeMs(row.get(15)?),
            next_check: TimeMs(row.get(16)?),
            overdue: TimeMs(row.get(17)?),
        }),
        None => None,
    };
    Ok(JobRow {
        job: JobId(row.get(0)?),
        position: row.get::<_, i64>(1)? as u64,
        title: row.get(2)?,
        state: JobState::from_word(&row.get::<_, String>(3)?).unwrap_or(JobState::Pending),
        reason: row.get(4)?,
        strategy: row.get(5)?,
        attempt: AttemptNo(row.get(6)?),
        tries: row.get(7)?,
        clauses_passed: row.get(8)?,
        clauses_total: row.get(9)?,
        paused: row.get(10)?,
        to_verify: row.get(11)?,
        high_risk: row.get(12)?,
        wait,
        queries: row.get::<_, i64>(18)? as u64,
        last_progress: TimeMs(row.get(19)?),
        passed_judge: row.get(20)?,
        passed_person: row.get(21)?,
    })
}

pub(super) fn event_row(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    let job: String = row.get(3)?;
    let attempt: u32 = row.get(4)?;
    let kind: String = row.get(6)?;
    let body: String = row.get(7)?;
    Ok(EventRow {
        seq: Seq(row.get(0)?),
        at: TimeMs(row.get(1)?),
        goal: GoalId(row.get(2)?),
        job: (!job.is_empty()).then_some(JobId(job)),
        attempt: (attempt > 0).then_some(AttemptNo(attempt)),
        actor: row.get(5)?,
        event: Event::from_stored(&kind, &body).ok(),
        kind,
    })
}

pub(super) fn operation_row(row: &Row<'_>) -> rusqlite::Result<OperationRow> {
    Ok(OperationRow {
        operation: OperationId(row.get(0)?),
        job: JobId(row.get(1)?),
        attempt: AttemptNo(row.get(2)?),
        action: row.get(3)?,
        config: Digest(row.get(4)?),
        ordinal: row.get(5)?,
        state: OperationState::from_word(&row.get::<_, String>(6)?)
            .unwrap_or(OperationState::Unknown),
        reference: row.get(7)?,
        why: row.get(8)?,
        approval: row.get::<_, Option<String>>(9)?.map(ApprovalId),
        sends: row.get(10)?,
        look_ups: row.get(11)?,
        to_verify: row.get(12)?,
        intended_at: TimeMs(row.get(13)?),
        changed_at: TimeMs(row.get(14)?),
        next_look: row.get::<_, Option<i64>>(15)?.map(TimeMs),
        observed: row.get(16)?,
    })
}

pub(super) fn approval_row(row: &Row<'_>) -> rusqlite::Result<ApprovalRow> {
    Ok(ApprovalRow {
        approval: ApprovalId(row.get(0)?),
        job: JobId(row.get(1)?),
        digest: Digest(row.get(2)?),
        parts: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or(Value::Null),
        consequences: super::list(&row.get::<_, String>(4)?),
        requested_at: TimeMs(row.get(5)?),
        expires_at: row.get::<_, Option<i64>>(6)?.map(TimeMs),
        state: row.get(7)?,
        decided_by: row.get::<_, Option<String>>(8)?.map(Account),
        reason: row.get(9)?,
        decided_at: row.get::<_, Option<i64>>(10)?.map(TimeMs),
        outcome: row.get(11)?,
        action: Action::from_word(&row.get::<_, String>(12)?).unwrap_or(Action::CutOver),
    })
}

pub(super) fn decision_row(row: &Row<'_>) -> rusqlite::Result<DecisionRow> {
    let act: String = row.get(5)?;
    Ok(DecisionRow {
        decision: DecisionId(row.get(0)?),
        seq: Seq(row.get(1)?),
        goal: GoalId(row.get(2)?),
        job: JobId(row.get(3)?),
        by: Account(row.get(4)?),
        act: serde_json::from_str(&act).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(
                5,
                rusqlite::types::Type::Text,
                Box::new(error),
            )
        })?,
        submitted_at: TimeMs(row.get(6)?),
        state: row.get(7)?,
        why: row.get(8)?,
    })
}
