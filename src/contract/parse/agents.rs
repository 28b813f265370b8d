//! `worker = "command"` with a `profile`: a command-line agent.

use super::free;
use super::section::{Section, nearest};
use serde_json::{Map, Value as Json};

const PROFILES: [&str; 2] = ["claude", "codex"];
const SANDBOXES: [&str; 3] = ["auto", "bubblewrap", "none"];
const MAX_WORDS: usize = 100;

/// The program, if it is named, and the agent's settings.
pub(super) fn settings(section: &Section<'_>) -> (Vec<String>, Map<String, Json>) {
    let run = section.texts("run", MAX_WORDS).unwrap_or_default();
    let mut params = Map::new();
    for (key, known) in [("profile", &PROFILES[..]), ("sandbox", &SANDBOXES[..])] {
        let Some(word) = section.text(key) else {
            continue;
        };
        if !known.contains(&word) {
            let hint = match nearest(word, known.iter().copied()) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("expected one of: {}", known.join(", ")),
            };
            let shown: String = word.chars().take(60).collect();
            section.bad(key, format!("unknown {key} \"{shown}\""), Some(hint));
        }
        params.insert(key.to_owned(), Json::from(word));
    }
    for (key, what) in [
        (
            "provider",
            "a [provider.NAME], whose key the agent never sees",
        ),
        ("model", "the model, as the provider names it"),
    ] {
        if let Some(text) = section.required_text(key, what) {
            params.insert(key.to_owned(), Json::from(text));
        }
    }
    if let Some(text) = section.text("prompt") {
        params.insert("prompt".to_owned(), Json::from(text));
    }
    for (key, max) in [
        ("turns", 1_000),
        ("max_tokens", 1_000_000),
        ("attempt_tokens", 1_000_000_000),
    ] {
        if let Some(number) = section.integer(key, 1, max) {
            params.insert(key.to_owned(), Json::from(number));
        }
    }
    if section.positive("attempt_dollars", 100_000.0).is_some()
        && let Some(item) = section.get("attempt_dollars")
    {
        let span = section.value_span("attempt_dollars");
        if let Some(value) = free::item_to_json(section, "attempt_dollars", item, &span) {
            params.insert("attempt_dollars".to_owned(), value);
        }
    }
    (run.into_iter().map(|(text, _)| text).collect(), params)
}
