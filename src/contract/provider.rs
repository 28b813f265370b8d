//! Providers of language models as the goal file or the configuration names them. Not contract: how a goal
//! is pursued, not what it is.

use super::types::matches_pattern;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI-compatible Chat Completions.
    OpenaiChat,
}

/// How the key is shown to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthStyle {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
    /// No key.
    None,
}

/// How connections leave this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProxyRule {
    /// As `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say; never for a loopback address.
    System,
    /// Directly.
    Direct,
    /// Through this one.
    Through(String),
}

/// Prices of one model in pico-dollars a token, which is micro-dollars a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Input that meets no cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a five-minute cache.
    pub cache_write: u64,
    /// Input written to a one-hour cache.
    pub cache_write_1h: u64,
}

/// One provider: `[provider.NAME]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderSettings {
    /// The name that strategies use.
    pub name: String,
    /// Its wire format.
    pub protocol: Protocol,
    /// Where it listens; without `/v1` for Anthropic Messages, with it for Chat Completions.
    pub base_url: String,
    /// How the key is shown.
    pub auth: AuthStyle,
    /// A reference to the key: `{"env": …}`, `{"file": …}` or `{"command": […]}`.
    pub api_key: Option<Json>,
    /// The `anthropic-version` header.
    pub version: String,
    /// The name of the output ceiling in a Chat Completions request.
    pub output_field: String,
    /// Whether tools are sent as strict.
    pub strict_tools: bool,
    /// Whether `tool_choice` and `parallel_tool_calls` are understood.
    pub tool_choice: bool,
    /// Whether `stream_options` is understood.
    pub stream_options: bool,
    /// Sampling temperature; sent only when it is set, and never to Anthropic Messages.
    pub temperature: Option<f64>,
    /// Keeps requests with one prefix together, where the provider knows it.
    pub cache_key: bool,
    /// Milliseconds until a connection must stand.
    pub connect_ms: i64,
    /// Milliseconds until the first byte of an answer.
    pub first_byte_ms: i64,
    /// Milliseconds that a stream may be silent.
    pub idle_ms: i64,
    /// How connections leave this host.
    pub proxy: ProxyRule,
    /// Prices by model; `*` in a name matches any run of characters.
    pub prices: BTreeMap<String, Price>,
}

impl ProviderSettings {
    /// The price of a model: the exact name first, then the longest pattern that matches.
    pub fn price(&self, model: &str) -> Option<Price> {
        self.prices.get(model).copied().or_else(|| {
            self.prices
                .iter()
                .filter(|(pattern, _)| matches_pattern(pattern, model))
                .max_by_key(|(pattern, _)| pattern.len())
                .map(|(_, price)| *price)
        })
    }
}
