//! A staging run that nobody can observe: it is looked at less and less often, and when its own id is not
//! found either, again and again, it is lost. A person takes the job; nothing is staged a second time by itself.

use super::call::Call;
use super::rig::Sabotage;
use super::run::{Engine, EngineError, Errand};
use super::settle::{Next, short};
use crate::ledger::event::Event;
use crate::ledger::facts::{JobFacts, RunFacts};
use crate::model::{Action, JobId, OperationId};
use crate::world::ports::{Lookup, PortError};

/// The alert's rule.
pub(super) const LOST: &str = "lost run";
/// So long a run may be unobservable before it is looked for by its id as well: a target shows what it
/// accepted much sooner than that.
const UNOBSERVED_MS: i64 = 3_600_000;
/// Look-ups that did not find it, one after the other, after which it is lost.
const LOST_LOOKS: u32 = 3;
/// First pause before a question without an answer is asked again, and the longest.
const PAUSE_MS: i64 = 60_000;
const LONGEST_PAUSE_MS: i64 = 3_600_000;
/// Begins the reason of such a wait.
const UNOBSERVED: &str = "the staging run cannot be observed";

impl Engine {
    /// Waits for a run that could not be observed, and looks for it by its id when that lasts.
    pub(super) fn unobserved(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        operation: &OperationId,
        error: &PortError,
    ) -> Result<(), EngineError> {
        if self.rig.fires(Sabotage::LoseTooSoon, true) {
            return self.lose_run(id, facts, operation);
        }
        let waited = self.unanswered_for(facts, UNOBSERVED);
        self.ask_later(id, facts, UNOBSERVED, error)?;
        if waited >= UNOBSERVED_MS {
            let call = Call::LookUp {
                action: Action::Stage,
                operation: operation.clone(),
                job: id.clone(),
            };
            self.call_after_commit(id, Errand::Find(operation.clone()), call);
        }
        Ok(())
    }

    /// How long a job waits for an answer already; 0 when it does not.
    pub(super) fn unanswered_for(&self, facts: &JobFacts, what: &str) -> i64 {
        let own = facts.wait.as_ref();
        own.filter(|own| own.reason.starts_with(what))
            .map_or(0, |own| self.now.since(own.since).max(0))
    }

    /// Asks again less and less often. Another error is no new wait: two that take turns would put its end
    /// off for ever.
    pub(super) fn ask_later(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        what: &str,
        error: &PortError,
    ) -> Result<(), EngineError> {
        let waited = self.unanswered_for(facts, what);
        let pause = (waited / 4).clamp(PAUSE_MS, LONGEST_PAUSE_MS);
        let pause = pause.max(error.retry_after_ms.unwrap_or(0));
        let before = facts.wait.as_ref().map(|own| &own.reason);
        let reason = match before.filter(|reason| reason.starts_with(what)) {
            Some(reason) => reason.clone(),
            None => short(&format!("{what}: {error}")),
        };
        self.look_later(id, &reason, pause)
    }

    /// A run that could not be observed was looked for by its id.
    pub(super) fn searched(
        &mut self,
        id: &JobId,
        operation: &OperationId,
        lookup: &Lookup,
    ) -> Result<Next, EngineError> {
        let facts = self.facts(id)?;
        let goes_on =
            matches!(&facts.run, Some(RunFacts::Going { operation: own }) if own == operation);
        if facts.state.has_ended() || !goes_on {
            self.not_found.remove(operation);
            return Ok(Next::Now);
        }
        match lookup {
            Lookup::Absent => {
                let looks = self.not_found.entry(operation.clone()).or_default();
                *looks += 1;
                if *looks >= LOST_LOOKS {
                    self.not_found.remove(operation);
                    self.lose_run(id, &facts, operation)?;
                    return Ok(Next::Now);
                }
            }
            Lookup::Found(_) => drop(self.not_found.remove(operation)),
            Lookup::CannotTell { .. } => {}
        }
        let Some(wait) = facts.wait else {
            return Ok(Next::Now);
        };
        self.index
            .set_timer(id, wait.next_check.max(self.now.plus_ms(1)));
        Ok(Next::AtTimer)
    }

    fn lose_run(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        operation: &OperationId,
    ) -> Result<(), EngineError> {
        let reference = facts
            .operations
            .get(operation)
            .map_or("", |own| own.reference.as_str());
        let why = format!(
            "its staging run {} is lost: it could not be observed, and {LOST_LOOKS} look-ups by its id did not \
             find it; look at the target, then try the job again",
            short(reference)
        );
        self.emit(
            id,
            Event::AlertRaised {
                rule: LOST.to_owned(),
                evidence: why.clone(),
            },
        )?;
        self.hand_over(id, &why)
    }
}
