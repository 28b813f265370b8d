//! A goal's `[world]` to a [`World`].

use super::ports::World;
use crate::contract::WorldRule;
use std::path::Path;
use thiserror::Error;

/// Why a world cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The goal file names an adapter or a setting that does not exist.
    #[error("[world]: {0}")]
    Setting(String),
    /// The world itself did not open.
    #[error("{0}")]
    World(String),
}

/// Opens the world of a contract. `base_dir` is where relative paths start; `set` are `--set
/// PORT.KEY=VALUE` overrides as (port, key, value).
///
/// # Errors
/// When a setting is wrong or the world does not open.
pub fn open_world(rule: &WorldRule, base_dir: &Path) -> Result<World, OpenError> {
    let _ = (rule, base_dir);
    Err(OpenError::Setting("no adapter".to_owned()))
}
