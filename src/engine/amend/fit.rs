//! What is needed against what is left until the deadline.

use super::impact::Situation;
use crate::contract::Contract;
use crate::contract::workdays::{next_midnight, working_ms_between};
use crate::model::TimeMs;
use serde::Serialize;

/// Renewals that are counted at most: more days than any goal has.
const MAX_DAYS: u64 = 20_000;

/// Queries needed against queries left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuotaFit {
    /// Queries a day under the new version.
    pub limit: u64,
    /// Left of today.
    pub left_today: u64,
    /// Renewals after today and before the deadline; `None` without a deadline.
    pub renewals: Option<u64>,
    /// Left until the deadline; `None` without one.
    pub left: Option<u64>,
    /// What is to spare; below zero it is short. `None` without a deadline.
    pub spare: Option<f64>,
    /// Days that the need takes at least, today among them when anything is left of it.
    pub days_needed: u64,
}

/// Decisions needed against working hours left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApprovalFit {
    /// Cutovers to decide.
    pub jobs: u64,
    /// Minutes each.
    pub minutes_each: f64,
    /// Minutes in all.
    pub minutes: f64,
    /// Working minutes until the deadline; `None` without one.
    pub working_minutes: Option<f64>,
    /// What is to spare of them; below zero it is short.
    pub spare_minutes: Option<f64>,
}

/// How often a daily quota renews after `now` and before `deadline`: at each local midnight, also of days
/// off, because the engine works on those too.
pub fn renewals(zone: &str, now: TimeMs, deadline: TimeMs) -> u64 {
    let mut count = 0;
    let mut at = next_midnight(zone, now);
    while at < deadline && count < MAX_DAYS {
        count += 1;
        at = next_midnight(zone, at);
    }
    count
}

/// Left until a deadline that allows so many renewals.
pub(super) fn left(limit: u64, left_today: u64, renewals: u64) -> u64 {
    left_today.saturating_add(limit.saturating_mul(renewals))
}

/// What is left of today under a limit.
pub(super) fn left_today(limit: u64, situation: &Situation<'_>) -> u64 {
    match situation.left_today {
        Some(known) => known.min(limit),
        None => limit.saturating_sub(situation.used_today),
    }
}

pub(super) fn quota_fit(
    new: &Contract,
    limit: u64,
    situation: &Situation<'_>,
    need: f64,
) -> QuotaFit {
    let today = left_today(limit, situation);
    let past = new.deadline.is_some_and(|at| at <= situation.now);
    let renewals = new
        .deadline
        .map(|at| renewals(&new.workdays.zone, situation.now, at));
    let left = renewals.map(|count| if past { 0 } else { left(limit, today, count) });
    let after_today = (need - today as f64).max(0.0);
    let more_days = if limit == 0 {
        0
    } else {
        (after_today / limit as f64).ceil() as u64
    };
    QuotaFit {
        limit,
        left_today: today,
        renewals,
        left,
        spare: left.map(|left| left as f64 - need),
        days_needed: more_days + u64::from(today > 0),
    }
}

pub(super) fn approval_fit(new: &Contract, jobs: u64, now: TimeMs) -> ApprovalFit {
    let jobs = if new.approval.required { jobs } else { 0 };
    let minutes = jobs as f64 * new.approval.minutes_each;
    let working = |at| working_ms_between(&new.workdays, now, at) as f64 / 60_000.0;
    let working_minutes = new.deadline.map(working);
    ApprovalFit {
        jobs,
        minutes_each: new.approval.minutes_each,
        minutes,
        working_minutes,
        spare_minutes: working_minutes.map(|have| have - minutes),
    }
}
