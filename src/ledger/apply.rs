//! The one function that writes projections: an event in, rows changed, in the event's transaction.

use super::event::{Act, Entry, Event};
use super::facts::JobFacts;
use crate::model::{GoalId, JobId, Seq, digest_bytes};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// The budget that queries count against.
pub(super) const QUERIES: &str = "warehouse_queries";

/// Facts by job, as of the last commit.
pub(super) type FactsCache = BTreeMap<(GoalId, JobId), JobFacts>;

/// Applies the events of one transaction; job rows are written once at its end.
pub(super) struct Applier<'a> {
    conn: &'a Connection,
    facts: &'a mut FactsCache,
    dirty: BTreeSet<(GoalId, JobId)>,
}

impl<'a> Applier<'a> {
    pub(super) fn new(conn: &'a Connection, facts: &'a mut FactsCache) -> Self {
        Self {
            conn,
            facts,
            dirty: BTreeSet::new(),
        }
    }

    /// Changes every projection that one entry concerns.
    pub(super) fn apply(&mut self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        self.apply_to_facts(entry)?;
        self.apply_goal(entry)?;
        self.apply_attempt(entry)?;
        self.apply_operation(entry)?;
        self.apply_check(seq, entry)?;
        self.apply_approval(entry)?;
        self.apply_decision(seq, entry)?;
        self.apply_goal_notes(seq, entry)
    }

    /// The job's facts so far, during a replay.
    pub(super) fn facts(&self, goal: &GoalId, job: &JobId) -> Option<&JobFacts> {
        self.facts.get(&(goal.clone(), job.clone()))
    }

    /// Writes the rows of all jobs that changed.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        for key in &self.dirty {
            if let Some(facts) = self.facts.get(key) {
                write_job(self.conn, facts)?;
            }
        }
        Ok(())
    }

    fn apply_to_facts(&mut self, entry: &Entry) -> rusqlite::Result<()> {
        let Some(job) = &entry.job else { return Ok(()) };
        if !entry.event.changes_job() {
            return Ok(());
        }
        let key = (entry.goal.clone(), job.clone());
        if let Some(added) = JobFacts::added(entry) {
            self.facts.insert(key.clone(), added);
        } else {
            if !self.facts.contains_key(&key)
                && let Some(loaded) = load_facts(self.conn, &entry.goal, job)?
            {
                self.facts.insert(key.clone(), loaded);
            }
            if let Some(facts) = self.facts.get_mut(&key) {
                facts.apply(entry);
            }
        }
        self.dirty.insert(key);
        Ok(())
    }

    fn apply_goal(&self, entry: &Entry) -> rusqlite::Result<()> {
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
            Event::JobRetried {} => {
                // A job that begins again takes the goal's end back.
                self.conn
                    .prepare_cached("UPDATE goals SET ended = NULL WHERE goal = ?1")?
                    .execute(params![goal])?;
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_attempt(&self, entry: &Entry) -> rusqlite::Result<()> {
        let (Some(job), Some(attempt)) = (&entry.job, entry.attempt) else {
            return Ok(());
        };
        match &entry.event {
            Event::AttemptStarted { strategy, .. } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO attempts(goal, job, attempt, strategy, started_ms, outcome, reason, remark)
                         VALUES (?1, ?2, ?3, ?4, ?5, '', '', '')",
                    )?
                    .execute(params![
                        entry.goal.as_str(),
                        job.as_str(),
                        attempt.0,
                        strategy.as_str(),
                        entry.at.0
                    ])?;
            }
            Event::ConfigProposed { config, remark } => {
                self.conn
                    .prepare_cached(
                        "UPDATE attempts SET config = ?4, remark = ?5 WHERE goal = ?1 AND job = ?2 AND attempt = ?3",
                    )?
                    .execute(params![
                        entry.goal.as_str(),
                        job.as_str(),
                        attempt.0,
                        config.as_str(),
                        remark
                    ])?;
            }
            Event::AttemptEnded { outcome, reason } => {
                self.conn
                    .prepare_cached(
                        "UPDATE attempts SET ended_ms = ?4, outcome = ?5, reason = ?6
                         WHERE goal = ?1 AND job = ?2 AND attempt = ?3",
                    )?
                    .execute(params![
                        entry.goal.as_str(),
                        job.as_str(),
                        attempt.0,
                        entry.at.0,
                        outcome,
                        reason
                    ])?;
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_operation(&self, entry: &Entry) -> rusqlite::Result<()> {
        let (id, observed) = match &entry.event {
            Event::OpIntended { operation, .. }
            | Event::OpSentAgain { operation, .. }
            | Event::OpRefused { operation, .. }
            | Event::OpUnknown { operation, .. }
            | Event::OpLookedUp { operation, .. } => (operation, None),
            Event::OpApplied {
                operation,
                observed,
                ..
            } => (operation, Some(observed.as_str())),
            _ => return Ok(()),
        };
        let Some(job) = &entry.job else { return Ok(()) };
        let key = (entry.goal.clone(), job.clone());
        let Some(one) = self
            .facts
            .get(&key)
            .and_then(|facts| facts.operations.get(id))
        else {
            return Ok(());
        };
        self.conn
            .prepare_cached(
                "INSERT INTO operations(operation, goal, job, attempt, action, config, ordinal, state, reference, why,
                   approval, upstream, sends, look_ups, to_verify, intended_ms, changed_ms, next_look_ms, observed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
                 ON CONFLICT (operation) DO UPDATE SET state = ?8, reference = ?9, why = ?10, sends = ?13,
                   look_ups = ?14, to_verify = ?15, changed_ms = ?17, next_look_ms = ?18, observed = ?19",
            )?
            .execute(params![
                one.id.as_str(),
                entry.goal.as_str(),
                job.as_str(),
                entry.attempt.map_or(0, |attempt| attempt.0),
                one.action.word(),
                one.config.as_str(),
                one.ordinal,
                one.state.word(),
                one.reference,
                one.why,
                one.approval.as_ref().map(|id| id.as_str()),
                one.upstream.to_string(),
                one.sends,
                one.look_ups,
                one.to_verify,
                one.intended_at.0,
                entry.at.0,
                one.next_look.map(|at| at.0),
                observed.unwrap_or_default()
            ])?;
        self.close_approval(entry)
    }

    /// The request's last line says what the approved action then did.
    fn close_approval(&self, entry: &Entry) -> rusqlite::Result<()> {
        let (id, outcome) = match &entry.event {
            Event::OpIntended { operation, .. } => (operation, "executing".to_owned()),
            Event::OpApplied {
                operation,
                reference,
                observed,
                ..
            } => (
                operation,
                format!("applied as {reference}. {observed}")
                    .trim()
                    .to_owned(),
            ),
            Event::OpRefused { operation, why, .. } => (operation, format!("refused: {why}")),
            Event::OpUnknown { operation, why, .. } | Event::OpLookedUp { operation, why, .. } => {
                (operation, format!("unknown: {why}"))
            }
            _ => return Ok(()),
        };
        let own = entry
            .job
            .as_ref()
            .and_then(|job| self.facts.get(&(entry.goal.clone(), job.clone())))
            .and_then(|facts| facts.approval.as_ref());
        self.conn
            .prepare_cached(
                "UPDATE approvals SET outcome = ?2, state = CASE WHEN approval = ?3 THEN ?4 ELSE state END
                 WHERE approval = (SELECT approval FROM operations WHERE operation = ?1)",
            )?
            .execute(params![
                id.as_str(),
                outcome,
                own.map(|own| own.id.as_str()),
                own.map(|own| own.state.word())
            ])?;
        Ok(())
    }

    fn apply_check(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        match &entry.event {
            Event::CheckStarted { reserved, day, .. } => {
                self.move_budget(goal, day, *reserved as i64, 0)
            }
            Event::CheckFailed { reserved, day, .. } => {
                self.move_budget(goal, day, -(*reserved as i64), *reserved as i64)
            }
            Event::EvidenceRecorded {
                clause,
                config,
                lineage,
                checker,
                operation,
                verdict,
                summary,
                detail,
                spent,
                reserved,
                day,
                ..
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO evidence(seq, goal, job, attempt, clause, verdict, summary, config, lineage,
                           checker, operation, detail, spent, at_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        entry.job.as_ref().map_or("", |job| job.as_str()),
                        entry.attempt.map_or(0, |attempt| attempt.0),
                        clause.as_str(),
                        verdict.word(),
                        summary,
                        config.as_str(),
                        lineage.as_str(),
                        checker.as_str(),
                        operation.as_str(),
                        detail.as_str(),
                        *spent as i64,
                        entry.at.0
                    ])?;
                self.move_budget(goal, day, -(*reserved as i64), *spent as i64)
            }
            _ => Ok(()),
        }
    }

    fn move_budget(
        &self,
        goal: &str,
        day: &str,
        reserved: i64,
        spent: i64,
    ) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO budget_days(goal, budget, day, reserved, spent) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (goal, budget, day) DO UPDATE SET reserved = reserved + ?4, spent = spent + ?5",
            )?
            .execute(params![goal, QUERIES, day, reserved, spent])?;
        Ok(())
    }

    fn apply_approval(&self, entry: &Entry) -> rusqlite::Result<()> {
        match &entry.event {
            Event::ApprovalRequested {
                approval,
                digest,
                parts,
                consequences,
                expires_at,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO approvals(approval, goal, job, digest, parts, consequences, requested_ms,
                           expires_ms, state, reason, outcome)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'open', '', '')",
                    )?
                    .execute(params![
                        approval.as_str(),
                        entry.goal.as_str(),
                        entry.job.as_ref().map_or("", |job| job.as_str()),
                        digest.as_str(),
                        parts.to_string(),
                        json(consequences),
                        entry.at.0,
                        expires_at.map(|at| at.0)
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

    fn apply_decision(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
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

    fn apply_goal_notes(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
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

/// A job's facts from its row.
pub(super) fn load_facts(
    conn: &Connection,
    goal: &GoalId,
    job: &JobId,
) -> rusqlite::Result<Option<JobFacts>> {
    conn.prepare_cached("SELECT facts, facts_digest FROM jobs WHERE goal = ?1 AND job = ?2")?
        .query_row(params![goal.as_str(), job.as_str()], facts_of_row)
        .optional()
}

/// Facts from a row whose first two columns are the facts and their digest. A row that was changed by
/// anything but an entry is an error, not facts.
pub(super) fn facts_of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<JobFacts> {
    let text: String = row.get(0)?;
    let digest: String = row.get(1)?;
    let error = |why: String| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, why.into())
    };
    if digest_bytes(text.as_bytes()).0 != digest {
        return Err(error("a job's row does not match its digest".to_owned()));
    }
    serde_json::from_str(&text).map_err(|why| error(why.to_string()))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn write_job(conn: &Connection, facts: &JobFacts) -> rusqlite::Result<()> {
    let wait = facts.wait.as_ref();
    let to_verify = facts.operations.values().any(|one| one.to_verify);
    let text = json(facts);
    conn.prepare_cached(
        "INSERT OR REPLACE INTO jobs(goal, job, position, title, state, reason, strategy, attempt, tries,
           clauses_passed, clauses_total, paused, to_verify, high_risk, wait_kind, wait_reason, wait_since_ms,
           next_check_ms, overdue_ms, queries, last_progress_ms, facts, facts_digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)",
    )?
    .execute(params![
        facts.goal.as_str(),
        facts.id.as_str(),
        facts.position as i64,
        facts.title,
        facts.state.word(),
        facts.reason,
        facts.strategy,
        facts.attempt.0,
        facts.tries_total,
        facts.passed() as i64,
        facts.clauses.len() as i64,
        facts.paused,
        to_verify,
        facts.high_risk,
        wait.map(|wait| wait.kind.word()),
        wait.map(|wait| wait.reason.as_str()),
        wait.map(|wait| wait.since.0),
        wait.map(|wait| wait.next_check.0),
        wait.map(|wait| wait.overdue.0),
        facts.queries as i64,
        facts.last_progress.0,
        text,
        digest_bytes(text.as_bytes()).as_str(),
    ])?;
    Ok(())
}
