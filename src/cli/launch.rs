//! From an adopted goal to a running engine.

use super::error::CliError;
use super::models::of_plan;
use crate::contract::Goal;
use crate::engine::adopt::{list_jobs, parse_adopted, take_up};
use crate::engine::call::Context;
use crate::engine::executor::{Executor, Inline, Pool};
use crate::engine::run::{Engine, Operator, Parts, Settings, Stop};
use crate::lab::owner::{PRACTICE_OWNER, PracticeOwner};
use crate::ledger::Ledger;
use crate::model::{GoalId, TimeMs, time::Clock};
use crate::worker::ProcessWorker;
use crate::worker::agent::AgentSettings;
use crate::worker::provider::{Cancel, HttpProvider};
use crate::world::job_table::jobs_of;
use crate::world::{open_world, practice};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How fast a practice clock runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// As fast as the machine can.
    Max,
    /// Virtual seconds a second.
    Times(f64),
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "max" => Ok(Self::Max),
            other => match other.parse::<f64>() {
                Ok(times) if times.is_finite() && (1.0..=1_000_000.0).contains(&times) => {
                    Ok(Self::Times(times))
                }
                _ => {
                    Err("expected `max`, or virtual seconds a second from 1 to 1000000".to_owned())
                }
            },
        }
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Times(times) => write!(f, "{times}"),
        }
    }
}

/// What to launch.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// The ledger's file.
    pub ledger: &'a Path,
    /// The goal.
    pub goal: &'a GoalId,
    /// Speed of a practice clock; real goals have the real one.
    pub speed: Speed,
    /// When to end.
    pub settings: Settings,
    /// Whether the practice owner decides.
    pub practice_owner: bool,
}

/// A running engine's parts and what must outlive it.
pub struct Launched {
    /// The engine.
    pub engine: Engine,
    /// How to stop it.
    pub stop: Stop,
    /// When the goal's clock began.
    pub started: TimeMs,
    /// Queries a day, if limited.
    pub queries_per_day: Option<u64>,
    /// Where workers write; removed when dropped.
    _scratch: tempfile::TempDir,
}

/// Opens everything and takes the goal up where the ledger left it.
///
/// # Errors
/// When the ledger is held or damaged, the world does not open, or the source cannot be listed.
pub fn launch(what: &Launch<'_>) -> Result<Launched, CliError> {
    let mut ledger = Ledger::open_for_engine(what.ledger)?;
    let (goal, row) = take_up(&ledger, what.goal, parse_adopted)?;
    let world = open_world(&goal.contract.world, &goal.base_dir).map_err(|error| {
        CliError::new(
            error.to_string(),
            "Nothing was started. Mend the goal's [world] or the adapter.",
        )
    })?;
    let on_practice = goal.contract.world.ports.contains_key("practice");
    if what.practice_owner && !on_practice {
        return Err(CliError::new(
            "the practice owner decides only in the practice world",
            "Real cutovers are a person's.",
        ));
    }
    let clock = clock(&ledger, on_practice, what.speed)?;
    let now = clock.now();
    if ledger
        .read()
        .goals()?
        .iter()
        .all(|one| one.goal != *what.goal || one.jobs_listed.is_none())
    {
        let jobs = jobs_of(&goal.contract.jobs, &goal.base_dir, world.source.as_ref())
            .map_err(crate::engine::adopt::AdoptError::from)?;
        list_jobs(&mut ledger, &goal, &jobs, now)?;
    }
    let scratch = tempfile::Builder::new()
        .prefix("dogwatch-")
        .tempdir()
        .map_err(|error| {
            CliError::new(
                format!("no folder for workers: {error}"),
                "Nothing was started. Check TMPDIR.",
            )
        })?;
    let (models, redactor) = of_plan(&goal)?;
    let cancel = Cancel::default();
    let context = Context {
        world,
        base_dir: Arc::new(goal.base_dir.clone()),
        worker: Arc::new(ProcessWorker {
            providers: agent_providers(&goal)?,
            watched: crate::worker::agent::watched_files(&goal),
            cancel: cancel.clone(),
            ..ProcessWorker::new(goal.base_dir.clone(), scratch.path().to_path_buf())
        }),
        declared_proofs: on_practice,
        worker_ms: if on_practice { 20_000 } else { 0 },
        providers: Arc::new(models),
        redactor,
        cancel,
    };
    let executor: Box<dyn Executor> = if on_practice {
        Box::new(Inline::new(context.clone()))
    } else {
        let size = goal.contract.limits.concurrent_jobs as usize;
        let pool = Pool::new(&context, size).map_err(|error| {
            CliError::new(
                format!("no threads for calls: {error}"),
                "Nothing was started.",
            )
        })?;
        Box::new(pool)
    };
    let operator = what.practice_owner.then(|| {
        let owner = PracticeOwner::new(
            what.goal.clone(),
            goal.contract.workdays.clone(),
            goal.contract.approval.minutes_each,
            now,
        );
        Box::new(owner) as Box<dyn Operator>
    });
    let stop = Stop::default();
    let queries_per_day = goal
        .contract
        .budgets
        .per_day
        .get(crate::model::WAREHOUSE_QUERIES)
        .map(|one| one.limit);
    let engine = Engine::new(Parts {
        ledger,
        goal,
        context,
        executor,
        clock,
        settings: what.settings,
        stop: stop.clone(),
        operator,
    })?;
    Ok(Launched {
        engine,
        stop,
        started: row.adopted_at,
        queries_per_day,
        _scratch: scratch,
    })
}

/// A practice clock goes on where the ledger's last entry left it.
fn clock(ledger: &Ledger, on_practice: bool, speed: Speed) -> Result<Clock, CliError> {
    if !on_practice {
        return Ok(Clock::Real);
    }
    let start = ledger
        .read()
        .last_engine_time()?
        .unwrap_or(practice::START)
        .max(practice::START);
    Ok(match speed {
        Speed::Max => Clock::Virtual { now: start },
        Speed::Times(times) => Clock::scaled(start, times),
    })
}

/// Whether an owner of that name is the practice owner.
pub fn is_practice_owner(name: &str) -> bool {
    name == PRACTICE_OWNER
}

/// Providers that the plan's agents use; one whose key is missing does not keep the goal from running.
fn agent_providers(goal: &Goal) -> Result<BTreeMap<String, Arc<HttpProvider>>, CliError> {
    let wanted: BTreeSet<&str> = goal
        .strategies
        .iter()
        .filter(|one| AgentSettings::is_agent(one))
        .filter_map(|one| one.params.get("provider")?.as_str())
        .collect();
    if wanted.is_empty() {
        return Ok(BTreeMap::new());
    }
    let all = super::providers::of_goal(goal)?;
    let found = all
        .into_iter()
        .filter(|(name, _)| wanted.contains(name.as_str()));
    Ok(found
        .filter_map(|(name, settings)| {
            let provider = HttpProvider::new(settings, &goal.base_dir).ok()?;
            Some((name, Arc::new(provider)))
        })
        .collect())
}
