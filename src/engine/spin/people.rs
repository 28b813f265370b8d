//! What an operator says to an alarm: not spinning, or again as the contract says.

use crate::engine::run::{Engine, EngineError};
use crate::ledger::event::{Act, Actor, Event};
use crate::ledger::read::DecisionRow;
use crate::model::{JobId, JobState, Seq};

/// An answer, or why not.
type Answered = Result<String, String>;

impl Engine {
    /// Answers what was said to an alarm.
    pub(in crate::engine) fn answer_spin(
        &mut self,
        decision: &DecisionRow,
    ) -> Result<Answered, EngineError> {
        match &decision.act {
            Act::OverruleSpin {
                spin,
                everywhere,
                reason,
            } => self.overrule_spin(decision, *spin, *everywhere, reason),
            Act::EnforceSpin { overrule } => self.enforce_spin(decision, *overrule),
            _ => Ok(Err("that says nothing of an alarm".to_owned())),
        }
    }

    /// A job's alarm is over, if there is one of this rule.
    pub(in crate::engine) fn clear_alert(
        &mut self,
        id: &JobId,
        rule: &str,
        why: &str,
    ) -> Result<(), EngineError> {
        let open = self
            .ledger
            .read()
            .alerts(&self.goal.contract.id)?
            .iter()
            .any(|one| {
                one.rule == rule && one.job.as_ref() == Some(id) && one.cleared_at.is_none()
            });
        if open {
            self.emit(
                id,
                Event::AlertCleared {
                    rule: rule.to_owned(),
                    why: why.to_owned(),
                },
            )?;
        }
        Ok(())
    }

    /// Keeps "not spinning" as a rule of this goal; the job or the goal goes on.
    fn overrule_spin(
        &mut self,
        decision: &DecisionRow,
        spin: Seq,
        everywhere: bool,
        reason: &str,
    ) -> Result<Answered, EngineError> {
        let view = self.ledger.read();
        let found = view.spins(&self.goal.contract.id)?;
        let Some(row) = found.into_iter().find(|row| row.seq == spin) else {
            return Ok(Err(format!("there is no spin alarm {}", spin.0)));
        };
        if reason.trim().is_empty() {
            return Ok(Err("a reason is needed".to_owned()));
        }
        let job = if everywhere { None } else { row.job.clone() };
        let holds = self
            .spin
            .overrules
            .iter()
            .any(|one| one.ended_at.is_none() && one.rule == row.rule && one.job == job);
        if holds {
            return Ok(Err("that is overruled already".to_owned()));
        }
        let by = Actor::Person(decision.by.clone());
        let scope = job
            .as_ref()
            .map_or_else(|| "this goal".to_owned(), |job| format!("job {job}"));
        self.emit_goal_as(
            by.clone(),
            Event::SpinOverruled {
                spin,
                rule: row.rule,
                job: job.clone(),
                reason: reason.chars().take(2_000).collect(),
            },
        );
        let why = format!("not spinning, says {}: {reason}", decision.by);
        match &row.job {
            Some(id) => {
                let facts = self.facts(id)?;
                if facts.spin.found > 0 {
                    self.emit_as(id, by, Event::SpinReleased {})?;
                }
                self.clear_alert(id, "spin", &why)?;
                // Only what the alarm took away is given back: a person's own hand-over stays one.
                if facts.state == JobState::HandedOver && facts.reason.starts_with("spinning, ") {
                    self.move_to(id, JobState::Pending, &why)?;
                }
                self.index.mark_ready(id);
            }
            // A goal that was held says itself that it goes on.
            None if self.spin.row.held.is_empty() => self.emit_goal(Event::AlertCleared {
                rule: "spin".to_owned(),
                why,
            }),
            None => {}
        }
        self.commit()?;
        self.reread_overrules()?;
        self.wake_everyone();
        Ok(Ok(format!("{} is no alarm for {scope} any more", row.rule)))
    }

    /// Takes an overruling back.
    fn enforce_spin(
        &mut self,
        decision: &DecisionRow,
        overrule: Seq,
    ) -> Result<Answered, EngineError> {
        let open = self
            .spin
            .overrules
            .iter()
            .find(|one| one.seq == overrule && one.ended_at.is_none())
            .cloned();
        let Some(row) = open else {
            return Ok(Err(format!("no overruling {} is in force", overrule.0)));
        };
        self.emit_goal_as(
            Actor::Person(decision.by.clone()),
            Event::SpinEnforced { overrule },
        );
        self.commit()?;
        self.reread_overrules()?;
        self.wake_everyone();
        Ok(Ok(format!("{} is an alarm again", row.rule)))
    }
}
