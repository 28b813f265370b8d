//! The loop: answers in, decisions answered, jobs advanced, one commit, then the calls.

pub use super::stop::Stop;

use super::call::{Call, Context, Reply};
use super::checkers::{checker_digests, clause_views};
use super::executor::{Executor, Ticket};
use super::heartbeat::Heart;
use super::index::Index;
use super::operation::Proofs;
use super::quota::{QUERIES, Quota};
use super::rig::{Point, Rig, Sabotage};
use super::stop::StopLevel;
use super::surroundings::{ClauseView, QuotaView, Surroundings};
use crate::contract::Goal;
use crate::contract::workdays::{add_working_ms, day_length_ms};
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::facts::JobFacts;
use crate::ledger::{Batch, Holder, Ledger, LedgerError};
use crate::model::{ClauseId, Digest, JobId, JobState, OperationId, TimeMs, time::Clock};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Events committed together at most; more wait for the next turn.
const MAX_BATCH: usize = 512;
/// Longest real sleep, so that other processes' decisions are seen soon.
const LONGEST_SLEEP: Duration = Duration::from_millis(200);
/// Real time between beats.
const BEAT_EVERY: Duration = Duration::from_secs(2);

/// Why the engine ends by itself or with an error.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The ledger; nothing after its last commit was done.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// What was adopted cannot be worked on.
    #[error("{0}")]
    Setup(String),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// Every job has ended.
    Ended,
    /// Only people can move it on.
    OnlyPeople,
    /// It was asked to stop.
    Stopped,
}

/// When a run ends by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// End when only people can move it on.
    pub exit_when_waiting: bool,
    /// Stay when every job has ended, for decisions such as a retry.
    pub stay_after_end: bool,
}

/// Someone who decides without a keyboard: the practice owner and the simulator's people.
pub trait Operator: Send {
    /// Decisions to submit now, as entries of kind `decision.submitted`.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn decisions(&mut self, now: TimeMs, ledger: &Ledger) -> Result<Vec<Entry>, LedgerError>;

    /// When it wants to be asked again.
    fn next(&self, now: TimeMs) -> Option<TimeMs>;
}

/// What a call in progress was for.
#[derive(Debug, Clone)]
pub(super) enum Errand {
    Prepare,
    Effect(OperationId),
    LookUp(OperationId),
    Watch(OperationId),
    Check {
        clause: ClauseView,
        lineage: Digest,
        config: Digest,
        operation: OperationId,
        day: String,
    },
    Request,
}

/// The engine of one goal.
pub struct Engine {
    /// First, so that calls in progress end before the ledger's lock is given back.
    executor: Box<dyn Executor>,
    pub(super) ledger: Ledger,
    pub(super) goal: Goal,
    pub(super) context: Context,
    pub(super) index: Index,
    pub(super) quota: Option<Quota>,
    pub(super) proofs: Proofs,
    checkers: BTreeMap<ClauseId, Digest>,
    pub(super) now: TimeMs,
    pub(super) in_flight: BTreeMap<Ticket, (JobId, Errand)>,
    pub(super) rig: Rig,
    clock: Clock,
    /// What the clock said last; the engine's time moves by the difference.
    last_read: TimeMs,
    settings: Settings,
    stop: Stop,
    operator: Option<Box<dyn Operator>>,
    heart: Heart,
    next_ticket: Ticket,
    /// Jobs whose operations must be looked up before anything else happens.
    settle_first: BTreeSet<JobId>,
    batch: Batch,
    /// Facts with this turn's entries, not committed yet.
    changed: BTreeMap<JobId, JobFacts>,
    calls: Vec<(JobId, Errand, Call)>,
    last_beat: Option<Instant>,
    last_decision_check: Option<Instant>,
    last_refresh: Option<Instant>,
}

/// What an engine is made of.
pub struct Parts {
    /// Locked.
    pub ledger: Ledger,
    /// The adopted goal, `@me` resolved.
    pub goal: Goal,
    /// World and folders.
    pub context: Context,
    /// Where calls run.
    pub executor: Box<dyn Executor>,
    /// Time.
    pub clock: Clock,
    /// When to end.
    pub settings: Settings,
    /// How to be stopped.
    pub stop: Stop,
    /// Who decides without a keyboard.
    pub operator: Option<Box<dyn Operator>>,
}

impl Engine {
    /// Takes an adopted, listed goal up where the ledger left it.
    ///
    /// # Errors
    /// When the ledger cannot be read or its own chain is broken.
    pub fn new(parts: Parts) -> Result<Self, EngineError> {
        Self::with_rig(parts, Rig::default())
    }

    /// The same with the laboratory's hooks.
    pub(crate) fn with_rig(parts: Parts, rig: Rig) -> Result<Self, EngineError> {
        let Parts {
            ledger,
            goal,
            context,
            executor,
            clock,
            settings,
            stop,
            operator,
        } = parts;
        let view = ledger.read();
        // A clock that went back while nobody looked would give expired requests and spent days a new
        // life; the engine's time never goes back.
        let last_read = clock.now();
        let now = view
            .last_engine_time()?
            .map_or(last_read, |last| last.max(last_read));
        let (all, mut damage) = view.facts_at_start(&goal.contract.id)?;
        let clean = view.stopped_cleanly()?;
        damage.extend(view.broken_chains()?);
        let days = view.budget_days(&goal.contract.id)?;
        let proofs = Proofs {
            declared_counts: context.declared_proofs,
            measured: view.proofs(&goal.contract.id)?,
        };
        let checkers = checker_digests(&goal);
        let index = Index::new(&all, |facts, output| {
            clause_views(&goal, &checkers, facts, output)
        });
        let quota = goal
            .contract
            .budgets
            .per_day
            .get(QUERIES)
            .map(|budget| Quota::new(budget.limit, &goal.contract.workdays.zone, &days, now));
        let row = view
            .goals()?
            .into_iter()
            .find(|row| row.goal == goal.contract.id);
        let last_beat = row.and_then(|row| row.heartbeat_at.or(Some(row.adopted_at)));
        let heart = Heart::new(goal.contract.heartbeat.every_ms, last_beat, now);
        let mut engine = Self {
            ledger,
            goal,
            context,
            index,
            quota,
            proofs,
            checkers,
            now,
            in_flight: BTreeMap::new(),
            rig,
            clock,
            last_read,
            executor,
            settings,
            stop,
            operator,
            heart,
            next_ticket: 1,
            settle_first: BTreeSet::new(),
            batch: Batch::default(),
            changed: BTreeMap::new(),
            calls: Vec::new(),
            last_beat: None,
            last_decision_check: None,
            last_refresh: None,
        };
        engine.begin(&all, clean, &damage)?;
        Ok(engine)
    }

    fn begin(
        &mut self,
        all: &[JobFacts],
        clean: bool,
        damage: &[crate::ledger::Damage],
    ) -> Result<(), EngineError> {
        self.refuse_damaged(damage)?;
        for facts in all {
            if self.rig.is(Sabotage::SkipSettle) {
                self.rig
                    .ignored
                    .extend(facts.unsettled().map(|one| one.id.clone()));
            } else if facts.unsettled().next().is_some() {
                self.settle_first.insert(facts.id.clone());
                self.index.mark_ready(&facts.id);
            }
        }
        if self.settle_first.is_empty() {
            self.wake_everyone();
        }
        let holder = Holder::current();
        self.batch.entries.push(Entry {
            at: self.now,
            goal: "".into(),
            job: None,
            attempt: None,
            actor: Actor::Engine,
            event: Event::EngineStarted {
                pid: holder.pid,
                host: holder.host,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                after_clean_stop: clean,
            },
        });
        self.commit()?;
        self.beat("running");
        Ok(())
    }

    /// A body of the job that does not match its digest: the job is refused from now on.
    pub(super) fn refuse_job(&mut self, id: &JobId, what: String) -> Result<(), EngineError> {
        self.index.release(id);
        let damage = crate::ledger::Damage {
            goal: self.goal.contract.id.0.clone(),
            job: id.0.clone(),
            what,
        };
        self.refuse_damaged(&[damage])
    }

    /// A damaged job is refused before any operation of it; the others go on. Damage outside the jobs
    /// ends the engine.
    fn refuse_damaged(&mut self, damage: &[crate::ledger::Damage]) -> Result<(), EngineError> {
        let known = self.ledger.read().alerts(&self.goal.contract.id)?;
        for one in damage {
            let id = JobId(one.job.clone());
            if !one.job.is_empty() && one.goal != self.goal.contract.id.0 {
                // Another goal's job is that goal's trouble.
                continue;
            }
            let Some(job) = self.index.jobs.get_mut(&id) else {
                return Err(EngineError::Ledger(LedgerError::Damaged {
                    path: self.ledger.path().to_path_buf(),
                    why: one.what.clone(),
                }));
            };
            let evidence = format!("{id}: {}; no operation of it is started", one.what);
            let told = known
                .iter()
                .any(|alert| alert.cleared_at.is_none() && alert.evidence == evidence);
            if !job.damaged && !told {
                self.batch.entries.push(Entry {
                    at: self.now,
                    goal: self.goal.contract.id.clone(),
                    job: None,
                    attempt: None,
                    actor: Actor::Engine,
                    event: Event::AlertRaised {
                        rule: "damage".to_owned(),
                        evidence,
                    },
                });
            }
            job.damaged = true;
        }
        Ok(())
    }

    fn wake_everyone(&mut self) {
        let open: Vec<JobId> = self
            .index
            .jobs
            .iter()
            .filter(|(_, job)| !job.view.state.has_ended())
            .map(|(id, _)| id.clone())
            .collect();
        for id in &open {
            self.index.mark_ready(id);
        }
    }

    /// Works until the goal ends, only people can move it on, or it is asked to stop.
    ///
    /// # Errors
    /// When a commit fails: nothing after the last commit was done.
    pub fn run(&mut self) -> Result<Finish, EngineError> {
        let finish = loop {
            if let Some(finish) = self.turn()? {
                break finish;
            }
        };
        self.say_goodbye(finish)?;
        Ok(finish)
    }

    /// Writes down that nothing was cut off.
    pub(crate) fn say_goodbye(&mut self, finish: Finish) -> Result<(), EngineError> {
        let why = match finish {
            Finish::Ended => "every job has ended".to_owned(),
            Finish::OnlyPeople => "only people can move it on".to_owned(),
            Finish::Stopped => self.stop.asked().map(|(_, why)| why).unwrap_or_default(),
        };
        self.batch.entries.push(Entry {
            at: self.now,
            goal: "".into(),
            job: None,
            attempt: None,
            actor: Actor::Engine,
            event: Event::EngineStopped { why },
        });
        self.commit()?;
        self.ledger
            .beat(wall(), self.now, BEAT_EVERY.as_millis() as i64, "stopped");
        Ok(())
    }

    /// One turn; `Some` when the run is over.
    pub(crate) fn turn(&mut self) -> Result<Option<Finish>, EngineError> {
        self.tick();
        if let Some(quota) = &mut self.quota {
            quota.roll(self.now);
        }
        let draining = self.is_draining();
        for (ticket, reply) in self.executor.finished(self.now) {
            if let Some((job, errand)) = self.in_flight.remove(&ticket) {
                self.take_reply(&job, errand, reply)?;
            }
        }
        if !draining {
            self.refresh_checkers();
            if self.settle_first.is_empty() {
                self.take_decisions()?;
            }
            self.index.fire_timers(self.now);
            self.look_at_world()?;
            self.advance_ready()?;
        }
        let worked = !self.batch.is_empty() || !self.calls.is_empty();
        let effects = self
            .calls
            .iter()
            .any(|(_, errand, _)| matches!(errand, Errand::Effect(_)));
        if self.rig.fires(Sabotage::ActBeforeCommit, effects) {
            self.dispatch();
        }
        self.commit()?;
        self.dispatch();
        if let Some(finish) = self.over(draining)? {
            return Ok(Some(finish));
        }
        if !worked {
            self.rest();
        }
        self.beat("running");
        Ok(None)
    }

    /// Moves the engine's time by what the clock moved. A clock that goes back stands still for it, so
    /// that every timer still fires after the pause it was set for.
    fn tick(&mut self) {
        let read = self.clock.now();
        self.now = self.now.plus_ms(read.since(self.last_read).max(0));
        self.last_read = read;
    }

    fn advance_ready(&mut self) -> Result<(), EngineError> {
        if !self.settle_first.is_empty() {
            return self.settle_what_was_left();
        }
        let slots = self.goal.contract.limits.concurrent_jobs as usize;
        while self.batch.entries.len() < MAX_BATCH {
            let Some(id) = self.index.take_ready(slots) else {
                break;
            };
            self.advance(&id)?;
        }
        Ok(())
    }

    /// Looks up every operation that the engine before left without an outcome; until each was answered
    /// once, nothing else happens.
    fn settle_what_was_left(&mut self) -> Result<(), EngineError> {
        while self.calls.len() < MAX_BATCH {
            let Some(id) = self.index.take_of(&self.settle_first) else {
                break;
            };
            let facts = self.facts(&id)?;
            match facts.unsettled().next().map(|one| one.id.clone()) {
                Some(operation) => self.look_up(&id, &facts, &operation),
                None => self.settled_once(&id),
            }
        }
        Ok(())
    }

    /// A job's first look-up after the start was answered.
    pub(super) fn settled_once(&mut self, id: &JobId) {
        if self.settle_first.remove(id) && self.settle_first.is_empty() {
            self.wake_everyone();
        }
    }

    /// Notices a checker that was edited while the engine runs: its passes mean nothing under the new one.
    fn refresh_checkers(&mut self) {
        let due = self
            .last_refresh
            .is_none_or(|at| at.elapsed() >= BEAT_EVERY);
        if !due {
            return;
        }
        self.last_refresh = Some(Instant::now());
        let digests = checker_digests(&self.goal);
        if digests == self.checkers {
            return;
        }
        for id in self.index.set_checkers(&digests) {
            self.index.mark_ready(&id);
        }
        self.checkers = digests;
    }

    fn look_at_world(&mut self) -> Result<(), EngineError> {
        if !self.heart.is_due(self.now) {
            return Ok(());
        }
        let mut overview = self.ledger.read().overview(&self.goal.contract.id)?;
        // The overview goes by the last beat, which on a fast clock is long ago.
        overview.stalled = self
            .ledger
            .read()
            .stalled(&self.goal.contract.id, self.now)?;
        let alerts = self.ledger.read().alerts(&self.goal.contract.id)?;
        let active = self.index.active_count();
        for event in self.heart.beat(
            self.now,
            &overview,
            &alerts,
            active,
            self.goal.contract.deadline,
        ) {
            self.emit_goal(event);
        }
        Ok(())
    }

    fn over(&mut self, draining: bool) -> Result<Option<Finish>, EngineError> {
        if draining {
            let effects_open = self
                .in_flight
                .values()
                .any(|(_, errand)| matches!(errand, Errand::Effect(_)));
            let wait_for_all =
                self.stop.level() == Some(StopLevel::AfterSteps) && !self.in_flight.is_empty();
            return Ok((!effects_open && !wait_for_all).then_some(Finish::Stopped));
        }
        if !self.in_flight.is_empty() || !self.calls.is_empty() {
            return Ok(None);
        }
        if self.index.all_ended() {
            self.end_goal()?;
            return Ok((!self.settings.stay_after_end).then_some(Finish::Ended));
        }
        let slots = self.goal.contract.limits.concurrent_jobs as usize;
        let idle = !self.index.has_ready(slots) && self.operator.is_none();
        let only_people = self.settings.exit_when_waiting && idle && self.index.only_people();
        Ok(only_people.then_some(Finish::OnlyPeople))
    }

    fn end_goal(&mut self) -> Result<(), EngineError> {
        let goals = self.ledger.read().goals()?;
        let ended = goals
            .iter()
            .any(|row| row.goal == self.goal.contract.id && row.ended.is_some());
        if !ended {
            let overview = self.ledger.read().overview(&self.goal.contract.id)?;
            self.emit_goal(Event::GoalEnded {
                summary: super::report::end_sentence(&overview),
            });
            self.commit()?;
        }
        Ok(())
    }

    fn rest(&mut self) {
        let for_people = self.clock.is_virtual()
            && self.in_flight.is_empty()
            && self.operator.is_none()
            && (self.index.only_people() || self.index.all_ended());
        if for_people {
            // A person's time is real: a virtual clock that ran on meanwhile would only fill the ledger.
            self.executor.wait(LONGEST_SLEEP);
            return;
        }
        let heart = Some(self.heart.next());
        let operator = self.operator.as_ref().and_then(|one| one.next(self.now));
        let next = [
            self.executor.next_due(),
            self.index.next_timer(),
            heart,
            operator,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(self.now);
        // The clock may be behind the engine's time; only the difference counts.
        let pause = next.since(self.now).max(1);
        let until = self.clock.now().plus_ms(pause);
        if self.clock.is_virtual() {
            self.clock.advance_to(until);
        } else {
            self.executor
                .wait(self.clock.real_delay_until(until).min(LONGEST_SLEEP));
        }
    }

    fn beat(&mut self, state: &str) {
        if self.last_beat.is_none_or(|at| at.elapsed() >= BEAT_EVERY) {
            self.last_beat = Some(Instant::now());
            self.ledger
                .beat(wall(), self.now, BEAT_EVERY.as_millis() as i64, state);
        }
    }

    fn take_decisions(&mut self) -> Result<(), EngineError> {
        if let Some(operator) = &mut self.operator {
            let entries = operator.decisions(self.now, &self.ledger)?;
            if !entries.is_empty() {
                self.batch.entries.extend(entries);
                self.commit()?;
                self.last_decision_check = None;
            }
        }
        // Other processes' decisions arrive at a person's pace; ten looks a second are enough.
        // On a virtual clock every turn looks, so that the same acts give the same ledger.
        let due = self.clock.is_virtual()
            || self
                .last_decision_check
                .is_none_or(|at| at.elapsed() >= Duration::from_millis(100));
        if !due {
            return Ok(());
        }
        self.last_decision_check = Some(Instant::now());
        for decision in self
            .ledger
            .read()
            .pending_decisions(&self.goal.contract.id)?
        {
            self.answer(&decision)?;
        }
        Ok(())
    }

    /// The job's facts with what this turn changed.
    pub(super) fn facts(&mut self, id: &JobId) -> Result<JobFacts, EngineError> {
        if let Some(facts) = self.changed.get(id) {
            return Ok(facts.clone());
        }
        self.ledger
            .facts(&self.goal.contract.id, id)?
            .ok_or_else(|| EngineError::Setup(format!("job {id} is not in the ledger")))
    }

    /// Writes an entry of a job, by whom, and keeps its facts and its place in step.
    pub(super) fn emit_as(
        &mut self,
        id: &JobId,
        actor: Actor,
        event: Event,
    ) -> Result<(), EngineError> {
        // Taken, not copied: they are put back changed below.
        let mut facts = match self.changed.remove(id) {
            Some(facts) => facts,
            None => self.facts(id)?,
        };
        let attempt = match event {
            Event::AttemptStarted { .. } => facts.attempt.0 + 1,
            _ => facts.attempt.0,
        };
        let entry = Entry {
            at: self.now,
            goal: self.goal.contract.id.clone(),
            job: Some(id.clone()),
            attempt: (attempt > 0).then_some(crate::model::AttemptNo(attempt)),
            actor,
            event,
        };
        if !matches!(entry.event, Event::DecisionAnswered { .. }) {
            facts.apply(&entry);
            if self.index.note(&facts) {
                let below = self
                    .index
                    .jobs
                    .get(id)
                    .map(|job| job.dependents.clone())
                    .unwrap_or_default();
                for down in &below {
                    self.index.mark_ready(down);
                }
            }
        }
        self.changed.insert(id.clone(), facts);
        self.batch.entries.push(entry);
        Ok(())
    }

    /// Writes an entry of a job in the engine's name.
    pub(super) fn emit(&mut self, id: &JobId, event: Event) -> Result<(), EngineError> {
        self.emit_as(id, Actor::Engine, event)
    }

    pub(super) fn emit_goal(&mut self, event: Event) {
        self.batch.entries.push(Entry {
            at: self.now,
            goal: self.goal.contract.id.clone(),
            job: None,
            attempt: None,
            actor: Actor::Engine,
            event,
        });
    }

    /// Keeps a body with the next commit.
    pub(super) fn blob(&mut self, bytes: &[u8]) -> Digest {
        self.batch.blob(bytes)
    }

    /// A body as text, also one that is not committed yet.
    pub(super) fn text(&self, digest: &Digest) -> Result<String, EngineError> {
        if let Some((_, bytes)) = self.batch.blobs.iter().find(|(own, _)| own == digest) {
            return Ok(String::from_utf8_lossy(bytes).into_owned());
        }
        Ok(String::from_utf8_lossy(&self.ledger.blob(digest)?).into_owned())
    }

    /// A call to make once this turn's entries are on the disk.
    pub(super) fn call_after_commit(&mut self, id: &JobId, errand: Errand, call: Call) {
        if let Some(job) = self.index.jobs.get_mut(id) {
            job.in_flight = true;
        }
        self.calls.push((id.clone(), errand, call));
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        let batch = std::mem::take(&mut self.batch);
        self.changed.clear();
        self.cut(Point::BeforeCommit)?;
        self.ledger.append(&batch)?;
        self.cut(Point::AfterCommit)
    }

    /// Ends the engine as a kill would, where the laboratory says so.
    fn cut(&mut self, point: Point) -> Result<(), EngineError> {
        if self.rig.dies_at(point) {
            return Err(EngineError::Setup(format!(
                "killed by the laboratory: {point:?}"
            )));
        }
        Ok(())
    }

    /// Makes the calls whose intent is on the disk.
    fn dispatch(&mut self) {
        for (job, errand, call) in std::mem::take(&mut self.calls) {
            let ticket = self.next_ticket;
            self.next_ticket += 1;
            self.in_flight.insert(ticket, (job, errand));
            self.executor.submit(ticket, call, self.now);
        }
    }

    fn take_reply(&mut self, job: &JobId, errand: Errand, reply: Reply) -> Result<(), EngineError> {
        if let Some(own) = self.index.jobs.get_mut(job) {
            own.in_flight = false;
        }
        self.settle_reply(job, errand, reply)
    }

    /// Whether nothing new is started any more.
    pub(super) fn is_draining(&self) -> bool {
        self.stop.level().is_some()
    }

    /// What `decide` may know of a job's surroundings.
    pub(super) fn surroundings(&self, id: &JobId) -> Surroundings {
        let Some(job) = self.index.jobs.get(id) else {
            return Surroundings::default();
        };
        let upstream = job
            .upstream
            .iter()
            .filter_map(|up| self.index.jobs.get(up).map(|one| one.view.clone()))
            .collect();
        Surroundings {
            clauses: job.clauses.clone(),
            upstream,
            quota: self.quota.as_ref().map(Quota::view),
            // Only a request waits for a person, and the calendar is dear.
            person_overdue: (job.view.state == JobState::AwaitingApproval).then(|| {
                let workdays = &self.goal.contract.workdays;
                add_working_ms(workdays, self.now, day_length_ms(workdays))
            }),
            in_cycle: job.in_cycle,
        }
    }

    /// The day's queries, for reports.
    pub fn quota(&self) -> Option<QuotaView> {
        self.quota.as_ref().map(Quota::view)
    }

    /// The engine's time.
    pub fn now(&self) -> TimeMs {
        self.now
    }

    /// The ledger, for reports after a run.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn wall() -> TimeMs {
    Clock::Real.now()
}
