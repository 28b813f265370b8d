//! What is counted over many seeds: alarms of healthy runs, circles that were seen, and how many sound jobs
//! became a person's.

use super::Violation;
use super::run::{Options, Outcome, simulate};
use super::scenario::{Mood, Scenario, Shape};
use crate::engine::EngineError;
use crate::model::SpinKind;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Standard deviations of the interval: 99.9 % of what chance gives lies within, on both sides together.
const DEVIATIONS: f64 = 3.29;

/// Many seeds of one mood.
#[derive(Debug, Clone, Default)]
pub struct Measure {
    /// Seeds that ran.
    pub seeds: u64,
    /// Their jobs.
    pub jobs: u64,
    /// Jobs that became a person's.
    pub handed_over: u64,
    /// Jobs of which failed runs were taken for an outage's, and counted for nothing.
    pub relieved: u64,
    /// How many of a sound job's tries would fail all by chance: the expected number, and its variance.
    pub expected: f64,
    /// See `expected`.
    pub variance: f64,
    /// Alarms on spinning by rule.
    pub alarms: BTreeMap<SpinKind, u64>,
    /// Seeds with an alarm.
    pub seeds_with_alarm: u64,
    /// Rules that were broken, by seed.
    pub broken: BTreeMap<u64, Violation>,
}

impl Measure {
    /// Runs seeds of a mood.
    ///
    /// # Errors
    /// When a seed cannot run at all; a broken rule is counted.
    pub fn of(seeds: Range<u64>, shape: Shape, folder: &Path) -> Result<Self, EngineError> {
        let mut measure = Self::default();
        for seed in seeds {
            let scenario = Scenario::of_seed(seed, shape);
            let outcome = simulate(&scenario, Options::default(), folder)?;
            measure.add(&scenario, &outcome);
        }
        Ok(measure)
    }

    fn add(&mut self, scenario: &Scenario, outcome: &Outcome) {
        self.seeds += 1;
        let jobs = scenario.jobs.len() as u64;
        self.jobs += jobs;
        let ended = |state: &str| outcome.counts.get(&format!("jobs: {state}")).copied();
        self.handed_over += ended("handed_over").unwrap_or(0);
        self.relieved += outcome.relieved;
        let all = lost_by_chance(scenario);
        self.expected += jobs as f64 * all;
        self.variance += jobs as f64 * all * (1.0 - all);
        for (rule, count) in &outcome.alarms {
            *self.alarms.entry(*rule).or_default() += count;
        }
        self.seeds_with_alarm += u64::from(!outcome.alarms.is_empty());
        if let Some(first) = outcome.violations.first() {
            self.broken.insert(scenario.seed, first.clone());
        }
    }

    /// Bounds of what chance alone gives.
    pub fn interval(&self) -> (f64, f64) {
        let width = DEVIATIONS * self.variance.sqrt();
        ((self.expected - width).max(0.0), self.expected + width)
    }

    /// Whether no rule was broken and what became a person's lies within the interval. Below it only as far
    /// as failures that came together were taken for an outage, which costs a job nothing.
    pub fn is_by_chance(&self) -> bool {
        let (low, high) = self.interval();
        let seen = self.handed_over as f64;
        let most = (self.handed_over + self.relieved) as f64;
        self.broken.is_empty() && self.handed_over > 0 && seen <= high && most >= low
    }
}

/// The chance that every try of a sound job's one config fails: p to the power of n.
fn lost_by_chance(scenario: &Scenario) -> f64 {
    let p = f64::from(scenario.faults.run_fails) / 1_000.0;
    p.powi(i32::try_from(scenario.rules.staging_tries).unwrap_or(i32::MAX))
}

/// The rule that a mood's worker meets, where it goes round in circles.
pub fn rule_of(mood: Mood) -> Option<SpinKind> {
    match mood {
        Mood::SameCheck => Some(SpinKind::SameCheck),
        Mood::SameChange => Some(SpinKind::SameChange),
        Mood::Rounds => Some(SpinKind::RoundsWithoutPass),
        Mood::Tokens => Some(SpinKind::TokensWithoutPass),
        Mood::Any | Mood::Healthy | Mood::Odds => None,
    }
}
