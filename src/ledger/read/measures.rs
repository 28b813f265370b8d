//! What finished work did cost.

use super::{Answer, CheckMeasure, RunMeasure, TurnMeasure, View};
use crate::model::GoalId;
use rusqlite::params;

impl View<'_> {
    /// Queries of first judgements and of later ones of the same clause on the same job.
    pub fn check_measure(&self, goal: &GoalId) -> Answer<CheckMeasure> {
        let found = self.one(
            "WITH judged AS (
               SELECT job, spent, row_number() OVER (PARTITION BY job, clause ORDER BY seq) AS nth
               FROM evidence WHERE goal = ?1),
             checked AS (
               SELECT job FROM jobs WHERE goal = ?1 AND state IN ('reconciled', 'awaiting_approval', 'cut_over'))
             SELECT (SELECT count(DISTINCT job) FROM judged WHERE job IN checked),
               (SELECT total(spent) FROM judged WHERE nth = 1 AND job IN checked),
               (SELECT total(spent) FROM judged WHERE nth = 1),
               (SELECT total(spent) FROM judged WHERE nth > 1)",
            params![goal.as_str()],
            |row| {
                let number = |index| Ok::<_, rusqlite::Error>(row.get::<_, f64>(index)? as u64);
                Ok(CheckMeasure {
                    jobs: row.get::<_, i64>(0)?.max(0) as u64,
                    first: number(1)?,
                    all_first: number(2)?,
                    again: number(3)?,
                })
            },
        )?;
        Ok(found.unwrap_or_default())
    }

    /// How staging runs ended.
    pub fn run_measure(&self, goal: &GoalId) -> Answer<RunMeasure> {
        let rows = self.all(
            "SELECT kind, coalesce(json_extract(body, '$.class'), ''), count(*) FROM events
             WHERE goal = ?1 AND kind IN ('run.succeeded', 'run.failed') GROUP BY 1, 2",
            params![goal.as_str()],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?.max(0) as u64,
                ))
            },
        )?;
        let mut measure = RunMeasure::default();
        for (kind, class, count) in rows {
            match (kind.as_str(), class.as_str()) {
                ("run.succeeded", _) => measure.succeeded += count,
                (_, "job") => measure.by_config += count,
                _ => measure.by_chance += count,
            }
        }
        Ok(measure)
    }

    /// What the turns of chat workers took.
    pub fn turn_measure(&self, goal: &GoalId) -> Answer<TurnMeasure> {
        let found = self.one(
            "SELECT count(*), count(DISTINCT job || '/' || attempt),
               (SELECT count(DISTINCT job) FROM attempts WHERE goal = ?1),
               count(*) FILTER (WHERE source = 'reported'),
               total(uncached + cache_write + coalesce(cache_read, 0)) FILTER (WHERE source = 'reported'),
               total(output) FILTER (WHERE source = 'reported'),
               count(*) FILTER (WHERE source = 'reported' AND cache_read IS NOT NULL),
               total(uncached) FILTER (WHERE source = 'reported' AND cache_read IS NOT NULL),
               total(cache_write) FILTER (WHERE source = 'reported' AND cache_read IS NOT NULL),
               total(cache_read) FILTER (WHERE source = 'reported')
             FROM turns WHERE goal = ?1 AND ended_ms IS NOT NULL",
            params![goal.as_str()],
            |row| {
                let whole = |index| Ok::<_, rusqlite::Error>(row.get::<_, i64>(index)?.max(0) as u64);
                let sum = |index| Ok::<_, rusqlite::Error>(row.get::<_, f64>(index)? as u64);
                Ok(TurnMeasure {
                    turns: whole(0)?,
                    attempts: whole(1)?,
                    jobs: whole(2)?,
                    reported: whole(3)?,
                    input: sum(4)?,
                    output: sum(5)?,
                    of_cache: whole(6)?,
                    uncached: sum(7)?,
                    cache_write: sum(8)?,
                    cache_read: sum(9)?,
                })
            },
        )?;
        Ok(found.unwrap_or_default())
    }
}
