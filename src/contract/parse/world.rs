//! `[world.*]`: one adapter table a port.

use super::free;
use super::section::{Section, nearest};
use crate::contract::types::WorldRule;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

const PORTS: [&str; 7] = [
    "source",
    "target",
    "warehouse",
    "repo",
    "probe",
    "notifier",
    "practice",
];
/// Adapters that exist.
const ADAPTERS: [&str; 1] = ["command"];
/// Adapters that have a name and no code yet.
const LATER: [&str; 5] = ["http", "airflow", "sqlite", "postgres", "git"];
const MAX_WORDS: usize = 100;

/// The environment, as written.
pub(super) fn world(top: &Section<'_>) -> WorldRule {
    let mut ports = BTreeMap::new();
    if let Some(section) = top.table("world") {
        for port in PORTS {
            if let Some(table) = section.table(port) {
                ports.insert(port.to_owned(), one_port(&table, port));
            }
        }
        section.refuse_unknown();
    }
    if !ports.contains_key("practice") {
        for port in ["source", "target"] {
            if !ports.contains_key(port) {
                top.context.question(format!(
                    "There is no [world.{port}]: the goal can be kept but not worked on. Is that meant?"
                ));
            }
        }
    }
    WorldRule { ports }
}

fn one_port(table: &Section<'_>, port: &str) -> Map<String, Json> {
    if port == "practice" {
        return free::rest_as_json(table);
    }
    let mut settings = Map::new();
    match table.text("adapter") {
        Some("command") => {
            settings.insert("adapter".to_owned(), Json::from("command"));
            command_keys(table, &mut settings);
        }
        Some(name) if LATER.contains(&name) => {
            settings.insert("adapter".to_owned(), Json::from(name));
            table.context.note(format!(
                "{} names the adapter \"{name}\", which comes later: the goal cannot run until then.",
                table.name()
            ));
        }
        Some(name) => {
            let hint = match nearest(name, ADAPTERS.into_iter().chain(LATER)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("expected one of: {}", ADAPTERS.join(", ")),
            };
            let shown: String = name.chars().take(60).collect();
            table.bad(
                "adapter",
                format!("unknown adapter \"{shown}\""),
                Some(hint),
            );
        }
        None if table.get("adapter").is_none() => table.context.question(format!(
            "{} names no `adapter`: the goal can be kept but not worked on. Is that meant?",
            table.name()
        )),
        None => {}
    }
    settings.extend(free::rest_as_json(table));
    settings
}

/// Keys of the command adapter that dogwatch itself reads; the others go to the executable.
fn command_keys(table: &Section<'_>, settings: &mut Map<String, Json>) {
    let run = table.texts("run", MAX_WORDS);
    match (&run, table.get("run")) {
        (None, None) => {
            let why = format!(
                "{} has no `run`: the adapter's executable and its arguments, such as [\"./source.py\"]",
                table.name()
            );
            table.context.problem(&table.span(), why, None);
        }
        (Some(words), _) if words.first().is_none_or(|(word, _)| word.is_empty()) => {
            table.bad("run", "`run` names no command".to_owned(), None);
        }
        _ => {}
    }
    let words = run.unwrap_or_default().into_iter().map(|(text, _)| text);
    settings.insert("run".to_owned(), words.collect());
    if table.duration_ms("timeout", 1_000).is_some()
        && let Some(text) = table.text("timeout")
    {
        settings.insert("timeout".to_owned(), Json::from(text));
    }
}
