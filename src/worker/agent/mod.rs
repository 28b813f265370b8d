//! Command-line agents as workers: `claude -p` and `codex exec` in a scratch folder, behind a meter.
//!
//! The agent never sees the provider's key: it talks to a proxy of ours on loopback, which counts, holds the
//! attempt's limits and refuses the next call when they are reached. What it may say about itself (that all
//! is well, what it cost) decides nothing: two rules decide whether it ended well, a file holds its proposal,
//! and the checkers judge that.

mod claude;
mod codex;
mod end;
mod meter;
mod proxy;
mod sandbox;
mod settings;
mod task;
mod usage_sniffer;
mod watch;

pub use end::{AgentEnd, AgentReport};
pub use meter::{MeterLimits, Metered};
pub use proxy::Proxy;
pub use sandbox::{Sandbox, find_bubblewrap};
pub use settings::{AgentSettings, Profile};
pub use watch::{Watched, watched_files};

use super::provider::{Cancel, HttpProvider};
use super::{PrepareFailure, PrepareReply, PrepareRequest};
use crate::contract::Strategy;
use crate::model::FailureClass;
use crate::world::process::{ProcessOutcome, ProcessSpec, resolve_words, run};
use std::path::Path;
use std::sync::Arc;

/// Most bytes of an agent's output.
const OUTPUT_CAP: usize = 16 * 1024 * 1024;
/// Between the polite signal and the other one, in milliseconds.
const TERM_GRACE_MS: i64 = 5_000;

/// What an attempt of an agent came to.
#[derive(Debug)]
pub struct AgentRun {
    /// The proposal, or why there is none.
    pub result: Result<PrepareReply, PrepareFailure>,
    /// What went through the meter.
    pub metered: Metered,
    /// Files of the contract or of a checker that were changed meanwhile. Not empty: the attempt is void.
    pub tampered: Vec<String>,
}

/// What an attempt needs beside its strategy.
pub struct AgentPlace<'a> {
    /// Where relative paths of the goal file start.
    pub base_dir: &'a Path,
    /// Where it may write; emptied before and after.
    pub scratch_dir: &'a Path,
    /// Who answers its calls.
    pub provider: Arc<HttpProvider>,
    /// What must stay as it is.
    pub watched: &'a [std::path::PathBuf],
    /// What it may take at most, beside the strategy's own limits.
    pub limits: MeterLimits,
    /// Ends it: its next call is refused.
    pub cancel: Cancel,
}

/// Runs one attempt. Blocks until it is over.
pub fn prepare(strategy: &Strategy, request: &PrepareRequest, place: &AgentPlace<'_>) -> AgentRun {
    let before = Watched::take(place.watched);
    let (result, metered) = match AgentSettings::of(strategy) {
        Ok(settings) => attempt(strategy, &settings, request, place),
        Err(why) => (
            Err(failure(FailureClass::Environment, why)),
            Metered::default(),
        ),
    };
    let tampered = before.changed();
    let result = if tampered.is_empty() {
        result
    } else {
        Err(void(strategy, &tampered))
    };
    AgentRun {
        result,
        metered,
        tampered,
    }
}

fn attempt(
    strategy: &Strategy,
    settings: &AgentSettings,
    request: &PrepareRequest,
    place: &AgentPlace<'_>,
) -> (Result<PrepareReply, PrepareFailure>, Metered) {
    let environment = |why: String| Err(failure(FailureClass::Environment, why));
    let limits = place.limits.stricter(&settings.limits());
    let proxy = match Proxy::start(
        Arc::clone(&place.provider),
        settings.profile,
        limits,
        place.cancel.clone(),
    ) {
        Ok(proxy) => proxy,
        Err(why) => return (environment(why), Metered::default()),
    };
    let folder = match tempfile::Builder::new()
        .prefix("attempt-")
        .tempdir_in(place.scratch_dir)
    {
        Ok(folder) => folder,
        Err(error) => {
            return (
                environment(format!("no scratch folder: {error}")),
                proxy.stop(),
            );
        }
    };
    let spec = task::write(folder.path(), settings, request, place.base_dir)
        .and_then(|prompt| command(strategy, settings, &proxy, place, folder.path(), prompt));
    let spec = match spec {
        Ok(spec) => spec,
        Err(why) => return (environment(why), proxy.stop()),
    };
    let outcome = run(&spec);
    let metered = proxy.stop();
    if place.cancel.is_cancelled() {
        let why = format!("worker {} was told to end with the engine", strategy.id);
        return (environment(why), metered);
    }
    let report = match settings.profile {
        Profile::Claude => claude::read(&outcome),
        Profile::Codex => codex::read(&outcome),
    };
    (
        verdict(strategy, &outcome, report, &metered, folder.path()),
        metered,
    )
}

/// The process to run: the agent, its environment, and the sandbox around it.
fn command(
    strategy: &Strategy,
    settings: &AgentSettings,
    proxy: &Proxy,
    place: &AgentPlace<'_>,
    folder: &Path,
    prompt: Vec<u8>,
) -> Result<ProcessSpec, String> {
    let program = if strategy.run.is_empty() {
        vec![settings.profile.program().to_owned()]
    } else {
        resolve_words(&strategy.run, place.base_dir)?
    };
    let (arguments, env) = match settings.profile {
        Profile::Claude => claude::command(settings, proxy),
        Profile::Codex => codex::command(settings, proxy, folder),
    };
    let argv: Vec<String> = program.into_iter().chain(arguments).collect();
    let argv = settings.sandbox.around(argv, folder)?;
    let mut spec = ProcessSpec::new(argv, folder, prompt, strategy.timeout_ms);
    spec.stdout_cap = OUTPUT_CAP;
    spec.term_grace_ms = TERM_GRACE_MS;
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    spec.env = vec![
        ("HOME".to_owned(), at(task::HOME)),
        ("TMPDIR".to_owned(), at(task::TMP)),
        ("NO_PROXY".to_owned(), "127.0.0.1".to_owned()),
        ("no_proxy".to_owned(), "127.0.0.1".to_owned()),
    ];
    spec.env.extend(env);
    Ok(spec)
}

/// What an ended agent amounts to: its two rules first, then its file.
fn verdict(
    strategy: &Strategy,
    outcome: &ProcessOutcome,
    report: AgentReport,
    metered: &Metered,
    folder: &Path,
) -> Result<PrepareReply, PrepareFailure> {
    let who = &strategy.id;
    // A cut agent says whatever its version says about a refused call; we know why.
    if let Some(limit) = &metered.cut_by {
        return Err(failure(
            FailureClass::Job,
            format!("worker {who} was cut: {limit}"),
        ));
    }
    match report.end {
        AgentEnd::Well => match task::read_answer(folder) {
            Ok(task::Answer::Config(config)) => Ok(PrepareReply {
                config,
                remark: report.words,
                claim: None,
            }),
            Ok(task::Answer::Cannot(why)) => Err(failure(FailureClass::Job, why)),
            Ok(task::Answer::Nothing) => Err(failure(
                FailureClass::Job,
                format!("worker {who} ended well and left no {}", task::CONFIG),
            )),
            Err(why) => Err(failure(
                FailureClass::Unclear,
                format!("worker {who}: {why}"),
            )),
        },
        AgentEnd::Badly { class, why } => {
            let why = match outcome {
                ProcessOutcome::Exited { .. } => why,
                other => other.trouble().unwrap_or(why),
            };
            Err(failure(class, format!("worker {who}: {why}")))
        }
    }
}

/// The end of an attempt that changed what it must not.
pub fn void(strategy: &Strategy, tampered: &[String]) -> PrepareFailure {
    failure(
        FailureClass::Job,
        format!(
            "while worker {} ran, {} changed; the attempt is void",
            strategy.id,
            tampered.join(", ")
        ),
    )
}

fn failure(class: FailureClass, why: String) -> PrepareFailure {
    PrepareFailure {
        why: why.chars().take(2_000).collect(),
        class,
    }
}
