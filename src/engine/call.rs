//! Calls into the world: owned requests that an executor can run anywhere.

use crate::check::{CheckInput, Evidence, checker};
use crate::contract::{Clause, Strategy};
use crate::model::{Action, JobId, LogicalDate, OperationId, TimeMs, Verdict};
use crate::worker::chat::redact::Redactor;
use crate::worker::provider::{
    Cancel, Provider, TurnFailure, TurnFailureClass, TurnLimits, TurnReply, TurnRequest,
};
use crate::worker::{PrepareRequest, Prepared, Worker};
use crate::world::World;
use crate::world::ports::{
    Effect, EffectRef, EffectRequest, InProduction, Lookup, Output, PortError, RunState, Side,
    SourceJob, Timed,
};
use crate::world::worker_sql::{self, WorkerSqlError, job_tables};
use std::collections::BTreeMap;
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
    /// Ask a model for its next turn.
    Turn(Box<TurnCall>),
    /// Run a model's query on its job's tables.
    ToolQuery(Box<ToolQuery>),
    /// What did the old host give this job beside its own text?
    OldHost {
        /// The job.
        job: JobId,
    },
    /// For which other logical dates can the old output be compared?
    OtherDates {
        /// The job.
        job: JobId,
    },
    /// What does the source list now?
    ListSource,
    /// What is in production now?
    ListProduction,
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

/// A model's turn; what it may take is reserved.
#[derive(Debug, Clone)]
pub struct TurnCall {
    /// The provider's name.
    pub provider: String,
    /// What is asked.
    pub request: TurnRequest,
    /// Milliseconds until it is given up.
    pub within_ms: i64,
    /// The engine's time.
    pub at: TimeMs,
}

/// A model's query.
#[derive(Debug, Clone)]
pub struct ToolQuery {
    /// The job.
    pub job: JobId,
    /// Its table.
    pub table: String,
    /// As the model wrote it.
    pub sql: String,
    /// The logical date that its staging run was for, if the target did not choose it.
    pub logical_date: Option<LogicalDate>,
}

/// Why a model's query has no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolQueryError {
    /// It was not sent and costs nothing.
    Refused(String),
    /// It was sent.
    Failed(String),
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
    /// The logical date that it was for, if the target did not choose it.
    pub logical_date: Option<LogicalDate>,
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
    /// Of `Turn`.
    Turn(Result<TurnReply, Box<TurnFailure>>),
    /// Of `ToolQuery`.
    ToolQuery(Result<String, ToolQueryError>),
    /// Of `OldHost`.
    OldHost(Result<String, String>),
    /// Of `OtherDates`.
    OtherDates(Result<Vec<LogicalDate>, PortError>),
    /// Of `ListSource`.
    Source(Result<Vec<SourceJob>, PortError>),
    /// Of `ListProduction`.
    Production(Result<Option<Vec<InProduction>>, PortError>),
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
    /// Who answers turns, by the name that strategies use.
    pub providers: Arc<BTreeMap<String, Arc<dyn Provider>>>,
    /// Takes secrets out of what goes into a conversation and what comes back.
    pub redactor: Redactor,
    /// Ends turns that are under way.
    pub cancel: Cancel,
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
        Call::Turn(call) => Timed {
            value: Reply::Turn(turn(call, context)),
            took_ms: context.worker_ms,
        },
        Call::ToolQuery(query) => tool_query(query, context),
        Call::OldHost { job } => match world.source.beside(job) {
            Ok(timed) => map(timed, |text| Reply::OldHost(Ok(text))),
            Err(error) => Timed {
                value: Reply::OldHost(Err(error.what)),
                took_ms: 1_000,
            },
        },
        Call::OtherDates { job } => map_result(world.source.other_dates(job), Reply::OtherDates),
        Call::ListSource => map_result(world.source.list(), Reply::Source),
        Call::ListProduction => map_result(world.target.production(), Reply::Production),
        Call::Consequences { job, config, at } => map_result(
            world.target.consequences(job, config, *at),
            Reply::Consequences,
        ),
    }
}

fn turn(call: &TurnCall, context: &Context) -> Result<TurnReply, Box<TurnFailure>> {
    let limits = TurnLimits {
        now: call.at,
        within_ms: call.within_ms,
        cancel: context.cancel.clone(),
    };
    match context.providers.get(&call.provider) {
        Some(provider) => provider.turn(&call.request, &limits),
        None => Err(Box::new(broken_turn(format!(
            "the provider {:?} is not configured",
            call.provider
        )))),
    }
}

/// A turn that ended without having been asked for.
pub(super) fn broken_turn(message: String) -> TurnFailure {
    TurnFailure {
        class: TurnFailureClass::StopConfig,
        not_before: None,
        status: None,
        code: "engine".to_owned(),
        maybe_billed: false,
        usage: None,
        most_retries: 0,
        fallback: false,
        slow_down: false,
        request_id: None,
        message,
    }
}

fn tool_query(call: &ToolQuery, context: &Context) -> Timed<Reply> {
    let Some(warehouse) = &context.world.warehouse else {
        let why = "this goal has no warehouse".to_owned();
        return Timed::now(Reply::ToolQuery(Err(ToolQueryError::Refused(why))));
    };
    let tables = job_tables(
        warehouse.as_ref(),
        &call.job,
        &[&call.table],
        &[Side::Legacy, Side::Staging],
        call.logical_date.as_ref(),
    );
    match worker_sql::query(warehouse.as_ref(), &tables, &call.sql) {
        Ok(timed) => map(timed, |rows| Reply::ToolQuery(Ok(rows.to_text()))),
        Err(WorkerSqlError::Refused(refused)) => Timed::now(Reply::ToolQuery(Err(
            ToolQueryError::Refused(refused.to_string()),
        ))),
        Err(WorkerSqlError::Failed(error)) => Timed {
            value: Reply::ToolQuery(Err(ToolQueryError::Failed(error.what))),
            took_ms: 1_000,
        },
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
    let judged = checker.check(&CheckInput {
        clause: &call.clause,
        job: &call.job,
        output: call.output.as_ref(),
        definition: &call.definition,
        config: &call.config,
        staged: &call.staged,
        side: Side::Staging,
        world: &context.world,
        logical_date: call.logical_date.as_ref(),
        at: call.at,
        base_dir: &context.base_dir,
    });
    judged.map(|mut timed| {
        // Whoever reads a verdict sees that it is not about the date that everybody expects.
        if let Some(date) = call
            .logical_date
            .as_ref()
            .filter(|_| checker.looks_at_run())
        {
            timed
                .value
                .summary
                .push_str(&format!(" (compared for {date})"));
        }
        timed
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
