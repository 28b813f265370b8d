//! The clustering test: whether failures of different jobs in a short time are more than bad luck. Pure.
//!
//! Each end of a call is a trial. Under the measured base rate and without an outage, trials are
//! independent. The newest trials are taken in windows of [`SIZES`]; a window's chance is the binomial
//! probability of at least so many failures in it. The smallest chance is held against [`ALPHA`], divided by the
//! number of windows (Bonferroni), so that one test errs with a probability of at most [`ALPHA`]. A test
//! is made at each failure: expected false outages are at most [`ALPHA`] times the failures.

use crate::model::{JobId, TimeMs};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Probability with which one test takes bad luck for an outage, at most.
pub const ALPHA: f64 = 1e-5;
/// Trials older than this are no part of a cluster, in milliseconds.
pub const WINDOW_MS: i64 = 15 * 60_000;
/// Window sizes, in trials.
pub const SIZES: [u32; 8] = [3, 4, 6, 8, 12, 16, 24, 32];
/// Failures of one job that count in a window: its own trouble is no outage.
pub const MOST_OF_ONE_JOB: u32 = 3;
/// Different jobs that must fail; fewer where fewer work at once (see [`least_jobs`]).
const LEAST_JOBS: usize = 3;
/// Trials from which the base rate is measured.
const MAX_BASE: usize = 1_000;
/// Trials of one window's time that are kept.
const MAX_RECENT: usize = 512;
/// What is believed before anything was measured: one failure in ten trials.
const PRIOR: (f64, f64) = (1.0, 10.0);

/// What ended with a trial, for giving it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tried {
    /// A staging run.
    Run,
    /// A side effect that was refused.
    Effect,
    /// An effect or a look of which nobody knows; no try is spent.
    Lost,
    /// A worker's turn.
    Prepare,
    /// A turn of a model; it costs no try, so there is none to give back.
    Turn,
    /// A check.
    Check,
}

/// The end of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// When it ended.
    pub at: TimeMs,
    /// Whose.
    pub job: JobId,
    /// Of what.
    pub tried: Tried,
    /// Whether the environment failed.
    pub failed: bool,
}

/// Failures that are no bad luck.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// When the first of them ended.
    pub from: TimeMs,
    /// Trials in the window.
    pub trials: u32,
    /// Failures among them.
    pub failures: u32,
    /// Different jobs that failed.
    pub jobs: u32,
    /// The rate they were held against.
    pub rate: f64,
    /// The probability of so many failures under it.
    pub chance: f64,
}

/// What is known of one part of the world: its trials.
#[derive(Debug, Clone, Default)]
pub struct History {
    base: VecDeque<bool>,
    recent: VecDeque<Trial>,
}

impl History {
    /// Keeps a trial; what leaves the window goes into the base rate.
    pub fn push(&mut self, trial: Trial) {
        let now = trial.at;
        self.recent.push_back(trial);
        while let Some(first) = self.recent.front() {
            if now.since(first.at) <= WINDOW_MS && self.recent.len() <= MAX_RECENT {
                break;
            }
            if let Some(old) = self.recent.pop_front() {
                self.base.push_back(old.failed);
            }
        }
        while self.base.len() > MAX_BASE {
            self.base.pop_front();
        }
    }

    /// The rate that failures are held against: measured, with a prior, and two standard errors above, so
    /// that little knowledge errs towards patience.
    pub fn rate(&self) -> f64 {
        let failed = self.base.iter().filter(|failed| **failed).count() as f64;
        let trials = self.base.len() as f64 + PRIOR.1;
        let mean = (failed + PRIOR.0) / trials;
        (mean + 2.0 * (mean * (1.0 - mean) / trials).sqrt()).min(0.9)
    }

    /// Whether the newest trials are an outage.
    pub fn scan(&self, least_jobs: usize, alpha: f64) -> Option<Cluster> {
        scan(&self.recent, self.rate(), least_jobs, alpha)
    }

    /// Failures since an instant, for giving them back.
    pub fn failures_since(&self, from: TimeMs) -> impl Iterator<Item = &Trial> {
        self.recent
            .iter()
            .filter(move |trial| trial.failed && trial.at >= from)
    }

    /// Forgets the window: what happened in an outage is no base rate.
    pub fn forget_window(&mut self) {
        self.recent.clear();
    }
}

/// How many different jobs must fail where so many work at once.
pub fn least_jobs(slots: usize) -> usize {
    slots.clamp(2, LEAST_JOBS)
}

/// The test itself: trials oldest first, the newest of them a failure.
fn scan(recent: &VecDeque<Trial>, rate: f64, least_jobs: usize, alpha: f64) -> Option<Cluster> {
    let newest = recent.back().filter(|trial| trial.failed)?;
    let (mut trials, mut failures) = (0, 0);
    let mut by_job: BTreeMap<&JobId, u32> = BTreeMap::new();
    let mut jobs = BTreeSet::new();
    let mut from = newest.at;
    let mut best: Option<Cluster> = None;
    for trial in recent.iter().rev() {
        if newest.at.since(trial.at) > WINDOW_MS {
            break;
        }
        if trial.failed {
            let own = by_job.entry(&trial.job).or_default();
            if *own >= MOST_OF_ONE_JOB {
                continue;
            }
            *own += 1;
            failures += 1;
            jobs.insert(&trial.job);
            from = trial.at;
        }
        trials += 1;
        if !SIZES.contains(&trials) || jobs.len() < least_jobs {
            continue;
        }
        let chance = at_least(trials, failures, rate);
        if best.as_ref().is_none_or(|one| chance < one.chance) {
            best = Some(Cluster {
                from,
                trials,
                failures,
                jobs: jobs.len() as u32,
                rate,
                chance,
            });
        }
    }
    best.filter(|one| one.chance <= alpha / SIZES.len() as f64)
}

/// The probability of at least `least` failures in so many independent trials.
pub fn at_least(trials: u32, least: u32, rate: f64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    let mut term = (1.0 - rate).powi(trials as i32);
    let mut below = 0.0;
    let mut tail = 0.0;
    for count in 0..=trials {
        if count < least {
            below += term;
        } else {
            tail += term;
        }
        term *= f64::from(trials - count) / f64::from(count + 1) * rate / (1.0 - rate);
    }
    // Summed directly: one minus the rest would lose everything below 1e-16.
    if below + tail > 0.0 { tail } else { 1.0 }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
