//! A small world that outlives every engine of a run: what was really done, and what the world says of it.
//!
//! It does nothing but keep effects, so that thousands of runs a minute are possible. Its time is the
//! time that really passed, whatever anybody's clock shows.

use super::dice::Dice;
use super::scenario::{Faults, JobPlan, Nature, Scenario, TOKENS_AN_ATTEMPT};
use crate::contract::Strategy;
use crate::model::time::Steering;
use crate::model::{Action, Digest, FailureClass, JobId, LogicalDate, OperationId, digest_bytes};
use crate::worker::{PrepareFailure, PrepareReply, PrepareRequest, Prepared, Spent, Worker};
use crate::world::World;
use crate::world::ports::{Effect, EffectRef, InProduction, Source, Target, Warehouse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tag of jobs that write a table.
pub(super) const HAS_TABLE: &str = "has_table";
const MINUTE_MS: i64 = 60_000;

/// What is true of one config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    /// It does what the old job does.
    Good,
    /// Its run fails.
    RunFails,
    /// The target does not take it.
    TargetRefuses,
    /// Production does not take it.
    ProductionRefuses,
    /// It does other things.
    Differs,
    /// It does nothing, and says that all is well.
    Hollow,
    /// What it does cannot be told.
    Untold,
    /// Its table has other rows.
    RowsDiffer,
}

/// Something that was really done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub operation: OperationId,
    pub action: Action,
    pub job: JobId,
    pub config: String,
    pub config_digest: Digest,
    /// The logical date that was asked for.
    pub date: Option<LogicalDate>,
    /// When, in milliseconds of passed time.
    pub at_ms: i64,
    pub(super) visible_ms: i64,
    pub(super) run_ends_ms: i64,
    pub(super) run_fails: bool,
    /// Somebody took it away later.
    pub(super) gone: bool,
    /// What the world said last that a cutover of the job would set off.
    pub(super) told: Vec<String>,
}

/// What changes.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) calm: bool,
    pub(super) made: Vec<Made>,
    /// Queries that ran.
    pub(super) queries: u64,
    /// The same by job.
    pub(super) queries_of: BTreeMap<JobId, u64>,
    /// Jobs whose run was for another date than the one that was compared.
    pub(super) mixed: BTreeSet<JobId>,
    /// How often each fault came.
    pub(super) faults: BTreeMap<&'static str, u64>,
    /// Calls by kind and job, so that each draws for itself.
    counts: BTreeMap<(&'static str, JobId), u64>,
    /// Effects of the last minute.
    recent: Vec<i64>,
    /// How often it was asked what a cutover would set off.
    pub(super) asked: BTreeMap<JobId, u64>,
    /// The last answer.
    pub(super) told: BTreeMap<JobId, Vec<String>>,
    /// Runs that a cutover would make up for.
    pub(super) missed: BTreeMap<JobId, u64>,
    /// What strangers put into production.
    pub(super) by_hand: Vec<InProduction>,
    /// How often strangers edited old jobs.
    pub(super) redefined: BTreeMap<JobId, u32>,
    /// Old jobs that strangers removed.
    pub(super) removed: BTreeSet<JobId>,
    /// Whether a stranger added an old job.
    pub(super) added: bool,
}

/// The world.
#[derive(Debug)]
pub(super) struct SimWorld {
    pub(super) dice: Dice,
    pub(super) faults: Faults,
    pub(super) jobs: BTreeMap<JobId, JobPlan>,
    /// In the source's order.
    pub(super) order: Vec<JobId>,
    pub(super) dedup: (bool, bool),
    /// Whether the target can say what is in production.
    pub(super) lists_production: bool,
    /// Chance in a thousand that a repairing worker hands in again what failed.
    resubmits: u32,
    /// Whether it hands in two configs in turn.
    alternates: bool,
    /// Whether its attempts spend tokens.
    agents: bool,
    pub(super) clock: Arc<Steering>,
    state: Mutex<State>,
}

impl SimWorld {
    pub(super) fn new(scenario: &Scenario, clock: Arc<Steering>) -> Arc<Self> {
        let by_id = |job: &JobPlan| (JobId(job.id()), job.clone());
        let added = JobPlan::added();
        Arc::new(Self {
            dice: Dice::new(scenario.seed),
            faults: scenario.faults.clone(),
            jobs: scenario.jobs.iter().chain([&added]).map(by_id).collect(),
            order: scenario.jobs.iter().map(|job| JobId(job.id())).collect(),
            dedup: scenario.rules.dedup,
            lists_production: scenario.rules.lists_production,
            resubmits: scenario.rules.resubmits,
            alternates: scenario.rules.alternates,
            agents: scenario.rules.agents,
            clock,
            state: Mutex::new(State::default()),
        })
    }

    /// Its ports.
    pub(super) fn world(self: &Arc<Self>) -> World {
        World {
            source: Arc::clone(self) as Arc<dyn Source>,
            target: Arc::clone(self) as Arc<dyn Target>,
            warehouse: Some(Arc::clone(self) as Arc<dyn Warehouse>),
            probe: Some(Arc::clone(self) as Arc<dyn crate::world::ports::Probe>),
        }
    }

    /// What changes; a panic elsewhere does not hide it.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Faults stop; what is true stays true.
    pub(super) fn calm(&self) {
        self.state().calm = true;
    }

    /// Whether the target keeps one effect per id of this action.
    pub(super) fn keeps_one(&self, action: Action) -> bool {
        match action {
            Action::Stage => self.dedup.0,
            Action::CutOver | Action::RollBack => self.dedup.1,
        }
    }

    /// What is true of a config of a job.
    pub(super) fn truth(&self, job: &JobId, config: &str) -> Truth {
        let Some(plan) = self.jobs.get(job) else {
            return Truth::TargetRefuses;
        };
        let good = match plan.nature {
            Nature::Sound => true,
            Nature::Repairable => self.dice.happens(450, &["good", config], 0),
            Nature::SecondTry => {
                let mut parts = config.split('|').skip(1);
                let first = matches!((parts.next(), parts.next()), (Some("s0"), Some("0" | "1")));
                !first
            }
            Nature::Defective => false,
            Nature::Differs => return Truth::Differs,
        };
        if good {
            return Truth::Good;
        }
        match self.dice.below(8, &["bad", config], 0) {
            0 => Truth::RunFails,
            1 => Truth::TargetRefuses,
            2 => Truth::ProductionRefuses,
            3 => Truth::Hollow,
            4 => Truth::Untold,
            5 | 6 if plan.table => Truth::RowsDiffer,
            _ => Truth::Differs,
        }
    }

    /// The how-manieth call of this kind for this job.
    pub(super) fn count(&self, state: &mut State, kind: &'static str, job: &JobId) -> u64 {
        let count = state.counts.entry((kind, job.clone())).or_default();
        *count += 1;
        *count
    }

    /// Whether a fault happens now; counted.
    pub(super) fn fault(
        &self,
        state: &mut State,
        rate: u32,
        name: &'static str,
        job: &JobId,
        count: u64,
    ) -> bool {
        let happens = !state.calm && self.dice.happens(rate, &[name, job.as_str()], count);
        if happens {
            *state.faults.entry(name).or_default() += 1;
        }
        happens
    }

    /// Whether nothing answers now; counted.
    pub(super) fn is_out(&self, state: &mut State) -> bool {
        let now = self.clock.passed_ms();
        let inside =
            |(from, length): &(i64, i64)| (*from..from.saturating_add(*length)).contains(&now);
        let out = !state.calm && self.faults.outages.iter().any(inside);
        if out {
            *state.faults.entry("outage").or_default() += 1;
        }
        out
    }

    /// Whether the minute is full; otherwise it takes one effect more.
    pub(super) fn minute_is_full(&self, state: &mut State) -> bool {
        let now = self.clock.passed_ms();
        state.recent.retain(|at| now - at < MINUTE_MS);
        let full = self.faults.a_minute > 0
            && !state.calm
            && state.recent.len() as u64 >= self.faults.a_minute;
        if full {
            *state.faults.entry("rate limit").or_default() += 1;
        } else {
            state.recent.push(now);
        }
        full
    }

    /// How long a call takes: moments, or hours.
    pub(super) fn takes(
        &self,
        state: &mut State,
        kind: &'static str,
        job: &JobId,
        count: u64,
    ) -> i64 {
        let key = ["takes", kind, job.as_str()];
        if self.fault(state, self.faults.hangs, "hang", job, count) {
            return MINUTE_MS * 60 * (1 + self.dice.below(12, &key, count) as i64);
        }
        50 + self.dice.below(3_000, &key, count) as i64
    }
}

/// How the world names what an operation made.
pub(super) fn reference(operation: &OperationId) -> String {
    format!("run-{operation}")
}

/// A refusal of the environment.
pub(super) fn refused(why: &str, retry_after_ms: Option<i64>) -> Effect {
    Effect::Refused {
        why: why.to_owned(),
        class: FailureClass::Environment,
        retry_after_ms,
    }
}

/// What a look-up or a reply says of something made.
pub(super) fn found(made: &Made) -> EffectRef {
    EffectRef {
        reference: reference(&made.operation),
        config_digest: made.config_digest.clone(),
        observed: String::new(),
    }
}

/// Proposes configs: a script always the same one, a repairing worker mostly another each time.
#[derive(Debug, Clone)]
pub(super) struct SimWorker(pub(super) Arc<SimWorld>);

impl Worker for SimWorker {
    fn attempt(&self, strategy: &Strategy, request: &PrepareRequest) -> Prepared {
        let mut prepared = Prepared::free(self.prepare(strategy, request));
        if self.0.agents && strategy.worker == "command" {
            prepared.spent = Some(Spent {
                tokens: TOKENS_AN_ATTEMPT,
                money: None,
                sure: true,
            });
        }
        prepared
    }

    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        let world = &self.0;
        let job = &request.job;
        let mut state = world.state();
        let count = world.count(&mut state, "prepare", job);
        let key = ["words", job.as_str(), strategy.id.as_str()];
        if world.fault(&mut state, world.faults.worker_fails, "worker", job, count) {
            let class = match world.dice.below(2, &key, count) {
                0 => FailureClass::Environment,
                _ => FailureClass::Unclear,
            };
            let why = "the worker broke".to_owned();
            return Err(PrepareFailure { why, class });
        }
        let sick = world
            .jobs
            .get(job)
            .is_some_and(|plan| plan.nature == Nature::Defective);
        if sick && world.dice.happens(200, &key, 0) {
            return Err(PrepareFailure {
                why: "it cannot be converted".to_owned(),
                class: FailureClass::Job,
            });
        }
        let repairs = strategy.worker == "command";
        let again = repairs && !world.dice.happens(world.resubmits, &key, count);
        let config = match &request.previous {
            _ if repairs && world.alternates => {
                format!("{job}|{}|{}", strategy.id, request.attempt.0 % 2)
            }
            Some(previous) if repairs && !again => {
                *state.faults.entry("resubmitted").or_default() += 1;
                previous.config.clone()
            }
            _ if again => format!("{job}|{}|{}", strategy.id, request.attempt),
            _ => format!("{job}|{}|0", strategy.id),
        };
        Ok(PrepareReply {
            config,
            remark: String::new(),
            claim: None,
        })
    }
}

/// Digest of what a job does to the world when it is right.
pub(super) fn right_effects(job: &JobId) -> Digest {
    digest_bytes(job.as_str().as_bytes())
}
