//! What the ledger knows of one job, and the one pure function that changes it.

use super::event::{Entry, Event};
use crate::model::{
    Action, ApprovalId, AttemptNo, ClauseId, Digest, FailureClass, GoalId, JobId, JobState,
    OperationId, OperationState, TimeMs, Verdict, WaitKind, Wake,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Failures of one config that are kept for the next attempt.
const MAX_FAILURES_KEPT: usize = 16;

/// A side effect of the current attempt or one without a known outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationFacts {
    /// Its id.
    pub id: OperationId,
    /// What.
    pub action: Action,
    /// Which config.
    pub config: Digest,
    /// Which deliberate run of it.
    pub ordinal: u32,
    /// What it was built upon.
    pub upstream: Value,
    /// The approval it used.
    pub approval: Option<ApprovalId>,
    /// Where it stands.
    pub state: OperationState,
    /// The target's reference, once applied.
    pub reference: String,
    /// Why refused or unknown.
    pub why: String,
    /// When it was intended.
    pub intended_at: TimeMs,
    /// How often the same id was sent.
    pub sends: u32,
    /// Look-ups without an answer.
    pub look_ups: u32,
    /// When it is looked up next.
    pub next_look: Option<TimeMs>,
    /// Whether it needs a person.
    pub to_verify: bool,
}

/// A clause's last word under one validity key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClauseFacts {
    /// Digest of the clause judged.
    pub clause_digest: Digest,
    /// Config judged.
    pub config: Digest,
    /// Lineage judged under.
    pub lineage: Digest,
    /// Checker that judged.
    pub checker: Digest,
    /// Staging run judged.
    pub operation: OperationId,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence.
    pub summary: String,
    /// Blob of the evidence.
    pub detail: Digest,
}

/// The job's open or last request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalFacts {
    /// Its id.
    pub id: ApprovalId,
    /// What it is bound to.
    pub digest: Digest,
    /// Open, or how it was decided.
    pub state: ApprovalState,
    /// When it was asked.
    pub requested_at: TimeMs,
    /// When it expires.
    pub expires_at: Option<TimeMs>,
    /// Who decided and why, for the record.
    pub decided: String,
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Before the approver.
    Open,
    /// Yes, and not used yet.
    Approved,
    /// No.
    Rejected,
    /// Means nothing any more.
    Void,
    /// Its cutover was intended; it can start nothing else.
    Used,
}

impl ApprovalState {
    /// The word in the ledger and on screen.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Void => "void",
            Self::Used => "used",
        }
    }
}

/// What the job waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitFacts {
    /// For what.
    pub kind: WaitKind,
    /// One sentence.
    pub reason: String,
    /// What would end it.
    pub wakes: Vec<Wake>,
    /// Since when.
    pub since: TimeMs,
    /// When it is looked at again in any case.
    pub next_check: TimeMs,
    /// When it counts as stalled.
    pub overdue: TimeMs,
}

/// A check that was started and has no end in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCheck {
    /// The clause.
    pub clause: ClauseId,
    /// Queries reserved.
    pub reserved: u64,
    /// The day they count for.
    pub day: String,
}

/// The staging run of the current config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunFacts {
    /// Started and not seen to end.
    Going {
        /// The operation that started it.
        operation: OperationId,
    },
    /// Exited well.
    Succeeded {
        /// The operation that started it.
        operation: OperationId,
    },
    /// Failed.
    Failed {
        /// The operation that started it.
        operation: OperationId,
        /// Whose failure.
        class: FailureClass,
        /// One line.
        why: String,
    },
}

/// All that the ledger knows of a job now; history is in the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFacts {
    /// The goal.
    pub goal: GoalId,
    /// The job.
    pub id: JobId,
    /// Place in the source's order.
    pub position: u64,
    /// One line.
    pub title: String,
    /// Words that clauses can name.
    pub tags: Vec<String>,
    /// Jobs upstream.
    pub depends_on: Vec<JobId>,
    /// Where the old definition stands.
    pub origin: String,
    /// Blob of the old definition.
    pub definition: Digest,
    /// The table it writes, as JSON.
    pub output: Option<Value>,
    /// What keeps it from being migrated, as JSON.
    pub hold: Option<Value>,
    /// High risk by contract.
    pub high_risk: bool,
    /// Clauses that apply.
    pub clauses: Vec<ClauseId>,
    /// Its state.
    pub state: JobState,
    /// Why it is in this state.
    pub reason: String,
    /// Paused by an operator.
    pub paused: bool,
    /// An operator's words for the next attempt.
    pub comment: Option<String>,
    /// The words that the current attempt was given.
    pub comment_given: Option<String>,
    /// Current strategy, index into the plan; `None` before the first attempt.
    pub strategy: Option<u32>,
    /// Current attempt.
    pub attempt: AttemptNo,
    /// Whether the current attempt is still going on.
    pub attempt_open: bool,
    /// Tries of preparing in this attempt that failed for no fault of the job.
    pub prepare_tries: u32,
    /// Why the last try of preparing failed for good, if it did.
    pub prepare_refused: Option<String>,
    /// The current config.
    pub config: Option<Digest>,
    /// Why the config before failed.
    pub last_failures: Vec<String>,
    /// The config that failed last.
    pub failed_config: Option<Digest>,
    /// Staging runs of the current config that failed. One that is made again because of a change
    /// upstream is no try.
    pub staging_tries: u32,
    /// Staging runs of all configs, for people.
    pub tries_total: u32,
    /// Configs under the current strategy that failed.
    pub repair_rounds: u32,
    /// Refusals in a row that were not the job's fault.
    pub refusals: u32,
    /// Checks in a row that ended without a verdict.
    pub check_tries: u32,
    /// Nothing is tried again before this.
    pub not_before: Option<TimeMs>,
    /// The staging run of the current config.
    pub run: Option<RunFacts>,
    /// Why the target will never take this config, if it said so.
    pub config_refused: Option<String>,
    /// Operations of the current config, and any without a known outcome.
    pub operations: BTreeMap<OperationId, OperationFacts>,
    /// Operations intended so far, by action and config, for ordinals.
    pub ordinals: BTreeMap<String, u32>,
    /// Last word by clause.
    pub evidence: BTreeMap<ClauseId, ClauseFacts>,
    /// A check in progress.
    pub open_check: Option<OpenCheck>,
    /// Its request.
    pub approval: Option<ApprovalFacts>,
    /// Requests so far.
    pub requests: u32,
    /// What it waits for.
    pub wait: Option<WaitFacts>,
    /// Queries spent so far.
    pub queries: u64,
    /// The last entry that was progress: a config, a run's end, a verdict, a decision.
    pub last_progress: TimeMs,
    /// Reference of the cutover, once applied.
    pub production: Option<String>,
}

impl JobFacts {
    /// The job as its source listed it; `None` when the entry is no `job.added`.
    pub fn added(entry: &Entry) -> Option<Self> {
        let Event::JobAdded {
            position,
            title,
            tags,
            depends_on,
            origin,
            definition,
            output,
            hold,
            high_risk,
            clauses,
        } = &entry.event
        else {
            return None;
        };
        Some(Self {
            goal: entry.goal.clone(),
            id: entry.job.clone()?,
            position: *position,
            title: title.clone(),
            tags: tags.clone(),
            depends_on: depends_on.clone(),
            origin: origin.clone(),
            definition: definition.clone(),
            output: output.clone(),
            hold: hold.clone(),
            high_risk: *high_risk,
            clauses: clauses.clone(),
            state: JobState::Pending,
            reason: String::new(),
            paused: false,
            comment: None,
            comment_given: None,
            strategy: None,
            attempt: AttemptNo(0),
            attempt_open: false,
            prepare_tries: 0,
            prepare_refused: None,
            config: None,
            last_failures: Vec::new(),
            failed_config: None,
            staging_tries: 0,
            tries_total: 0,
            repair_rounds: 0,
            refusals: 0,
            check_tries: 0,
            not_before: None,
            run: None,
            config_refused: None,
            operations: BTreeMap::new(),
            ordinals: BTreeMap::new(),
            evidence: BTreeMap::new(),
            open_check: None,
            approval: None,
            requests: 0,
            wait: None,
            queries: 0,
            last_progress: entry.at,
            production: None,
        })
    }

    /// Key of [`JobFacts::ordinals`].
    pub fn ordinal_key(action: Action, config: &Digest) -> String {
        format!("{action}:{config}")
    }

    /// Changes the facts by one entry of this job. Pure: the same entries give the same facts.
    pub fn apply(&mut self, entry: &Entry) {
        if entry.event.ends_wait() {
            self.wait = None;
        }
        self.apply_attempt(entry);
        self.apply_operation(entry);
        self.apply_check(entry);
        self.apply_people(entry);
    }

    fn apply_attempt(&mut self, entry: &Entry) {
        match &entry.event {
            Event::JobMoved { state, reason } => {
                self.state = *state;
                self.reason.clone_from(reason);
                if state.has_ended() {
                    self.not_before = None;
                }
            }
            Event::AttemptStarted { strategy_index, .. } => {
                if self.strategy != Some(*strategy_index) {
                    self.repair_rounds = 0;
                }
                self.strategy = Some(*strategy_index);
                self.attempt = entry.attempt.unwrap_or(self.attempt);
                self.attempt_open = true;
                self.comment_given = self.comment.take();
                self.prepare_tries = 0;
                self.forget_config();
            }
            Event::AttemptEnded { .. } => {
                self.attempt_open = false;
                self.comment_given = None;
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
            Event::JobRetried {} => {
                // An operator who asks for a try overrules what the source holds against it.
                self.hold = None;
                self.approval = None;
                self.strategy = None;
                self.attempt_open = false;
                self.repair_rounds = 0;
                self.failed_config = None;
                self.last_failures.clear();
                // A try that took the old verdicts over would not be one; passes stay valid by their key.
                self.evidence.retain(|_, one| one.verdict == Verdict::Pass);
                self.forget_config();
            }
            _ => {}
        }
    }

    /// What belonged to the config before means nothing for the next; unknown outcomes stay.
    fn forget_config(&mut self) {
        self.config = None;
        self.prepare_refused = None;
        self.config_refused = None;
        self.staging_tries = 0;
        self.refusals = 0;
        self.check_tries = 0;
        self.not_before = None;
        self.run = None;
        self.operations.retain(|_, operation| {
            matches!(
                operation.state,
                OperationState::Intended | OperationState::Unknown
            )
        });
    }

    fn apply_operation(&mut self, entry: &Entry) {
        match &entry.event {
            Event::OpIntended {
                operation,
                action,
                config,
                ordinal,
                upstream,
                approval,
            } => {
                self.ordinals
                    .insert(Self::ordinal_key(*action, config), *ordinal);
                self.operations.insert(
                    operation.clone(),
                    OperationFacts {
                        id: operation.clone(),
                        action: *action,
                        config: config.clone(),
                        ordinal: *ordinal,
                        upstream: upstream.clone(),
                        approval: approval.clone(),
                        state: OperationState::Intended,
                        reference: String::new(),
                        why: String::new(),
                        intended_at: entry.at,
                        sends: 1,
                        look_ups: 0,
                        next_look: None,
                        to_verify: false,
                    },
                );
                self.not_before = None;
                if let (Some(id), Some(own)) = (approval, self.approval.as_mut())
                    && own.id == *id
                {
                    own.state = ApprovalState::Used;
                }
            }
            Event::OpSentAgain { operation, .. } => self.with_operation(operation, |facts| {
                facts.sends += 1;
                facts.state = OperationState::Intended;
                facts.next_look = None;
            }),
            Event::OpApplied {
                operation,
                reference,
                ..
            } => {
                self.with_operation(operation, |facts| {
                    facts.state = OperationState::Applied;
                    facts.reference.clone_from(reference);
                    facts.why.clear();
                    facts.next_look = None;
                    facts.to_verify = false;
                });
                self.after_applied(operation, reference, entry.at);
            }
            Event::OpRefused {
                operation,
                why,
                class,
                retry_at,
            } => {
                self.with_operation(operation, |facts| {
                    facts.state = OperationState::Refused;
                    facts.why.clone_from(why);
                    facts.next_look = None;
                    facts.to_verify = false;
                });
                self.after_refused(operation, why, *class, *retry_at);
            }
            Event::OpUnknown {
                operation,
                why,
                next_look,
            } => self.with_operation(operation, |facts| {
                facts.state = OperationState::Unknown;
                facts.why.clone_from(why);
                facts.next_look = Some(*next_look);
            }),
            Event::OpLookedUp {
                operation,
                why,
                next_look,
                to_verify,
                ..
            } => {
                self.with_operation(operation, |facts| {
                    facts.state = OperationState::Unknown;
                    facts.look_ups += 1;
                    facts.why.clone_from(why);
                    facts.next_look = Some(*next_look);
                    facts.to_verify = *to_verify;
                });
            }
            Event::RunSucceeded { operation, .. } => {
                self.run = Some(RunFacts::Succeeded {
                    operation: operation.clone(),
                });
                self.last_progress = entry.at;
            }
            Event::RunFailed {
                operation,
                class,
                why,
                retry_at,
                ..
            } => {
                self.run = Some(RunFacts::Failed {
                    operation: operation.clone(),
                    class: *class,
                    why: why.clone(),
                });
                self.staging_tries += 1;
                self.not_before = *retry_at;
                self.last_progress = entry.at;
            }
            _ => {}
        }
    }

    fn with_operation(&mut self, id: &OperationId, change: impl FnOnce(&mut OperationFacts)) {
        if let Some(facts) = self.operations.get_mut(id) {
            change(facts);
        }
    }

    fn after_applied(&mut self, id: &OperationId, reference: &str, at: TimeMs) {
        let Some(operation) = self.operations.get(id) else {
            return;
        };
        self.refusals = 0;
        match operation.action {
            // A run of a config that was replaced meanwhile settles, and counts for nothing.
            Action::Stage if self.config.as_ref() == Some(&operation.config) => {
                self.tries_total += 1;
                self.run = Some(RunFacts::Going {
                    operation: id.clone(),
                });
            }
            Action::Stage => {}
            Action::CutOver => {
                self.production = Some(reference.to_owned());
                // What is in production is the job's config, also when a retry had begun meanwhile: jobs
                // below it build upon that.
                self.config = Some(operation.config.clone());
                self.last_progress = at;
            }
        }
    }

    fn after_refused(
        &mut self,
        id: &OperationId,
        why: &str,
        class: FailureClass,
        retry_at: Option<TimeMs>,
    ) {
        let Some(operation) = self.operations.get(id) else {
            return;
        };
        self.not_before = retry_at;
        if class == FailureClass::Job {
            self.config_refused = Some(why.to_owned());
        } else {
            self.refusals += 1;
            // Nothing happened, so the person's yes still stands for the same thing.
            if let (Some(used), Some(own)) = (&operation.approval, self.approval.as_mut())
                && own.id == *used
                && own.state == ApprovalState::Used
            {
                own.state = ApprovalState::Approved;
            }
        }
    }

    fn apply_check(&mut self, entry: &Entry) {
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
            Event::EvidenceRecorded {
                clause,
                clause_digest,
                config,
                lineage,
                checker,
                operation,
                verdict,
                summary,
                detail,
                spent,
                ..
            } => {
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
                        verdict: *verdict,
                        summary: summary.clone(),
                        detail: detail.clone(),
                    },
                );
            }
            _ => {}
        }
    }

    fn apply_people(&mut self, entry: &Entry) {
        match &entry.event {
            Event::ApprovalRequested {
                approval,
                digest,
                expires_at,
                ..
            } => {
                self.approval = Some(ApprovalFacts {
                    id: approval.clone(),
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
            Event::JobPaused {} => self.paused = true,
            Event::JobResumed {} => self.paused = false,
            Event::JobCommented { text } => self.comment = Some(text.clone()),
            _ => {}
        }
    }

    /// Operations whose outcome is not known, oldest first.
    pub fn unsettled(&self) -> impl Iterator<Item = &OperationFacts> {
        let mut open: Vec<&OperationFacts> = self
            .operations
            .values()
            .filter(|one| {
                matches!(
                    one.state,
                    OperationState::Intended | OperationState::Unknown
                )
            })
            .collect();
        open.sort_by(|a, b| (a.intended_at, &a.id).cmp(&(b.intended_at, &b.id)));
        open.into_iter()
    }

    /// Clauses with a pass for the current config.
    pub fn passed(&self) -> usize {
        self.clauses
            .iter()
            .filter(|id| {
                self.evidence.get(*id).is_some_and(|one| {
                    one.verdict == Verdict::Pass && Some(&one.config) == self.config.as_ref()
                })
            })
            .count()
    }
}
