//! The first and the last entries of a run, and what a damaged job means.

use super::{BEAT_EVERY, Engine, EngineError, Finish, wall};
use crate::engine::checkers::clause_views;
use crate::engine::decide::{Rules, Step, decide};
use crate::engine::index::Index;
use crate::engine::rig::Sabotage;
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::facts::JobFacts;
use crate::ledger::{Holder, LedgerError};
use crate::model::JobId;

impl Engine {
    pub(super) fn begin(
        &mut self,
        all: &[JobFacts],
        clean: bool,
        damage: &[crate::ledger::Damage],
    ) -> Result<(), EngineError> {
        self.refuse_damaged(damage)?;
        self.reread_spin()?;
        self.settle_what_was_cut_off()?;
        self.look_at_ended(all);
        for facts in all {
            let unsettled = facts.unsettled().next().is_some();
            if self.rig.fires(Sabotage::SkipSettle, unsettled) {
                self.rig
                    .ignored
                    .extend(facts.unsettled().map(|one| one.id.clone()));
            } else if unsettled {
                self.settle_first.insert(facts.id.clone());
                self.restart.touch(&facts.id);
                self.index.mark_ready(&facts.id);
            }
        }
        if self.settle_first.is_empty() {
            self.wake_everyone();
        }
        for facts in all {
            // A turn or a query that was cut off is closed also for a job that a person took.
            if facts.chat.open.is_some() || facts.chat.query.is_some() {
                self.index.mark_ready(&facts.id);
            }
        }
        let holder = Holder::current();
        self.batch.entries.push(Entry {
            at: self.now,
            goal: "".into(),
            job: None,
            attempt: None,
            actor: Actor::Engine,
            event: Event::EngineStarted {
                pid: holder.pid,
                host: holder.host,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                after_clean_stop: clean,
            },
        });
        self.commit()?;
        self.beat("running");
        Ok(())
    }

    /// Jobs that had ended and have something to do all the same: in production without a valid pass of a
    /// clause or checker that changed while no engine ran, or given up by the contract.
    pub(in crate::engine) fn look_at_ended(&mut self, all: &[JobFacts]) {
        for facts in all.iter().filter(|one| one.state.has_ended()) {
            let around = self.surroundings(&facts.id);
            let rules = Rules {
                contract: &self.goal.contract,
                strategies: &self.goal.strategies,
            };
            let step = decide(facts, rules, &around, self.now);
            let look = matches!(
                step,
                Step::NeedsReverify(..) | Step::Cancel(_) | Step::CloseCheck | Step::Confirm
            );
            if let Some(job) = self.index.jobs.get_mut(&facts.id) {
                job.look = look;
            }
        }
    }

    /// A body of the job that does not match its digest: the job is refused from now on.
    pub(in crate::engine) fn refuse_job(
        &mut self,
        id: &JobId,
        what: String,
    ) -> Result<(), EngineError> {
        self.index.release(id);
        let damage = crate::ledger::Damage {
            goal: self.goal.contract.id.0.clone(),
            job: id.0.clone(),
            what,
        };
        self.refuse_damaged(&[damage])
    }

    /// A damaged job is refused before any operation of it; the others go on. Damage outside the jobs
    /// ends the engine.
    pub(super) fn refuse_damaged(
        &mut self,
        damage: &[crate::ledger::Damage],
    ) -> Result<(), EngineError> {
        let known = self.ledger.read().alerts(&self.goal.contract.id)?;
        for one in damage {
            let id = JobId(one.job.clone());
            if !one.job.is_empty() && one.goal != self.goal.contract.id.0 {
                // Another goal's job is that goal's trouble.
                continue;
            }
            let Some(job) = self.index.jobs.get_mut(&id) else {
                return Err(EngineError::Ledger(LedgerError::Damaged {
                    path: self.ledger.path().to_path_buf(),
                    why: one.what.clone(),
                }));
            };
            let evidence = format!("{id}: {}; no operation of it is started", one.what);
            let told = known
                .iter()
                .any(|alert| alert.cleared_at.is_none() && alert.evidence == evidence);
            if !job.damaged && !told {
                self.batch.entries.push(Entry {
                    at: self.now,
                    goal: self.goal.contract.id.clone(),
                    job: None,
                    attempt: None,
                    actor: Actor::Engine,
                    event: Event::AlertRaised {
                        rule: "damage".to_owned(),
                        evidence,
                    },
                });
            }
            job.damaged = true;
        }
        Ok(())
    }

    pub(in crate::engine) fn wake_everyone(&mut self) {
        let open: Vec<JobId> = self
            .index
            .jobs
            .iter()
            .filter(|(_, job)| job.has_more_to_do())
            .map(|(id, _)| id.clone())
            .collect();
        for id in &open {
            self.index.mark_ready(id);
        }
    }

    /// Writes down that nothing was cut off.
    pub(crate) fn say_goodbye(&mut self, finish: Finish) -> Result<(), EngineError> {
        let why = match finish {
            Finish::Ended => "every job has ended".to_owned(),
            Finish::OnlyPeople => "only people can move it on".to_owned(),
            Finish::Budget => "a budget ended the work".to_owned(),
            Finish::Stopped => self.stop.asked().map(|(_, why)| why).unwrap_or_default(),
        };
        self.batch.entries.push(Entry {
            at: self.now,
            goal: "".into(),
            job: None,
            attempt: None,
            actor: Actor::Engine,
            event: Event::EngineStopped { why },
        });
        self.commit()?;
        self.ledger
            .beat(wall(), self.now, BEAT_EVERY.as_millis() as i64, "stopped");
        Ok(())
    }

    /// Builds the index anew from what is in the ledger: jobs came.
    pub(in crate::engine) fn index_again(&mut self) -> Result<(), EngineError> {
        let all = self.ledger.read().all_facts(&self.goal.contract.id)?;
        let damaged: Vec<JobId> = self
            .index
            .jobs
            .iter()
            .filter(|(_, job)| job.damaged)
            .map(|(id, _)| id.clone())
            .collect();
        let (goal, checkers) = (&self.goal, &self.checkers);
        self.index = Index::new(&all, |facts, output| {
            clause_views(goal, checkers, facts, output)
        });
        for facts in &all {
            self.index.set_retired(facts, &self.goal.contract.jobs);
        }
        for id in &damaged {
            if let Some(job) = self.index.jobs.get_mut(id) {
                job.damaged = true;
            }
        }
        Ok(())
    }
}
