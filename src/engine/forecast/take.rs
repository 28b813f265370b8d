//! A forecast's inputs, from the ledger and the contract.

use super::{BudgetState, Inputs, OpenJob, Outlook, Samples, outlook};
use crate::check::checker;
use crate::contract::workdays::{next_midnight, working_ms_between};
use crate::contract::{Clause, Contract};
use crate::engine::walls::day_of;
use crate::ledger::LedgerError;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{BudgetUse, View};
use crate::model::{Budget, ClauseId, JobState, TimeMs, Verdict};
use crate::world::ports::Output;

/// Most renewals that are looked ahead.
const MOST_RENEWALS: usize = 1_500;
/// A gap between two decisions that is longer than this was not spent deciding.
const LONGEST_DECISION_MIN: f64 = 60.0;

/// The outlook of a goal now.
///
/// # Errors
/// When the ledger cannot be read.
pub fn forecast(view: View<'_>, contract: &Contract, now: TimeMs) -> Result<Outlook, LedgerError> {
    Ok(outlook(&inputs(view, contract, now)?))
}

/// Reads what a forecast needs.
///
/// # Errors
/// When the ledger cannot be read.
pub fn inputs(view: View<'_>, contract: &Contract, now: TimeMs) -> Result<Inputs, LedgerError> {
    let facts = view.all_facts(&contract.id)?;
    let uses = view.budget_uses(&contract.id)?;
    let decided = view.decided_approvals(&contract.id)?;
    let since = view
        .goals()?
        .into_iter()
        .find(|row| row.goal == contract.id)
        .map_or(now, |row| row.adopted_at);
    let cost = |job: &JobFacts, open: bool| -> u64 {
        job.clauses
            .iter()
            .filter(|id| !open || !has_pass(job, id))
            .filter_map(|id| contract.clause(id))
            .map(|clause| queries(clause, job))
            .sum()
    };
    let mut samples = Samples {
        minutes: minutes(contract, &decided),
        ..Samples::default()
    };
    let mut open = Vec::new();
    for job in &facts {
        let checked = matches!(
            job.state,
            JobState::Reconciled | JobState::AwaitingApproval | JobState::CutOver
        );
        let spent = |budget| job.spent.get(&budget).copied().unwrap_or(0);
        let declared = cost(job, false);
        if checked && declared > 0 {
            samples
                .query_ratio
                .push(job.queries as f64 / declared as f64);
        }
        // A job that a person took has cost what it cost, too; one that no model was asked about cost nothing.
        if checked || job.state == JobState::HandedOver {
            samples.tokens.push(spent(Budget::Tokens));
            samples.money.push(spent(Budget::Money));
        }
        if !job.state.has_ended() {
            open.push(OpenJob {
                queries: cost(job, true),
                tokens: spent(Budget::Tokens),
                money: spent(Budget::Money),
                actions: 1 + u64::from(!checked),
                model: !checked,
                approval: contract.approval.required,
            });
        }
    }
    // Without a model nothing was measured of models.
    if samples.tokens.iter().all(|tokens| *tokens == 0) {
        samples.tokens.clear();
        samples.money.clear();
    }
    let renewals = renewals(contract, now);
    Ok(Inputs {
        now,
        since,
        deadline: contract.deadline,
        minutes_left: contract.deadline.map(|deadline| {
            working_ms_between(&contract.workdays, now, deadline) as f64 / 60_000.0
        }),
        time: contract.wall(Budget::WallClock).map(|wall| {
            let end = |ms| contract.working_end(since, ms);
            (end(contract.handoff_at(wall)), end(wall))
        }),
        minutes_each: contract.approval.minutes_each,
        budgets: budgets(contract, &uses, since, now, &renewals),
        open,
        samples,
        renewals,
        workdays: contract.workdays.clone(),
    })
}

/// The most queries that one judgement of a clause on a job costs.
fn queries(clause: &Clause, job: &JobFacts) -> u64 {
    let output: Option<Output> = job
        .output
        .clone()
        .and_then(|value| serde_json::from_value(value).ok());
    checker(&clause.check).map_or(0, |one| one.queries(clause, output.as_ref()))
}

fn has_pass(job: &JobFacts, clause: &ClauseId) -> bool {
    job.evidence
        .get(clause)
        .is_some_and(|own| own.verdict == Verdict::Pass && Some(&own.config) == job.config.as_ref())
}

/// Renewals to come, at most a few years of them.
fn renewals(contract: &Contract, now: TimeMs) -> Vec<TimeMs> {
    let zone = &contract.workdays.zone;
    std::iter::successors(Some(next_midnight(zone, now)), |at| {
        Some(next_midnight(zone, *at))
    })
    .take(MOST_RENEWALS)
    .collect()
}

fn budgets(
    contract: &Contract,
    uses: &[BudgetUse],
    since: TimeMs,
    now: TimeMs,
    renewals: &[TimeMs],
) -> Vec<BudgetState> {
    let (today, _) = day_of(&contract.workdays.zone, now);
    let of = |budget: Budget, day: &str| {
        let found = uses
            .iter()
            .find(|one| one.budget == budget && one.day == day);
        found.map_or((0, 0), |one| (one.spent, one.reserved))
    };
    let mut all = Vec::new();
    for budget in Budget::ALL.iter().copied() {
        if let Some(limit) = contract.wall(budget) {
            let (spent, reserved) = match budget {
                Budget::WallClock => {
                    let passed = working_ms_between(&contract.workdays, since, now);
                    (passed.max(0) as u64, 0)
                }
                _ => of(budget, ""),
            };
            all.push(BudgetState {
                budget,
                per_day: false,
                limit,
                handoff: contract.handoff_at(limit),
                spent,
                reserved,
                left: Some(limit.saturating_sub(spent + reserved)),
            });
        }
        if let Some(limit) = contract.budgets.a_day(budget) {
            let (spent, reserved) = of(budget, &today);
            let rest = limit.saturating_sub(spent + reserved);
            let left = contract.deadline.map(|deadline| {
                let days = renewals.iter().filter(|at| **at < deadline).count() as u64;
                if deadline <= now {
                    0
                } else {
                    rest + days * limit
                }
            });
            all.push(BudgetState {
                budget,
                per_day: true,
                limit,
                handoff: limit,
                spent,
                reserved,
                left,
            });
        }
    }
    all
}

/// Working minutes of each decision: from the request, or from the decision before when that came later.
fn minutes(contract: &Contract, decided: &[(TimeMs, TimeMs)]) -> Vec<f64> {
    let mut last = TimeMs(i64::MIN);
    let mut all = Vec::new();
    for (requested, at) in decided {
        let ms = working_ms_between(&contract.workdays, last.max(*requested), *at);
        let minutes = ms as f64 / 60_000.0;
        if minutes > 0.0 && minutes <= LONGEST_DECISION_MIN {
            all.push(minutes);
        }
        last = *at;
    }
    all
}
