//! What to do next for one job. Pure and total: the same facts give the same step.

mod gate;
mod reverify;

pub(super) use gate::{names, request_is_stale};
pub(super) use reverify::soak_ms;

use super::approval::Bundle;
use super::chat::{self, ChatStep};
use super::outage::hold;
use super::spin;
use super::surroundings::{ClauseView, Surroundings, UpstreamView, lineage_digest, stored_lineage};
use super::walls::wait_for_owner;
use crate::contract::{Contract, Strategy};
use crate::ledger::facts::{ApprovalState, JobFacts, RunFacts};
use crate::model::{
    ApprovalId, ClauseId, EvidenceKind, FailureClass, JobState, OperationId, OperationState,
    TimeMs, Verdict, WAREHOUSE_QUERIES, WaitKind, Wake,
};
use crate::worker::chat::settings::is_chat;
use crate::world::ports::{Hold, Upstream};

/// Refusals in a row that are not the job's fault before a person is asked.
pub const MAX_REFUSALS: u32 = 20;
/// Checks in a row without a verdict before a person is asked.
pub const MAX_CHECK_TRIES: u32 = 6;
/// How long a wait upon people may last when the contract says nothing.
const PERSON_OVERDUE_MS: i64 = 24 * 3_600_000;
const HOUR_MS: i64 = 3_600_000;

/// A wait to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// For what.
    pub kind: WaitKind,
    /// One sentence.
    pub reason: String,
    /// What would end it.
    pub wakes: Vec<Wake>,
    /// When to look again in any case.
    pub next_check: TimeMs,
    /// When it counts as stalled.
    pub overdue: TimeMs,
}

/// The next step of one job.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Look an operation of unknown outcome up.
    Settle(OperationId),
    /// A check was cut off by a stop: its reservation counts as spent.
    CloseCheck,
    /// Begin an attempt with the strategy of this index.
    StartAttempt(usize),
    /// Let the worker propose a config.
    Prepare,
    /// A step of a chat worker's loop.
    Chat(ChatStep),
    /// Create the config in staging and run it, built upon this lineage.
    Stage(Vec<Upstream>),
    /// Look at the staging run.
    Watch(OperationId),
    /// Judge a clause on the staging run.
    Check(ClauseId, Vec<Upstream>),
    /// This clause found nothing to compare, for this reason: ask for another logical date.
    OtherDate(ClauseId, String),
    /// The config failed for good; the attempt ends.
    FailConfig(Vec<String>),
    /// All clauses pass.
    Reconciled(String),
    /// Put a request before the approver.
    Request(Bundle),
    /// The request means nothing any more.
    Void(ApprovalId, String),
    /// Put it into production.
    CutOver(Vec<Upstream>),
    /// The cutover was applied: the job's life ends.
    Confirm,
    /// Put a request to roll it back before the approver.
    AskRollback(Bundle),
    /// Take it out of production.
    RollBack,
    /// It stays in production after all.
    DropRollback(String),
    /// In production, and current clauses have no valid pass: it is not done. The flag says whether what it
    /// was built upon has changed, so that it must be staged anew.
    NeedsReverify(String, bool),
    /// In production, and every current clause passes or is waived: it is done again.
    Reverified(String),
    /// The contract gives the job up.
    Cancel(String),
    /// It goes round in circles: the strategy of this index, or a person.
    Spin(spin::Finding, Option<usize>),
    /// A person takes it.
    HandOver(String),
    /// Wait, visibly.
    Wait(Waiting),
    /// Nothing to do.
    Nothing(&'static str),
}

/// The contract and the plan.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// What the owner fixed.
    pub contract: &'a Contract,
    /// The ordered strategies.
    pub strategies: &'a [Strategy],
}

/// Decides the next step of a job.
pub fn decide(job: &JobFacts, rules: Rules<'_>, around: &Surroundings, now: TimeMs) -> Step {
    let step = settle_first(job, now)
        .or_else(|| super::rollback::step(job, rules, now))
        .or_else(|| before_work(job, around, now))
        .or_else(|| reverify::reverify(job, rules, around, now))
        .or_else(|| prepare(job, rules, around, now))
        .or_else(|| stage(job, rules, around, now))
        .or_else(|| check(job, rules, around, now))
        .unwrap_or_else(|| gate::gate(job, rules, around, now));
    let step = spin::hold(step, &around.spin, now);
    hold(within_walls(step, around, now), around, now)
}

/// Nothing is started that would cross a wall; what is going on may be looked at and settled.
fn within_walls(step: Step, around: &Surroundings, now: TimeMs) -> Step {
    let walls = &around.walls;
    let starts = matches!(
        step,
        Step::StartAttempt(_)
            | Step::Spin(_, Some(_))
            | Step::Prepare
            | Step::Stage(_)
            | Step::Check(..)
            | Step::Request(_)
            | Step::CutOver(_)
            | Step::Chat(ChatStep::Turn { .. })
    );
    if let Some(why) = walls.shut.as_ref().filter(|_| starts) {
        return Step::Wait(wait_for_owner(format!("budget {why}"), now));
    }
    match (&step, &walls.draining, &walls.no_action) {
        (Step::StartAttempt(_) | Step::Spin(_, Some(_)), Some(why), _) => Step::Wait(
            wait_for_owner(format!("no new attempt begins: budget {why}"), now),
        ),
        (Step::Stage(_) | Step::CutOver(_) | Step::RollBack, _, Some(refused)) => {
            Step::Wait(refused.waiting(now))
        }
        _ => step,
    }
}

/// Nothing else happens to a job while an outcome is unknown.
fn settle_first(job: &JobFacts, now: TimeMs) -> Option<Step> {
    let operation = job.unsettled().next()?;
    let due = operation.next_look.is_none_or(|at| at <= now);
    if operation.state == OperationState::Intended || due {
        return Some(Step::Settle(operation.id.clone()));
    }
    let next = operation.next_look.unwrap_or(now);
    let whose = if operation.to_verify {
        "a person may rule on it"
    } else {
        "looked up again"
    };
    Some(Step::Wait(Waiting {
        kind: if operation.to_verify {
            WaitKind::ToVerify
        } else {
            WaitKind::World
        },
        reason: format!(
            "outcome of {} {} is unknown ({}); {whose}",
            operation.action, operation.id, operation.why
        ),
        wakes: vec![
            Wake::At { at: next },
            Wake::Operation {
                id: operation.id.0.clone(),
            },
        ],
        next_check: next,
        // Looking again and again does not make it less overdue.
        overdue: operation.intended_at.plus_ms(PERSON_OVERDUE_MS),
    }))
}

fn before_work(job: &JobFacts, around: &Surroundings, now: TimeMs) -> Option<Step> {
    if let Some(step) = chat::lost(job) {
        return Some(step);
    }
    if job.production.is_some() && !job.confirmed && job.state != JobState::CutOver {
        // The environment is fact: whoever has the job, it is in production.
        return Some(Step::Confirm);
    }
    let in_production = job.production.is_some();
    if let Some(reason) = &around.retired
        && !in_production
        && job.state != JobState::Cancelled
    {
        return Some(match job.open_check {
            Some(_) => Step::CloseCheck,
            None => Step::Cancel(reason.clone()),
        });
    }
    if job.state == JobState::CutOver
        && let Some(step) = reverify::outdated(job, around)
    {
        return Some(step);
    }
    if job.state.has_ended() {
        return Some(Step::Nothing("the job has ended"));
    }
    if job.open_check.is_some() {
        return Some(Step::CloseCheck);
    }
    if job.paused {
        return Some(Step::Wait(Waiting {
            kind: WaitKind::Paused,
            reason: "paused by an operator".to_owned(),
            wakes: vec![Wake::Event {
                name: "resume".to_owned(),
            }],
            next_check: now.plus_ms(PERSON_OVERDUE_MS),
            overdue: now.plus_ms(7 * PERSON_OVERDUE_MS),
        }));
    }
    if around.in_cycle && job.state != JobState::Reverify {
        return Some(Step::HandOver(
            "it depends on itself through other jobs; the order must be decided".to_owned(),
        ));
    }
    if let Some(hold) = &job.hold
        && job.state != JobState::Reverify
    {
        return Some(Step::HandOver(hold_reason(hold)));
    }
    let until = job.not_before.filter(|at| *at > now)?;
    Some(Step::Wait(Waiting {
        kind: WaitKind::World,
        reason: format!("tried again after a pause: {}", last_trouble(job)),
        wakes: vec![Wake::At { at: until }],
        next_check: until,
        overdue: until.plus_ms(HOUR_MS),
    }))
}

fn hold_reason(hold: &serde_json::Value) -> String {
    match serde_json::from_value::<Hold>(hold.clone()) {
        Ok(hold) if hold.kind == "retire" => {
            format!(
                "proposed to retire: {} ({})",
                hold.reason,
                hold.evidence.join("; ")
            )
        }
        Ok(hold) => format!("{} ({})", hold.reason, hold.evidence.join("; ")),
        Err(_) => "the source holds it back".to_owned(),
    }
}

fn last_trouble(job: &JobFacts) -> String {
    let refused = job
        .operations
        .values()
        .filter(|one| one.state == OperationState::Refused)
        .max_by_key(|one| one.intended_at)
        .map(|one| one.why.clone());
    match (&job.run, refused) {
        (Some(RunFacts::Failed { why, .. }), _) => why.clone(),
        (_, Some(why)) => why,
        _ if job.check_tries > 0 => "a check got no answer".to_owned(),
        _ => "the worker gave no config".to_owned(),
    }
}

fn prepare(job: &JobFacts, rules: Rules<'_>, around: &Surroundings, now: TimeMs) -> Option<Step> {
    let view = &around.spin;
    let Some(current) = job.strategy.map(|index| index as usize) else {
        return Some(match usable_strategy(rules, view.floor) {
            Some(first) => Step::StartAttempt(first),
            None if rules.strategies.is_empty() => {
                Step::HandOver("the plan has no strategy".to_owned())
            }
            // What this engine cannot use is said when it is tried.
            None => Step::StartAttempt(0),
        });
    };
    if let Some(finding) = spin::of_job(job, &rules.contract.spin, view) {
        let next = usable_strategy(rules, (current + 1).max(view.floor));
        return Some(Step::Spin(finding, next.filter(|_| job.spin.found == 0)));
    }
    let config_failed = job.config.is_some() && job.config == job.failed_config;
    if config_failed || !job.attempt_open {
        return Some(after_failed_config(job, rules, current, view.floor));
    }
    if job.config.is_some() {
        return None;
    }
    if let Some(why) = &job.prepare_refused {
        return Some(
            match usable_strategy(rules, (current + 1).max(view.floor)) {
                Some(next) => Step::StartAttempt(next),
                None => Step::HandOver(format!("no config: {why}")),
            },
        );
    }
    if let Some(strategy) = rules.strategies.get(current).filter(|one| is_chat(one)) {
        return Some(chat::next(job, strategy, around, now));
    }
    if job.prepare_tries >= rules.contract.limits.staging_tries {
        return Some(Step::HandOver(format!(
            "the worker failed {} times",
            job.prepare_tries
        )));
    }
    Some(Step::Prepare)
}

/// A script answers the same question the same way, so it is not asked twice; a command or a model may repair.
fn after_failed_config(job: &JobFacts, rules: Rules<'_>, current: usize, floor: usize) -> Step {
    let failures = job.last_failures.join("; ");
    let repairs = rules
        .strategies
        .get(current)
        .is_some_and(|one| matches!(one.worker.as_str(), "command" | "chat"));
    let same_change = job.attempt_open && job.config == job.failed_config;
    if repairs
        && current >= floor
        && !same_change
        && job.repair_rounds < rules.contract.limits.repair_rounds
    {
        return Step::StartAttempt(current);
    }
    match usable_strategy(rules, (current + 1).max(floor)) {
        Some(next) => Step::StartAttempt(next),
        None if failures.is_empty() => {
            Step::HandOver("every strategy was tried; none gave a config".to_owned())
        }
        None => Step::HandOver(failures),
    }
}

/// The next strategy at or after an index whose worker this engine has.
pub(super) fn usable_strategy(rules: Rules<'_>, from: usize) -> Option<usize> {
    (from..rules.strategies.len()).find(|index| {
        rules
            .strategies
            .get(*index)
            .is_some_and(|one| matches!(one.worker.as_str(), "script" | "command" | "chat"))
    })
}

fn stage(job: &JobFacts, rules: Rules<'_>, around: &Surroundings, now: TimeMs) -> Option<Step> {
    if let Some(why) = &job.config_refused {
        let cut_over_refused = job
            .approval
            .as_ref()
            .is_some_and(|own| own.state == ApprovalState::Used);
        return Some(if cut_over_refused {
            Step::HandOver(format!("production refused the cutover: {why}"))
        } else {
            Step::FailConfig(vec![format!("the target refused the config: {why}")])
        });
    }
    if job.refusals >= MAX_REFUSALS {
        return Some(Step::HandOver(format!(
            "refused {} times in a row: {}",
            job.refusals,
            last_trouble(job)
        )));
    }
    let lineage = match around.lineage() {
        Ok(lineage) => lineage,
        Err(upstream) => {
            return Some(wait_for_upstream(upstream, now));
        }
    };
    match &job.run {
        None => Some(Step::Stage(lineage)),
        Some(RunFacts::Going { operation }) => Some(Step::Watch(operation.clone())),
        Some(RunFacts::Failed {
            class: FailureClass::Job,
            why,
            ..
        }) => Some(Step::FailConfig(vec![format!("staging run failed: {why}")])),
        Some(RunFacts::Failed { why, .. }) => {
            Some(if job.staging_tries < rules.contract.limits.staging_tries {
                Step::Stage(lineage)
            } else {
                Step::HandOver(format!(
                    "staging failed {} times, last: {why}",
                    job.staging_tries
                ))
            })
        }
        Some(RunFacts::Succeeded { operation }) => {
            let built_upon = job
                .operations
                .get(operation)
                .and_then(|one| stored_lineage(&one.upstream));
            // What it was built upon has changed since: the old output proves nothing now.
            (built_upon != Some(lineage_digest(&lineage))).then_some(Step::Stage(lineage))
        }
    }
}

fn wait_for_upstream(upstream: &UpstreamView, now: TimeMs) -> Step {
    Step::Wait(Waiting {
        kind: WaitKind::Upstream,
        reason: format!("waits for {} ({})", upstream.job, upstream.state),
        wakes: vec![Wake::Job {
            id: upstream.job.0.clone(),
        }],
        next_check: now.plus_ms(PERSON_OVERDUE_MS),
        overdue: now.plus_ms(4 * PERSON_OVERDUE_MS),
    })
}

/// The clause's last word, if its validity key is the current one.
fn valid_verdict<'a>(
    job: &'a JobFacts,
    clause: &ClauseView,
    lineage: &[Upstream],
) -> Option<(Verdict, &'a str)> {
    let own = job.evidence.get(&clause.id)?;
    let valid = own.clause_digest == clause.clause_digest
        && own.checker == clause.checker
        && Some(&own.config) == job.config.as_ref()
        && own.lineage == lineage_digest(lineage);
    valid.then_some((own.verdict, own.summary.as_str()))
}

fn check(job: &JobFacts, rules: Rules<'_>, around: &Surroundings, now: TimeMs) -> Option<Step> {
    let lineage = around.lineage().ok()?;
    for clause in in_order(around) {
        match valid_verdict(job, clause, &lineage) {
            Some((Verdict::Pass, _)) => {}
            Some((Verdict::Unverified, why)) => {
                return Some(Step::HandOver(format!(
                    "clause {} cannot be judged: {why}",
                    clause.id
                )));
            }
            Some((Verdict::Inconclusive, why)) if may_change_date(job, rules) => {
                return Some(Step::OtherDate(clause.id.clone(), why.to_owned()));
            }
            Some((verdict, why)) => {
                return Some(Step::FailConfig(vec![format!(
                    "clause {}: {verdict}: {why}{}",
                    clause.id,
                    dates_tried(job, verdict)
                )]));
            }
            None => return Some(judge(job, clause, lineage, around, now)),
        }
    }
    if around.clauses.is_empty() {
        return Some(Step::HandOver(
            "no clause applies to it, so nothing can say that it is done".to_owned(),
        ));
    }
    None
}

/// Whether the source is asked for another logical date. A job in production is not moved to one: what was
/// approved was judged on the date it has.
fn may_change_date(job: &JobFacts, rules: Rules<'_>) -> bool {
    let dates = &job.dates;
    job.production.is_none()
        && !dates.exhausted
        && dates.chosen.len() < rules.contract.limits.other_dates as usize
}

/// What was done about a clause that had nothing to compare.
fn dates_tried(job: &JobFacts, verdict: Verdict) -> String {
    match (verdict, job.dates.chosen.len(), job.dates.exhausted) {
        (Verdict::Inconclusive, 0, true) => "; the source offers no other date".to_owned(),
        (Verdict::Inconclusive, tried @ 1.., _) => {
            format!("; dates tried beside the target's own: {tried}")
        }
        _ => String::new(),
    }
}

/// What costs nothing is judged first, since a failure there saves queries; people are asked last, about
/// what passes everything else.
fn in_order(around: &Surroundings) -> Vec<&ClauseView> {
    let mut clauses: Vec<&ClauseView> = around.clauses.iter().collect();
    clauses.sort_by_key(|clause| (clause.by == EvidenceKind::Person, clause.queries));
    clauses
}

/// The wait for a person who was asked to look at this very run under this very clause.
fn asked(
    job: &JobFacts,
    clause: &ClauseView,
    lineage: &[Upstream],
    around: &Surroundings,
    now: TimeMs,
) -> Option<Step> {
    let own = job.sample.as_ref()?;
    if !super::sample::is_current(own, job, clause, lineage) {
        return None;
    }
    Some(Step::Wait(Waiting {
        kind: WaitKind::Person,
        reason: format!(
            "waits for {} to look at {} rows (clause {})",
            clause.judges, own.rows, clause.id
        ),
        wakes: vec![Wake::Event {
            name: "sample judged".to_owned(),
        }],
        next_check: now.plus_ms(PERSON_OVERDUE_MS),
        overdue: around
            .person_overdue
            .unwrap_or_else(|| own.asked_at.plus_ms(PERSON_OVERDUE_MS)),
    }))
}

fn judge(
    job: &JobFacts,
    clause: &ClauseView,
    lineage: Vec<Upstream>,
    around: &Surroundings,
    now: TimeMs,
) -> Step {
    if let Some(wait) = asked(job, clause, &lineage, around, now) {
        return wait;
    }
    if job.check_tries >= MAX_CHECK_TRIES {
        return Step::HandOver(format!(
            "clause {} got no verdict in {} tries",
            clause.id, job.check_tries
        ));
    }
    match around.quota {
        Some(quota) if clause.queries > quota.limit => Step::HandOver(format!(
            "clause {} needs {} queries; the contract allows {} a day",
            clause.id, clause.queries, quota.limit
        )),
        Some(quota) if clause.queries > quota.left => Step::Wait(Waiting {
            kind: WaitKind::Quota,
            reason: format!(
                "clause {} needs {} queries; {} of {} are left today",
                clause.id, clause.queries, quota.left, quota.limit
            ),
            wakes: vec![Wake::QuotaReset {
                budget: WAREHOUSE_QUERIES.to_owned(),
                at: quota.renews_at,
            }],
            next_check: quota.renews_at,
            overdue: quota.renews_at.max(now).plus_ms(PERSON_OVERDUE_MS),
        }),
        _ => Step::Check(clause.id.clone(), lineage),
    }
}
