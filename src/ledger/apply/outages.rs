//! Rows of outages.

use super::Applier;
use crate::ledger::event::{Entry, Event};
use crate::model::Seq;
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_outage(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        match &entry.event {
            Event::OutageBegan {
                part,
                from,
                failures,
                trials,
                jobs,
                rate_ppm,
                one_in,
                next_probe,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO outages(seq, goal, part, from_ms, began_ms, failures, trials, jobs, rate_ppm, one_in,
                           next_probe_ms, probes, why) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, '')",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        part.word(),
                        from.0,
                        entry.at.0,
                        failures,
                        trials,
                        jobs,
                        rate_ppm,
                        *one_in as i64,
                        next_probe.0
                    ])?;
            }
            Event::OutageProbed {
                part,
                job,
                probe,
                next_probe,
            } => {
                self.conn
                    .prepare_cached(
                        "UPDATE outages SET probes = ?3, next_probe_ms = ?4, last_probe = ?5
                         WHERE goal = ?1 AND part = ?2 AND ended_ms IS NULL",
                    )?
                    .execute(params![
                        goal,
                        part.word(),
                        probe,
                        next_probe.0,
                        job.as_str()
                    ])?;
            }
            Event::OutageEnded { part, why } => {
                self.conn
                    .prepare_cached(
                        "UPDATE outages SET ended_ms = ?3, why = ?4
                         WHERE goal = ?1 AND part = ?2 AND ended_ms IS NULL",
                    )?
                    .execute(params![goal, part.word(), entry.at.0, why])?;
            }
            _ => {}
        }
        Ok(())
    }
}
