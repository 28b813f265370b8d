//! One step of `decide` into entries and a call.

use super::approval::{Bundle, approval_id};
use super::call::{Call, CheckCall, PrepareCall};
use super::decide::{Rules, Step, Waiting, decide, soak_ms};
use super::operation::operation_id;
use super::rig::Sabotage;
use super::rollback;
use super::run::{Engine, EngineError, Errand};
use super::surroundings::{lineage_digest, store_lineage};
use crate::ledger::LedgerError;
use crate::ledger::event::Event;
use crate::ledger::facts::{ApprovalState, JobFacts, OperationFacts, WaitFacts};
use crate::model::{
    Action, Amounts, Budget, ClauseId, Digest, FailureClass, JobId, JobState, OperationId,
    OperationState, SpinKind, TimeMs, Verdict, WaitKind,
};
use crate::worker::{PrepareRequest, PreviousConfig};
use crate::world::ports::{EffectRef, EffectRequest, Upstream};

/// Steps that one job may take in one turn; a job that takes more would loop.
const MAX_STEPS: usize = 32;

impl Engine {
    /// Lets a job take steps until it makes a call, waits or ends.
    pub(super) fn advance(&mut self, id: &JobId) -> Result<(), EngineError> {
        for _ in 0..MAX_STEPS {
            let mut facts = self.facts(id)?;
            if self.replan(id, &facts)? {
                facts = self.facts(id)?;
            }
            self.overlook(&mut facts);
            let around = self.surroundings(id);
            let rules = Rules {
                contract: &self.goal.contract,
                strategies: &self.goal.strategies,
            };
            let mut step = decide(&facts, rules, &around, self.now);
            let spins = matches!(step, Step::Spin(..));
            if self.rig.fires(Sabotage::SpinAsleep, spins) {
                let mut around = around;
                around.spin.overruled = SpinKind::ALL.iter().copied().collect();
                step = decide(&facts, rules, &around, self.now);
            }
            match self.take_step(id, &facts, step) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(EngineError::Ledger(LedgerError::Damaged { why, .. })) => {
                    return self.refuse_job(id, why);
                }
                Err(error) => return Err(error),
            }
        }
        self.index.release(id);
        self.hand_over(
            id,
            &format!("stopped after {MAX_STEPS} steps that led nowhere; this is a defect"),
        )
    }

    /// Wrong engines that take what they left behind for undone, or nothing for a pass.
    pub(super) fn overlook(&self, facts: &mut JobFacts) {
        for own in facts.evidence.values_mut() {
            let empty = own.verdict == Verdict::Inconclusive;
            if self.rig.fires(Sabotage::EmptyPasses, empty) {
                own.verdict = Verdict::Pass;
            }
        }
        for (id, operation) in &mut facts.operations {
            let open = matches!(
                operation.state,
                OperationState::Intended | OperationState::Unknown
            );
            if self
                .rig
                .fires(Sabotage::SkipSettle, open && self.rig.ignored.contains(id))
            {
                operation.state = OperationState::Refused;
            }
        }
    }

    /// Takes one step; true when the job has nothing more to do in this turn.
    fn take_step(&mut self, id: &JobId, facts: &JobFacts, step: Step) -> Result<bool, EngineError> {
        match step {
            Step::Settle(operation) => self.look_up(id, facts, &operation),
            Step::CloseCheck => self.close_check(id, facts)?,
            Step::StartAttempt(index) => self.start_attempt(id, facts, index)?,
            Step::Prepare => self.call_worker(id, facts)?,
            Step::Chat(step) => {
                if self.chat_step(id, facts, step)? {
                    return Ok(true);
                }
            }
            Step::Stage(_)
                if self.rig.fires(
                    Sabotage::RefusalIsTry,
                    facts.refusals > 0
                        && facts.refusals + facts.staging_tries
                            >= self.goal.contract.limits.staging_tries,
                ) =>
            {
                self.hand_over(id, "staging failed too often")?;
            }
            Step::Stage(lineage) => self.intend(id, facts, Action::Stage, &lineage)?,
            Step::Watch(operation) => self.watch(id, facts, &operation),
            Step::Check(clause, lineage) => self.call_checker(id, facts, &clause, &lineage)?,
            Step::OtherDate(clause, why) => {
                let call = Call::OtherDates { job: id.clone() };
                self.call_after_commit(id, Errand::OtherDates { clause, why }, call);
            }
            Step::FailConfig(failures) => {
                let reason = failures.join("; ");
                self.emit(id, Event::ConfigFailed { failures })?;
                self.end_attempt(id, "failed", &reason)?;
            }
            Step::Reconciled(reason) => self.move_to(id, JobState::Reconciled, &reason)?,
            Step::Request(_) => self.call_consequences(id, facts)?,
            Step::Void(approval, why) => self.void(id, facts, approval, why)?,
            Step::CutOver(lineage) => self.ask_before_cut_over(id, facts, &lineage)?,
            Step::Confirm => {
                let reference = facts.production.clone().unwrap_or_default();
                self.emit(
                    id,
                    Event::AttemptEnded {
                        outcome: "passed".to_owned(),
                        reason: String::new(),
                    },
                )?;
                // With a soak it is in production and not done: the state of what is not verified there.
                let (state, more) = match soak_ms(&self.goal.contract) {
                    None => (JobState::CutOver, ""),
                    Some(_) => (JobState::Reverify, "; it soaks before it is done"),
                };
                self.move_to(id, state, &format!("in production as {reference}{more}"))?;
            }
            Step::AskRollback(bundle) => self.ask_rollback(id, facts, bundle)?,
            Step::RollBack => self.intend(id, facts, Action::RollBack, &[])?,
            Step::DropRollback(why) => self.emit(id, Event::RollbackDropped { why })?,
            Step::NeedsReverify(reason, outdated) => {
                if outdated {
                    let why = reason.clone();
                    self.emit(id, Event::JobOutdated { why })?;
                }
                self.move_to(id, JobState::Reverify, &reason)?;
            }
            Step::Reverified(reason) => self.move_to(id, JobState::CutOver, &reason)?,
            Step::Cancel(reason) => self.cancel(id, &reason)?,
            Step::Spin(finding, next) => self.spin_found(id, facts, &finding, next)?,
            Step::HandOver(reason) => self.hand_over(id, &reason)?,
            Step::Wait(wait) => {
                self.queue_for_provider(id, facts, &wait);
                self.start_wait(id, facts, &wait)?;
                return Ok(true);
            }
            Step::Nothing(_) => {
                self.index.release(id);
                return Ok(true);
            }
        }
        Ok(self.index.jobs.get(id).is_some_and(|job| job.in_flight))
    }

    pub(super) fn look_up(&mut self, id: &JobId, facts: &JobFacts, operation: &OperationId) {
        let Some(own) = facts.operations.get(operation) else {
            return;
        };
        let call = Call::LookUp {
            action: own.action,
            operation: operation.clone(),
            job: id.clone(),
        };
        self.call_after_commit(id, Errand::LookUp(operation.clone()), call);
    }

    fn close_check(&mut self, id: &JobId, facts: &JobFacts) -> Result<(), EngineError> {
        let Some(open) = facts.open_check.clone() else {
            return Ok(());
        };
        self.emit(
            id,
            Event::CheckFailed {
                clause: open.clause,
                why: "the engine stopped during the check; its queries count as spent".to_owned(),
                class: FailureClass::Environment,
                retry_at: None,
                reserved: open.reserved,
                day: open.day,
            },
        )
    }

    pub(super) fn start_attempt(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        index: usize,
    ) -> Result<(), EngineError> {
        if facts.attempt_open {
            let reason = facts
                .prepare_refused
                .clone()
                .unwrap_or_else(|| "the same config was proposed again".to_owned());
            self.end_attempt(id, "failed", &reason)?;
        }
        let Some(strategy) = self.goal.strategies.get(index).map(|one| one.id.clone()) else {
            return self.hand_over(id, "the plan has no such strategy");
        };
        let seen = self.facts(id)?.goal_words;
        let words = self
            .goal_words
            .clone()
            .filter(|words| seen.as_ref() != Some(&words.decision));
        self.emit(
            id,
            Event::AttemptStarted {
                strategy,
                strategy_index: index as u32,
                words,
                plan: self.plans.revision,
            },
        )?;
        self.move_to(id, JobState::Working, "an attempt is going on")
    }

    fn call_worker(&mut self, id: &JobId, facts: &JobFacts) -> Result<(), EngineError> {
        let index = facts.strategy.unwrap_or(0) as usize;
        let Some(strategy) = self.goal.strategies.get(index).cloned() else {
            return self.hand_over(id, "the plan has no such strategy");
        };
        if !self.reserve_attempt(id, facts, &strategy)? {
            return Ok(());
        }
        let definition = self.text(&facts.definition)?;
        let previous = match &facts.failed_config {
            Some(config) => Some(PreviousConfig {
                config: self.text(config)?,
                failures: facts.last_failures.clone(),
            }),
            None => None,
        };
        let output_table = self
            .index
            .jobs
            .get(id)
            .and_then(|job| job.output.as_ref().map(|output| output.table.clone()));
        let request = PrepareRequest {
            job: id.clone(),
            attempt: facts.attempt,
            origin: facts.origin.clone(),
            definition,
            depends_on: facts.depends_on.clone(),
            output_table,
            previous,
            comment: facts.operator_words(),
        };
        self.call_after_commit(
            id,
            Errand::Prepare,
            Call::Prepare(Box::new(PrepareCall { strategy, request })),
        );
        Ok(())
    }

    /// Writes the intent; the call follows its commit.
    pub(super) fn intend(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        action: Action,
        lineage: &[Upstream],
    ) -> Result<(), EngineError> {
        let Some(config) = facts.config.clone() else {
            return self.hand_over(id, "it has no config to act on; this is a defect");
        };
        // Nothing is intended that could not be sent.
        self.text(&config)?;
        if action == Action::Stage && !matches!(facts.state, JobState::Working | JobState::Reverify)
        {
            self.move_to(
                id,
                JobState::Working,
                &match (&facts.run, facts.dates.current()) {
                    (Some(_), _) => "staged again: what it was built upon has changed".to_owned(),
                    (None, Some(date)) => format!("staged again, for {date}"),
                    (None, None) => "staged again: the run before is not there any more".to_owned(),
                },
            )?;
        }
        let ordinal = facts
            .ordinals
            .get(&JobFacts::ordinal_key(action, &config))
            .copied()
            .unwrap_or(0)
            + 1;
        let operation = operation_id(&self.goal.contract.id, id, action, &config, ordinal);
        let approval = facts
            .approval
            .as_ref()
            .filter(|own| own.action == action && own.state == ApprovalState::Approved)
            .map(|own| own.id.clone());
        self.walls
            .add_spent(&Amounts::from([(Budget::ExternalActions, 1)]));
        let upstream = store_lineage(lineage, |bytes| self.blob(bytes));
        self.emit(
            id,
            Event::OpIntended {
                operation: operation.clone(),
                action,
                config: config.clone(),
                ordinal,
                upstream,
                approval,
                day: self.walls.day().to_owned(),
            },
        )?;
        self.send(id, operation, action, config, lineage.to_vec())
    }

    /// Sends an operation that is on the disk, or will be before the call is made.
    pub(super) fn send(
        &mut self,
        id: &JobId,
        operation: OperationId,
        action: Action,
        config_digest: Digest,
        upstream: Vec<Upstream>,
    ) -> Result<(), EngineError> {
        let config = self.text(&config_digest)?;
        let staged_for = match action {
            Action::Stage => self
                .facts(id)?
                .dates
                .current()
                .cloned()
                .filter(|_| !self.rig.fires(Sabotage::StageOldDate, true)),
            Action::CutOver | Action::RollBack => None,
        };
        let request = EffectRequest {
            logical_date: staged_for,
            operation_id: operation.clone(),
            action,
            job: id.clone(),
            config,
            config_digest,
            upstream,
            at: self.now,
        };
        self.call_after_commit(
            id,
            Errand::Effect(operation),
            Call::Effect(Box::new(request)),
        );
        Ok(())
    }

    fn watch(&mut self, id: &JobId, facts: &JobFacts, operation: &OperationId) {
        let Some(own) = facts.operations.get(operation) else {
            return;
        };
        let call = Call::RunState {
            job: id.clone(),
            staged: effect_ref(own),
            operation: operation.clone(),
            at: self.now,
        };
        self.call_after_commit(id, Errand::Watch(operation.clone()), call);
    }

    fn call_checker(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        clause: &ClauseId,
        lineage: &[Upstream],
    ) -> Result<(), EngineError> {
        let view = self
            .index
            .jobs
            .get(id)
            .and_then(|job| job.clauses.iter().find(|one| one.id == *clause).cloned());
        let run = facts.operations.values().find(|one| {
            matches!(&facts.run, Some(crate::ledger::facts::RunFacts::Succeeded { operation }) if *operation == one.id)
        });
        let (Some(view), Some(run), Some(config), Some(rule)) = (
            view,
            run,
            facts.config.clone(),
            self.goal.contract.clause(clause).cloned(),
        ) else {
            return self.hand_over(id, "a check has nothing to judge; this is a defect");
        };
        if !matches!(facts.state, JobState::Staged | JobState::Reverify) {
            self.move_to(
                id,
                JobState::Staged,
                "a staging run succeeded; clauses are checked",
            )?;
        }
        let queries = Amounts::from([(Budget::WarehouseQueries, view.queries)]);
        self.walls.add_reserved(&queries);
        let day = self.walls.day().to_owned();
        self.emit(
            id,
            Event::CheckStarted {
                clause: clause.clone(),
                reserved: view.queries,
                day: day.clone(),
            },
        )?;
        let call = CheckCall {
            clause: rule,
            job: id.clone(),
            output: self.index.jobs.get(id).and_then(|job| job.output.clone()),
            definition: self.text(&facts.definition)?,
            config: self.text(&config)?,
            staged: effect_ref(run),
            logical_date: facts.dates.current().cloned(),
            at: self.now,
        };
        let errand = Errand::Check {
            clause: view,
            lineage: lineage_digest(lineage),
            config,
            operation: run.id.clone(),
            day,
        };
        self.call_after_commit(id, errand, Call::Check(Box::new(call)));
        Ok(())
    }

    fn call_consequences(&mut self, id: &JobId, facts: &JobFacts) -> Result<(), EngineError> {
        let Some(digest) = &facts.config else {
            return self.hand_over(id, "it has no config to ask for; this is a defect");
        };
        let config = self.text(digest)?;
        let call = Call::Consequences {
            job: id.clone(),
            config,
            at: self.now,
        };
        self.call_after_commit(id, Errand::Request, call);
        Ok(())
    }

    fn ask_rollback(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        bundle: Bundle,
    ) -> Result<(), EngineError> {
        let below: Vec<&str> = self
            .index
            .dependents_in(id, JobState::CutOver)
            .map(JobId::as_str)
            .collect();
        let consequences = rollback::consequences(facts, &below);
        self.ask(id, facts, Action::RollBack, bundle, consequences)
    }

    /// Puts a request before the approver.
    pub(super) fn ask(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        action: Action,
        bundle: Bundle,
        consequences: Vec<String>,
    ) -> Result<(), EngineError> {
        let count = facts.requests + 1;
        let expires_at = self
            .goal
            .contract
            .approval
            .expires_after_ms
            .map(|ms| self.now.plus_ms(ms));
        self.emit(
            id,
            Event::ApprovalRequested {
                approval: approval_id(facts, &bundle.digest, u64::from(count)),
                action,
                digest: bundle.digest,
                parts: bundle.parts,
                consequences,
                expires_at,
            },
        )
    }

    pub(super) fn move_to(
        &mut self,
        id: &JobId,
        state: JobState,
        reason: &str,
    ) -> Result<(), EngineError> {
        self.emit(
            id,
            Event::JobMoved {
                state,
                reason: reason.to_owned(),
            },
        )
    }

    /// Records a wait unless it is recorded already, and sets the timer.
    pub(super) fn start_wait(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        wait: &Waiting,
    ) -> Result<(), EngineError> {
        let mut wait = wait.clone();
        let before = facts
            .wait
            .as_ref()
            .filter(|own| own.kind == wait.kind && own.reason == wait.reason);
        if let Some(own) = before {
            match wait.kind {
                // A look that finds the same again does not put the end off: a run that nobody can
                // observe, or that never ends, becomes overdue and is shown.
                WaitKind::World | WaitKind::Outage => wait.overdue = own.overdue,
                WaitKind::Quota | WaitKind::ToVerify | WaitKind::Freeze | WaitKind::Soak => {}
                _ => look_less_often(own, &mut wait, self.now),
            }
        }
        let wait = &wait;
        if !before.is_some_and(|own| is_same_wait(own, wait)) {
            self.emit(
                id,
                Event::WaitStarted {
                    wait: wait.kind,
                    reason: wait.reason.clone(),
                    wakes: wait.wakes.clone(),
                    next_check: wait.next_check,
                    overdue: wait.overdue,
                },
            )?;
        }
        // A wait without an end in the near future must not keep a slot from others, nor must a pause before
        // another try: nothing of the job is going on meanwhile.
        let pauses = facts.not_before.is_some_and(|at| at > self.now);
        if wait.kind != WaitKind::World || pauses {
            self.index.release(id);
        }
        let by_clock = matches!(
            wait.kind,
            WaitKind::World | WaitKind::Quota | WaitKind::Freeze | WaitKind::Soak
        );
        if !self.rig.fires(Sabotage::ForgetWake, by_clock) {
            self.index
                .set_timer(id, wait.next_check.max(self.now.plus_ms(1)));
        }
        Ok(())
    }
}

/// A look at a run this much later than the one written down is written down again.
const NEXT_LOOK_MOVES_MS: i64 = 5 * 60_000;

/// A wait is new when its reason or its end is; a slightly later look at the same thing is not.
fn is_same_wait(own: &WaitFacts, wait: &Waiting) -> bool {
    own.kind == wait.kind
        && own.reason == wait.reason
        && match wait.kind {
            // A run that goes on is polled; an entry a poll would fill the ledger.
            WaitKind::World => {
                (0..NEXT_LOOK_MOVES_MS).contains(&wait.next_check.since(own.next_check))
            }
            WaitKind::Quota
            | WaitKind::ToVerify
            | WaitKind::Freeze
            | WaitKind::Soak
            | WaitKind::Outage => own.next_check == wait.next_check,
            _ => own.next_check == wait.next_check,
        }
}

/// The longest pause between two looks at a wait that no clock ends.
const LONGEST_LOOK_MS: i64 = 7 * 24 * 3_600_000;

/// What waits for people or other jobs is looked at all the same, so that its next check never lies in the
/// past; the longer it waits, the less often, so that many such waits do not fill the ledger.
fn look_less_often(own: &WaitFacts, wait: &mut Waiting, now: TimeMs) {
    wait.overdue = own.overdue;
    if own.next_check > now {
        wait.next_check = own.next_check;
        return;
    }
    let pause = wait.next_check.since(now).max(1);
    let waited = now.since(own.since);
    wait.next_check = now.plus_ms(waited.clamp(pause, LONGEST_LOOK_MS.max(pause)));
}

/// What the target left behind, as the ledger knows it.
pub(super) fn effect_ref(operation: &OperationFacts) -> EffectRef {
    EffectRef {
        reference: operation.reference.clone(),
        config_digest: operation.config.clone(),
        observed: String::new(),
    }
}
