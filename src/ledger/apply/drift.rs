//! Rows about differences between the ledger and the world.

use super::Applier;
use crate::ledger::event::{Entry, Event};
use crate::model::{DriftId, Seq};
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_drift(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        match &entry.event {
            Event::DriftFound {
                item,
                differs,
                about,
                ledger_says,
                world_says,
                accepting,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO drift(goal, item, seq, kind, job, ledger_says, world_says, accepting, found_ms,
                           state, how) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'open', '')
                         ON CONFLICT (goal, item) DO UPDATE SET seq = ?3, found_ms = ?9, state = 'open', how = '',
                           decided_ms = NULL",
                    )?
                    .execute(params![
                        entry.goal.as_str(),
                        item.as_str(),
                        seq.0,
                        differs.word(),
                        about,
                        ledger_says,
                        world_says,
                        accepting,
                        entry.at.0
                    ])?;
            }
            Event::DriftAccepted { item, how } => self.close_drift(entry, item, "accepted", how)?,
            Event::DriftGone { item } => {
                self.close_drift(entry, item, "gone", "not seen any more")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn close_drift(
        &self,
        entry: &Entry,
        item: &DriftId,
        state: &str,
        how: &str,
    ) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "UPDATE drift SET state = ?3, how = ?4, decided_ms = ?5 WHERE goal = ?1 AND item = ?2",
            )?
            .execute(params![
                entry.goal.as_str(),
                item.as_str(),
                state,
                how,
                entry.at.0
            ])?;
        Ok(())
    }
}
