//! A goal over the no-op world, run on a virtual clock as often as a test wants.

use dogwatch::contract::{Goal, parse_goal};
use dogwatch::engine::adopt::{Adoption, adopt, list_jobs};
use dogwatch::engine::call::Context;
use dogwatch::engine::executor::Inline;
use dogwatch::engine::run::{Engine, Finish, Parts, Settings, Stop};
use dogwatch::lab::noop::{Noop, NoopWorker};
use dogwatch::ledger::{Act, Ledger, Reader, decide};
use dogwatch::model::{Account, DecisionId, GoalId, JobId, TimeMs, time::Clock};
use std::path::PathBuf;
use std::sync::Arc;

pub const ME: &str = "owner";

pub struct Bench {
    pub goal: GoalId,
    pub ledger: PathBuf,
    pub noop: Arc<Noop>,
    parsed: Goal,
    text: String,
    _dir: tempfile::TempDir,
}

impl Bench {
    pub fn new(jobs: usize, approval: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            r#"
[goal]
id = "noop"
objective = "Every no-op job is moved."
owner = "@me"
deadline = "2024-04-05T18:00:00Z"
[[accept]]
id = "run"
check = "run_log"
[approval.cutover]
required = {approval}
by = ["@me"]
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
"#
        );
        let mut parsed = parse_goal(&text, dir.path()).unwrap();
        parsed.contract = parsed.contract.resolve_me(&Account(ME.to_owned()));
        Self {
            goal: GoalId::from("noop"),
            ledger: dir.path().join("ledger.db"),
            noop: Noop::new(jobs, None),
            parsed,
            text,
            _dir: dir,
        }
    }

    fn open(&self) -> Ledger {
        let mut ledger = Ledger::open_for_engine(&self.ledger).unwrap();
        let me = Account(ME.to_owned());
        let adoption = Adoption {
            goal: &self.parsed,
            text: &self.text,
            overrides: &[],
            me: &me,
            answers: vec![],
        };
        adopt(&mut ledger, &adoption, TimeMs(1_711_954_800_000)).unwrap();
        let jobs = self.noop.world().source.list().unwrap().value;
        list_jobs(&mut ledger, &self.parsed, &jobs, TimeMs(1_711_954_800_000)).unwrap();
        ledger
    }

    /// Adopts and lists without running.
    pub fn list(&self) {
        drop(self.open());
    }

    /// One run until it ends by itself.
    pub fn run(&self) -> Finish {
        let ledger = self.open();
        let now = ledger.read().last_event_at().unwrap().unwrap();
        let context = Context {
            world: self.noop.world(),
            base_dir: Arc::new(self.parsed.base_dir.clone()),
            worker: Arc::new(NoopWorker),
            worker_ms: 10,
        };
        let mut engine = Engine::new(Parts {
            ledger,
            goal: self.parsed.clone(),
            executor: Box::new(Inline::new(context.clone())),
            context,
            clock: Clock::Virtual { now },
            settings: Settings {
                exit_when_waiting: true,
                stay_after_end: false,
            },
            stop: Stop::default(),
            operator: None,
        })
        .unwrap();
        engine.run().unwrap()
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.ledger).unwrap()
    }

    pub fn submit(&self, job: &JobId, act: Act) -> DecisionId {
        let me = Account(ME.to_owned());
        decide::submit(&self.ledger, &self.goal, job, act, &me, "test", TimeMs(7)).unwrap()
    }
}
