//! `--set PORT.KEY=VALUE`: the same goal against another world.

use super::canonical::contract_digest;
use super::free::is_secret_key;
use crate::contract::types::Goal;
use serde_json::Value as Json;
use std::path::Path;

const MAX_OVERRIDES: usize = 100;

/// Sets keys of `[world.PORT]` tables, each as `PORT.KEY=VALUE`, and renews the contract's digest: the
/// world is part of the contract. A value that reads as a TOML value is taken as one, anything else as
/// text. Relative paths among them start where all paths of the goal file start.
///
/// # Errors
/// One sentence: a text without `PORT.KEY=`, a port that the goal does not have, a key that decides which
/// program runs, a secret in plain text.
pub fn apply_overrides(goal: &mut Goal, overrides: &[String]) -> Result<(), String> {
    if overrides.len() > MAX_OVERRIDES {
        return Err(format!("more than {MAX_OVERRIDES} --set"));
    }
    for text in overrides {
        let (place, value) = text
            .split_once('=')
            .ok_or_else(|| format!("--set {text}: expected PORT.KEY=VALUE"))?;
        let (port, key) = place
            .split_once('.')
            .filter(|(port, key)| !port.is_empty() && !key.is_empty())
            .ok_or_else(|| format!("--set {text}: expected PORT.KEY=VALUE"))?;
        let known: Vec<String> = goal.contract.world.ports.keys().cloned().collect();
        let table = goal.contract.world.ports.get_mut(port).ok_or_else(|| {
            format!(
                "--set {text}: the goal has no [world.{port}]; it has {}",
                known.join(", ")
            )
        })?;
        if matches!(key, "adapter" | "run") {
            return Err(format!(
                "--set {text}: `{key}` decides which program runs; change the goal file instead"
            ));
        }
        if is_secret_key(key) {
            return Err(format!(
                "--set {place}: a secret on a command line can be read by others; refer to it in the goal file"
            ));
        }
        table.insert(key.to_owned(), scalar(value));
    }
    goal.contract.digest = contract_digest(&goal.contract);
    Ok(())
}

/// Overrides as typed in a shell: a value that begins with `./` or `../`, or that names something that
/// exists under `cwd`, becomes an absolute path, because who types it means the directory he stands in. The
/// result can be kept and applied again from anywhere.
pub fn absolute_overrides(overrides: &[String], cwd: &Path) -> Vec<String> {
    overrides
        .iter()
        .map(|text| match text.split_once('=') {
            Some((place, value)) if means_path(value, cwd) => {
                format!("{place}={}", cwd.join(value).display())
            }
            _ => text.clone(),
        })
        .collect()
}

fn means_path(value: &str, cwd: &Path) -> bool {
    let written = value.starts_with("./") || value.starts_with("../");
    written || (!value.is_empty() && !value.starts_with('/') && cwd.join(value).exists())
}

/// Numbers and truth values as such, everything else as text.
fn scalar(text: &str) -> Json {
    match text.parse::<toml_edit::Value>() {
        Ok(toml_edit::Value::Integer(number)) => Json::from(*number.value()),
        Ok(toml_edit::Value::Float(number)) if number.value().is_finite() => {
            Json::from(*number.value())
        }
        Ok(toml_edit::Value::Boolean(value)) => Json::from(*value.value()),
        Ok(toml_edit::Value::String(text)) => Json::from(text.value().as_str()),
        _ => Json::from(text),
    }
}
