//! What is asked of the owner, with the numbers that each choice rests on.

use super::{Choice, Package};
use crate::contract::Contract;
use crate::contract::workdays::day_length_ms;
use crate::engine::forecast::BudgetOutlook;
use crate::model::{Budget, budget::PICO};

/// The choices that the state of things leaves open.
pub(super) fn choices(contract: &Contract, package: &Package) -> Vec<Choice> {
    let mut all: Vec<Choice> = package
        .forecast
        .budgets
        .iter()
        .filter_map(|one| more_budget(contract, package, one))
        .collect();
    all.extend(less_scope(package));
    all.extend(people(package));
    all
}

/// A limit under which the need of nine in ten trials ends before the handoff; without a measured need, one
/// in proportion to what is done.
fn more_budget(contract: &Contract, package: &Package, one: &BudgetOutlook) -> Option<Choice> {
    let handoff = contract.handoff_at(one.limit);
    let near = !one.per_day && one.spent >= handoff;
    let short = one.fits.is_some_and(|fits| fits < 0.9);
    if !near && !short {
        return None;
    }
    let name = one.budget.word();
    if one.per_day {
        let (need, left) = (one.need?.p90 as u64, one.left?);
        let missing = need.saturating_sub(left);
        return Some(Choice {
            kind: "more_budget".to_owned(),
            what: format!(
                "{name}: up to {} are needed until the deadline and {} are left: {} short; a higher daily limit, a \
                 later deadline or fewer jobs",
                one.budget.show(need),
                one.budget.show(left),
                one.budget.show(missing)
            ),
            command: None,
        });
    }
    let ended = package.jobs.total.saturating_sub(package.jobs.open);
    let need = match (one.budget, one.need) {
        (Budget::WallClock, _) | (_, None) => {
            let each = one.spent as f64 / ended.max(1) as f64;
            (each * package.jobs.open as f64) as u64
        }
        (_, Some(need)) => need.p90 as u64,
    };
    let percent = u128::from(contract.budgets.handoff_at_percent.max(1));
    let all = u128::from(one.spent.saturating_add(need)) * 100 / percent;
    let limit = round_up(
        one.budget,
        u64::try_from(all).unwrap_or(u64::MAX).max(one.limit),
    );
    let written = written(contract, one.budget, limit);
    Some(Choice {
        kind: "more_budget".to_owned(),
        what: format!(
            "{name}: {} of {} are spent; the {} open jobs need about {} more, so {written} would carry the work to \
             its end before the next handoff",
            one.budget.show(one.spent),
            one.budget.show(one.limit),
            package.jobs.open,
            one.budget.show(need)
        ),
        command: Some(format!(
            "dogwatch budget raise {name} \"{written}\" --why \"…\""
        )),
    })
}

/// Two leading digits, so that a person reads it.
fn round_up(budget: Budget, amount: u64) -> u64 {
    if budget == Budget::WallClock {
        return amount;
    }
    let mut unit = 1_u64;
    while amount / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    amount.div_ceil(unit).saturating_mul(unit)
}

/// A limit as the goal file writes it.
fn written(contract: &Contract, budget: Budget, limit: u64) -> String {
    match budget {
        Budget::WallClock => {
            let days = limit as f64 / day_length_ms(&contract.workdays).max(1) as f64;
            format!("{} workdays", (days * 2.0).ceil() / 2.0)
        }
        Budget::Money => format!("{}", limit.div_ceil(PICO)),
        _ => limit.to_string(),
    }
}

fn less_scope(package: &Package) -> Option<Choice> {
    if package.jobs.open == 0 {
        return None;
    }
    Some(Choice {
        kind: "less_scope".to_owned(),
        what: format!(
            "{} jobs are open: {} are not started and {} are in progress; an amendment can retire those that need \
             not move",
            package.jobs.open, package.not_started.count, package.in_progress.count
        ),
        command: Some("dogwatch amend FILE --preview".to_owned()),
    })
}

fn people(package: &Package) -> Vec<Choice> {
    let mut all = Vec::new();
    let mut add = |kind: &str, count: u64, what: String, command: &str| {
        if count > 0 {
            all.push(Choice {
                kind: kind.to_owned(),
                what,
                command: Some(command.to_owned()),
            });
        }
    };
    add(
        "approvals",
        package.approvals.count,
        format!(
            "{} requests wait for a decision, about {:.0} minutes",
            package.approvals.count,
            package.forecast.approvals.need_minutes.p50 * package.approvals.count as f64
                / package.forecast.approvals.requests.max(1) as f64
        ),
        "dogwatch approvals",
    );
    add(
        "to_verify",
        package.to_verify.count,
        format!(
            "{} operations have no known outcome; each needs a look at the environment",
            package.to_verify.count
        ),
        "dogwatch verify-op list",
    );
    add(
        "people",
        package.handed_over.count,
        format!(
            "{} jobs need a person: they were handed over with their reasons",
            package.handed_over.count
        ),
        "dogwatch jobs --filter state:handed_over",
    );
    all
}
