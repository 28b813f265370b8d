//! The embedded practice world (docs/practice-world.md).

pub mod convert;
pub mod definition;
pub mod legacy;

use super::ports::World;
use serde_json::{Map, Value};
use std::path::Path;

/// Opens the practice world of a `[world.practice]` table. This version has none yet.
///
/// # Errors
/// Always, until the practice world exists.
pub fn open(_table: &Map<String, Value>, _base_dir: &Path) -> Result<World, String> {
    Err("the practice world is not part of this version".to_owned())
}

/// Name of the world's file beside the ledger.
pub const WORLD_FILE: &str = "world.db";

/// When the practice week begins.
pub fn start() -> crate::model::TimeMs {
    crate::model::TimeMs(1_711_954_800_000)
}

/// The practice goal's file.
pub fn goal_text(_seed: u64, _jobs: usize) -> String {
    String::new()
}
