//! An engine over the small world and the scripted model, and what tests ask of its ledger.

use super::script::*;
use super::small::*;
use crate::contract::{Goal, parse_goal};
use crate::engine::adopt::{Adoption, adopt, list_jobs};
use crate::engine::call::Context;
use crate::engine::executor::Inline;
use crate::engine::run::{Engine, Finish, Parts, Settings, Stop};
use crate::lab::noop::{Noop, NoopWorker};
use crate::ledger::event::Act;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{ToolCallRow, TurnRow};
use crate::ledger::{Ledger, Reader, decide, verify};
use crate::model::{Account, DecisionId, Digest, GoalId, JobId, TimeMs, time::Clock};
use crate::worker::Worker;
use crate::worker::chat::redact::Redactor;
use crate::worker::provider::{Cancel, Provider};
use crate::world::World;
use crate::world::ports::{Source, Target, Warehouse};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub(super) const GOAL: &str = r#"
[goal]
id = "g"
objective = "Both are moved."
owner = "@me"
deadline = "2024-04-05T18:00:00Z"
[[accept]]
id = "run"
check = "run_log"
[approval.cutover]
required = false
[limits]
repair_rounds = 3
concurrent_jobs = 1
[budget.warehouse_queries]
limit = 2
per = "day"
[[strategy]]
id = "repair"
worker = "chat"
provider = "scripted"
model = "m"
{more}
[world.source]
adapter = "command"
run = ["true"]
[world.target]
adapter = "command"
run = ["true"]
"#;

pub(super) struct Bench {
    /// Who answers; the scripted model when there is none.
    pub(super) provider: Option<Arc<dyn Provider>>,
    pub(super) worker: Arc<dyn Worker>,
    _dir: tempfile::TempDir,
    pub(super) path: PathBuf,
    pub(super) goal: Goal,
    pub(super) text: String,
    pub(super) small: Arc<Small>,
    pub(super) model: Arc<Scripted>,
}

impl Bench {
    pub(super) fn new(script: &[Say]) -> Self {
        Self::with("", "old text", script)
    }

    pub(super) fn with(more: &str, definition: &str, script: &[Say]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // A strategy of the test's own that goes before has its place before the model's.
        let text = match more.strip_prefix("before:") {
            Some(first) => GOAL
                .replacen("[[strategy]]", &format!("{first}\n[[strategy]]"), 1)
                .replace("{more}", ""),
            None => GOAL.replace("{more}", more),
        };
        let mut goal = parse_goal(&text, dir.path(), None).unwrap();
        goal.contract = goal.contract.resolve_me(&Account("ann".to_owned()));
        Self {
            path: dir.path().join("ledger.db"),
            small: Arc::new(Small {
                noop: Noop::new(0, None),
                configs: Mutex::default(),
                jobs: ["one", "two"].map(str::to_owned).to_vec(),
                definition: definition.to_owned(),
                queries: Mutex::default(),
            }),
            model: Arc::new(Scripted {
                script: Mutex::new(script.iter().cloned().collect()),
                ..Scripted::default()
            }),
            provider: None,
            worker: Arc::new(NoopWorker),
            goal,
            text,
            _dir: dir,
        }
    }

    /// Many jobs that are worked on at once; `provider` answers.
    pub(super) fn many(jobs: usize, provider: Arc<dyn Provider>) -> Self {
        let mut own = Self::new(&[]);
        let at_once = format!("concurrent_jobs = {jobs}");
        own.text = own.text.replace("concurrent_jobs = 1", &at_once);
        own.goal = parse_goal(&own.text, &own.goal.base_dir, None).unwrap();
        let me = Account("ann".to_owned());
        own.goal.contract = own.goal.contract.resolve_me(&me);
        own.small = Arc::new(Small {
            noop: Noop::new(0, None),
            configs: Mutex::default(),
            jobs: (0..jobs).map(|number| format!("job-{number:02}")).collect(),
            definition: "old text".to_owned(),
            queries: Mutex::default(),
        });
        own.provider = Some(provider);
        own
    }

    pub(super) fn engine(&self) -> Engine {
        let mut ledger = Ledger::open_for_engine(&self.path).unwrap();
        let me = Account("ann".to_owned());
        let adoption = Adoption {
            goal: &self.goal,
            text: &self.text,
            overrides: &[],
            me: &me,
            answers: Vec::new(),
        };
        adopt(&mut ledger, &adoption, START).unwrap();
        if ledger.read().goals().unwrap()[0].jobs_listed.is_none() {
            let jobs = self.small.list().unwrap().value;
            list_jobs(&mut ledger, &self.goal, &jobs, START).unwrap();
        }
        let now = ledger.read().last_engine_time().unwrap().unwrap_or(START);
        let world = World {
            source: Arc::clone(&self.small) as Arc<dyn Source>,
            target: Arc::clone(&self.small) as Arc<dyn Target>,
            warehouse: Some(Arc::clone(&self.small) as Arc<dyn Warehouse>),
            probe: self.small.noop.world().probe,
        };
        let provider = match &self.provider {
            Some(provider) => Arc::clone(provider),
            None => Arc::clone(&self.model) as Arc<dyn Provider>,
        };
        let context = Context {
            world,
            base_dir: Arc::new(self.goal.base_dir.clone()),
            worker: Arc::clone(&self.worker),
            declared_proofs: true,
            worker_ms: 1_000,
            providers: Arc::new([("scripted".to_owned(), provider)].into()),
            redactor: Redactor::new(["hush-hush-value".to_owned()]),
            cancel: Cancel::default(),
        };
        Engine::new(Parts {
            ledger,
            goal: self.goal.clone(),
            executor: Box::new(Inline::new(context.clone())),
            context,
            clock: Clock::Virtual { now },
            settings: Settings {
                exit_when_waiting: true,
                ..Settings::default()
            },
            stop: Stop::default(),
            operator: None,
        })
        .unwrap()
    }

    /// Runs until nothing moves without a person; the ledger must be sound afterwards.
    pub(super) fn run(&self) -> Finish {
        let finish = self.engine().run().unwrap();
        assert_eq!(verify(&self.path).unwrap().word(), "ok");
        finish
    }

    pub(super) fn reader(&self) -> Reader {
        Reader::open(&self.path).unwrap()
    }

    pub(super) fn facts(&self, job: &str) -> JobFacts {
        let found = self.reader().view().facts(&goal(), &JobId::from(job));
        found.unwrap().unwrap()
    }

    pub(super) fn turns(&self, job: &str) -> Vec<TurnRow> {
        self.reader()
            .view()
            .turns(&goal(), &JobId::from(job))
            .unwrap()
    }

    /// `tool outcome` of each call.
    pub(super) fn called(&self, job: &str) -> Vec<String> {
        self.call_rows(job)
            .iter()
            .map(|row| format!("{} {}", row.tool, row.outcome))
            .collect()
    }

    pub(super) fn call_rows(&self, job: &str) -> Vec<ToolCallRow> {
        self.reader()
            .view()
            .tool_calls(&goal(), &JobId::from(job))
            .unwrap()
    }

    pub(super) fn text(&self, digest: &Digest) -> String {
        let bytes = self.reader().view().blob(digest).unwrap().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    pub(super) fn kinds(&self, job: &str) -> Vec<String> {
        let events = self.reader().view().job_events(&goal(), &JobId::from(job));
        events.unwrap().into_iter().map(|row| row.kind).collect()
    }

    /// `strategy outcome reason` of each attempt.
    pub(super) fn attempts(&self, job: &str) -> Vec<String> {
        let rows = self.reader().view().attempts(&goal(), &JobId::from(job));
        rows.unwrap()
            .iter()
            .map(|row| format!("{} {} {}", row.strategy, row.outcome, row.reason))
            .collect()
    }

    /// Cutovers that were intended.
    pub(super) fn small_effects_in_production(&self) -> usize {
        let all = ["one", "two"];
        all.iter()
            .filter(|job| self.facts(job).production.is_some())
            .count()
    }

    pub(super) fn alerts(&self, rule: &str) -> usize {
        let alerts = self.reader().view().alerts(&goal()).unwrap();
        alerts.iter().filter(|alert| alert.rule == rule).count()
    }

    /// Words about the whole goal.
    pub(super) fn comment_on_goal(&self, text: &str) -> DecisionId {
        let text = text.to_owned();
        self.submit("", Act::CommentGoal { text })
    }

    pub(super) fn submit(&self, job: &str, act: Act) -> DecisionId {
        let me = Account("ann".to_owned());
        let job = JobId::from(job);
        decide::submit(&self.path, &goal(), &job, act, &me, "pts/1", TimeMs(1)).unwrap()
    }
}

pub(super) fn goal() -> GoalId {
    GoalId::from("g")
}
