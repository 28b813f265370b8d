//! A clause found nothing to compare: the job is staged for another logical date.

use super::run::{Engine, EngineError};
use super::settle::{Next, short};
use crate::ledger::event::Event;
use crate::model::{ClauseId, JobId, LogicalDate};
use crate::world::ports::{MAX_OTHER_DATES, PortError};

/// How the wait for a source's answer begins.
const UNANSWERED: &str = "the source does not say which other dates there are";
const FIRST_PAUSE_MS: i64 = 60_000;
const LONGEST_PAUSE_MS: i64 = 3_600_000;
/// A source that gave no answer for so long has no other date.
const GIVEN_UP_AFTER_MS: i64 = 24 * 3_600_000;

impl Engine {
    /// Takes the best date that was not chosen yet.
    pub(super) fn other_dates(
        &mut self,
        id: &JobId,
        clause: ClauseId,
        why: &str,
        result: Result<Vec<LogicalDate>, PortError>,
    ) -> Result<Next, EngineError> {
        let facts = self.facts(id)?;
        if facts.state.has_ended() {
            return Ok(Next::Now);
        }
        let before = facts
            .wait
            .as_ref()
            .filter(|own| own.reason.starts_with(UNANSWERED));
        let waited = before.map_or(0, |own| self.now.since(own.since).max(0));
        let date = match result {
            Ok(dates) => dates
                .into_iter()
                .take(MAX_OTHER_DATES)
                .find(|date| !facts.dates.chosen.contains(date)),
            Err(error) if waited < GIVEN_UP_AFTER_MS => {
                let pause = (waited / 4).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
                let pause = pause.max(error.retry_after_ms.unwrap_or(0));
                // Another error is no new wait: two that take turns would put its end off for ever.
                let reason = before.map_or_else(
                    || short(&format!("{UNANSWERED}: {error}")),
                    |own| own.reason.clone(),
                );
                self.look_later(id, &reason, pause)?;
                return Ok(Next::AtTimer);
            }
            Err(_) => None,
        };
        self.emit(
            id,
            Event::DateChosen {
                clause,
                date,
                why: short(why),
            },
        )?;
        Ok(Next::Now)
    }
}
