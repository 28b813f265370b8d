//! Azkaban projects: `.job` property files, and triggers in Quartz fields in the flow's file. Quartz
//! counts the days of the week from Sunday as 1.

use super::found::{Found, Shelf, names, own_sql};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{OldJob, Scheduler};
use std::collections::BTreeMap;

/// The properties of a `.job` file; a later one of the same name wins.
pub fn properties(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', '!']))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// One trigger of a flow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The job that it starts.
    pub job: String,
    /// Six or seven Quartz fields.
    pub value: String,
    /// Its lines.
    pub text: String,
}

/// The triggers of a flow file: a list whose items have `job`, `type` and `value`.
pub fn triggers(text: &str) -> Vec<Trigger> {
    let mut out: Vec<Trigger> = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        if let Some(job) = bare.strip_prefix("- job:") {
            out.push(Trigger {
                job: job.trim().to_owned(),
                value: String::new(),
                text: String::new(),
            });
        }
        let Some(open) = out.last_mut() else {
            continue;
        };
        if let Some(value) = bare.strip_prefix("value:") {
            value.trim().clone_into(&mut open.value);
        }
        open.text.push_str(line);
        open.text.push('\n');
    }
    out
}

/// The environment that a job's properties set.
pub fn environment(properties: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    properties
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("env.")?.to_owned(), value.clone())))
        .collect()
}

/// Quartz fields as cron fields, with the days of the week counted as cron counts them.
fn cron_fields(quartz: &str) -> Result<String, String> {
    let fields: Vec<&str> = quartz.split_whitespace().collect();
    let refuse = || format!("trigger {quartz:?} has no cron form");
    let ["0", minute, hour, day, month, weekday] = fields.as_slice() else {
        return Err(refuse());
    };
    let weekday = weekday
        .split(',')
        .map(|item| match item.parse::<u8>() {
            Ok(number @ 1..=7) => Ok((number - 1).to_string()),
            Ok(_) => Err(refuse()),
            Err(_) => Ok(item.to_owned()),
        })
        .collect::<Result<Vec<_>, _>>()?
        .join(",");
    let any = |field: &str| if field == "?" { "*" } else { field }.to_owned();
    Ok(format!(
        "{minute} {hour} {} {month} {}",
        any(day),
        any(&weekday)
    ))
}

/// When a trigger fires.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let cron = cron_fields(&job.schedule)?;
    Ok(Plan::new(cron, DayFields::Both, &job.zone))
}

/// The jobs of all projects.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    shelf
        .paths(|path| path.ends_with(".job"))
        .into_iter()
        .map(|path| one(shelf, path))
        .collect()
}

fn one(shelf: &Shelf<'_>, path: &str) -> Result<Found, String> {
    let text = shelf.text(path).unwrap_or_default();
    let properties = properties(&text);
    let (project, file) = path
        .rsplit_once('/')
        .ok_or_else(|| format!("{path}: outside any project"))?;
    let id = file.trim_end_matches(".job");
    let flow_path = format!("{project}.flow");
    let flow = shelf.text(&flow_path).unwrap_or_default();
    let trigger = triggers(&flow).into_iter().find(|found| found.job == id);
    let command = properties.get("command").map_or("", String::as_str);
    let mut found = Found::new(id, Scheduler::Azkaban, path);
    found.set_command(command);
    let sql_path = own_sql(id, command);
    found.set_sql(sql_path.and_then(|path| shelf.text(path)));
    let job = &mut found.job;
    job.declared_deps = properties
        .get("dependencies")
        .map(|list| names(list))
        .unwrap_or_default();
    job.environment = environment(&properties);
    if let Some(user) = properties.get("user.to.proxy") {
        job.user.clone_from(user);
    }
    if let Some(folder) = properties.get("working.dir") {
        job.working_folder.clone_from(folder);
    }
    let mut parts = vec![(path, text.as_str())];
    if let Some(trigger) = &trigger {
        job.schedule.clone_from(&trigger.value);
        parts.push((&flow_path, &trigger.text));
    }
    let sql = sql_path.and_then(|path| Some((path, shelf.raw_text(path)?)));
    if let Some((path, text)) = &sql {
        parts.push((path, text));
    }
    job.definition = sections::join(&parts);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::cron_fields;

    #[test]
    fn quartz_counts_from_sunday() {
        assert_eq!(cron_fields("0 30 4 ? * 2").unwrap(), "30 4 * * 1");
        assert_eq!(cron_fields("0 0 5 ? * SUN").unwrap(), "0 5 * * SUN");
        assert_eq!(cron_fields("0 0 2 * * ?").unwrap(), "0 2 * * *");
        assert!(cron_fields("30 0 2 * * ?").is_err(), "cron has no seconds");
    }
}
