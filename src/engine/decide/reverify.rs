//! Jobs in production whose current clauses have no valid pass.
//!
//! They are judged in staging, not in production: the config is the very one that is in production (its
//! digest is part of every verdict), the old side was last comparable when the staging run was made, and
//! nothing in production is touched to find out. Where the run is still the one that the clauses were judged
//! on, it is judged again; where what it was built upon has changed, it is staged anew first. What fails is
//! put before the owner; nothing is rolled back by itself.

use super::{
    HOUR_MS, MAX_REFUSALS, PERSON_OVERDUE_MS, Rules, Step, Waiting, in_order, judge, valid_verdict,
    wait_for_upstream,
};
use crate::contract::{Contract, Soak};
use crate::engine::surroundings::{ClauseView, Surroundings, lineage_digest, stored_lineage};
use crate::ledger::facts::{JobFacts, RunFacts};
use crate::model::{EvidenceKind, FailureClass, JobState, TimeMs, Verdict, WaitKind, Wake};
use crate::world::ports::Upstream;

/// Whether a job in production is still done: `None` when every current clause has a valid pass or a
/// waiver, or when it cannot be told yet because a job upstream may still change.
pub(super) fn outdated(job: &JobFacts, around: &Surroundings) -> Option<Step> {
    let lineage = match around.lineage() {
        Ok(lineage) => lineage,
        Err(up) if up.state == JobState::Reverify => {
            let why = format!("what it is built upon is verified again: {}", up.job);
            return Some(Step::NeedsReverify(why, true));
        }
        Err(_) => return None,
    };
    let missing: Vec<&ClauseView> = around
        .clauses
        .iter()
        .filter(|clause| !holds(job, clause, &lineage))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let upon = run_upon(job).is_none_or(|digest| digest != lineage_digest(&lineage));
    let names: Vec<&str> = missing.iter().map(|clause| clause.id.as_str()).collect();
    let why = if upon {
        format!(
            "what it was built upon has changed; judged again: {}",
            names.join(", ")
        )
    } else {
        format!("in production without a valid pass of {}", names.join(", "))
    };
    Some(Step::NeedsReverify(why, upon))
}

/// The next step of a job that needs re-verification.
pub(super) fn reverify(
    job: &JobFacts,
    rules: Rules<'_>,
    around: &Surroundings,
    now: TimeMs,
) -> Option<Step> {
    if job.state != JobState::Reverify {
        return None;
    }
    let lineage = match around.lineage() {
        Ok(lineage) => lineage,
        Err(upstream) => return Some(wait_for_upstream(upstream, now)),
    };
    let all_hold = around
        .clauses
        .iter()
        .all(|clause| holds(job, clause, &lineage));
    if all_hold {
        let soaks = soak_ends(job, rules.contract).filter(|end| *end > now);
        return Some(match soaks {
            Some(end) => soak(end),
            None => Step::Reverified(done_reason(job, rules.contract, around)),
        });
    }
    Some(
        staged(job, rules, &lineage, now)
            .unwrap_or_else(|| judged(job, rules, around, &lineage, now)),
    )
}

/// How long a job is watched in production before it is done, in milliseconds.
pub(in crate::engine) fn soak_ms(contract: &Contract) -> Option<i64> {
    match contract.soak {
        Some(Soak::Time(ms)) => Some(ms),
        // No port counts a job's runs in production; `check` says so.
        Some(Soak::Runs(_)) | None => None,
    }
}

/// When the soak of what is in production is over.
fn soak_ends(job: &JobFacts, contract: &Contract) -> Option<TimeMs> {
    Some(job.cut_over_at?.plus_ms(soak_ms(contract)?))
}

/// Its clauses hold; what is waited for is that they go on holding. A change upstream, of a clause or of a
/// checker wakes it, and then they are judged again.
fn soak(end: TimeMs) -> Step {
    Step::Wait(Waiting {
        kind: WaitKind::Soak,
        reason: "in production and not done yet: it soaks".to_owned(),
        wakes: vec![Wake::At { at: end }],
        next_check: end,
        overdue: end.plus_ms(HOUR_MS),
    })
}

/// A valid pass, or a waiver of the clause as it stands for the config in production.
fn holds(job: &JobFacts, clause: &ClauseView, lineage: &[Upstream]) -> bool {
    job.waives(&clause.id, &clause.clause_digest)
        || valid_verdict(job, clause, lineage).is_some_and(|(word, _)| word == Verdict::Pass)
}

fn done_reason(job: &JobFacts, contract: &Contract, around: &Surroundings) -> String {
    let waived: Vec<String> = around
        .clauses
        .iter()
        .filter(|clause| job.waives(&clause.id, &clause.clause_digest))
        .filter_map(|clause| {
            let own = job.waivers.get(&clause.id)?;
            Some(format!(
                "{} waived by {}: {}",
                clause.id, own.by, own.reason
            ))
        })
        .collect();
    let reference = job.production.as_deref().unwrap_or_default();
    if waived.is_empty() {
        match soak_ends(job, contract) {
            Some(_) => format!("in production as {reference}; its clauses hold after the soak"),
            None => format!("in production as {reference}; verified again"),
        }
    } else {
        format!("in production as {reference}; {}", waived.join("; "))
    }
}

/// What the staging run of the config in production was built upon, if there is one.
fn run_upon(job: &JobFacts) -> Option<crate::model::Digest> {
    let Some(RunFacts::Succeeded { operation }) = &job.run else {
        return None;
    };
    let own = job.operations.get(operation)?;
    (Some(&own.config) == job.config.as_ref()).then(|| stored_lineage(&own.upstream))?
}

/// Towards a staging run upon the current lineage; `None` when it is there.
fn staged(job: &JobFacts, rules: Rules<'_>, lineage: &[Upstream], now: TimeMs) -> Option<Step> {
    if let Some(why) = &job.config_refused {
        return Some(for_owner(
            rules,
            format!("staging refuses the config: {why}"),
            now,
        ));
    }
    if job.refusals >= MAX_REFUSALS {
        let why = format!("staging refused it {} times in a row", job.refusals);
        return Some(for_owner(rules, why, now));
    }
    // While it is staged again, nothing below is built upon it.
    let again = if job.outdated {
        Step::Stage(lineage.to_vec())
    } else {
        let why = "what it was built upon has changed again";
        Step::NeedsReverify(why.to_owned(), true)
    };
    match &job.run {
        None => Some(again),
        Some(RunFacts::Going { operation }) => Some(Step::Watch(operation.clone())),
        Some(RunFacts::Failed {
            class: FailureClass::Job,
            why,
            ..
        }) => Some(for_owner(
            rules,
            format!("its staging run failed: {why}"),
            now,
        )),
        Some(RunFacts::Failed { why, .. }) => {
            if job.staging_tries < rules.contract.limits.staging_tries {
                return Some(again);
            }
            let tries = job.staging_tries;
            let why = format!("staging failed {tries} times, last: {why}");
            Some(for_owner(rules, why, now))
        }
        Some(RunFacts::Succeeded { .. }) => {
            (run_upon(job) != Some(lineage_digest(lineage))).then_some(again)
        }
    }
}

/// Every clause is judged before the owner is asked, so that one decision is about all of it.
fn judged(
    job: &JobFacts,
    rules: Rules<'_>,
    around: &Surroundings,
    lineage: &[Upstream],
    now: TimeMs,
) -> Step {
    let mut failed = Vec::new();
    for clause in in_order(around) {
        if job.waives(&clause.id, &clause.clause_digest) {
            continue;
        }
        match valid_verdict(job, clause, lineage) {
            Some((Verdict::Pass, _)) => {}
            Some((word, why)) => failed.push(format!("clause {}: {word}: {why}", clause.id)),
            // Nobody looks at rows of what fails already.
            None if clause.by == EvidenceKind::Person && !failed.is_empty() => {}
            None => match judge(job, clause, lineage.to_vec(), around, now) {
                Step::HandOver(why) => failed.push(why),
                step => return step,
            },
        }
    }
    for_owner(rules, failed.join("; "), now)
}

fn for_owner(rules: Rules<'_>, why: String, now: TimeMs) -> Step {
    Step::Wait(Waiting {
        kind: WaitKind::Person,
        reason: format!(
            "in production and not verified: {why}. {} chooses: roll back, accept with a waiver, or hand over",
            rules.contract.owner
        ),
        wakes: vec![Wake::Event {
            name: "owner".to_owned(),
        }],
        next_check: now.plus_ms(PERSON_OVERDUE_MS),
        overdue: now.plus_ms(PERSON_OVERDUE_MS),
    })
}
