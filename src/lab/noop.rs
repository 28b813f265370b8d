//! A world in which nothing takes time and every effect works: what remains is the engine's own cost.
//!
//! Optionally each effect appends one line to a file outside the ledger, so that effects can be counted
//! after a kill, and a world opened again knows them.

use crate::contract::Strategy;
use crate::model::{
    Action, Digest, FailureClass, JobId, LogicalDate, OperationId, TimeMs, digest_bytes,
};
use crate::worker::{PrepareFailure, PrepareReply, PrepareRequest, Worker};
use crate::world::World;
use crate::world::ports::{
    AdapterInfo, Effect, EffectRef, EffectRequest, FiringQuestion, FiringTimes, Lookup, PortError,
    Probe, RunFacts, RunState, Side, Source, SourceJob, Target, Timed,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The world.
#[derive(Debug)]
pub struct Noop {
    jobs: usize,
    /// Effects by operation id; what a look-up finds.
    effects: Mutex<BTreeMap<OperationId, EffectRef>>,
    side: Option<Mutex<File>>,
    first_effect: OnceLock<Instant>,
}

impl Noop {
    /// `jobs` jobs without dependencies; effects are appended to `side`, if there is one.
    pub fn new(jobs: usize, side: Option<File>) -> Arc<Self> {
        Arc::new(Self {
            jobs,
            effects: Mutex::new(BTreeMap::new()),
            side: side.map(Mutex::new),
            first_effect: OnceLock::new(),
        })
    }

    /// The world whose effects lie in `side`, which need not exist; new ones are appended.
    ///
    /// # Errors
    /// When the file cannot be read or opened for appending.
    pub fn reopen(jobs: usize, side: &Path) -> std::io::Result<Arc<Self>> {
        let file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(side)?;
        let mut known = BTreeMap::new();
        for line in BufReader::new(&file).lines() {
            let line = line?;
            // A line cut off by a kill has no third word: its effect is not there.
            let mut words = line.split(' ');
            if let (Some(id), Some(_), Some(config)) = (words.next(), words.next(), words.next()) {
                let id = OperationId(id.to_owned());
                let config = Digest(config.to_owned());
                known.insert(id.clone(), reference(&id, config));
            }
        }
        Ok(Arc::new(Self {
            jobs,
            effects: Mutex::new(known),
            side: Some(Mutex::new(file)),
            first_effect: OnceLock::new(),
        }))
    }

    /// When this process asked for its first effect.
    pub fn first_effect(&self) -> Option<Instant> {
        self.first_effect.get().copied()
    }

    /// Its ports.
    pub fn world(self: &Arc<Self>) -> World {
        World {
            source: Arc::clone(self) as Arc<dyn Source>,
            target: Arc::clone(self) as Arc<dyn Target>,
            warehouse: None,
            probe: Some(Arc::clone(self) as Arc<dyn Probe>),
        }
    }

    /// Effects that exist.
    pub fn effects(&self) -> usize {
        self.effects.lock().map_or(0, |effects| effects.len())
    }
}

fn reference(id: &OperationId, config_digest: Digest) -> EffectRef {
    EffectRef {
        reference: format!("run-{id}"),
        config_digest,
        observed: String::new(),
    }
}

impl Source for Noop {
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
        let jobs = (0..self.jobs).map(|number| SourceJob {
            id: JobId(format!("job-{number:06}")),
            title: format!("No-op job {number}"),
            tags: Vec::new(),
            depends_on: Vec::new(),
            origin: "lab".to_owned(),
            definition: format!("no-op {number}"),
            output: None,
            hold: None,
        });
        Ok(Timed::now(jobs.collect()))
    }

    fn firing_times(&self, _: &JobId, _: &FiringQuestion) -> Result<Timed<FiringTimes>, PortError> {
        Err(PortError::job("no-op jobs have no schedule"))
    }
}

impl Target for Noop {
    fn info(&self) -> AdapterInfo {
        let proven = Action::ALL
            .iter()
            .map(|action| (action.word().to_owned(), true));
        AdapterInfo {
            name: "noop".to_owned(),
            version: "1".to_owned(),
            one_effect_per_id: proven.collect(),
            can_roll_back: false,
        }
    }

    fn effect(&self, request: &EffectRequest) -> Timed<Effect> {
        self.first_effect.get_or_init(Instant::now);
        let found = reference(&request.operation_id, request.config_digest.clone());
        let Ok(mut effects) = self.effects.lock() else {
            return Timed::now(Effect::Unknown {
                why: "the world broke".to_owned(),
            });
        };
        if effects
            .insert(request.operation_id.clone(), found.clone())
            .is_none()
            && let Some(Ok(mut file)) = self.side.as_ref().map(Mutex::lock)
        {
            let line = format!(
                "{} {} {}\n",
                request.operation_id,
                std::process::id(),
                request.config_digest
            );
            if file.write_all(line.as_bytes()).is_err() {
                return Timed::now(Effect::Unknown {
                    why: "the side file cannot be written".to_owned(),
                });
            }
        }
        Timed::now(Effect::Applied(found))
    }

    fn look_up(&self, _: Action, operation: &OperationId, _: &JobId) -> Timed<Lookup> {
        Timed::now(match self.effects.lock() {
            Ok(effects) => effects
                .get(operation)
                .cloned()
                .map_or(Lookup::Absent, Lookup::Found),
            Err(_) => Lookup::CannotTell {
                why: "the world broke".to_owned(),
            },
        })
    }

    fn run_state(&self, _: &JobId, _: &EffectRef, _: TimeMs) -> Result<Timed<RunState>, PortError> {
        Ok(Timed::now(RunState::Succeeded {
            log: "ok".to_owned(),
        }))
    }

    fn firing_times(
        &self,
        _: &JobId,
        _: &str,
        _: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        Err(PortError::job("no-op jobs have no schedule"))
    }

    fn consequences(&self, _: &JobId, _: &str, _: TimeMs) -> Result<Timed<Vec<String>>, PortError> {
        Ok(Timed::now(Vec::new()))
    }
}

impl Probe for Noop {
    fn run_facts(
        &self,
        _: Side,
        job: &JobId,
        _: Option<&LogicalDate>,
    ) -> Result<Timed<Vec<RunFacts>>, PortError> {
        Ok(Timed::now(vec![RunFacts {
            exit: 0,
            tasks: 1,
            effect_digest: Some(digest_bytes(job.as_str().as_bytes())),
            log_tail: "ok".to_owned(),
        }]))
    }
}

/// A worker that proposes about 500 bytes at once.
#[derive(Debug, Clone, Copy)]
pub struct NoopWorker;

impl Worker for NoopWorker {
    fn prepare(
        &self,
        _: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        if request.definition.is_empty() {
            return Err(PrepareFailure {
                why: "nothing to convert".to_owned(),
                class: FailureClass::Job,
            });
        }
        Ok(PrepareReply {
            config: format!("{} {}", request.job, "x".repeat(480)),
            claim: None,
            remark: "no-op".to_owned(),
        })
    }
}
