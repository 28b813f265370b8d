//! Questions about jobs: lists, facts, attempts, entries, operations, verdicts.

use super::{
    Answer, AttemptRow, EventRow, EvidenceRow, JobQuery, JobRow, MAX_EVENTS, OPERATION_COLUMNS,
    OperationRow, View, event_row, job_row, operation_row, sort_sql,
};
use crate::ledger::apply::{facts_of_row, load_facts};
use crate::ledger::facts::JobFacts;
use crate::model::{
    Account, AttemptNo, ClauseId, Digest, EvidenceKind, GoalId, JobId, OperationId, Seq, TimeMs,
    Verdict,
};
use rusqlite::{params, params_from_iter};
use std::collections::BTreeMap;

/// Jobs downstream of one that are counted; the walk through a lineage ends there.
pub const MAX_HELD: i64 = 10_000;
/// Waiting jobs that are asked what they wait for.
const MAX_AWAITING: i64 = 1_000;

impl View<'_> {
    /// Ids of the jobs that a query selects, in its order. 100,000 ids are about 3 MB.
    pub fn job_ids(&self, goal: &GoalId, query: &JobQuery) -> Answer<Vec<JobId>> {
        let (clause, values) = query.filter.to_sql();
        let order = sort_sql(query.sort);
        let direction = if query.reverse { "DESC" } else { "ASC" };
        let sql = format!(
            "SELECT job FROM jobs WHERE goal = ?1 AND ({clause}) ORDER BY {order} {direction}, position ASC"
        );
        let all = std::iter::once(goal.as_str().to_owned()).chain(values);
        self.all(&sql, params_from_iter(all), |row| Ok(JobId(row.get(0)?)))
    }

    /// The first jobs in the source's order.
    pub fn first_jobs(&self, goal: &GoalId, limit: usize) -> Answer<Vec<JobId>> {
        self.all(
            "SELECT job FROM jobs WHERE goal = ?1 ORDER BY position LIMIT ?2",
            params![goal.as_str(), limit as i64],
            |row| Ok(JobId(row.get(0)?)),
        )
    }

    /// Rows of the named jobs, in the order of the names; a job that is gone is left out.
    pub fn job_rows(&self, goal: &GoalId, ids: &[JobId]) -> Answer<Vec<JobRow>> {
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(row) = self.one(
                "SELECT job, position, title, state, reason, strategy, attempt, tries, clauses_passed,
                   clauses_total, paused, to_verify, high_risk, wait_kind, wait_reason, wait_since_ms,
                   next_check_ms, overdue_ms, queries, last_progress_ms, passed_judge, passed_person
                 FROM jobs WHERE goal = ?1 AND job = ?2",
                params![goal.as_str(), id.as_str()],
                job_row,
            )? {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// All that is known of a job now.
    pub fn facts(&self, goal: &GoalId, job: &JobId) -> Answer<Option<JobFacts>> {
        load_facts(self.conn, goal, job).map_err(|error| self.err(error))
    }

    /// Facts of all jobs of a goal, in the source's order.
    pub fn all_facts(&self, goal: &GoalId) -> Answer<Vec<JobFacts>> {
        self.all(
            "SELECT facts, digest FROM jobs JOIN facts USING (goal, job) WHERE goal = ?1 ORDER BY position",
            params![goal.as_str()],
            facts_of_row,
        )
    }

    /// Facts of all jobs for an engine's start. A job whose row is damaged is replayed from its entries
    /// and named: it may be shown, never worked on.
    pub fn facts_at_start(
        &self,
        goal: &GoalId,
    ) -> Answer<(Vec<JobFacts>, Vec<crate::ledger::Damage>)> {
        let ids = self.job_ids(goal, &JobQuery::default())?;
        let mut all = Vec::with_capacity(ids.len());
        let mut damage = Vec::new();
        for id in ids {
            match self.facts(goal, &id) {
                Ok(Some(facts)) => all.push(facts),
                Ok(None) => {}
                Err(error) => {
                    damage.push(crate::ledger::Damage {
                        goal: goal.0.clone(),
                        job: id.0.clone(),
                        what: error.to_string(),
                    });
                    all.extend(
                        crate::ledger::verify::replay_job(self.conn, goal, &id)
                            .map_err(|error| self.err(error))?,
                    );
                }
            }
        }
        Ok((all, damage))
    }

    /// Attempts of a job, oldest first.
    pub fn attempts(&self, goal: &GoalId, job: &JobId) -> Answer<Vec<AttemptRow>> {
        self.all(
            "SELECT attempt, strategy, started_ms, ended_ms, outcome, reason, config, remark, no_new_evidence
             FROM attempts
             WHERE goal = ?1 AND job = ?2 ORDER BY attempt",
            params![goal.as_str(), job.as_str()],
            |row| {
                Ok(AttemptRow {
                    attempt: AttemptNo(row.get(0)?),
                    strategy: row.get(1)?,
                    started_at: TimeMs(row.get(2)?),
                    ended_at: row.get::<_, Option<i64>>(3)?.map(TimeMs),
                    outcome: row.get(4)?,
                    reason: row.get(5)?,
                    config: row.get::<_, Option<String>>(6)?.map(Digest),
                    remark: row.get(7)?,
                    no_new_evidence: row.get(8)?,
                })
            },
        )
    }

    /// Entries of a job, oldest first; the newest [`MAX_EVENTS`] when there are more.
    pub fn job_events(&self, goal: &GoalId, job: &JobId) -> Answer<Vec<EventRow>> {
        let mut rows = self.all(
            "SELECT seq, at_ms, goal, job, attempt, actor, kind, body FROM events
             WHERE goal = ?1 AND job = ?2 ORDER BY seq DESC LIMIT ?3",
            params![goal.as_str(), job.as_str(), MAX_EVENTS as i64],
            event_row,
        )?;
        rows.reverse();
        Ok(rows)
    }

    /// The last `limit` entries before `before` (all when `None`), oldest first.
    pub fn log(&self, before: Option<Seq>, limit: usize) -> Answer<Vec<EventRow>> {
        let mut rows = self.all(
            "SELECT seq, at_ms, goal, job, attempt, actor, kind, body FROM events
             WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2",
            params![
                before.map_or(i64::MAX, |seq| seq.0),
                limit.min(MAX_EVENTS) as i64
            ],
            event_row,
        )?;
        rows.reverse();
        Ok(rows)
    }

    /// Entries after `after`, oldest first, at most `limit`.
    pub fn log_after(&self, after: Seq, limit: usize) -> Answer<Vec<EventRow>> {
        self.all(
            "SELECT seq, at_ms, goal, job, attempt, actor, kind, body FROM events
             WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            params![after.0, limit.min(MAX_EVENTS) as i64],
            event_row,
        )
    }

    /// Operations of a job, oldest first.
    pub fn operations(&self, goal: &GoalId, job: &JobId) -> Answer<Vec<OperationRow>> {
        self.all(
            &format!(
                "{OPERATION_COLUMNS} WHERE goal = ?1 AND job = ?2 ORDER BY intended_ms, operation"
            ),
            params![goal.as_str(), job.as_str()],
            operation_row,
        )
    }

    /// Operations of unknown or unrecorded outcome, oldest first.
    pub fn unsettled(&self, goal: &GoalId) -> Answer<Vec<OperationRow>> {
        self.all(
            &format!(
                "{OPERATION_COLUMNS} WHERE goal = ?1 AND state IN ('intended', 'unknown')
                 ORDER BY intended_ms, operation"
            ),
            params![goal.as_str()],
            operation_row,
        )
    }

    /// One operation.
    pub fn operation(&self, goal: &GoalId, id: &OperationId) -> Answer<Option<OperationRow>> {
        self.one(
            &format!("{OPERATION_COLUMNS} WHERE goal = ?1 AND operation = ?2"),
            params![goal.as_str(), id.as_str()],
            operation_row,
        )
    }

    /// The last entry by which an operation was sent again.
    pub fn last_sent_again(
        &self,
        goal: &GoalId,
        job: &JobId,
        id: &OperationId,
    ) -> Answer<Option<Seq>> {
        self.one(
            "SELECT max(seq) FROM events WHERE goal = ?1 AND job = ?2 AND kind = 'op.sent_again'
               AND json_extract(body, '$.operation') = ?3",
            params![goal.as_str(), job.as_str(), id.as_str()],
            |row| Ok(row.get::<_, Option<i64>>(0)?.map(Seq)),
        )
        .map(Option::flatten)
    }

    /// Operations by state: `applied`, `refused`, `unknown`, `intended`.
    pub fn operation_counts(&self, goal: &GoalId) -> Answer<BTreeMap<String, u64>> {
        let rows = self.all(
            "SELECT state, count(*) FROM operations WHERE goal = ?1 GROUP BY state",
            params![goal.as_str()],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64)),
        )?;
        Ok(rows.into_iter().collect())
    }

    /// Verdicts of a job, oldest first.
    pub fn evidence(&self, goal: &GoalId, job: &JobId) -> Answer<Vec<EvidenceRow>> {
        self.all(
            "SELECT seq, attempt, clause, verdict, summary, config, checker, operation, detail, spent, at_ms, kind, by
             FROM evidence WHERE goal = ?1 AND job = ?2 ORDER BY seq",
            params![goal.as_str(), job.as_str()],
            |row| {
                Ok(EvidenceRow {
                    seq: Seq(row.get(0)?),
                    attempt: AttemptNo(row.get(1)?),
                    clause: ClauseId(row.get(2)?),
                    verdict: Verdict::from_word(&row.get::<_, String>(3)?).unwrap_or(Verdict::Unverified),
                    summary: row.get(4)?,
                    config: Digest(row.get(5)?),
                    checker: Digest(row.get(6)?),
                    operation: OperationId(row.get(7)?),
                    detail: Digest(row.get(8)?),
                    spent: row.get::<_, i64>(9)? as u64,
                    at: TimeMs(row.get(10)?),
                    kind: EvidenceKind::from_word(&row.get::<_, String>(11)?).unwrap_or_default(),
                    by: row.get::<_, Option<String>>(12)?.map(Account),
                })
            },
        )
    }

    /// For each of the named jobs, how many others cannot go into production before it: those that depend
    /// on it, directly or through others, and have not ended. Each is counted to `MAX_HELD` at most.
    pub fn held_up<'a>(
        &self,
        goal: &GoalId,
        jobs: impl IntoIterator<Item = &'a JobId>,
    ) -> Answer<BTreeMap<JobId, u64>> {
        let mut held = BTreeMap::new();
        for job in jobs {
            // CROSS JOIN keeps the order: otherwise all 100,000 jobs may be read for each of the named.
            let count = self.count(
                "WITH RECURSIVE below(job) AS (
                   SELECT job FROM lineage WHERE goal = ?1 AND upstream = ?2
                   UNION SELECT lineage.job FROM below CROSS JOIN lineage ON goal = ?1 AND upstream = below.job
                   LIMIT ?3)
                 SELECT count(*) FROM below CROSS JOIN jobs ON jobs.goal = ?1 AND jobs.job = below.job
                 WHERE below.job <> ?2 AND state NOT IN ('cut_over', 'handed_over', 'cancelled')",
                params![goal.as_str(), job.as_str(), MAX_HELD],
            )?;
            held.insert(job.clone(), count);
        }
        Ok(held)
    }

    /// The jobs that others wait for, those first that most wait for, with how many do; at most `limit`, among
    /// the first `MAX_AWAITING` that wait.
    pub fn awaited(&self, goal: &GoalId, limit: usize) -> Answer<Vec<(JobId, u64)>> {
        self.all(
            "SELECT json_extract(facts, '$.wait.wakes[0].id') AS first, count(*)
             FROM (SELECT goal, job FROM jobs WHERE goal = ?1 AND wait_kind = 'upstream' LIMIT ?2)
               JOIN facts USING (goal, job)
             WHERE first IS NOT NULL GROUP BY first ORDER BY count(*) DESC, first LIMIT ?3",
            params![goal.as_str(), MAX_AWAITING, limit as i64],
            |row| Ok((JobId(row.get(0)?), row.get::<_, i64>(1)?.max(0) as u64)),
        )
    }
}
