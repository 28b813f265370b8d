//! References to secrets, resolved at the last moment and kept out of every text.

use crate::contract::parse::is_secret_key;
use crate::world::process::{ProcessOutcome, ProcessSpec, resolve_words, run};
use serde_json::{Map, Value};
use std::io::Read as _;
use std::path::Path;

const MAX_SECRET_BYTES: usize = 64 * 1024;
const COMMAND_TIMEOUT_MS: i64 = 30_000;
/// A shorter text would be struck out of innocent words.
const SHORTEST_REDACTED: usize = 4;

/// Replaces each reference under a secret's name by the secret and returns the secrets, so that they can
/// be struck out of what the adapter says.
/// # Errors
/// One sentence that names the key; never the secret.
pub fn resolve_secrets(
    settings: &mut Map<String, Value>,
    base_dir: &Path,
) -> Result<Vec<String>, String> {
    let mut secrets = Vec::new();
    for (key, value) in settings.iter_mut() {
        resolve(key, value, base_dir, &mut secrets)?;
    }
    secrets.retain(|secret| secret.len() >= SHORTEST_REDACTED);
    // Longer first, so that one that contains another is struck out whole.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    Ok(secrets)
}

/// Strikes secrets out of a text that others wrote.
pub fn scrub(text: &str, secrets: &[String]) -> String {
    secrets
        .iter()
        .filter(|secret| secret.len() >= SHORTEST_REDACTED)
        .fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), "[secret]")
        })
}

fn resolve(
    key: &str,
    value: &mut Value,
    base_dir: &Path,
    secrets: &mut Vec<String>,
) -> Result<(), String> {
    if is_secret_key(key) {
        let secret =
            read_secret(value, base_dir).map_err(|why| format!("the secret `{key}`: {why}"))?;
        secrets.push(secret.clone());
        *value = Value::String(secret);
        return Ok(());
    }
    match value {
        Value::Object(map) => map
            .iter_mut()
            .try_for_each(|(key, value)| resolve(key, value, base_dir, secrets)),
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| resolve("", item, base_dir, secrets)),
        _ => Ok(()),
    }
}

/// The secret that a reference stands for; relative files start at `base_dir`.
///
/// # Errors
/// One sentence: which variable, file or command gave nothing.
pub fn read_secret(reference: &Value, base_dir: &Path) -> Result<String, String> {
    let text = if let Some(name) = reference.get("env").and_then(Value::as_str) {
        std::env::var(name).map_err(|_| format!("the variable {name} is not set"))?
    } else if let Some(path) = reference.get("file").and_then(Value::as_str) {
        read_file(&base_dir.join(path)).map_err(|error| format!("{path}: {error}"))?
    } else if let Some(words) = reference.get("command").and_then(Value::as_array) {
        let words: Vec<String> = words
            .iter()
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect();
        read_command(&words, base_dir)?
    } else {
        return Err("expected { env = … }, { file = … } or { command = … }".to_owned());
    };
    let secret = text.trim_end_matches(['\n', '\r']).to_owned();
    if secret.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(secret)
}

fn read_file(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_SECRET_BYTES as u64)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn read_command(words: &[String], base_dir: &Path) -> Result<String, String> {
    let argv = resolve_words(words, base_dir)?;
    let mut spec = ProcessSpec::new(argv, base_dir, Vec::new(), COMMAND_TIMEOUT_MS);
    spec.stdout_cap = MAX_SECRET_BYTES;
    // A password store needs to find its keys.
    spec.env = ["HOME", "XDG_RUNTIME_DIR", "GNUPGHOME"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    match run(&spec) {
        ProcessOutcome::Exited {
            code: 0, stdout, ..
        } => String::from_utf8(stdout).map_err(|_| "its command wrote no text".to_owned()),
        other => Err(format!(
            "its command: {}",
            other.trouble().unwrap_or_default()
        )),
    }
}
