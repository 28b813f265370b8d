//! From the ledger to the package.

use super::{
    Asked, Cut, Done, Doubt, Given, Going, Left, MOST_TRIED, Named, Package, SCHEMA, Spent, Tried,
    Word, decision, short,
};
use crate::contract::Contract;
use crate::engine::forecast::{BudgetOutlook, forecast};
use crate::engine::report::JobCounts;
use crate::ledger::LedgerError;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{BudgetUse, View};
use crate::model::{ContractVersion, JobState, TimeMs};

/// Makes the package of a goal as the ledger has it now.
///
/// # Errors
/// When the ledger cannot be read.
pub fn package(
    view: View<'_>,
    contract: &Contract,
    why: &str,
    now: TimeMs,
) -> Result<Package, LedgerError> {
    let overview = view.overview(&contract.id)?;
    let version = view
        .contract(&contract.id)?
        .map_or(ContractVersion(1), |row| row.version);
    let outlook = forecast(view, contract, now)?;
    let mut package = Package {
        schema: SCHEMA.to_owned(),
        goal: contract.id.clone(),
        objective: short(&contract.objective),
        owner: contract.owner.clone(),
        contract_version: version,
        why: short(why),
        at: now,
        entry: overview.last_seq,
        deadline: contract.deadline,
        zone: contract.workdays.zone.clone(),
        jobs: JobCounts::of(&overview),
        done: Cut::default(),
        handed_over: Cut::default(),
        cancelled: Cut::default(),
        in_progress: Cut::default(),
        not_started: Cut::default(),
        to_verify: Cut::default(),
        approvals: Cut::default(),
        staging: Cut::default(),
        budgets: budgets(&outlook.budgets, &view.budget_uses(&contract.id)?),
        forecast: outlook,
        decision: Vec::new(),
    };
    for facts in view.all_facts(&contract.id)? {
        sort_in(&mut package, view, &facts)?;
    }
    for one in view.unsettled(&contract.id)? {
        package.to_verify.push(Doubt {
            operation: one.operation,
            job: one.job,
            action: one.action,
            why: short(&one.why),
            since: one.intended_at,
        });
    }
    for one in view.open_approvals(&contract.id)? {
        package.approvals.push(Asked {
            job: one.job,
            approval: one.approval.0,
            since: one.requested_at,
            consequences: one
                .consequences
                .iter()
                .take(5)
                .map(|text| short(text))
                .collect(),
        });
    }
    for (job, reference, count) in view.staged(&contract.id)? {
        package.staging.push(Left {
            job,
            reference: short(&reference),
            count,
        });
    }
    package.decision = decision::choices(contract, &package);
    Ok(package)
}

fn sort_in(package: &mut Package, view: View<'_>, facts: &JobFacts) -> Result<(), LedgerError> {
    match facts.state {
        JobState::CutOver => package.done.push(Done {
            job: facts.id.clone(),
            title: short(&facts.title),
            reference: facts.production.clone().unwrap_or_default(),
            decided: facts
                .approval
                .as_ref()
                .map(|own| short(own.decided.trim_end_matches(": ")))
                .unwrap_or_default(),
            evidence: words(facts),
        }),
        JobState::HandedOver => {
            let mut tried: Vec<Tried> = view
                .attempts(&facts.goal, &facts.id)?
                .into_iter()
                .map(|row| Tried {
                    attempt: row.attempt.0,
                    strategy: row.strategy,
                    outcome: row.outcome,
                    reason: short(&row.reason),
                })
                .collect();
            // The last ones say most.
            tried.drain(..tried.len().saturating_sub(MOST_TRIED));
            package.handed_over.push(Given {
                job: facts.id.clone(),
                title: short(&facts.title),
                origin: short(&facts.origin),
                reason: short(&facts.reason),
                tried,
                evidence: words(facts),
            });
        }
        JobState::Cancelled => package.cancelled.push(going(facts)),
        JobState::Pending if facts.attempt.0 == 0 => package.not_started.push(Named {
            job: facts.id.clone(),
            title: short(&facts.title),
        }),
        _ => package.in_progress.push(going(facts)),
    }
    Ok(())
}

fn going(facts: &JobFacts) -> Going {
    let reason = match &facts.wait {
        Some(wait) => wait.reason.as_str(),
        None => facts.reason.as_str(),
    };
    Going {
        job: facts.id.clone(),
        title: short(&facts.title),
        state: facts.state,
        reason: short(reason),
        clauses_passed: facts.passed() as u64,
        clauses: facts.clauses.len() as u64,
    }
}

fn words(facts: &JobFacts) -> Vec<Word> {
    facts
        .evidence
        .iter()
        .take(MOST_TRIED)
        .map(|(clause, own)| Word {
            clause: clause.0.clone(),
            verdict: own.verdict.word().to_owned(),
            summary: short(&own.summary),
        })
        .collect()
}

fn budgets(limited: &[BudgetOutlook], uses: &[BudgetUse]) -> Vec<Spent> {
    let mut all: Vec<Spent> = limited
        .iter()
        .map(|one| {
            let unsure = uses
                .iter()
                .find(|own| own.budget == one.budget && own.day.is_empty() != one.per_day)
                .map_or(0, |own| own.unsure);
            Spent {
                budget: one.budget.word().to_owned(),
                per_day: one.per_day,
                limit: one.budget.show(one.limit),
                spent: one.budget.show(one.spent),
                reserved: one.budget.show(one.reserved),
                percent: (one.limit > 0).then(|| 100.0 * one.spent as f64 / one.limit as f64),
                limit_units: Some(one.limit),
                spent_units: one.spent,
                unsure_units: unsure,
            }
        })
        .collect();
    // What is spent without a limit is told as well.
    for own in uses.iter().filter(|own| own.day.is_empty()) {
        let known = limited
            .iter()
            .any(|one| one.budget == own.budget && !one.per_day);
        if !known {
            all.push(Spent {
                budget: own.budget.word().to_owned(),
                per_day: false,
                limit: String::new(),
                spent: own.budget.show(own.spent),
                reserved: own.budget.show(own.reserved),
                percent: None,
                limit_units: None,
                spent_units: own.spent,
                unsure_units: own.unsure,
            });
        }
    }
    all
}
