//! Leaving off: requests that mean nothing any more, jobs that a person takes, jobs that are given up.

use super::approval::{bundle, changed_parts};
use super::run::{Engine, EngineError};
use crate::ledger::event::Event;
use crate::ledger::facts::{ApprovalState, JobFacts};
use crate::model::{Action, ApprovalId, JobId, JobState};

impl Engine {
    pub(super) fn void(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        approval: ApprovalId,
        why: String,
    ) -> Result<(), EngineError> {
        let why = self.void_reason(facts, &approval)?.unwrap_or(why);
        self.emit(
            id,
            Event::ApprovalVoided {
                approval,
                why: why.clone(),
            },
        )?;
        if facts.state == JobState::AwaitingApproval {
            self.move_to(id, JobState::Reconciled, &format!("asked again: {why}"))?;
        }
        Ok(())
    }

    /// Which part of what a request is bound to has changed; `None` when it is void for another reason.
    fn void_reason(
        &self,
        facts: &JobFacts,
        approval: &ApprovalId,
    ) -> Result<Option<String>, EngineError> {
        let cut_over = facts
            .approval
            .as_ref()
            .is_some_and(|own| own.action == Action::CutOver);
        if !cut_over {
            return Ok(None);
        }
        let around = self.surroundings(&facts.id);
        let Ok(lineage) = around.lineage() else {
            return Ok(None);
        };
        let now = bundle(facts, &self.goal.contract, &around.clauses, &lineage);
        let asked = self.ledger.read().approval(approval)?;
        let Some(asked) = asked.filter(|row| row.digest != now.digest) else {
            return Ok(None);
        };
        let parts = changed_parts(&asked.parts, &now.parts);
        Ok(
            (!parts.is_empty())
                .then(|| format!("changed since it was asked: {}", parts.join(", "))),
        )
    }

    /// Gives the job to a person, with the reason.
    pub(super) fn hand_over(&mut self, id: &JobId, reason: &str) -> Result<(), EngineError> {
        self.leave_off(id, "handed_over", "the job was handed over", reason)?;
        self.move_to(id, JobState::HandedOver, reason)
    }

    /// Gives the job up because the contract does. Its history and what it left in staging stay.
    pub(super) fn cancel(&mut self, id: &JobId, reason: &str) -> Result<(), EngineError> {
        self.leave_off(id, "cancelled", "the job is retired", reason)?;
        self.move_to(
            id,
            JobState::Cancelled,
            &format!("retired by the contract: {reason}"),
        )
    }

    /// Ends what the job has open.
    pub(super) fn leave_off(
        &mut self,
        id: &JobId,
        outcome: &str,
        what: &str,
        reason: &str,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        if facts.attempt_open {
            self.end_attempt(id, outcome, reason)?;
        }
        let open = facts
            .approval
            .as_ref()
            .filter(|own| matches!(own.state, ApprovalState::Open | ApprovalState::Approved));
        if let Some(own) = open {
            self.emit(
                id,
                Event::ApprovalVoided {
                    approval: own.id.clone(),
                    why: format!("{what}: {reason}"),
                },
            )?;
        }
        Ok(())
    }
}
