//! What an amendment would do, computed.

use super::choices::{Choice, choices};
use super::fit::{ApprovalFit, QuotaFit, approval_fit, quota_fit};
use super::measure::Measured;
use crate::contract::diff::{ContractDiff, diff};
use crate::contract::{Candidate, Clause, Contract};
use crate::engine::approval::gate_terms;
use crate::ledger::facts::{ApprovalState, JobFacts};
use crate::ledger::read::StagingResource;
use crate::model::{
    ApprovalId, ClauseId, ContractVersion, JobId, JobState, TimeMs, Verdict, WAREHOUSE_QUERIES,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything a preview looks at.
pub struct Situation<'a> {
    /// All jobs of the goal.
    pub jobs: &'a [JobFacts],
    /// The contract that holds.
    pub old: &'a Contract,
    /// Its version.
    pub version: ContractVersion,
    /// The contract that is proposed.
    pub new: &'a Contract,
    /// What was measured.
    pub measured: &'a Measured,
    /// What jobs left in staging.
    pub staging: &'a BTreeMap<JobId, Vec<StagingResource>>,
    /// Queries spent or reserved today.
    pub used_today: u64,
    /// What is left of today, where somebody knows better than the ledger.
    pub left_today: Option<u64>,
    /// The engine's time.
    pub now: TimeMs,
}

/// A job that would be cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cancelled {
    /// The job.
    pub job: JobId,
    /// The contract's reason.
    pub reason: String,
    /// Where it stands now.
    pub was: JobState,
    /// What it left in staging, by the target's names, for cleaning up.
    pub staging: Vec<String>,
    /// Queries it took; they are spent and count for nothing.
    pub sunk_queries: u64,
}

/// A clause that runs again on jobs that are otherwise kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClauseRun {
    /// The clause.
    pub clause: ClauseId,
    /// On how many jobs.
    pub jobs: u64,
    /// Queries for all of them.
    pub queries: f64,
}

/// Jobs that still have everything before them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotDone {
    /// How many.
    pub jobs: u64,
    /// Queries for all clauses that apply to them.
    pub queries: f64,
}

/// Judgements that will have to be made again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reruns {
    /// Share of queries.
    pub rate: f64,
    /// Queries of first judgements that it was measured from; `None`: the plan's assumption.
    pub measured_from: Option<u64>,
    /// Queries.
    pub queries: f64,
}

/// A request that means nothing under the new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Void {
    /// The job.
    pub job: JobId,
    /// The request.
    pub approval: ApprovalId,
    /// Which part changes.
    pub why: String,
}

/// What an amendment would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Impact {
    /// The version that holds.
    pub from_version: ContractVersion,
    /// The version it would become.
    pub to_version: ContractVersion,
    /// What differs.
    pub diff: ContractDiff,
    /// Jobs in all.
    pub jobs: u64,
    /// Jobs that are given up.
    pub cancelled: Vec<Cancelled>,
    /// Jobs that the new version gives up although they are in production: they stay there, and are listed.
    pub retired_in_production: Vec<JobId>,
    /// Reconciled jobs that are kept.
    pub kept: u64,
    /// Clauses that run again on kept jobs: only new and changed ones.
    pub again: Vec<ClauseRun>,
    /// Jobs in production without a valid pass under the new version.
    pub reverify: Vec<JobId>,
    /// Clauses that run again on them.
    pub reverify_clauses: Vec<ClauseRun>,
    /// Jobs that are not done.
    pub not_done: NotDone,
    /// Jobs that a person has; they need nothing of the quota.
    pub with_people: u64,
    /// Judgements made again.
    pub reruns: Reruns,
    /// Queries in all.
    pub need: f64,
    /// Against what is left; `None` when the contract limits no queries.
    pub quota: Option<QuotaFit>,
    /// Decisions against working hours.
    pub approvals: ApprovalFit,
    /// Requests that become void.
    pub voided: Vec<Void>,
    /// What the owner can do when it does not fit.
    pub choices: Vec<Choice>,
}

impl Impact {
    /// Queries of jobs that are given up: sunk, and not counted against what is left.
    pub fn sunk_queries(&self) -> u64 {
        self.cancelled.iter().map(|one| one.sunk_queries).sum()
    }

    /// Whether quota and approver's hours suffice until the deadline.
    pub fn fits(&self) -> bool {
        let quota = self.quota.as_ref().and_then(|one| one.spare);
        quota.is_none_or(|spare| spare >= 0.0)
            && self.approvals.spare_minutes.is_none_or(|m| m >= 0.0)
    }
}

/// What becomes of one job.
enum Fate<'a> {
    Cancelled(&'a str),
    InProduction,
    Reconciled,
    NotDone,
    WithPeople,
    Gone,
}

fn fate<'a>(job: &JobFacts, new: &'a Contract) -> Fate<'a> {
    match (job.state, new.jobs.retired(job.id.as_str(), &job.tags)) {
        (JobState::Cancelled, _) => Fate::Gone,
        (JobState::CutOver | JobState::Reverify, _) => Fate::InProduction,
        _ if job.production.is_some() => Fate::WithPeople,
        (_, Some(reason)) => Fate::Cancelled(reason),
        (JobState::HandedOver, None) => Fate::WithPeople,
        (JobState::Reconciled | JobState::AwaitingApproval, None) => Fate::Reconciled,
        _ => Fate::NotDone,
    }
}

/// Clauses of a contract that apply to a job.
fn applying<'c>(contract: &'c Contract, job: &'c JobFacts) -> impl Iterator<Item = &'c Clause> {
    let candidate = Candidate {
        id: job.id.as_str(),
        tags: &job.tags,
        high_risk: contract.jobs.is_high_risk(job.id.as_str()),
        position: job.position,
    };
    let all = contract.accept.iter();
    all.filter(move |clause| clause.applies(&candidate))
}

/// Clauses of a contract that a job has no pass for: those that would run again on it.
pub fn will_run_again<'c>(
    contract: &'c Contract,
    job: &'c JobFacts,
) -> impl Iterator<Item = &'c Clause> {
    applying(contract, job).filter(|clause| {
        let own = job.evidence.get(&clause.id);
        let waived = job.waives(&clause.id, &clause.digest);
        !waived
            && own.is_none_or(|one| {
                one.verdict != Verdict::Pass
                    || one.clause_digest != clause.digest
                    || Some(&one.config) != job.config.as_ref()
            })
    })
}

/// Computes what an amendment would do.
pub fn preview(situation: &Situation<'_>) -> Impact {
    let Situation { jobs, old, new, .. } = *situation;
    let mut tally = Tally::default();
    for job in jobs {
        tally.add(job, situation);
    }
    let first: f64 = tally.again.values().map(|one| one.1).sum::<f64>()
        + tally
            .reverify_clauses
            .values()
            .map(|one| one.1)
            .sum::<f64>()
        + tally.not_done.queries;
    let (rate, measured_from) = situation.measured.rerun_rate();
    let need = first * (1.0 + rate);
    let limit = new
        .budgets
        .per_day
        .get(WAREHOUSE_QUERIES)
        .map(|one| one.limit);
    let quota = limit.map(|limit| quota_fit(new, limit, situation, need));
    let approvals = approval_fit(new, tally.kept + tally.not_done.jobs, situation.now);
    let mut impact = Impact {
        from_version: situation.version,
        to_version: ContractVersion(situation.version.0 + 1),
        diff: diff(old, new),
        jobs: jobs.len() as u64,
        cancelled: tally.cancelled,
        retired_in_production: tally.retired_in_production,
        kept: tally.kept,
        again: runs(new, &tally.again),
        reverify: tally.reverify,
        reverify_clauses: runs(new, &tally.reverify_clauses),
        not_done: tally.not_done,
        with_people: tally.with_people,
        reruns: Reruns {
            rate,
            measured_from,
            queries: first * rate,
        },
        need,
        quota,
        approvals,
        voided: tally.voided,
        choices: Vec::new(),
    };
    impact.choices = choices(&impact, situation, &tally.not_done_by_clause);
    impact
}

/// Jobs and queries by clause.
type ByClause = BTreeMap<ClauseId, (u64, f64)>;

struct Tally {
    cancelled: Vec<Cancelled>,
    retired_in_production: Vec<JobId>,
    kept: u64,
    again: ByClause,
    reverify: Vec<JobId>,
    reverify_clauses: ByClause,
    not_done: NotDone,
    not_done_by_clause: ByClause,
    with_people: u64,
    voided: Vec<Void>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            cancelled: Vec::new(),
            retired_in_production: Vec::new(),
            kept: 0,
            again: ByClause::new(),
            reverify: Vec::new(),
            reverify_clauses: ByClause::new(),
            not_done: NotDone {
                jobs: 0,
                queries: 0.0,
            },
            not_done_by_clause: ByClause::new(),
            with_people: 0,
            voided: Vec::new(),
        }
    }
}

impl Tally {
    fn add(&mut self, job: &JobFacts, situation: &Situation<'_>) {
        let Situation { new, measured, .. } = *situation;
        let cost = |clause: &Clause| measured.queries(clause, job);
        let fate = fate(job, new);
        self.void(job, situation, &fate);
        match fate {
            Fate::Cancelled(reason) => self.cancelled.push(Cancelled {
                job: job.id.clone(),
                reason: reason.to_owned(),
                was: job.state,
                staging: situation
                    .staging
                    .get(&job.id)
                    .map(|list| list.iter().map(|one| one.reference.clone()).collect())
                    .unwrap_or_default(),
                sunk_queries: job.queries,
            }),
            Fate::Reconciled => {
                self.kept += 1;
                add_runs(&mut self.again, will_run_again(new, job), cost);
            }
            Fate::InProduction => {
                if new.jobs.retired(job.id.as_str(), &job.tags).is_some() {
                    self.retired_in_production.push(job.id.clone());
                }
                if will_run_again(new, job).next().is_some() {
                    self.reverify.push(job.id.clone());
                    add_runs(&mut self.reverify_clauses, will_run_again(new, job), cost);
                }
            }
            Fate::NotDone => {
                self.not_done.jobs += 1;
                self.not_done.queries += applying(new, job).map(cost).sum::<f64>();
                add_runs(&mut self.not_done_by_clause, applying(new, job), cost);
            }
            Fate::WithPeople => self.with_people += 1,
            Fate::Gone => {}
        }
    }

    fn void(&mut self, job: &JobFacts, situation: &Situation<'_>, fate: &Fate<'_>) {
        let Some(own) = job
            .approval
            .as_ref()
            .filter(|own| matches!(own.state, ApprovalState::Open | ApprovalState::Approved))
        else {
            return;
        };
        let why = match fate {
            Fate::Cancelled(_) => "the job is retired".to_owned(),
            _ => {
                let parts = void_parts(job, situation);
                if parts.is_empty() {
                    return;
                }
                format!("{} changed", parts.join(" and "))
            }
        };
        self.voided.push(Void {
            job: job.id.clone(),
            approval: own.id.clone(),
            why,
        });
    }
}

/// What a yes is bound to and an amendment changes, in words.
fn void_parts(job: &JobFacts, situation: &Situation<'_>) -> Vec<&'static str> {
    let Situation { old, new, .. } = *situation;
    let mut parts = Vec::new();
    let digests = |contract| -> Vec<_> {
        applying(contract, job)
            .map(|clause| (&clause.id, &clause.digest))
            .collect()
    };
    if digests(old) != digests(new) {
        parts.push("its clauses");
    }
    if gate_terms(old) != gate_terms(new) {
        parts.push("the contract's terms of approval");
    }
    parts
}

fn add_runs<'c>(
    into: &mut ByClause,
    clauses: impl Iterator<Item = &'c Clause>,
    cost: impl Fn(&Clause) -> f64,
) {
    for clause in clauses {
        let own = into.entry(clause.id.clone()).or_insert((0, 0.0));
        own.0 += 1;
        own.1 += cost(clause);
    }
}

/// By clause, in the contract's order.
fn runs(contract: &Contract, by: &ByClause) -> Vec<ClauseRun> {
    let ids = contract.accept.iter().map(|clause| &clause.id);
    ids.filter_map(|id| {
        let (jobs, queries) = *by.get(id)?;
        Some(ClauseRun {
            clause: id.clone(),
            jobs,
            queries,
        })
    })
    .collect()
}
