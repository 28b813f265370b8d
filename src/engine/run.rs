//! The loop: answers in, decisions answered, jobs advanced, one commit, then the calls.

mod begin;
mod emit;
mod full;
mod turn;

pub use super::stop::Stop;

use super::call::{Call, Context};
use super::chat::ProviderHolds;
use super::checkers::{checker_digests, clause_views};
use super::drift::{Question, Restart, Resume};
use super::executor::{Executor, Ticket};
use super::forecast::Outlook;
use super::heartbeat::Heart;
use super::index::Index;
use super::operation::Proofs;
use super::outage::Outages;
use super::replan::Plans;
use super::rig::{Rig, Sabotage};
use super::spin::Spin;
use super::surroundings::{ClauseView, GateView, QuotaView, Surroundings};
use super::walls::{Reached, Walls, WallsView};
use super::waves::Waves;
use crate::contract::Goal;
use crate::contract::workdays::{add_working_ms, day_length_ms};
use crate::ledger::event::{CallRef, Entry, GoalWords};
use crate::ledger::facts::JobFacts;
use crate::ledger::{Batch, Ledger, LedgerError};
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
    /// A budget ended the work; its owner decides whether there is more.
    Budget,
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
    /// Say on standard error what an operator must know at once and the ledger cannot take: a full disk.
    pub say_on_stderr: bool,
    /// What to do after an unclean stop.
    pub resume: Resume,
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

    /// Whether it may make room in a budget that ended the work.
    fn raises(&self) -> bool {
        false
    }

    /// Whether it had nothing to decide for so long that it never will.
    fn gives_up(&self, _now: TimeMs) -> bool {
        false
    }
}

/// What a call in progress was for.
#[derive(Debug, Clone)]
pub(super) enum Errand {
    Prepare,
    Effect(OperationId),
    LookUp(OperationId),
    Watch(OperationId),
    /// Look for a run that cannot be observed.
    Find(OperationId),
    Check {
        clause: ClauseView,
        lineage: Digest,
        config: Digest,
        operation: OperationId,
        day: String,
    },
    /// Ask for a logical date on which this clause has something to compare.
    OtherDates {
        clause: ClauseId,
        why: String,
    },
    Request,
    Turn(u32),
    ToolQuery {
        turn: u32,
        call: CallRef,
    },
    OldHost {
        turn: u32,
        call: CallRef,
    },
    /// The cutover is about to be made.
    Confirm,
    Compare(Question, u32),
}

/// The engine of one goal.
pub struct Engine {
    /// First, so that calls in progress end before the ledger's lock is given back.
    executor: Box<dyn Executor>,
    pub(super) ledger: Ledger,
    pub(super) goal: Goal,
    pub(super) context: Context,
    pub(super) index: Index,
    pub(super) walls: Walls,
    /// Totals that were told to be at their handoff or their wall.
    pub(super) reached: Vec<Reached>,
    /// Whether a budget ended the work.
    pub(super) stopped: bool,
    /// The outlook that was written down last.
    pub(super) outlook: Option<Outlook>,
    pub(super) proofs: Proofs,
    pub(super) waves: Waves,
    pub(super) outages: Outages,
    pub(super) provider_holds: ProviderHolds,
    /// The last words about the whole goal.
    pub(super) goal_words: Option<GoalWords>,
    pub(super) spin: Spin,
    pub(super) plans: Plans,
    /// How often in a row a run that cannot be observed was not found by its id either.
    pub(super) not_found: BTreeMap<OperationId, u32>,
    pub(super) checkers: BTreeMap<ClauseId, Digest>,
    pub(super) now: TimeMs,
    pub(super) in_flight: BTreeMap<Ticket, (JobId, Errand)>,
    pub(super) rig: Rig,
    clock: Clock,
    /// What the clock said last; the engine's time moves by the difference.
    last_read: TimeMs,
    settings: Settings,
    stop: Stop,
    operator: Option<Box<dyn Operator>>,
    pub(super) heart: Heart,
    next_ticket: Ticket,
    /// Jobs whose operations must be looked up before anything else happens.
    settle_first: BTreeSet<JobId>,
    /// What an unclean stop before this engine leads to.
    pub(super) restart: Restart,
    pub(super) batch: Batch,
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
        let goal_id = &goal.contract.id;
        let compare =
            !clean || view.unclean_since_compared(goal_id)? || view.drift_open(goal_id)? > 0;
        let compare = compare && !rig.fires(Sabotage::SkipCompare, compare);
        // A restart that is not over is the same one, however often it is taken up.
        let begun = view.last_unclean_start()?.filter(|_| clean).unwrap_or(now);
        let restart = Restart::new(settings.resume, compare, &all, (begun, now));
        damage.extend(view.broken_chains()?);
        let proofs = Proofs {
            declared_counts: context.declared_proofs,
            measured: view.proofs(&goal.contract.id)?,
        };
        let waves = Waves::from_history(&view.production_changes(
            &goal.contract.id,
            goal.contract.cutover.waves.map_or(0, |waves| waves.clean),
        )?);
        let checkers = checker_digests(&goal);
        let mut index = Index::new(&all, |facts, output| {
            clause_views(&goal, &checkers, facts, output)
        });
        let goal_words = view.goal_words(&goal.contract.id)?;
        let slots = goal.contract.limits.concurrent_jobs as usize;
        let outages = Outages::at_start(view, &goal.contract.id, slots)?;
        for facts in &all {
            index.set_retired(facts, &goal.contract.jobs);
        }
        let row = view
            .goals()?
            .into_iter()
            .find(|row| row.goal == goal.contract.id);
        let stopped = row.as_ref().is_some_and(|row| row.stopped.is_some());
        let adopted_at = row.as_ref().map_or(now, |row| row.adopted_at);
        let outlook = view
            .forecast(&goal.contract.id)?
            .and_then(|(_, value)| serde_json::from_value(value).ok());
        let walls = Walls::new(
            &goal.contract,
            adopted_at,
            &view.budget_uses(&goal.contract.id)?,
            view.open_spends(&goal.contract.id)?,
            now,
        );
        let last_beat = row.and_then(|row| row.heartbeat_at.or(Some(row.adopted_at)));
        let heart = Heart::new(goal.contract.heartbeat.every_ms, last_beat, now);
        let plans = Plans::new(&view.plans(&goal.contract.id)?, &goal.strategies);
        let mut engine = Self {
            ledger,
            goal,
            context,
            index,
            walls,
            reached: Vec::new(),
            stopped,
            outlook,
            proofs,
            waves,
            outages,
            provider_holds: ProviderHolds::default(),
            goal_words,
            spin: Spin::default(),
            plans,
            not_found: BTreeMap::new(),
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
            restart,
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

    /// Whether nothing new is started any more.
    pub(super) fn is_draining(&self) -> bool {
        self.stop.level().is_some()
    }

    /// The contract and the plan.
    pub(super) fn rules(&self) -> super::decide::Rules<'_> {
        super::decide::Rules {
            contract: &self.goal.contract,
            strategies: &self.goal.strategies,
        }
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
            quota: self
                .walls
                .queries()
                .filter(|own| !self.rig.fires(Sabotage::CrossQuota, own.left == 0)),
            walls: self.walls_view(),
            // Only a request and chosen rows wait for a person, and the calendar is dear.
            person_overdue: (job.view.state == JobState::AwaitingApproval || job.sampled).then(
                || {
                    let workdays = &self.goal.contract.workdays;
                    add_working_ms(workdays, self.now, day_length_ms(workdays))
                },
            ),
            in_cycle: job.in_cycle,
            gate: self.gate(job.view.state),
            outages: self.outages.view(id),
            provider_holds: self.provider_holds.view(self.now),
            provider_storms: self.provider_holds.storms(self.now),
            retired: job.retired.clone(),
            spin: self.spin.view(Some(id)),
        }
    }

    /// Whether the calendar and the cutovers before it let one more start. Asked only for jobs that may be
    /// cut over: a calendar is dear.
    fn gate(&self, state: JobState) -> GateView {
        if !matches!(state, JobState::Reconciled | JobState::AwaitingApproval) {
            return GateView::default();
        }
        let contract = &self.goal.contract;
        GateView {
            frozen: contract
                .cutover
                .frozen_until(&contract.workdays.zone, self.now)
                .filter(|_| !self.rig.fires(Sabotage::IgnoreFreeze, true))
                .map(|(until, text)| (until, text.to_owned())),
            full: {
                let on_their_way = self.index.cutovers_on_their_way();
                let full = on_their_way >= self.waves.at_once(&contract.cutover);
                full && !self.rig.fires(Sabotage::IgnoreWaves, full)
            },
        }
    }

    fn walls_view(&self) -> WallsView {
        let mut view = self.walls.view(self.now);
        if self
            .rig
            .fires(Sabotage::CrossWall, view.no_action.is_some())
        {
            view.no_action = None;
        }
        view
    }

    /// The day's queries, for reports.
    pub fn quota(&self) -> Option<QuotaView> {
        self.walls.queries()
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
