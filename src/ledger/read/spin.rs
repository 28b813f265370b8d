//! Questions about spinning.

use super::{Answer, View};
use crate::model::{Account, GoalId, JobId, Seq, SpinKind, TimeMs};
use rusqlite::params;
use serde::Serialize;

/// How the goal gets on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProgressRow {
    /// Clauses that passed for the first time on their job.
    pub passes: u64,
    /// Attempts that ended since the last of them, without one of their own.
    pub rounds: u64,
    /// Tokens spent since.
    pub tokens: u64,
    /// The entry of the last of them; 0 before the first.
    pub since: Seq,
    /// How often the goal as a whole went round in circles.
    pub spins: u64,
    /// Strategies before this one are not used any more.
    pub floor: u32,
    /// Why nothing new is attempted; empty when it is.
    pub held: String,
}

/// A spin alarm in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpinRow {
    /// Its entry; its name.
    pub seq: Seq,
    /// The job; none when the goal as a whole spins.
    pub job: Option<JobId>,
    /// The rule.
    pub rule: SpinKind,
    /// What goes round.
    pub what: String,
    /// How often, or how many tokens.
    pub count: u64,
    /// The contract's threshold.
    pub limit: u64,
    /// The entries behind it.
    pub entries: Vec<Seq>,
    /// The strategy it changed to, its place in the plan; none when a person took it.
    pub next: Option<u32>,
    /// When.
    pub found_at: TimeMs,
    /// The overruling that answers it, if one was ever made.
    pub overruled: Option<Seq>,
}

/// An overruling in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OverruleRow {
    /// Its entry; its name.
    pub seq: Seq,
    /// The alarm it answered.
    pub spin: Seq,
    /// The rule.
    pub rule: SpinKind,
    /// For this job alone; none: everywhere in the goal.
    pub job: Option<JobId>,
    /// Who said so.
    pub by: Account,
    /// Why.
    pub reason: String,
    /// When.
    pub made_at: TimeMs,
    /// When it was taken back.
    pub ended_at: Option<TimeMs>,
}

fn rule(word: &str) -> SpinKind {
    SpinKind::from_word(word).unwrap_or(SpinKind::SameCheck)
}

fn job(word: String) -> Option<JobId> {
    (!word.is_empty()).then_some(JobId(word))
}

impl View<'_> {
    /// How the goal gets on.
    pub fn progress(&self, goal: &GoalId) -> Answer<ProgressRow> {
        let row = self.one(
            "SELECT passes, rounds, tokens, since, spins, floor, held FROM progress WHERE goal = ?1",
            params![goal.as_str()],
            |row| {
                Ok(ProgressRow {
                    passes: row.get::<_, i64>(0)? as u64,
                    rounds: row.get::<_, i64>(1)? as u64,
                    tokens: row.get::<_, i64>(2)? as u64,
                    since: Seq(row.get(3)?),
                    spins: row.get::<_, i64>(4)? as u64,
                    floor: row.get(5)?,
                    held: row.get(6)?,
                })
            },
        )?;
        Ok(row.unwrap_or_default())
    }

    /// Spin alarms of a goal, the newest first; at most 1,000.
    pub fn spins(&self, goal: &GoalId) -> Answer<Vec<SpinRow>> {
        self.all(
            "SELECT seq, job, rule, what, count, threshold, entries, next, found_ms,
               (SELECT max(o.seq) FROM overrules o WHERE o.spin = spins.seq)
             FROM spins WHERE goal = ?1 ORDER BY seq DESC LIMIT 1000",
            params![goal.as_str()],
            |row| {
                let entries: String = row.get(6)?;
                Ok(SpinRow {
                    seq: Seq(row.get(0)?),
                    job: job(row.get(1)?),
                    rule: rule(&row.get::<_, String>(2)?),
                    what: row.get(3)?,
                    count: row.get::<_, i64>(4)? as u64,
                    limit: row.get::<_, i64>(5)? as u64,
                    entries: serde_json::from_str(&entries).unwrap_or_default(),
                    next: row.get(7)?,
                    found_at: TimeMs(row.get(8)?),
                    overruled: row.get::<_, Option<i64>>(9)?.map(Seq),
                })
            },
        )
    }

    /// What operators overruled, the newest first; at most 1,000.
    pub fn overrules(&self, goal: &GoalId) -> Answer<Vec<OverruleRow>> {
        self.all(
            "SELECT seq, spin, rule, job, by, reason, made_ms, ended_ms FROM overrules WHERE goal = ?1
             ORDER BY seq DESC LIMIT 1000",
            params![goal.as_str()],
            |row| {
                Ok(OverruleRow {
                    seq: Seq(row.get(0)?),
                    spin: Seq(row.get(1)?),
                    rule: rule(&row.get::<_, String>(2)?),
                    job: job(row.get(3)?),
                    by: Account(row.get(4)?),
                    reason: row.get(5)?,
                    made_at: TimeMs(row.get(6)?),
                    ended_at: row.get::<_, Option<i64>>(7)?.map(TimeMs),
                })
            },
        )
    }
}
