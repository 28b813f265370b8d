//! `script` and `command` workers: an executable that reads a request and writes a config.
//!
//! It reads one JSON [`PrepareRequest`] on stdin and writes one JSON [`PrepareReply`] on stdout, with exit
//! status 0. A job that it cannot do it refuses with `{"refused": "why"}` and exit status 2: that is an
//! answer, not a failure of the worker.

use super::process::{ProcessOutcome, ProcessSpec, resolve_words, run};
use super::{PrepareFailure, PrepareReply, PrepareRequest};
use crate::contract::Strategy;
use crate::model::FailureClass;
use crate::world::strict_json;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Most bytes of a reply.
pub const REPLY_CAP: usize = 4 * 1024 * 1024;
/// Exit status of a refusal.
pub const REFUSED_STATUS: i32 = 2;
/// Most characters of a reason kept.
const MAX_WHY_CHARS: usize = 2_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    refused: String,
}

/// Runs a strategy's worker on one job. It starts in `scratch_dir`, which it may write to; words of its
/// command that begin with `./` start at `base_dir`, and `{job}` in any word is the job's id. Blocks until
/// the worker ends or its time is over.
///
/// # Errors
/// When there is no config: `Job` when the worker refuses this job or proposes an empty config,
/// `Environment` when it could not run or ran out of time, `Unclear` when it broke its side of the
/// protocol.
pub fn prepare(
    strategy: &Strategy,
    request: &PrepareRequest,
    base_dir: &Path,
    scratch_dir: &Path,
) -> Result<PrepareReply, PrepareFailure> {
    let words: Vec<String> = strategy
        .run
        .iter()
        .map(|word| word.replace("{job}", request.job.as_str()))
        .collect();
    let argv =
        resolve_words(&words, base_dir).map_err(|why| failure(FailureClass::Environment, why))?;
    let stdin = serde_json::to_vec(request)
        .map_err(|error| failure(FailureClass::Unclear, error.to_string()))?;
    let mut spec = ProcessSpec::new(argv, scratch_dir, stdin, strategy.timeout_ms);
    spec.stdout_cap = REPLY_CAP;
    let scratch = scratch_dir.to_string_lossy().into_owned();
    spec.env = vec![
        ("TMPDIR".to_owned(), scratch.clone()),
        ("DOGWATCH_SCRATCH".to_owned(), scratch),
        ("DOGWATCH_JOB".to_owned(), request.job.0.clone()),
    ];
    judge(strategy, &run(&spec))
}

/// What a finished run means.
fn judge(strategy: &Strategy, outcome: &ProcessOutcome) -> Result<PrepareReply, PrepareFailure> {
    let who = &strategy.id;
    match outcome {
        ProcessOutcome::Exited {
            code: 0, stdout, ..
        } => match strict_json::parse(stdout).and_then(strict_json::typed::<PrepareReply>) {
            Ok(reply) if reply.config.trim().is_empty() => Err(failure(
                FailureClass::Job,
                format!("worker {who} proposed an empty config"),
            )),
            Ok(reply) => Ok(reply),
            Err(why) => Err(failure(
                FailureClass::Unclear,
                format!("worker {who} wrote {why}"),
            )),
        },
        ProcessOutcome::Exited {
            code: REFUSED_STATUS,
            stdout,
            ..
        } => match strict_json::parse(stdout).and_then(strict_json::typed::<Refusal>) {
            Ok(refusal) => Err(failure(FailureClass::Job, refusal.refused)),
            Err(_) => Err(trouble(FailureClass::Unclear, strategy, outcome)),
        },
        ProcessOutcome::TimedOut { .. } | ProcessOutcome::CouldNotStart { .. } => {
            Err(trouble(FailureClass::Environment, strategy, outcome))
        }
        _ => Err(trouble(FailureClass::Unclear, strategy, outcome)),
    }
}

fn trouble(class: FailureClass, strategy: &Strategy, outcome: &ProcessOutcome) -> PrepareFailure {
    let what = outcome.trouble().unwrap_or_default();
    failure(class, format!("worker {}: {what}", strategy.id))
}

fn failure(class: FailureClass, why: String) -> PrepareFailure {
    PrepareFailure {
        why: why.chars().take(MAX_WHY_CHARS).collect(),
        class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AttemptNo, JobId, StrategyId};
    use std::time::{Duration, Instant};

    fn attempt(script: &str) -> Result<PrepareReply, PrepareFailure> {
        let strategy = Strategy {
            id: StrategyId::from("s"),
            worker: "script".to_owned(),
            run: ["/bin/sh", "-c", script, "sh", "{job}"]
                .map(str::to_owned)
                .to_vec(),
            // Short only where a time-out is the point: the machine may be busy.
            timeout_ms: if script.contains("sleep") {
                500
            } else {
                60_000
            },
            params: serde_json::Map::new(),
        };
        let request = PrepareRequest {
            job: JobId::from("job-7"),
            attempt: AttemptNo(1),
            origin: "a:1".to_owned(),
            definition: "old".to_owned(),
            depends_on: Vec::new(),
            output_table: None,
            previous: None,
            comment: None,
        };
        let scratch = tempfile::tempdir().unwrap();
        prepare(&strategy, &request, Path::new("/"), scratch.path())
    }

    #[test]
    fn a_config_comes_back_with_its_remark() {
        let script = r#"grep -q '"definition":"old"' && pwd > "$TMPDIR/here" && echo "{\"config\":\"new $1\",\"remark\":\"r\"}""#;
        let reply = attempt(script).unwrap();
        assert_eq!(
            (reply.config.as_str(), reply.remark.as_str()),
            ("new job-7", "r")
        );
    }

    #[test]
    fn every_failure_has_its_class_and_says_why() {
        use FailureClass::{Environment, Job, Unclear};
        for (script, class, part) in [
            (
                r#"echo '{"refused":"no such thing"}'; exit 2"#,
                Job,
                "no such thing",
            ),
            (r#"echo '{"config":" "}'"#, Job, "empty config"),
            ("echo traceback >&2; exit 2", Unclear, "status 2: traceback"),
            ("exit 3", Unclear, "status 3"),
            ("echo garbage", Unclear, "it begins: garbage"),
            (r#"echo '{"config":"x","extra":1}'"#, Unclear, "extra"),
            (r#"echo '{"config":"x"}{}'"#, Unclear, "trailing"),
            (r#"echo '{"config":"x","config":"y"}'"#, Unclear, "twice"),
            ("true", Unclear, "nothing"),
            ("head -c 1000000000 /dev/zero", Unclear, "4194304 bytes"),
            ("kill -9 $$", Unclear, "signal 9"),
            ("sleep 60", Environment, "killed after 0.5 s"),
        ] {
            let started = Instant::now();
            let failure = attempt(script).unwrap_err();
            assert_eq!(failure.class, class, "{script}: {}", failure.why);
            assert!(failure.why.contains(part), "{script}: {}", failure.why);
            assert!(started.elapsed() < Duration::from_secs(30));
        }
    }

    #[test]
    fn the_documented_request_and_replies_are_the_real_ones() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/adapters.md");
        let text = std::fs::read_to_string(file).unwrap();
        let block = |kind: &str| {
            let (_, after) = text.split_once(&format!("```json {kind}\n")).unwrap();
            strict_json::parse(after.split("```").next().unwrap().as_bytes()).unwrap()
        };
        let request = block("worker-request");
        let typed: PrepareRequest = strict_json::typed(request.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), request);
        let reply = strict_json::typed::<PrepareReply>(block("worker-reply"));
        assert_eq!(reply.unwrap().remark, "the old host keeps UTC");
        let claim = strict_json::typed::<PrepareReply>(block("worker-claim"));
        assert_eq!(claim.unwrap().claim.unwrap().clause, "rows");
        assert!(strict_json::typed::<Refusal>(block("worker-refusal")).is_ok());
    }
}
