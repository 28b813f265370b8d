//! One turn over HTTP, either protocol: send once, read the stream, never send again.
use super::answer::{answered, is_stream, no_stream, stopped, text_of, unsent};
use super::assemble::Assemble;
use super::classify::{failure, of_answer};
use super::failure::{TurnFailure, TurnFailureClass as Class};
use super::reading::Reading;
use super::reply::TurnReply;
use super::request::TurnRequest;
use super::wait::{Deadline, Stop};
use super::{Provider, TurnLimits, anthropic, openai_chat};
use crate::contract::{AuthStyle, Price, Protocol, ProviderSettings};
use crate::world::http::{HttpSettings, client, runtime};
use crate::world::secret::{read_secret, scrub};
use reqwest::Client;
use reqwest::header::{HeaderMap, HeaderValue};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

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
