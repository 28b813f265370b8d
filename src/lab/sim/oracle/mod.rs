//! What must hold, whatever happens: read from the event log and from what the world really did.
//!
//! Written from the design and sharing no code with what decides. Each entry is read once, in order, so
//! that a rule speaks of the moment at which it was broken.

mod amend;
mod effects;
mod gate;
mod life;
mod operations;
mod pace;
mod restart;
mod spin;

use super::scenario::SpinPlan;
use super::world::HAS_TABLE;
use crate::ledger::event::{Act, Event};
use crate::ledger::read::EventRow;
use crate::model::{
    Action, ApprovalId, ClauseId, DecisionId, Digest, DriftId, JobId, JobState, OperationId,
    SpinKind, TimeMs, Verdict, WaitKind, Wake, canon::digest_parts,
};
use crate::world::ports::Upstream;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which, in a few words.
    pub rule: &'static str,
    /// What was seen.
    pub what: String,
    /// The last entry read before it was seen.
    pub seq: i64,
}

/// What the contract and the world say, told apart from the engine.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// The contract's digest.
    pub digest: Digest,
    pub owner: String,
    /// Clauses, and whether each is for jobs with a table alone.
    pub applies: BTreeMap<ClauseId, bool>,
    /// Jobs that the contract gives up.
    pub retired: BTreeSet<JobId>,
    pub spin: SpinPlan,
    /// Side effects in all.
    pub actions_in_all: Option<u64>,
    pub contract: Digest,
    pub approval: bool,
    pub approvers: BTreeSet<String>,
    pub queries_a_day: Option<u64>,
    pub staging_tries: u32,
    /// Digests of clause and checker.
    pub clauses: BTreeMap<ClauseId, (Digest, Digest)>,
    /// Actions of which the target keeps one effect per id.
    pub proven: BTreeSet<&'static str>,
    /// Jobs that really depend on themselves.
    pub cyclic: BTreeSet<JobId>,
    pub heartbeat_ms: i64,
    /// Side effects a day.
    pub actions_a_day: Option<u64>,
    /// Clean cutovers in a row, and how many may then be on their way.
    pub waves: Option<(u32, u32)>,
    /// When no cutover is started.
    pub freeze: Option<(TimeMs, TimeMs)>,
    /// Whether the target can say what is in production.
    pub lists_production: bool,
    /// Whether the engine may accept differences in nobody's name.
    pub accepts_by_itself: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Open,
    Applied,
    Refused,
    /// Applied, and taken away since, or said to be.
    Overturned,
}

#[derive(Debug, Clone)]
pub(super) struct OperationLog {
    pub action: Action,
    pub config: Digest,
    pub lineage: Digest,
    /// The same, or nothing for a job without any upstream.
    upon: Option<Digest>,
    pub approval: Option<ApprovalId>,
    pub outcome: Outcome,
    pub to_verify: bool,
    pub ruled: bool,
}

#[derive(Debug, Clone)]
struct EvidenceLog {
    verdict: Verdict,
    config: Digest,
    lineage: Digest,
    clause: Digest,
    checker: Digest,
    operation: OperationId,
    detail: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Open,
    Yes,
    No,
    Void,
}

#[derive(Debug, Clone)]
struct Request {
    consequences: Vec<String>,
    digest: Digest,
    parts: Value,
    expires_at: Option<TimeMs>,
    answer: Answer,
}

/// What can make a job a person's.
#[derive(Debug, Clone, Default)]
struct Causes {
    person: bool,
    job_fault: bool,
    failed_runs: BTreeMap<Digest, u32>,
    refusals: u32,
    unanswered_checks: u32,
    failed_workers: u32,
    cut_over_refused: bool,
    lost_run: bool,
    spins: bool,
}

#[derive(Debug, Clone)]
struct WaitLog {
    kind: WaitKind,
    reason: String,
    /// When it began; looks that find the same do not begin it anew.
    since: TimeMs,
    next_check: TimeMs,
    overdue: TimeMs,
}

#[derive(Debug, Clone)]
pub(super) struct JobLog {
    pub state: JobState,
    definition: Digest,
    table: bool,
    upstream: Vec<JobId>,
    clauses: Vec<ClauseId>,
    held: bool,
    config: Option<Digest>,
    pub operations: BTreeMap<OperationId, OperationLog>,
    succeeded: BTreeSet<OperationId>,
    last_run: Option<OperationId>,
    /// Whether nothing was proposed or taken away since.
    run_stands: bool,
    /// Other logical dates chosen since it began.
    dates: u32,
    rounds: spin::Rounds,
    /// Queries reserved and spent.
    paid: (u64, u64),
    evidence: BTreeMap<ClauseId, EvidenceLog>,
    /// The config in production and what it was built upon.
    production: Option<(Digest, Option<Digest>)>,
    /// In production, and not staged again yet after a change upstream.
    outdated: bool,
    /// Clauses waived, with the clause's digest and the config.
    waived: BTreeMap<ClauseId, (Digest, Digest)>,
    requests: BTreeMap<ApprovalId, Request>,
    causes: Causes,
    wait: Option<WaitLog>,
    paused: bool,
    open_check: Option<ClauseId>,
    /// A difference about it was accepted.
    corrected: bool,
}

#[derive(Debug, Clone)]
struct DecisionLog {
    by: String,
    job: JobId,
    act: Act,
    answered: bool,
}

/// Reads the log and remembers what it needs.
#[derive(Debug)]
pub(super) struct Oracle {
    terms: Terms,
    pub(super) jobs: BTreeMap<JobId, JobLog>,
    decisions: BTreeMap<DecisionId, DecisionLog>,
    /// Reserved and spent.
    days: BTreeMap<String, (u64, u64)>,
    stall_alert: bool,
    last_at: TimeMs,
    seq: i64,
    /// What became of each cutover, and when.
    cutovers: BTreeMap<OperationId, (TimeMs, bool)>,
    /// Side effects by day.
    actions: BTreeMap<String, u64>,
    /// After an unclean stop: nothing may be started yet.
    only_reads: bool,
    /// Whether any engine came as far as an entry of its own: only then is a stop known to be unclean.
    engine_was_there: bool,
    /// Open differences, and the job that each is about.
    drift: BTreeMap<DriftId, JobId>,
    /// Jobs that lost a staging run to strangers.
    taken: BTreeSet<JobId>,
    /// Jobs about which the next comparison must find something.
    expected: BTreeSet<JobId>,
    /// Contract versions that may come into force.
    versions: BTreeMap<Digest, Terms>,
    circles: spin::GoalRounds,
    /// Alarms on spinning.
    pub(super) alarms: BTreeMap<SpinKind, u64>,
    /// Jobs that were given tries back.
    pub(super) relieved: BTreeSet<JobId>,
    pub(super) found: Vec<Violation>,
}

impl Oracle {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            jobs: BTreeMap::new(),
            decisions: BTreeMap::new(),
            days: BTreeMap::new(),
            stall_alert: false,
            last_at: TimeMs(0),
            seq: 0,
            cutovers: BTreeMap::new(),
            actions: BTreeMap::new(),
            only_reads: false,
            engine_was_there: false,
            drift: BTreeMap::new(),
            taken: BTreeSet::new(),
            expected: BTreeSet::new(),
            versions: BTreeMap::new(),
            circles: spin::GoalRounds::default(),
            alarms: BTreeMap::new(),
            relieved: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    /// The last entry read.
    pub(super) fn seq(&self) -> i64 {
        self.seq
    }

    fn flag(&mut self, rule: &'static str, what: impl Into<String>) {
        let seq = self.seq;
        self.found.push(Violation {
            rule,
            what: what.into(),
            seq,
        });
    }

    /// Reads one entry.
    pub(super) fn read(&mut self, row: &EventRow) {
        self.seq = row.seq.0;
        let Some(event) = &row.event else {
            self.flag("the log can be read", format!("unknown kind {}", row.kind));
            return;
        };
        if !matches!(event, Event::DecisionSubmitted { .. }) {
            if row.at < self.last_at {
                self.flag(
                    "the engine's time never goes back",
                    format!("{} after {}", row.at, self.last_at),
                );
            }
            self.last_at = self.last_at.max(row.at);
        }
        self.read_goal(row, event);
        self.read_restart(row, event);
        self.read_amendment(row, event);
        self.read_spin(row, event);
        if let Some(id) = &row.job {
            self.add_job(id, event);
            self.read_wait(id, row.at, event);
            self.read_pace(id, row.at, event);
            self.read_operation(id, row.at, event);
            self.read_check(id, event);
            self.read_gate(id, row, event);
            self.read_life(id, event);
        }
    }

    fn add_job(&mut self, id: &JobId, event: &Event) {
        let Event::JobAdded {
            depends_on,
            definition,
            hold,
            clauses,
            tags,
            ..
        } = event
        else {
            return;
        };
        let job = JobLog {
            state: JobState::Pending,
            definition: definition.clone(),
            table: tags.iter().any(|tag| tag == HAS_TABLE),
            upstream: depends_on.clone(),
            clauses: clauses.clone(),
            held: hold.is_some(),
            config: None,
            operations: BTreeMap::new(),
            succeeded: BTreeSet::new(),
            last_run: None,
            run_stands: false,
            dates: 0,
            rounds: spin::Rounds::default(),
            paid: (0, 0),
            evidence: BTreeMap::new(),
            production: None,
            outdated: false,
            waived: BTreeMap::new(),
            requests: BTreeMap::new(),
            causes: Causes::default(),
            wait: None,
            paused: false,
            open_check: None,
            corrected: false,
        };
        if self.jobs.insert(id.clone(), job).is_some() {
            self.flag("a job is listed once", id.as_str());
        }
    }

    fn read_goal(&mut self, row: &EventRow, event: &Event) {
        match event {
            Event::AlertRaised { rule, .. } if rule == "stall" => self.stall_alert = true,
            Event::AlertCleared { rule, .. } if rule == "stall" => self.stall_alert = false,
            Event::DecisionSubmitted { decision, act, .. } => {
                // Undone by hand, whether or not the engine believes it.
                if let (Act::Compensate { .. }, Some(job)) = (act, &row.job) {
                    self.taken.insert(job.clone());
                }
                let log = DecisionLog {
                    by: row.actor.trim_start_matches("person:").to_owned(),
                    job: row.job.clone().unwrap_or_else(|| JobId::from("")),
                    act: act.clone(),
                    answered: false,
                };
                self.decisions.insert(decision.clone(), log);
            }
            Event::DecisionAnswered { decision, .. } => {
                let known = self.decisions.get_mut(decision);
                let twice = known.as_ref().is_none_or(|one| one.answered);
                if let Some(one) = known {
                    one.answered = true;
                }
                if twice {
                    self.flag("a decision is answered once", decision.as_str());
                }
            }
            _ => {}
        }
    }

    /// Whether a job upstream still has to go into production, or to be rejected, before this one may.
    fn follows(&self, job: &JobLog) -> bool {
        job.upstream
            .iter()
            .filter_map(|id| self.jobs.get(id))
            .any(|up| matches!(up.state, JobState::Reconciled | JobState::AwaitingApproval))
    }

    /// What a job is built upon as the log stands; the upstream job that may still change otherwise.
    fn ground(&self, job: &JobLog) -> Result<Vec<Ground>, JobId> {
        let mut list = Vec::new();
        for id in &job.upstream {
            let Some(up) = self.jobs.get(id) else {
                continue;
            };
            let stands = match up.state {
                JobState::Reconciled | JobState::AwaitingApproval if up.run_stands => {
                    up.config.clone().map(|config| (config, up.built_upon()))
                }
                JobState::CutOver => up.verified(),
                JobState::Reverify if !up.outdated => up.verified(),
                JobState::HandedOver | JobState::Cancelled => up
                    .production
                    .clone()
                    .or_else(|| Some((up.definition.clone(), None))),
                JobState::Pending
                | JobState::Working
                | JobState::Staged
                | JobState::Reconciled
                | JobState::AwaitingApproval
                | JobState::Reverify => None,
            };
            let (config, upon) = stands.ok_or_else(|| id.clone())?;
            list.push((id.clone(), config, upon));
        }
        Ok(list)
    }
}

impl JobLog {
    /// What the current config's staging run was built upon.
    fn built_upon(&self) -> Option<Digest> {
        let run = self
            .last_run
            .as_ref()
            .and_then(|id| self.operations.get(id));
        match run.filter(|run| Some(&run.config) == self.config.as_ref()) {
            Some(run) => run.upon.clone(),
            None => self.production.clone().and_then(|(_, upon)| upon),
        }
    }

    /// The config in production with what its evidence was won upon.
    fn verified(&self) -> Option<(Digest, Option<Digest>)> {
        let (config, _) = self.production.clone()?;
        Some((config, self.built_upon()))
    }
}

/// An upstream job, its config, and what that was itself built upon.
type Ground = (JobId, Digest, Option<Digest>);

/// Digest of a lineage as the ledger's format has it: job, config and what it was built upon, one after the
/// other.
fn lineage_of(list: &[Ground]) -> Digest {
    let mut parts = Vec::new();
    for (job, config, upon) in list {
        parts.push(job.0.clone());
        parts.push(config.0.clone());
        parts.extend(upon.as_ref().map(|upon| format!("upon {upon}")));
    }
    digest_parts(parts.iter().map(String::as_str))
}

fn stored_lineage(value: &Value) -> Option<Vec<Ground>> {
    let list: Vec<Upstream> = serde_json::from_value(value.clone()).ok()?;
    Some(
        list.into_iter()
            .map(|one| (one.job, one.config_digest, one.lineage))
            .collect(),
    )
}

/// Whether a wake is the clock's.
fn at_clock(wake: &Wake) -> Option<TimeMs> {
    match wake {
        Wake::At { at } | Wake::QuotaReset { at, .. } => Some(*at),
        _ => None,
    }
}
