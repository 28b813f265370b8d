//! Rows about goals, contracts, alerts and proofs.

use super::{Applier, json};
use crate::ledger::event::{Entry, Event};
use crate::model::Seq;
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_goal(&self, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        match &entry.event {
            Event::GoalAdopted {
                version,
                contract_digest,
                text,
                base_dir,
                overrides,
                me,
                objective,
                owner,
                deadline,
                answers,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO goals(goal, version, objective, owner, deadline_ms, adopted_ms, heartbeat)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')
                         ON CONFLICT (goal) DO UPDATE SET version = ?2, objective = ?3, owner = ?4,
                           deadline_ms = ?5, ended = NULL",
                    )?
                    .execute(params![
                        goal,
                        version.0,
                        objective,
                        owner.0,
                        deadline.map(|at| at.0),
                        entry.at.0
                    ])?;
                self.conn
                    .prepare_cached(
                        "INSERT INTO contracts(goal, version, digest, text, base_dir, overrides, me, answers,
                           adopted_ms, adopted_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    )?
                    .execute(params![
                        goal,
                        version.0,
                        contract_digest.as_str(),
                        text.as_str(),
                        base_dir,
                        json(overrides),
                        me.0,
                        json(answers),
                        entry.at.0,
                        entry.actor.word()
                    ])?;
            }
            Event::GoalListed { jobs } => {
                self.conn
                    .prepare_cached("UPDATE goals SET jobs_listed = ?2 WHERE goal = ?1")?
                    .execute(params![goal, *jobs as i64])?;
            }
            Event::GoalEnded { summary } => {
                self.conn
                    .prepare_cached("UPDATE goals SET ended = ?2 WHERE goal = ?1")?
                    .execute(params![goal, summary])?;
            }
            Event::Heartbeat { decided, reason } => {
                self.conn
                    .prepare_cached(
                        "UPDATE goals SET heartbeat = ?2, heartbeat_ms = ?3 WHERE goal = ?1",
                    )?
                    .execute(params![goal, format!("{decided}: {reason}"), entry.at.0])?;
            }
            Event::JobRetried {} | Event::RollbackAsked { .. } => {
                // A job that begins again or goes back takes the goal's end back.
                self.conn
                    .prepare_cached("UPDATE goals SET ended = NULL WHERE goal = ?1")?
                    .execute(params![goal])?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn apply_goal_notes(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        let job = entry.job.as_ref().map_or("", |job| job.as_str());
        match &entry.event {
            Event::AlertRaised { rule, evidence } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO alerts(seq, goal, job, rule, evidence, raised_ms, cleared_why)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')",
                    )?
                    .execute(params![seq.0, goal, job, rule, evidence, entry.at.0])?;
            }
            Event::ProofRecorded {
                adapter,
                version,
                action,
                method,
                counts,
                proven,
                expires_at,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO proofs(seq, goal, adapter, version, action, method, counts, proven,
                           measured_ms, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        adapter,
                        version,
                        action.word(),
                        method,
                        counts.to_string(),
                        proven,
                        entry.at.0,
                        expires_at.0
                    ])?;
            }
            Event::AlertCleared { rule, why } => {
                self.conn
                    .prepare_cached(
                        "UPDATE alerts SET cleared_ms = ?4, cleared_why = ?5
                         WHERE goal = ?1 AND job = ?2 AND rule = ?3 AND cleared_ms IS NULL",
                    )?
                    .execute(params![goal, job, rule, entry.at.0, why])?;
            }
            _ => {}
        }
        Ok(())
    }
}
