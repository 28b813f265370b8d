//! A preview from the ledger.

use super::impact::{Impact, Situation, preview};
use super::measure::Measured;
use crate::contract::Contract;
use crate::contract::workdays::day_name;
use crate::ledger::LedgerError;
use crate::ledger::read::View;
use crate::model::{ContractVersion, GoalId, TimeMs, WAREHOUSE_QUERIES};

/// What was measured so far.
///
/// # Errors
/// When the ledger cannot be read.
pub fn measured(view: View<'_>, goal: &GoalId) -> Result<Measured, LedgerError> {
    Ok(Measured {
        clauses: view.clause_costs(goal)?,
        reruns: view.rerun_measure(goal)?,
    })
}

/// What amending `old` (version `version`) to `new` would do at an instant. `left_today` replaces what the
/// ledger knows of today's quota, where others draw on it too.
///
/// # Errors
/// When the ledger cannot be read.
pub fn preview_from(
    view: View<'_>,
    old: &Contract,
    version: ContractVersion,
    new: &Contract,
    now: TimeMs,
    left_today: Option<u64>,
) -> Result<Impact, LedgerError> {
    let goal = &old.id;
    let jobs = view.all_facts(goal)?;
    let measured = measured(view, goal)?;
    let staging = view.staging_resources(goal)?;
    let today = day_name(&new.workdays.zone, now);
    let used_today = view
        .budget_days(goal)?
        .iter()
        .filter(|one| one.budget == WAREHOUSE_QUERIES && one.day == today)
        .map(|one| one.reserved + one.spent)
        .sum();
    Ok(preview(&Situation {
        jobs: &jobs,
        old,
        version,
        new,
        measured: &measured,
        staging: &staging,
        used_today,
        left_today,
        now,
    }))
}
