//! What an entry about attempts, checks or people changes.

use super::{
    ApprovalFacts, ApprovalState, ClauseFacts, DateFacts, JobFacts, MAX_FAILURES_KEPT, OpenCheck,
    RollbackFacts, SampleFacts, WaitFacts, WaiverFacts,
};
use crate::ledger::event::{Entry, Event};
use crate::model::{Action, EvidenceKind, FailureClass, JobState, OperationState, Verdict};

impl JobFacts {
    pub(super) fn apply_attempt(&mut self, entry: &Entry) {
        match &entry.event {
            Event::JobMoved { state, reason } => {
                self.state = *state;
                self.reason.clone_from(reason);
                if state.has_ended() {
                    self.not_before = None;
                    self.sample = None;
                }
                if *state == JobState::CutOver {
                    self.confirmed = true;
                    self.outdated = false;
                }
                if *state == JobState::Reverify {
                    self.confirmed = true;
                    self.check_tries = 0;
                    self.refusals = 0;
                    self.staging_tries = 0;
                    self.config_refused = None;
                }
            }
            Event::JobReplanned(one) => {
                self.plan = one.plan;
                self.strategy = one.strategy_index;
            }
            Event::AttemptStarted {
                strategy_index,
                words,
                plan,
                ..
            } => {
                self.plan = *plan;
                if self.strategy != Some(*strategy_index) {
                    self.repair_rounds = 0;
                }
                self.strategy = Some(*strategy_index);
                self.attempt = entry.attempt.unwrap_or(self.attempt);
                self.attempt_open = true;
                self.comment_given = self.comment.take();
                self.goal_words_given = words.as_ref().map(|one| one.text.clone());
                if let Some(one) = words {
                    self.goal_words = Some(one.decision.clone());
                }
                self.prepare_tries = 0;
                self.forget_config();
            }
            Event::AttemptEnded { .. } => {
                self.attempt_open = false;
                self.comment_given = None;
                self.goal_words_given = None;
            }
            Event::ConfigProposed { config, .. } => {
                self.forget_config();
                self.config = Some(config.clone());
                self.last_progress = entry.at;
            }
            Event::PrepareFailed {
                class,
                why,
                retry_at,
            } => {
                self.prepare_tries += 1;
                self.not_before = *retry_at;
                if *class == FailureClass::Job {
                    self.prepare_refused = Some(why.clone());
                }
            }
            Event::ConfigFailed { failures } => {
                self.repair_rounds += 1;
                self.failed_config = self.config.clone();
                self.last_failures = failures.iter().take(MAX_FAILURES_KEPT).cloned().collect();
                self.last_progress = entry.at;
            }
            Event::TriesGivenBack {
                staging,
                refusals,
                prepares,
                checks,
                ..
            } => {
                self.staging_tries = self.staging_tries.saturating_sub(*staging);
                self.tries_total = self.tries_total.saturating_sub(*staging);
                self.refusals = self.refusals.saturating_sub(*refusals);
                self.prepare_tries = self.prepare_tries.saturating_sub(*prepares);
                self.check_tries = self.check_tries.saturating_sub(*checks);
                self.given_back += staging + refusals + prepares + checks;
                self.not_before = None;
            }
            Event::JobRescoped {
                clauses, high_risk, ..
            } => {
                self.clauses = clauses.iter().map(|(id, _)| id.clone()).collect();
                self.clause_digests = clauses.iter().cloned().collect();
                self.high_risk = *high_risk;
                let holds = |own: &SampleFacts| {
                    self.clause_digests.get(&own.clause) == Some(&own.clause_digest)
                };
                self.sample = self.sample.take().filter(holds);
            }
            Event::JobOutdated { .. } => self.outdated = true,
            Event::JobRedefined { definition } => {
                self.definition = definition.clone();
                self.last_progress = entry.at;
                // A job that has ended keeps its end; any other begins again from what is true now.
                if !self.state.has_ended() && self.production.is_none() {
                    self.begin_again();
                }
            }
            Event::JobRetried {} => {
                // An operator who asks for a try overrules what the source holds against it.
                self.hold = None;
                self.rollback = None;
                self.begin_again();
            }
            _ => {}
        }
    }

    /// From the first strategy, as if nothing had been tried.
    fn begin_again(&mut self) {
        self.approval = None;
        self.strategy = None;
        self.attempt_open = false;
        self.repair_rounds = 0;
        self.failed_config = None;
        self.last_failures.clear();
        self.dates = DateFacts::default();
        // A try that took the old verdicts over would not be one; passes stay valid by their key.
        self.evidence.retain(|_, one| one.verdict == Verdict::Pass);
        self.forget_config();
    }

    /// What belonged to the config before means nothing for the next; unknown outcomes stay.
    pub(super) fn forget_config(&mut self) {
        self.config = None;
        self.prepare_refused = None;
        self.config_refused = None;
        self.given_back = 0;
        self.staging_tries = 0;
        self.refusals = 0;
        self.check_tries = 0;
        self.not_before = None;
        self.run = None;
        self.sample = None;
        self.operations.retain(|_, operation| {
            matches!(
                operation.state,
                OperationState::Intended | OperationState::Unknown
            )
        });
    }

    pub(super) fn apply_check(&mut self, entry: &Entry) {
        match &entry.event {
            Event::CheckStarted {
                clause,
                reserved,
                day,
            } => {
                self.open_check = Some(OpenCheck {
                    clause: clause.clone(),
                    reserved: *reserved,
                    day: day.clone(),
                });
                self.not_before = None;
            }
            Event::CheckFailed {
                retry_at, reserved, ..
            } => {
                self.open_check = None;
                self.check_tries += 1;
                self.queries += reserved;
                self.not_before = *retry_at;
            }
            Event::SampleAsked(one) => {
                self.open_check = None;
                self.check_tries = 0;
                self.queries += one.spent;
                self.last_progress = entry.at;
                self.sample = Some(SampleFacts {
                    id: one.sample.clone(),
                    clause: one.clause.clone(),
                    clause_digest: one.clause_digest.clone(),
                    config: one.config.clone(),
                    lineage: one.lineage.clone(),
                    checker: one.checker.clone(),
                    operation: one.operation.clone(),
                    rows: one.rows,
                    detail: one.detail.clone(),
                    asked_at: entry.at,
                });
            }
            // What was chosen from a run means nothing for the next.
            Event::OpIntended {
                action: Action::Stage,
                ..
            } => self.sample = None,
            Event::DateChosen { date, .. } => {
                self.last_progress = entry.at;
                match date {
                    None => self.dates.exhausted = true,
                    Some(date) => {
                        self.dates.chosen.push(date.clone());
                        // All clauses speak of one run, and that run is yet to be.
                        self.evidence.clear();
                        self.run = None;
                    }
                }
            }
            Event::BudgetSettled { spent, .. } => {
                for (budget, amount) in spent {
                    let all = self.spent.entry(*budget).or_default();
                    *all = all.saturating_add(*amount);
                }
            }
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
                if *by == EvidenceKind::Person {
                    self.sample = None;
                }
                self.open_check = None;
                self.check_tries = 0;
                self.queries += spent;
                self.last_progress = entry.at;
                self.evidence.insert(
                    clause.clone(),
                    ClauseFacts {
                        clause_digest: clause_digest.clone(),
                        config: config.clone(),
                        lineage: lineage.clone(),
                        checker: checker.clone(),
                        operation: operation.clone(),
                        by: *by,
                        verdict: *verdict,
                        summary: summary.clone(),
                        detail: detail.clone(),
                    },
                );
            }
            _ => {}
        }
    }

    pub(super) fn apply_people(&mut self, entry: &Entry) {
        match &entry.event {
            Event::RollbackAsked { reason } => {
                self.rollback = Some(RollbackFacts {
                    by: entry.actor.person().to_owned(),
                    reason: reason.clone(),
                    done: false,
                    refused: None,
                });
            }
            Event::RollbackDropped { .. } => self.rollback = None,
            Event::ApprovalRequested {
                approval,
                action,
                digest,
                expires_at,
                ..
            } => {
                self.approval = Some(ApprovalFacts {
                    id: approval.clone(),
                    action: *action,
                    digest: digest.clone(),
                    state: ApprovalState::Open,
                    requested_at: entry.at,
                    expires_at: *expires_at,
                    decided: String::new(),
                });
                self.requests += 1;
                self.last_progress = entry.at;
            }
            Event::ApprovalDecided {
                approval,
                approved,
                by,
                reason,
            } => {
                if let Some(own) = self.approval.as_mut().filter(|own| own.id == *approval) {
                    own.state = if *approved {
                        ApprovalState::Approved
                    } else {
                        ApprovalState::Rejected
                    };
                    own.decided = format!("{by}: {reason}");
                    self.last_progress = entry.at;
                }
            }
            Event::ApprovalVoided { approval, .. } => {
                if let Some(own) = self.approval.as_mut().filter(|own| own.id == *approval) {
                    own.state = ApprovalState::Void;
                }
            }
            Event::WaitStarted {
                wait,
                reason,
                wakes,
                next_check,
                overdue,
            } => {
                // A wait that is written again because its next look moved is the same wait.
                let since = self
                    .wait
                    .as_ref()
                    .filter(|own| own.kind == *wait && own.reason == *reason)
                    .map_or(entry.at, |own| own.since);
                self.wait = Some(WaitFacts {
                    kind: *wait,
                    reason: reason.clone(),
                    wakes: wakes.clone(),
                    since,
                    next_check: *next_check,
                    overdue: *overdue,
                });
            }
            Event::ClauseWaived {
                clause,
                clause_digest,
                config,
                by,
                reason,
            } => {
                self.waivers.insert(
                    clause.clone(),
                    WaiverFacts {
                        clause_digest: clause_digest.clone(),
                        config: config.clone(),
                        by: by.clone(),
                        reason: reason.clone(),
                        at: entry.at,
                    },
                );
                self.last_progress = entry.at;
            }
            Event::JobPaused {} => self.paused = true,
            Event::JobResumed {} => self.paused = false,
            Event::JobCommented { text } => self.comment = Some(text.clone()),
            _ => {}
        }
    }
}
