//! A goal over the no-op world, ready to run on a virtual clock: for measures and for tests.

use super::noop::{Noop, NoopWorker};
use crate::contract::{Goal, GoalError, parse_goal};
use crate::engine::adopt::{AdoptError, Adoption, adopt, list_jobs};
use crate::engine::call::Context;
use crate::engine::executor::Inline;
use crate::engine::run::{Engine, EngineError, Parts, Settings, Stop};
use crate::ledger::Ledger;
use crate::model::{Account, GoalId, TimeMs, time::Clock};
use crate::world::ports::Source as _;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// The account that owns the goal and may approve.
pub const OWNER: &str = "owner";

/// Monday 2024-04-01, 07:00 UTC.
const START: TimeMs = TimeMs(1_711_954_800_000);
/// Virtual milliseconds of a worker's turn.
const WORKER_MS: i64 = 10;

/// Why the goal cannot be set up.
#[derive(Debug, Error)]
pub enum LabError {
    /// Its text.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// Adopting it.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
    /// Its engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its files.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The goal and its world.
pub struct NoopGoal {
    /// Its id.
    pub id: GoalId,
    /// Its world.
    pub noop: Arc<Noop>,
    parsed: Goal,
    text: String,
}

impl NoopGoal {
    /// `approval` is the content of `[approval.cutover]`, such as `required = false`.
    ///
    /// # Errors
    /// When the goal does not parse with it.
    pub fn new(noop: Arc<Noop>, approval: &str, base_dir: &Path) -> Result<Self, LabError> {
        let text = GOAL.replace("{approval}", approval);
        let mut parsed = parse_goal(&text, base_dir, None)?;
        parsed.contract = parsed.contract.resolve_me(&Account(OWNER.to_owned()));
        Ok(Self {
            id: parsed.contract.id.clone(),
            noop,
            parsed,
            text,
        })
    }

    /// Opens the ledger for the engine; adopts the goal and lists its jobs where that is not done yet.
    ///
    /// # Errors
    /// When the ledger cannot be opened or refuses.
    pub fn open(&self, path: &Path) -> Result<Ledger, LabError> {
        let mut ledger = Ledger::open_for_engine(path).map_err(AdoptError::from)?;
        let me = Account(OWNER.to_owned());
        let adoption = Adoption {
            goal: &self.parsed,
            text: &self.text,
            overrides: &[],
            me: &me,
            answers: Vec::new(),
        };
        adopt(&mut ledger, &adoption, START)?;
        let goals = ledger.read().goals().map_err(AdoptError::from)?;
        if goals.iter().any(|row| row.jobs_listed.is_none()) {
            let jobs = self.noop.list().map_err(AdoptError::from)?;
            list_jobs(&mut ledger, &self.parsed, &jobs.value, START)?;
        }
        Ok(ledger)
    }

    /// An engine whose clock goes on at the ledger's last entry. It ends when only people can move the
    /// goal on.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn engine(&self, ledger: Ledger) -> Result<Engine, LabError> {
        let last = ledger.read().last_event_at().map_err(EngineError::from)?;
        self.engine_at(ledger, last.unwrap_or(START))
    }

    /// An engine whose clock begins at `now`.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn engine_at(&self, ledger: Ledger, now: TimeMs) -> Result<Engine, LabError> {
        let context = Context {
            world: self.noop.world(),
            base_dir: Arc::new(self.parsed.base_dir.clone()),
            worker: Arc::new(NoopWorker),
            declared_proofs: true,
            worker_ms: WORKER_MS,
            providers: Arc::default(),
            redactor: crate::worker::chat::redact::Redactor::default(),
            cancel: crate::worker::provider::Cancel::default(),
        };
        let engine = Engine::new(Parts {
            ledger,
            goal: self.parsed.clone(),
            executor: Box::new(Inline::new(context.clone())),
            context,
            clock: Clock::Virtual { now },
            settings: Settings {
                exit_when_waiting: true,
                stay_after_end: false,
                ..Settings::default()
            },
            stop: Stop::default(),
            operator: None,
        })?;
        Ok(engine)
    }
}

/// Eight jobs at once is the contract's default.
const GOAL: &str = r#"
[goal]
id = "noop"
objective = "Every no-op job is moved."
owner = "@me"
deadline = "2024-04-05T18:00:00Z"
[[accept]]
id = "run"
check = "run_log"
[approval.cutover]
by = ["@me"]
{approval}
[[strategy]]
id = "script"
worker = "script"
run = ["true"]
[world.source]
adapter = "command"
run = ["true"]
[world.target]
adapter = "command"
run = ["true"]
"#;
