//! What the new scheduler takes: a definition is refused before anything is stored.

use super::START;
use super::definition::Definition;
use super::legacy::{DayFields, Plan, instants};
use crate::model::JobId;
use crate::world::ports::{FiringQuestion, FiringTimes, PortError};
use rusqlite::{Connection, OptionalExtension as _};

/// Longest definition, in bytes.
pub const MAX_CONFIG: usize = 512 * 1024;
/// Fewest milliseconds between two starts.
pub const MIN_INTERVAL_MS: i64 = 5 * 60 * 1000;
/// Starts that are looked at for [`MIN_INTERVAL_MS`].
const LOOKED_AT: usize = 200;

/// Parses a definition and checks it for a job.
///
/// # Errors
/// The reason for which the scheduler refuses it.
pub(super) fn definition(
    conn: &Connection,
    job: &JobId,
    config: &str,
) -> Result<Definition, String> {
    if config.len() > MAX_CONFIG {
        return Err(format!("definition longer than {MAX_CONFIG} bytes"));
    }
    let definition = Definition::parse(config)?;
    if definition.id != *job {
        return Err(format!(
            "id is {}, but the definition is for {job}",
            definition.id
        ));
    }
    if definition.user.trim().is_empty() {
        return Err("user is empty".to_owned());
    }
    if definition.command.trim().is_empty() {
        return Err("command is empty".to_owned());
    }
    if !definition.working_folder.starts_with('/') {
        return Err(format!(
            "working_folder {:?} is not absolute",
            definition.working_folder
        ));
    }
    let bad = |name: &&String| {
        name.is_empty()
            || name.starts_with(|c: char| c.is_ascii_digit())
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if let Some(name) = definition.environment.keys().find(bad) {
        return Err(format!("environment: {name:?} is no variable's name"));
    }
    dependencies(conn, &definition)?;
    table(conn, &definition)?;
    schedule(&definition)?;
    Ok(definition)
}

fn dependencies(conn: &Connection, definition: &Definition) -> Result<(), String> {
    for (place, job) in definition.depends_on.iter().enumerate() {
        if *job == definition.id {
            return Err(format!("{job} depends on itself"));
        }
        if definition
            .depends_on
            .iter()
            .take(place)
            .any(|other| other == job)
        {
            return Err(format!("depends_on names {job} twice"));
        }
        let known = conn
            .prepare_cached("select 1 from legacy_jobs where job = ?1")
            .and_then(|mut statement| statement.exists([job.as_str()]))
            .map_err(|error| error.to_string())?;
        if !known {
            return Err(format!("depends_on: there is no job {job}"));
        }
    }
    Ok(())
}

fn table(conn: &Connection, definition: &Definition) -> Result<(), String> {
    let Some(write) = &definition.write else {
        return Ok(());
    };
    let owner: Option<String> = conn
        .query_row(
            "select job from legacy_jobs where target = ?1",
            [&write.table],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| error.to_string())?;
    match owner {
        Some(owner) if owner == definition.id.as_str() => Ok(()),
        Some(owner) => Err(format!("table {} belongs to {owner}", write.table)),
        None => Err(format!("there is no table {}", write.table)),
    }
}

fn schedule(definition: &Definition) -> Result<(), String> {
    if definition.schedule.split_whitespace().count() != 5 {
        return Err(format!(
            "schedule {:?} is not five cron fields",
            definition.schedule
        ));
    }
    let question = FiringQuestion {
        starts: vec![START],
        count: LOOKED_AT,
    };
    let times = firing_times(definition, &question).map_err(|error| error.what)?;
    let starts = times.windows.first().map(Vec::as_slice).unwrap_or_default();
    if starts.is_empty() {
        return Err(format!("schedule {:?} never fires", definition.schedule));
    }
    match starts.windows(2).find(|pair| match pair {
        [a, b] => b.since(*a) < MIN_INTERVAL_MS,
        _ => false,
    }) {
        Some(_) => Err(format!(
            "schedule {:?} is tighter than every 5 minutes",
            definition.schedule
        )),
        None => Ok(()),
    }
}

/// When a definition fires. On the last day of the month only, its day fields say nothing.
///
/// # Errors
/// When the schedule or the zone is not one.
pub(super) fn firing_times(
    definition: &Definition,
    question: &FiringQuestion,
) -> Result<FiringTimes, PortError> {
    let mut cron = definition.schedule.clone();
    if definition.only_last_day_of_month {
        let fields: Vec<&str> = cron.split_whitespace().collect();
        if let [minute, hour, _, month, _] = fields.as_slice() {
            cron = format!("{minute} {hour} * {month} *");
        }
    }
    let mut plan = Plan::new(cron, DayFields::Either, &definition.zone);
    plan.last_day_only = definition.only_last_day_of_month;
    instants(&plan, question)
}
