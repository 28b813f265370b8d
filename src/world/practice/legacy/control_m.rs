//! A Control-M folder export: jobs with a time of day, agents and a step that waits for an operator.

use super::found::{Found, Shelf};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{OldJob, Scheduler};
use super::xml;

/// When a job's time comes, on every day of its folder.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let time = job
        .schedule
        .strip_prefix("DAYS=ALL TIMEFROM=")
        .filter(|time| time.len() == 4)
        .ok_or_else(|| format!("{}: schedule {:?}", job.origin, job.schedule))?;
    let number = |from: usize| {
        time.get(from..from + 2)
            .and_then(|digits| digits.parse::<u8>().ok())
            .ok_or_else(|| format!("{}: time {time:?}", job.origin))
    };
    let cron = format!("{} {} * * *", number(2)?, number(0)?);
    Ok(Plan::new(cron, DayFields::Both, &job.zone))
}

/// The jobs of all folder exports.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    let mut out = Vec::new();
    let oozie = |path: &str| path.contains("coordinator") || path.ends_with("workflow.xml");
    for path in shelf.paths(|path| path.ends_with(".xml") && !oozie(path)) {
        let text = shelf.text(path).unwrap_or_default();
        let root = xml::parse(&text).map_err(|why| format!("{path}: {why}"))?;
        for element in root.all("JOB") {
            let mut found = Found::new(element.attribute("JOBNAME"), Scheduler::ControlM, path);
            found.set_command(element.attribute("CMDLINE"));
            let job = &mut found.job;
            job.schedule = format!(
                "DAYS={} TIMEFROM={}",
                element.attribute("DAYS"),
                element.attribute("TIMEFROM")
            );
            element.attribute("RUN_AS").clone_into(&mut job.user);
            job.definition = sections::join(&[(path, &text)]);
            out.push(found);
        }
    }
    Ok(out)
}
