//! `[provider.NAME]`, in a goal file or in the configuration.

use super::free;
use super::section::{Context, Section, nearest};
use super::{GoalError, problem};
use crate::contract::provider::{AuthStyle, Price, Protocol, ProviderSettings, ProxyRule};
use crate::contract::types::Strategy;
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::{Document, Item};

const MAX_PROVIDERS: usize = 20;
const MAX_PRICES: usize = 200;
/// Dollars a million tokens; more is a slip.
const MAX_DOLLARS: f64 = 10_000.0;
const PROTOCOLS: [&str; 2] = ["anthropic", "openai-chat"];
/// A name that is taken by the embedded model of the practice world.
const RESERVED: &str = "practice";
const ANTHROPIC_VERSION: &str = "2026-10-21";

/// All providers of a text, by name.
pub(super) fn providers(top: &Section<'_>) -> BTreeMap<String, ProviderSettings> {
    let mut found = BTreeMap::new();
    let Some(section) = top.table("provider") else {
        return found;
    };
    for (name, item) in section.others() {
        let Some(table) = section.section_of(name, item) else {
            continue;
        };
        if found.len() >= MAX_PROVIDERS {
            let why = format!("more than {MAX_PROVIDERS} tables [provider.NAME]");
            section.bad(name, why, None);
            break;
        }
        if name == RESERVED {
            let why = format!("\"{RESERVED}\" is the model of the practice world");
            section.bad(name, why, Some("choose another name".to_owned()));
        }
        found.insert(name.to_owned(), one_provider(&table, name));
    }
    found
}

/// The providers of a configuration file, in which other tables are somebody else's.
///
/// # Errors
/// As for a goal file: every problem with line and column.
pub fn parse_providers(text: &str) -> Result<BTreeMap<String, ProviderSettings>, GoalError> {
    let document = Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        GoalError::at(text, offset, problem::syntax_message(&error), None)
    })?;
    let context = Context::new(text, None);
    let found = providers(&Section::root(&context, document.as_table()));
    let problems = context.into_problems();
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(GoalError { problems })
    }
}

fn one_provider(table: &Section<'_>, name: &str) -> ProviderSettings {
    let protocol = protocol(table, name);
    let anthropic = protocol == Protocol::Anthropic;
    let choose = |key: &'static str, default: &str, known: &[&str]| -> String {
        let Some(word) = table.text(key) else {
            return default.to_owned();
        };
        if !known.contains(&word) {
            let hint = match nearest(word, known.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("expected one of: {}", known.join(", ")),
            };
            let shown: String = word.chars().take(60).collect();
            let why = format!("`{key}` of {} is \"{shown}\"", table.name());
            table.bad(key, why, Some(hint));
        }
        word.to_owned()
    };
    let auth = match choose("auth", "bearer", &["bearer", "x-api-key", "none"]).as_str() {
        "x-api-key" => AuthStyle::XApiKey,
        "none" => AuthStyle::None,
        _ => AuthStyle::Bearer,
    };
    let output_fields = ["max_completion_tokens", "max_tokens"];
    let ms =
        |key: &'static str, min: i64, default: i64| table.duration_ms(key, min).unwrap_or(default);
    let flag = |key: &'static str, default: bool| table.boolean(key).unwrap_or(default);
    let settings = ProviderSettings {
        name: name.to_owned(),
        protocol,
        base_url: base_url(table, name),
        auth,
        api_key: key(table, auth),
        version: table
            .text("version")
            .unwrap_or(ANTHROPIC_VERSION)
            .to_owned(),
        output_field: choose("output_field", output_fields[0], &output_fields),
        strict_tools: flag("strict_tools", true),
        tool_choice: flag("tool_choice", true),
        stream_options: flag("stream_options", true),
        temperature: temperature(table, anthropic),
        cache_key: flag("cache_key", false),
        connect_ms: ms("connect_timeout", 100, 10_000),
        first_byte_ms: ms("first_byte_timeout", 100, 120_000),
        idle_ms: ms("idle_timeout", 100, 90_000),
        proxy: proxy(table),
        prices: prices(table),
    };
    table.refuse_unknown();
    settings
}

fn protocol(table: &Section<'_>, name: &str) -> Protocol {
    let default = match name {
        "anthropic" => Some(Protocol::Anthropic),
        "openai" => Some(Protocol::OpenaiChat),
        _ => None,
    };
    match table.text("protocol") {
        Some("anthropic") => Protocol::Anthropic,
        Some("openai-chat") => Protocol::OpenaiChat,
        Some(other) => {
            let hint = match nearest(other, PROTOCOLS) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("expected one of: {}", PROTOCOLS.join(", ")),
            };
            let shown: String = other.chars().take(60).collect();
            table.bad(
                "protocol",
                format!("unknown protocol \"{shown}\""),
                Some(hint),
            );
            Protocol::OpenaiChat
        }
        None => default.unwrap_or_else(|| {
            if table.get("protocol").is_none() {
                let why = format!(
                    "{} has no `protocol`: {}",
                    table.name(),
                    PROTOCOLS.map(|name| format!("\"{name}\"")).join(" or ")
                );
                table.context.problem(&table.span(), why, None);
            }
            Protocol::OpenaiChat
        }),
    }
}

fn base_url(table: &Section<'_>, name: &str) -> String {
    let default = match name {
        "anthropic" => "https://api.anthropic.com",
        "openai" => "https://api.openai.com/v1",
        _ => "",
    };
    let Some(url) = table.text("base_url") else {
        if default.is_empty() && table.get("base_url").is_none() {
            let why = format!(
                "{} has no `base_url`, such as \"http://127.0.0.1:8080/v1\"",
                table.name()
            );
            table.context.problem(&table.span(), why, None);
        }
        return default.to_owned();
    };
    web_address(table, "base_url", url);
    url.trim_end_matches('/').to_owned()
}

/// A http or https address without a password, which would end up in a ledger.
fn web_address(table: &Section<'_>, key: &str, url: &str) {
    let after = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let host = after.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or(""));
    let plain = url.chars().all(|c| c.is_ascii_graphic());
    match host {
        Some(host) if plain && !host.is_empty() && !host.contains('@') => {}
        Some(host) if host.contains('@') => {
            let why = format!("`{key}` of {} holds a name or a password", table.name());
            table.bad(key, why, Some("keep the secret apart".to_owned()));
        }
        _ => {
            let why = format!("`{key}` of {} is not a http or https address", table.name());
            table.bad(key, why, None);
        }
    }
}

/// The reference to the key.
fn key(table: &Section<'_>, auth: AuthStyle) -> Option<serde_json::Value> {
    let item: &Item = table.get("api_key")?;
    if auth == AuthStyle::None {
        let why = format!("`api_key` of {} beside auth = \"none\"", table.name());
        table.bad("api_key", why, None);
    }
    free::item_to_json(table, "api_key", item, &table.value_span("api_key"))
}

fn temperature(table: &Section<'_>, anthropic: bool) -> Option<f64> {
    let item = table.get("temperature")?;
    let number = item
        .as_float()
        .or_else(|| item.as_integer().map(|number| number as f64));
    if anthropic {
        let why = "`temperature` is refused by Anthropic Messages".to_owned();
        table.bad("temperature", why, Some("leave it out".to_owned()));
    }
    match number {
        Some(number) if (0.0..=2.0).contains(&number) => Some(number),
        _ => {
            let why = format!("`temperature` of {}: expected 0 to 2", table.name());
            table.bad("temperature", why, None);
            None
        }
    }
}

fn proxy(table: &Section<'_>) -> ProxyRule {
    match table.text("proxy") {
        None | Some("system") => ProxyRule::System,
        Some("none") => ProxyRule::Direct,
        Some(url) => {
            web_address(table, "proxy", url);
            ProxyRule::Through(url.to_owned())
        }
    }
}

/// `[provider.NAME.price."MODEL"]`: dollars a million tokens.
fn prices(table: &Section<'_>) -> BTreeMap<String, Price> {
    let mut found = BTreeMap::new();
    let Some(section) = table.table("price") else {
        return found;
    };
    for (model, item) in section.others() {
        let Some(price) = section.section_of(model, item) else {
            continue;
        };
        if found.len() >= MAX_PRICES {
            let why = format!("more than {MAX_PRICES} prices");
            section.bad(model, why, None);
            break;
        }
        for key in ["input", "output"] {
            if price.get(key).is_none() {
                let why = format!("{} has no `{key}`: dollars a million tokens", price.name());
                price.context.problem(&price.span(), why, None);
            }
        }
        let input = dollars(&price, "input").unwrap_or(0);
        let one = Price {
            input,
            output: dollars(&price, "output").unwrap_or(0),
            // Unsaid means no discount, so that a bill is never above what was booked.
            cache_read: dollars(&price, "cache_read").unwrap_or(input),
            cache_write: dollars(&price, "cache_write").unwrap_or(input + input / 4),
            cache_write_1h: dollars(&price, "cache_write_1h").unwrap_or(input * 2),
        };
        price.refuse_unknown();
        found.insert(model.to_owned(), one);
    }
    found
}

/// Dollars a million tokens as pico-dollars a token; a fraction below a micro-dollar is refused.
fn dollars(price: &Section<'_>, key: &'static str) -> Option<u64> {
    let item = price.get(key)?;
    let number = item
        .as_float()
        .or_else(|| item.as_integer().map(|number| number as f64));
    match number {
        Some(number) if (0.0..=MAX_DOLLARS).contains(&number) => {
            let micro = number * 1e6;
            if (micro - micro.round()).abs() < 1e-3 {
                return Some(micro.round() as u64);
            }
            let why = format!("`{key}` of {} is finer than a micro-dollar", price.name());
            price.bad(key, why, None);
            None
        }
        _ => {
            let why = format!(
                "`{key}` of {}: expected dollars a million tokens, from 0 to {MAX_DOLLARS}",
                price.name()
            );
            price.bad(key, why, None);
            None
        }
    }
}

/// What only shows when strategies and providers are looked at together: a chat strategy without a model,
/// and a wall of money that nobody could compute. A provider that is not in the file may be in the
/// configuration of the host.
pub(super) fn cross_check(
    top: &Section<'_>,
    strategies: &[Strategy],
    providers: &BTreeMap<String, ProviderSettings>,
    money_is_walled: bool,
) {
    let mut asked = BTreeSet::new();
    for strategy in strategies {
        let agent = strategy.params.contains_key("profile");
        if strategy.worker != "chat" && !agent {
            continue;
        }
        if agent && money_is_walled && !strategy.params.contains_key("attempt_dollars") {
            let why = format!(
                "[budget.money] is a wall, but strategy \"{}\" sets no `attempt_dollars`: what one attempt may cost",
                strategy.id
            );
            top.context.problem(&top.key_span("strategy"), why, None);
        }
        let word = |key: &str| strategy.params.get(key).and_then(serde_json::Value::as_str);
        let (Some(provider), Some(model)) = (word("provider"), word("model")) else {
            continue;
        };
        let Some(settings) = providers.get(provider) else {
            continue;
        };
        if money_is_walled && settings.price(model).is_none() && asked.insert((provider, model)) {
            let why = format!(
                "[budget.money] is a wall, but [provider.{provider}] has no price for the model \"{model}\""
            );
            let hint = format!("add [provider.{provider}.price.\"{model}\"] with input and output");
            top.context
                .problem(&top.key_span("provider"), why, Some(hint));
        }
    }
}
