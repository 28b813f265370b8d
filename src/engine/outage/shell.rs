//! The engine's side of outages: trials in, one alert, a canary, tries given back.

use super::hold::part_of;
use super::scan::{Cluster, Trial, Tried};
use super::state::{Open, Outages, Span, probe_pause_ms};
use crate::engine::decide::{Rules, decide};
use crate::engine::run::{Engine, EngineError};
use crate::ledger::LedgerError;
use crate::ledger::event::Event;
use crate::ledger::read::View;
use crate::model::{GoalId, JobId, TimeMs, WaitKind, WorldPart};
use std::collections::BTreeMap;

/// Entries from which the window and the base rate are won again at the start.
const LAST_ENTRIES: usize = 2_000;
/// Waiting jobs that are looked at for one that can probe.
const MOST_CANDIDATES: usize = 64;
/// A probe that says nothing for so long is given up, and another job probes.
const PROBE_LOST_MS: i64 = 2 * 3_600_000;
/// Tries of one config that are given back in all. A job whose own trouble looks like an outage again and
/// again must end at last.
const MAX_GIVEN_BACK: u32 = 40;

/// How a call ended, as far as outages care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Ended {
    /// The environment did its part, whatever the job made of it.
    Worked,
    /// It did not, and it is no fault of the job.
    Failed,
    /// It was up and said when to come back: a rate limit is no outage.
    Busy(TimeMs),
}

/// Tries of one job to give back.
#[derive(Debug, Clone, Copy, Default)]
struct Tries {
    staging: u32,
    refusals: u32,
    prepares: u32,
    checks: u32,
}

impl Tries {
    fn add(&mut self, tried: Tried) {
        match tried {
            Tried::Run => self.staging += 1,
            Tried::Effect => self.refusals += 1,
            Tried::Prepare => self.prepares += 1,
            Tried::Check => self.checks += 1,
            Tried::Lost | Tried::Turn => {}
        }
    }

    fn of(tried: Tried) -> Self {
        let mut tries = Self::default();
        tries.add(tried);
        tries
    }

    fn count(self) -> u32 {
        self.staging + self.refusals + self.prepares + self.checks
    }
}

impl Outages {
    /// As the ledger left them.
    pub(in crate::engine) fn at_start(
        view: View<'_>,
        goal: &GoalId,
        slots: usize,
    ) -> Result<Self, LedgerError> {
        let mut last = view.log(None, LAST_ENTRIES)?;
        last.reverse();
        last.retain(|row| row.goal == *goal);
        Ok(Self::new(&view.outages(goal)?, &last, slots))
    }
}

impl Engine {
    /// A call of a job has ended; `began` is when what it did began, where that is known.
    pub(in crate::engine) fn tried(
        &mut self,
        part: WorldPart,
        job: &JobId,
        tried: Tried,
        ended: Ended,
        began: Option<TimeMs>,
    ) -> Result<(), EngineError> {
        let now = self.now;
        if let Some(open) = self.outages.open(&part) {
            let is_canary = open.canary.as_ref().is_some_and(|(own, _)| own == job);
            match ended {
                // What was on its way when the outage began says nothing of now.
                Ended::Worked if began.map_or(is_canary, |at| at >= open.began) => {
                    return self.end_outage(part, job);
                }
                Ended::Worked => {}
                Ended::Busy(again) if is_canary => {
                    open.canary = None;
                    open.next_probe = again;
                }
                Ended::Busy(_) => {}
                Ended::Failed => {
                    if is_canary {
                        self.probe_failed(part.clone(), job);
                    }
                    self.give_back(part, job, Tries::of(tried))?;
                }
            }
            return Ok(());
        }
        if ended == Ended::Failed && began.is_some_and(|at| self.outages.covers(&part, at)) {
            return self.give_back(part, job, Tries::of(tried));
        }
        if matches!(ended, Ended::Busy(_)) {
            return Ok(());
        }
        let trial = Trial {
            at: now,
            job: job.clone(),
            tried,
            failed: ended == Ended::Failed,
        };
        match self.outages.push(part.clone(), trial) {
            Some(cluster) => self.begin_outage(part, &cluster),
            None => Ok(()),
        }
    }

    fn begin_outage(&mut self, part: WorldPart, cluster: &Cluster) -> Result<(), EngineError> {
        let next_probe = self.now.plus_ms(probe_pause_ms(0));
        self.emit_goal(Event::OutageBegan {
            part: part.clone(),
            from: cluster.from,
            failures: cluster.failures,
            trials: cluster.trials,
            jobs: cluster.jobs,
            rate_ppm: (cluster.rate * 1e6) as u32,
            one_in: one_in(cluster.chance),
            next_probe,
        });
        self.emit_goal(Event::AlertRaised {
            rule: "outage".to_owned(),
            evidence: format!(
                "the {part} seems to be out since {}: {} of the last {} calls of {} jobs failed; at the measured \
                 rate (at most {:.1} %) that is a chance of one in {}. What needs it waits, one job probes, tries \
                 are given back",
                cluster.from,
                cluster.failures,
                cluster.trials,
                cluster.jobs,
                cluster.rate * 100.0,
                one_in(cluster.chance)
            ),
        });
        let mut spent: BTreeMap<JobId, Tries> = BTreeMap::new();
        if let Some(own) = self.outages.parts.get_mut(&part) {
            for trial in own.history.failures_since(cluster.from) {
                spent.entry(trial.job.clone()).or_default().add(trial.tried);
            }
            own.history.forget_window();
            own.open = Some(Open {
                from: cluster.from,
                began: self.now,
                next_probe,
                probes: 0,
                canary: None,
                last: None,
            });
        }
        for (job, tries) in spent {
            self.give_back(part.clone(), &job, tries)?;
        }
        Ok(())
    }

    /// What a job tried in vain in an outage costs it nothing.
    fn give_back(&mut self, part: WorldPart, job: &JobId, tries: Tries) -> Result<(), EngineError> {
        let facts = self.facts(job)?;
        if tries.count() == 0
            || facts.state.has_ended()
            || facts.given_back + tries.count() > MAX_GIVEN_BACK
        {
            return Ok(());
        }
        self.emit(
            job,
            Event::TriesGivenBack {
                part,
                staging: tries.staging,
                refusals: tries.refusals,
                prepares: tries.prepares,
                checks: tries.checks,
            },
        )?;
        self.index.mark_ready(job);
        Ok(())
    }

    fn probe_failed(&mut self, part: WorldPart, job: &JobId) {
        let now = self.now;
        let Some(open) = self.outages.open(&part) else {
            return;
        };
        open.probes += 1;
        open.next_probe = now.plus_ms(probe_pause_ms(open.probes));
        open.canary = None;
        open.last = Some(job.clone());
        let (probe, next_probe) = (open.probes, open.next_probe);
        self.emit_goal(Event::OutageProbed {
            part,
            job: job.clone(),
            probe,
            next_probe,
        });
    }

    fn end_outage(&mut self, part: WorldPart, job: &JobId) -> Result<(), EngineError> {
        let now = self.now;
        let Some(own) = self.outages.parts.get_mut(&part) else {
            return Ok(());
        };
        let Some(open) = own.open.take() else {
            return Ok(());
        };
        own.before = Some(Span {
            from: open.from,
            to: now,
        });
        own.history.forget_window();
        let minutes = now.since(open.from) / 60_000;
        let why = format!("{job} went through after {minutes} minutes");
        self.emit_goal(Event::OutageEnded {
            part: part.clone(),
            why: why.clone(),
        });
        if self.outages.open_parts().is_empty() {
            self.emit_goal(Event::AlertCleared {
                rule: "outage".to_owned(),
                why,
            });
        }
        for id in self.index.waiting(WaitKind::Outage) {
            self.index.mark_ready(&id);
        }
        Ok(())
    }

    /// Sends a canary where a probe is due.
    pub(in crate::engine) fn tend_outages(&mut self) -> Result<(), EngineError> {
        for part in self.outages.open_parts() {
            self.miss_lost_canary(&part);
            let now = self.now;
            let due = self
                .outages
                .open(&part)
                .filter(|open| open.canary.is_none() && now >= open.next_probe)
                .map(|open| (open.last.clone(), open.probes));
            let Some((last, probes)) = due else { continue };
            let next = self.canary_for(&part, last.as_ref())?;
            if let Some(open) = self.outages.open(&part) {
                match next {
                    Some(job) => {
                        open.canary = Some((job.clone(), now));
                        self.index.mark_ready(&job);
                    }
                    // Nobody needs it now; the first who does will probe.
                    None => open.next_probe = now.plus_ms(probe_pause_ms(probes)),
                }
            }
        }
        Ok(())
    }

    /// A canary that was taken, paused or stopped for another reason does not probe any more.
    fn miss_lost_canary(&mut self, part: &WorldPart) {
        let now = self.now;
        let Some((job, since)) = self.outages.open(part).and_then(|open| open.canary.clone())
        else {
            return;
        };
        let lost = self.index.jobs.get(&job).is_none_or(|own| {
            own.view.state.has_ended()
                || own.damaged
                || own
                    .wait
                    .is_some_and(|kind| !matches!(kind, WaitKind::World | WaitKind::Outage))
        });
        if (lost || now.since(since) > PROBE_LOST_MS)
            && let Some(open) = self.outages.open(part)
        {
            open.canary = None;
            open.last = Some(job);
            open.next_probe = now.plus_ms(probe_pause_ms(open.probes));
        }
    }

    /// The next job after the last canary whose step needs the part; a cutover only when nothing else does.
    fn canary_for(
        &mut self,
        part: &WorldPart,
        last: Option<&JobId>,
    ) -> Result<Option<JobId>, EngineError> {
        let mut waiting = self.index.waiting(WaitKind::Outage);
        if let Some(at) = last.and_then(|last| waiting.iter().position(|id| id == last)) {
            waiting.rotate_left(at + 1);
        }
        let mut production = None;
        for id in waiting.into_iter().take(MOST_CANDIDATES) {
            let facts = self.facts(&id)?;
            let mut around = self.surroundings(&id);
            around.outages.clear();
            let rules = Rules {
                contract: &self.goal.contract,
                strategies: &self.goal.strategies,
            };
            let step = decide(&facts, rules, &around, self.now);
            if part_of(&step, &around).as_ref() != Some(part) {
                continue;
            }
            if matches!(step, crate::engine::decide::Step::CutOver(_)) {
                production = production.or(Some(id));
            } else {
                return Ok(Some(id));
            }
        }
        Ok(production)
    }
}

/// A chance as people say it; the database counts to 2^63.
fn one_in(chance: f64) -> u64 {
    (1.0 / chance.max(1e-18)).min(1e18) as u64
}
