//! The `command` checker: an executable of the goal's owner judges.
//!
//! One JSON request on its stdin, one JSON reply on its stdout. A failure of the executable is never a
//! verdict. Its files belong to the pass: when they change, passes become stale.

use super::params::{Params, note};
use super::warehouse::unclear;
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::canon::digest_parts;
use crate::model::{Digest, Verdict, digest_bytes};
use crate::world::ports::{Output, PortError, Timed};
use crate::world::process::{
    DEFAULT_STDERR_CAP, DEFAULT_STDOUT_CAP, ProcessOutcome, ProcessSpec, resolve_words, run,
};
use crate::world::strict_json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Version of the request and reply; part of the request and of the digest.
pub const PROTOCOL: u32 = 1;
const KNOWN: &[&str] = &["run", "timeout_ms", "queries", "settings", "kind"];
const DEFAULT_TIMEOUT_MS: u64 = 60_000;
const MAX_TIMEOUT_MS: u64 = 3_600_000;
const MAX_WORDS: usize = 64;
const MAX_QUERIES: u64 = 1_000;
const MAX_SUMMARY_CHARS: usize = 2_000;
/// Bytes of one file that its digest covers, beside its length.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The `command` checker.
///
/// Parameters: `run` (the program and its arguments; `./` and `../` start at the goal file's folder,
/// which is also where the program runs; `{job}` stands for the job's id), `timeout_ms` (default
/// 60 000), `queries` (the most warehouse queries it may report, default 0), `settings` (anything,
/// handed on), `kind` (`"judge"` when the program asks a language model: its verdicts are labelled so and
/// counted apart).
pub struct CommandCheck;

struct Settings {
    run: Vec<String>,
    timeout_ms: i64,
    queries: u64,
}

fn settings(clause: &Clause) -> Result<Settings, Vec<String>> {
    let params = Params(&clause.params);
    let mut problems = params.unknown(KNOWN);
    let run = note(&mut problems, words(params));
    let timeout = note(
        &mut problems,
        params.whole("timeout_ms", DEFAULT_TIMEOUT_MS, 1, MAX_TIMEOUT_MS),
    );
    let queries = note(&mut problems, params.whole("queries", 0, 0, MAX_QUERIES));
    if let Some(kind) = note(&mut problems, params.text("kind", "script"))
        && !matches!(kind, "script" | "judge")
    {
        problems.push(format!(
            "kind must be \"script\" or \"judge\", not {kind:?}"
        ));
    }
    match (run, timeout, queries, problems.is_empty()) {
        (Some(run), Some(timeout), Some(queries), true) => Ok(Settings {
            run,
            timeout_ms: i64::try_from(timeout).unwrap_or(i64::MAX),
            queries,
        }),
        _ => Err(problems),
    }
}

fn words(params: Params<'_>) -> Result<Vec<String>, String> {
    let words = params.texts("run", MAX_WORDS)?.unwrap_or_default();
    match words.first() {
        Some(first) if !first.is_empty() => Ok(words.into_iter().map(str::to_owned).collect()),
        _ => Err("run is missing: the program and its arguments, such as [\"./check.sh\"]".into()),
    }
}

/// What the executable reads.
#[derive(Serialize)]
struct Request<'a> {
    protocol: u32,
    call: &'static str,
    clause: &'a Clause,
    job: &'a str,
    output: Option<&'a Output>,
    definition: &'a str,
    config: &'a str,
    staged: &'a crate::world::ports::EffectRef,
    side: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_date: Option<&'a crate::model::LogicalDate>,
    /// Unix milliseconds, as in all requests to adapters.
    at: crate::model::TimeMs,
    params: &'a Map<String, Value>,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
struct Reply {
    verdict: Verdict,
    summary: String,
    #[serde(default)]
    numbers: Map<String, Value>,
    #[serde(default)]
    queries: Vec<String>,
}

impl Checker for CommandCheck {
    fn name(&self) -> &'static str {
        "command"
    }

    /// Covers the words and the content of every one of them that names a file: `["python3",
    /// "./check.py"]` is as good as `["./check.py"]`. Programs found by PATH and files that the
    /// program itself opens are not covered.
    fn digest(&self, clause: &Clause, base_dir: &Path) -> Digest {
        let mut parts = vec![self.name().to_owned(), PROTOCOL.to_string()];
        for word in settings(clause)
            .map(|settings| settings.run)
            .unwrap_or_default()
        {
            let content = match word.as_str() {
                "dogwatch" => env!("CARGO_PKG_VERSION").to_owned(),
                word => content(&base_dir.join(word)),
            };
            parts.push(word);
            parts.push(content);
        }
        digest_parts(parts.iter().map(String::as_str))
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        settings(clause).err().unwrap_or_default()
    }

    fn queries(&self, clause: &Clause, _output: Option<&Output>) -> u64 {
        settings(clause).map_or(0, |settings| settings.queries)
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let settings = match settings(input.clause) {
            Ok(settings) => settings,
            Err(problems) => {
                let text = problems.join("; ");
                return Ok(Timed::now(Evidence::bare(Verdict::Unverified, text)));
            }
        };
        let name = settings.run.first().cloned().unwrap_or_default();
        let outcome = run(&spec(input, &settings)?);
        let stdout = match outcome {
            ProcessOutcome::Exited {
                code: 0, stdout, ..
            } => stdout,
            other => {
                let trouble = other.trouble().unwrap_or_default();
                return Err(PortError::environment(format!("checker {name}: {trouble}")));
            }
        };
        let reply = reply(&stdout, settings.queries)
            .map_err(|why| unclear(format!("checker {name} answered {why}")))?;
        Ok(Timed::now(Evidence {
            verdict: reply.verdict,
            summary: reply.summary,
            numbers: reply.numbers,
            queries: reply.queries,
        }))
    }
}

fn spec(input: &CheckInput<'_>, settings: &Settings) -> Result<ProcessSpec, PortError> {
    let request = Request {
        protocol: PROTOCOL,
        call: "check",
        clause: input.clause,
        job: input.job.as_str(),
        output: input.output,
        definition: input.definition,
        config: input.config,
        staged: input.staged,
        side: input.side.word(),
        logical_date: input.logical_date,
        at: input.at,
        params: &input.clause.params,
    };
    let stdin = serde_json::to_vec(&request)
        .map_err(|error| unclear(format!("the request has no JSON form: {error}")))?;
    let argv = resolve_words(&settings.run, input.base_dir)
        .map_err(PortError::environment)?
        .into_iter()
        .map(|word| word.replace("{job}", input.job.as_str()))
        .collect();
    Ok(ProcessSpec {
        argv,
        cwd: input.base_dir.to_path_buf(),
        env: Vec::new(),
        stdin,
        timeout_ms: settings.timeout_ms,
        stdout_cap: DEFAULT_STDOUT_CAP,
        stderr_cap: DEFAULT_STDERR_CAP,
        term_grace_ms: 0,
    })
}

/// The reply taken literally, within its bounds.
fn reply(stdout: &[u8], most_queries: u64) -> Result<Reply, String> {
    let reply: Reply = strict_json::typed(strict_json::parse(stdout)?)?;
    if reply.summary.trim().is_empty() {
        return Err("an empty summary".to_owned());
    }
    if reply.summary.chars().count() > MAX_SUMMARY_CHARS {
        return Err(format!(
            "a summary of more than {MAX_SUMMARY_CHARS} characters"
        ));
    }
    if reply.queries.len() as u64 > most_queries {
        return Err(format!(
            "that it ran {} queries, where the clause allows {most_queries}",
            reply.queries.len()
        ));
    }
    Ok(reply)
}

/// Digest of a file's content, as text; empty for a word that names no file.
fn content(path: &PathBuf) -> String {
    let Ok(file) = std::fs::File::open(path) else {
        return String::new();
    };
    let length = match file.metadata() {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => return String::new(),
    };
    let mut bytes = Vec::new();
    match file.take(MAX_FILE_BYTES).read_to_end(&mut bytes) {
        Ok(_) => format!("{length}:{}", digest_bytes(&bytes)),
        Err(error) => json!({"unreadable": error.kind().to_string()}).to_string(),
    }
}
