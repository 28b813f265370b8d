//! Crontab lines.

use super::{Draft, FOLDER, USER};
use crate::world::practice::legacy::crontab::{Entry, entries, five_fields};
use std::collections::BTreeMap;

pub(super) fn read(text: &str) -> Result<Draft, String> {
    let found = entries(text)?;
    let mut active = found.iter().filter(|entry| !entry.commented_out);
    let Some(entry) = active.next() else {
        return Err("no line of it is installed: there are comments only".to_owned());
    };
    if active.next().is_some() {
        return Err("more than one line for one job".to_owned());
    }
    let schedule = five_fields(&entry.schedule).ok_or_else(|| {
        format!(
            "{} starts it with its host; there is no schedule to convert",
            entry.schedule
        )
    })?;
    Ok(Draft {
        schedule: schedule.to_owned(),
        user: USER.to_owned(),
        working_folder: entry.variable("ETL_HOME").unwrap_or(FOLDER).to_owned(),
        environment: environment(entry),
        command: without_flock(&entry.command),
        sql: None,
    })
}

/// The environment lines over it. `SHELL` and `MAILTO` are for cron itself.
fn environment(entry: &Entry) -> BTreeMap<String, String> {
    let lines = entry.environment.iter();
    lines
        .filter(|(name, _)| name != "SHELL" && name != "MAILTO")
        .cloned()
        .collect()
}

/// The command without a `flock [options] FILE` in it.
fn without_flock(command: &str) -> String {
    let Some((before, after)) = command.split_once("flock ") else {
        return command.to_owned();
    };
    let mut rest = after.trim_start();
    while rest.starts_with('-') {
        rest = rest
            .split_once(' ')
            .map_or("", |(_, rest)| rest.trim_start());
    }
    let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
    format!("{before}{rest}")
}

#[cfg(test)]
mod tests {
    use super::without_flock;

    #[test]
    fn locks_are_dropped() {
        assert_eq!(
            without_flock("cd /x && flock -n /l run a"),
            "cd /x && run a"
        );
        assert_eq!(without_flock("flock /l run a"), "run a");
        assert_eq!(without_flock("run flocks"), "run flocks");
    }
}
