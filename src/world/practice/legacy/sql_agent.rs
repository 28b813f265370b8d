//! SQL Server Agent scripts: batches between `GO` lines, procedure calls with named arguments, and
//! frequencies as integers.

use super::found::{Found, Shelf, names};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{OldJob, Scheduler};
use std::collections::BTreeMap;

/// One procedure call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The procedure, without its database and schema.
    pub procedure: String,
    /// Its arguments, strings unquoted.
    pub arguments: BTreeMap<String, String>,
}

impl Call {
    /// An argument; empty when it is not given.
    pub fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).map_or("", String::as_str)
    }

    /// An argument as a number; 0 when it is not given or not one.
    pub fn number(&self, name: &str) -> u32 {
        self.argument(name).parse().unwrap_or(0)
    }
}

/// A batch and the line that it begins on, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its first line.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// The batches of a script.
pub fn batches(text: &str) -> Vec<Batch> {
    let mut out = Vec::new();
    let mut open = Batch {
        line: 1,
        text: String::new(),
    };
    for (index, line) in text.lines().enumerate() {
        if line.trim().eq_ignore_ascii_case("go") {
            let next = Batch {
                line: index + 2,
                text: String::new(),
            };
            out.push(std::mem::replace(&mut open, next));
        } else {
            open.text.push_str(line);
            open.text.push('\n');
        }
    }
    out.push(open);
    out.retain(|batch| !batch.text.trim().is_empty());
    out
}

/// The calls of stored procedures in a batch, in order.
pub fn calls(batch: &str) -> Vec<Call> {
    let mut out: Vec<Call> = Vec::new();
    let mut rest = batch;
    while let Some(word_at) = rest.find("EXEC ") {
        let after = rest.get(word_at + 5..).unwrap_or("");
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let (name, arguments_text) = after.split_at(end);
        let procedure = name.rsplit('.').next().unwrap_or(name).to_owned();
        let (arguments, remaining) = arguments(arguments_text);
        out.push(Call {
            procedure,
            arguments,
        });
        rest = remaining;
    }
    out
}

/// `@name=value` pairs up to the first thing that is none, and what follows.
fn arguments(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut found = BTreeMap::new();
    let mut rest = text.trim_start();
    while let Some(after) = rest.strip_prefix('@') {
        let Some((name, value)) = after.split_once('=') else {
            break;
        };
        let value = value.trim_start();
        let quoted = value
            .strip_prefix("N'")
            .or_else(|| value.strip_prefix('\''));
        let (text, remaining) = match quoted {
            Some(inside) => string(inside),
            None => {
                let end = value.find([',', '\n']).unwrap_or(value.len());
                let (bare, remaining) = value.split_at(end);
                (bare.trim().to_owned(), remaining)
            }
        };
        found.insert(name.trim().to_owned(), text);
        rest = remaining.trim_start().trim_start_matches(',').trim_start();
    }
    (found, rest)
}

/// The string up to its closing quote, two quotes standing for one, and what follows.
fn string(inside: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\'' {
            out.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == '\'') {
            chars.next();
            out.push('\'');
        } else {
            return (out, inside.get(at + 1..).unwrap_or(""));
        }
    }
    (out, "")
}

/// The jobs that a description says must come first.
pub fn requires(description: &str) -> &str {
    description
        .split_once("requires:")
        .map_or("", |(_, list)| list.trim())
}

/// A schedule's integers as five cron fields: 4 is daily, 8 weekly with a bit a day from Sunday, 16
/// monthly on a day.
///
/// # Errors
/// When the frequency is of another kind, or repeats within the day.
pub fn cron_fields(
    kind: u32,
    interval: u32,
    every: u32,
    subday: u32,
    start: u32,
) -> Result<String, String> {
    let at = format!("{} {}", start / 100 % 100, start / 10_000);
    if subday > 1 || !start.is_multiple_of(100) || every > 1 {
        return Err("a frequency within the day, or every other week or month".to_owned());
    }
    match (kind, interval) {
        (4, 1) => Ok(format!("{at} * * *")),
        (8, 1..=127) => {
            let days: Vec<String> = (0..7)
                .filter(|day| interval & (1 << day) != 0)
                .map(|day: u32| day.to_string())
                .collect();
            Ok(format!("{at} * * {}", days.join(",")))
        }
        (16, 1..=31) => Ok(format!("{at} {interval} * *")),
        _ => Err(format!("freq_type={kind} with freq_interval={interval}")),
    }
}

const FREQUENCY: [&str; 5] = [
    "freq_type",
    "freq_interval",
    "freq_recurrence_factor",
    "freq_subday_type",
    "active_start_time",
];

/// When an agent's schedule fires.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let number = |name: &str| {
        let mut pairs = job.schedule.split_whitespace();
        pairs
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
            .and_then(|value| value.parse::<u32>().ok())
            .ok_or_else(|| format!("{}: {name} is missing", job.origin))
    };
    let [kind, interval, every, subday, start] = FREQUENCY;
    let cron = cron_fields(
        number(kind)?,
        number(interval)?,
        number(every)?,
        number(subday)?,
        number(start)?,
    )?;
    Ok(Plan::new(cron, DayFields::Both, &job.zone))
}

/// The jobs of all scripts.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    let mut out = Vec::new();
    for path in shelf.paths(|path| path.ends_with(".sql") && !path.starts_with("jobs/")) {
        let text = shelf.text(path).unwrap_or_default();
        let raw = shelf.raw_text(path).unwrap_or_default();
        let readable = raw == text;
        for batch in batches(&text) {
            let calls = calls(&batch.text);
            let Some(add) = calls.iter().find(|call| call.procedure == "sp_add_job") else {
                continue;
            };
            let mut found = one(path, batch.line, add, &calls);
            let own = if readable { &batch.text } else { &raw };
            found.job.definition = sections::join(&[(path, own)]);
            out.push(found);
        }
    }
    Ok(out)
}

fn one(path: &str, line: usize, add: &Call, calls: &[Call]) -> Found {
    let id = add.argument("job_name");
    let mut found = Found::new(id, Scheduler::SqlAgent, path);
    let call = |name: &str| calls.iter().find(|call| call.procedure == name);
    let step = call("sp_add_jobstep").map_or("", |step| step.argument("command"));
    // The step hands its text to the engine itself; `run-sql` is how other schedulers do that.
    found.set_command(&format!("run-sql jobs/{id}.sql"));
    found.set_sql((!step.is_empty()).then(|| step.to_owned()));
    let job = &mut found.job;
    job.origin = format!("{path}:{line}");
    job.enabled = add.argument("enabled") != "0";
    job.declared_deps = names(requires(add.argument("description")));
    if let Some(schedule) = call("sp_add_jobschedule") {
        job.schedule = FREQUENCY
            .map(|name| format!("{name}={}", schedule.number(name)))
            .join(" ");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{calls, cron_fields};

    #[test]
    fn arguments_are_read_with_their_quotes() {
        let found = calls(
            "DECLARE @j BINARY(16)\nEXEC msdb.dbo.sp_add_job @job_name=N'a', @enabled=1,\n\t@job_id=@j OUTPUT\n\
             EXEC msdb.dbo.sp_add_jobstep @command=N'select ''x, y'';\nselect 2', @step_id=1\n",
        );
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].argument("job_name"), "a");
        assert_eq!(found[1].argument("command"), "select 'x, y';\nselect 2");
        assert_eq!(found[1].number("step_id"), 1);
    }

    #[test]
    fn integers_are_frequencies() {
        assert_eq!(cron_fields(8, 2, 1, 1, 60_000).unwrap(), "0 6 * * 1");
        assert_eq!(cron_fields(16, 1, 1, 1, 61_500).unwrap(), "15 6 1 * *");
        assert_eq!(cron_fields(4, 1, 0, 1, 20_000).unwrap(), "0 2 * * *");
        assert!(cron_fields(32, 1, 1, 1, 0).is_err());
        assert!(cron_fields(4, 1, 0, 4, 0).is_err());
    }
}
