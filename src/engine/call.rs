//! Calls into the world: owned requests that an executor can run anywhere.

use crate::check::{CheckInput, Evidence, checker};
use crate::contract::{Clause, Strategy};
use crate::model::{Action, JobId, OperationId, TimeMs, Verdict};
use crate::worker::{PrepareRequest, Prepared, Worker};
use crate::world::World;
use crate::world::ports::{
    Effect, EffectRef, EffectRequest, Lookup, Output, PortError, RunState, Side, Timed,
};
use std::path::PathBuf;
use std::sync::Arc;

/// One call.
#[derive(Debug, Clone)]
pub enum Call {
    /// Let a worker propose a config.
    Prepare(Box<PrepareCall>),
    /// Ask for a side effect.
    Effect(Box<EffectRequest>),
    /// Look an operation up.
    LookUp {
        /// What kind.
        action: Action,
        /// Its id.
        operation: OperationId,
        /// Its job.
        job: JobId,
    },
    /// Where does the staging run stand?
    RunState {
        /// The job.
        job: JobId,
        /// The run.
        staged: EffectRef,
        /// The operation that started it.
        operation: OperationId,
        /// The engine's time.
        at: TimeMs,
    },
    /// Judge a clause.
    Check(Box<CheckCall>),
    /// What would a cutover set off?
    Consequences {
        /// The job.
        job: JobId,
        /// The config.
        config: String,
        /// The engine's time.
        at: TimeMs,
    },
}

/// A worker's turn.
#[derive(Debug, Clone)]
pub struct PrepareCall {
    /// By which strategy.
    pub strategy: Strategy,
    /// With what.
    pub request: PrepareRequest,
}

/// A checker's turn.
#[derive(Debug, Clone)]
pub struct CheckCall {
    /// The clause.
    pub clause: Clause,
    /// The job.
    pub job: JobId,
    /// Its table.
    pub output: Option<Output>,
    /// The old definition.
    pub definition: String,
    /// The new config.
    pub config: String,
    /// The staging run.
    pub staged: EffectRef,
    /// The engine's time.
    pub at: TimeMs,
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Of `Prepare`.
    Prepared(Box<Prepared>),
    /// Of `Effect`.
    Effect(Effect),
    /// Of `LookUp`.
    LookUp(Lookup),
    /// Of `RunState`.
    RunState(Result<RunState, PortError>),
    /// Of `Check`.
    Checked(Result<Evidence, PortError>),
    /// Of `Consequences`.
    Consequences(Result<Vec<String>, PortError>),
}

/// What calls need beside themselves.
#[derive(Clone)]
pub struct Context {
    /// The world.
    pub world: World,
    /// Where relative paths of the goal file start.
    pub base_dir: Arc<PathBuf>,
    /// Who proposes configs.
    pub worker: Arc<dyn Worker>,
    /// Whether the target's own word on one effect per id counts (see [`super::operation::Proofs`]).
    pub declared_proofs: bool,
    /// Virtual milliseconds that a worker's turn takes; 0 when time is real.
    pub worker_ms: i64,
}

/// Makes one call; blocks until it is answered.
pub fn perform(call: &Call, context: &Context) -> Timed<Reply> {
    let world = &context.world;
    match call {
        Call::Prepare(call) => Timed {
            value: Reply::Prepared(Box::new(
                context.worker.attempt(&call.strategy, &call.request),
            )),
            took_ms: context.worker_ms,
        },
        Call::Effect(request) => map(world.target.effect(request), Reply::Effect),
        Call::LookUp {
            action,
            operation,
            job,
        } => map(world.target.look_up(*action, operation, job), Reply::LookUp),
        Call::RunState {
            job, staged, at, ..
        } => map_result(world.target.run_state(job, staged, *at), Reply::RunState),
        Call::Check(call) => map_result(judge(call, context), Reply::Checked),
        Call::Consequences { job, config, at } => map_result(
            world.target.consequences(job, config, *at),
            Reply::Consequences,
        ),
    }
}

fn judge(call: &CheckCall, context: &Context) -> Result<Timed<Evidence>, PortError> {
    let Some(checker) = checker(&call.clause.check) else {
        return Ok(Timed::now(Evidence {
            verdict: Verdict::Unverified,
            summary: format!("there is no checker {}", call.clause.check),
            numbers: serde_json::Map::new(),
            queries: Vec::new(),
        }));
    };
    checker.check(&CheckInput {
        clause: &call.clause,
        job: &call.job,
        output: call.output.as_ref(),
        definition: &call.definition,
        config: &call.config,
        staged: &call.staged,
        side: Side::Staging,
        world: &context.world,
        at: call.at,
        base_dir: &context.base_dir,
    })
}

fn map<T>(timed: Timed<T>, wrap: impl FnOnce(T) -> Reply) -> Timed<Reply> {
    Timed {
        value: wrap(timed.value),
        took_ms: timed.took_ms,
    }
}

fn map_result<T>(
    result: Result<Timed<T>, PortError>,
    wrap: impl FnOnce(Result<T, PortError>) -> Reply,
) -> Timed<Reply> {
    match result {
        Ok(timed) => Timed {
            value: wrap(Ok(timed.value)),
            took_ms: timed.took_ms,
        },
        Err(error) => Timed {
            value: wrap(Err(error)),
            took_ms: 1_000,
        },
    }
}
