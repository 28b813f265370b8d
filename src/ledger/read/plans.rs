//! Questions about revisions of the plan.

use super::{Answer, View, list};
use crate::model::{Account, GoalId, StrategyId, TimeMs};
use rusqlite::params;
use serde::Serialize;

/// Most revisions that are read.
const MAX_REVISIONS: i64 = 10_000;

/// One revision of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanRow {
    /// From 1.
    pub revision: u32,
    /// The strategies before, in order.
    pub before: Vec<StrategyId>,
    /// The strategies since, in order.
    pub strategies: Vec<StrategyId>,
    /// What it is hoped to change.
    pub hypothesis: String,
    /// What changed, one line each.
    pub changes: Vec<String>,
    /// Whose it is.
    pub by: Account,
    /// When.
    pub at: TimeMs,
}

impl View<'_> {
    /// Revisions of a goal's plan, oldest first.
    pub fn plans(&self, goal: &GoalId) -> Answer<Vec<PlanRow>> {
        let ids = |text: String| list(&text).into_iter().map(StrategyId).collect();
        self.all(
            "SELECT revision, before, strategies, hypothesis, changes, by, revised_ms FROM plans
             WHERE goal = ?1 ORDER BY revision LIMIT ?2",
            params![goal.as_str(), MAX_REVISIONS],
            |row| {
                Ok(PlanRow {
                    revision: row.get(0)?,
                    before: ids(row.get(1)?),
                    strategies: ids(row.get(2)?),
                    hypothesis: row.get(3)?,
                    changes: list(&row.get::<_, String>(4)?),
                    by: Account(row.get(5)?),
                    at: TimeMs(row.get(6)?),
                })
            },
        )
    }
}
