//! Workers: who proposes a config. `script` and `command` run an executable, or a command-line agent; `chat` is
//! a loop that the engine drives over a provider.

pub mod agent;
pub mod chat;
pub mod practice_model;
pub mod process;
pub mod provider;
pub mod script;

use crate::contract::Strategy;
use crate::model::{AttemptNo, FailureClass, JobId, PicoDollars};
use agent::AgentSettings;
use provider::{Cancel, HttpProvider};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// What the worker holds against a clause; listed for the owner, and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// A worker's word against a clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The clause's id.
    pub clause: String,
    /// Why it is wrong, with what was seen.
    pub why: String,
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

    /// The same, with what it took and what it must not have done.
    fn attempt(&self, strategy: &Strategy, request: &PrepareRequest) -> Prepared {
        Prepared::free(self.prepare(strategy, request))
    }
}

/// What an attempt may take at most, when it spends anything that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Tokens.
    pub tokens: u64,
    /// Money, when the strategy limits it.
    pub money: Option<PicoDollars>,
}

impl Most {
    /// Of a strategy; `None` for workers that spend nothing.
    pub fn of(strategy: &Strategy) -> Option<Self> {
        if !AgentSettings::is_agent(strategy) {
            return None;
        }
        let settings = AgentSettings::of(strategy).ok()?;
        Some(Self {
            tokens: settings.tokens,
            money: settings.money,
        })
    }
}

/// What an attempt took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Tokens, input and output.
    pub tokens: u64,
    /// Money; `None` when a model without a price answered.
    pub money: Option<PicoDollars>,
    /// False when some of it was reserved and nobody counted it.
    pub sure: bool,
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The proposal, or why there is none.
    pub result: Result<PrepareReply, PrepareFailure>,
    /// What it took; `None` for workers that spend nothing.
    pub spent: Option<Spent>,
    /// Files that it changed and must not have. Not empty: the attempt is void.
    pub tampered: Vec<String>,
}

impl Prepared {
    /// By a worker that spends nothing.
    pub fn free(result: Result<PrepareReply, PrepareFailure>) -> Self {
        Self {
            result,
            spent: None,
            tampered: Vec::new(),
        }
    }
}

/// Executables: the `script` and `command` workers.
#[derive(Clone)]
pub struct ProcessWorker {
    /// Where relative paths of the goal file start.
    pub base_dir: PathBuf,
    /// Where they may write.
    pub scratch_dir: PathBuf,
    /// Providers that agents may use, by name.
    pub providers: BTreeMap<String, Arc<HttpProvider>>,
    /// Files that no worker may change.
    pub watched: Vec<PathBuf>,
    /// Ends agents with the engine.
    pub cancel: Cancel,
}

impl ProcessWorker {
    /// For executables alone.
    pub fn new(base_dir: PathBuf, scratch_dir: PathBuf) -> Self {
        Self {
            base_dir,
            scratch_dir,
            providers: BTreeMap::new(),
            watched: Vec::new(),
            cancel: Cancel::default(),
        }
    }

    fn agent(&self, strategy: &Strategy, request: &PrepareRequest) -> Prepared {
        let name = strategy.params.get("provider").and_then(|one| one.as_str());
        let Some(provider) = name.and_then(|name| self.providers.get(name)) else {
            return Prepared {
                // Nothing was sent.
                spent: Some(Spent {
                    tokens: 0,
                    money: Some(PicoDollars::ZERO),
                    sure: true,
                }),
                ..Prepared::free(Err(PrepareFailure {
                    why: format!(
                        "the provider {} of strategy {} is not there: see `dogwatch doctor`",
                        name.unwrap_or("(none)"),
                        strategy.id
                    ),
                    class: FailureClass::Environment,
                }))
            };
        };
        let place = agent::AgentPlace {
            base_dir: &self.base_dir,
            scratch_dir: &self.scratch_dir,
            provider: Arc::clone(provider),
            watched: &self.watched,
            limits: agent::MeterLimits::default(),
            cancel: self.cancel.clone(),
        };
        let run = agent::prepare(strategy, request, &place);
        Prepared {
            result: run.result,
            spent: Some(Spent {
                tokens: run.metered.tokens(),
                money: run.metered.money,
                sure: run.metered.unknown == 0,
            }),
            tampered: run.tampered,
        }
    }
}

impl Worker for ProcessWorker {
    fn attempt(&self, strategy: &Strategy, request: &PrepareRequest) -> Prepared {
        if AgentSettings::is_agent(strategy) {
            return self.agent(strategy, request);
        }
        let before = agent::Watched::take(&self.watched);
        let mut prepared = Prepared::free(self.prepare(strategy, request));
        prepared.tampered = before.changed();
        if !prepared.tampered.is_empty() {
            prepared.result = Err(agent::void(strategy, &prepared.tampered));
        }
        prepared
    }

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
