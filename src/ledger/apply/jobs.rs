//! Rows about attempts, operations and checks.

use super::Applier;
use crate::ledger::event::{Actor, Entry, Event};
use crate::model::Seq;
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_attempt(&self, entry: &Entry) -> rusqlite::Result<()> {
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
            Event::ConfigProposed { config, remark, .. } => {
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
                        "UPDATE attempts SET ended_ms = ?4, outcome = ?5, reason = ?6, no_new_evidence = ?7
                         WHERE goal = ?1 AND job = ?2 AND attempt = ?3",
                    )?
                    .execute(params![
                        entry.goal.as_str(),
                        job.as_str(),
                        attempt.0,
                        entry.at.0,
                        outcome,
                        reason,
                        self.facts
                            .get(&(entry.goal.clone(), job.clone()))
                            .is_some_and(|facts| !facts.spin.evidence_in_attempt)
                    ])?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn apply_operation(&self, entry: &Entry) -> rusqlite::Result<()> {
        let (id, observed) = match &entry.event {
            Event::OpIntended { operation, .. }
            | Event::OpSentAgain { operation, .. }
            | Event::OpRefused { operation, .. }
            | Event::OpUnknown { operation, .. }
            | Event::OpOverturned { operation, .. }
            | Event::OpUndone { operation, .. }
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
    pub(super) fn close_approval(&self, entry: &Entry) -> rusqlite::Result<()> {
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
            Event::OpOverturned { operation, why } => (operation, format!("not there: {why}")),
            Event::OpUndone { operation, why } => (operation, format!("undone by hand: {why}")),
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

    pub(super) fn apply_check(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        match &entry.event {
            Event::EvidenceRecorded {
                clause,
                clause_digest,
                config,
                lineage,
                checker,
                operation,
                by,
                verdict,
                summary,
                detail,
                spent,
                ..
            } => {
                let person = match &entry.actor {
                    Actor::Person(person) => Some(person.0.as_str()),
                    Actor::Engine => None,
                };
                self.conn
                    .prepare_cached(
                        "INSERT INTO evidence(seq, goal, job, attempt, clause, verdict, summary, config, lineage,
                           checker, operation, detail, spent, at_ms, clause_digest, kind, by)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
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
                        entry.at.0,
                        clause_digest.as_str(),
                        by.word(),
                        person
                    ])?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
