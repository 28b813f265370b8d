//! The read model: typed answers about the ledger, for the interface, the commands and the engine.
//!
//! A [`Reader`] has its own read-only connection and never blocks a writer. Rows are owned values.

mod rows;

pub use rows::*;

use super::apply::{facts_of_row, load_facts};
use super::blobs;
use super::error::LedgerError;
use super::facts::JobFacts;
use super::schema;
use crate::model::{
    Account, ApprovalId, AttemptNo, ClauseId, ContractVersion, DecisionId, Digest, GoalId, JobId,
    JobState, OperationId, Seq, TimeMs, Verdict, WaitKind,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params, params_from_iter};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most entries one question returns.
pub const MAX_EVENTS: usize = 5_000;

/// A read-only connection of its own.
#[derive(Debug)]
pub struct Reader {
    conn: Connection,
    path: PathBuf,
}

impl Reader {
    /// Opens an existing ledger for reading.
    ///
    /// # Errors
    /// Missing, not a ledger, newer, not readable.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        if !path.exists() {
            return Err(LedgerError::Missing(path.to_path_buf()));
        }
        let sql = |error| LedgerError::from_sqlite(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
        conn.busy_timeout(Duration::from_secs(2)).map_err(sql)?;
        conn.set_prepared_statement_cache_capacity(64);
        schema::check(&conn, path)?;
        let tables: i64 = conn
            .query_row(
                "SELECT count(*) FROM sqlite_master WHERE name = 'events'",
                [],
                |row| row.get(0),
            )
            .map_err(sql)?;
        if tables == 0 {
            return Err(LedgerError::NotALedger {
                path: path.to_path_buf(),
                why: "it has no entries table".to_owned(),
            });
        }
        Ok(Self {
            conn,
            path: path.to_path_buf(),
        })
    }

    /// The questions that can be asked.
    pub fn view(&self) -> View<'_> {
        View::new(&self.conn, &self.path)
    }

    /// Changes when another connection commits; cheap enough to ask ten times a second.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn data_version(&self) -> Result<i64, LedgerError> {
        self.conn
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|error| LedgerError::from_sqlite(&self.path, error))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.conn
    }
}

/// Questions over a connection.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    conn: &'a Connection,
    path: &'a Path,
}

type Answer<T> = Result<T, LedgerError>;

impl<'a> View<'a> {
    pub(super) fn new(conn: &'a Connection, path: &'a Path) -> Self {
        Self { conn, path }
    }

    fn err(&self, error: rusqlite::Error) -> LedgerError {
        LedgerError::from_sqlite(self.path, error)
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        of_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Answer<Vec<T>> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, of_row)?.collect())
            .map_err(|error| self.err(error))
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        of_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Answer<Option<T>> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, of_row).optional())
            .map_err(|error| self.err(error))
    }

    fn count(&self, sql: &str, params: impl rusqlite::Params) -> Answer<u64> {
        let found = self.one(sql, params, |row| row.get::<_, i64>(0))?;
        Ok(found.unwrap_or(0).max(0) as u64)
    }

    /// All goals, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read; so for all questions below.
    pub fn goals(&self) -> Answer<Vec<GoalRow>> {
        self.all(
            "SELECT goal, version, objective, owner, deadline_ms, adopted_ms, jobs_listed, ended, heartbeat,
               heartbeat_ms FROM goals ORDER BY adopted_ms, goal",
            [],
            |row| {
                Ok(GoalRow {
                    goal: GoalId(row.get(0)?),
                    version: ContractVersion(row.get(1)?),
                    objective: row.get(2)?,
                    owner: Account(row.get(3)?),
                    deadline: row.get::<_, Option<i64>>(4)?.map(TimeMs),
                    adopted_at: TimeMs(row.get(5)?),
                    jobs_listed: row.get::<_, Option<i64>>(6)?.map(|n| n as u64),
                    ended: row.get(7)?,
                    heartbeat: row.get(8)?,
                    heartbeat_at: row.get::<_, Option<i64>>(9)?.map(TimeMs),
                })
            },
        )
    }

    /// The current contract of a goal.
    pub fn contract(&self, goal: &GoalId) -> Answer<Option<ContractRow>> {
        self.one(
            "SELECT goal, version, digest, text, base_dir, overrides, me, answers, adopted_ms, adopted_by
             FROM contracts WHERE goal = ?1 ORDER BY version DESC LIMIT 1",
            params![goal.as_str()],
            |row| {
                Ok(ContractRow {
                    goal: GoalId(row.get(0)?),
                    version: ContractVersion(row.get(1)?),
                    digest: Digest(row.get(2)?),
                    text: Digest(row.get(3)?),
                    base_dir: PathBuf::from(row.get::<_, String>(4)?),
                    overrides: list(&row.get::<_, String>(5)?),
                    me: Account(row.get(6)?),
                    answers: list(&row.get::<_, String>(7)?),
                    adopted_at: TimeMs(row.get(8)?),
                    adopted_by: row.get(9)?,
                })
            },
        )
    }

    /// Counts of a goal.
    pub fn overview(&self, goal: &GoalId) -> Answer<Overview> {
        let key = params![goal.as_str()];
        let mut overview = Overview::default();
        for (state, count) in self.all(
            "SELECT state, count(*) FROM jobs WHERE goal = ?1 GROUP BY state",
            key,
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64)),
        )? {
            overview.jobs += count;
            if let Some(state) = JobState::from_word(&state) {
                overview.by_state.insert(state, count);
            }
        }
        for (kind, count) in self.all(
            "SELECT wait_kind, count(*) FROM jobs WHERE goal = ?1 AND wait_kind IS NOT NULL GROUP BY wait_kind",
            key,
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64)),
        )? {
            if let Some(kind) = WaitKind::from_word(&kind) {
                overview.by_wait.insert(kind, count);
            }
        }
        overview.in_work = self.count(
            "SELECT count(*) FROM jobs WHERE goal = ?1 AND state IN ('working', 'staged', 'reconciled')
               AND wait_kind IS NULL AND NOT paused AND NOT to_verify",
            key,
        )?;
        overview.approvals_open = self.count(
            "SELECT count(*) FROM approvals WHERE goal = ?1 AND state = 'open'",
            key,
        )?;
        overview.unsettled = self.count(
            "SELECT count(*) FROM operations WHERE goal = ?1 AND state IN ('intended', 'unknown')",
            key,
        )?;
        overview.to_verify = self.count(
            "SELECT count(*) FROM operations WHERE goal = ?1 AND state = 'unknown' AND to_verify",
            key,
        )?;
        overview.alerts_open = self.count(
            "SELECT count(*) FROM alerts WHERE goal = ?1 AND cleared_ms IS NULL",
            key,
        )?;
        overview.paused =
            self.count("SELECT count(*) FROM jobs WHERE goal = ?1 AND paused", key)?;
        overview.decisions_pending = self.count(
            "SELECT count(*) FROM decisions WHERE goal = ?1 AND state = 'pending'",
            key,
        )?;
        overview.engine = self.engine()?;
        if let Some((seq, at)) = self.one(
            "SELECT seq, at_ms FROM events ORDER BY seq DESC LIMIT 1",
            [],
            |row| Ok((Seq(row.get(0)?), TimeMs(row.get(1)?))),
        )? {
            overview.last_seq = seq;
            overview.last_at = at;
        }
        let now = overview
            .engine
            .as_ref()
            .map_or(overview.last_at, |engine| engine.engine_at);
        overview.stalled = self.stalled(goal, now)?;
        overview.queries = self.budget_days(goal)?;
        Ok(overview)
    }

    /// Waits that are past their overdue time at an instant.
    pub fn stalled(&self, goal: &GoalId, now: TimeMs) -> Answer<u64> {
        self.count(
            "SELECT count(*) FROM jobs WHERE goal = ?1 AND overdue_ms < ?2",
            params![goal.as_str(), now.0],
        )
    }

    /// Use of renewing budgets, newest day first, at most 30 rows.
    pub fn budget_days(&self, goal: &GoalId) -> Answer<Vec<BudgetDay>> {
        self.all(
            "SELECT budget, day, reserved, spent FROM budget_days WHERE goal = ?1 ORDER BY day DESC LIMIT 30",
            params![goal.as_str()],
            |row| {
                Ok(BudgetDay {
                    budget: row.get(0)?,
                    day: row.get(1)?,
                    reserved: row.get::<_, i64>(2)?.max(0) as u64,
                    spent: row.get::<_, i64>(3)?.max(0) as u64,
                })
            },
        )
    }

    /// The engine's last beat.
    pub fn engine(&self) -> Answer<Option<EngineBeat>> {
        self.one(
            "SELECT pid, host, beat_ms, engine_ms, beat_every_ms, state FROM engine WHERE id = 1",
            [],
            |row| {
                Ok(EngineBeat {
                    pid: row.get(0)?,
                    host: row.get(1)?,
                    beat_at: TimeMs(row.get(2)?),
                    engine_at: TimeMs(row.get(3)?),
                    every_ms: row.get(4)?,
                    state: row.get(5)?,
                })
            },
        )
    }

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

    /// Rows of the named jobs, in the order of the names; a job that is gone is left out.
    pub fn job_rows(&self, goal: &GoalId, ids: &[JobId]) -> Answer<Vec<JobRow>> {
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(row) = self.one(
                "SELECT job, position, title, state, reason, strategy, attempt, tries, clauses_passed,
                   clauses_total, paused, to_verify, high_risk, wait_kind, wait_reason, wait_since_ms,
                   next_check_ms, overdue_ms, queries, last_progress_ms
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
            "SELECT facts, facts_digest FROM jobs WHERE goal = ?1 ORDER BY position",
            params![goal.as_str()],
            facts_of_row,
        )
    }

    /// Facts of all jobs for an engine's start. A job whose row is damaged is replayed from its entries
    /// and named: it may be shown, never worked on.
    pub fn facts_at_start(&self, goal: &GoalId) -> Answer<(Vec<JobFacts>, Vec<super::Damage>)> {
        let ids = self.job_ids(goal, &JobQuery::default())?;
        let mut all = Vec::with_capacity(ids.len());
        let mut damage = Vec::new();
        for id in ids {
            match self.facts(goal, &id) {
                Ok(Some(facts)) => all.push(facts),
                Ok(None) => {}
                Err(error) => {
                    damage.push(super::Damage {
                        goal: goal.0.clone(),
                        job: id.0.clone(),
                        what: error.to_string(),
                    });
                    all.extend(
                        super::verify::replay_job(self.conn, goal, &id)
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
            "SELECT attempt, strategy, started_ms, ended_ms, outcome, reason, config, remark FROM attempts
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
            "SELECT seq, attempt, clause, verdict, summary, config, checker, operation, detail, spent, at_ms
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
                })
            },
        )
    }

    /// Requests, open ones first, then the newest decided; at most `limit`.
    pub fn approvals(&self, goal: &GoalId, limit: usize) -> Answer<Vec<ApprovalRow>> {
        self.all(
            &format!(
                "{APPROVAL_COLUMNS} WHERE goal = ?1
                 ORDER BY state <> 'open', CASE WHEN state = 'open' THEN requested_ms ELSE -requested_ms END,
                   {BY_POSITION} LIMIT ?2"
            ),
            params![goal.as_str(), limit as i64],
            approval_row,
        )
    }

    /// Open requests, oldest first.
    pub fn open_approvals(&self, goal: &GoalId) -> Answer<Vec<ApprovalRow>> {
        self.all(
            &format!(
                "{APPROVAL_COLUMNS} WHERE goal = ?1 AND state = 'open' ORDER BY requested_ms, {BY_POSITION}"
            ),
            params![goal.as_str()],
            approval_row,
        )
    }

    /// The oldest open request.
    pub fn oldest_open_approval(&self, goal: &GoalId) -> Answer<Option<ApprovalRow>> {
        self.one(
            &format!("{APPROVAL_COLUMNS} WHERE goal = ?1 AND state = 'open' ORDER BY requested_ms, job LIMIT 1"),
            params![goal.as_str()],
            approval_row,
        )
    }

    /// One request.
    pub fn approval(&self, id: &ApprovalId) -> Answer<Option<ApprovalRow>> {
        self.one(
            &format!("{APPROVAL_COLUMNS} WHERE approval = ?1"),
            params![id.as_str()],
            approval_row,
        )
    }

    /// How many jobs name each job as one that they depend on.
    pub fn dependents(&self, goal: &GoalId) -> Answer<BTreeMap<JobId, u64>> {
        let rows = self.all(
            "SELECT needs.value, count(*) FROM jobs, json_each(jobs.facts, '$.depends_on') AS needs
             WHERE goal = ?1 GROUP BY needs.value",
            params![goal.as_str()],
            |row| Ok((JobId(row.get(0)?), row.get::<_, i64>(1)?.max(0) as u64)),
        )?;
        Ok(rows.into_iter().collect())
    }

    /// Requests by state.
    pub fn approval_counts(&self, goal: &GoalId) -> Answer<BTreeMap<String, u64>> {
        let rows = self.all(
            "SELECT state, count(*) FROM approvals WHERE goal = ?1 GROUP BY state",
            params![goal.as_str()],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64)),
        )?;
        Ok(rows.into_iter().collect())
    }

    /// Decisions that the engine has not answered, in the order they were submitted.
    pub fn pending_decisions(&self, goal: &GoalId) -> Answer<Vec<DecisionRow>> {
        self.all(
            &format!(
                "{DECISION_COLUMNS} WHERE state = 'pending' AND goal = ?1 ORDER BY seq LIMIT 1000"
            ),
            params![goal.as_str()],
            decision_row,
        )
    }

    /// One decision.
    pub fn decision(&self, id: &DecisionId) -> Answer<Option<DecisionRow>> {
        self.one(
            &format!("{DECISION_COLUMNS} WHERE decision = ?1"),
            params![id.as_str()],
            decision_row,
        )
    }

    /// Alerts: open ones first, then the newest; at most 1,000.
    pub fn alerts(&self, goal: &GoalId) -> Answer<Vec<AlertRow>> {
        self.all(
            "SELECT seq, job, rule, evidence, raised_ms, cleared_ms, cleared_why FROM alerts WHERE goal = ?1
             ORDER BY cleared_ms IS NOT NULL, seq DESC LIMIT 1000",
            params![goal.as_str()],
            |row| {
                let job: String = row.get(1)?;
                Ok(AlertRow {
                    seq: Seq(row.get(0)?),
                    job: (!job.is_empty()).then_some(JobId(job)),
                    rule: row.get(2)?,
                    evidence: row.get(3)?,
                    raised_at: TimeMs(row.get(4)?),
                    cleared_at: row.get::<_, Option<i64>>(5)?.map(TimeMs),
                    cleared_why: row.get(6)?,
                })
            },
        )
    }

    /// Measurements of the goal's target, newest first, at most 100.
    pub fn proofs(&self, goal: &GoalId) -> Answer<Vec<ProofRow>> {
        self.all(
            "SELECT seq, adapter, version, action, method, counts, proven, measured_ms, expires_ms FROM proofs
             WHERE goal = ?1 ORDER BY seq DESC LIMIT 100",
            params![goal.as_str()],
            |row| {
                Ok(ProofRow {
                    seq: Seq(row.get(0)?),
                    adapter: row.get(1)?,
                    version: row.get(2)?,
                    action: row.get(3)?,
                    method: row.get(4)?,
                    counts: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or(Value::Null),
                    proven: row.get(6)?,
                    measured_at: TimeMs(row.get(7)?),
                    expires_at: TimeMs(row.get(8)?),
                })
            },
        )
    }

    /// A body by its digest; `None` when the ledger has none.
    pub fn blob(&self, digest: &Digest) -> Answer<Option<Vec<u8>>> {
        match blobs::get(self.conn, digest) {
            Ok(None) => Ok(None),
            Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
            Ok(Some(Err(why))) => Err(LedgerError::Damaged {
                path: self.path.to_path_buf(),
                why,
            }),
            Err(error) => Err(self.err(error)),
        }
    }

    /// Time of a goal's last entry; a practice clock goes on from there.
    pub fn last_event_at(&self) -> Answer<Option<TimeMs>> {
        self.one("SELECT max(at_ms) FROM events", [], |row| {
            Ok(row.get::<_, Option<i64>>(0)?.map(TimeMs))
        })
        .map(Option::flatten)
    }

    /// The latest time that an engine wrote down. Decisions carry other processes' clocks and do not count.
    pub fn last_engine_time(&self) -> Answer<Option<TimeMs>> {
        self.one(
            "SELECT max(at_ms) FROM events WHERE kind <> 'decision.submitted'",
            [],
            |row| Ok(row.get::<_, Option<i64>>(0)?.map(TimeMs)),
        )
        .map(Option::flatten)
    }

    /// The last entry that an engine wrote about itself: whether it had said goodbye.
    pub fn stopped_cleanly(&self) -> Answer<bool> {
        let last = self.one(
            "SELECT kind FROM events WHERE goal = '' AND job = '' AND kind IN ('engine.started', 'engine.stopped')
             ORDER BY seq DESC LIMIT 1",
            [],
            |row| row.get::<_, String>(0),
        )?;
        Ok(last.is_none_or(|kind| kind == "engine.stopped"))
    }

    /// Jobs whose chain does not fit (an empty job means the goal's own chain).
    pub fn broken_chains(&self) -> Answer<Vec<super::verify::Damage>> {
        super::verify::broken_chains(self.conn).map_err(|error| self.err(error))
    }
}

const OPERATION_COLUMNS: &str = "SELECT operation, job, attempt, action, config, ordinal, state, reference, why,
   approval, sends, look_ups, to_verify, intended_ms, changed_ms, next_look_ms, observed FROM operations";

/// Requests of one moment stand in the source's order of their jobs.
const BY_POSITION: &str =
    "(SELECT position FROM jobs WHERE jobs.goal = approvals.goal AND jobs.job = approvals.job)";

const APPROVAL_COLUMNS: &str =
    "SELECT approval, job, digest, parts, consequences, requested_ms, expires_ms, state,
   decided_by, reason, decided_ms, outcome FROM approvals";

const DECISION_COLUMNS: &str =
    "SELECT decision, seq, goal, job, by, act, submitted_ms, state, why FROM decisions";

fn list(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

fn sort_sql(sort: JobSort) -> &'static str {
    match sort {
        JobSort::Position => "position",
        JobSort::Id => "job",
        JobSort::State => {
            "CASE state WHEN 'awaiting_approval' THEN 0 WHEN 'handed_over' THEN 1 WHEN 'working' THEN 2
             WHEN 'staged' THEN 3 WHEN 'reconciled' THEN 4 WHEN 'pending' THEN 5 WHEN 'cut_over' THEN 6 ELSE 7 END"
        }
        JobSort::Tries => "tries",
        JobSort::Progress => "last_progress_ms",
        JobSort::Queries => "queries",
    }
}
