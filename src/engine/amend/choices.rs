//! What the owner can do when an amendment does not fit, each with what it would change.

use super::fit::{left, left_today, renewals};
use super::impact::{Impact, Situation};
use crate::contract::workdays::{add_working_ms, next_midnight};
use crate::model::{ClauseId, TimeMs, WAREHOUSE_QUERIES};
use serde::Serialize;
use std::collections::BTreeMap;

/// Days that a deadline is moved at most in search of one that fits.
const MAX_LATER_DAYS: u32 = 3_650;

/// One way to make it fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// A higher daily quota.
    MoreQuota {
        /// Queries a day now.
        from: u64,
        /// The least that fits.
        to: u64,
        /// To spare then.
        spare: f64,
    },
    /// A later deadline.
    LaterDeadline {
        /// Now.
        from: TimeMs,
        /// The earliest that fits, at the same time of day.
        to: TimeMs,
        /// Days later.
        days: u32,
        /// To spare then.
        spare: f64,
    },
    /// Fewer jobs.
    FewerJobs {
        /// How many of those not done would have to be left out.
        jobs: u64,
        /// Of how many.
        of: u64,
        /// To spare then.
        spare: f64,
    },
    /// Without one of the new clauses.
    WithoutClause {
        /// The clause.
        clause: ClauseId,
        /// Queries it would save, reruns included.
        saves: f64,
        /// To spare then; below zero it would still be short.
        spare: f64,
    },
    /// More time of approvers, in their working hours.
    MoreApproverTime {
        /// Minutes that are missing.
        short_minutes: f64,
        /// When one approver would be through.
        done_at: TimeMs,
    },
}

/// Every choice for what is short; none when it fits.
pub(super) fn choices(
    impact: &Impact,
    situation: &Situation<'_>,
    not_done: &BTreeMap<ClauseId, (u64, f64)>,
) -> Vec<Choice> {
    let mut list = Vec::new();
    let short = impact
        .quota
        .as_ref()
        .and_then(|one| one.spare)
        .filter(|spare| *spare < 0.0);
    if let Some(spare) = short {
        list.extend(more_quota(impact, situation));
        list.extend(later_deadline(impact, situation));
        list.extend(fewer_jobs(impact, -spare));
        list.extend(without_clauses(impact, situation, not_done, spare));
    }
    if let Some(spare) = impact.approvals.spare_minutes.filter(|spare| *spare < 0.0) {
        let ms = (impact.approvals.minutes * 60_000.0) as i64;
        list.push(Choice::MoreApproverTime {
            short_minutes: -spare,
            done_at: add_working_ms(&situation.new.workdays, situation.now, ms),
        });
    }
    list
}

/// The least daily limit that fits: what was used today counts against it, renewals are whole.
fn more_quota(impact: &Impact, situation: &Situation<'_>) -> Option<Choice> {
    let quota = impact.quota.as_ref()?;
    let days = quota.renewals?.saturating_add(1);
    let used = quota.limit.saturating_sub(quota.left_today) as f64;
    let to = ((impact.need + used) / days as f64).ceil() as u64;
    if situation.new.deadline.is_some_and(|at| at <= situation.now) {
        return None;
    }
    let today = to.saturating_sub(used as u64);
    let spare = left(to, today, quota.renewals?) as f64 - impact.need;
    Some(Choice::MoreQuota {
        from: quota.limit,
        to,
        spare,
    })
}

/// The deadline moved by whole local days.
fn later_deadline(impact: &Impact, situation: &Situation<'_>) -> Option<Choice> {
    let limit = situation.new.budgets.per_day.get(WAREHOUSE_QUERIES)?.limit;
    let from = situation.new.deadline?;
    let zone = &situation.new.workdays.zone;
    let today = left_today(limit, situation);
    let base = renewals(zone, situation.now, from);
    let mut to = from;
    for days in 1..=MAX_LATER_DAYS {
        // The same time of day, also across a clock change.
        let midnight = next_midnight(zone, to);
        let into_day = to.since(crate::contract::workdays::day_start(zone, to));
        to = midnight.plus_ms(into_day);
        let count = if from <= situation.now {
            renewals(zone, situation.now, to)
        } else {
            base + u64::from(days)
        };
        let spare = left(limit, today, count) as f64 - impact.need;
        if to > situation.now && spare >= 0.0 {
            return Some(Choice::LaterDeadline {
                from,
                to,
                days,
                spare,
            });
        }
    }
    None
}

fn fewer_jobs(impact: &Impact, short: f64) -> Option<Choice> {
    let of = impact.not_done.jobs;
    if of == 0 {
        return None;
    }
    let each = impact.not_done.queries / of as f64 * (1.0 + impact.reruns.rate);
    let jobs = (short / each).ceil();
    (each > 0.0 && jobs <= of as f64).then_some(Choice::FewerJobs {
        jobs: jobs as u64,
        of,
        spare: jobs * each - short,
    })
}

fn without_clauses(
    impact: &Impact,
    situation: &Situation<'_>,
    not_done: &BTreeMap<ClauseId, (u64, f64)>,
    spare: f64,
) -> Vec<Choice> {
    let added = situation
        .new
        .accept
        .iter()
        .filter(|clause| situation.old.clause(&clause.id).is_none());
    added
        .filter_map(|clause| {
            let runs = impact.again.iter().chain(&impact.reverify_clauses);
            let again: f64 = runs
                .filter(|run| run.clause == clause.id)
                .map(|run| run.queries)
                .sum();
            let first = again + not_done.get(&clause.id).map_or(0.0, |own| own.1);
            let saves = first * (1.0 + impact.reruns.rate);
            (saves > 0.0).then(|| Choice::WithoutClause {
                clause: clause.id.clone(),
                saves,
                spare: spare + saves,
            })
        })
        .collect()
}
