//! Questions about goals: contract, counts, budgets, alerts, proofs, the engine and the chain.

use super::{AlertRow, Answer, BudgetDay, EngineBeat, GoalRow, Overview, ProofRow, View};
use crate::ledger::blobs;
use crate::ledger::error::LedgerError;
use crate::model::{
    Account, ContractVersion, Digest, GoalId, JobId, JobState, Seq, TimeMs, WAREHOUSE_QUERIES,
    WaitKind,
};
use rusqlite::params;
use serde_json::Value;

impl View<'_> {
    /// All goals, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read; so for all questions below.
    pub fn goals(&self) -> Answer<Vec<GoalRow>> {
        self.all(
            "SELECT goal, version, objective, owner, deadline_ms, adopted_ms, jobs_listed, ended, heartbeat,
               heartbeat_ms, stopped FROM goals ORDER BY adopted_ms, goal",
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
                    stopped: row.get(10)?,
                })
            },
        )
    }

    /// Counts of a goal.
    pub fn overview(&self, goal: &GoalId) -> Answer<Overview> {
        let key = params![goal.as_str()];
        let mut overview = Overview::default();
        self.count_jobs(goal, &mut overview)?;
        overview.approvals_open = self.count(
            "SELECT count(*) FROM approvals WHERE goal = ?1 AND state = 'open'",
            key,
        )?;
        let asked = |kind: &str| {
            self.count(
                "SELECT count(*) FROM questions WHERE goal = ?1 AND answered_ms IS NULL AND kind = ?2",
                params![goal.as_str(), kind],
            )
        };
        overview.questions_open = asked("question")?;
        overview.samples_open = asked("sample")?;
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
        overview.held = self.drift_open(goal)?;
        overview.decisions_pending = self.count(
            "SELECT count(*) FROM decisions WHERE goal = ?1 AND state = 'pending'",
            key,
        )?;
        overview.engine = self.engine()?;
        if let Some((seq, at)) = self.last_entry()? {
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

    /// Place and time of the last entry.
    pub fn last_entry(&self) -> Answer<Option<(Seq, TimeMs)>> {
        self.one(
            "SELECT seq, at_ms FROM events ORDER BY seq DESC LIMIT 1",
            [],
            |row| Ok((Seq(row.get(0)?), TimeMs(row.get(1)?))),
        )
    }

    /// Jobs by where they stand, in one pass over an index that holds all of it.
    fn count_jobs(&self, goal: &GoalId, overview: &mut Overview) -> Answer<()> {
        let groups = self.all(
            "SELECT state, wait_kind, paused, to_verify, count(*) FROM jobs WHERE goal = ?1
             GROUP BY state, wait_kind, paused, to_verify",
            params![goal.as_str()],
            |row| {
                let state = JobState::from_word(&row.get::<_, String>(0)?);
                let wait = row.get::<_, Option<String>>(1)?;
                let wait = wait.as_deref().and_then(WaitKind::from_word);
                let (paused, to_verify): (bool, bool) = (row.get(2)?, row.get(3)?);
                Ok((
                    state,
                    wait,
                    paused,
                    to_verify,
                    row.get::<_, i64>(4)?.max(0) as u64,
                ))
            },
        )?;
        for (state, wait, paused, to_verify, count) in groups {
            overview.jobs += count;
            if let Some(state) = state {
                *overview.by_state.entry(state).or_default() += count;
            }
            if let Some(wait) = wait {
                *overview.by_wait.entry(wait).or_default() += count;
            }
            if paused {
                overview.paused += count;
            }
            let at_work = matches!(
                state,
                Some(JobState::Working | JobState::Staged | JobState::Reconciled)
            );
            if at_work && wait.is_none() && !paused && !to_verify {
                overview.in_work += count;
            }
        }
        Ok(())
    }

    /// Waits that are past their overdue time at an instant.
    pub fn stalled(&self, goal: &GoalId, now: TimeMs) -> Answer<u64> {
        self.count(
            "SELECT count(*) FROM jobs WHERE goal = ?1 AND overdue_ms IS NOT NULL AND overdue_ms < ?2",
            params![goal.as_str(), now.0],
        )
    }

    /// Use of the day's queries, newest day first, at most 30 rows.
    pub fn budget_days(&self, goal: &GoalId) -> Answer<Vec<BudgetDay>> {
        self.all(
            "SELECT budget, day, reserved, spent FROM budgets WHERE goal = ?1 AND budget = ?2
             ORDER BY day DESC LIMIT 30",
            params![goal.as_str(), WAREHOUSE_QUERIES],
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

    /// What became of the last production changes, newest first, at most `limit`: true for a cutover that
    /// was applied and is not in doubt.
    pub fn production_changes(&self, goal: &GoalId, limit: u32) -> Answer<Vec<bool>> {
        self.all(
            "SELECT action = 'cut_over' AND state = 'applied' FROM operations
             WHERE goal = ?1 AND action IN ('cut_over', 'roll_back')
               AND (state IN ('applied', 'refused') OR to_verify = 1)
             ORDER BY changed_ms DESC, operation DESC LIMIT ?2",
            rusqlite::params![goal.as_str(), limit],
            |row| row.get(0),
        )
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
    pub fn broken_chains(&self) -> Answer<Vec<crate::ledger::verify::Damage>> {
        crate::ledger::verify::broken_chains(self.conn).map_err(|error| self.err(error))
    }
}
