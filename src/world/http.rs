//! HTTP towards the outside: one small runtime, TLS by the host's certificates, no redirects, no retries.
//!
//! A redirect could carry a key to another host, and a request that is repeated below the engine is a second
//! effect that nobody reserved for.

use crate::contract::ProxyRule;
use reqwest::{Client, Proxy, Url};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How a client connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Milliseconds until a connection must stand.
    pub connect_ms: i64,
    /// How connections leave this host.
    pub proxy: ProxyRule,
}

/// The runtime that drives connections: one thread, started with the first use.
///
/// # Errors
/// When no thread can be started.
pub fn runtime() -> Result<&'static Runtime, String> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("http")
                .enable_all()
                .build()
                .map_err(|error| format!("no thread for connections: {error}"))
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// A client for one address.
///
/// # Errors
/// One sentence when the proxy's address is wrong, or HTTPS is wanted and the host has no certificates.
pub fn client(url: &str, settings: &HttpSettings) -> Result<Client, String> {
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let connect = Duration::from_millis(u64::try_from(settings.connect_ms).unwrap_or(0).max(1));
    let mut builder = Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .user_agent(concat!("dogwatch/", env!("CARGO_PKG_VERSION")));
    if url.starts_with("http://") {
        // Without TLS no certificates are needed; a small host may have none.
        builder = builder.tls_certs_only(Vec::new());
    }
    builder = match &settings.proxy {
        _ if is_loopback(url) => builder.no_proxy(),
        ProxyRule::Direct => builder.no_proxy(),
        ProxyRule::System => builder,
        ProxyRule::Through(address) => {
            let proxy = Proxy::all(address.as_str())
                .map_err(|_| "the proxy's address is not a http or https URL".to_owned())?;
            builder.no_proxy().proxy(proxy)
        }
    };
    builder.build().map_err(|error| {
        format!(
            "no HTTPS client: {}; are the host's CA certificates installed?",
            causes(&error.without_url())
        )
    })
}

/// Whether an address is this very host, which no proxy can reach.
pub fn is_loopback(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Variables of the environment that name a proxy, in the order in which they are looked at.
pub fn proxy_variables() -> Vec<&'static str> {
    const NAMES: [&str; 8] = [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ];
    NAMES
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect()
}

/// An error with its causes in one line, without the address, which may hold a secret.
pub fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    let mut depth = 0;
    while let Some(one) = next {
        let part = one.to_string();
        // Outer errors of some layers repeat the inner ones.
        if !text.contains(&part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        }
        next = one.source();
        depth += 1;
        if depth > 8 {
            break;
        }
    }
    text
}

/// Posts JSON and returns the status; the answer's body is not read. Blocks.
///
/// # Errors
/// One sentence without the address, when there is no answer in time.
pub fn post_json(url: &str, body: &[u8], within_ms: i64) -> Result<u16, String> {
    let settings = HttpSettings {
        connect_ms: within_ms,
        proxy: ProxyRule::System,
    };
    let client = client(url, &settings)?;
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .timeout(Duration::from_millis(
            u64::try_from(within_ms).unwrap_or(0).max(1),
        ))
        .body(body.to_vec());
    runtime()?
        // Inside: its time-out is the runtime's.
        .block_on(async { request.send().await })
        .map(|answer| answer.status().as_u16())
        .map_err(|error| causes(&error.without_url()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn this_host_is_told_from_others() {
        for url in [
            "http://127.0.0.1:8080/v1",
            "http://localhost",
            "http://[::1]:1/",
            "http://127.9.9.9",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "https://api.example.com",
            "http://10.0.0.1",
            "nonsense",
            "http://localhost.example.com",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn a_post_arrives_and_its_status_comes_back() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?key=sesame", server.local_addr().unwrap());
        let seen = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut text = Vec::new();
            let mut buffer = [0; 1024];
            while !String::from_utf8_lossy(&text).ends_with("{\"a\":1}") {
                let count = stream.read(&mut buffer).unwrap();
                assert_ne!(count, 0);
                text.extend_from_slice(&buffer[..count]);
            }
            // A redirect that must not be followed.
            stream
                .write_all(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        assert_eq!(post_json(&url, b"{\"a\":1}", 20_000), Ok(302));
        assert!(seen.join().unwrap().starts_with("POST /hook?key=sesame "));
    }

    #[test]
    fn a_failure_does_not_tell_the_address() {
        let why = post_json("http://127.0.0.1:1/sesame", b"{}", 5_000).unwrap_err();
        assert!(!why.contains("sesame") && why.contains("onnect"), "{why}");
    }
}
