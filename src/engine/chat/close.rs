//! The end of a loop, and of an attempt.

use super::{end_parts, line};
use crate::engine::run::{Engine, EngineError};
use crate::ledger::event::{ChatEnded, CheckpointWritten, Event, QuestionAnswered};
use crate::ledger::facts::JobFacts;
use crate::model::{FailureClass, JobId};

impl Engine {
    /// Ends the loop without a config. `note` is `outcome: why`.
    pub(super) fn end_chat(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        note: &str,
    ) -> Result<(), EngineError> {
        let (outcome, why) = end_parts(note);
        let said = if outcome == "cannot" { why } else { "" };
        self.emit(
            id,
            Event::ChatEnded(ChatEnded {
                outcome: outcome.to_owned(),
                why: line(why),
                said: line(said),
            }),
        )?;
        // What the same model would answer again is another strategy's turn, or a person's.
        if matches!(outcome, "cannot" | "failed") {
            let who = facts
                .strategy
                .and_then(|index| self.goal.strategies.get(index as usize))
                .map(|one| one.id.0.clone())
                .unwrap_or_default();
            return self.emit(
                id,
                Event::PrepareFailed {
                    class: FailureClass::Job,
                    why: if outcome == "cannot" {
                        format!(
                            "the worker {who} says that it cannot be done: {}",
                            line(why)
                        )
                    } else {
                        format!("the worker {who} failed: {}", line(why))
                    },
                    retry_at: None,
                },
            );
        }
        let reason = format!("the loop ended, {outcome}: {}", line(why));
        self.end_attempt(id, "failed", &reason)
    }

    /// Ends an attempt with its checkpoint.
    pub(in crate::engine) fn end_attempt(
        &mut self,
        id: &JobId,
        outcome: &str,
        reason: &str,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        if let Some(question) = &facts.chat.question {
            // Nobody needs to answer what nobody waits for.
            let lapsed = Event::QuestionAnswered(QuestionAnswered {
                question: question.id.clone(),
                by: None,
                text: format!("the attempt ended: {}", line(reason)),
            });
            self.emit(id, lapsed)?;
        }
        let written = super::checkpoint::checkpoint(&facts, reason);
        let checkpoint = self.blob(&serde_json::to_vec(&written).unwrap_or_default());
        self.emit(
            id,
            Event::CheckpointWritten(CheckpointWritten { checkpoint }),
        )?;
        self.emit(
            id,
            Event::AttemptEnded {
                outcome: outcome.to_owned(),
                reason: reason.to_owned(),
            },
        )
    }
}
