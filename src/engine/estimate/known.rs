//! What the goal declares of a plan, and what the ledger measured of it.

use super::{Assumptions, Key, Origin};
use crate::check::checker;
use crate::contract::Contract;
use crate::contract::workdays::{day_length_ms, working_ms_between};
use crate::engine::forecast::inputs;
use crate::ledger::LedgerError;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{TurnMeasure, View};
use crate::model::{Budget, GoalId, TimeMs};
use crate::world::ports::Output;

/// Puts in force what the contract fixes and, for an adopted goal, what its list of jobs says.
///
/// # Errors
/// When the ledger cannot be read.
pub fn declare(
    assumed: &mut Assumptions,
    contract: &Contract,
    view: Option<View<'_>>,
    now: TimeMs,
) -> Result<(), LedgerError> {
    let mut set = |key, value| assumed.set(key, value, Origin::Goal, "");
    set(Key::Tries, f64::from(contract.limits.staging_tries));
    set(Key::MinutesEach, contract.approval.minutes_each);
    if let Some(limit) = contract.budgets.a_day(Budget::WarehouseQueries) {
        set(Key::QuotaPerDay, limit as f64);
    }
    let mut since = now;
    if let Some(view) = view {
        let facts = view.all_facts(&contract.id)?;
        if !facts.is_empty() {
            set(Key::Jobs, facts.len() as f64);
            let queries: u64 = facts
                .iter()
                .map(|job| declared_queries(contract, job))
                .sum();
            set(Key::QueriesPerJob, queries as f64 / facts.len() as f64);
        }
        let row = view
            .goals()?
            .into_iter()
            .find(|row| row.goal == contract.id);
        since = row.map_or(now, |row| row.adopted_at);
    }
    let day = day_length_ms(&contract.workdays).max(1) as f64;
    match (contract.wall(Budget::WallClock), contract.deadline) {
        (Some(wall), _) => set(Key::WorkingDays, wall as f64 / day),
        (None, Some(deadline)) => {
            let ms = working_ms_between(&contract.workdays, since, deadline) as f64;
            set(Key::WorkingDays, (ms / day * 100.0).round() / 100.0);
        }
        (None, None) => {}
    }
    Ok(())
}

fn declared_queries(contract: &Contract, job: &JobFacts) -> u64 {
    let output: Option<Output> = job
        .output
        .clone()
        .and_then(|value| serde_json::from_value(value).ok());
    job.clauses
        .iter()
        .filter_map(|id| contract.clause(id))
        .filter_map(|clause| Some(checker(&clause.check)?.queries(clause, output.as_ref())))
        .sum()
}

/// Replaces each assumption that was measured.
///
/// # Errors
/// When the ledger cannot be read.
pub fn measure(
    assumed: &mut Assumptions,
    contract: &Contract,
    view: View<'_>,
    goal: &GoalId,
    now: TimeMs,
) -> Result<(), LedgerError> {
    let mut set = |key, value: f64, basis: String| {
        let value = (value * 10_000.0).round() / 10_000.0;
        assumed.set(key, value, Origin::Measured, &basis);
    };
    let checks = view.check_measure(goal)?;
    if checks.jobs > 0 {
        set(
            Key::QueriesPerJob,
            checks.first as f64 / checks.jobs as f64,
            format!("{} checked jobs", checks.jobs),
        );
    }
    if checks.all_first > 0 {
        set(
            Key::RerunPercent,
            100.0 * checks.again as f64 / checks.all_first as f64,
            format!("{} of {} queries", checks.again, checks.all_first),
        );
    }
    let runs = view.run_measure(goal)?;
    if runs.all() > 0 {
        set(
            Key::FailurePercent,
            100.0 * runs.by_chance as f64 / runs.all() as f64,
            format!("{} of {} staging runs", runs.by_chance, runs.all()),
        );
    }
    let minutes = inputs(view, contract, now)?.samples.minutes;
    if let Some(median) = median(&minutes) {
        set(
            Key::MinutesEach,
            median,
            format!("median of {} decisions", minutes.len()),
        );
    }
    measure_turns(assumed, &view.turn_measure(goal)?);
    Ok(())
}

/// Replaces what is assumed of a model's turns by what its providers counted.
///
/// What a turn reads beside the prefix cannot be told from it by counts alone, but what a cache served or kept
/// can: that takes the prefix's place, so that the sum and the cached part are both as measured.
pub fn measure_turns(assumed: &mut Assumptions, all: &TurnMeasure) {
    let prefix = assumed.get(Key::PrefixTokens);
    let mut set = |key, value: f64, basis: String| {
        let value = (value * 10_000.0).round() / 10_000.0;
        assumed.set(key, value, Origin::Measured, &basis);
    };
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    if all.turns == 0 {
        return;
    }
    set(
        Key::TurnsPerJob,
        share(all.turns, all.jobs),
        format!(
            "{} turns in {} attempts, {:.1} each; {} jobs begun",
            all.turns,
            all.attempts,
            share(all.turns, all.attempts),
            all.jobs
        ),
    );
    if all.reported == 0 {
        return;
    }
    let input = share(all.input, all.reported);
    let counted = format!("{} reported turns", all.reported);
    set(
        Key::OutputTokens,
        share(all.output, all.reported),
        counted.clone(),
    );
    let seen = all.uncached + all.cache_write + all.cache_read;
    if all.of_cache == 0 || seen == 0 {
        let rest = (input - prefix).max(0.0);
        let basis = format!("{counted}, {input:.0} read each; none told of a cache");
        set(Key::PrefixTokens, input - rest, basis.clone());
        set(Key::JobContextTokens, rest, basis);
        return;
    }
    let cached = all.cache_write + all.cache_read;
    let prefix = input * share(cached, seen);
    let basis = format!("{counted}, {input:.0} read each");
    set(
        Key::PrefixTokens,
        prefix,
        format!("{basis}: cached or kept"),
    );
    set(
        Key::JobContextTokens,
        input - prefix,
        format!("{basis}: the rest"),
    );
    set(
        Key::CacheHitPercent,
        100.0 * share(all.cache_read, cached),
        format!(
            "{} turns; a cache served {:.1} % of their input",
            all.of_cache,
            100.0 * share(all.cache_read, seen)
        ),
    );
}

fn median(all: &[f64]) -> Option<f64> {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
