//! What a failure allows. Pure: every row of the failure table is here and tested.

use super::assemble::Fault;
use super::error_body::{self, ErrorBody};
use super::failure::{TurnFailure, TurnFailureClass as Class};
use super::reply::Usage;
use crate::model::TimeMs;
use serde_json::Value;

/// An answer with a status that is no success, or with an error inside.
#[derive(Debug, Clone, Default)]
pub(super) struct Answered {
    /// HTTP status.
    pub(super) status: u16,
    /// Milliseconds that the server asks to wait.
    pub(super) retry_after_ms: Option<i64>,
    /// The server's own word on sending it again.
    pub(super) should_retry: Option<bool>,
    /// Its id of the request.
    pub(super) request_id: Option<String>,
}

/// A model that is still being loaded: asked again more patiently than anything else.
pub(super) const LOADING: &str = "loading";
const LOADING_MS: i64 = 5_000;
/// Codes and types that mean that money is used up.
const BUDGET: [&str; 10] = [
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_error",
    "budget_exceeded",
    "billing_hard_limit_reached",
];
/// Codes that ask for fewer calls at once.
const SLOW: [&str; 3] = ["slow_down", "ramp_limit_exceeded", "server_is_overloaded"];
/// Parameters whose refusal means that the provider's settings are wrong.
const PROFILE: [&str; 13] = [
    "tool_choice",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "strict",
    "stream_options",
    "parallel_tool_calls",
    "reasoning_effort",
    "output_config",
    "prompt_cache_key",
    "anthropic-version",
    "anthropic-beta",
    "top_p",
];

/// A failure of a class, to be refined.
pub(super) fn failure(class: Class, code: &str, message: String) -> TurnFailure {
    TurnFailure {
        class,
        not_before: None,
        status: None,
        code: code.to_owned(),
        maybe_billed: false,
        usage: None,
        most_retries: if matches!(class, Class::Retry | Class::Wait) {
            3
        } else {
            0
        },
        fallback: false,
        slow_down: false,
        request_id: None,
        message,
    }
}

/// What an error answer means.
pub(super) fn of_answer(answer: &Answered, body: &str, now: TimeMs) -> TurnFailure {
    let error = error_body::read(body);
    let mut failure = judge(answer, &error, now);
    failure.request_id.clone_from(&answer.request_id);
    failure
}

fn judge(answer: &Answered, error: &ErrorBody, now: TimeMs) -> TurnFailure {
    let status = answer.status;
    let said = said(status, error);
    let code = match (error.code.as_str(), error.kind.as_str()) {
        ("", "") => status.to_string(),
        ("", kind) => kind.to_owned(),
        (code, _) => code.to_owned(),
    };
    let with = |class: Class, code: &str| TurnFailure {
        status: Some(status),
        ..failure(class, code, said.clone())
    };
    if is_budget(status, error) {
        // Credits that are refilled by themselves come with a time.
        return match answer.retry_after_ms.filter(|_| status == 402) {
            Some(ms) => TurnFailure {
                not_before: Some(now.plus_ms(ms)),
                ..with(Class::Wait, &code)
            },
            None => with(Class::StopBudget, &code),
        };
    }
    let mut found = match answer.should_retry {
        Some(true) => with(Class::Retry, &code),
        None | Some(false) => by_status(status, error, &code, now, &with),
    };
    found.slow_down |= SLOW.contains(&code.as_str());
    found.maybe_billed = matches!(status, 408 | 500 | 502 | 504);
    let may = matches!(found.class, Class::Retry | Class::Wait);
    if may && answer.should_retry == Some(false) {
        found.class = Class::FailStep;
        found.most_retries = 0;
        found.fallback = true;
        found
            .message
            .push_str("; the provider says not to send it again");
    } else if may && let Some(ms) = answer.retry_after_ms {
        found.class = Class::Wait;
        found.not_before = Some(now.plus_ms(ms));
    }
    found
}

fn by_status(
    status: u16,
    error: &ErrorBody,
    code: &str,
    now: TimeMs,
    with: &dyn Fn(Class, &str) -> TurnFailure,
) -> TurnFailure {
    match status {
        300..=399 => TurnFailure {
            message: format!(
                "the provider answered with a redirect (status {status}), which is never followed with a key; \
                 is base_url right?"
            ),
            ..with(Class::StopConfig, "redirect")
        },
        400 if is_too_long(error) => with(Class::FailStep, TurnFailure::CONTEXT_FULL),
        400 if is_schema_too_large(error) => TurnFailure {
            most_retries: 1,
            ..with(Class::Retry, TurnFailure::SCHEMA_TOO_LARGE)
        },
        400 if is_profile(error) => with(Class::StopConfig, code),
        401 | 403 | 501 => with(Class::StopConfig, code),
        404 => TurnFailure {
            fallback: true,
            ..with(Class::StopConfig, code)
        },
        408 | 409 => with(Class::Retry, code),
        413 => with(Class::FailStep, "request_too_large"),
        429 => with(Class::Retry, code),
        503 if error.kind == "unavailable_error" => TurnFailure {
            not_before: Some(now.plus_ms(LOADING_MS)),
            most_retries: 60,
            ..with(Class::Wait, LOADING)
        },
        529 => TurnFailure {
            fallback: true,
            ..with(Class::Retry, code)
        },
        500..=599 => with(Class::Retry, code),
        _ => with(Class::FailStep, code),
    }
}

/// What a stream's fault means. `counted` is what the provider had counted until then.
pub(super) fn of_fault(
    fault: Fault,
    answer: &Answered,
    counted: Option<Usage>,
    now: TimeMs,
) -> TurnFailure {
    let mut found = match fault {
        Fault::Protocol(what) => TurnFailure {
            most_retries: 1,
            ..failure(
                Class::Retry,
                TurnFailure::BROKEN_ANSWER,
                format!("the provider's answer breaks its protocol: {what}"),
            )
        },
        Fault::Cut => failure(
            Class::Retry,
            TurnFailure::CUT_STREAM,
            "the answer ended in the middle; nothing of it is used".to_owned(),
        ),
        Fault::UnknownEnd(word) => failure(
            Class::FailStep,
            "unknown_end",
            format!(
                "the answer ended with \"{}\", which this version does not know",
                word.chars().take(80).collect::<String>()
            ),
        ),
        Fault::Reported(value) => reported(&value, now),
    };
    found.status = Some(answer.status);
    found.request_id.clone_from(&answer.request_id);
    found.maybe_billed = true;
    found.usage = counted;
    found
}

/// An error inside a stream that began with status 200: its own words count, not the status.
fn reported(value: &Value, now: TimeMs) -> TurnFailure {
    let error = error_body::of_value(value);
    let status =
        error
            .number
            .filter(|number| *number >= 300)
            .unwrap_or(match error.kind.as_str() {
                "invalid_request_error" => 400,
                "authentication_error" => 401,
                "billing_error" => 402,
                "permission_error" => 403,
                "not_found_error" => 404,
                "request_too_large" => 413,
                "rate_limit_error" => 429,
                "overloaded_error" => 529,
                "timeout_error" => 504,
                _ => 500,
            });
    let answer = Answered {
        status,
        ..Answered::default()
    };
    judge(&answer, &error, now)
}

/// Anthropic's self-set limit is the one place where the sentence decides: it has no code of its own.
fn is_budget(status: u16, error: &ErrorBody) -> bool {
    let known = |word: &str| BUDGET.contains(&word);
    let message = error.message.to_lowercase();
    status == 402
        || known(&error.code)
        || known(&error.kind)
        || status == 400
            && message.contains("reached your specified")
            && message.contains("usage limit")
        || message.starts_with("budget has been exceeded")
        || message.starts_with("exceededbudget")
}

fn is_too_long(error: &ErrorBody) -> bool {
    let message = error.message.to_lowercase();
    ["context_length_exceeded", "exceed_context_size_error"]
        .iter()
        .any(|word| error.code == *word || error.kind == *word)
        || message.contains("prompt is too long")
        || message.contains("maximum context length")
        || message.contains("exceeds the available context size")
}

fn is_schema_too_large(error: &ErrorBody) -> bool {
    let message = error.message.to_lowercase();
    let what = message.contains("grammar") || message.contains("schema");
    what && (message.contains("too large") || message.contains("too complex"))
}

fn is_profile(error: &ErrorBody) -> bool {
    let message = error.message.to_lowercase();
    let param = error.param.as_str();
    PROFILE.contains(&param)
        || matches!(
            error.code.as_str(),
            "unsupported_parameter" | "unsupported_value" | "unknown_parameter"
        )
        || error.param.is_empty()
            && PROFILE.iter().any(|name| message.contains(name))
            && (message.contains("support")
                || message.contains("not permitted")
                || message.contains("unexpected")
                || message.contains("requires --"))
}

fn said(status: u16, error: &ErrorBody) -> String {
    let what = match error.kind.as_str() {
        "" => String::new(),
        kind => format!(" {kind}"),
    };
    match error.message.as_str() {
        "" => format!("the provider answered with status {status}{what}"),
        message => format!("the provider answered with status {status}{what}: {message}"),
    }
}
