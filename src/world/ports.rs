//! Ports: everything the engine can ask of the world.
//!
//! Effects return [`Effect`]; look-ups return [`Lookup`]; questions return `Result<_, PortError>`.
//! Implementations are shared between threads and block; the engine decides where they run.

use crate::model::{Action, Digest, FailureClass, JobId, LogicalDate, OperationId, TimeMs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// The outcome of asking for a side effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It happened; the reference finds it again.
    Applied(EffectRef),
    /// It did not happen and will not; the reason is the world's.
    Refused {
        /// Why, in the world's words.
        why: String,
        /// Whether another try may succeed: `Environment` for a rate limit or an outage before the
        /// write, `Job` for a definition the target will never take.
        class: FailureClass,
        /// Milliseconds to wait before another try, when the world said so.
        retry_after_ms: Option<i64>,
    },
    /// Nobody knows: time-out, reset, an error after sending.
    Unknown {
        /// What was seen.
        why: String,
    },
}

/// What an applied effect left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRef {
    /// How the target names it, such as a run id or a file.
    pub reference: String,
    /// The digest of the config that the target holds under this reference.
    pub config_digest: Digest,
    /// What it set off, one sentence for the ledger; empty when nothing is known.
    #[serde(default)]
    pub observed: String,
}

/// The outcome of looking an operation up by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// Exactly one effect exists under that id.
    Found(EffectRef),
    /// None is visible. Not proof of absence.
    Absent,
    /// The look-up failed or contradicts itself (two objects, another job's object).
    CannotTell {
        /// What was seen.
        why: String,
    },
}

/// A question that could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{what}")]
pub struct PortError {
    /// What went wrong, for a person: the adapter's own words where there are any.
    pub what: String,
    /// Whose failure it is.
    pub class: FailureClass,
    /// Milliseconds to wait before another try, when the world said so.
    pub retry_after_ms: Option<i64>,
}

impl PortError {
    /// A failure of the environment.
    pub fn environment(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            class: FailureClass::Environment,
            retry_after_ms: None,
        }
    }

    /// A failure of the job or of its definition.
    pub fn job(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            class: FailureClass::Job,
            retry_after_ms: None,
        }
    }
}

/// An answer and how long the world took for it on the world's own clock. Adapters to a real
/// world take real time and leave `took_ms` at 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed<T> {
    /// The answer.
    pub value: T,
    /// Virtual milliseconds; 0 when the time really passed.
    pub took_ms: i64,
}

impl<T> Timed<T> {
    /// An answer that took no virtual time.
    pub fn now(value: T) -> Self {
        Self { value, took_ms: 0 }
    }
}

/// A column of a job's output, as the contract of the reconciliation declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the table.
    pub name: String,
    /// Its logical type.
    #[serde(flatten)]
    pub kind: ColumnKind,
}

/// Logical types of the canonical text (docs/reconciliation.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ColumnKind {
    /// A whole number.
    Integer,
    /// A fixed-point number with `scale` digits after the point.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Text, compared byte by byte.
    Text,
    /// Seconds with up to six decimals, UTC, as `YYYY-MM-DD HH:MM:SS[.ffffff]`.
    Timestamp,
    /// `YYYY-MM-DD`.
    Date,
    /// 0 or 1.
    Boolean,
    /// A double; never in the exact hash, compared by count, min, max and sum with a tolerance.
    Float,
}

/// The table a job writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The table, without schema.
    pub table: String,
    /// Key columns, in order.
    pub key: Vec<String>,
    /// All compared columns, in the contract's order.
    pub columns: Vec<Column>,
}

/// Something the source knows that keeps a job from being migrated as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// `retire` (a person decides whether it lives on) or `impossible` (no equivalent exists).
    pub kind: String,
    /// One sentence for the owner.
    pub reason: String,
    /// What was found in the world, line by line.
    pub evidence: Vec<String>,
}

/// A job as the source lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceJob {
    /// Its id, unique in this source.
    pub id: JobId,
    /// One line for people.
    pub title: String,
    /// Words that clauses' `applies_to` can name, such as `has_table`.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Jobs upstream, as far as the source declares them.
    #[serde(default)]
    pub depends_on: Vec<JobId>,
    /// Where the definition stands, such as `sales.crontab:14`.
    #[serde(default)]
    pub origin: String,
    /// The old definition, byte for byte.
    pub definition: String,
    /// The table it writes, if it writes one.
    #[serde(default)]
    pub output: Option<Output>,
    /// Reasons not to migrate it as it stands.
    #[serde(default)]
    pub hold: Option<Hold>,
}

/// Firing times of a schedule over some windows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiringTimes {
    /// Instants, ascending, per window in the order asked; unix milliseconds.
    pub windows: Vec<Vec<TimeMs>>,
    /// How they were computed, for the evidence.
    pub method: String,
}

/// Windows to list firing times for: from each start, the next `count` instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiringQuestion {
    /// Starts (exclusive), such as the eve of a clock change.
    pub starts: Vec<TimeMs>,
    /// Instants to list from each start.
    pub count: usize,
}

/// Most logical dates that a source may offer for a job.
pub const MAX_OTHER_DATES: usize = 32;

/// The old scheduler; read only.
pub trait Source: Send + Sync {
    /// All jobs, in the source's order.
    ///
    /// # Errors
    /// When the source cannot be read or says something that is not a job list.
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError>;

    /// What the old host gave the job beside its own definition: its profile's environment and the like,
    /// as sections begun by `--- path ---`; empty when the source does not know. Never another job's text.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn beside(&self, job: &JobId) -> Result<Timed<String>, PortError> {
        let _ = job;
        Ok(Timed::now(String::new()))
    }

    /// Logical dates other than the target's own choice for which the old job's output can be compared and
    /// holds rows, the best first; at most [`MAX_OTHER_DATES`]. Empty when the source does not know. It is
    /// asked when a checker found nothing to compare.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn other_dates(&self, job: &JobId) -> Result<Timed<Vec<LogicalDate>>, PortError> {
        let _ = job;
        Ok(Timed::now(Vec::new()))
    }

    /// When the old job really fires.
    ///
    /// # Errors
    /// When the job has no schedule or the source cannot tell.
    fn firing_times(
        &self,
        job: &JobId,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError>;
}

/// Which side of the world a table or an upstream job is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What the old scheduler produces.
    Legacy,
    /// What the new scheduler produced in staging.
    Staging,
    /// What the new scheduler produces in production.
    Production,
}

impl Side {
    /// The word in requests and evidence.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Staging => "staging",
            Self::Production => "production",
        }
    }
}

/// What a job is built upon: the lineage of its evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Upstream {
    /// The upstream job.
    pub job: JobId,
    /// Digest of its config (of its old definition while it stays on the old scheduler).
    pub config_digest: Digest,
    /// Where its output is read.
    pub side: Side,
    /// Digest of what its new config was itself built upon; absent for a job without any upstream and for
    /// one that is read from the old side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Digest>,
}

/// A job as production holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InProduction {
    /// The job.
    pub job: JobId,
    /// How the target names it.
    pub reference: String,
    /// Digest of the config that it holds.
    pub config_digest: Digest,
}

/// One side effect to ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRequest {
    /// The stable id; the target must keep it so that a look-up finds the effect.
    pub operation_id: OperationId,
    /// Stage, cut over or roll back.
    pub action: Action,
    /// The job.
    pub job: JobId,
    /// The new definition, byte for byte.
    pub config: String,
    /// Its digest.
    pub config_digest: Digest,
    /// What it is built upon.
    pub upstream: Vec<Upstream>,
    /// For `stage`: the logical date to run for, one that the source offered. Absent when the target
    /// chooses; always absent for effects on production.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_date: Option<LogicalDate>,
    /// The engine's time when it asked.
    pub at: TimeMs,
}

/// Where a staging run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// Not finished; look again after this many milliseconds.
    Running {
        /// A sensible pause before the next look.
        look_again_ms: i64,
    },
    /// It exited well.
    Succeeded {
        /// The run's log, capped by the adapter.
        log: String,
    },
    /// It failed.
    Failed {
        /// Whose failure it looks like.
        class: FailureClass,
        /// One line.
        why: String,
        /// The run's log, capped by the adapter.
        log: String,
    },
}

/// An adapter and its version; a change voids what was proven about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterInfo {
    /// Its name, such as `practice`.
    pub name: String,
    /// Its version, in any form.
    pub version: String,
    /// Whether it is known to keep one effect per operation id, by action; absent means not known.
    pub one_effect_per_id: BTreeMap<String, bool>,
    /// Whether it can take a config out of production again; an adapter that does not say so cannot.
    #[serde(default)]
    pub can_roll_back: bool,
}

/// Most bytes of a target's guide.
pub const MAX_GUIDE_BYTES: usize = 32 * 1024;

/// The new scheduler.
pub trait Target: Send + Sync {
    /// Who answers.
    fn info(&self) -> AdapterInfo;

    /// What its definitions look like and what it does with them, for whoever writes one; the same text
    /// always, at most [`MAX_GUIDE_BYTES`]. Empty when it has nothing to say.
    fn guide(&self) -> String {
        String::new()
    }

    /// Asks for one side effect.
    fn effect(&self, request: &EffectRequest) -> Timed<Effect>;

    /// Looks an operation up by its id. Never an effect.
    fn look_up(&self, action: Action, operation_id: &OperationId, job: &JobId) -> Timed<Lookup>;

    /// Where a staging run stands.
    ///
    /// # Errors
    /// When the target does not answer, or does not know the run.
    fn run_state(
        &self,
        job: &JobId,
        staged: &EffectRef,
        at: TimeMs,
    ) -> Result<Timed<RunState>, PortError>;

    /// When a config would fire.
    ///
    /// # Errors
    /// When the config has no schedule or the target cannot tell.
    fn firing_times(
        &self,
        job: &JobId,
        config: &str,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError>;

    /// What a cutover would set off beside itself (a missed tick, queued runs, the old job's end), one
    /// sentence each.
    ///
    /// # Errors
    /// When the target cannot tell; then the request says so.
    fn consequences(
        &self,
        job: &JobId,
        config: &str,
        at: TimeMs,
    ) -> Result<Timed<Vec<String>>, PortError>;

    /// Every job that is in production on the new scheduler, or `None` when the target cannot list them.
    ///
    /// # Errors
    /// When the target does not answer.
    fn production(&self) -> Result<Timed<Option<Vec<InProduction>>>, PortError> {
        Ok(Timed::now(None))
    }
}

/// A cell of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// SQL NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(String),
}

/// Rows of one query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, at most [`MAX_ROWS`].
    pub rows: Vec<Vec<Cell>>,
}

/// Most rows one query may return; more is an error, never a cut.
pub const MAX_ROWS: usize = 10_000;

/// The warehouse; read only, metered by the caller.
pub trait Warehouse: Send + Sync {
    /// SQL dialect of the canonical expressions: `sqlite`, `postgres` or `duckdb`.
    fn dialect(&self) -> &'static str;

    /// How a job's table is named on a side, such as `legacy.dim_store`. `job` lets an adapter that
    /// keeps one table per staging run find the right one; `date` is the logical date that is compared,
    /// absent for the one that the target chose itself.
    fn table(&self, side: Side, job: &JobId, table: &str, date: Option<&LogicalDate>) -> String;

    /// Runs one read-only query. Each call counts as one query against the budget.
    ///
    /// # Errors
    /// When the statement fails or the warehouse does not answer.
    fn query(&self, sql: &str) -> Result<Timed<Rows>, PortError>;
}

/// Runs named by an adapter in front of people: the log and its facts of the last staging or legacy run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Exit status of the run's last command.
    pub exit: i32,
    /// Tasks that really executed.
    pub tasks: u32,
    /// Digest of what it did to the world, as far as the world can tell; equal digests mean equal effects.
    pub effect_digest: Option<Digest>,
    /// The last log lines.
    pub log_tail: String,
}

/// Facts about runs, for jobs that write no table.
pub trait Probe: Send + Sync {
    /// Facts of a job's last run on a side. On `Side::Legacy` a source may return two runs of the old
    /// job, so that an old side that differs from itself is noticed. With a `date`, runs for that logical
    /// date.
    ///
    /// # Errors
    /// When nothing is known of such a run.
    fn run_facts(
        &self,
        side: Side,
        job: &JobId,
        date: Option<&LogicalDate>,
    ) -> Result<Timed<Vec<RunFacts>>, PortError>;
}

/// One goal's world. A port that a goal does not need is absent.
#[derive(Clone)]
pub struct World {
    /// The old scheduler.
    pub source: Arc<dyn Source>,
    /// The new scheduler.
    pub target: Arc<dyn Target>,
    /// The warehouse.
    pub warehouse: Option<Arc<dyn Warehouse>>,
    /// Facts about runs.
    pub probe: Option<Arc<dyn Probe>>,
}
