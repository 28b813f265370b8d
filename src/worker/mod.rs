//! Workers: who proposes a config. `script` and `command` run an executable; `chat` comes later.

pub mod agent;
pub mod process;
pub mod provider;
pub mod script;

use crate::contract::Strategy;
use crate::model::{AttemptNo, FailureClass, JobId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a worker is given, as JSON on its stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrepareRequest {
    /// The job.
    pub job: JobId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Where the old definition stands.
    pub origin: String,
    /// The old definition.
    pub definition: String,
    /// Jobs upstream, as the source declares them.
    pub depends_on: Vec<JobId>,
    /// The table it writes, if any.
    pub output_table: Option<String>,
    /// The config proposed before and why it failed, if there was one.
    pub previous: Option<PreviousConfig>,
    /// An operator's comment for this attempt.
    pub comment: Option<String>,
}

/// A config that failed, for the next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousConfig {
    /// The config.
    pub config: String,
    /// The failures, one sentence each, from evidence.
    pub failures: Vec<String>,
}

/// What a worker answers, as JSON on its stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareReply {
    /// The new config, whole.
    pub config: String,
    /// The worker's own words; kept as a remark, never as evidence.
    #[serde(default)]
    pub remark: String,
}

/// Whoever answers a [`PrepareRequest`].
pub trait Worker: Send + Sync {
    /// One turn; blocks until it is over.
    ///
    /// # Errors
    /// When there is no config.
    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure>;
}

/// Executables: the `script` and `command` workers.
#[derive(Debug, Clone)]
pub struct ProcessWorker {
    /// Where relative paths of the goal file start.
    pub base_dir: PathBuf,
    /// Where they may write.
    pub scratch_dir: PathBuf,
}

impl Worker for ProcessWorker {
    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        script::prepare(strategy, request, &self.base_dir, &self.scratch_dir)
    }
}

/// Why there is no config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrepareFailure {
    /// One sentence.
    pub why: String,
    /// Whose failure it is: `Job` when the worker says that it cannot do this one.
    pub class: FailureClass,
}
