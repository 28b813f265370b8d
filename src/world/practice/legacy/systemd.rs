//! systemd timers and services: day of week and date must both match, a calendar event may end with
//! a zone, `%%` is `%`, and `ExecCondition=` decides on every tick whether anything is done.

use super::found::{Found, Shelf, names, own_sql, says_last_day_only};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{Guard, OldJob, Scheduler};

/// One `Key=value` of a unit file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The section, without brackets.
    pub section: String,
    /// The key.
    pub key: String,
    /// The value as written.
    pub value: String,
}

/// The settings of a unit file, in order.
pub fn settings(text: &str) -> Vec<Setting> {
    let mut section = String::new();
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            name.clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once('=') {
            out.push(Setting {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
            });
        }
    }
    out
}

/// The last value of a key, as systemd takes it.
pub fn value<'a>(settings: &'a [Setting], key: &str) -> Option<&'a str> {
    let mut last = settings.iter().rev();
    last.find(|setting| setting.key == key)
        .map(|setting| setting.value.as_str())
}

/// The pairs of all `Environment=` lines.
pub fn environment(settings: &[Setting]) -> Vec<(String, String)> {
    settings
        .iter()
        .filter(|setting| setting.key == "Environment")
        .flat_map(|setting| setting.value.split_whitespace())
        .filter_map(|pair| pair.trim_matches('"').split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// What a shell would be given: the text inside `/bin/sh -c '…'`, else the line itself.
pub fn inner_command(exec: &str) -> &str {
    exec.strip_prefix("/bin/sh -c ")
        .map(str::trim)
        .and_then(|rest| rest.strip_prefix('\'')?.strip_suffix('\''))
        .unwrap_or(exec)
}

/// A calendar event taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarEvent {
    /// The same ticks in five cron fields, where day and weekday must *both* match.
    pub cron: String,
    /// The zone at its end, when it has one.
    pub zone: Option<String>,
}

/// Takes a calendar event apart.
///
/// # Errors
/// When a part has no cron form (seconds, years, lists of dates).
pub fn calendar_event(text: &str) -> Result<CalendarEvent, String> {
    let refuse = || format!("calendar event {text:?} has no cron form");
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let starts_with_letter = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let zone = if words.len() > 1 && words.last().is_some_and(starts_with_letter) {
        words.pop().map(str::to_owned)
    } else {
        None
    };
    let weekday = if words.first().is_some_and(starts_with_letter) {
        words.remove(0).replace("..", "-")
    } else {
        "*".to_owned()
    };
    let (date, time) = match words.as_slice() {
        [date, time] => (*date, *time),
        [time] => ("*-*-*", *time),
        _ => return Err(refuse()),
    };
    let [year, month, day] = parts(date, '-').ok_or_else(refuse)?;
    let [hour, minute, second] = parts(time, ':').ok_or_else(refuse)?;
    if year != "*" || second != "00" {
        return Err(refuse());
    }
    let field = |text: &str, top: u8| cron_field(text, top).ok_or_else(refuse);
    Ok(CalendarEvent {
        cron: format!(
            "{} {} {} {} {weekday}",
            field(minute, 59)?,
            field(hour, 23)?,
            field(day, 31)?,
            field(month, 12)?
        ),
        zone,
    })
}

fn parts(text: &str, by: char) -> Option<[&str; 3]> {
    let found: Vec<&str> = text.split(by).collect();
    found.try_into().ok()
}

/// `06..20` is `6-20`, `00/4` is every fourth from 0, `05` is `5`.
fn cron_field(text: &str, top: u8) -> Option<String> {
    let number = |word: &str| word.parse::<u8>().ok();
    let each = |item: &str| -> Option<String> {
        if item == "*" {
            return Some("*".to_owned());
        }
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(number(step)?)),
            None => (item, None),
        };
        let range = match (range.split_once(".."), step) {
            (Some((from, to)), _) => format!("{}-{}", number(from)?, number(to)?),
            (None, Some(_)) if range == "*" || number(range)? == 0 => "*".to_owned(),
            (None, Some(_)) => format!("{}-{top}", number(range)?),
            (None, None) => number(range)?.to_string(),
        };
        Some(step.map_or(range.clone(), |step| format!("{range}/{step}")))
    };
    let items: Option<Vec<String>> = text.split(',').map(each).collect();
    items.map(|items| items.join(","))
}

/// When a timer elapses.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let event = calendar_event(&job.schedule)?;
    Ok(Plan::new(event.cron, DayFields::Both, &job.zone))
}

/// The jobs of all timers.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    shelf
        .paths(|path| path.ends_with(".timer"))
        .into_iter()
        .map(|path| one(shelf, path))
        .collect()
}

fn one(shelf: &Shelf<'_>, timer_path: &str) -> Result<Found, String> {
    let stem = timer_path.trim_end_matches(".timer");
    let service_path = format!("{stem}.service");
    let timer_text = shelf.text(timer_path).unwrap_or_default();
    let service_text = shelf
        .text(&service_path)
        .ok_or_else(|| format!("{timer_path}: {service_path} is missing"))?;
    let (timer, service) = (settings(&timer_text), settings(&service_text));
    let unit = stem.rsplit('/').next().unwrap_or(stem);
    let id = unit.replace('-', "_");
    let mut found = Found::new(&id, Scheduler::Systemd, timer_path);
    let exec = value(&service, "ExecStart").unwrap_or("");
    found.set_command(&inner_command(exec).replace("%%", "%"));
    found.programme = value(&service, "X-Programme").map(str::to_owned);
    let condition = value(&service, "ExecCondition").unwrap_or("");
    if says_last_day_only(&condition.replace("%%", "%")) {
        found.job.guard = Some(Guard::LastDayOfMonth);
    }
    let sql_path = own_sql(&id, exec);
    found.set_sql(sql_path.and_then(|path| shelf.text(path)));
    let job = &mut found.job;
    let schedule =
        value(&timer, "OnCalendar").ok_or_else(|| format!("{timer_path}: no OnCalendar="))?;
    schedule.clone_into(&mut job.schedule);
    if let Some(zone) = calendar_event(schedule).ok().and_then(|event| event.zone) {
        job.zone = zone;
    }
    job.declared_deps = value(&service, "X-Requires").map(names).unwrap_or_default();
    job.environment = environment(&service).into_iter().collect();
    if let Some(user) = value(&service, "User") {
        user.clone_into(&mut job.user);
    }
    if let Some(folder) = value(&service, "WorkingDirectory") {
        folder.clone_into(&mut job.working_folder);
    }
    let sql = sql_path.and_then(|path| Some((path, shelf.raw_text(path)?)));
    let mut parts = vec![
        (timer_path, timer_text.as_str()),
        (service_path.as_str(), service_text.as_str()),
    ];
    if let Some((path, text)) = &sql {
        parts.push((path, text));
    }
    job.definition = sections::join(&parts);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::calendar_event;

    #[test]
    fn calendar_events_have_cron_forms() {
        let cron = |text: &str| calendar_event(text).unwrap().cron;
        assert_eq!(cron("*-*-* 05:30:00"), "30 5 * * *");
        assert_eq!(cron("*-*-28..31 06:00:00"), "0 6 28-31 * *");
        assert_eq!(cron("*-*-* 00/4:05:00"), "5 */4 * * *");
        let event = calendar_event("Mon..Sat *-*-* 06..20:00/30:00 Asia/Kolkata").unwrap();
        assert_eq!(event.cron, "*/30 6-20 * * Mon-Sat");
        assert_eq!(event.zone.as_deref(), Some("Asia/Kolkata"));
        assert!(calendar_event("2024-*-* 05:30:00").is_err());
        assert!(calendar_event("*-*-* 05:30:15").is_err());
    }
}
