//! Rows about what people are asked to look at. They stand among the questions, because a person answers
//! both in the same place.

use super::Applier;
use crate::ledger::event::{Actor, Entry, Event};
use crate::model::EvidenceKind;
use rusqlite::{Connection, params};

impl Applier<'_> {
    pub(super) fn apply_sample(&self, entry: &Entry) -> rusqlite::Result<()> {
        let (Event::SampleAsked(one), Some(job)) = (&entry.event, &entry.job) else {
            return Ok(());
        };
        self.conn
            .prepare_cached(
                "INSERT INTO questions(question, goal, job, attempt, text, asked_ms, answer, kind, clause, detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'sample', ?7, ?8)",
            )?
            .execute(params![
                one.sample,
                entry.goal.as_str(),
                job.as_str(),
                entry.attempt.map_or(0, |attempt| attempt.0),
                one.text,
                entry.at.0,
                one.clause.as_str(),
                one.detail.as_str()
            ])?;
        Ok(())
    }
}

/// A job asks for this sample no more: it was judged, or what it was bound to has changed.
pub(super) fn close(conn: &Connection, sample: &str, entry: &Entry) -> rusqlite::Result<()> {
    let (by, answer) = match (&entry.event, &entry.actor) {
        (
            Event::EvidenceRecorded {
                by: EvidenceKind::Person,
                summary,
                ..
            },
            Actor::Person(person),
        ) => (Some(person.0.as_str()), summary.as_str()),
        _ => (
            None,
            "what it was bound to has changed, or the job has ended",
        ),
    };
    conn.prepare_cached(
        "UPDATE questions SET answered_ms = ?2, by = ?3, answer = ?4
         WHERE question = ?1 AND answered_ms IS NULL",
    )?
    .execute(params![sample, entry.at.0, by, answer])?;
    Ok(())
}
