//! Questions about unclean stops and the differences that were found after them.

use super::{Answer, View};
use crate::model::{DriftId, DriftKind, GoalId, JobId, Seq, TimeMs};
use rusqlite::{Row, params};
use serde::Serialize;

/// Most differences one question returns.
const MAX_ROWS: i64 = 1_000;

/// A difference between the ledger and the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftRow {
    /// Its id.
    pub item: DriftId,
    /// The entry that found it last.
    pub seq: Seq,
    /// In what they differ.
    pub kind: DriftKind,
    /// The job it is about, if it is about one.
    pub job: Option<JobId>,
    /// What the ledger says, one sentence.
    pub ledger_says: String,
    /// What the world says, one sentence.
    pub world_says: String,
    /// What accepting it does, one sentence.
    pub accepting: String,
    /// When it was found.
    pub found_at: TimeMs,
    /// `open`, `accepted` or `gone`.
    pub state: String,
    /// Who accepted it, or by which rule.
    pub how: String,
    /// When.
    pub decided_at: Option<TimeMs>,
}

impl View<'_> {
    /// Differences, open ones first, then the newest; at most 1,000.
    pub fn drift(&self, goal: &GoalId) -> Answer<Vec<DriftRow>> {
        self.all(
            "SELECT item, seq, kind, job, ledger_says, world_says, accepting, found_ms, state, how, decided_ms
             FROM drift WHERE goal = ?1
             ORDER BY state <> 'open', CASE WHEN state = 'open' THEN seq ELSE -seq END LIMIT ?2",
            params![goal.as_str(), MAX_ROWS],
            drift_row,
        )
    }

    /// Open differences: while there are any, the engine is held.
    pub fn drift_open(&self, goal: &GoalId) -> Answer<u64> {
        self.count(
            "SELECT count(*) FROM drift WHERE goal = ?1 AND state = 'open'",
            params![goal.as_str()],
        )
    }

    /// Whether a difference was accepted before.
    pub fn drift_accepted(&self, goal: &GoalId, item: &DriftId) -> Answer<bool> {
        let found = self.count(
            "SELECT count(*) FROM drift WHERE goal = ?1 AND item = ?2 AND state = 'accepted'",
            params![goal.as_str(), item.as_str()],
        )?;
        Ok(found > 0)
    }

    /// When the last engine began that followed an unclean stop.
    pub fn last_unclean_start(&self) -> Answer<Option<TimeMs>> {
        self.one(
            "SELECT at_ms FROM events WHERE goal = '' AND job = '' AND kind = 'engine.started'
               AND json_extract(body, '$.after_clean_stop') = 0 ORDER BY seq DESC LIMIT 1",
            [],
            |row| Ok(TimeMs(row.get(0)?)),
        )
    }

    /// Whether an engine stopped uncleanly since the ledger was last compared with the goal's world.
    pub fn unclean_since_compared(&self, goal: &GoalId) -> Answer<bool> {
        let last = |of: &str, kind: &str, more: &str| {
            let sql = format!(
                "SELECT coalesce(max(seq), 0) FROM events WHERE goal = ?1 AND job = '' AND kind = ?2 {more}"
            );
            self.count(&sql, params![of, kind])
        };
        let unclean = last(
            "",
            "engine.started",
            "AND json_extract(body, '$.after_clean_stop') = 0",
        )?;
        Ok(unclean > 0 && unclean > last(goal.as_str(), "drift.checked", "")?)
    }
}

fn drift_row(row: &Row<'_>) -> rusqlite::Result<DriftRow> {
    let job: String = row.get(3)?;
    Ok(DriftRow {
        item: DriftId(row.get(0)?),
        seq: Seq(row.get(1)?),
        kind: DriftKind::from_word(&row.get::<_, String>(2)?).unwrap_or(DriftKind::Restart),
        job: (!job.is_empty()).then_some(JobId(job)),
        ledger_says: row.get(4)?,
        world_says: row.get(5)?,
        accepting: row.get(6)?,
        found_at: TimeMs(row.get(7)?),
        state: row.get(8)?,
        how: row.get(9)?,
        decided_at: row.get::<_, Option<i64>>(10)?.map(TimeMs),
    })
}
