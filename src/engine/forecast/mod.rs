//! What is still needed against what is left, from measured rates, with its spread.
//!
//! Pure and seeded: the same state gives the same forecast. Each trial draws what every open job may still
//! cost from what the jobs before it did cost; the shares of trials give the spread.

mod dice;
mod take;

pub use take::{forecast, inputs};

use crate::model::{Budget, TimeMs};
use dice::Dice;
use serde::{Deserialize, Serialize};

/// Trials of one forecast.
pub const TRIALS: u32 = 400;
/// Its seed; a fixed one, because a forecast that moves by itself would raise and clear alerts.
pub const SEED: u64 = 0x00D0_6A7C;
/// Fewer finished jobs than this say nothing; the contract's own numbers are used until then.
pub const LEAST_SAMPLES: usize = 5;
/// What reruns add to the declared queries before anything was measured.
pub const ASSUMED_RERUNS: f64 = 1.15;
/// An alert is raised when fewer trials than this fit.
const RAISE_BELOW: f64 = 0.5;
/// It is cleared when at least this many fit: the gap keeps it from flapping.
const CLEAR_FROM: f64 = 0.75;

/// Three shares of the trials lie at or below these.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// One in ten.
    pub p10: f64,
    /// Half.
    pub p50: f64,
    /// Nine in ten.
    pub p90: f64,
}

/// One budget's outlook, in base units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetOutlook {
    /// Which.
    pub budget: Budget,
    /// Whether it renews each day.
    pub per_day: bool,
    /// The wall, or a day's limit.
    pub limit: u64,
    /// Spent of a total; spent today of a renewing one.
    pub spent: u64,
    /// Set aside now.
    pub reserved: u64,
    /// What the open jobs still need; `None` when nothing was measured.
    pub need: Option<Spread>,
    /// What is left: of a total all of it, of a renewing one until the deadline. `None` without a deadline.
    pub left: Option<u64>,
    /// Share of trials in which it suffices.
    pub fits: Option<f64>,
    /// By how much half of the trials fall short; 0 when they do not.
    pub short: f64,
    /// When a total reaches its handoff at the measured rate.
    pub handoff_at: Option<TimeMs>,
    /// When it reaches its wall.
    pub wall_at: Option<TimeMs>,
}

/// The approver's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalOutlook {
    /// Decisions still to come.
    pub requests: u64,
    /// Minutes they take.
    pub need_minutes: Spread,
    /// Working minutes until the deadline.
    pub left_minutes: Option<f64>,
    /// Share of trials in which they suffice.
    pub fits: Option<f64>,
}

/// The whole outlook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// As of.
    pub at: TimeMs,
    /// Jobs that have not ended.
    pub jobs_open: u64,
    /// Finished jobs that the rates rest on.
    pub jobs_measured: u64,
    /// Whether the rates were measured, or the contract's numbers had to do.
    pub measured: bool,
    /// Trials and their seed.
    pub trials: u32,
    /// The seed.
    pub seed: u64,
    /// The deadline.
    pub deadline: Option<TimeMs>,
    /// Budgets that are limited.
    pub budgets: Vec<BudgetOutlook>,
    /// The approver's time.
    pub approvals: ApprovalOutlook,
    /// When the last job ends, by days of quota and hours of the approver; unix milliseconds.
    pub finish: Option<Spread>,
    /// Share of trials that end before the deadline.
    pub finish_fits: Option<f64>,
}

/// One open job.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenJob {
    /// Queries of its clauses without a pass.
    pub queries: u64,
    /// Tokens that it has cost so far.
    pub tokens: u64,
    /// Money that it has cost so far, in pico-units.
    pub money: u64,
    /// Side effects that it still asks for at least.
    pub actions: u64,
    /// Whether a model may still be asked about it.
    pub model: bool,
    /// Whether its cutover is still to be decided.
    pub approval: bool,
}

/// What was measured of finished jobs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Queries spent over queries declared, a job.
    pub query_ratio: Vec<f64>,
    /// Tokens a job.
    pub tokens: Vec<u64>,
    /// Money a job.
    pub money: Vec<u64>,
    /// Minutes a decision.
    pub minutes: Vec<f64>,
}

/// A budget's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetState {
    /// Which.
    pub budget: Budget,
    /// Whether it renews.
    pub per_day: bool,
    /// Its limit.
    pub limit: u64,
    /// Where work is handed off; the limit for a renewing one.
    pub handoff: u64,
    /// Spent, in all or today.
    pub spent: u64,
    /// Set aside.
    pub reserved: u64,
    /// Left until the deadline.
    pub left: Option<u64>,
}

/// Everything a forecast needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// Now.
    pub now: TimeMs,
    /// Since when money and tokens are spent.
    pub since: TimeMs,
    /// The deadline.
    pub deadline: Option<TimeMs>,
    /// Working minutes from now to the deadline.
    pub minutes_left: Option<f64>,
    /// Working time's handoff and end, when it is limited.
    pub time: Option<(TimeMs, TimeMs)>,
    /// Minutes a decision by contract.
    pub minutes_each: f64,
    /// Open jobs.
    pub open: Vec<OpenJob>,
    /// Measured of the others.
    pub samples: Samples,
    /// Limited budgets.
    pub budgets: Vec<BudgetState>,
    /// Renewals to come, ascending, at most a few years of them.
    pub renewals: Vec<TimeMs>,
    /// Working hours a day and where they lie, for turning minutes into an instant.
    pub workdays: crate::contract::Workdays,
}

/// One trial's needs.
#[derive(Debug, Clone, Copy, Default)]
struct Need {
    queries: f64,
    tokens: f64,
    money: f64,
    actions: f64,
    minutes: f64,
}

/// Computes the outlook.
pub fn outlook(inputs: &Inputs) -> Outlook {
    let mut dice = Dice::new(SEED);
    let needs: Vec<Need> = (0..TRIALS).map(|_| trial(inputs, &mut dice)).collect();
    let budgets = inputs
        .budgets
        .iter()
        .map(|state| of_budget(inputs, state, &needs))
        .collect();
    let minutes: Vec<f64> = needs.iter().map(|need| need.minutes).collect();
    let finish = finish(inputs, &needs);
    Outlook {
        at: inputs.now,
        jobs_open: inputs.open.len() as u64,
        jobs_measured: inputs.samples.query_ratio.len() as u64,
        measured: inputs.samples.query_ratio.len() >= LEAST_SAMPLES,
        trials: TRIALS,
        seed: SEED,
        deadline: inputs.deadline,
        budgets,
        approvals: ApprovalOutlook {
            requests: inputs.open.iter().filter(|job| job.approval).count() as u64,
            need_minutes: spread(&minutes),
            left_minutes: inputs.minutes_left,
            fits: inputs
                .minutes_left
                .map(|left| share(&minutes, |need| need <= left)),
        },
        finish_fits: inputs
            .deadline
            .map(|deadline| share(&finish, |at| at <= deadline.0 as f64)),
        finish: (!inputs.open.is_empty()).then(|| spread(&finish)),
    }
}

fn trial(inputs: &Inputs, dice: &mut Dice) -> Need {
    let samples = &inputs.samples;
    let mut need = Need::default();
    for job in &inputs.open {
        let ratio = match enough(&samples.query_ratio) {
            Some(all) => dice.pick(all),
            None => ASSUMED_RERUNS,
        };
        need.queries += job.queries as f64 * ratio;
        let more = |all: &[u64], so_far: u64, dice: &mut Dice| match all.is_empty() {
            true => 0.0,
            false => dice.pick(all).saturating_sub(so_far) as f64,
        };
        if job.model {
            need.tokens += more(&samples.tokens, job.tokens, dice);
            need.money += more(&samples.money, job.money, dice);
        }
        need.actions += job.actions as f64;
        if job.approval {
            need.minutes += match enough(&samples.minutes) {
                Some(all) => dice.pick(all),
                None => inputs.minutes_each,
            };
        }
    }
    need
}

fn enough<T>(all: &[T]) -> Option<&[T]> {
    (all.len() >= LEAST_SAMPLES).then_some(all)
}

fn of_budget(inputs: &Inputs, state: &BudgetState, needs: &[Need]) -> BudgetOutlook {
    let of = |need: &Need| match state.budget {
        Budget::WarehouseQueries => need.queries,
        Budget::Tokens => need.tokens,
        Budget::Money => need.money,
        Budget::ExternalActions => need.actions,
        Budget::WallClock => 0.0,
    };
    let all: Vec<f64> = needs.iter().map(of).collect();
    let measured = match state.budget {
        Budget::Tokens => !inputs.samples.tokens.is_empty(),
        Budget::Money => !inputs.samples.money.is_empty(),
        Budget::WallClock => false,
        Budget::WarehouseQueries | Budget::ExternalActions => true,
    };
    let need = measured.then(|| spread(&all));
    let left = state.left;
    let (handoff_at, wall_at) = match (state.budget, inputs.time) {
        (Budget::WallClock, Some((handoff, wall))) => (Some(handoff), Some(wall)),
        _ if state.per_day => (None, None),
        _ => (
            reached_at(inputs, state, state.handoff, need),
            reached_at(inputs, state, state.limit, need),
        ),
    };
    BudgetOutlook {
        budget: state.budget,
        per_day: state.per_day,
        limit: state.limit,
        spent: state.spent,
        reserved: state.reserved,
        fits: need
            .zip(left)
            .map(|(_, left)| share(&all, |need| need <= left as f64)),
        short: need
            .zip(left)
            .map_or(0.0, |(need, left)| (need.p50 - left as f64).max(0.0)),
        need,
        left,
        handoff_at,
        wall_at,
    }
}

/// When so much is spent at the rate so far; `None` when half of the trials end before that.
fn reached_at(
    inputs: &Inputs,
    state: &BudgetState,
    amount: u64,
    need: Option<Spread>,
) -> Option<TimeMs> {
    if state.spent >= amount {
        return Some(inputs.now);
    }
    let missing = (amount - state.spent) as f64;
    let passed = inputs.now.since(inputs.since).max(1) as f64;
    let never = state.spent == 0 || need.is_none_or(|need| need.p50 < missing);
    let ms = missing * passed / state.spent.max(1) as f64;
    (!never && ms < 1e13).then(|| inputs.now.plus_ms(ms as i64))
}

/// Each trial's end: the later of the day on which the queries suffice and the approver's last minute.
fn finish(inputs: &Inputs, needs: &[Need]) -> Vec<f64> {
    let quota = inputs
        .budgets
        .iter()
        .find(|one| one.budget == Budget::WarehouseQueries && one.per_day);
    needs
        .iter()
        .map(|need| {
            let by_queries = quota.map_or(inputs.now, |quota| {
                let today = quota.limit.saturating_sub(quota.spent + quota.reserved) as f64;
                let more = ((need.queries - today) / quota.limit.max(1) as f64).ceil();
                match more as usize {
                    0 => inputs.now,
                    days => inputs
                        .renewals
                        .get(days - 1)
                        .or(inputs.renewals.last())
                        .copied()
                        .unwrap_or(inputs.now),
                }
            });
            let ms = (need.minutes * 60_000.0) as i64;
            let by_people = if ms == 0 {
                inputs.now
            } else {
                crate::contract::workdays::add_working_ms(&inputs.workdays, inputs.now, ms)
            };
            by_queries.max(by_people).0 as f64
        })
        .collect()
}

fn share(all: &[f64], holds: impl Fn(f64) -> bool) -> f64 {
    let held = all.iter().filter(|one| holds(**one)).count();
    held as f64 / all.len().max(1) as f64
}

fn spread(all: &[f64]) -> Spread {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |percent: usize| {
        let index = sorted.len().saturating_sub(1) * percent / 100;
        sorted.get(index).copied().unwrap_or(0.0)
    };
    Spread {
        p10: at(10),
        p50: at(50),
        p90: at(90),
    }
}

impl Outlook {
    /// Whether it says something else than another one: a day has passed, a job has ended, or a need has
    /// moved by a twentieth.
    pub fn has_moved(&self, last: &Self) -> bool {
        const DAY_MS: i64 = 86_400_000;
        let far = |now: Option<Spread>, then: Option<Spread>| match (now, then) {
            (Some(now), Some(then)) => (now.p50 - then.p50).abs() > 0.05 * then.p50.abs().max(1.0),
            (now, then) => now.is_some() != then.is_some(),
        };
        self.at.since(last.at) >= DAY_MS
            || self.measured != last.measured
            || self.deadline != last.deadline
            || self.budgets.len() != last.budgets.len()
            || self
                .budgets
                .iter()
                .zip(&last.budgets)
                .any(|(now, then)| now.limit != then.limit || far(now.need, then.need))
    }

    /// What does not fit, one sentence each; `before` is whether it was told already, which takes more to
    /// end than to begin.
    pub fn misfits(&self, before: bool) -> Vec<String> {
        let wall = if before { CLEAR_FROM } else { RAISE_BELOW };
        let fails = |fits: Option<f64>| fits.is_some_and(|fits| fits < wall);
        let mut all = Vec::new();
        for one in self.budgets.iter().filter(|one| fails(one.fits)) {
            let (need, left) = (
                one.need.map_or(0.0, |need| need.p50.ceil()) as u64,
                one.left.unwrap_or(0),
            );
            let until = if one.per_day {
                " until the deadline"
            } else {
                ""
            };
            all.push(format!(
                "{}: about {} are needed, {} are left{until}",
                one.budget,
                one.budget.show(need),
                one.budget.show(left)
            ));
        }
        if fails(self.approvals.fits) {
            all.push(format!(
                "approvals: about {:.0} minutes are needed, {:.0} working minutes are left until the deadline",
                self.approvals.need_minutes.p50,
                self.approvals.left_minutes.unwrap_or(0.0)
            ));
        } else if fails(self.finish_fits) && all.is_empty() {
            all.push(format!(
                "deadline: half of the outcomes end after it, {:.0} % before it",
                100.0 * self.finish_fits.unwrap_or(0.0)
            ));
        }
        all
    }
}

#[cfg(test)]
mod tests;
