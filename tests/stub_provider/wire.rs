//! HTTP/1.1 by hand, so that an answer can be cut, slow or wrong in any way.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Most bytes of a request.
const MAX_REQUEST: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// How a body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// With its length.
    Length,
    /// In chunks; a cut one lacks the last chunk.
    Chunked,
    /// Until the connection closes: a cut one cannot be told from a whole one.
    Close,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Pieces, each written by itself.
    pub pieces: Vec<String>,
    pub framing: Framing,
    /// Ends the connection in the middle of the body, after these pieces.
    pub broken: bool,
    /// Milliseconds before each piece.
    pub pace_ms: u64,
    /// Nothing at all is answered.
    pub silent_close: bool,
}

impl Response {
    pub fn text(status: u16, body: &str) -> Self {
        let kind = if body.trim_start().starts_with('<') {
            "text/html"
        } else {
            "text/plain"
        };
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            pieces: vec![body.to_owned()],
            framing: Framing::Length,
            broken: false,
            pace_ms: 0,
            silent_close: false,
        }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        let mut response = Self::text(status, &body.to_string());
        response.headers[0].1 = "application/json".to_owned();
        response
    }

    pub fn stream(pieces: Vec<String>) -> Self {
        let mut response = Self::text(200, "");
        response.headers[0].1 = "text/event-stream; charset=utf-8".to_owned();
        response.pieces = pieces;
        response.framing = Framing::Chunked;
        response
    }

    pub fn closing() -> Self {
        let mut response = Self::text(0, "");
        response.silent_close = true;
        response
    }
}

/// Reads one request; `None` when the connection is over.
pub fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 64 * 1024];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 && bytes.len() < MAX_REQUEST => {
                bytes.extend_from_slice(&buffer[..count]);
            }
            _ => return None,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(head_end);
    while body.len() < length.min(MAX_REQUEST) {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => body.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
    Some(Request {
        method,
        path: target.split('?').next()?.to_owned(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// Writes an answer; false when the connection is over.
pub fn write(stream: &mut TcpStream, response: &Response, stop: &dyn Fn() -> bool) -> bool {
    if response.silent_close {
        return false;
    }
    let mut head = format!("HTTP/1.1 {} Stub\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match response.framing {
        Framing::Length => {
            let length: usize = response.pieces.iter().map(String::len).sum();
            head.push_str(&format!("content-length: {length}\r\n"));
        }
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::Close => head.push_str("connection: close\r\n"),
    }
    head.push_str("\r\n");
    if stream.write_all(head.as_bytes()).is_err() {
        return false;
    }
    for piece in &response.pieces {
        if response.pace_ms > 0 {
            std::thread::sleep(Duration::from_millis(response.pace_ms));
        }
        if stop() {
            return false;
        }
        let framed = match response.framing {
            Framing::Chunked => format!("{:x}\r\n{piece}\r\n", piece.len()),
            _ => piece.clone(),
        };
        if !piece.is_empty() && stream.write_all(framed.as_bytes()).is_err() {
            return false;
        }
    }
    if response.broken {
        return false;
    }
    match response.framing {
        Framing::Chunked => stream.write_all(b"0\r\n\r\n").is_ok(),
        Framing::Length => true,
        Framing::Close => false,
    }
}
