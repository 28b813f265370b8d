//! Facts about runs from an executable.

use super::call::{Adapter, shorten};
use crate::model::{JobId, LogicalDate};
use crate::world::ports::{PortError, Probe, RunFacts, Side, Timed};
use serde::{Deserialize, Serialize};
use serde_json::json;

const MAX_RUNS: usize = 100;
const MAX_LOG_CHARS: usize = 64 * 1024;

/// A probe adapter.
pub struct CommandProbe {
    adapter: Adapter,
}

#[derive(Serialize, Deserialize)]
struct RunsReply {
    runs: Vec<RunFacts>,
}

impl CommandProbe {
    /// A probe that asks this adapter.
    pub fn new(adapter: Adapter) -> Self {
        Self { adapter }
    }
}

impl Probe for CommandProbe {
    fn run_facts(
        &self,
        side: Side,
        job: &JobId,
        date: Option<&LogicalDate>,
    ) -> Result<Timed<Vec<RunFacts>>, PortError> {
        let params = match date {
            None => json!({"side": side, "job": job}),
            Some(date) => json!({"side": side, "job": job, "logical_date": date}),
        };
        let mut reply: RunsReply = self.adapter.call("run_facts", &params)?;
        if reply.runs.len() > MAX_RUNS {
            let why = format!("{} runs; at most {MAX_RUNS}", reply.runs.len());
            return Err(self.adapter.implausible("run_facts", &why).into());
        }
        for run in &mut reply.runs {
            run.log_tail = shorten(&run.log_tail, MAX_LOG_CHARS);
        }
        Ok(Timed::now(reply.runs))
    }
}
