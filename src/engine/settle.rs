//! Answers into entries.

use super::call::Reply;
use super::cutover::CANNOT_TELL;
use super::decide::{Rules, Step, Waiting, decide};
use super::operation::{back_off_ms, event_of_effect, event_of_look_up};
use super::outage::Ended;
use super::outage::scan::{Tried, WINDOW_MS};
use super::rig::Sabotage;
use super::run::{Engine, EngineError, Errand};
use super::spin::change::changes;
use super::surroundings::{ClauseView, load_lineage};
use crate::check::Evidence;
use crate::ledger::event::Event;
use crate::ledger::facts::JobFacts;
use crate::model::{
    Action, Amounts, Budget, Digest, EvidenceKind, FailureClass, JobId, JobState, OperationId,
    OperationState, TimeMs, Verdict, WaitKind, Wake, WorldPart,
};
use crate::worker::{PrepareFailure, PrepareReply};
use crate::world::ports::{Effect, Lookup, PortError, RunState};

/// Largest config kept, in bytes.
const MAX_CONFIG_BYTES: usize = 1024 * 1024;
/// Longest name of a clause kept in a claim, in characters.
const MAX_CLAUSE_CHARS: usize = 64;
/// Longest remark, reason or log line kept in an entry, in characters.
const MAX_WORDS: usize = 2_000;
/// Largest log kept of a run, in bytes: its end, where the trouble is.
const MAX_LOG_BYTES: usize = 256 * 1024;

impl Engine {
    /// Writes what an answer means and lets the job go on.
    pub(super) fn settle_reply(
        &mut self,
        id: &JobId,
        errand: Errand,
        reply: Reply,
    ) -> Result<(), EngineError> {
        match (errand, reply) {
            (Errand::Prepare, Reply::Prepared(prepared)) => {
                let facts = self.facts(id)?;
                self.settle_attempt(id, &facts, prepared.spent.as_ref())?;
                self.tampered(id, &prepared.tampered)?;
                self.prepared(id, prepared.result)?;
            }
            (Errand::Effect(operation), Reply::Effect(effect)) => {
                self.effected(id, &operation, &effect)?
            }
            (Errand::LookUp(operation), Reply::LookUp(lookup)) => {
                self.looked_up(id, &operation, &lookup)?;
                self.settled_once(id);
            }
            (Errand::Watch(operation), Reply::RunState(result)) => {
                if self.watched(id, &operation, result)? == Next::AtTimer {
                    return Ok(());
                }
            }
            (Errand::Find(operation), Reply::LookUp(lookup)) => {
                if self.searched(id, &operation, &lookup)? == Next::AtTimer {
                    return Ok(());
                }
            }
            (
                Errand::Check {
                    clause,
                    lineage,
                    config,
                    operation,
                    day,
                },
                Reply::Checked(result),
            ) => {
                let key = CheckKey {
                    clause,
                    lineage,
                    config,
                    operation,
                    day,
                };
                self.checked(id, key, result)?;
            }
            (Errand::OtherDates { clause, why }, Reply::OtherDates(result)) => {
                if self.other_dates(id, clause, &why, result)? == Next::AtTimer {
                    return Ok(());
                }
            }
            (Errand::Request, Reply::Consequences(result)) => self.request(id, result)?,
            (Errand::Turn(turn), Reply::Turn(result)) => self.turn_answered(id, turn, result)?,
            (Errand::ToolQuery { turn, call }, Reply::ToolQuery(result)) => {
                self.query_answered(id, turn, &call, result)?;
            }
            (Errand::OldHost { turn, call }, Reply::OldHost(result)) => {
                self.old_host_answered(id, turn, &call, result)?;
            }
            (Errand::Confirm, reply @ Reply::Consequences(_)) => {
                if self.confirmed(id, reply)? == Next::AtTimer {
                    return Ok(());
                }
            }
            (Errand::Compare(question, tries), reply) => {
                self.compared(question, tries, reply);
                return Ok(());
            }
            (errand, _) => {
                let why =
                    format!("an answer of the wrong kind came for {errand:?}; this is a defect");
                self.hand_over(id, &why)?;
            }
        }
        self.index.mark_ready(id);
        Ok(())
    }

    fn prepared(
        &mut self,
        id: &JobId,
        result: Result<PrepareReply, PrepareFailure>,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        if facts.state.has_ended() {
            return Ok(());
        }
        let ended = match &result {
            Err(failure) if failure.class != FailureClass::Job => Ended::Failed,
            _ => Ended::Worked,
        };
        let last = facts.prepare_tries + 1 >= self.goal.contract.limits.staging_tries;
        let event = match result {
            Ok(reply) if reply.config.len() > MAX_CONFIG_BYTES => Event::PrepareFailed {
                class: FailureClass::Job,
                why: format!(
                    "the config has {} bytes; at most {MAX_CONFIG_BYTES} are kept",
                    reply.config.len()
                ),
                retry_at: None,
            },
            Ok(reply) => {
                if let Some(claim) = &reply.claim {
                    self.file_claim(id, &claim.clause, &claim.why)?;
                }
                Event::ConfigProposed {
                    changes: self.changes_of(id, &reply.config)?,
                    config: self.blob(reply.config.as_bytes()),
                    remark: short(&reply.remark),
                }
            }
            Err(failure) => Event::PrepareFailed {
                retry_at: (failure.class != FailureClass::Job).then(|| {
                    self.now
                        .plus_ms(pause_ms(30_000, facts.prepare_tries, last))
                }),
                class: failure.class,
                why: short(&failure.why),
            },
        };
        self.emit(id, event)?;
        self.tried(WorldPart::Worker, id, Tried::Prepare, ended, None)
    }

    /// Keeps what a worker holds against a clause, for the owner. It changes nothing.
    pub(super) fn file_claim(
        &mut self,
        id: &JobId,
        clause: &str,
        why: &str,
    ) -> Result<(), EngineError> {
        self.emit(
            id,
            Event::ClaimFiled {
                clause: clause.chars().take(MAX_CLAUSE_CHARS).collect(),
                why: short(why),
            },
        )
    }

    /// What a proposal changes, so that the same change is known again.
    pub(super) fn changes_of(
        &mut self,
        id: &JobId,
        proposal: &str,
    ) -> Result<Vec<Digest>, EngineError> {
        let facts = self.facts(id)?;
        let definition = self.text(&facts.definition)?;
        let previous = match &facts.failed_config {
            Some(config) => Some(self.text(config)?),
            None => None,
        };
        Ok(changes(&definition, previous.as_deref(), proposal))
    }

    fn effected(
        &mut self,
        id: &JobId,
        operation: &OperationId,
        effect: &Effect,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let Some(own) = facts.operations.get(operation) else {
            return Ok(());
        };
        let event = event_of_effect(own, effect, facts.refusals, self.now);
        self.emit(id, shorten(event))?;
        let (tried, ended) = match effect {
            // Whether the target can run things is known when the run has ended.
            Effect::Applied(_) if own.action == Action::Stage => return Ok(()),
            Effect::Applied(_) => (Tried::Effect, Ended::Worked),
            Effect::Refused {
                class: FailureClass::Job,
                ..
            } => (Tried::Effect, Ended::Worked),
            Effect::Refused {
                retry_after_ms: Some(pause),
                ..
            } => (Tried::Effect, Ended::Busy(self.now.plus_ms(*pause))),
            Effect::Refused { .. } => (Tried::Effect, Ended::Failed),
            Effect::Unknown { .. } => (Tried::Lost, Ended::Failed),
        };
        self.tried(WorldPart::Target, id, tried, ended, Some(own.intended_at))
    }

    /// Nothing is sent again for a job that a person took or paused, while the engine drains, or under a
    /// yes that has expired.
    fn may_send_again(&self, facts: &JobFacts, action: Action) -> bool {
        let expired = facts
            .approval
            .as_ref()
            .and_then(|own| own.expires_at)
            .is_some_and(|at| at <= self.now);
        let held = facts.state.has_ended() || facts.paused || self.is_draining();
        !held && (action == Action::Stage || !expired)
    }

    fn looked_up(
        &mut self,
        id: &JobId,
        operation: &OperationId,
        lookup: &Lookup,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let Some(own) = facts.operations.get(operation) else {
            return Ok(());
        };
        // A person may have ruled while the look-up was under way. What the environment shows corrects a
        // "did not happen"; not being found takes nothing back.
        let settled = matches!(own.state, OperationState::Applied | OperationState::Refused);
        let corrects = own.state == OperationState::Refused
            && !own.undone
            && matches!(lookup, Lookup::Found(found) if found.config_digest == own.config);
        if settled && !corrects {
            return Ok(());
        }
        let info = self.context.world.target.info();
        let mut proof = if self.may_send_again(&facts, own.action) {
            self.proofs.valid(&info, own.action, self.now)
        } else {
            None
        };
        if self.restart.only_reads() {
            match lookup {
                // Sending again is no reading: it is looked up again when work goes on.
                Lookup::Absent if proof.is_some() => return Ok(()),
                Lookup::Found(other) if other.config_digest != own.config => {
                    let what = format!(
                        "under this id there is {} with another config ({})",
                        short(&other.reference),
                        other.config_digest.short()
                    );
                    self.restart.contradicted(id, operation, &what);
                }
                _ => {}
            }
        }
        let absent = *lookup == Lookup::Absent && proof.is_none();
        if self.rig.fires(Sabotage::ResendWithoutProof, absent) {
            proof = Some("none".to_owned());
        }
        let event = if self.rig.fires(Sabotage::AbsentIsRefused, absent) {
            let refused = Effect::Refused {
                why: "not found".to_owned(),
                class: FailureClass::Environment,
                retry_after_ms: None,
            };
            event_of_effect(own, &refused, 0, self.now)
        } else {
            event_of_look_up(own, lookup, proof, self.now)
        };
        let again = matches!(event, Event::OpSentAgain { .. });
        self.emit(id, shorten(event))?;
        if again {
            let upstream = load_lineage(&own.upstream, |blob| self.text(blob))?;
            self.send(
                id,
                operation.clone(),
                own.action,
                own.config.clone(),
                upstream,
            )?;
        }
        Ok(())
    }

    fn watched(
        &mut self,
        id: &JobId,
        operation: &OperationId,
        result: Result<RunState, PortError>,
    ) -> Result<Next, EngineError> {
        let facts = self.facts(id)?;
        if facts.state.has_ended() {
            return Ok(Next::Now);
        }
        let began = facts.operations.get(operation).map(|own| own.intended_at);
        let (tried, ended) = run_ended(&result, self.now);
        let last = facts.staging_tries + 1 >= self.goal.contract.limits.staging_tries;
        match result {
            Ok(RunState::Running { look_again_ms }) => {
                self.look_later(id, "the staging run is going on", look_again_ms.max(1_000))?;
                return Ok(Next::AtTimer);
            }
            Err(error) => {
                self.unobserved(id, &facts, operation, &error)?;
                self.tried(WorldPart::Target, id, tried, ended, began)?;
                return Ok(Next::AtTimer);
            }
            Ok(RunState::Succeeded { log }) => {
                let log = self.blob(tail(&log).as_bytes());
                self.emit(
                    id,
                    Event::RunSucceeded {
                        operation: operation.clone(),
                        log,
                    },
                )?;
                if facts.state != JobState::Reverify {
                    self.move_to(
                        id,
                        JobState::Staged,
                        "a staging run succeeded; clauses are checked",
                    )?;
                }
            }
            Ok(RunState::Failed { class, why, log }) => {
                let log = self.blob(tail(&log).as_bytes());
                let retry_at = (class != FailureClass::Job).then(|| {
                    self.now
                        .plus_ms(pause_ms(60_000, facts.staging_tries, last))
                });
                self.emit(
                    id,
                    Event::RunFailed {
                        operation: operation.clone(),
                        class,
                        why: short(&why),
                        log,
                        retry_at,
                    },
                )?;
            }
        }
        self.tried(WorldPart::Target, id, tried, ended, began)?;
        Ok(Next::Now)
    }

    /// Waits for the world, visibly, and looks again when the timer says so.
    pub(super) fn look_later(
        &mut self,
        id: &JobId,
        reason: &str,
        pause_ms: i64,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let next = self.now.plus_ms(pause_ms);
        let wait = Waiting {
            kind: WaitKind::World,
            reason: reason.to_owned(),
            wakes: vec![Wake::At { at: next }],
            next_check: next,
            overdue: next.plus_ms(pause_ms.saturating_mul(10).max(3_600_000)),
        };
        self.start_wait(id, &facts, &wait)
    }

    fn checked(
        &mut self,
        id: &JobId,
        key: CheckKey,
        result: Result<Evidence, PortError>,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let reserved = key.clause.queries;
        let queries = |amount| Amounts::from([(Budget::WarehouseQueries, amount)]);
        let held = queries(reserved);
        let ended = match &result {
            Err(error) if error.class == FailureClass::Job => Ended::Worked,
            Err(error) => error
                .retry_after_ms
                .map_or(Ended::Failed, |ms| Ended::Busy(self.now.plus_ms(ms))),
            Ok(_) => Ended::Worked,
        };
        if let Ok(evidence) = &result
            && key.clause.by == EvidenceKind::Person
            && evidence.verdict != Verdict::Unverified
        {
            self.sample_chosen(id, key, evidence)?;
            return self.tried(WorldPart::Warehouse, id, Tried::Check, ended, None);
        }
        let event = match result {
            Ok(evidence) => {
                let detail = serde_json::to_vec(&evidence).unwrap_or_default();
                let spent = (evidence.queries.len() as u64).min(reserved);
                self.walls.move_use(&held, &queries(spent), &key.day);
                Event::EvidenceRecorded {
                    clause: key.clause.id,
                    clause_digest: key.clause.clause_digest,
                    config: key.config,
                    lineage: key.lineage,
                    checker: key.clause.checker,
                    operation: key.operation,
                    by: key.clause.by,
                    verdict: evidence.verdict,
                    summary: short(&evidence.summary),
                    detail: self.blob(&detail),
                    spent,
                    reserved,
                    day: key.day,
                }
            }
            Err(error) => {
                self.walls.move_use(&held, &held, &key.day);
                let pause = error
                    .retry_after_ms
                    .unwrap_or(back_off_ms(60_000, facts.check_tries));
                Event::CheckFailed {
                    clause: key.clause.id,
                    why: short(&error.what),
                    class: error.class,
                    retry_at: Some(self.now.plus_ms(pause)),
                    reserved,
                    day: key.day,
                }
            }
        };
        self.emit(id, event)?;
        if reserved == 0 {
            return Ok(());
        }
        self.tried(WorldPart::Warehouse, id, Tried::Check, ended, None)
    }

    fn request(
        &mut self,
        id: &JobId,
        result: Result<Vec<String>, PortError>,
    ) -> Result<(), EngineError> {
        let mut facts = self.facts(id)?;
        self.overlook(&mut facts);
        let around = self.surroundings(id);
        let rules = Rules {
            contract: &self.goal.contract,
            strategies: &self.goal.strategies,
        };
        // Much may have changed while the target was asked; only what is still to be asked is asked.
        let Step::Request(bundle) = decide(&facts, rules, &around, self.now) else {
            return Ok(());
        };
        let consequences = match result {
            Ok(list) => list.iter().take(20).map(|line| short(line)).collect(),
            Err(error) => {
                vec![short(&format!("{CANNOT_TELL}: {error}"))]
            }
        };
        self.ask(id, &facts, Action::CutOver, bundle, consequences)?;
        self.move_to(
            id,
            JobState::AwaitingApproval,
            "a request lies before the approver",
        )
    }
}

/// The pause before another try. After the last try a person would be asked: first it is waited whether
/// others fail as well, because then it was an outage.
fn pause_ms(first_ms: i64, tries: u32, last: bool) -> i64 {
    let pause = back_off_ms(first_ms, tries);
    if last { pause.max(WINDOW_MS) } else { pause }
}

/// What a look at a run says of the environment.
fn run_ended(result: &Result<RunState, PortError>, now: TimeMs) -> (Tried, Ended) {
    match result {
        Ok(RunState::Failed { class, .. }) if *class != FailureClass::Job => {
            (Tried::Run, Ended::Failed)
        }
        Ok(_) => (Tried::Run, Ended::Worked),
        Err(error) if error.class == FailureClass::Job => (Tried::Lost, Ended::Worked),
        Err(error) => (
            Tried::Lost,
            error
                .retry_after_ms
                .map_or(Ended::Failed, |ms| Ended::Busy(now.plus_ms(ms))),
        ),
    }
}

/// When the job goes on after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// In this turn.
    Now,
    /// When its timer fires.
    AtTimer,
}

/// What a check in progress was about: the validity key of its verdict.
pub(super) struct CheckKey {
    pub(super) clause: ClauseView,
    pub(super) lineage: Digest,
    pub(super) config: Digest,
    pub(super) operation: OperationId,
    pub(super) day: String,
}

/// Cuts what comes from outside to a length an entry can hold.
pub(super) fn short(text: &str) -> String {
    let mut out: String = text.chars().take(MAX_WORDS).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

fn tail(log: &str) -> &str {
    let from = log.len().saturating_sub(MAX_LOG_BYTES);
    (from..log.len())
        .find_map(|at| log.get(at..))
        .unwrap_or_default()
}

fn shorten(event: Event) -> Event {
    match event {
        Event::OpApplied {
            operation,
            reference,
            observed,
            how,
        } => Event::OpApplied {
            operation,
            reference: short(&reference),
            observed: short(&observed),
            how,
        },
        Event::OpRefused {
            operation,
            why,
            class,
            retry_at,
        } => Event::OpRefused {
            operation,
            why: short(&why),
            class,
            retry_at,
        },
        Event::OpUnknown {
            operation,
            why,
            next_look,
        } => Event::OpUnknown {
            operation,
            why: short(&why),
            next_look,
        },
        Event::OpLookedUp {
            operation,
            answer,
            why,
            next_look,
            to_verify,
        } => Event::OpLookedUp {
            operation,
            answer,
            why: short(&why),
            next_look,
            to_verify,
        },
        other => other,
    }
}
