//! A goal over the no-op world, run on a virtual clock as often as a test wants.

use dogwatch::engine::run::Finish;
use dogwatch::lab::noop::Noop;
use dogwatch::lab::noop_goal::{NoopGoal, OWNER};
use dogwatch::ledger::{Act, Reader, decide};
use dogwatch::model::{Account, DecisionId, GoalId, JobId, TimeMs};
use std::path::PathBuf;
use std::sync::Arc;

pub const ME: &str = OWNER;

pub struct Bench {
    pub goal: GoalId,
    pub ledger: PathBuf,
    pub noop: Arc<Noop>,
    inner: NoopGoal,
    _dir: tempfile::TempDir,
}

impl Bench {
    pub fn new(jobs: usize, approval: bool) -> Self {
        Self::with(jobs, &format!("required = {approval}"))
    }

    /// With other words in `[approval.cutover]`.
    pub fn with(jobs: usize, approval: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let noop = Noop::new(jobs, None);
        let inner = NoopGoal::new(Arc::clone(&noop), approval, dir.path()).unwrap();
        Self {
            goal: inner.id.clone(),
            ledger: dir.path().join("ledger.db"),
            noop,
            inner,
            _dir: dir,
        }
    }

    /// Adopts and lists without running.
    pub fn list(&self) {
        drop(self.inner.open(&self.ledger).unwrap());
    }

    /// One run until it ends by itself.
    pub fn run(&self) -> Finish {
        let ledger = self.inner.open(&self.ledger).unwrap();
        self.inner.engine(ledger).unwrap().run().unwrap()
    }

    /// One run whose clock begins at `now`.
    pub fn run_at(&self, now: TimeMs) -> Finish {
        let ledger = self.inner.open(&self.ledger).unwrap();
        self.inner.engine_at(ledger, now).unwrap().run().unwrap()
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.ledger).unwrap()
    }

    pub fn submit(&self, job: &JobId, act: Act) -> DecisionId {
        let me = Account(ME.to_owned());
        decide::submit(&self.ledger, &self.goal, job, act, &me, "test", TimeMs(7)).unwrap()
    }
}
