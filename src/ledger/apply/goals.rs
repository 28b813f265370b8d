//! Rows about goals, contracts, alerts and proofs.

use super::{Applier, json};
use crate::ledger::event::{Entry, Event};
use crate::model::{Account, ContractVersion, Digest, Seq, TimeMs};
use rusqlite::params;

impl Applier<'_> {
    /// A contract version takes force; a goal that had ended has more to do.
    fn apply_version(&self, entry: &Entry) -> rusqlite::Result<()> {
        let Some(row) = VersionRow::of(entry) else {
            return Ok(());
        };
        let goal = entry.goal.as_str();
        self.conn
            .prepare_cached(
                "INSERT INTO goals(goal, version, objective, owner, deadline_ms, adopted_ms, heartbeat)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')
                 ON CONFLICT (goal) DO UPDATE SET version = ?2, objective = ?3, owner = ?4,
                   deadline_ms = ?5, ended = NULL",
            )?
            .execute(params![
                goal,
                row.version.0,
                row.objective,
                row.owner.0,
                row.deadline.map(|at| at.0),
                entry.at.0
            ])?;
        self.conn
            .prepare_cached(
                "INSERT INTO contracts(goal, version, digest, text, base_dir, overrides, me, answers,
                   adopted_ms, adopted_by, why, changes, impact, impact_detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?
            .execute(params![
                goal,
                row.version.0,
                row.contract_digest.as_str(),
                row.text.as_str(),
                row.base_dir,
                json(&row.overrides),
                row.me.0,
                json(&row.answers),
                entry.at.0,
                entry.actor.word(),
                row.why,
                json(&row.changes),
                row.impact,
                row.impact_detail
            ])?;
        Ok(())
    }

    pub(super) fn apply_goal(&self, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        match &entry.event {
            Event::GoalAdopted { .. } | Event::GoalAmended { .. } => self.apply_version(entry)?,
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
            Event::ClaimFiled { clause, why } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO claims(seq, goal, job, attempt, clause, why, at_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        job,
                        entry.attempt.map_or(0, |attempt| attempt.0),
                        clause,
                        why,
                        entry.at.0
                    ])?;
            }
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

/// What the first version and an amendment have in common.
struct VersionRow<'e> {
    version: ContractVersion,
    contract_digest: &'e Digest,
    text: &'e Digest,
    base_dir: &'e str,
    overrides: &'e [String],
    me: &'e Account,
    objective: &'e str,
    owner: &'e Account,
    deadline: Option<TimeMs>,
    answers: &'e [String],
    why: &'e str,
    changes: &'e [String],
    impact: &'e str,
    impact_detail: &'e str,
}

impl<'e> VersionRow<'e> {
    fn of(entry: &'e Entry) -> Option<Self> {
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
            } => Some(Self {
                version: *version,
                contract_digest,
                text,
                base_dir,
                overrides,
                me,
                objective,
                owner,
                deadline: *deadline,
                answers,
                why: "",
                changes: &[],
                impact: "",
                impact_detail: "",
            }),
            Event::GoalAmended {
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
                why,
                changes,
                impact,
                impact_detail,
            } => Some(Self {
                version: *version,
                contract_digest,
                text,
                base_dir,
                overrides,
                me,
                objective,
                owner,
                deadline: *deadline,
                answers,
                why,
                changes,
                impact,
                impact_detail: impact_detail.as_str(),
            }),
            _ => None,
        }
    }
}
