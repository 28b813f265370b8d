//! The new scheduler as an executable.

use super::call::{Adapter, CallFailure, shorten};
use super::source::judge_times;
use crate::model::{Action, Digest, FailureClass, JobId, OperationId, TimeMs};
use crate::world::ports::{
    AdapterInfo, Effect, EffectRef, EffectRequest, FiringQuestion, FiringTimes, InProduction,
    Lookup, MAX_GUIDE_BYTES, PortError, RunState, Target, Timed,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Most characters of a run's log kept.
const MAX_LOG_CHARS: usize = 64 * 1024;
/// Most characters of a reference.
const MAX_REFERENCE_CHARS: usize = 2_000;
/// Most sentences about what a cutover would set off.
const MAX_CONSEQUENCES: usize = 100;

/// A target adapter.
pub struct CommandTarget {
    adapter: Adapter,
    info: AdapterInfo,
    lists_production: bool,
    guide: String,
}

/// What an adapter says of itself.
#[derive(Serialize, Deserialize)]
struct InfoReply {
    #[serde(flatten)]
    info: AdapterInfo,
    /// Whether it answers `production`.
    #[serde(default)]
    lists_production: bool,
    /// What its configs look like, for whoever writes one.
    #[serde(default)]
    guide: String,
}

#[derive(Serialize, Deserialize)]
struct ProductionReply {
    production: Vec<InProduction>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum EffectReply {
    Applied {
        reference: String,
        config_digest: Digest,
        #[serde(default)]
        observed: String,
    },
    Refused {
        why: String,
        class: FailureClass,
        #[serde(default)]
        retry_after_ms: Option<i64>,
    },
    Unknown {
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum LookupReply {
    Found {
        operation_id: OperationId,
        job: JobId,
        reference: String,
        config_digest: Digest,
        #[serde(default)]
        observed: String,
    },
    Absent,
    CannotTell {
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Consequences {
    consequences: Vec<String>,
}

impl CommandTarget {
    /// A target that asks this adapter; asks it who it is.
    ///
    /// # Errors
    /// When the adapter does not say who it is.
    pub fn open(adapter: Adapter) -> Result<Self, PortError> {
        let InfoReply {
            info,
            lists_production,
            guide,
        } = adapter.call("info", &json!({}))?;
        if info.name.is_empty() || info.version.is_empty() {
            let why = "expected a name and a version";
            return Err(adapter.implausible("info", why).into());
        }
        if guide.len() > MAX_GUIDE_BYTES {
            let why = format!(
                "a guide of {} bytes; at most {MAX_GUIDE_BYTES} are told to a model",
                guide.len()
            );
            return Err(adapter.implausible("info", &why).into());
        }
        Ok(Self {
            adapter,
            info,
            lists_production,
            guide,
        })
    }

    fn reference(&self, call: &str, reference: &str) -> Result<(), CallFailure> {
        if reference.is_empty() || reference.chars().count() > MAX_REFERENCE_CHARS {
            let why = format!("expected a reference of 1 to {MAX_REFERENCE_CHARS} characters");
            return Err(self.adapter.implausible(call, &why));
        }
        Ok(())
    }

    fn ask_effect(&self, request: &EffectRequest) -> Result<Effect, CallFailure> {
        Ok(match self.adapter.call("effect", &json!(request))? {
            EffectReply::Applied {
                reference,
                config_digest,
                observed,
            } => {
                self.reference("effect", &reference)?;
                if config_digest != request.config_digest {
                    let why = "it says applied, but holds another config";
                    return Err(self.adapter.implausible("effect", why));
                }
                Effect::Applied(EffectRef {
                    reference,
                    config_digest,
                    observed,
                })
            }
            EffectReply::Refused {
                why,
                class,
                retry_after_ms,
            } => Effect::Refused {
                why,
                class,
                retry_after_ms: retry_after_ms.map(|ms| ms.max(0)),
            },
            EffectReply::Unknown { why } => Effect::Unknown { why },
        })
    }

    fn ask_look_up(
        &self,
        action: Action,
        operation_id: &OperationId,
        job: &JobId,
    ) -> Result<Lookup, CallFailure> {
        let params = json!({"action": action, "operation_id": operation_id, "job": job});
        Ok(match self.adapter.call("look_up", &params)? {
            LookupReply::Found {
                operation_id: found_id,
                job: found_job,
                reference,
                config_digest,
                observed,
            } => {
                self.reference("look_up", &reference)?;
                if &found_id != operation_id || &found_job != job {
                    let why = format!(
                        "asked for {operation_id} of {job}, it found {found_id} of {found_job}"
                    );
                    return Err(self.adapter.implausible("look_up", &why));
                }
                Lookup::Found(EffectRef {
                    reference,
                    config_digest,
                    observed,
                })
            }
            LookupReply::Absent => Lookup::Absent,
            LookupReply::CannotTell { why } => Lookup::CannotTell { why },
        })
    }
}

impl Target for CommandTarget {
    fn info(&self) -> AdapterInfo {
        self.info.clone()
    }

    fn guide(&self) -> String {
        self.guide.clone()
    }

    fn effect(&self, request: &EffectRequest) -> Timed<Effect> {
        Timed::now(match self.ask_effect(request) {
            Ok(effect) => effect,
            // Nothing ran, so nothing happened.
            Err(failure) if !failure.started => Effect::Refused {
                why: failure.why,
                class: FailureClass::Environment,
                retry_after_ms: None,
            },
            // It ran: whatever it says short of a proper answer, the effect may exist.
            Err(failure) => Effect::Unknown { why: failure.why },
        })
    }

    fn look_up(&self, action: Action, operation_id: &OperationId, job: &JobId) -> Timed<Lookup> {
        Timed::now(
            self.ask_look_up(action, operation_id, job)
                .unwrap_or_else(|failure| Lookup::CannotTell { why: failure.why }),
        )
    }

    fn run_state(
        &self,
        job: &JobId,
        staged: &EffectRef,
        at: TimeMs,
    ) -> Result<Timed<RunState>, PortError> {
        let params = json!({"job": job, "staged": staged, "at": at});
        let mut state: RunState = self.adapter.call("run_state", &params)?;
        match &mut state {
            RunState::Running { look_again_ms } => {
                *look_again_ms = (*look_again_ms).clamp(100, 3_600_000);
            }
            RunState::Succeeded { log } | RunState::Failed { log, .. } => {
                *log = shorten(log, MAX_LOG_CHARS);
            }
        }
        Ok(Timed::now(state))
    }

    fn firing_times(
        &self,
        job: &JobId,
        config: &str,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        let params = json!({
            "job": job, "config": config, "starts": question.starts, "count": question.count,
        });
        let times: FiringTimes = self.adapter.call("firing_times", &params)?;
        judge_times(&times, question)
            .map_err(|why| self.adapter.implausible("firing_times", &why))?;
        Ok(Timed::now(times))
    }

    fn consequences(
        &self,
        job: &JobId,
        config: &str,
        at: TimeMs,
    ) -> Result<Timed<Vec<String>>, PortError> {
        let params = json!({"job": job, "config": config, "at": at});
        let mut reply: Consequences = self.adapter.call("consequences", &params)?;
        if reply.consequences.len() > MAX_CONSEQUENCES {
            let more = reply.consequences.len() - MAX_CONSEQUENCES;
            reply.consequences.truncate(MAX_CONSEQUENCES);
            reply.consequences.push(format!("… and {more} more"));
        }
        Ok(Timed::now(reply.consequences))
    }

    fn production(&self) -> Result<Timed<Option<Vec<InProduction>>>, PortError> {
        if !self.lists_production {
            return Ok(Timed::now(None));
        }
        let reply: ProductionReply = self.adapter.call("production", &json!({}))?;
        for one in &reply.production {
            self.reference("production", &one.reference)?;
        }
        Ok(Timed::now(Some(reply.production)))
    }
}
