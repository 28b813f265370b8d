//! An answer before its stream: whether it is one, and what it means when it is not.
use super::assemble::Fault;
use super::classify::{Answered, failure, of_fault};
use super::failure::{TurnFailure, TurnFailureClass as Class};
use super::reply::Usage;
use super::wait::{Deadline, Stop, retry_after_ms};
use crate::model::TimeMs;
use crate::world::http::causes;
use reqwest::Response;

/// Most bytes of an error answer.
const MAX_ERROR: usize = 64 * 1024;

pub(super) fn answered(response: &Response, now: TimeMs) -> Answered {
    let header = |name: &str| {
        let value = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let id = ["request-id", "x-request-id", "x-generation-id"]
        .into_iter()
        .find_map(header)
        .map(|id| id.chars().take(200).collect());
    Answered {
        status: response.status().as_u16(),
        retry_after_ms: retry_after_ms(
            header("retry-after-ms").as_deref(),
            header("retry-after").as_deref(),
            now,
        ),
        should_retry: match header("x-should-retry").as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        },
        request_id: id,
    }
}

pub(super) fn is_stream(response: &Response) -> bool {
    response
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

/// A 200 that is no stream: an error in JSON, or a page of somebody who is not the provider.
pub(super) fn no_stream(answered: &Answered, body: &str, now: TimeMs) -> TurnFailure {
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    match json {
        Some(value) if value.get("error").is_some_and(|error| !error.is_null()) => {
            of_fault(Fault::Reported(value), answered, None, now)
        }
        Some(_) => of_fault(
            Fault::Protocol("a stream was asked for and one JSON object came".to_owned()),
            answered,
            None,
            now,
        ),
        None => TurnFailure {
            status: Some(answered.status),
            most_retries: 1,
            ..failure(
                Class::Retry,
                TurnFailure::NOT_AN_API,
                format!(
                    "status 200, but neither a stream nor JSON; is base_url right, or is there a login page \
                     on the way? It begins: {}",
                    body.split_whitespace()
                        .collect::<Vec<_>>()
                        .join(" ")
                        .chars()
                        .take(120)
                        .collect::<String>()
                ),
            )
        },
    }
}

/// A request without an answer. Only one that never got a connection is surely not billed.
pub(super) fn unsent(error: &reqwest::Error) -> TurnFailure {
    let connect = error.is_connect();
    let why = match error.url().and_then(reqwest::Url::host_str) {
        Some(host) => format!("{host}: {}", bare(error)),
        None => bare(error),
    };
    TurnFailure {
        maybe_billed: !connect,
        fallback: connect,
        ..failure(
            Class::Retry,
            if connect { "connect" } else { "lost_request" },
            if connect {
                format!("no connection to {why}")
            } else {
                format!("the connection was lost before an answer came: {why}")
            },
        )
    }
}

/// Without the address, which may hold a secret.
pub(super) fn bare(error: &reqwest::Error) -> String {
    let text = causes(error);
    match error.url() {
        Some(url) => text.replace(&format!(" for url ({url})"), ""),
        None => text,
    }
}

pub(super) fn stopped(stop: Stop, counted: Option<Usage>) -> TurnFailure {
    let (class, code, message) = match stop {
        Stop::Deadline => (
            Class::FailStep,
            TurnFailure::DEADLINE,
            "the time of this turn was over before the answer was complete",
        ),
        Stop::Cancelled => (
            Class::FailStep,
            TurnFailure::CANCELLED,
            "the turn was told to end",
        ),
        Stop::Late => (
            Class::Retry,
            "silent_stream",
            "the stream fell silent; nothing of it is used",
        ),
    };
    TurnFailure {
        maybe_billed: true,
        usage: counted,
        ..failure(class, code, message.to_owned())
    }
}

/// A short answer as text; what does not come in time is not waited for.
pub(super) async fn text_of(mut response: Response, deadline: &Deadline, idle_ms: i64) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ERROR {
        match deadline.within(idle_ms, response.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            _ => break,
        }
    }
    bytes.truncate(MAX_ERROR);
    String::from_utf8_lossy(&bytes).into_owned()
}
