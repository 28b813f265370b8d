//! Accepting differences: what corrects the ledger is a new entry each.

use super::{Correction, Phase};
use crate::engine::adopt::job_entry;
use crate::engine::run::{Engine, EngineError};
use crate::ledger::Act;
use crate::ledger::event::{Actor, Event};
use crate::ledger::read::DecisionRow;
use crate::model::{Account, DriftId, JobId, JobState};

impl Engine {
    /// Answers a decision about what a restart found.
    pub(in crate::engine) fn answer_about_drift(
        &mut self,
        decision: &DecisionRow,
    ) -> Result<(), EngineError> {
        let verdict = match &decision.act {
            Act::AcceptDrift { items } => self.judge_accept(&decision.by, items),
            Act::CompareAgain if self.restart.is_held() => Ok(()),
            _ => Err("the engine is not held; nothing is to be accepted".to_owned()),
        };
        let (accepted, why) = match (&verdict, &decision.act) {
            (Err(why), _) => (false, why.clone()),
            (Ok(()), Act::AcceptDrift { items }) => (true, format!("{} accepted", items.len())),
            (Ok(()), _) => (true, "compared again now".to_owned()),
        };
        self.emit_goal(Event::DecisionAnswered {
            decision: decision.decision.clone(),
            accepted,
            why,
        });
        match (&decision.act, accepted) {
            (Act::AcceptDrift { items }, true) => self.accept_items(items, Some(&decision.by)),
            (Act::CompareAgain, true) => {
                self.restart.next_round = self.now;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What is in production is the approvers' and the owner's; so is what the ledger says of it.
    fn judge_accept(&self, by: &Account, items: &[DriftId]) -> Result<(), String> {
        if !self.restart.is_held() {
            return Err("the engine is not held; nothing is to be accepted".to_owned());
        }
        let contract = &self.goal.contract;
        let may = !contract.approval.required
            || contract.approval.by.contains(by)
            || contract.owner == *by;
        if !may {
            return Err(format!(
                "{by} is neither the owner nor an approver of this goal"
            ));
        }
        if items.is_empty() {
            return Err("name the differences that are accepted".to_owned());
        }
        match items
            .iter()
            .find(|id| !self.restart.found.contains_key(*id))
        {
            Some(id) => Err(format!("there is no open difference {id}")),
            None => Ok(()),
        }
    }

    /// Writes what was accepted, and what follows; by the setting when no person is named.
    pub(super) fn accept_items(
        &mut self,
        items: &[DriftId],
        by: Option<&Account>,
    ) -> Result<(), EngineError> {
        let actor = by.map_or(Actor::Engine, |by| Actor::Person(by.clone()));
        let how = by.map_or_else(
            || "run.resume is \"auto\"".to_owned(),
            |by| format!("accepted by {by}"),
        );
        for id in items {
            let Some(one) = self.restart.found.remove(id) else {
                continue;
            };
            self.emit_goal_as(
                actor.clone(),
                Event::DriftAccepted {
                    item: id.clone(),
                    how: how.clone(),
                },
            );
            let why = format!("{} ({how})", one.world_says);
            self.correct(one.correction, &why, &actor)?;
        }
        if !self.restart.found.is_empty() {
            return Ok(());
        }
        if self.restart.more > 0 {
            // The next ones are shown.
            self.restart.phase = Phase::Held;
            self.restart.next_round = self.now;
            return Ok(());
        }
        self.go_on("every difference was accepted")
    }

    fn correct(
        &mut self,
        correction: Correction,
        why: &str,
        actor: &Actor,
    ) -> Result<(), EngineError> {
        match correction {
            Correction::Nothing => Ok(()),
            Correction::Overturn(job, operation) => {
                let why = why.to_owned();
                self.emit_as(&job, actor.clone(), Event::OpOverturned { operation, why })
            }
            Correction::HandOver(job) => {
                self.hand_over(&job, &format!("found after an unclean stop: {why}"))
            }
            Correction::OverturnAndHandOver(job, operation) => {
                self.correct(Correction::Overturn(job.clone(), operation), why, actor)?;
                self.correct(Correction::HandOver(job), why, actor)
            }
            Correction::Redefine(job, definition) => self.redefine(&job, &definition, why, actor),
            Correction::Cancel(job) => {
                self.leave_off(&job, "failed", "a difference was accepted", why)?;
                self.move_to(&job, JobState::Cancelled, why)
            }
            Correction::Add(job) => {
                self.restart.added += 1;
                let jobs = self.index.jobs.len() + self.restart.added;
                let definition = self.blob(job.definition.as_bytes());
                let entry = job_entry(&self.goal, jobs - 1, &job, definition, self.now);
                self.batch.entries.push(entry);
                self.emit_goal(Event::GoalListed { jobs: jobs as u64 });
                Ok(())
            }
        }
    }

    fn redefine(
        &mut self,
        job: &JobId,
        definition: &str,
        why: &str,
        actor: &Actor,
    ) -> Result<(), EngineError> {
        let facts = self.facts(job)?;
        let begins_again = !facts.state.has_ended() && facts.production.is_none();
        if begins_again {
            self.leave_off(job, "failed", "a difference was accepted", why)?;
        }
        let definition = self.blob(definition.as_bytes());
        self.emit_as(job, actor.clone(), Event::JobRedefined { definition })?;
        if begins_again && facts.state != JobState::Pending {
            self.move_to(job, JobState::Pending, why)?;
        }
        Ok(())
    }
}
