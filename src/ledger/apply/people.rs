//! Rows about requests and decisions.

use super::{Applier, json};
use crate::ledger::event::{Act, Entry, Event};
use crate::model::Seq;
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_approval(&self, entry: &Entry) -> rusqlite::Result<()> {
        match &entry.event {
            Event::ApprovalRequested {
                approval,
                action,
                digest,
                parts,
                consequences,
                expires_at,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO approvals(approval, goal, job, action, digest, parts, consequences, requested_ms,
                           expires_ms, state, reason, outcome)
                         VALUES (?1, ?2, ?3, ?9, ?4, ?5, ?6, ?7, ?8, 'open', '', '')",
                    )?
                    .execute(params![
                        approval.as_str(),
                        entry.goal.as_str(),
                        entry.job.as_ref().map_or("", |job| job.as_str()),
                        digest.as_str(),
                        parts.to_string(),
                        json(consequences),
                        entry.at.0,
                        expires_at.map(|at| at.0),
                        action.word()
                    ])?;
            }
            Event::ApprovalDecided {
                approval,
                approved,
                by,
                reason,
            } => {
                self.conn
                    .prepare_cached(
                        "UPDATE approvals SET state = ?2, decided_by = ?3, reason = ?4, decided_ms = ?5
                         WHERE approval = ?1",
                    )?
                    .execute(params![
                        approval.as_str(),
                        if *approved { "approved" } else { "rejected" },
                        by.0,
                        reason,
                        entry.at.0
                    ])?;
            }
            Event::ApprovalVoided { approval, why } => {
                self.conn
                    .prepare_cached(
                        "UPDATE approvals SET state = 'void', outcome = ?2 WHERE approval = ?1",
                    )?
                    .execute(params![approval.as_str(), why])?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn apply_decision(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        match &entry.event {
            Event::DecisionSubmitted {
                decision,
                act,
                from,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO decisions(decision, seq, goal, job, by, origin, act, submitted_ms, state, why)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'pending', '')",
                    )?
                    .execute(params![
                        decision.as_str(),
                        seq.0,
                        entry.goal.as_str(),
                        entry.job.as_ref().map_or("", |job| job.as_str()),
                        entry.actor.word().trim_start_matches("person:"),
                        from,
                        serde_json::to_string::<Act>(act).unwrap_or_default(),
                        entry.at.0
                    ])?;
            }
            Event::DecisionAnswered {
                decision,
                accepted,
                why,
            } => {
                self.conn
                    .prepare_cached(
                        "UPDATE decisions SET state = ?2, why = ?3, answered_ms = ?4 WHERE decision = ?1",
                    )?
                    .execute(params![
                        decision.as_str(),
                        if *accepted { "accepted" } else { "refused" },
                        why,
                        entry.at.0
                    ])?;
            }
            _ => {}
        }
        Ok(())
    }
}
