//! Attempts of command-line agents: what they may take is set aside before, what they took is booked after.

use super::run::{Engine, EngineError};
use crate::contract::Strategy;
use crate::ledger::event::Event;
use crate::ledger::facts::JobFacts;
use crate::model::{Amounts, Budget, JobId, SpendId};
use crate::worker::{Most, Spent};

/// The rule of alerts about files that a worker changed and must not.
const TAMPER: &str = "tamper";

impl Engine {
    /// Sets aside what the attempt may take at most; false when a wall is in the way and the job waits.
    pub(super) fn reserve_attempt(
        &mut self,
        job: &JobId,
        facts: &JobFacts,
        strategy: &Strategy,
    ) -> Result<bool, EngineError> {
        let Some(most) = Most::of(strategy) else {
            return Ok(true);
        };
        let id = spend_id(job, facts);
        match self.reserve(
            job,
            id,
            amounts(most.tokens, most.money.map(|money| money.0)),
        )? {
            Ok(()) => Ok(true),
            Err(refused) => {
                let wait = refused.waiting(self.now);
                self.start_wait(job, facts, &wait)?;
                Ok(false)
            }
        }
    }

    /// Books what an attempt took.
    pub(super) fn settle_attempt(
        &mut self,
        job: &JobId,
        facts: &JobFacts,
        spent: Option<&Spent>,
    ) -> Result<(), EngineError> {
        let Some(spent) = spent else { return Ok(()) };
        let id = spend_id(job, facts);
        let amounts = amounts(spent.tokens, spent.money.map(|money| money.0));
        self.settle_spend(job, &id, amounts, spent.sure)
    }

    /// A worker changed what decides about its work: said at once, once an attempt.
    pub(super) fn tampered(&mut self, job: &JobId, files: &[String]) -> Result<(), EngineError> {
        if files.is_empty() {
            return Ok(());
        }
        let evidence: String = format!(
            "while the worker of {job} ran, these changed: {}; its attempt is void",
            files.join(", ")
        );
        let event = Event::AlertRaised {
            rule: TAMPER.to_owned(),
            evidence: evidence.chars().take(1_000).collect(),
        };
        self.emit(job, event)
    }
}

/// One for each time that the worker is asked.
fn spend_id(job: &JobId, facts: &JobFacts) -> SpendId {
    SpendId(format!(
        "{job}/{}/agent-{}",
        facts.attempt, facts.prepare_tries
    ))
}

fn amounts(tokens: u64, pico: Option<i64>) -> Amounts {
    let mut amounts = Amounts::new();
    amounts.insert(Budget::Tokens, tokens);
    if let Some(pico) = pico.and_then(|pico| u64::try_from(pico).ok()) {
        amounts.insert(Budget::Money, pico);
    }
    amounts
}
