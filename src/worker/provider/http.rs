//! One turn over HTTP, either protocol: send once, read the stream, never send again.

use super::assemble::{Assemble, Fault, Progress};
use super::classify::{Answered, failure, of_answer, of_fault};
use super::failure::{TurnFailure, TurnFailureClass as Class};
use super::reply::{TurnReply, Usage, UsageSource};
use super::request::TurnRequest;
use super::sse::SseReader;
use super::{Provider, TurnLimits, anthropic, openai_chat, wait};
use crate::contract::{AuthStyle, Price, Protocol, ProviderSettings};
use crate::model::TimeMs;
use crate::world::http::{HttpSettings, causes, client, runtime};
use crate::world::secret::{read_secret, scrub};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Response};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wait::{Deadline, Stop};

/// Most bytes of an error answer.
const MAX_ERROR: usize = 64 * 1024;
/// Most bytes of an answer.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// How long the counts may follow the end of a chat answer, in milliseconds.
const COUNTS_MS: i64 = 5_000;
/// An input token has at most so many bytes on average; fewer tokens mean that the prompt was cut.
const MOST_BYTES_PER_TOKEN: u64 = 16;
/// Shorter prompts are not looked at for it.
const CUT_FROM_BYTES: usize = 16 * 1024;

/// A provider behind an address.
pub struct HttpProvider {
    settings: ProviderSettings,
    base_dir: PathBuf,
    client: Client,
    key: Mutex<Option<String>>,
    /// The provider found the tools' schemas too large together.
    without_strict: AtomicBool,
}

impl HttpProvider {
    /// Reads the key and prepares connections; sends nothing.
    ///
    /// # Errors
    /// One sentence when the key cannot be read or no client can be made.
    pub fn new(settings: ProviderSettings, base_dir: &Path) -> Result<Self, String> {
        let key = match &settings.api_key {
            Some(reference) if settings.auth != AuthStyle::None => {
                let key = read_secret(reference, base_dir)
                    .map_err(|why| format!("the key `api_key`: {why}"))?;
                header(&key)?;
                Some(key)
            }
            _ => None,
        };
        let http = HttpSettings {
            connect_ms: settings.connect_ms,
            proxy: settings.proxy.clone(),
        };
        let client = client(&settings.base_url, &http)?;
        Ok(Self {
            client,
            settings,
            base_dir: base_dir.to_owned(),
            key: Mutex::new(key),
            without_strict: AtomicBool::new(false),
        })
    }

    /// The key, so that others can strike it out of what they keep.
    pub fn secret(&self) -> Option<String> {
        self.key.lock().ok().and_then(|key| key.clone())
    }

    /// Its settings.
    pub fn settings(&self) -> &ProviderSettings {
        &self.settings
    }

    fn path(&self) -> &'static str {
        match self.settings.protocol {
            Protocol::Anthropic => anthropic::PATH,
            Protocol::OpenaiChat => openai_chat::PATH,
        }
    }

    /// Headers of every call; the key is marked, so that no debug output shows it.
    ///
    /// # Errors
    /// When a setting is no header value.
    pub(crate) fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json"));
        if self.settings.protocol == Protocol::Anthropic {
            let version = HeaderValue::from_str(&self.settings.version)
                .map_err(|_| "`version` is no header value".to_owned())?;
            headers.insert("anthropic-version", version);
        }
        if let Some(key) = self.secret() {
            match self.settings.auth {
                AuthStyle::Bearer => {
                    headers.insert("authorization", header(&format!("Bearer {key}"))?)
                }
                AuthStyle::XApiKey => headers.insert("x-api-key", header(&key)?),
                AuthStyle::None => None,
            };
        }
        Ok(headers)
    }

    /// The connections.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// A failure of the configuration.
    pub(super) fn trouble(&self, code: &str, why: String) -> Box<TurnFailure> {
        Box::new(self.clean(failure(Class::StopConfig, code, why)))
    }

    /// A failure without the key, which a gateway may repeat.
    pub(super) fn clean(&self, mut failure: TurnFailure) -> TurnFailure {
        let secrets: Vec<String> = self.secret().into_iter().collect();
        failure.message = scrub(&failure.message, &secrets);
        failure.code = scrub(&failure.code, &secrets).chars().take(80).collect();
        failure
    }

    fn answer(&self, model: &str) -> Box<dyn Assemble + Send> {
        match self.settings.protocol {
            Protocol::Anthropic => Box::new(anthropic::stream::Answer::default()),
            Protocol::OpenaiChat => Box::new(openai_chat::stream::Answer::new(model)),
        }
    }

    async fn ask(
        &self,
        request: &TurnRequest,
        limits: &TurnLimits,
    ) -> Result<TurnReply, TurnFailure> {
        let deadline = Deadline::new(limits);
        let body = self.body(request);
        let sent_bytes = body.len();
        let headers = self
            .headers()
            .map_err(|why| failure(Class::StopConfig, "key", why))?;
        let url = format!("{}{}", self.settings.base_url, self.path());
        let send = self.client.post(url).headers(headers).body(body).send();
        let response = match deadline.within(self.settings.first_byte_ms, send).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unsent(&error)),
            Err(Stop::Late) => {
                return Err(TurnFailure {
                    maybe_billed: true,
                    most_retries: 1,
                    fallback: true,
                    ..failure(
                        Class::Retry,
                        "first_byte",
                        format!(
                            "no first byte within {} s",
                            self.settings.first_byte_ms / 1_000
                        ),
                    )
                });
            }
            Err(stop) => return Err(stopped(stop, None)),
        };
        let now = deadline.now();
        let answered = answered(&response, now);
        if answered.status != 200 {
            let body = text_of(response, &deadline, self.settings.idle_ms).await;
            return Err(of_answer(&answered, &body, now));
        }
        if !is_stream(&response) {
            let body = text_of(response, &deadline, self.settings.idle_ms).await;
            return Err(no_stream(&answered, &body, now));
        }
        let mut reading = Reading {
            answer: self.answer(&request.model),
            answered,
            deadline,
            idle_ms: self.settings.idle_ms,
        };
        let ended = reading.read(response).await;
        reading
            .verdict(ended, sent_bytes, self.settings.protocol)
            .map_err(|failure| *failure)
    }

    /// After a 401: a short-lived key may have been renewed where it is kept.
    fn renewed(&self) -> bool {
        let Some(reference) = self.settings.api_key.as_ref() else {
            return false;
        };
        let Ok(fresh) = read_secret(reference, &self.base_dir) else {
            return false;
        };
        match self.key.lock() {
            Ok(mut key) if key.as_ref() != Some(&fresh) => {
                *key = Some(fresh);
                true
            }
            _ => false,
        }
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn body(&self, request: &TurnRequest) -> Vec<u8> {
        let strict = self.settings.strict_tools && !self.without_strict.load(Ordering::Relaxed);
        match self.settings.protocol {
            Protocol::Anthropic => anthropic::body(request, &self.settings, strict),
            Protocol::OpenaiChat => openai_chat::body(request, &self.settings, strict),
        }
        .into_bytes()
    }

    fn price(&self, model: &str) -> Option<Price> {
        self.settings.price(model)
    }

    fn turn(
        &self,
        request: &TurnRequest,
        limits: &TurnLimits,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        let runtime =
            runtime().map_err(|why| Box::new(failure(Class::StopConfig, "no_runtime", why)))?;
        runtime
            .block_on(self.ask(request, limits))
            .map_err(|mut failure| {
                if failure.code == TurnFailure::SCHEMA_TOO_LARGE {
                    self.without_strict.store(true, Ordering::Relaxed);
                }
                if failure.status == Some(401) && self.renewed() {
                    failure.class = Class::Retry;
                    failure.most_retries = 1;
                }
                Box::new(self.clean(failure))
            })
    }
}

/// A key as a header value that no debug output shows.
fn header(text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        "the key holds characters that no header can carry; is it the right file?".to_owned()
    })?;
    value.set_sensitive(true);
    Ok(value)
}

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
        retry_after_ms: wait::retry_after_ms(
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

fn is_stream(response: &Response) -> bool {
    response
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

/// A 200 that is no stream: an error in JSON, or a page of somebody who is not the provider.
fn no_stream(answered: &Answered, body: &str, now: TimeMs) -> TurnFailure {
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
fn bare(error: &reqwest::Error) -> String {
    let text = causes(error);
    match error.url() {
        Some(url) => text.replace(&format!(" for url ({url})"), ""),
        None => text,
    }
}

fn stopped(stop: Stop, counted: Option<Usage>) -> TurnFailure {
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

/// How reading ended.
enum Ended {
    /// The terminal event was seen.
    Whole,
    /// It breaks the protocol or reports an error.
    Fault(Fault),
    /// Time or a person ended it.
    Stop(Stop),
}

/// A stream that is being read.
struct Reading {
    answer: Box<dyn Assemble + Send>,
    answered: Answered,
    deadline: Deadline,
    idle_ms: i64,
}

impl Reading {
    /// Reads until the answer is whole, or cannot become so.
    async fn read(&mut self, mut response: Response) -> Ended {
        let (mut sse, mut events, mut total) = (SseReader::default(), Vec::new(), 0_usize);
        let mut ended = false;
        loop {
            let quiet_ms = if ended {
                COUNTS_MS.min(self.idle_ms)
            } else {
                self.idle_ms
            };
            let body_ended = match self.deadline.within(quiet_ms, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    total = total.saturating_add(chunk.len());
                    if total > MAX_ANSWER {
                        return Ended::Fault(Fault::Protocol(format!(
                            "more than {MAX_ANSWER} bytes"
                        )));
                    }
                    if let Err(error) = sse.push(&chunk, &mut events) {
                        return Ended::Fault(Fault::Protocol(error.to_string()));
                    }
                    false
                }
                Ok(Ok(None)) => {
                    if let Err(error) = sse.finish(&mut events) {
                        return Ended::Fault(Fault::Protocol(error.to_string()));
                    }
                    true
                }
                // A broken body after the terminal event only costs the counts.
                Ok(Err(_)) | Err(Stop::Late) if ended => return Ended::Whole,
                Ok(Err(_)) => return Ended::Fault(Fault::Cut),
                Err(stop) => return Ended::Stop(stop),
            };
            for event in events.drain(..) {
                match self.answer.event(&event) {
                    Ok(Progress::More) => {}
                    Ok(Progress::Ended) => ended = true,
                    Ok(Progress::Complete) => return Ended::Whole,
                    Err(fault) => return Ended::Fault(fault),
                }
            }
            if body_ended {
                return if ended {
                    Ended::Whole
                } else {
                    Ended::Fault(Fault::Cut)
                };
            }
        }
    }

    fn verdict(
        self,
        ended: Ended,
        sent_bytes: usize,
        protocol: Protocol,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        let now = self.deadline.now();
        let counted = self.answer.usage();
        match ended {
            Ended::Stop(stop) => Err(Box::new(TurnFailure {
                status: Some(self.answered.status),
                request_id: self.answered.request_id,
                ..stopped(stop, counted)
            })),
            Ended::Fault(fault) => Err(Box::new(of_fault(fault, &self.answered, counted, now))),
            Ended::Whole => {
                let mut reply = self
                    .answer
                    .finish(self.answered.request_id.clone())
                    .map_err(|fault| of_fault(fault, &self.answered, counted, now))?;
                if reply.usage.source == UsageSource::Unknown {
                    reply.usage = estimated(&reply, sent_bytes);
                } else if protocol == Protocol::OpenaiChat
                    && sent_bytes >= CUT_FROM_BYTES
                    && reply.usage.input().saturating_mul(MOST_BYTES_PER_TOKEN) < sent_bytes as u64
                {
                    return Err(Box::new(cut_prompt(&reply, sent_bytes, &self.answered)));
                }
                Ok(reply)
            }
        }
    }
}

/// A server whose context is smaller than it says cuts the prompt's beginning, where the contract stands.
fn cut_prompt(reply: &TurnReply, sent_bytes: usize, answered: &Answered) -> TurnFailure {
    TurnFailure {
        status: Some(answered.status),
        request_id: answered.request_id.clone(),
        usage: Some(reply.usage),
        maybe_billed: true,
        ..failure(
            Class::StopConfig,
            "cut_prompt",
            format!(
                "the server counted {} tokens in a prompt of {sent_bytes} bytes: it cut the prompt; raise its \
                 context setting",
                reply.usage.input()
            ),
        )
    }
}

/// Counts from sizes, when the provider gives none: two bytes a token, as for the reservation.
fn estimated(reply: &TurnReply, sent_bytes: usize) -> Usage {
    let said: usize = reply
        .blocks
        .iter()
        .map(|block| block.raw.as_str().len())
        .sum();
    Usage {
        uncached: (sent_bytes as u64).div_ceil(2),
        output: (said as u64).div_ceil(2).max(1),
        source: UsageSource::Estimated,
        ..Usage::UNKNOWN
    }
}

/// Milliseconds as the runtime takes them.
pub(super) fn duration(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
