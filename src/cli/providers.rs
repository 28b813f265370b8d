//! Providers of language models: the goal file's own, and those of this host's configuration.

use super::config::config_path;
use super::error::CliError;
use crate::contract::parse::parse_providers;
use crate::contract::{Goal, ProviderSettings};
use std::collections::BTreeMap;

/// Most bytes of the configuration read.
const MAX_FILE: u64 = 256 * 1024;

/// All providers that a goal's strategies may name. The goal file's own table of a name stands for the whole
/// of it.
///
/// # Errors
/// When the configuration has a table that is wrong: the line, and what was expected.
pub fn of_goal(goal: &Goal) -> Result<BTreeMap<String, ProviderSettings>, CliError> {
    let mut all = of_host()?;
    all.extend(goal.providers.clone());
    Ok(all)
}

/// The providers of this host's configuration.
///
/// # Errors
/// As [`of_goal`].
pub fn of_host() -> Result<BTreeMap<String, ProviderSettings>, CliError> {
    let Some(path) = config_path().filter(|path| path.exists()) else {
        return Ok(BTreeMap::new());
    };
    let failed = |why: String| {
        CliError::new(
            format!("{}: {why}", path.display()),
            "Nothing was started. Mend [provider] there, or name providers in the goal file.",
        )
    };
    let size = std::fs::metadata(&path)
        .map_err(|error| failed(error.to_string()))?
        .len();
    if size > MAX_FILE {
        return Err(failed(format!("larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    parse_providers(&text).map_err(|error| {
        let first = error.problems.first();
        failed(first.map_or_else(String::new, |one| {
            let hint = one
                .hint
                .as_ref()
                .map_or_else(String::new, |hint| format!(" ({hint})"));
            format!("line {}: {}{hint}", one.line, one.message)
        }))
    })
}
