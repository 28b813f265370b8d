//! Rows about revisions of the plan.

use super::{Applier, json};
use crate::ledger::event::{Entry, Event};
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_plan(&self, entry: &Entry) -> rusqlite::Result<()> {
        let Event::PlanRevised(one) = &entry.event else {
            return Ok(());
        };
        let goal = entry.goal.as_str();
        self.conn
            .prepare_cached(
                "INSERT INTO plans(goal, revision, before, strategies, hypothesis, changes, by, revised_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                goal,
                one.revision,
                json(&one.before),
                json(&one.strategies),
                one.hypothesis,
                json(&one.changes),
                entry.actor.person(),
                entry.at.0
            ])?;
        // The contract is the same, so its digest is; the text that is worked from has the new strategies.
        self.conn
            .prepare_cached(
                "UPDATE contracts SET text = ?2 WHERE goal = ?1
                 AND version = (SELECT max(version) FROM contracts WHERE goal = ?1)",
            )?
            .execute(params![goal, one.text.as_str()])?;
        self.conn
            .prepare_cached("UPDATE progress SET floor = ?2 WHERE goal = ?1")?
            .execute(params![goal, one.floor])?;
        Ok(())
    }
}
