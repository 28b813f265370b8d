//! A proxy on loopback between an agent and its provider: it holds the key, counts, and refuses the call that
//! could cross a limit.
//!
//! A refusal is a 429 with `x-should-retry: false` and without `retry-after`: both agents end after that one
//! request. An answer is passed on piece by piece in chunks, so that a cut one is seen to be cut.

use super::meter::{Meter, MeterLimits, Metered};
use super::settings::Profile;
use super::usage_sniffer::Sniffer;
use crate::contract::Protocol;
use crate::model::digest_bytes;
use crate::worker::provider::{Cancel, HttpProvider, Provider as _, Reservation, reserve};
use crate::world::http::runtime;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections served at once.
const MAX_CONNECTIONS: usize = 16;
/// Most bytes of a request's head and of its body.
const MAX_HEAD: u64 = 64 * 1024;
const MAX_BODY: usize = 32 * 1024 * 1024;
/// A call that names no ceiling may answer so many tokens.
const UNNAMED_CEILING: u32 = 32_000;
/// Nothing is waited for longer.
const SILENCE: Duration = Duration::from_secs(120);

struct Shared {
    provider: Arc<HttpProvider>,
    profile: Profile,
    token: String,
    meter: Mutex<Meter>,
    stop: AtomicBool,
    cancel: Cancel,
    open: AtomicUsize,
}

impl Shared {
    /// Nothing more is passed on: the attempt is over, or the engine ends.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }
}

/// A running proxy.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Call {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Proxy {
    /// Starts one for an attempt. After `cancel` it refuses every call and cuts those in progress, which ends
    /// the agent.
    ///
    /// # Errors
    /// One sentence: the provider speaks another protocol than the agent, or no port is free.
    pub fn start(
        provider: Arc<HttpProvider>,
        profile: Profile,
        limits: MeterLimits,
        cancel: Cancel,
    ) -> Result<Self, String> {
        let fits = match profile {
            Profile::Claude => provider.settings().protocol == Protocol::Anthropic,
            Profile::Codex => provider.settings().protocol == Protocol::OpenaiChat,
        };
        if !fits {
            return Err(format!(
                "{} does not speak the protocol of the provider {}",
                profile.program(),
                provider.name()
            ));
        }
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .map_err(|error| format!("no port for the meter: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared {
            token: token(address)?,
            provider,
            profile,
            meter: Mutex::new(Meter::new(limits)),
            stop: AtomicBool::new(false),
            cancel,
            open: AtomicUsize::new(0),
        });
        let own = Arc::clone(&shared);
        let acceptor = std::thread::Builder::new()
            .name("meter".to_owned())
            .spawn(move || accept(&listener, &own))
            .map_err(|error| format!("no thread for the meter: {error}"))?;
        Ok(Self {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// Where the agent finds it, without a path.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the agent shows instead of a key; worth nothing after the attempt.
    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// Ends it; calls still in progress count as reserved.
    pub fn stop(mut self) -> Metered {
        self.end();
        match self.shared.meter.lock() {
            Ok(meter) => meter.sum(),
            Err(poisoned) => poisoned.into_inner().sum(),
        }
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if self.acceptor.is_some() {
            self.end();
        }
    }
}

/// Not to be guessed by others on this host.
fn token(address: SocketAddr) -> Result<String, String> {
    let mut random = [0_u8; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut random))
        .map_err(|error| format!("no random token: {error}"))?;
    let mut bytes = random.to_vec();
    bytes.extend_from_slice(address.to_string().as_bytes());
    Ok(format!("dogwatch-{}", digest_bytes(&bytes).0))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let own = Arc::clone(shared);
        let served = std::thread::Builder::new().spawn(move || {
            serve(stream, &own);
            own.open.fetch_sub(1, Ordering::Relaxed);
        });
        if served.is_err() {
            shared.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// One request a connection; the agent opens another one for the next.
fn serve(mut stream: TcpStream, shared: &Shared) {
    for limit in [
        stream.set_read_timeout(Some(SILENCE)),
        stream.set_write_timeout(Some(SILENCE)),
    ] {
        if limit.is_err() {
            return;
        }
    }
    let Some(call) = read(&stream) else { return };
    if !is_known(&call, shared) {
        refuse(
            &mut stream,
            401,
            "authentication_error",
            "not the token of this attempt",
        );
        return;
    }
    match (call.method.as_str(), call.path.as_str(), shared.profile) {
        ("POST", "/v1/messages", Profile::Claude) | ("POST", "/v1/responses", Profile::Codex) => {
            metered(&mut stream, &call, shared);
        }
        ("POST", "/v1/messages/count_tokens", Profile::Claude) => {
            let mut nothing = Sniffer::default();
            pass(&mut stream, &call, shared, &mut nothing);
        }
        _ => refuse(&mut stream, 404, "not_found_error", "not passed on"),
    }
}

fn metered(stream: &mut TcpStream, call: &Call, shared: &Shared) {
    if shared.is_over() {
        refuse(stream, 429, "rate_limit_error", "the engine ends");
        return;
    }
    let Ok(body) = serde_json::from_slice::<Value>(&call.body) else {
        refuse(stream, 400, "invalid_request_error", "no JSON");
        return;
    };
    let model = body.get("model").and_then(Value::as_str).unwrap_or("");
    let ceiling = ["max_tokens", "max_output_tokens", "max_completion_tokens"]
        .into_iter()
        .find_map(|key| body.get(key).and_then(Value::as_u64))
        .map_or(UNNAMED_CEILING, |one| {
            u32::try_from(one).unwrap_or(u32::MAX)
        });
    let price = shared.provider.price(model);
    let hour = call.body.windows(5).any(|five| five == b"\"1h\"}");
    let held: Reservation = reserve(call.body.len(), ceiling, hour, price.as_ref());
    let reserved = match shared.meter.lock() {
        Ok(mut meter) => meter.reserve(&held),
        Err(_) => Err("the meter is broken".to_owned()),
    };
    if let Err(why) = reserved {
        refuse(stream, 429, "rate_limit_error", &why);
        return;
    }
    let mut sniffer = Sniffer::default();
    let passed = pass(stream, call, shared, &mut sniffer);
    let Ok(mut meter) = shared.meter.lock() else {
        return;
    };
    match passed {
        // The provider refused: nothing was generated.
        Passed::Refused => meter.release(&held),
        Passed::Answered | Passed::Cut => {
            let (answered, counted) = sniffer.finish();
            let price = answered
                .and_then(|model| shared.provider.price(&model))
                .or(price);
            meter.settle(&held, counted.as_ref(), price.as_ref());
        }
    }
}

/// How passing on ended.
enum Passed {
    /// Whole.
    Answered,
    /// With a status that is not billed, or without any connection.
    Refused,
    /// In the middle, on either side.
    Cut,
}

fn pass(stream: &mut TcpStream, call: &Call, shared: &Shared, sniffer: &mut Sniffer) -> Passed {
    let Ok(runtime) = runtime() else {
        refuse(stream, 500, "api_error", "no runtime");
        return Passed::Refused;
    };
    runtime.block_on(forward(stream, call, shared, sniffer))
}

async fn forward(
    stream: &mut TcpStream,
    call: &Call,
    shared: &Shared,
    sniffer: &mut Sniffer,
) -> Passed {
    let base = shared.provider.settings().base_url.as_str();
    // The base of this protocol ends with the version already.
    let path = match shared.profile {
        Profile::Claude => call.path.as_str(),
        Profile::Codex => call.path.strip_prefix("/v1").unwrap_or(&call.path),
    };
    let Ok(headers) = headers(call, shared) else {
        refuse(stream, 500, "api_error", "no headers");
        return Passed::Refused;
    };
    let request = shared
        .provider
        .client()
        .post(format!("{base}{path}"))
        .headers(headers)
        .body(call.body.clone());
    let Ok(sent) = tokio::time::timeout(SILENCE, request.send()).await else {
        refuse(stream, 504, "timeout_error", "no answer from the provider");
        return Passed::Cut;
    };
    let mut response = match sent {
        Ok(response) => response,
        Err(error) => {
            refuse(stream, 502, "api_error", "no connection to the provider");
            return if error.is_connect() {
                Passed::Refused
            } else {
                Passed::Cut
            };
        }
    };
    let status = response.status().as_u16();
    if stream
        .write_all(head(status, response.headers()).as_bytes())
        .is_err()
    {
        return Passed::Cut;
    }
    let kind = header(response.headers(), "content-type");
    *sniffer = Sniffer::new(&kind);
    loop {
        let chunk = match tokio::time::timeout(SILENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            // The last chunk is left out, so the agent sees that it was cut.
            _ => return Passed::Cut,
        };
        sniffer.push(&chunk);
        let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), &chunk, b"\r\n"].concat();
        if stream.write_all(&framed).is_err() || shared.is_over() {
            return Passed::Cut;
        }
    }
    drop(stream.write_all(b"0\r\n\r\n"));
    if status == 200 {
        Passed::Answered
    } else {
        Passed::Refused
    }
}

/// The key is ours, what the agent wants of the protocol is its own.
fn headers(call: &Call, shared: &Shared) -> Result<HeaderMap, String> {
    let mut headers = shared.provider.headers()?;
    for name in [
        "accept",
        "anthropic-version",
        "anthropic-beta",
        "openai-beta",
    ] {
        if let Some(value) = call.headers.get(name).and_then(|text| text.parse().ok()) {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
        .to_owned()
}

fn head(status: u16, from: &HeaderMap) -> String {
    let mut head =
        format!("HTTP/1.1 {status} Passed\r\nconnection: close\r\ntransfer-encoding: chunked\r\n");
    for name in [
        "content-type",
        "request-id",
        "x-request-id",
        "retry-after",
        "x-should-retry",
    ] {
        let value = header(from, name);
        if !value.is_empty() {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str("\r\n");
    head
}

fn refuse(stream: &mut TcpStream, status: u16, kind: &str, why: &str) {
    let body = json!({ "type": "error", "error": { "type": kind, "message": why, "code": kind } })
        .to_string();
    let answer = format!(
        "HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\nx-should-retry: false\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    // An agent that is gone needs no answer.
    drop(stream.write_all(answer.as_bytes()));
}

fn is_known(call: &Call, shared: &Shared) -> bool {
    let bearer = call.headers.get("authorization");
    let shown = bearer
        .and_then(|value| value.strip_prefix("Bearer "))
        .or_else(|| call.headers.get("x-api-key").map(String::as_str));
    shown == Some(shared.token.as_str())
}

fn read(stream: &TcpStream) -> Option<Call> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = Vec::new();
        let left = MAX_HEAD.checked_sub(head.len() as u64)?;
        let count = (&mut reader).take(left).read_until(b'\n', &mut line).ok()?;
        if count == 0 {
            return None;
        }
        if line == b"\r\n" || line == b"\n" {
            break;
        }
        head.extend_from_slice(&line);
    }
    let head = String::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let body = if headers
        .get("transfer-encoding")
        .is_some_and(|one| one.contains("chunked"))
    {
        read_chunks(&mut reader)?
    } else {
        let length: usize = headers
            .get("content-length")
            .map_or(Some(0), |text| text.parse().ok())?;
        if length > MAX_BODY {
            return None;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        body
    };
    Some(Call {
        method,
        path: target.split('?').next()?.to_owned(),
        headers,
        body,
    })
}

fn read_chunks(reader: &mut impl std::io::BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.take(100).read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim().split(';').next()?, 16).ok()?;
        if body.len().checked_add(size)? > MAX_BODY {
            return None;
        }
        let mut chunk = vec![0; size];
        reader.read_exact(&mut chunk).ok()?;
        body.extend_from_slice(&chunk);
        let mut end = [0; 2];
        reader.read_exact(&mut end).ok()?;
        if size == 0 {
            return Some(body);
        }
    }
}
