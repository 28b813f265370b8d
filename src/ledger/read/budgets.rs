//! Questions about budgets.

use super::{Answer, BudgetUse, HandoffRow, OpenSpend, View};
use crate::model::{Budget, Digest, GoalId, JobId, Seq, SpendId, TimeMs};
use rusqlite::params;
use serde_json::Value;

/// Most rows of one question.
const MOST: i64 = 1_000;

impl View<'_> {
    /// Use of every budget: totals first, then the newest days; at most 1,000 rows.
    pub fn budget_uses(&self, goal: &GoalId) -> Answer<Vec<BudgetUse>> {
        let rows = self.all(
            "SELECT budget, day, reserved, spent, unsure FROM budgets WHERE goal = ?1
             ORDER BY day <> '', day DESC, budget LIMIT ?2",
            params![goal.as_str(), MOST],
            |row| {
                let amount =
                    |index| Ok::<_, rusqlite::Error>(row.get::<_, i64>(index)?.max(0) as u64);
                Ok((
                    row.get::<_, String>(0)?,
                    row.get(1)?,
                    amount(2)?,
                    amount(3)?,
                    amount(4)?,
                ))
            },
        )?;
        Ok(rows
            .into_iter()
            .filter_map(|(budget, day, reserved, spent, unsure)| {
                Some(BudgetUse {
                    budget: Budget::from_word(&budget)?,
                    day,
                    reserved,
                    spent,
                    unsure,
                })
            })
            .collect())
    }

    /// Reservations without an end, oldest first.
    pub fn open_spends(&self, goal: &GoalId) -> Answer<Vec<OpenSpend>> {
        self.all(
            "SELECT spend, job, amounts, day FROM spends WHERE goal = ?1 ORDER BY reserved_ms, spend",
            params![goal.as_str()],
            |row| {
                Ok(OpenSpend {
                    id: SpendId(row.get(0)?),
                    job: JobId(row.get(1)?),
                    amounts: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
                    day: row.get(3)?,
                })
            },
        )
    }

    /// What staging was left with: each job's newest applied reference there and how many there are, by
    /// job.
    pub fn staged(&self, goal: &GoalId) -> Answer<Vec<(JobId, String, u64)>> {
        self.all(
            "SELECT job, reference, count(*), max(changed_ms) FROM operations
             WHERE goal = ?1 AND action = 'stage' AND state = 'applied' GROUP BY job ORDER BY job",
            params![goal.as_str()],
            |row| {
                Ok((
                    JobId(row.get(0)?),
                    row.get(1)?,
                    row.get::<_, i64>(2)?.max(0) as u64,
                ))
            },
        )
    }

    /// The last forecast that the engine wrote down, as JSON, and when.
    pub fn forecast(&self, goal: &GoalId) -> Answer<Option<(TimeMs, Value)>> {
        let found = self.one(
            "SELECT forecast_ms, forecast FROM goals WHERE goal = ?1 AND forecast IS NOT NULL",
            params![goal.as_str()],
            |row| Ok((TimeMs(row.get(0)?), row.get::<_, String>(1)?)),
        )?;
        Ok(found.and_then(|(at, text)| Some((at, serde_json::from_str(&text).ok()?))))
    }

    /// Handoff packages, newest first, at most 100.
    pub fn handoffs(&self, goal: &GoalId) -> Answer<Vec<HandoffRow>> {
        self.all(
            "SELECT seq, why, json, markdown, written_ms FROM handoffs WHERE goal = ?1
             ORDER BY seq DESC LIMIT 100",
            params![goal.as_str()],
            |row| {
                Ok(HandoffRow {
                    seq: Seq(row.get(0)?),
                    why: row.get(1)?,
                    json: Digest(row.get(2)?),
                    markdown: Digest(row.get(3)?),
                    written_at: TimeMs(row.get(4)?),
                })
            },
        )
    }
}
