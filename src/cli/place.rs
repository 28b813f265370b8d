//! Which ledger, which goal.

use super::Common;
use super::error::CliError;
use crate::contract::Goal;
use crate::engine::adopt::parse_adopted;
use crate::ledger::Reader;
use crate::ledger::read::GoalRow;
use crate::model::{GoalId, JobId, TimeMs, time::Clock};
use std::path::PathBuf;

/// This account's data directory for dogwatch.
///
/// # Errors
/// When the account has no home.
pub fn data_dir() -> Result<PathBuf, CliError> {
    directories::ProjectDirs::from("", "", "dogwatch")
        .map(|dirs| dirs.data_dir().to_path_buf())
        .ok_or_else(|| {
            CliError::new(
                "this account has no home directory",
                "Name the ledger with --ledger FILE.",
            )
        })
}

/// The ledger's file.
///
/// # Errors
/// When none is named and the account has no home.
pub fn ledger_path(common: &Common) -> Result<PathBuf, CliError> {
    match &common.ledger {
        Some(path) => Ok(path.clone()),
        None => Ok(data_dir()?.join("ledger.db")),
    }
}

/// The reader of the ledger.
///
/// # Errors
/// When it is missing or is no ledger.
pub fn reader(common: &Common) -> Result<Reader, CliError> {
    Ok(Reader::open(&ledger_path(common)?)?)
}

/// The goal named, or the only one.
///
/// # Errors
/// When it does not exist, or several do and none is named.
pub fn goal(reader: &Reader, named: Option<&str>) -> Result<GoalRow, CliError> {
    let mut goals = reader.view().goals()?;
    let names: Vec<String> = goals.iter().map(|row| row.goal.0.clone()).collect();
    match named {
        Some(name) => goals
            .into_iter()
            .find(|row| row.goal.0 == name)
            .ok_or_else(|| {
                CliError::new(
                    format!("there is no goal {name}"),
                    format!("Goals here: {}.", names.join(", ")),
                )
            }),
        None if goals.len() == 1 => Ok(goals.remove(0)),
        None if goals.is_empty() => Err(CliError::new(
            "the ledger has no goal yet",
            "Adopt one: dogwatch adopt FILE.",
        )),
        None => Err(CliError::new(
            "the ledger has several goals",
            format!("Name one with --goal: {}.", names.join(", ")),
        )),
    }
}

/// A job that exists, or an error with the nearest name.
///
/// # Errors
/// When it does not exist.
pub fn job(reader: &Reader, goal: &GoalId, name: &str) -> Result<JobId, CliError> {
    let id = JobId::from(name);
    if reader.view().facts(goal, &id)?.is_some() {
        return Ok(id);
    }
    let ids = reader
        .view()
        .job_ids(goal, &crate::ledger::read::JobQuery::default())?;
    let nearest = ids
        .iter()
        .map(|one| (strsim::damerau_levenshtein(one.as_str(), name), one))
        .min_by_key(|(distance, _)| *distance);
    let hint = match nearest {
        Some((distance, one)) if distance <= 4 => format!("Did you mean {one}?"),
        _ => "List them with `dogwatch jobs`.".to_owned(),
    };
    Err(CliError::new(
        format!("there is no job {name} in goal {goal}"),
        hint,
    ))
}

/// An adopted goal as its contract in force says, and the time on its clock.
pub struct Adopted {
    /// The goal.
    pub goal: Goal,
    /// The text of its file.
    pub text: String,
    /// Now, on its clock.
    pub now: TimeMs,
}

/// Reads the contract in force.
///
/// # Errors
/// When the ledger cannot be read or its text is not what this program reads.
pub fn adopted(reader: &Reader, id: &GoalId) -> Result<Adopted, CliError> {
    let view = reader.view();
    let gone = || CliError::new(format!("goal {id} has no contract here"), "");
    let row = view.contract(id)?.ok_or_else(gone)?;
    let bytes = view.blob(&row.text)?.ok_or_else(gone)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let goal = parse_adopted(&text, &row)
        .map_err(|error| CliError::new(error.to_string(), "Nothing was changed."))?;
    let now = if goal.contract.world.ports.contains_key("practice") {
        view.last_engine_time()?.unwrap_or(row.adopted_at)
    } else {
        Clock::Real.now()
    };
    Ok(Adopted { goal, text, now })
}
