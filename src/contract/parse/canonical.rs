//! The contract's canonical form: what its digest covers.

use crate::contract::sampling::PERSON;
use crate::contract::types::{Contract, Limits, Soak};
use crate::model::{Account, Digest, digest_json};
use serde_json::{Map, Value as Json, json};

/// Digest of the contract's canonical form. Comments, formatting, key order and equal spellings of one
/// value (`15m`, `900s`) do not change it; strategies are not part of it.
pub fn contract_digest(contract: &Contract) -> Digest {
    digest_json(&contract_json(contract))
}

/// The contract's canonical form: every value, defaults filled in, times in milliseconds.
pub fn contract_json(contract: &Contract) -> Json {
    json!({
        "id": contract.id,
        "objective": contract.objective,
        "owner": contract.owner,
        "deadline_ms": contract.deadline,
        "workdays": {
            "zone": contract.workdays.zone,
            "days": contract.workdays.days,
            "from_minute": contract.workdays.from_minute,
            "to_minute": contract.workdays.to_minute,
        },
        "jobs": jobs(contract),
        "accept": contract.accept.iter().map(|clause| json!({
            "id": clause.id,
            "check": clause.check,
            "applies_to": clause.applies_to,
            "params": clause.params,
        })).collect::<Vec<_>>(),
        "approval": {
            "required": contract.approval.required,
            "by": contract.approval.by,
            "minutes_each": contract.approval.minutes_each,
            "expires_after_ms": contract.approval.expires_after_ms,
        },
        "cutover": {
            "freeze": contract.cutover.freeze.iter().map(|window| &window.text).collect::<Vec<_>>(),
            "waves": contract.cutover.waves.map(|waves| json!({ "clean": waves.clean, "then": waves.then })),
        },
        "soak": match contract.soak {
            None => Json::Null,
            Some(Soak::Runs(runs)) => json!({ "runs": runs }),
            Some(Soak::Time(ms)) => json!({ "ms": ms }),
        },
        "budgets": budgets(contract),
        "limits": limits(contract),
        "spin": {
            "same_check_failures": contract.spin.same_check_failures,
            "same_change": contract.spin.same_change,
            "rounds_without_pass": contract.spin.rounds_without_pass,
            "tokens_without_pass": contract.spin.tokens_without_pass,
        },
        "heartbeat": {
            "every_ms": contract.heartbeat.every_ms,
            "wake_on": contract.heartbeat.wake_on,
        },
        "world": contract.world.ports,
    })
}

/// A contract that leaves other dates at their default has the digest it had before there were any.
fn limits(contract: &Contract) -> Json {
    let mut limits = Map::new();
    let own = contract.limits;
    limits.insert("staging_tries".to_owned(), json!(own.staging_tries));
    limits.insert("repair_rounds".to_owned(), json!(own.repair_rounds));
    limits.insert("concurrent_jobs".to_owned(), json!(own.concurrent_jobs));
    if own.other_dates != Limits::default().other_dates {
        limits.insert("other_dates".to_owned(), json!(own.other_dates));
    }
    Json::Object(limits)
}

/// A contract that gives no job up has the digest it had before there were words for it.
fn jobs(contract: &Contract) -> Json {
    let mut jobs = Map::new();
    jobs.insert("file".to_owned(), json!(contract.jobs.file));
    let depends = json!(contract.jobs.depends_on_source);
    jobs.insert("depends_on_source".to_owned(), depends);
    jobs.insert("high_risk".to_owned(), json!(contract.jobs.high_risk));
    if !contract.jobs.retire.is_empty() {
        jobs.insert("retire".to_owned(), json!(contract.jobs.retire));
    }
    Json::Object(jobs)
}

fn budgets(contract: &Contract) -> Json {
    let mut total = Map::new();
    for (name, budget) in &contract.budgets.total {
        total.insert(name.clone(), json!(budget.limit));
    }
    let mut per_day = Map::new();
    for (name, budget) in &contract.budgets.per_day {
        per_day.insert(name.clone(), json!(budget.limit));
    }
    json!({
        "total": total,
        "per_day": per_day,
        "handoff_at_percent": contract.budgets.handoff_at_percent,
    })
}

impl Contract {
    /// The contract with `@me` replaced by the account that adopts it. The digest stays: it covers what
    /// the owner wrote.
    #[must_use]
    pub fn resolve_me(mut self, me: &Account) -> Self {
        let resolve = |account: &mut Account| {
            if account.0 == "@me" {
                *account = me.clone();
            }
        };
        resolve(&mut self.owner);
        self.approval.by.iter_mut().for_each(resolve);
        for clause in self.accept.iter_mut().filter(|one| one.check == PERSON) {
            let named = clause.params.get_mut("by").and_then(Json::as_array_mut);
            for name in named.into_iter().flatten().filter(|name| *name == "@me") {
                *name = json!(me);
            }
        }
        let mut seen = Vec::new();
        self.approval.by.retain(|account| {
            let new = !seen.contains(account);
            seen.push(account.clone());
            new
        });
        self
    }
}
