//! `claude -p`: its flags, and what its end means.

use super::end::{AgentReport, exited, objects};
use super::proxy::Proxy;
use super::settings::AgentSettings;
use crate::model::FailureClass;
use crate::world::process::ProcessOutcome;
use serde_json::Value;

/// Arguments and environment of one attempt.
pub(super) fn command(
    settings: &AgentSettings,
    proxy: &Proxy,
) -> (Vec<String>, Vec<(String, String)>) {
    let turns = settings.turns.to_string();
    let mut words: Vec<String> = [
        "-p",
        // No hooks, plugins, memory or project files, and a key from the environment only.
        "--bare",
        "--output-format",
        "json",
        "--model",
        settings.model.as_str(),
        "--max-turns",
        turns.as_str(),
        // What would ask is refused.
        "--permission-mode",
        "dontAsk",
        "--tools",
        "Read,Edit,Write",
        "--allowedTools",
        "Read",
        "Edit",
        "Write",
        "--no-session-persistence",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(money) = settings.money {
        // It is checked after each response and overshoots by a call; the proxy is the wall.
        words.extend([
            "--max-budget-usd".to_owned(),
            format!("{:.6}", money.dollars()),
        ]);
    }
    let env = [
        ("ANTHROPIC_BASE_URL", proxy.base_url()),
        ("ANTHROPIC_API_KEY", proxy.token().to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
        (
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            settings.max_output_tokens.to_string(),
        ),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    (words, env.to_vec())
}

/// Success is exit status 0 and a result line with `is_error` false and the subtype `success`. One of them
/// alone is not: it says `success` beside an error, and exits 0 without a word after an interrupt.
pub(super) fn read(outcome: &ProcessOutcome) -> AgentReport {
    use FailureClass::{Environment, Job, Unclear};
    let (code, stdout, told) = match exited(outcome) {
        Ok(parts) => parts,
        Err(report) => return report,
    };
    let result = objects(stdout)
        .filter(|map| map.get("type").and_then(Value::as_str) == Some("result"))
        .last();
    let Some(result) = result else {
        let why = match told.as_str() {
            "" => format!("it exited with status {code} and without a result"),
            told => format!("it exited with status {code} and without a result: {told}"),
        };
        return AgentReport::badly(Unclear, &why);
    };
    let word = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or("");
    let subtype = word("subtype");
    let is_error = result.get("is_error").and_then(Value::as_bool);
    let denied = result
        .get("permission_denials")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    if code == 0 && is_error == Some(false) && subtype == "success" {
        let words = match denied {
            0 => word("result").to_owned(),
            count => format!("({count} tool calls were refused) {}", word("result")),
        };
        return AgentReport::well(&words);
    }
    let status = result.get("api_error_status").and_then(Value::as_u64);
    let (class, what) = match (subtype, status) {
        ("error_max_turns", _) => (Job, "it reached its turns".to_owned()),
        ("error_max_budget_usd", _) => (Job, "it reached its budget".to_owned()),
        ("error_max_structured_output_retries", _) => {
            (Job, "its answer never had the shape asked for".to_owned())
        }
        ("success", Some(status)) => (Environment, format!("the provider answered {status}")),
        ("success", None) if word("stop_reason") == "refusal" => {
            (Job, "the provider's policy refused it".to_owned())
        }
        (other, _) => (Unclear, format!("it ended as \"{other}\"")),
    };
    AgentReport::badly(class, format!("{what} {}", word("result")).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::agent::AgentEnd;

    fn exited(code: i32, stdout: &str) -> ProcessOutcome {
        ProcessOutcome::Exited {
            code,
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
        }
    }

    #[test]
    fn only_both_rules_together_are_success() {
        let line = |subtype: &str, is_error: bool, more: &str| {
            format!(
                r#"warning: not JSON
{{"type":"system","subtype":"init"}}
{{"type":"result","subtype":"{subtype}","is_error":{is_error}{more}}}"#
            )
        };
        let good = line(
            "success",
            false,
            r#","result":"done","permission_denials":[{}]"#,
        );
        let report = read(&exited(0, &good));
        assert_eq!(report.end, AgentEnd::Well);
        assert!(report.words.contains("1 tool calls were refused"));
        for (code, text, class, part) in [
            (1, good.clone(), FailureClass::Unclear, "success"),
            (
                1,
                line(
                    "success",
                    true,
                    r#","api_error_status":529,"result":"Overloaded""#,
                ),
                FailureClass::Environment,
                "529 Overloaded",
            ),
            (
                0,
                line(
                    "success",
                    true,
                    r#","api_error_status":null,"stop_reason":"refusal""#,
                ),
                FailureClass::Job,
                "policy",
            ),
            (
                1,
                line("error_max_turns", true, ""),
                FailureClass::Job,
                "turns",
            ),
            (
                1,
                line("error_max_budget_usd", true, ""),
                FailureClass::Job,
                "budget",
            ),
            (
                1,
                line("error_during_execution", true, ""),
                FailureClass::Unclear,
                "error_during",
            ),
            // After an interrupt.
            (
                0,
                String::new(),
                FailureClass::Unclear,
                "status 0 and without a result",
            ),
            (143, String::new(), FailureClass::Unclear, "status 143"),
            // A field that is missing is no success.
            (
                0,
                r#"{"type":"result","subtype":"success"}"#.to_owned(),
                FailureClass::Unclear,
                "success",
            ),
        ] {
            let AgentEnd::Badly { class: seen, why } = read(&exited(code, &text)).end else {
                panic!("{text}")
            };
            assert_eq!(seen, class, "{text}: {why}");
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
