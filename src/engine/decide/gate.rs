//! From the passes to production: the request, the yes, the order of cutovers.

use super::{HOUR_MS, PERSON_OVERDUE_MS, Rules, Step, Waiting};
use crate::contract::Contract;
use crate::engine::approval::{Bundle, bundle};
use crate::engine::surroundings::{GateView, Surroundings};
use crate::ledger::facts::{ApprovalFacts, ApprovalState, JobFacts};
use crate::model::{Action, EvidenceKind, JobState, TimeMs, WaitKind, Wake};
use crate::world::ports::Upstream;

pub(super) fn gate(job: &JobFacts, rules: Rules<'_>, around: &Surroundings, now: TimeMs) -> Step {
    let Ok(lineage) = around.lineage() else {
        return Step::Nothing("upstream is not settled");
    };
    let current = bundle(job, rules.contract, &around.clauses, &lineage);
    if job.state == JobState::Staged || job.state == JobState::Working {
        return Step::Reconciled(passes(around));
    }
    if !rules.contract.approval.required {
        return cut_over_in_order(around, lineage, now);
    }
    let Some(own) = job
        .approval
        .as_ref()
        .filter(|own| own.action == Action::CutOver)
    else {
        return Step::Request(current);
    };
    if let Some(step) = request_is_stale(own, &current, now) {
        return step;
    }
    match own.state {
        ApprovalState::Void => Step::Request(current),
        ApprovalState::Rejected => Step::HandOver(format!("cutover rejected by {}", own.decided)),
        ApprovalState::Approved => cut_over_in_order(around, lineage, now),
        ApprovalState::Used => Step::HandOver("the cutover ended without an effect".to_owned()),
        ApprovalState::Open => Step::Wait(Waiting {
            kind: WaitKind::Person,
            reason: format!("waits for {} to decide the cutover", names(rules.contract)),
            wakes: vec![Wake::Approval],
            next_check: own
                .expires_at
                .unwrap_or_else(|| now.plus_ms(PERSON_OVERDUE_MS)),
            overdue: own
                .expires_at
                .or(around.person_overdue)
                .unwrap_or_else(|| own.requested_at.plus_ms(PERSON_OVERDUE_MS)),
        }),
    }
}

/// How many clauses pass, and of those whose word is no script's.
fn passes(around: &Surroundings) -> String {
    let all = around.clauses.len();
    let of = |kind| around.clauses.iter().filter(|one| one.by == kind).count();
    let mut text = format!("{all} of {all} clauses pass");
    match (of(EvidenceKind::Judge), of(EvidenceKind::Person)) {
        (0, 0) => {}
        (judge, 0) => text.push_str(&format!(" ({judge} judged by a model)")),
        (0, person) => text.push_str(&format!(" ({person} judged by a person)")),
        (judge, person) => text.push_str(&format!(
            " ({judge} judged by a model, {person} by a person)"
        )),
    }
    text
}

/// A job follows its upstream jobs into production: its evidence was won upon their new configs, which
/// may still be rejected.
fn cut_over_in_order(around: &Surroundings, lineage: Vec<Upstream>, now: TimeMs) -> Step {
    let ahead = around
        .upstream
        .iter()
        .find(|up| matches!(up.state, JobState::Reconciled | JobState::AwaitingApproval));
    match ahead {
        None => cut_over_in_turn(&around.gate, lineage, now),
        Some(up) => Step::Wait(Waiting {
            kind: WaitKind::Upstream,
            reason: format!("may be cut over; {} goes first ({})", up.job, up.state),
            wakes: vec![Wake::Job {
                id: up.job.0.clone(),
            }],
            next_check: now.plus_ms(PERSON_OVERDUE_MS),
            overdue: now.plus_ms(4 * PERSON_OVERDUE_MS),
        }),
    }
}

/// The calendar first, then its turn: the contract says how many cutovers may be on their way.
fn cut_over_in_turn(gate: &GateView, lineage: Vec<Upstream>, now: TimeMs) -> Step {
    if let Some((until, text)) = &gate.frozen {
        return Step::Wait(Waiting {
            kind: WaitKind::Freeze,
            reason: format!("may be cut over; the contract freezes cutovers ({text})"),
            wakes: vec![Wake::At { at: *until }],
            next_check: *until,
            overdue: until.plus_ms(HOUR_MS),
        });
    }
    if gate.full {
        return Step::Wait(Waiting {
            kind: WaitKind::Turn,
            reason: "may be cut over; the cutovers on their way are confirmed first".to_owned(),
            wakes: vec![Wake::Event {
                name: "cutover settled".to_owned(),
            }],
            next_check: now.plus_ms(HOUR_MS),
            overdue: now.plus_ms(PERSON_OVERDUE_MS),
        });
    }
    Step::CutOver(lineage)
}

pub(in crate::engine) fn request_is_stale(
    own: &ApprovalFacts,
    current: &Bundle,
    now: TimeMs,
) -> Option<Step> {
    if !matches!(own.state, ApprovalState::Open | ApprovalState::Approved) {
        return None;
    }
    if own.digest != current.digest {
        return Some(Step::Void(
            own.id.clone(),
            "what it was bound to has changed".to_owned(),
        ));
    }
    let expired = own.expires_at.is_some_and(|at| at <= now);
    expired.then(|| Step::Void(own.id.clone(), "it expired before it was used".to_owned()))
}

/// Who may decide, as one sentence says it.
pub(in crate::engine) fn names(contract: &Contract) -> String {
    let names: Vec<&str> = contract
        .approval
        .by
        .iter()
        .map(|account| account.0.as_str())
        .collect();
    names.join(" or ")
}
