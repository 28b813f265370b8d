//! A goal's `[world]` to a [`World`].

use super::command::{Adapter, CommandProbe, CommandSource, CommandTarget, CommandWarehouse};
use super::ports::{Probe, Warehouse, World};
use super::practice;
use crate::contract::WorldRule;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Why a world cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The goal file names an adapter or a setting that does not exist.
    #[error("{0}")]
    Setting(String),
    /// The world itself did not open.
    #[error("{0}")]
    World(String),
}

/// Opens the world of a contract. `base_dir` is where relative paths start. A table `[world.practice]`
/// stands for all ports at once.
///
/// # Errors
/// When a setting is wrong, a secret cannot be read, or an adapter does not answer.
pub fn open_world(rule: &WorldRule, base_dir: &Path) -> Result<World, OpenError> {
    if let Some(table) = rule.ports.get("practice") {
        return practice::open(table, base_dir).map_err(OpenError::World);
    }
    let source = required(rule, "source", base_dir)?;
    let target = required(rule, "target", base_dir)?;
    let warehouse: Option<Arc<dyn Warehouse>> = match optional(rule, "warehouse", base_dir)? {
        Some(adapter) => Some(Arc::new(
            CommandWarehouse::new(adapter).map_err(OpenError::Setting)?,
        )),
        None => None,
    };
    let probe: Option<Arc<dyn Probe>> = optional(rule, "probe", base_dir)?
        .map(|adapter| Arc::new(CommandProbe::new(adapter)) as Arc<dyn Probe>);
    let target =
        CommandTarget::open(target).map_err(|error| OpenError::World(error.to_string()))?;
    Ok(World {
        source: Arc::new(CommandSource::new(source)),
        target: Arc::new(target),
        warehouse,
        probe,
    })
}

fn required(rule: &WorldRule, port: &'static str, base_dir: &Path) -> Result<Adapter, OpenError> {
    optional(rule, port, base_dir)?
        .ok_or_else(|| OpenError::Setting(format!("the goal has no [world.{port}]")))
}

fn optional(
    rule: &WorldRule,
    port: &'static str,
    base_dir: &Path,
) -> Result<Option<Adapter>, OpenError> {
    match rule.ports.get(port) {
        None => Ok(None),
        Some(table) => adapter(port, table, base_dir).map(Some),
    }
}

fn adapter(
    port: &'static str,
    table: &Map<String, Value>,
    base_dir: &Path,
) -> Result<Adapter, OpenError> {
    match table.get("adapter").and_then(Value::as_str) {
        Some("command") => Adapter::from_table(port, table, base_dir).map_err(OpenError::Setting),
        Some(other) => Err(OpenError::Setting(format!(
            "[world.{port}]: the adapter \"{other}\" does not exist in this version; expected command"
        ))),
        None => Err(OpenError::Setting(format!(
            "[world.{port}] names no `adapter`; expected command"
        ))),
    }
}
