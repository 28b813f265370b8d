//! A provider that is scripted: both protocols on loopback, failures on demand, its own accounting. It is no
//! language model and judges nothing; it plays a scenario, and counts what was asked of it.
//!
//! Usable from tests (`Stub::start`) and as a process (`examples/stub_provider.rs`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    missing_docs,
    reason = "test code: it panics where a test would, and each program uses a part of it"
)]

pub mod cache;
pub mod chat;
pub mod conversation;
pub mod messages;
pub mod scenario;
pub mod wire;

use cache::{Accounting, Cache};
use conversation::{Conversation, Protocol};
use scenario::{Failure, Scenario, Turn};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::{Request, Response};

/// Most requests kept.
const MAX_KEPT: usize = 20_000;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub at: Instant,
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// The status that it was answered with.
    pub status: u16,
}

struct Shared {
    scenario: Scenario,
    cache: Mutex<Cache>,
    seen: Mutex<Vec<Seen>>,
    /// How often each body was sent: a failure is served to the first sendings of a body.
    sent: Mutex<BTreeMap<String, usize>>,
    stop: AtomicBool,
}

/// A running stub; stops when dropped.
pub struct Stub {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Stub {
    /// Starts one with a scenario's text on a free port.
    pub fn start(scenario: &str) -> Self {
        Self::start_at(scenario, "127.0.0.1:0").unwrap()
    }

    /// Starts one with the scenario `tests/scenarios/NAME.toml`.
    pub fn named(name: &str) -> Self {
        Self::start(&scenario::text(name))
    }

    /// At a loopback address.
    pub fn start_at(scenario: &str, address: &str) -> Result<Self, String> {
        let scenario = Scenario::parse(scenario)?;
        let listener = TcpListener::bind(address).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        if !address.ip().is_loopback() {
            return Err("the stub listens on loopback only".to_owned());
        }
        let shared = Arc::new(Shared {
            cache: Mutex::new(Cache::new(scenario.min_cache_tokens)),
            scenario,
            seen: Mutex::new(Vec::new()),
            sent: Mutex::new(BTreeMap::new()),
            stop: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if for_thread.stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&for_thread);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Ok(Self {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// For Anthropic Messages.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// For Chat Completions.
    pub fn chat_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The requests that asked for a turn, whatever came of them.
    pub fn turns(&self) -> Vec<Seen> {
        let mut all = self.requests();
        all.retain(|one| one.path == "/v1/messages" || one.path.ends_with("/chat/completions"));
        all
    }

    /// What was billed.
    pub fn accounting(&self) -> Accounting {
        self.shared.cache.lock().unwrap().accounting()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    drop(stream.set_read_timeout(Some(Duration::from_secs(30))));
    drop(stream.set_write_timeout(Some(Duration::from_secs(30))));
    drop(stream.set_nodelay(true));
    while let Some(request) = wire::read(&mut stream) {
        let response = answer(&request, shared);
        let mut seen = shared.seen.lock().unwrap();
        if seen.len() < MAX_KEPT {
            seen.push(Seen {
                at: Instant::now(),
                method: request.method.clone(),
                path: request.path.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
                status: response.status,
            });
        }
        drop(seen);
        let stop = || shared.stop.load(Ordering::Relaxed);
        if !wire::write(&mut stream, &response, &stop) {
            return;
        }
    }
}

fn answer(request: &Request, shared: &Shared) -> Response {
    let path = request.path.as_str();
    let protocol = match path {
        "/v1/messages" | "/v1/messages/count_tokens" => Protocol::Anthropic,
        _ if path.ends_with("/chat/completions") => Protocol::Chat,
        "/v1/responses" => {
            return unauthorised(Protocol::Chat, request, shared).unwrap_or_else(responses);
        }
        "/health" => return Response::json(200, &json!({ "status": "ok" })),
        "/stub/accounting" => {
            let accounting = shared.cache.lock().unwrap().accounting();
            return Response::json(200, &accounting.to_json());
        }
        _ if request.method == "GET" && path.starts_with("/v1/models") => {
            return models(request, shared);
        }
        _ => return error(Protocol::Anthropic, 404, "not_found_error", "no such path"),
    };
    if let Some(refused) = unauthorised(protocol, request, shared) {
        return refused;
    }
    let conversation = match Conversation::read(protocol, request) {
        Ok(conversation) => conversation,
        Err(why) => return error(protocol, 400, "invalid_request_error", &why),
    };
    if path.ends_with("count_tokens") {
        let tokens = conversation.bytes() / 4;
        return Response::json(200, &json!({ "input_tokens": tokens }));
    }
    let sendings = {
        let mut sent = shared.sent.lock().unwrap();
        let count = sent.entry(request.body.clone()).or_insert(0);
        *count += 1;
        *count
    };
    let turn = shared.scenario.turn(&conversation);
    if let Some(failure) = turn.fail.get(sendings - 1) {
        return failed(protocol, failure);
    }
    play(protocol, request, &conversation, &turn, shared)
}

/// The turn of the scenario as the protocol's answer, counted.
fn play(
    protocol: Protocol,
    request: &Request,
    conversation: &Conversation,
    turn: &Turn,
    shared: &Shared,
) -> Response {
    let said = turn.said(conversation, &shared.scenario);
    let usage = {
        let mut cache = shared.cache.lock().unwrap();
        let output = (said.bytes() / 4).max(1) as u64;
        cache.count(conversation, output.min(conversation.max_output))
    };
    let header = request.headers.get("x-stub-drop");
    let drop_spec = header.or(shared.scenario.drop.as_ref()).map(String::as_str);
    match protocol {
        Protocol::Anthropic => messages::answer(conversation, turn, &said, usage, drop_spec),
        Protocol::Chat => chat::answer(conversation, turn, &said, usage, drop_spec),
    }
}

/// As much of the Responses protocol as a meter looks at.
fn responses() -> Response {
    let completed = json!({
        "type": "response.completed",
        "response": {
            "id": "resp_stub", "model": "stub-1", "status": "completed",
            "usage": {
                "input_tokens": 250, "input_tokens_details": { "cached_tokens": 40 }, "output_tokens": 7,
                "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 257,
            },
        },
    });
    let delta = json!({ "type": "response.output_text.delta", "delta": "done" });
    let pieces = [delta, completed].map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    Response::stream(pieces.to_vec())
}

fn models(request: &Request, shared: &Shared) -> Response {
    if let Some(refused) = unauthorised(Protocol::Anthropic, request, shared) {
        return refused;
    }
    let model = json!({
        "id": shared.scenario.model, "type": "model", "object": "model", "created": 1_795_000_000,
        "owned_by": "stub", "display_name": "Stub", "created_at": "2026-11-01T00:00:00Z",
        "max_input_tokens": 200_000, "max_tokens": 32_000, "lifecycle": "active",
    });
    if request.path == "/v1/models" {
        let list = json!({
            "object": "list", "data": [model], "has_more": false,
            "first_id": shared.scenario.model, "last_id": shared.scenario.model,
        });
        return Response::json(200, &list);
    }
    Response::json(200, &model)
}

fn unauthorised(protocol: Protocol, request: &Request, shared: &Shared) -> Option<Response> {
    let key = shared.scenario.key.as_ref()?;
    let bearer = request.headers.get("authorization");
    let given = bearer
        .and_then(|value| value.strip_prefix("Bearer "))
        .or_else(|| request.headers.get("x-api-key").map(String::as_str));
    if given == Some(key) {
        return None;
    }
    // As some gateways do, it repeats what it was given.
    let message = format!("invalid key: {}", given.unwrap_or("none"));
    Some(error(protocol, 401, "authentication_error", &message))
}

/// An error in a protocol's own shape.
pub fn error(protocol: Protocol, status: u16, kind: &str, message: &str) -> Response {
    let failure = Failure {
        status,
        kind: kind.to_owned(),
        message: message.to_owned(),
        ..Failure::default()
    };
    failed(protocol, &failure)
}

fn failed(protocol: Protocol, failure: &Failure) -> Response {
    let mut response = match (&failure.body, failure.close) {
        (_, true) => Response::closing(),
        (Some(body), _) => Response::text(failure.status, body),
        (None, _) => Response::json(failure.status, &error_value(protocol, failure)),
    };
    for (name, value) in &failure.headers {
        response.headers.push((name.clone(), value.clone()));
    }
    response
        .headers
        .push(("request-id".to_owned(), "req_stub_failed".to_owned()));
    response
}

/// The error object of a failure.
pub fn error_value(protocol: Protocol, failure: &Failure) -> Value {
    let (kind, message) = (&failure.kind, &failure.message);
    match protocol {
        Protocol::Anthropic => {
            let mut error = json!({ "type": kind, "message": message });
            if let Some(code) = &failure.code {
                error["details"] = json!({ "error_code": code });
            }
            json!({ "type": "error", "error": error, "request_id": "req_stub_failed" })
        }
        Protocol::Chat => {
            let param = failure.param.clone();
            json!({ "error": { "message": message, "type": kind, "param": param, "code": failure.code } })
        }
    }
}
