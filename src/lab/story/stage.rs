//! Where a story plays: a directory, a ledger, the engine on a virtual clock, and what was said.

use super::text::wall;
use super::worker::StoryWorker;
use crate::contract::{Goal, GoalError, parse_goal};
use crate::engine::adopt::{AdoptError, Adoption, adopt, list_jobs, take_up};
use crate::engine::call::Context;
use crate::engine::executor::Inline;
use crate::engine::run::{Engine, EngineError, Operator, Parts, Settings, Stop};
use crate::lab::owner::{PRACTICE_OWNER, PracticeOwner};
use crate::ledger::event::{Act, Entry, Event};
use crate::ledger::read::View;
use crate::ledger::{Ledger, LedgerError, decide, verify};
use crate::model::{Account, GoalId, JobId, JobState, TimeMs, time::Clock};
use crate::worker::Worker;
use crate::world::{open_world, practice};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Most virtual days of one story.
const MAX_DAYS: i64 = 60;
/// Most turns of the engine in one story.
const MAX_TURNS: u64 = 2_000_000;
/// What a worker's turn takes, in virtual milliseconds.
const WORKER_MS: i64 = 20_000;

/// Why a story ended early.
#[derive(Debug, Error)]
pub enum StoryError {
    /// The directory.
    #[error("{0}")]
    Place(String),
    /// The story itself is wrong.
    #[error("the story cannot be played: {0}")]
    Script(String),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Adoption or taking up.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
    /// The goal file.
    #[error("the story's goal file: {0}")]
    Goal(#[from] GoalError),
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The engine's time.
    pub at_ms: TimeMs,
    /// Weekday and wall clock of the company.
    pub clock: String,
    /// The sentence.
    pub text: String,
}

/// Something that must be true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What, one sentence.
    pub what: String,
    /// Whether it is.
    pub holds: bool,
    /// What was seen.
    pub seen: String,
}

/// A story that was played to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Played {
    /// The story.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// What was said, in order.
    pub lines: Vec<Line>,
    /// Figures by name.
    pub figures: Map<String, Value>,
    /// What must be true.
    pub checks: Vec<Check>,
    /// `ok`, or the first thing that verify found.
    pub chain: String,
    /// The ledger's file.
    pub ledger: PathBuf,
    /// The world's file.
    pub world: PathBuf,
}

impl Played {
    /// Whether everything that must be true is.
    pub fn holds(&self) -> bool {
        self.chain == "ok" && self.checks.iter().all(|check| check.holds)
    }
}

/// What a condition may look at after each of the engine's turns.
pub struct Moment<'a> {
    /// The engine's time.
    pub now: TimeMs,
    /// The ledger.
    pub view: View<'a>,
    /// The goal.
    pub goal: &'a GoalId,
}

impl Moment<'_> {
    /// How many jobs are in a state.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn count(&self, state: JobState) -> Result<u64, LedgerError> {
        let overview = self.view.overview(self.goal)?;
        Ok(overview.by_state.get(&state).copied().unwrap_or(0))
    }
}

/// Decisions that the story submits, and the practice owner's when he is there.
struct People {
    queue: Arc<Mutex<Vec<Entry>>>,
    owner: Option<PracticeOwner>,
}

impl Operator for People {
    fn decisions(&mut self, now: TimeMs, ledger: &Ledger) -> Result<Vec<Entry>, LedgerError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::take(&mut *queue);
        if let Some(owner) = &mut self.owner {
            all.extend(owner.decisions(now, ledger)?);
        }
        Ok(all)
    }

    fn next(&self, now: TimeMs) -> Option<TimeMs> {
        self.owner.as_ref().and_then(|owner| owner.next(now))
    }
}

/// A running engine and what must outlive it.
struct Running {
    engine: Engine,
    stop: Stop,
    queue: Arc<Mutex<Vec<Entry>>>,
}

/// Where a story plays.
pub struct Stage {
    name: &'static str,
    seed: u64,
    dir: PathBuf,
    goal: GoalId,
    owner_decides: bool,
    worker: Arc<dyn Worker>,
    running: Option<Running>,
    now: TimeMs,
    turns: u64,
    acts: i64,
    lines: Vec<Line>,
    figures: Map<String, Value>,
    checks: Vec<Check>,
    tell: Box<dyn FnMut(&Line)>,
}

impl Stage {
    /// An empty stage in a directory, which is made when it is not there.
    ///
    /// # Errors
    /// When the directory cannot be made or holds a ledger or a world already.
    pub fn new(
        name: &'static str,
        seed: u64,
        dir: &Path,
        tell: Box<dyn FnMut(&Line)>,
    ) -> Result<Self, StoryError> {
        let failed = |why: String| StoryError::Place(format!("{}: {why}", dir.display()));
        std::fs::create_dir_all(dir).map_err(|error| failed(error.to_string()))?;
        let dir = dir
            .canonicalize()
            .map_err(|error| failed(error.to_string()))?;
        if dir.join("ledger.db").exists() || dir.join(practice::goal::WORLD_FILE).exists() {
            return Err(failed(
                "there is a ledger or a world already; a story begins from nothing, so name an empty --dir"
                    .to_owned(),
            ));
        }
        Ok(Self {
            name,
            seed,
            dir,
            goal: GoalId::from(""),
            owner_decides: false,
            worker: Arc::new(StoryWorker),
            running: None,
            now: practice::START,
            turns: 0,
            acts: 0,
            lines: Vec::new(),
            figures: Map::new(),
            checks: Vec::new(),
            tell,
        })
    }

    /// The story's seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The directory: goal file, ledger, world.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The ledger's file.
    pub fn ledger_path(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    /// The adopted goal's id.
    pub fn goal_id(&self) -> &GoalId {
        &self.goal
    }

    /// The account that adopts, amends and approves.
    pub fn owner(&self) -> Account {
        Account(PRACTICE_OWNER.to_owned())
    }

    /// The engine's time.
    pub fn now(&self) -> TimeMs {
        self.now
    }

    /// Whether the practice owner decides requests: three minutes each, in working hours. From the next
    /// start of the engine on.
    pub fn owner_decides(&mut self, decides: bool) {
        self.owner_decides = decides;
    }

    /// Another worker than the baseline converter, from the next start of the engine on.
    pub fn set_worker(&mut self, worker: Arc<dyn Worker>) {
        self.worker = worker;
    }

    /// Says a sentence, now.
    pub fn say(&mut self, text: impl Into<String>) {
        let line = Line {
            at_ms: self.now,
            clock: wall(self.now),
            text: text.into(),
        };
        (self.tell)(&line);
        self.lines.push(line);
    }

    /// Keeps a figure for the end, to two decimals.
    pub fn figure(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        let rounded = value.as_f64().filter(|_| value.is_f64());
        let value = rounded.map_or(value, |own| Value::from((own * 100.0).round() / 100.0));
        self.figures.insert(name.to_owned(), value);
    }

    /// States what must be true, with what was seen.
    pub fn check(&mut self, what: &str, holds: bool, seen: impl Into<String>) {
        self.checks.push(Check {
            what: what.to_owned(),
            holds,
            seen: seen.into(),
        });
    }

    /// Writes a file into the stage's directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, StoryError> {
        let path = self.dir.join(name);
        std::fs::write(&path, text)
            .map_err(|error| StoryError::Place(format!("{}: {error}", path.display())))?;
        Ok(path)
    }

    /// Adopts a goal file as version 1 in the owner's name; questions are answered with yes.
    ///
    /// # Errors
    /// When the text is no goal file or the ledger cannot be written.
    pub fn adopt(&mut self, text: &str) -> Result<(), StoryError> {
        self.file("practice.toml", text)?;
        let me = self.owner();
        let mut goal = parse_goal(text, &self.dir, None)?;
        goal.contract = goal.contract.resolve_me(&me);
        let answers = goal
            .questions
            .iter()
            .map(|question| format!("{question} {me}: yes"))
            .collect();
        let mut ledger = Ledger::open_for_engine(&self.ledger_path())?;
        let adoption = Adoption {
            goal: &goal,
            text,
            overrides: &[],
            me: &me,
            answers,
        };
        adopt(&mut ledger, &adoption, self.now)?;
        self.goal = goal.contract.id;
        Ok(())
    }

    /// Starts the engine on what is in the ledger, if it does not run.
    ///
    /// # Errors
    /// When the ledger or the world cannot be taken up.
    pub fn start(&mut self) -> Result<(), StoryError> {
        if self.running.is_some() {
            return Ok(());
        }
        let mut ledger = Ledger::open_for_engine(&self.ledger_path())?;
        let (goal, _) = take_up(&ledger, &self.goal, |text, row| {
            let mut goal = parse_goal(text, &row.base_dir, None)?;
            goal.contract = goal.contract.resolve_me(&row.me);
            Ok(goal)
        })?;
        let world = open_world(&goal.contract.world, &goal.base_dir)
            .map_err(|error| StoryError::Script(error.to_string()))?;
        let start = ledger.read().last_engine_time()?.unwrap_or(self.now);
        let clock = Clock::Virtual {
            now: start.max(self.now),
        };
        let jobs = world.source.list().map_err(AdoptError::from)?;
        list_jobs(&mut ledger, &goal, &jobs.value, clock.now())?;
        let context = Context {
            world,
            base_dir: Arc::new(goal.base_dir.clone()),
            worker: Arc::clone(&self.worker),
            declared_proofs: true,
            worker_ms: WORKER_MS,
            providers: Arc::default(),
            redactor: crate::worker::chat::redact::Redactor::default(),
            cancel: crate::worker::provider::Cancel::default(),
        };
        let queue = Arc::new(Mutex::new(Vec::new()));
        let people = People {
            queue: Arc::clone(&queue),
            owner: self.owner_decides.then(|| owner_of(&goal, clock.now())),
        };
        let stop = Stop::default();
        let engine = Engine::new(Parts {
            ledger,
            goal,
            executor: Box::new(Inline::new(context.clone())),
            context,
            clock,
            settings: Settings {
                exit_when_waiting: false,
                stay_after_end: true,
                ..Settings::default()
            },
            stop: stop.clone(),
            operator: Some(Box::new(people)),
        })?;
        self.now = engine.now();
        self.running = Some(Running {
            engine,
            stop,
            queue,
        });
        Ok(())
    }

    /// Lets the engine work until a condition holds; asked after each turn.
    ///
    /// # Errors
    /// When it cannot go on, or when the condition does not hold within the story's limits of time.
    pub fn until(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&Moment<'_>) -> Result<bool, LedgerError>,
    ) -> Result<(), StoryError> {
        self.start()?;
        loop {
            let Some(running) = &mut self.running else {
                return Err(StoryError::Script(format!("no engine runs until {what}")));
            };
            let moment = Moment {
                now: running.engine.now(),
                view: running.engine.ledger().read(),
                goal: &self.goal,
            };
            if holds(&moment)? {
                return Ok(());
            }
            if self.turns >= MAX_TURNS || self.now.since(practice::START) > MAX_DAYS * 86_400_000 {
                return Err(StoryError::Script(format!(
                    "{what}: not within {} turns and {} virtual days",
                    self.turns,
                    self.now.since(practice::START) / 86_400_000
                )));
            }
            self.turns += 1;
            running.engine.turn()?;
            self.now = running.engine.now();
        }
    }

    /// Lets the engine work until an instant.
    ///
    /// # Errors
    /// See [`Stage::until`].
    pub fn until_time(&mut self, at: TimeMs) -> Result<(), StoryError> {
        self.until("the hour", |moment| Ok(moment.now >= at))
    }

    /// Lets the engine work until every job has ended.
    ///
    /// # Errors
    /// See [`Stage::until`].
    pub fn until_end(&mut self) -> Result<(), StoryError> {
        self.until("the goal's end", |moment| {
            let goals = moment.view.goals()?;
            Ok(goals
                .iter()
                .any(|row| row.goal == *moment.goal && row.ended.is_some()))
        })
    }

    /// Submits a decision as an account would and waits for the engine's answer: accepted, and why.
    ///
    /// # Errors
    /// See [`Stage::until`].
    pub fn act(
        &mut self,
        job: &JobId,
        act: Act,
        by: &Account,
    ) -> Result<(bool, String), StoryError> {
        self.start()?;
        self.acts += 1;
        // The number keeps two equal acts apart; no process id, so that the same seed gives the same ledger.
        let salt = TimeMs(self.acts);
        let entry = decide::entry(&self.goal, job, act, by, "", self.now, salt);
        let Event::DecisionSubmitted { decision, .. } = &entry.event else {
            return Err(StoryError::Script("a decision is a decision".to_owned()));
        };
        let decision = decision.clone();
        if let Some(running) = &self.running {
            running
                .queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(entry);
        }
        let mut answer = None;
        self.until("the decision's answer", |moment| {
            answer = moment
                .view
                .decision(&decision)?
                .filter(|row| row.state != "pending")
                .map(|row| (row.state == "accepted", row.why));
            Ok(answer.is_some())
        })?;
        answer.ok_or_else(|| StoryError::Script("a decision got no answer".to_owned()))
    }

    /// Stops the engine as a signal would: after its current steps, with a goodbye.
    ///
    /// # Errors
    /// When a commit fails.
    pub fn stop(&mut self) -> Result<(), StoryError> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        running.stop.after_current_steps("the story");
        for _ in 0..MAX_TURNS {
            if let Some(finish) = running.engine.turn()? {
                running.engine.say_goodbye(finish)?;
                self.now = running.engine.now();
                return Ok(());
            }
        }
        Err(StoryError::Script("the engine does not stop".to_owned()))
    }

    /// The engine dies as by a kill: no goodbye, and the answers to its calls are lost.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// Looks into the ledger, whether the engine runs or not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn look<T>(
        &self,
        look: impl FnOnce(&Moment<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, StoryError> {
        let moment = |view| Moment {
            now: self.now,
            view,
            goal: &self.goal,
        };
        if let Some(running) = &self.running {
            return Ok(look(&moment(running.engine.ledger().read()))?);
        }
        let reader = crate::ledger::Reader::open(&self.ledger_path())?;
        Ok(look(&moment(reader.view()))?)
    }

    /// One number from the world's own file, which no engine's word colours.
    ///
    /// # Errors
    /// When the file cannot be read or the question is none.
    pub fn world(&self, sql: &str, params: &[&str]) -> Result<i64, StoryError> {
        let failed = |error: rusqlite::Error| StoryError::Script(error.to_string());
        let path = self.dir.join(practice::goal::WORLD_FILE);
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .and_then(|conn| {
                conn.query_row(sql, rusqlite::params_from_iter(params), |row| row.get(0))
            })
            .map_err(failed)
    }

    /// Ends the story: stops the engine, verifies the ledger.
    ///
    /// # Errors
    /// When a commit fails or the ledger cannot be read.
    pub fn end(mut self) -> Result<Played, StoryError> {
        self.stop()?;
        let chain = verify(&self.ledger_path())?.word();
        Ok(Played {
            scenario: self.name.to_owned(),
            seed: self.seed,
            ledger: self.ledger_path(),
            world: self.dir.join(practice::goal::WORLD_FILE),
            lines: self.lines,
            figures: self.figures,
            checks: self.checks,
            chain,
        })
    }
}

fn owner_of(goal: &Goal, now: TimeMs) -> PracticeOwner {
    PracticeOwner::new(
        goal.contract.id.clone(),
        goal.contract.workdays.clone(),
        goal.contract.approval.minutes_each,
        now,
    )
}
