//! How often the outage test takes bad luck for an outage: independent failures by seed, and no outage.

use crate::engine::outage::scan::{History, Trial, Tried, least_jobs};
use crate::model::{JobId, TimeMs};
use crate::world::practice::chance::Chance;

/// Milliseconds between two trials: eight jobs at work, one run in some minutes each.
const BETWEEN_MS: i64 = 45_000;

/// A quiet world.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// Decides every failure.
    pub seed: u64,
    /// How often a trial fails.
    pub rate: f64,
    /// How many trials.
    pub trials: u32,
    /// Jobs at work at once.
    pub slots: usize,
}

impl Noise {
    /// Tests made (one a failure) and alarms among them, all of them false. After an alarm the window is
    /// forgotten, as after an outage.
    pub fn false_alarms(self, alpha: f64) -> (u64, u64) {
        let chance = Chance::new(self.seed);
        let mut history = History::default();
        let (mut tests, mut alarms) = (0, 0);
        for n in 0..self.trials {
            let key = n.to_string();
            let failed = chance.happens(self.rate, &["noise", &key]);
            let job = chance.between(0, 39, &["job", &key]);
            history.push(Trial {
                at: TimeMs(i64::from(n) * BETWEEN_MS),
                job: JobId(format!("job-{job}")),
                tried: Tried::Run,
                failed,
            });
            if failed {
                tests += 1;
                if history.scan(least_jobs(self.slots), alpha).is_some() {
                    alarms += 1;
                    history.forget_window();
                }
            }
        }
        (tests, alarms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::outage::scan::ALPHA;

    /// The stated rate of false alarms, measured: independent failures, no outage, many seeds. Printed with
    /// `--nocapture`; docs/operations.md has the figures.
    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        for alpha in [1e-2, 1e-3, ALPHA] {
            for rate in [0.02, 0.1, 0.3] {
                let (mut tests, mut alarms) = (0u64, 0u64);
                for seed in 0..20 {
                    let found = Noise {
                        seed,
                        rate,
                        trials: 4_000,
                        slots: 8,
                    }
                    .false_alarms(alpha);
                    tests += found.0;
                    alarms += found.1;
                }
                let stated = alpha * tests as f64;
                println!(
                    "rate {rate}: {alarms} false alarms in {tests} tests; stated at most {stated:.2}"
                );
                // Three standard deviations of a Poisson count, so that the seeds' luck is no defect.
                assert!(alarms as f64 <= stated + 3.0 * stated.sqrt() + 1.0);
            }
        }
    }
}
