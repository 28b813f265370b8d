//! An AutoSys JIL file: `key: value` lines, a job begun by `insert_job`. With `date_conditions: 0` the
//! schedule is off, whatever the times say.

use super::found::{Found, Shelf};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{OldJob, Scheduler};
use std::collections::BTreeMap;

/// One job of a JIL file.
struct Inserted {
    values: BTreeMap<String, String>,
    text: String,
}

fn inserted(text: &str) -> Vec<Inserted> {
    let mut out: Vec<Inserted> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("insert_job:") {
            out.push(Inserted {
                values: BTreeMap::new(),
                text: String::new(),
            });
        }
        let Some(open) = out.last_mut().filter(|_| !line.starts_with("/*")) else {
            continue;
        };
        open.text.push_str(line);
        open.text.push('\n');
        // `insert_job: a   job_type: c` is two pairs on one line.
        for pair in line.split("   ") {
            if let Some((key, value)) = pair.split_once(':') {
                let value = value.trim().trim_matches('"');
                open.values.insert(key.trim().to_owned(), value.to_owned());
            }
        }
    }
    out
}

/// When a job's start time comes.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let time = job
        .schedule
        .strip_prefix("all ")
        .and_then(|time| time.split_once(':'))
        .ok_or_else(|| format!("{}: schedule {:?}", job.origin, job.schedule))?;
    let number = |digits: &str| {
        digits
            .parse::<u8>()
            .map_err(|_| format!("{}: time {digits:?}", job.origin))
    };
    let cron = format!("{} {} * * *", number(time.1)?, number(time.0)?);
    Ok(Plan::new(cron, DayFields::Both, &job.zone))
}

/// The jobs of all JIL files.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    let mut out = Vec::new();
    for path in shelf.paths(|path| path.ends_with(".jil")) {
        let text = shelf.text(path).unwrap_or_default();
        for entry in inserted(&text) {
            let value = |key: &str| entry.values.get(key).map_or("", String::as_str);
            let mut found = Found::new(value("insert_job"), Scheduler::Autosys, path);
            found.set_command(value("command"));
            let job = &mut found.job;
            job.enabled = value("date_conditions") == "1";
            job.schedule = format!("{} {}", value("days_of_week"), value("start_times"));
            if !value("timezone").is_empty() {
                value("timezone").clone_into(&mut job.zone);
            }
            value("owner").clone_into(&mut job.user);
            job.definition = sections::join(&[(path, &entry.text)]);
            out.push(found);
        }
    }
    Ok(out)
}
