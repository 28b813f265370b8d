//! One run: lives of engines one after the other, people and clocks between them, and the oracle over all.

use super::death::{Death, Mortal};
use super::goal;
use super::law::Law;
use super::oracle::{Oracle, Violation};
use super::people::People;
use super::scenario::{Crash, Scenario};
use super::trace::line_of;
use super::world::{SimWorker, SimWorld};
use crate::contract::Goal;
use crate::engine::adopt::{Adoption, adopt, list_jobs};
use crate::engine::call::Context;
use crate::engine::rig::{Rig, Sabotage};
use crate::engine::run::{Engine, EngineError, Finish, Parts, Settings, Stop};
use crate::ledger::{Ledger, verify};
use crate::model::time::Steering;
use crate::model::{Account, Digest, GoalId, Seq, SpinKind, TimeMs, digest_bytes, time::Clock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// When every simulated goal begins: a Monday morning.
pub(super) const START: TimeMs = TimeMs(1_711_954_800_000);
const HOUR_MS: i64 = 3_600_000;
/// After the last act, faults go on for so long.
const TAIL_MS: i64 = 6 * HOUR_MS;
/// How long the engine may take once the world is calm.
const CALM_MS: i64 = 90 * 24 * HOUR_MS;
/// Rounds in which people do what is theirs.
const ROUNDS: usize = 60;
/// Turns of one run, and more for each job.
const TURNS: u64 = 3_000;
const TURNS_A_JOB: u64 = 400;

/// How a run is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The engine is wrong in this way.
    pub sabotage: Option<Sabotage>,
    /// Keep a readable trace.
    pub trace: bool,
    /// Digest the whole log, so that two runs can be compared.
    pub log: bool,
    /// Also verify the whole ledger at the end: chains, projections, blobs.
    pub verify: bool,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Rules that were broken, in the order in which it was seen.
    pub violations: Vec<Violation>,
    /// Digest of the whole log, if asked for; the same for the same scenario.
    pub log: String,
    /// Entries in it.
    pub entries: u64,
    /// Crashes that really came.
    pub crashes: u64,
    /// How often the engine was wrong on purpose.
    pub sabotaged: u64,
    /// Things that happened, by name: faults, acts, ends of jobs.
    pub counts: BTreeMap<String, u64>,
    /// Effects in the world.
    pub effects: u64,
    /// Alarms on spinning, by rule.
    pub alarms: BTreeMap<SpinKind, u64>,
    /// Jobs of which failed runs were taken for an outage's.
    pub relieved: u64,
    /// Turns of the engine.
    pub turns: u64,
    /// One line an entry, with what the ledger does not know in between; empty unless asked for.
    pub trace: Vec<String>,
}

/// A folder that is removed, in memory where the machine has one: a simulated kill needs no disk.
///
/// # Errors
/// When no folder can be made.
pub fn scratch() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    tempfile::Builder::new()
        .prefix("dogwatch-sim-")
        .tempdir_in(&place)
        .or_else(|_| tempfile::tempdir())
}

/// Runs one scenario in a folder of its own.
///
/// # Errors
/// When the folder or the ledger in it cannot be used; a broken rule is in the outcome.
pub fn simulate(
    scenario: &Scenario,
    options: Options,
    folder: &Path,
) -> Result<Outcome, EngineError> {
    let mut run = Run::new(scenario, options, folder)?;
    let ran = run.lives().and_then(|goes_on| match goes_on {
        true => run.end(),
        false => Ok(()),
    });
    if let Err(error) = ran {
        // Nothing in a scenario is an excuse for an engine that ends with an error.
        run.oracle.found.push(Violation {
            rule: "the engine goes on",
            what: error.to_string(),
            seq: run.oracle.seq(),
        });
    }
    run.finish()
}

struct Run<'a> {
    scenario: &'a Scenario,
    options: Options,
    path: PathBuf,
    /// The contract's versions, by digest; the first is the one that is adopted.
    goals: BTreeMap<Digest, Goal>,
    first: Digest,
    text: String,
    clock: Arc<Steering>,
    world: Arc<SimWorld>,
    people: People,
    oracle: Oracle,
    /// The people's own handle.
    office: Ledger,
    fired: Arc<AtomicU64>,
    /// Adopted, and the source's list is in the ledger.
    listed: bool,
    turns: u64,
    crashes: u64,
    next_act: usize,
    next_jump: usize,
    log: String,
    trace: Vec<String>,
    alive: Option<(Engine, Death)>,
}

fn setup(error: impl std::fmt::Display) -> EngineError {
    EngineError::Setup(error.to_string())
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, options: Options, folder: &Path) -> Result<Self, EngineError> {
        let path = folder.join("ledger.db");
        for name in ["", "-wal", "-shm", ".head", ".lock"] {
            drop(std::fs::remove_file(
                folder.join(format!("ledger.db{name}")),
            ));
        }
        let law = Law::first(scenario);
        let text = goal::text(scenario, &law);
        let goal = goal::parse(&text).map_err(setup)?;
        let first = goal.contract.digest.clone();
        let clock = Arc::new(Steering::new(START));
        let world = SimWorld::new(scenario, Arc::clone(&clock));
        let oracle = Oracle::new(goal::terms(scenario, &law, &goal, &world));
        let empty = folder.join("empty.db");
        if !empty.exists() {
            drop(Ledger::open_for_simulation(&empty)?);
        }
        std::fs::copy(&empty, &path).map_err(setup)?;
        Ok(Self {
            office: Ledger::open_for_simulated_decisions(&path)?,
            people: People::new(scenario, (first.clone(), law)),
            scenario,
            options,
            path,
            goals: BTreeMap::from([(first.clone(), goal)]),
            first,
            text,
            clock,
            world,
            oracle,
            fired: Arc::default(),
            listed: false,
            turns: 0,
            crashes: 0,
            next_act: 0,
            next_jump: 0,
            log: String::new(),
            trace: Vec::new(),
            alive: None,
        })
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        if self.options.trace {
            self.trace.push(format!("        -- {}", text()));
        }
    }

    /// Begins a life; false when it ended before the first turn.
    fn begin(&mut self, crash: Option<Crash>) -> Result<bool, EngineError> {
        let mut ledger = Ledger::open_for_simulation(&self.path)?;
        let goal = self.goal_in_force(&ledger)?;
        let me = Account(goal::OWNER.to_owned());
        let adoption = Adoption {
            goal: &goal,
            text: &self.text,
            overrides: &[],
            me: &me,
            answers: Vec::new(),
        };
        if !self.listed {
            adopt(&mut ledger, &adoption, self.clock.now()).map_err(setup)?;
            let jobs = self.world.world().source.list().map_err(setup)?.value;
            list_jobs(&mut ledger, &goal, &jobs, self.clock.now()).map_err(setup)?;
            self.listed = true;
        }
        let death = Death::new(crash);
        let context = Context {
            world: self.world.world(),
            base_dir: Arc::new(goal.base_dir.clone()),
            worker: Arc::new(SimWorker(Arc::clone(&self.world))),
            declared_proofs: true,
            worker_ms: 20_000,
            providers: Arc::default(),
            redactor: crate::worker::chat::redact::Redactor::default(),
            cancel: crate::worker::provider::Cancel::default(),
        };
        let parts = Parts {
            ledger,
            goal,
            executor: Box::new(Mortal::new(context.clone(), death.clone())),
            context,
            clock: Clock::Steered(Arc::clone(&self.clock)),
            settings: Settings {
                exit_when_waiting: true,
                stay_after_end: false,
                resume: self.scenario.rules.resume,
                ..Settings::default()
            },
            stop: Stop::default(),
            operator: None,
        };
        let rig = Rig {
            boundary: Some(Box::new(death.clone())),
            sabotage: self.options.sabotage,
            fired: Arc::clone(&self.fired),
            ..Rig::default()
        };
        match Engine::with_rig(parts, rig) {
            Ok(engine) => {
                self.alive = Some((engine, death));
                Ok(true)
            }
            Err(_) if death.came() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The version that the ledger says is in force, as a program that starts would read it.
    fn goal_in_force(&self, ledger: &Ledger) -> Result<Goal, EngineError> {
        let row = ledger.read().contract(&GoalId::from(goal::GOAL))?;
        let digest = row.map_or_else(|| self.first.clone(), |row| row.digest);
        let goal = self.goals.get(&digest).cloned();
        goal.ok_or_else(|| EngineError::Setup(format!("nobody asked for contract {digest}")))
    }

    /// Versions that people asked for since.
    fn take_drafts(&mut self) {
        for (law, goal) in std::mem::take(&mut self.people.drafts) {
            let terms = goal::terms(self.scenario, &law, &goal, &self.world);
            self.oracle.expect_version(terms);
            self.goals.insert(goal.contract.digest.clone(), goal);
        }
    }

    /// All lives with their crashes, until nothing more is planned. False when a rule was broken.
    fn lives(&mut self) -> Result<bool, EngineError> {
        let mut crashes = self.scenario.crashes.iter().copied();
        loop {
            let crash = crashes.next();
            let lived = self.begin(crash)? && self.live()?;
            if !self.oracle.found.is_empty() {
                return Ok(false);
            }
            if lived {
                return Ok(true);
            }
            self.crashed(crash)?;
            if !self.oracle.found.is_empty() {
                return Ok(false);
            }
        }
    }

    /// A life; true when it outlived everything that was planned.
    fn live(&mut self) -> Result<bool, EngineError> {
        loop {
            self.due()?;
            match self.turn()? {
                Turn::Died => return Ok(false),
                Turn::Broken => return Ok(true),
                Turn::Worked => {}
                Turn::Rests => {
                    let Some(at) = self.next_planned() else {
                        return Ok(true);
                    };
                    self.clock.stop_at_ms(i64::MAX);
                    self.clock.pass_ms((at - self.clock.passed_ms()).max(1));
                    // Now and then somebody stops a resting engine as one should.
                    if self.turns.is_multiple_of(3) {
                        self.stop()?;
                        if !self.begin(None)? {
                            return Ok(false);
                        }
                    }
                }
            }
            if self.next_planned().is_none() {
                return Ok(true);
            }
        }
    }

    fn turn(&mut self) -> Result<Turn, EngineError> {
        let Some((engine, death)) = self.alive.as_mut() else {
            return Ok(Turn::Died);
        };
        self.turns += 1;
        let result = engine.turn();
        if death.came() {
            return Ok(Turn::Died);
        }
        let finish = result?;
        if self.turns_without_end() {
            return Ok(Turn::Broken);
        }
        Ok(match finish {
            Some(Finish::Ended | Finish::OnlyPeople | Finish::Budget | Finish::Stopped) => {
                Turn::Rests
            }
            None => Turn::Worked,
        })
    }

    /// Whether it goes on and on; that is a broken rule.
    fn turns_without_end(&mut self) -> bool {
        let endless = self.turns > TURNS + TURNS_A_JOB * self.scenario.jobs.len() as u64;
        if endless {
            self.oracle.found.push(Violation {
                rule: "a run ends",
                what: format!("{} turns", self.turns),
                seq: self.oracle.seq(),
            });
        }
        endless
    }

    fn crashed(&mut self, crash: Option<Crash>) -> Result<(), EngineError> {
        self.alive = None;
        self.crashes += 1;
        self.read_log()?;
        self.note(|| format!("the engine dies: {crash:?}"));
        self.oracle.check_effects(&self.world);
        let life = self.crashes - 1;
        for meddle in self.scenario.meddles.iter().filter(|one| one.life == life) {
            if let Some(job) = self.world.meddle(*meddle) {
                self.oracle.expect_difference(meddle.kind, &job);
                self.note(|| format!("a stranger: {:?} {job}", meddle.kind));
            }
        }
        let down_ms = crash.map_or(1_000, |one| one.down_ms);
        self.clock.stop_at_ms(i64::MAX);
        self.clock.pass_ms(down_ms);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), EngineError> {
        if let Some((mut engine, death)) = self.alive.take() {
            death.call_off();
            engine.say_goodbye(Finish::OnlyPeople)?;
        }
        Ok(())
    }

    /// Passed time of the next act, jump or the end of faults.
    fn next_planned(&self) -> Option<i64> {
        let act = self.scenario.acts.get(self.next_act).map(|one| one.at_ms);
        let jump = self.scenario.jumps.get(self.next_jump).map(|one| one.at_ms);
        let last = self.scenario.acts.iter().map(|one| one.at_ms).max();
        let end = last.unwrap_or(0) + TAIL_MS;
        let tail = (self.clock.passed_ms() < end).then_some(end);
        [act, jump, tail].into_iter().flatten().min()
    }

    /// People and clocks whose time has come.
    fn due(&mut self) -> Result<(), EngineError> {
        let now = self.clock.passed_ms();
        while let Some(jump) = self.scenario.jumps.get(self.next_jump)
            && jump.at_ms <= now
        {
            self.next_jump += 1;
            self.clock.jump_ms(jump.by_ms);
            self.note(|| format!("the clock is set by {} s", jump.by_ms / 1_000));
        }
        while let Some(act) = self.scenario.acts.get(self.next_act)
            && act.at_ms <= now
        {
            self.next_act += 1;
            let at = self.clock.now();
            self.people.act(act, &mut self.office, &self.world, at)?;
            self.take_drafts();
            self.note(|| format!("people: {:?}", act.kind));
        }
        if let Some(at) = self.next_planned() {
            self.clock.stop_at_ms(at.max(now + 1));
        }
        Ok(())
    }

    /// Reads what is new in the log.
    fn read_log(&mut self) -> Result<(), EngineError> {
        loop {
            let rows = self
                .office
                .read()
                .log_after(Seq(self.oracle.seq()), 2_000)?;
            let Some(last) = rows.last().map(|row| row.seq.0) else {
                return Ok(());
            };
            for row in &rows {
                let before = self.oracle.found.len();
                self.oracle.read(row);
                if !self.options.trace && !self.options.log {
                    continue;
                }
                let line = line_of(row);
                self.log = digest_bytes(format!("{}{line}", self.log).as_bytes()).0;
                if self.options.trace {
                    self.trace.push(line);
                    for one in self.oracle.found.iter().skip(before) {
                        self.trace
                            .push(format!("    !!! {}: {}", one.rule, one.what));
                    }
                }
            }
            if self.oracle.seq() < last {
                return Ok(());
            }
        }
    }

    /// The world is calm, and nothing kills the engine any more.
    fn end(&mut self) -> Result<(), EngineError> {
        if let Some((_, death)) = &self.alive {
            death.call_off();
        }
        self.world.calm();
        self.clock.stop_at_ms(i64::MAX);
        self.note(|| "the world is calm".to_owned());
        self.work_until_rest()?;
        self.read_log()?;
        let now = self.engine_time();
        self.oracle.check_effects(&self.world);
        self.oracle.check_outcomes(&self.world, false);
        self.oracle.check_rest(now);
        for _ in 0..ROUNDS {
            if !self.oracle.found.is_empty() {
                return Ok(());
            }
            let at = self.clock.now();
            let before = self.people.asked.values().sum::<u64>();
            self.people
                .do_their_duty(&mut self.office, &self.world, at)?;
            self.take_drafts();
            if before == self.people.asked.values().sum::<u64>() {
                self.clock.pass_ms(HOUR_MS);
            }
            if self.work_until_rest()? {
                break;
            }
        }
        self.read_log()?;
        self.oracle.check_effects(&self.world);
        self.oracle.check_outcomes(&self.world, true);
        self.oracle.check_end();
        Ok(())
    }

    fn engine_time(&self) -> TimeMs {
        let own = self.alive.as_ref().map(|(engine, _)| engine.now());
        own.unwrap_or_else(|| self.clock.now())
    }

    /// Turns until only people can move it on; true when the goal has ended.
    fn work_until_rest(&mut self) -> Result<bool, EngineError> {
        let until = self.clock.passed_ms() + CALM_MS;
        while self.clock.passed_ms() < until {
            let Some((engine, _)) = self.alive.as_mut() else {
                return Ok(false);
            };
            self.turns += 1;
            match engine.turn()? {
                Some(Finish::Ended) => return Ok(true),
                Some(_) => return Ok(false),
                None if self.turns_without_end() => return Ok(false),
                None => {}
            }
        }
        Ok(false)
    }

    fn finish(mut self) -> Result<Outcome, EngineError> {
        self.read_log()?;
        self.alive = None;
        if self.options.verify && self.oracle.found.is_empty() {
            let word = verify(&self.path)?.word();
            if word != "ok" {
                self.oracle.found.push(Violation {
                    rule: "the ledger is sound",
                    what: word,
                    seq: self.oracle.seq(),
                });
            }
        }
        let state = self.world.state();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (name, count) in &state.faults {
            counts.insert(format!("fault: {name}"), *count);
        }
        for (name, count) in &self.people.asked {
            counts.insert(format!("act: {name}"), *count);
        }
        for (rule, count) in &self.oracle.alarms {
            counts.insert(format!("spin: {rule}"), *count);
        }
        for job in self.oracle.jobs.values() {
            *counts.entry(format!("jobs: {}", job.state)).or_default() += 1;
        }
        Ok(Outcome {
            effects: state.made.len() as u64,
            turns: self.turns,
            relieved: self.oracle.relieved.len() as u64,
            entries: self.oracle.seq().unsigned_abs(),
            alarms: std::mem::take(&mut self.oracle.alarms),
            violations: self.oracle.found,
            log: self.log,
            crashes: self.crashes,
            sabotaged: self.fired.load(Ordering::Relaxed),
            counts,
            trace: self.trace,
        })
    }
}

enum Turn {
    Died,
    Broken,
    Worked,
    Rests,
}
