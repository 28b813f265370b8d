//! How an agent ended, by rules that no text of its can bend.

use crate::model::FailureClass;
use crate::world::process::ProcessOutcome;

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// Exit status 0 and its own final line of success: nothing else counts.
    Well,
    /// Anything else.
    Badly {
        /// Whose failure it is: `Job` for its limits and refusals, `Environment` for what another time or
        /// another setting may mend, `Unclear` for an end without a word.
        class: FailureClass,
        /// One sentence.
        why: String,
    },
}

/// What an agent's output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReport {
    /// How it ended.
    pub end: AgentEnd,
    /// Its last words: a remark.
    pub words: String,
}

/// Most characters of its words kept.
const MAX_WORDS: usize = 2_000;

impl AgentReport {
    pub(super) fn well(words: &str) -> Self {
        Self {
            end: AgentEnd::Well,
            words: short(words),
        }
    }

    pub(super) fn badly(class: FailureClass, why: &str) -> Self {
        Self {
            end: AgentEnd::Badly {
                class,
                why: short(why),
            },
            words: String::new(),
        }
    }
}

/// Exit status, output and the last words on stderr of an agent that ended by itself; else the report.
pub(super) fn exited(outcome: &ProcessOutcome) -> Result<(i32, &[u8], String), AgentReport> {
    match outcome {
        ProcessOutcome::Exited {
            code,
            stdout,
            stderr,
        } => {
            let told = String::from_utf8_lossy(stderr).trim().to_owned();
            Ok((*code, stdout, told))
        }
        other => {
            let class = match other {
                ProcessOutcome::OutputTooLarge { .. } | ProcessOutcome::Killed { .. } => {
                    FailureClass::Unclear
                }
                _ => FailureClass::Environment,
            };
            Err(AgentReport::badly(class, "it did not end by itself"))
        }
    }
}

/// The JSON objects among the lines of an output; other lines are somebody else's.
pub(super) fn objects(
    stdout: &[u8],
) -> impl Iterator<Item = serde_json::Map<String, serde_json::Value>> + '_ {
    stdout.split(|byte| *byte == b'\n').filter_map(|line| {
        match serde_json::from_slice::<serde_json::Value>(line.trim_ascii()).ok()? {
            serde_json::Value::Object(map) => Some(map),
            _ => None,
        }
    })
}

fn short(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect()
}
