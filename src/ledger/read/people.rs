//! Questions about requests and decisions.

use super::{
    APPROVAL_COLUMNS, Answer, ApprovalRow, BY_POSITION, DECISION_COLUMNS, DecisionRow, OpenRequest,
    View, approval_row, decision_row,
};
use crate::ledger::event::GoalWords;
use crate::model::{ApprovalId, DecisionId, GoalId, JobId, TimeMs};
use rusqlite::params;
use std::collections::BTreeMap;

/// Open requests that are walked.
const MAX_OPEN: i64 = 20_000;

impl View<'_> {
    /// The last words of an operator about the whole goal.
    pub fn goal_words(&self, goal: &GoalId) -> Answer<Option<GoalWords>> {
        let body: Option<String> = self.one(
            "SELECT body FROM events WHERE goal = ?1 AND job = '' AND kind = 'goal.commented'
             ORDER BY seq DESC LIMIT 1",
            params![goal.as_str()],
            |row| row.get(0),
        )?;
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
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

    /// Open requests, oldest first, those of one moment in the source's order; at most `MAX_OPEN`.
    pub fn open_requests(&self, goal: &GoalId) -> Answer<Vec<OpenRequest>> {
        self.all(
            &format!(
                "SELECT approval, job, requested_ms FROM approvals WHERE goal = ?1 AND state = 'open'
                 ORDER BY requested_ms, {BY_POSITION} LIMIT ?2"
            ),
            params![goal.as_str(), MAX_OPEN],
            |row| {
                Ok(OpenRequest {
                    approval: ApprovalId(row.get(0)?),
                    job: JobId(row.get(1)?),
                    requested_at: TimeMs(row.get(2)?),
                })
            },
        )
    }

    /// When each decided request was asked for and decided, in the order of the decisions; the newest 2,000.
    pub fn decided_approvals(&self, goal: &GoalId) -> Answer<Vec<(TimeMs, TimeMs)>> {
        let mut rows = self.all(
            "SELECT requested_ms, decided_ms FROM approvals WHERE goal = ?1 AND decided_ms IS NOT NULL
             ORDER BY decided_ms DESC LIMIT 2000",
            params![goal.as_str()],
            |row| Ok((TimeMs(row.get(0)?), TimeMs(row.get(1)?))),
        )?;
        rows.reverse();
        Ok(rows)
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
}
