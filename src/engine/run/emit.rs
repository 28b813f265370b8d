//! What a turn writes down, and the calls that follow its commit.

use super::{Engine, EngineError, Errand};
use crate::engine::call::{Call, Reply};
use crate::engine::rig::Point;
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::facts::JobFacts;
use crate::model::{Digest, JobId};

impl Engine {
    /// The job's facts with what this turn changed.
    pub(in crate::engine) fn facts(&mut self, id: &JobId) -> Result<JobFacts, EngineError> {
        if let Some(facts) = self.changed.get(id) {
            return Ok(facts.clone());
        }
        self.ledger
            .facts(&self.goal.contract.id, id)?
            .ok_or_else(|| EngineError::Setup(format!("job {id} is not in the ledger")))
    }

    /// Writes an entry of a job, by whom, and keeps its facts and its place in step.
    pub(in crate::engine) fn emit_as(
        &mut self,
        id: &JobId,
        actor: Actor,
        event: Event,
    ) -> Result<(), EngineError> {
        self.restart.touch(id);
        // Taken, not copied: they are put back changed below.
        let mut facts = match self.changed.remove(id) {
            Some(facts) => facts,
            None => self.facts(id)?,
        };
        let attempt = match event {
            Event::AttemptStarted { .. } => facts.attempt.0 + 1,
            _ => facts.attempt.0,
        };
        let entry = Entry {
            at: self.now,
            goal: self.goal.contract.id.clone(),
            job: Some(id.clone()),
            attempt: (attempt > 0).then_some(crate::model::AttemptNo(attempt)),
            actor,
            event,
        };
        if !matches!(entry.event, Event::DecisionAnswered { .. }) {
            self.waves.note(&entry.event, &facts);
            facts.apply(&entry);
            if self.index.note(&facts) {
                let below = self
                    .index
                    .jobs
                    .get(id)
                    .map(|job| job.dependents.clone())
                    .unwrap_or_default();
                for down in &below {
                    self.index.mark_ready(down);
                }
            }
        }
        self.changed.insert(id.clone(), facts);
        self.batch.entries.push(entry);
        Ok(())
    }

    /// Writes an entry of a job in the engine's name.
    pub(in crate::engine) fn emit(&mut self, id: &JobId, event: Event) -> Result<(), EngineError> {
        self.emit_as(id, Actor::Engine, event)
    }

    /// Writes an entry of the goal in the engine's name.
    pub(in crate::engine) fn emit_goal(&mut self, event: Event) {
        self.emit_goal_as(Actor::Engine, event);
    }

    /// Writes an entry of the goal, by whom.
    pub(in crate::engine) fn emit_goal_as(&mut self, actor: Actor, event: Event) {
        self.batch.entries.push(Entry {
            at: self.now,
            goal: self.goal.contract.id.clone(),
            job: None,
            attempt: None,
            actor,
            event,
        });
    }

    /// Keeps a body with the next commit.
    pub(in crate::engine) fn blob(&mut self, bytes: &[u8]) -> Digest {
        self.batch.blob(bytes)
    }

    /// A body as text, also one that is not committed yet.
    pub(in crate::engine) fn text(&self, digest: &Digest) -> Result<String, EngineError> {
        if let Some((_, bytes)) = self.batch.blobs.iter().find(|(own, _)| own == digest) {
            return Ok(String::from_utf8_lossy(bytes).into_owned());
        }
        Ok(String::from_utf8_lossy(&self.ledger.blob(digest)?).into_owned())
    }

    /// A call to make once this turn's entries are on the disk.
    pub(in crate::engine) fn call_after_commit(&mut self, id: &JobId, errand: Errand, call: Call) {
        if let Some(job) = self.index.jobs.get_mut(id) {
            job.in_flight = true;
        }
        self.calls.push((id.clone(), errand, call));
    }

    pub(in crate::engine) fn commit(&mut self) -> Result<(), EngineError> {
        let batch = std::mem::take(&mut self.batch);
        self.changed.clear();
        self.cut(Point::BeforeCommit)?;
        self.append(&batch)?;
        self.cut(Point::AfterCommit)
    }

    /// Ends the engine as a kill would, where the laboratory says so.
    pub(super) fn cut(&mut self, point: Point) -> Result<(), EngineError> {
        if self.rig.dies_at(point) {
            return Err(EngineError::Setup(format!(
                "killed by the laboratory: {point:?}"
            )));
        }
        Ok(())
    }

    /// Makes the calls whose intent is on the disk.
    pub(super) fn dispatch(&mut self) {
        for (job, errand, call) in std::mem::take(&mut self.calls) {
            let ticket = self.next_ticket;
            self.next_ticket += 1;
            self.in_flight.insert(ticket, (job, errand));
            self.executor.submit(ticket, call, self.now);
        }
    }

    pub(super) fn take_reply(
        &mut self,
        job: &JobId,
        errand: Errand,
        reply: Reply,
    ) -> Result<(), EngineError> {
        if let Some(own) = self.index.jobs.get_mut(job) {
            own.in_flight = false;
        }
        self.settle_reply(job, errand, reply)
    }
}
