//! A cut-over job that goes back to the old side: a person asks, an approver decides, plain code does it.

use super::approval::Bundle;
use super::decide::{MAX_REFUSALS, Rules, Step, Waiting};
use crate::contract::Contract;
use crate::ledger::facts::{ApprovalState, JobFacts, RollbackFacts};
use crate::model::{Action, JobState, TimeMs, WaitKind, Wake, digest_json};
use serde_json::json;

/// How long a wait upon people may last when the contract says nothing.
const PERSON_OVERDUE_MS: i64 = 24 * 3_600_000;
const HOUR_MS: i64 = 3_600_000;
/// Jobs below that are named on the request.
const MAX_NAMED: usize = 10;

/// What a yes to a rollback is bound to: another contract, config or production job is another question.
pub fn rollback_bundle(job: &JobFacts, rollback: &RollbackFacts, contract: &Contract) -> Bundle {
    let parts = json!({
        "action": Action::RollBack,
        "contract": contract.digest,
        "config": job.config,
        "production": job.production,
        "asked_by": rollback.by,
        "reason": rollback.reason,
    });
    Bundle {
        digest: digest_json(&parts),
        parts,
    }
}

/// What a rollback sets off, one sentence each, for the person who decides it.
pub fn consequences(job: &JobFacts, below_in_production: &[&str]) -> Vec<String> {
    let mut out = vec![
        format!(
            "{} leaves production and the old job is switched on again",
            job.id
        ),
        "what the new job wrote since the cutover is not carried over to the old side".to_owned(),
    ];
    if !below_in_production.is_empty() {
        let named: Vec<&str> = below_in_production
            .iter()
            .take(MAX_NAMED)
            .copied()
            .collect();
        let more = below_in_production.len() - named.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        out.push(format!(
            "{} jobs in production were checked upon it: {}{more}",
            below_in_production.len(),
            named.join(", ")
        ));
    }
    out
}

/// The next step of a job that somebody wants back; `None` when nobody does.
pub(super) fn step(job: &JobFacts, rules: Rules<'_>, now: TimeMs) -> Option<Step> {
    let rollback = job.rollback.as_ref()?;
    if !matches!(job.state, JobState::CutOver | JobState::Reverify) {
        return None;
    }
    if rollback.done {
        return Some(Step::HandOver(format!(
            "rolled back, asked by {}: {}",
            rollback.by, rollback.reason
        )));
    }
    if let Some(why) = &rollback.refused {
        return Some(Step::DropRollback(format!("the target refused it: {why}")));
    }
    if job.refusals >= MAX_REFUSALS {
        return Some(Step::DropRollback(format!(
            "the target did not take it in {} tries",
            job.refusals
        )));
    }
    if let Some(until) = job.not_before.filter(|at| *at > now) {
        return Some(Step::Wait(Waiting {
            kind: WaitKind::World,
            reason: "the rollback is asked for again after a pause".to_owned(),
            wakes: vec![Wake::At { at: until }],
            next_check: until,
            overdue: until.plus_ms(HOUR_MS),
        }));
    }
    // Whoever asked may decide cutovers alone where the contract says that nobody is asked.
    if !rules.contract.approval.required {
        return Some(Step::RollBack);
    }
    Some(gate(job, rollback, rules, now))
}

fn gate(job: &JobFacts, rollback: &RollbackFacts, rules: Rules<'_>, now: TimeMs) -> Step {
    let current = rollback_bundle(job, rollback, rules.contract);
    let Some(own) = job
        .approval
        .as_ref()
        .filter(|own| own.action == Action::RollBack)
    else {
        return Step::AskRollback(current);
    };
    if let Some(step) = super::decide::request_is_stale(own, &current, now) {
        return step;
    }
    match own.state {
        ApprovalState::Void | ApprovalState::Used => Step::AskRollback(current),
        ApprovalState::Rejected => Step::DropRollback(format!("rejected by {}", own.decided)),
        ApprovalState::Approved => Step::RollBack,
        ApprovalState::Open => Step::Wait(Waiting {
            kind: WaitKind::Person,
            reason: format!(
                "waits for {} to decide the rollback",
                super::decide::names(rules.contract)
            ),
            wakes: vec![Wake::Approval],
            next_check: own
                .expires_at
                .unwrap_or_else(|| now.plus_ms(PERSON_OVERDUE_MS)),
            overdue: own
                .expires_at
                .unwrap_or_else(|| own.requested_at.plus_ms(PERSON_OVERDUE_MS)),
        }),
    }
}
