//! Oozie: a coordinator says when and on which inputs, its workflow says what; the order between jobs
//! of different waves lives in the coordinator's datasets.

use super::found::{Found, HOST_ZONE, Shelf, own_sql, without_repeats};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{OldJob, Scheduler};
use super::xml::{self, Element};
use crate::model::{JobId, TimeMs};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Between a coordinator's frequency, start and end in [`OldJob::schedule`].
const BETWEEN: &str = " | ";

/// When a coordinator materialises its actions: a cron expression, or a span of months or days
/// counted from its start.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let parts: Vec<&str> = job.schedule.split(BETWEEN).collect();
    let [frequency, start, end] = parts.as_slice() else {
        return Err(format!("{}: no frequency with start and end", job.origin));
    };
    let zone = TimeZone::get(&job.zone).map_err(|error| error.to_string())?;
    let civil = |text: &str| -> Result<DateTime, String> {
        text.trim_end_matches('Z')
            .parse::<DateTime>()
            .map_err(|error| format!("{text:?}: {error}"))
    };
    let instant = |at: DateTime| -> Result<TimeMs, String> {
        let zoned = at
            .to_zoned_datetime(zone.clone())
            .map_err(|error| error.to_string())?;
        Ok(TimeMs::from_timestamp(zoned.timestamp()))
    };
    let first = civil(start)?;
    let cron = span(frequency, first)?.unwrap_or_else(|| (*frequency).to_owned());
    let mut plan = Plan::new(cron, DayFields::Both, &job.zone);
    plan.from = Some(instant(first)?);
    plan.until = Some(instant(civil(end)?)?);
    Ok(plan)
}

/// `${coord:months(n)}` and `${coord:days(1)}` as cron fields that fall on the same ticks.
fn span(frequency: &str, first: DateTime) -> Result<Option<String>, String> {
    let Some(call) = frequency
        .strip_prefix("${coord:")
        .and_then(|rest| rest.strip_suffix(")}"))
    else {
        return Ok(None);
    };
    let at = format!("{} {}", first.minute(), first.hour());
    match call.split_once('(') {
        Some(("days", "1")) => Ok(Some(format!("{at} * * *"))),
        Some(("months", count)) => {
            let step: i8 = count.parse().map_err(|_| format!("months({count})"))?;
            if step < 1 || 12 % step != 0 {
                return Err(format!("every {step} months is no yearly pattern"));
            }
            let mut months: Vec<i8> = (0..12 / step)
                .map(|turn| (first.month() - 1 + turn * step) % 12 + 1)
                .collect();
            months.sort_unstable();
            let months: Vec<String> = months.iter().map(i8::to_string).collect();
            Ok(Some(format!("{at} {} {} *", first.day(), months.join(","))))
        }
        _ => Err(format!("frequency {frequency} has no cron form")),
    }
}

/// The jobs of all coordinators: each action of the wave that a coordinator starts.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    let mut out = Vec::new();
    let is_coordinator = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.starts_with("coordinator") && file.ends_with(".xml")
    };
    for path in shelf.paths(is_coordinator) {
        let text = shelf.text(path).unwrap_or_default();
        let coordinator = xml::parse(&text).map_err(|why| format!("{path}: {why}"))?;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let workflow_path = format!("{folder}/workflow.xml");
        let workflow_text = shelf
            .text(&workflow_path)
            .ok_or_else(|| format!("{path}: {workflow_path} is missing"))?;
        let workflow =
            xml::parse(&workflow_text).map_err(|why| format!("{workflow_path}: {why}"))?;
        let wave = property(&coordinator, "wave");
        for action in actions_of_wave(&workflow, &wave) {
            let mut found = one(shelf, path, &coordinator, &workflow, action);
            let own_sql = found
                .job
                .sql
                .is_some()
                .then(|| format!("jobs/{}.sql", found.job.id));
            let sql = own_sql.and_then(|path| Some((path.clone(), shelf.raw_text(&path)?)));
            let mut parts = vec![
                (path, text.as_str()),
                (workflow_path.as_str(), workflow_text.as_str()),
            ];
            if let Some((path, text)) = &sql {
                parts.push((path, text));
            }
            found.job.definition = sections::join(&parts);
            out.push(found);
        }
    }
    Ok(out)
}

fn property(coordinator: &Element, name: &str) -> String {
    let properties = coordinator.all("property");
    properties
        .iter()
        .find(|property| property.text_of("name") == name)
        .map_or("", |property| property.text_of("value"))
        .to_owned()
}

/// The actions that a wave's fork starts, and those that follow them, in the workflow's order.
fn actions_of_wave<'a>(workflow: &'a Element, wave: &str) -> Vec<&'a Element> {
    let condition = format!("${{wave eq {wave}}}");
    let cases = workflow.all("case");
    let Some(case) = cases.iter().find(|case| case.text == condition) else {
        return Vec::new();
    };
    let forks = workflow.all("fork");
    let fork = forks
        .iter()
        .find(|fork| fork.attribute("name") == case.attribute("to"));
    let mut started: Vec<&str> = fork
        .map(|fork| fork.all("path"))
        .unwrap_or_default()
        .into_iter()
        .map(|path| path.attribute("start"))
        .collect();
    let actions = workflow.all("action");
    // Each round adds at least one action or ends, so there are at most as many rounds as actions.
    for _ in 0..actions.len() {
        let next: Vec<&str> = actions
            .iter()
            .filter(|action| started.contains(&action.attribute("name")))
            .map(ok_of)
            .filter(|to| {
                !started.contains(to) && actions.iter().any(|a| a.attribute("name") == *to)
            })
            .collect();
        if next.is_empty() {
            break;
        }
        started.extend(next);
    }
    actions
        .into_iter()
        .filter(|action| started.contains(&action.attribute("name")))
        .collect()
}

fn ok_of<'a>(action: &&'a Element) -> &'a str {
    action
        .children
        .iter()
        .find(|child| child.name == "ok")
        .map_or("", |ok| ok.attribute("to"))
}

fn one(
    shelf: &Shelf<'_>,
    path: &str,
    coordinator: &Element,
    workflow: &Element,
    action: &Element,
) -> Found {
    let id = action.attribute("name");
    let mut found = Found::new(id, Scheduler::Oozie, path);
    found.set_command(&command(action));
    let sql_path = own_sql(id, &found.job.command).map(str::to_owned);
    found.set_sql(sql_path.and_then(|path| shelf.text(&path)));
    found.ends = coordinator.attribute("end").get(..10).map(str::to_owned);
    let job = &mut found.job;
    job.schedule = ["frequency", "start", "end"]
        .map(|name| coordinator.attribute(name))
        .join(BETWEEN);
    job.zone = match coordinator.attribute("timezone") {
        "" => HOST_ZONE,
        zone => zone,
    }
    .to_owned();
    "oozie".clone_into(&mut job.user);
    job.environment = action
        .all("env-var")
        .iter()
        .filter_map(|pair| pair.text.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let from_data = coordinator.all("data-in").into_iter().filter_map(|input| {
        let reader = input.attribute("name").split('.').next()?;
        (reader == id).then(|| JobId::from(input.attribute("dataset")))
    });
    let actions = workflow.all("action");
    let from_flow = actions
        .iter()
        .filter(|other| ok_of(other) == id)
        .map(|other| JobId::from(other.attribute("name")));
    job.declared_deps = without_repeats(from_data.chain(from_flow).collect());
    found
}

/// A shell action's command, or an ssh action's as one would type it.
fn command(action: &Element) -> String {
    let mut words = Vec::new();
    if let Some(ssh) = action.all("ssh").first() {
        words.push("ssh");
        words.extend(ssh.all("args").iter().map(|arg| arg.text.as_str()));
        words.push(ssh.text_of("host"));
        words.push(ssh.text_of("command"));
    } else {
        words.push(action.text_of("exec"));
        words.extend(action.all("argument").iter().map(|arg| arg.text.as_str()));
    }
    words.join(" ")
}
