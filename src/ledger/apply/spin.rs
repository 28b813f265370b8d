//! Rows of spinning: alarms, overrulings, and the goal's progress.

use super::{Applier, json};
use crate::ledger::event::{Entry, Event};
use crate::model::{Budget, Seq};
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_spin(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        let job = entry.job.as_ref().map_or("", |job| job.as_str());
        match &entry.event {
            Event::SpinFound {
                rule,
                what,
                count,
                limit,
                entries,
                next,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO spins(seq, goal, job, rule, what, count, threshold, entries, next, found_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        job,
                        rule.word(),
                        what,
                        *count as i64,
                        *limit as i64,
                        json(entries),
                        next,
                        entry.at.0
                    ])?;
                if entry.job.is_none() {
                    let held = if next.is_none() { what.as_str() } else { "" };
                    self.set_progress(
                        goal,
                        "rounds = 0, tokens = 0, spins = spins + 1, floor = coalesce(?2, floor), held = ?3",
                        &[next as &dyn rusqlite::ToSql, &held],
                    )?;
                }
                Ok(())
            }
            Event::SpinOverruled {
                spin,
                rule,
                job,
                reason,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO overrules(seq, goal, spin, rule, job, by, reason, made_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        spin.0,
                        rule.word(),
                        job.as_ref().map_or("", |job| job.as_str()),
                        entry.actor.word().trim_start_matches("person:"),
                        reason,
                        entry.at.0
                    ])?;
                if job.is_none() {
                    self.set_progress(goal, "rounds = 0, tokens = 0, held = ''", &[])?;
                }
                Ok(())
            }
            Event::SpinEnforced { overrule } => {
                self.conn
                    .prepare_cached("UPDATE overrules SET ended_ms = ?2 WHERE seq = ?1")?
                    .execute(params![overrule.0, entry.at.0])?;
                Ok(())
            }
            Event::SpinReleased {} => {
                self.conn
                    .prepare_cached("UPDATE goals SET ended = NULL WHERE goal = ?1")?
                    .execute(params![goal])?;
                Ok(())
            }
            _ => self.apply_progress(seq, entry),
        }
    }

    fn apply_progress(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        let facts = entry
            .job
            .as_ref()
            .and_then(|job| self.facts.get(&(entry.goal.clone(), job.clone())));
        match (&entry.event, facts) {
            (Event::EvidenceRecorded { .. }, Some(facts)) if facts.spin.passed_now => self
                .set_progress(
                    goal,
                    "passes = passes + 1, rounds = 0, tokens = 0, held = '', since = ?2",
                    &[&seq.0],
                ),
            (Event::AttemptEnded { outcome, .. }, Some(facts))
                if outcome != "passed" && !facts.spin.passed_in_attempt =>
            {
                self.set_progress(goal, "rounds = rounds + 1", &[])
            }
            (Event::BudgetSettled { spent, .. }, _) => {
                let tokens = spent.get(&Budget::Tokens).copied().unwrap_or(0);
                if tokens == 0 {
                    return Ok(());
                }
                self.set_progress(goal, "tokens = tokens + ?2", &[&(tokens as i64)])
            }
            _ => Ok(()),
        }
    }

    fn set_progress(
        &self,
        goal: &str,
        change: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO progress(goal, passes, rounds, tokens, since, spins, floor, held)
                 VALUES (?1, 0, 0, 0, 0, 0, 0, '') ON CONFLICT (goal) DO NOTHING",
            )?
            .execute(params![goal])?;
        let mut all: Vec<&dyn rusqlite::ToSql> = vec![&goal];
        all.extend(values);
        self.conn
            .prepare_cached(&format!("UPDATE progress SET {change} WHERE goal = ?1"))?
            .execute(all.as_slice())?;
        Ok(())
    }
}
