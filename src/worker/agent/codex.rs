//! `codex exec`: its flags, and what its end means.

use super::end::{AgentReport, exited, objects};
use super::proxy::Proxy;
use super::settings::AgentSettings;
use super::task;
use crate::model::FailureClass;
use crate::world::process::ProcessOutcome;
use serde_json::Value;
use std::path::Path;

/// The environment variable in which it finds the proxy's token.
const KEY: &str = "DOGWATCH_TOKEN";

/// Arguments and environment of one attempt.
pub(super) fn command(
    settings: &AgentSettings,
    proxy: &Proxy,
    folder: &Path,
) -> (Vec<String>, Vec<(String, String)>) {
    let own = |key: &str, value: &str| format!("model_providers.dogwatch.{key}={value}");
    let quoted = |text: &str| Value::from(text).to_string();
    let folder_word = folder.to_string_lossy().into_owned();
    let mut words: Vec<String> = [
        "exec",
        "--json",
        "--ephemeral",
        "--skip-git-repo-check",
        "--ignore-user-config",
        "-s",
        "workspace-write",
        "-C",
        folder_word.as_str(),
        "-m",
        settings.model.as_str(),
    ]
    .map(str::to_owned)
    .to_vec();
    for setting in [
        "model_provider=\"dogwatch\"".to_owned(),
        own("name", "\"dogwatch\""),
        own("base_url", &quoted(&format!("{}/v1", proxy.base_url()))),
        own("env_key", &quoted(KEY)),
        own("wire_api", "\"responses\""),
        // They multiply, and the engine tries again by itself.
        own("request_max_retries", "1"),
        own("stream_max_retries", "1"),
    ] {
        words.extend(["-c".to_owned(), setting]);
    }
    // The prompt is on standard input.
    words.push("-".to_owned());
    let home = folder.join(task::HOME).join(".codex");
    let env = vec![
        (KEY.to_owned(), proxy.token().to_owned()),
        ("CODEX_HOME".to_owned(), home.to_string_lossy().into_owned()),
    ];
    (words, env)
}

/// Success is exit status 0 and `turn.completed`. An `error` line may be a mere reconnect and is no end.
pub(super) fn read(outcome: &ProcessOutcome) -> AgentReport {
    use FailureClass::{Environment, Job, Unclear};
    let (code, stdout, told) = match exited(outcome) {
        Ok(parts) => parts,
        Err(report) => return report,
    };
    let (mut words, mut completed, mut failed) = (String::new(), false, None);
    for event in objects(stdout) {
        match event.get("type").and_then(Value::as_str) {
            Some("turn.started") => completed = false,
            Some("turn.completed") => completed = true,
            Some("turn.failed") => {
                let message = event.get("error").and_then(|error| error.get("message"));
                failed = Some(message.and_then(Value::as_str).unwrap_or("").to_owned());
            }
            Some("item.completed") => {
                let item = event.get("item");
                let word = |key: &str| item.and_then(|item| item.get(key)).and_then(Value::as_str);
                if word("type") == Some("agent_message") {
                    word("text").unwrap_or("").clone_into(&mut words);
                }
            }
            _ => {}
        }
    }
    match (code, completed, failed) {
        (0, true, None) => AgentReport::well(&words),
        (_, _, Some(why)) => {
            let text = why.to_lowercase();
            let class = if ["context_length", "invalid_request", "content_filter"]
                .iter()
                .any(|word| text.contains(word))
            {
                Job
            } else {
                Environment
            };
            AgentReport::badly(class, &format!("its turn failed: {why}"))
        }
        (2, ..) => AgentReport::badly(Environment, &format!("it does not know a flag: {}", told)),
        (code, ..) => {
            let why = format!(
                "it exited with status {code} before its turn was completed {}",
                told
            );
            AgentReport::badly(Unclear, why.trim())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::agent::AgentEnd;

    fn exited(code: i32, lines: &[&str]) -> ProcessOutcome {
        ProcessOutcome::Exited {
            code,
            stdout: lines.join("\n").into_bytes(),
            stderr: Vec::new(),
        }
    }

    const MESSAGE: &str =
        r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done"}}"#;
    const RECONNECT: &str = r#"{"type":"error","message":"Reconnecting... 1/1"}"#;
    const COMPLETED: &str =
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":1}}"#;

    #[test]
    fn a_reconnect_is_no_end_and_words_are_no_success() {
        let report = read(&exited(
            0,
            &[
                "{\"type\":\"turn.started\"}",
                RECONNECT,
                MESSAGE,
                MESSAGE,
                COMPLETED,
            ],
        ));
        assert_eq!(
            (report.end, report.words.as_str()),
            (AgentEnd::Well, "done")
        );
        for (code, lines, class) in [
            // An answer, and then nothing: the stream was cut.
            (0, vec![MESSAGE], FailureClass::Unclear),
            (0, vec![RECONNECT], FailureClass::Unclear),
            (1, vec![MESSAGE, COMPLETED], FailureClass::Unclear),
            (
                1,
                vec![r#"{"type":"turn.failed","error":{"message":"stream disconnected"}}"#],
                FailureClass::Environment,
            ),
            (
                0,
                vec![
                    COMPLETED,
                    r#"{"type":"turn.failed","error":{"message":"late"}}"#,
                ],
                FailureClass::Environment,
            ),
            (
                1,
                vec![r#"{"type":"turn.failed","error":{"message":"context_length_exceeded"}}"#],
                FailureClass::Job,
            ),
            (2, vec![], FailureClass::Environment),
            (1, vec![], FailureClass::Unclear),
        ] {
            let AgentEnd::Badly { class: seen, why } = read(&exited(code, &lines)).end else {
                panic!("{lines:?}")
            };
            assert_eq!(seen, class, "{code} {lines:?}: {why}");
        }
    }
}
