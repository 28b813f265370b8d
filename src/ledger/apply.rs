//! The one function that writes projections: an event in, rows changed, in the event's transaction.

mod budgets;
mod chat;
mod drift;
mod goals;
mod jobs;
mod outages;
mod people;
mod plans;
mod samples;
mod spin;

use super::event::Entry;
use super::facts::JobFacts;
use crate::model::{EvidenceKind, GoalId, JobId, Seq, digest_bytes};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// Facts by job, as of the last commit.
pub(super) type FactsCache = BTreeMap<(GoalId, JobId), JobFacts>;

/// Applies the events of one transaction; job rows are written once at its end.
pub(super) struct Applier<'a> {
    conn: &'a Connection,
    facts: &'a mut FactsCache,
    dirty: BTreeSet<(GoalId, JobId)>,
    /// Jobs of which it changed what they depend on.
    rewired: BTreeSet<(GoalId, JobId)>,
}

impl<'a> Applier<'a> {
    pub(super) fn new(conn: &'a Connection, facts: &'a mut FactsCache) -> Self {
        Self {
            conn,
            facts,
            dirty: BTreeSet::new(),
            rewired: BTreeSet::new(),
        }
    }

    /// Changes every projection that one entry concerns.
    pub(super) fn apply(&mut self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        self.apply_to_facts(entry)?;
        self.apply_goal(entry)?;
        self.apply_attempt(entry)?;
        self.apply_operation(entry)?;
        self.apply_check(seq, entry)?;
        self.apply_budget(seq, entry)?;
        self.apply_approval(entry)?;
        self.apply_chat(seq, entry)?;
        self.apply_sample(entry)?;
        self.apply_plan(entry)?;
        self.apply_decision(seq, entry)?;
        self.apply_outage(seq, entry)?;
        self.apply_spin(seq, entry)?;
        self.apply_drift(seq, entry)?;
        self.apply_goal_notes(seq, entry)
    }

    /// The job's facts so far, during a replay.
    pub(super) fn facts(&self, goal: &GoalId, job: &JobId) -> Option<&JobFacts> {
        self.facts.get(&(goal.clone(), job.clone()))
    }

    /// Writes the rows of all jobs that changed.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        for key in &self.dirty {
            if let Some(facts) = self.facts.get(key) {
                write_job(self.conn, facts)?;
            }
        }
        for key in &self.rewired {
            if let Some(facts) = self.facts.get(key) {
                write_lineage(self.conn, facts)?;
            }
        }
        Ok(())
    }

    fn apply_to_facts(&mut self, entry: &Entry) -> rusqlite::Result<()> {
        let Some(job) = &entry.job else { return Ok(()) };
        if !entry.event.changes_job() {
            return Ok(());
        }
        let key = (entry.goal.clone(), job.clone());
        if let Some(added) = JobFacts::added(entry) {
            self.facts.insert(key.clone(), added);
            self.rewired.insert(key.clone());
        } else {
            if !self.facts.contains_key(&key)
                && let Some(loaded) = load_facts(self.conn, &entry.goal, job)?
            {
                self.facts.insert(key.clone(), loaded);
            }
            if let Some(facts) = self.facts.get_mut(&key) {
                let before = facts.depends_on.clone();
                let asked = facts.sample.as_ref().map(|own| own.id.clone());
                facts.apply(entry);
                if facts.depends_on != before {
                    self.rewired.insert(key.clone());
                }
                if let Some(sample) = asked
                    && facts.sample.as_ref().is_none_or(|own| own.id != sample)
                {
                    samples::close(self.conn, &sample, entry)?;
                }
            }
        }
        self.dirty.insert(key);
        Ok(())
    }
}

/// A job's facts from its row.
pub(super) fn load_facts(
    conn: &Connection,
    goal: &GoalId,
    job: &JobId,
) -> rusqlite::Result<Option<JobFacts>> {
    conn.prepare_cached("SELECT facts, digest FROM facts WHERE goal = ?1 AND job = ?2")?
        .query_row(params![goal.as_str(), job.as_str()], facts_of_row)
        .optional()
}

/// Facts from a row whose first two columns are the facts and their digest. A row that was changed by
/// anything but an entry is an error, not facts.
pub(super) fn facts_of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<JobFacts> {
    let text: String = row.get(0)?;
    let digest: String = row.get(1)?;
    let error = |why: String| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, why.into())
    };
    if digest_bytes(text.as_bytes()).0 != digest {
        return Err(error("a job's row does not match its digest".to_owned()));
    }
    serde_json::from_str(&text).map_err(|why| error(why.to_string()))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn write_job(conn: &Connection, facts: &JobFacts) -> rusqlite::Result<()> {
    let wait = facts.wait.as_ref();
    let to_verify = facts.operations.values().any(|one| one.to_verify);
    let text = json(facts);
    // Updated in place: replacing a row would write its entry in every index anew.
    conn.prepare_cached(
        "INSERT INTO jobs(goal, job, position, title, state, reason, strategy, attempt, tries,
           clauses_passed, clauses_total, paused, to_verify, high_risk, wait_kind, wait_reason, wait_since_ms,
           next_check_ms, overdue_ms, queries, last_progress_ms, passed_judge, passed_person)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
           ?22, ?23)
         ON CONFLICT (goal, job) DO UPDATE SET title = ?4, state = ?5, reason = ?6, strategy = ?7, attempt = ?8,
           tries = ?9, clauses_passed = ?10, clauses_total = ?11, paused = ?12, to_verify = ?13, high_risk = ?14,
           wait_kind = ?15, wait_reason = ?16, wait_since_ms = ?17, next_check_ms = ?18, overdue_ms = ?19,
           queries = ?20, last_progress_ms = ?21, passed_judge = ?22, passed_person = ?23",
    )?
    .execute(params![
        facts.goal.as_str(),
        facts.id.as_str(),
        facts.position as i64,
        facts.title,
        facts.state.word(),
        facts.reason,
        facts.strategy,
        facts.attempt.0,
        facts.tries_total,
        facts.passed() as i64,
        facts.clauses.len() as i64,
        facts.paused,
        to_verify,
        facts.high_risk,
        wait.map(|wait| wait.kind.word()),
        wait.map(|wait| wait.reason.as_str()),
        wait.map(|wait| wait.since.0),
        wait.map(|wait| wait.next_check.0),
        wait.map(|wait| wait.overdue.0),
        facts.queries as i64,
        facts.last_progress.0,
        facts.passed_by(EvidenceKind::Judge) as i64,
        facts.passed_by(EvidenceKind::Person) as i64,
    ])?;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO facts(goal, job, facts, digest) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        facts.goal.as_str(),
        facts.id.as_str(),
        text,
        digest_bytes(text.as_bytes()).as_str(),
    ])?;
    Ok(())
}

/// Writes which jobs a job depends on, in the place of what was written before.
fn write_lineage(conn: &Connection, facts: &JobFacts) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM lineage WHERE goal = ?1 AND job = ?2")?
        .execute(params![facts.goal.as_str(), facts.id.as_str()])?;
    for upstream in &facts.depends_on {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO lineage(goal, upstream, job) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![
            facts.goal.as_str(),
            upstream.as_str(),
            facts.id.as_str()
        ])?;
    }
    Ok(())
}
