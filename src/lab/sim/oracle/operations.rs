//! Operations: intended before they are made, one outcome each, nothing else while one is open. And
//! checks: reserved before they are made, within the day's wall.

use super::{EvidenceLog, JobLog, OperationLog, Oracle, Outcome, lineage_of, stored_lineage};
use crate::contract::Limits;
use crate::ledger::event::Event;
use crate::model::{Action, JobId, LogicalDate, OperationId, TimeMs, Verdict};

impl Oracle {
    pub(super) fn read_operation(&mut self, id: &JobId, at: TimeMs, event: &Event) {
        match event {
            Event::OpIntended { operation, .. } => {
                self.check_intent(id, at, event);
                self.add_operation(id, operation, event);
            }
            Event::OpSentAgain { operation, .. } => {
                let Some(own) = self.operation(id, operation) else {
                    return;
                };
                if own.outcome != Outcome::Open {
                    self.flag("only an open operation is sent again", operation.as_str());
                }
                if !self.terms.proven.contains(own.action.word()) {
                    self.flag(
                        "nothing is sent again without a proof",
                        format!("{} {operation}", own.action),
                    );
                }
            }
            Event::OpApplied { operation, how, .. } => {
                self.settle(id, operation, Outcome::Applied, how == "ruling");
            }
            Event::OpRefused { operation, why, .. } => {
                self.settle(id, operation, Outcome::Refused, why.starts_with("ruled by"));
            }
            Event::OpUnknown { operation, .. } => self.open_again(id, operation, None),
            Event::OpLookedUp {
                operation,
                to_verify,
                ..
            } => self.open_again(id, operation, Some(*to_verify)),
            Event::RunSucceeded { operation, .. } => {
                let staged = self.operation(id, operation).is_some_and(|one| {
                    one.action == Action::Stage && one.outcome == Outcome::Applied
                });
                if !staged {
                    self.flag("a run has its staging", operation.as_str());
                }
                if let Some(job) = self.jobs.get_mut(id) {
                    job.succeeded.insert(operation.clone());
                    job.last_run = Some(operation.clone());
                    job.run_stands = true;
                    job.outdated = false;
                }
            }
            _ => {}
        }
    }

    fn operation(&mut self, id: &JobId, operation: &OperationId) -> Option<OperationLog> {
        let found = self
            .jobs
            .get(id)
            .and_then(|job| job.operations.get(operation))
            .cloned();
        if found.is_none() {
            self.flag("an outcome has its intent", operation.as_str());
        }
        found
    }

    /// What must hold before any side effect.
    fn check_intent(&mut self, id: &JobId, at: TimeMs, event: &Event) {
        let Event::OpIntended {
            operation,
            action,
            config,
            upstream,
            approval,
            ..
        } = event
        else {
            return;
        };
        let known = self
            .jobs
            .values()
            .any(|job| job.operations.contains_key(operation));
        if known {
            self.flag("an operation's id is used once", operation.as_str());
        }
        let Some(job) = self.jobs.get(id).cloned() else {
            self.flag("an operation has its job", id.as_str());
            return;
        };
        if let Some((open, _)) = job
            .operations
            .iter()
            .find(|(_, one)| one.outcome == Outcome::Open)
        {
            self.flag(
                "outcomes are settled first",
                format!("{id}: {operation} while {open} is open"),
            );
        }
        if job.state.has_ended() || job.paused {
            let why = if job.paused { "paused" } else { "ended" };
            self.flag(
                "nothing is started for a job that is paused or ended",
                format!("{id} is {why}"),
            );
        }
        if job.config.as_ref() != Some(config) {
            self.flag("what is acted on is the current config", id.as_str());
        }
        match (stored_lineage(upstream), self.ground(&job)) {
            (Some(said), Ok(real)) if said == real => {}
            (_, Ok(_)) => self.flag("what it is built upon is what is there", id.as_str()),
            (_, Err(up)) => self.flag(
                "nothing is built upon what may change",
                format!("{id} upon {up}"),
            ),
        }
        if *action == Action::CutOver && self.follows(&job) {
            self.flag(
                "a job follows its upstream jobs into production",
                format!("{id}: {operation}"),
            );
        }
        if *action == Action::CutOver {
            self.check_cut_over(id, &job, at, event, approval.as_ref());
        }
    }

    fn add_operation(&mut self, id: &JobId, operation: &OperationId, event: &Event) {
        let Event::OpIntended {
            action,
            config,
            upstream,
            approval,
            ..
        } = event
        else {
            return;
        };
        let ground = stored_lineage(upstream).unwrap_or_default();
        let log = OperationLog {
            action: *action,
            config: config.clone(),
            lineage: lineage_of(&ground),
            upon: (!ground.is_empty()).then(|| lineage_of(&ground)),
            approval: approval.clone(),
            outcome: Outcome::Open,
            to_verify: false,
            ruled: false,
        };
        if let Some(job) = self.jobs.get_mut(id) {
            job.operations.insert(operation.clone(), log);
        }
    }

    fn settle(&mut self, id: &JobId, operation: &OperationId, outcome: Outcome, ruled: bool) {
        let Some(own) = self.operation(id, operation) else {
            return;
        };
        // The environment's word corrects a person's; nothing else is settled twice.
        let corrects = own.ruled && own.outcome == Outcome::Refused && outcome == Outcome::Applied;
        if own.outcome != Outcome::Open && !corrects {
            self.flag(
                "an operation has one outcome",
                format!("{id}: {operation} {:?}, then {outcome:?}", own.outcome),
            );
        }
        if let Some(own) = self.mutable(id, operation) {
            own.outcome = outcome;
            own.to_verify = false;
            own.ruled = ruled;
        }
        if own.action == Action::CutOver
            && outcome == Outcome::Applied
            && let Some(job) = self.jobs.get_mut(id)
        {
            // What is in production is the job's config, whatever a retry had begun meanwhile.
            job.config = Some(own.config.clone());
            job.production = Some((own.config, own.upon));
        }
    }

    fn open_again(&mut self, id: &JobId, operation: &OperationId, to_verify: Option<bool>) {
        let Some(own) = self.operation(id, operation) else {
            return;
        };
        if own.outcome != Outcome::Open {
            self.flag(
                "a known outcome is not forgotten",
                format!("{id}: {operation} was {:?}", own.outcome),
            );
        }
        if let Some(own) = self.mutable(id, operation) {
            own.outcome = Outcome::Open;
            own.to_verify = to_verify.unwrap_or(own.to_verify);
        }
    }

    fn mutable(&mut self, id: &JobId, operation: &OperationId) -> Option<&mut OperationLog> {
        self.jobs.get_mut(id)?.operations.get_mut(operation)
    }

    pub(super) fn read_check(&mut self, id: &JobId, event: &Event) {
        match event {
            Event::CheckStarted {
                clause,
                reserved,
                day,
            } => {
                self.spend(id, day, 0, *reserved, 0);
                let Some(job) = self.jobs.get_mut(id) else {
                    return;
                };
                if job.open_check.replace(clause.clone()).is_some() {
                    self.flag("one check at a time", id.as_str());
                }
            }
            Event::CheckFailed {
                clause,
                reserved,
                day,
                ..
            } => {
                self.spend(id, day, *reserved, 0, *reserved);
                self.end_check(id, clause);
            }
            Event::EvidenceRecorded {
                clause,
                reserved,
                spent,
                day,
                ..
            } => {
                self.spend(id, day, *reserved, 0, *spent);
                self.end_check(id, clause);
                self.add_evidence(id, event);
            }
            Event::DateChosen { clause, date, .. } => self.change_date(id, clause, date.as_ref()),
            _ => {}
        }
    }

    /// Another logical date is for a job that is not in production and whose clause found nothing to compare.
    fn change_date(
        &mut self,
        id: &JobId,
        clause: &crate::model::ClauseId,
        date: Option<&LogicalDate>,
    ) {
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        let empty = job
            .evidence
            .get(clause)
            .is_some_and(|own| own.verdict == Verdict::Inconclusive);
        let allowed = empty && job.production.is_none();
        if date.is_some() {
            job.dates += 1;
            job.evidence.clear();
            job.run_stands = false;
        }
        let many = job.dates > Limits::default().other_dates;
        if !allowed || many {
            self.flag(
                "another date is for what could not be compared",
                format!("{id}: {clause}, {date:?}"),
            );
        }
    }

    fn end_check(&mut self, id: &JobId, clause: &crate::model::ClauseId) {
        let open = self.jobs.get_mut(id).and_then(|job| job.open_check.take());
        if open.as_ref() != Some(clause) {
            self.flag("a check that ends was started", format!("{id}: {clause}"));
        }
    }

    fn spend(&mut self, id: &JobId, day: &str, freed: u64, reserved: u64, spent: u64) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.paid.0 = job.paid.0.saturating_sub(freed) + reserved;
            job.paid.1 += spent;
        }
        let entry = self.days.entry(day.to_owned()).or_default();
        let short = entry.0 < freed;
        entry.0 = entry.0.saturating_sub(freed) + reserved;
        entry.1 += spent;
        let total = entry.0 + entry.1;
        if short || spent > freed {
            self.flag("what is spent was reserved", day);
        }
        // A limit below what is used already crosses nothing; what begins after that does.
        if reserved > 0 && self.terms.queries_a_day.is_some_and(|limit| total > limit) {
            self.flag(
                "no budget wall is crossed",
                format!("{total} queries on {day}"),
            );
        }
    }

    /// Queries that the ledger paid for.
    pub(super) fn paid(&self) -> u64 {
        self.days
            .values()
            .map(|(reserved, spent)| reserved + spent)
            .sum()
    }

    fn add_evidence(&mut self, id: &JobId, event: &Event) {
        let Event::EvidenceRecorded {
            clause,
            clause_digest,
            config,
            lineage,
            checker,
            operation,
            verdict,
            detail,
            ..
        } = event
        else {
            return;
        };
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        let run = job.operations.get(operation);
        let sound = job.succeeded.contains(operation)
            && run.is_some_and(|one| one.config == *config && one.lineage == *lineage);
        job.evidence.insert(
            clause.clone(),
            EvidenceLog {
                verdict: *verdict,
                config: config.clone(),
                lineage: lineage.clone(),
                clause: clause_digest.clone(),
                checker: checker.clone(),
                operation: operation.clone(),
                detail: detail.clone(),
            },
        );
        if !sound {
            self.flag(
                "evidence is of a run of that config upon that lineage",
                format!("{id}: {clause}"),
            );
        }
    }
}

impl JobLog {
    /// The first clause without a pass for a config and a lineage.
    pub(super) fn not_passed(
        &self,
        terms: &super::Terms,
        config: &crate::model::Digest,
        lineage: &crate::model::Digest,
    ) -> Option<String> {
        if self.clauses.is_empty() {
            return Some("there is no clause".to_owned());
        }
        self.clauses.iter().find_map(|clause| {
            let waived = self.waived.get(clause).is_some_and(|(digest, of)| {
                of == config
                    && terms
                        .clauses
                        .get(clause)
                        .is_some_and(|(own, _)| own == digest)
            });
            if waived {
                return None;
            }
            let Some(own) = self.evidence.get(clause) else {
                return Some(format!("{clause}: no evidence"));
            };
            let key = terms.clauses.get(clause);
            let valid = own.config == *config
                && own.lineage == *lineage
                && key.is_some_and(|(clause, checker)| {
                    own.clause == *clause && own.checker == *checker
                })
                && self.succeeded.contains(&own.operation);
            match (valid, own.verdict) {
                (true, crate::model::Verdict::Pass) => None,
                (true, verdict) => Some(format!("{clause}: {verdict}")),
                (false, _) => Some(format!("{clause}: the evidence is stale")),
            }
        })
    }
}
