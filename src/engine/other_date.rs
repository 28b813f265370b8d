//! A clause found nothing to compare: the job is staged for another logical date.

use super::run::{Engine, EngineError};
use super::settle::{Next, short};
use crate::ledger::event::Event;
use crate::model::{ClauseId, JobId, LogicalDate};
use crate::world::ports::{MAX_OTHER_DATES, PortError};

/// How the wait for a source's answer begins.
const UNANSWERED: &str = "the source does not say which other dates there are";
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
        let date = match result {
            Ok(dates) => dates
                .into_iter()
                .take(MAX_OTHER_DATES)
                .find(|date| !facts.dates.chosen.contains(date)),
            Err(error) if self.unanswered_for(&facts, UNANSWERED) < GIVEN_UP_AFTER_MS => {
                self.ask_later(id, &facts, UNANSWERED, &error)?;
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
