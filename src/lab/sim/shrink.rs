//! Making a failing scenario smaller: fewer jobs, acts, crashes, jumps and faults, as long as the same
//! rule is broken.

use super::run::{Options, simulate};
use super::scenario::{Faults, Scenario, SpinPlan};
use std::path::Path;

/// What was left, and what it took.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest scenario found that breaks the same rule.
    pub scenario: Scenario,
    /// Runs made.
    pub runs: u32,
}

/// Makes a scenario that breaks `rule` smaller, in at most `budget` runs.
pub fn shrink(
    scenario: &Scenario,
    rule: &'static str,
    options: Options,
    folder: &Path,
    budget: u32,
) -> Shrunk {
    let mut search = Search {
        best: scenario.clone(),
        rule,
        options: Options {
            trace: false,
            ..options
        },
        folder,
        left: budget,
    };
    let mut last = usize::MAX;
    while search.left > 0 && search.size() < last {
        last = search.size();
        search.jobs();
        search.parts(|scenario| &mut scenario.acts);
        search.parts(|scenario| &mut scenario.crashes);
        search.parts(|scenario| &mut scenario.jumps);
        search.parts(|scenario| &mut scenario.meddles);
        search.parts(|scenario| &mut scenario.faults.outages);
        search.parts(|scenario| &mut scenario.rules.strategies);
        search.faults();
    }
    Shrunk {
        runs: budget - search.left,
        scenario: search.best,
    }
}

struct Search<'a> {
    best: Scenario,
    rule: &'static str,
    options: Options,
    folder: &'a Path,
    left: u32,
}

impl Search<'_> {
    fn size(&self) -> usize {
        let one = &self.best;
        let rates = rates(&mut one.faults.clone())
            .into_iter()
            .filter(|rate| **rate > 0)
            .count();
        one.jobs.len()
            + one.jobs.iter().map(|job| job.upstream.len()).sum::<usize>()
            + one.acts.len()
            + one.crashes.len()
            + one.jumps.len()
            + one.meddles.len()
            + one.faults.outages.len()
            + one.rules.strategies.len()
            + rates
    }

    /// Takes a smaller scenario if it still breaks the rule.
    fn take(&mut self, smaller: Scenario) -> bool {
        if self.left == 0 || smaller == self.best {
            return false;
        }
        self.left -= 1;
        let breaks = simulate(&smaller, self.options, self.folder).is_ok_and(|outcome| {
            outcome
                .violations
                .first()
                .is_some_and(|one| one.rule == self.rule)
        });
        if breaks {
            self.best = smaller;
        }
        breaks
    }

    fn jobs(&mut self) {
        let mut size = self.best.jobs.len() / 2;
        while size > 0 {
            let mut from = 0;
            while from < self.best.jobs.len() {
                let mut smaller = self.best.clone();
                let to = (from + size).min(smaller.jobs.len());
                smaller.jobs.drain(from..to);
                let kept: Vec<u32> = smaller.jobs.iter().map(|job| job.number).collect();
                for job in &mut smaller.jobs {
                    job.upstream.retain(|up| kept.contains(up));
                }
                if smaller.jobs.is_empty() || !self.take(smaller) {
                    from += size;
                }
            }
            size /= 2;
        }
        for index in 0..self.best.jobs.len() {
            let mut smaller = self.best.clone();
            if let Some(job) = smaller.jobs.get_mut(index) {
                job.upstream.clear();
            }
            self.take(smaller);
        }
    }

    fn parts<T>(&mut self, list: impl Fn(&mut Scenario) -> &mut Vec<T>) {
        let mut size = list(&mut self.best).len();
        while size > 0 {
            let mut from = 0;
            while from < list(&mut self.best).len() {
                let mut smaller = self.best.clone();
                let parts = list(&mut smaller);
                let to = (from + size).min(parts.len());
                parts.drain(from..to);
                if !self.take(smaller) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    fn faults(&mut self) {
        for index in 0..rates(&mut self.best.faults.clone()).len() {
            let mut smaller = self.best.clone();
            if let Some(rate) = rates(&mut smaller.faults).into_iter().nth(index) {
                *rate = 0;
            }
            self.take(smaller);
        }
        let mut smaller = self.best.clone();
        smaller.faults.a_minute = 0;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.quota = None;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.expires_minutes = None;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.actions_a_day = None;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.freeze = None;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.waves = None;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.actions_in_all = None;
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.spin = SpinPlan::never();
        self.take(smaller);
        let mut smaller = self.best.clone();
        smaller.rules.resubmits = 0;
        self.take(smaller);
    }
}

fn rates(faults: &mut Faults) -> Vec<&mut u32> {
    vec![
        &mut faults.run_fails,
        &mut faults.refused,
        &mut faults.lost_after,
        &mut faults.lost_before,
        &mut faults.slow,
        &mut faults.contradicts,
        &mut faults.hangs,
        &mut faults.no_answer,
        &mut faults.worker_fails,
        &mut faults.empty,
        &mut faults.worsens,
    ]
}
