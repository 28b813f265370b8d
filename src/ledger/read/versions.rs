//! Questions about contract versions, what judgements cost, and what workers hold against clauses.

use super::{Answer, ContractRow, View, list};
use crate::model::{
    Account, AttemptNo, ClauseId, ContractVersion, Digest, GoalId, JobId, OperationId, Seq, TimeMs,
};
use rusqlite::{Row, params};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most claims that one question returns.
const MAX_CLAIMS: i64 = 1_000;

/// What judging a clause took so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClauseCost {
    /// Digest of the clause that was judged last.
    pub clause_digest: Digest,
    /// Judgements of it that cost anything and passed.
    pub judgements: u64,
    /// Queries of those.
    pub queries: u64,
}

/// Queries of first judgements, and of everything judged again under the same contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RerunMeasure {
    /// Of the first judgement of each clause on each job.
    pub first: u64,
    /// Of all that followed, and of checks that gave no verdict.
    pub again: u64,
}

/// Something that a job left behind in staging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StagingResource {
    /// The operation that made it.
    pub operation: OperationId,
    /// How the target names it.
    pub reference: String,
    /// When it was asked for.
    pub at: TimeMs,
}

/// A worker's claim against a clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimRow {
    /// Its entry.
    pub seq: Seq,
    /// The job it worked on.
    pub job: JobId,
    /// In which attempt.
    pub attempt: AttemptNo,
    /// The clause, as the worker names it.
    pub clause: String,
    /// The worker's words.
    pub why: String,
    /// When.
    pub at: TimeMs,
}

const CONTRACT_COLUMNS: &str =
    "SELECT goal, version, digest, text, base_dir, overrides, me, answers, adopted_ms,
   adopted_by, why, changes, impact, impact_detail FROM contracts";

fn contract_row(row: &Row<'_>) -> rusqlite::Result<ContractRow> {
    let detail: String = row.get(13)?;
    Ok(ContractRow {
        goal: GoalId(row.get(0)?),
        version: ContractVersion(row.get(1)?),
        digest: Digest(row.get(2)?),
        text: Digest(row.get(3)?),
        base_dir: PathBuf::from(row.get::<_, String>(4)?),
        overrides: list(&row.get::<_, String>(5)?),
        me: Account(row.get(6)?),
        answers: list(&row.get::<_, String>(7)?),
        adopted_at: TimeMs(row.get(8)?),
        adopted_by: row.get(9)?,
        why: row.get(10)?,
        changes: list(&row.get::<_, String>(11)?),
        impact: row.get(12)?,
        impact_detail: (!detail.is_empty()).then_some(Digest(detail)),
    })
}

impl View<'_> {
    /// The current contract of a goal.
    pub fn contract(&self, goal: &GoalId) -> Answer<Option<ContractRow>> {
        Ok(self.contracts(goal, 1)?.pop())
    }

    /// The contract's versions, newest first, at most `limit`.
    pub fn contracts(&self, goal: &GoalId, limit: usize) -> Answer<Vec<ContractRow>> {
        self.all(
            &format!("{CONTRACT_COLUMNS} WHERE goal = ?1 ORDER BY version DESC LIMIT ?2"),
            params![goal.as_str(), limit as i64],
            contract_row,
        )
    }

    /// What judging each clause took so far, by the clause's last meaning.
    pub fn clause_costs(&self, goal: &GoalId) -> Answer<BTreeMap<ClauseId, ClauseCost>> {
        let rows = self.all(
            "SELECT clause, clause_digest, count(*), sum(spent), max(seq) FROM evidence
             WHERE goal = ?1 AND verdict = 'pass' AND spent > 0 GROUP BY clause, clause_digest ORDER BY max(seq)",
            params![goal.as_str()],
            |row| {
                let cost = ClauseCost {
                    clause_digest: Digest(row.get(1)?),
                    judgements: row.get::<_, i64>(2)?.max(0) as u64,
                    queries: row.get::<_, i64>(3)?.max(0) as u64,
                };
                Ok((ClauseId(row.get(0)?), cost))
            },
        )?;
        // The last meaning of a clause comes last.
        Ok(rows.into_iter().collect())
    }

    /// Queries of first and of repeated judgements. A judgement under a changed clause is a first one.
    pub fn rerun_measure(&self, goal: &GoalId) -> Answer<RerunMeasure> {
        let first = self.count(
            "SELECT coalesce(sum(spent), 0) FROM evidence WHERE seq IN
               (SELECT min(seq) FROM evidence WHERE goal = ?1 GROUP BY job, clause, clause_digest)",
            params![goal.as_str()],
        )?;
        let all = self.count(
            "SELECT coalesce(sum(queries), 0) FROM jobs WHERE goal = ?1",
            params![goal.as_str()],
        )?;
        Ok(RerunMeasure {
            first,
            again: all.saturating_sub(first),
        })
    }

    /// What each job left in staging: every staging run that the target confirmed.
    pub fn staging_resources(
        &self,
        goal: &GoalId,
    ) -> Answer<BTreeMap<JobId, Vec<StagingResource>>> {
        let rows = self.all(
            "SELECT job, operation, reference, intended_ms FROM operations
             WHERE goal = ?1 AND action = 'stage' AND state = 'applied' ORDER BY intended_ms, operation",
            params![goal.as_str()],
            |row| {
                let one = StagingResource {
                    operation: OperationId(row.get(1)?),
                    reference: row.get(2)?,
                    at: TimeMs(row.get(3)?),
                };
                Ok((JobId(row.get(0)?), one))
            },
        )?;
        let mut by_job: BTreeMap<JobId, Vec<StagingResource>> = BTreeMap::new();
        for (job, one) in rows {
            by_job.entry(job).or_default().push(one);
        }
        Ok(by_job)
    }

    /// What workers hold against clauses, newest first, at most 1,000.
    pub fn claims(&self, goal: &GoalId) -> Answer<Vec<ClaimRow>> {
        self.all(
            "SELECT seq, job, attempt, clause, why, at_ms FROM claims WHERE goal = ?1 ORDER BY seq DESC LIMIT ?2",
            params![goal.as_str(), MAX_CLAIMS],
            |row| {
                Ok(ClaimRow {
                    seq: Seq(row.get(0)?),
                    job: JobId(row.get(1)?),
                    attempt: AttemptNo(row.get(2)?),
                    clause: row.get(3)?,
                    why: row.get(4)?,
                    at: TimeMs(row.get(5)?),
                })
            },
        )
    }
}
