//! One call of an adapter.

use crate::contract::parse::parse_duration_ms;
use crate::model::FailureClass;
use crate::world::ports::PortError;
use crate::world::process::{ProcessOutcome, ProcessSpec, resolve_words, run};
use crate::world::secret::resolve_secrets;
use crate::world::strict_json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The version of the protocol; part of every request.
pub const PROTOCOL: u32 = 1;
/// Most bytes of a reply: a job list of some thousand definitions fits.
const REPLY_CAP: usize = 16 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS: i64 = 30_000;
/// Most characters of an adapter's sentence kept.
const MAX_WHY_CHARS: usize = 2_000;

/// An executable that answers for one port.
#[derive(Clone)]
pub struct Adapter {
    port: &'static str,
    argv: Vec<String>,
    cwd: PathBuf,
    timeout_ms: i64,
    /// The table's other keys, secrets resolved. Only ever written to the adapter's stdin.
    settings: Map<String, Value>,
    /// Resolved secrets, taken out of whatever the adapter says.
    secrets: Vec<String>,
}

/// A call without a proper answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// False when the executable never ran, so that nothing can have happened.
    pub started: bool,
    /// One sentence.
    pub why: String,
    /// Whose failure it is.
    pub class: FailureClass,
    /// Milliseconds to wait before another try, when the adapter said so.
    pub retry_after_ms: Option<i64>,
}

impl From<CallFailure> for PortError {
    fn from(failure: CallFailure) -> Self {
        Self {
            what: failure.why,
            class: failure.class,
            retry_after_ms: failure.retry_after_ms,
        }
    }
}

/// What an adapter says instead of an answer.
#[derive(Serialize, Deserialize)]
struct ErrorReply {
    error: ErrorBody,
}

#[derive(Serialize, Deserialize)]
struct ErrorBody {
    what: String,
    class: FailureClass,
    #[serde(default)]
    retry_after_ms: Option<i64>,
}

impl Adapter {
    /// An adapter from its `[world.PORT]` table.
    ///
    /// # Errors
    /// One sentence when `run` or `timeout` is wrong or a secret cannot be read.
    pub fn from_table(
        port: &'static str,
        table: &Map<String, Value>,
        base_dir: &Path,
    ) -> Result<Self, String> {
        let words: Option<Vec<String>> = table.get("run").and_then(Value::as_array).map(|words| {
            words
                .iter()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect()
        });
        let words = words
            .filter(|words| words.first().is_some_and(|word| !word.is_empty()))
            .ok_or_else(|| format!("[world.{port}]: `run` names no command"))?;
        let timeout_ms = match table
            .get("timeout")
            .map(|value| value.as_str().unwrap_or(""))
        {
            None => DEFAULT_TIMEOUT_MS,
            Some(text) => parse_duration_ms(text)
                .map_err(|why| format!("[world.{port}]: `timeout`: {why}"))?,
        };
        let cwd = std::path::absolute(base_dir).map_err(|error| error.to_string())?;
        let mut settings = table.clone();
        for own in ["adapter", "run", "timeout"] {
            settings.shift_remove(own);
        }
        let secrets =
            resolve_secrets(&mut settings, &cwd).map_err(|why| format!("[world.{port}]: {why}"))?;
        Ok(Self {
            port,
            argv: resolve_words(&words, &cwd)?,
            cwd,
            timeout_ms,
            settings,
            secrets,
        })
    }

    /// A setting of the table, as text.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(Value::as_str)
    }

    /// Asks one question and reads the answer as a type that knows all of its keys. Blocks.
    ///
    /// # Errors
    /// Time-out and failure to start are the environment's; another exit status than 0, too much output
    /// and a reply that is not the JSON expected are unclear; an `error` reply has the class it names.
    pub fn call<T: DeserializeOwned + Serialize>(
        &self,
        call: &str,
        params: &Value,
    ) -> Result<T, CallFailure> {
        let request = json!({
            "protocol": PROTOCOL,
            "port": self.port,
            "call": call,
            "settings": self.settings,
            "params": params,
        });
        let stdin = request.to_string().into_bytes();
        let mut spec = ProcessSpec::new(self.argv.clone(), &self.cwd, stdin, self.timeout_ms);
        spec.stdout_cap = REPLY_CAP;
        let outcome = run(&spec);
        let failed = |class, why: String| CallFailure {
            started: !matches!(outcome, ProcessOutcome::CouldNotStart { .. }),
            why: self.sentence(call, &why),
            class,
            retry_after_ms: None,
        };
        let ProcessOutcome::Exited {
            code: 0, stdout, ..
        } = &outcome
        else {
            let class = match outcome {
                ProcessOutcome::TimedOut { .. } | ProcessOutcome::CouldNotStart { .. } => {
                    FailureClass::Environment
                }
                _ => FailureClass::Unclear,
            };
            return Err(failed(class, outcome.trouble().unwrap_or_default()));
        };
        let unclear = |why| failed(FailureClass::Unclear, why);
        let mut reply =
            strict_json::parse(stdout).map_err(|why| unclear(format!("wrote {why}")))?;
        self.redact(&mut reply);
        if reply.get("error").is_some() {
            let error: ErrorReply = strict_json::typed(reply)
                .map_err(|why| unclear(format!("wrote an error that is none: {why}")))?;
            return Err(CallFailure {
                retry_after_ms: error.error.retry_after_ms.map(|ms| ms.max(0)),
                ..failed(error.error.class, error.error.what)
            });
        }
        strict_json::typed(reply).map_err(|why| unclear(format!("its reply: {why}")))
    }

    /// An answer that was JSON of the right shape and still cannot be: an unclear failure.
    pub(super) fn implausible(&self, call: &str, why: &str) -> CallFailure {
        CallFailure {
            started: true,
            why: self.sentence(call, why),
            class: FailureClass::Unclear,
            retry_after_ms: None,
        }
    }

    fn sentence(&self, call: &str, why: &str) -> String {
        let mut text = format!("{} adapter, {call}: {why}", self.port);
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), "[secret]");
        }
        shorten(&text, MAX_WHY_CHARS)
    }

    fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for secret in &self.secrets {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), "[secret]");
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.redact(item)),
            _ => {}
        }
    }
}

/// At most `max` characters, with a mark when there were more.
pub(super) fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
    }
}
