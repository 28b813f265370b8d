//! Crontabs as Vixie cron reads them: environment lines govern the lines under them, `CRON_TZ` sets
//! the zone of the schedules under it, a `%` ends the command unless a backslash stands before it.

use super::found::{Found, HOST_ZONE, Shelf, names, own_sql};
use super::instants::{DayFields, Plan};
use super::sections;
use super::types::{OldJob, Scheduler};
use std::collections::BTreeMap;

/// Most lines of one crontab; the rest would not be read, so a longer file is refused.
const MAX_LINES: usize = 20_000;

/// A line of a crontab that starts something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its line, from 1.
    pub line: usize,
    /// Whether it is commented out.
    pub commented_out: bool,
    /// Five fields or a nickname.
    pub schedule: String,
    /// The rest, byte for byte.
    pub command: String,
    /// Environment lines above it, in order; a later one of the same name wins.
    pub environment: Vec<(String, String)>,
    /// Comment lines directly above it, without `#`.
    pub comments: Vec<String>,
    /// The line itself.
    pub text: String,
}

impl Entry {
    /// What a comment `key: value` above the line, or in the file's head, says.
    pub fn comment(&self, key: &str) -> Option<&str> {
        comment_value(&self.comments, key)
    }

    /// The value of an environment line that governs this one.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let mut lines = self.environment.iter().rev();
        lines
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

fn comment_value<'a>(comments: &'a [String], key: &str) -> Option<&'a str> {
    comments.iter().find_map(|line| {
        line.trim()
            .strip_prefix(key)?
            .strip_prefix(':')
            .map(str::trim)
    })
}

/// All lines of a crontab that start something, commented ones included.
///
/// # Errors
/// When the file is too long or a line is none of blank, comment, environment and entry.
pub fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let mut found = Vec::new();
    let mut environment: Vec<(String, String)> = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if index >= MAX_LINES {
            return Err(format!("more than {MAX_LINES} lines"));
        }
        let trimmed = line.trim();
        let bare = trimmed.trim_start_matches('#');
        let commented_out = bare.len() < trimmed.len();
        if trimmed.is_empty() {
            comments.clear();
        } else if commented_out && entry_parts(bare).is_none() {
            comments.push(bare.trim().to_owned());
        } else if let Some(pair) = assignment(bare).filter(|_| !commented_out) {
            environment.push(pair);
        } else if let Some((schedule, command)) = entry_parts(bare) {
            found.push(Entry {
                line: index + 1,
                commented_out,
                schedule,
                command,
                environment: environment.clone(),
                comments: std::mem::take(&mut comments),
                text: line.to_owned(),
            });
        } else {
            return Err(format!("line {}: not a crontab line", index + 1));
        }
    }
    Ok(found)
}

/// `NAME=value`, quotes taken off.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let first = name.chars().next()?;
    let word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !word || first.is_ascii_digit() {
        return None;
    }
    let value = value.trim();
    let unquoted = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value);
    Some((name.to_owned(), unquoted.to_owned()))
}

/// Schedule and command of a line, when it has both.
fn entry_parts(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    if line.starts_with('@') {
        let (nickname, command) = line.split_once(char::is_whitespace)?;
        return Some((nickname.to_owned(), command.trim().to_owned()));
    }
    let mut rest = line;
    let mut schedule = Vec::with_capacity(5);
    for place in 0..5 {
        let (field, after) = rest.split_once(char::is_whitespace)?;
        let named = place > 2;
        let ok = |c: char| {
            c.is_ascii_digit() || "*,-/".contains(c) || (named && c.is_ascii_alphabetic())
        };
        if field.is_empty() || !field.chars().all(ok) {
            return None;
        }
        schedule.push(field);
        rest = after.trim_start();
    }
    (!rest.is_empty()).then(|| (schedule.join(" "), rest.to_owned()))
}

/// The job that a command belongs to: its log's name, else the SQL that it runs.
pub fn job_name(command: &str) -> Option<&str> {
    let stem = |from: &str, until: &str| {
        let (_, rest) = command.split_once(from)?;
        rest.split_once(until).map(|(name, _)| name)
    };
    stem("log/", ".log")
        .or_else(|| stem("jobs/", ".sql"))
        .filter(|name| !name.contains([' ', '/']))
}

/// What the shell gets: cut at the first bare `%`, and `\%` is `%`.
fn shell_text(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'%') => {
                chars.next();
                out.push('%');
            }
            '%' => break,
            other => out.push(other),
        }
    }
    out
}

/// A crontab's nicknames as five fields; `@reboot` has none.
pub fn five_fields(schedule: &str) -> Option<&str> {
    match schedule {
        "@reboot" => None,
        "@hourly" => Some("0 * * * *"),
        "@daily" | "@midnight" => Some("0 0 * * *"),
        "@weekly" => Some("0 0 * * 0"),
        "@monthly" => Some("0 0 1 * *"),
        "@yearly" | "@annually" => Some("0 0 1 1 *"),
        fields => Some(fields),
    }
}

/// When a cron job fires.
pub(super) fn plan(job: &OldJob) -> Result<Plan, String> {
    let fields = five_fields(&job.schedule)
        .ok_or_else(|| format!("{} fires at the start of its host, at no time", job.id))?;
    Ok(Plan::new(fields, DayFields::Either, &job.zone))
}

/// The jobs of all crontabs.
pub(super) fn read(shelf: &Shelf<'_>) -> Result<Vec<Found>, String> {
    let host = host_environment(shelf);
    let mut out = Vec::new();
    for path in shelf.paths(|path| path.ends_with(".crontab") || path.ends_with(".crontab.orig")) {
        let text = shelf.text(path).unwrap_or_default();
        let lines = entries(&text).map_err(|why| format!("{path}: {why}"))?;
        let head = head_comments(&text);
        for entry in &lines {
            let mut found = one(shelf, path, entry, &host);
            found.host = comment_value(&head, "host").map(str::to_owned);
            found.nothing_installed = lines.iter().all(|other| other.commented_out);
            found.twin = twin(path, entry, &lines);
            out.push(found);
        }
    }
    Ok(out)
}

/// An active line under a commented one that runs the same but for its log.
fn twin(path: &str, entry: &Entry, lines: &[Entry]) -> Option<String> {
    let what = |entry: &Entry| -> String {
        let (before, _) = entry
            .command
            .split_once(">>")
            .unwrap_or((&entry.command, ""));
        before.trim().to_owned()
    };
    lines
        .iter()
        .find(|other| {
            entry.commented_out
                && !other.commented_out
                && other.line > entry.line
                && what(other) == what(entry)
        })
        .map(|other| format!("{path}:{}", other.line))
}

fn head_comments(text: &str) -> Vec<String> {
    text.lines()
        .take_while(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_owned())
        .collect()
}

/// What every session of the host gets, cron's too.
fn host_environment(shelf: &Shelf<'_>) -> BTreeMap<String, String> {
    let text = shelf.text("etc/environment").unwrap_or_default();
    let own = [
        ("HOME", "/home/etl"),
        ("LOGNAME", "etl"),
        ("USER", "etl"),
        ("SHELL", "/bin/sh"),
        ("PATH", "/usr/bin:/bin"),
    ];
    own.into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .chain(
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .filter_map(assignment),
        )
        .collect()
}

fn one(shelf: &Shelf<'_>, path: &str, entry: &Entry, host: &BTreeMap<String, String>) -> Found {
    let unnamed = format!("{path}:{}", entry.line);
    let id = job_name(&entry.command).unwrap_or(&unnamed);
    let mut found = Found::new(id, Scheduler::Cron, path);
    found.set_command(&shell_text(&entry.command));
    found.commented_out = entry.commented_out;
    found.person = entry.comment("owner").map(str::to_owned);
    let sql_path = own_sql(id, &entry.command);
    found.set_sql(sql_path.and_then(|path| shelf.text(path)));
    let job = &mut found.job;
    job.origin = format!("{path}:{}", entry.line);
    job.enabled = !entry.commented_out;
    job.schedule.clone_from(&entry.schedule);
    job.zone = entry.variable("CRON_TZ").unwrap_or(HOST_ZONE).to_owned();
    job.declared_deps = entry.comment("requires").map(names).unwrap_or_default();
    job.environment = host.clone();
    job.environment.extend(entry.environment.iter().cloned());
    "/home/etl".clone_into(&mut job.working_folder);
    let own_text = own_text(entry);
    let sql = sql_path.and_then(|path| Some((path, shelf.raw_text(path)?)));
    job.definition = match &sql {
        Some((sql_path, sql)) => sections::join(&[(path, &own_text), (sql_path, sql)]),
        None => sections::join(&[(path, &own_text)]),
    };
    found
}

/// The line with what governs it: environment lines, then its comments, then itself.
fn own_text(entry: &Entry) -> String {
    let mut text = String::new();
    for (name, value) in &entry.environment {
        text.push_str(&format!("{name}={value}\n"));
    }
    for comment in &entry.comments {
        text.push_str(&format!("# {comment}\n"));
    }
    text.push_str(&entry.text);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{entries, shell_text};

    #[test]
    fn lines_are_told_apart() {
        let text = "# made by hand\nPATH=/bin\n\n#5 0 * * * old\n# requires: a b\n7 1 * * Mon cd /x && y\n\
                    CRON_TZ=Asia/Kolkata\n\t@daily z\n";
        let found = entries(text).unwrap();
        assert_eq!(found.len(), 3);
        assert!(found[0].commented_out);
        assert_eq!(found[1].comment("requires"), Some("a b"));
        assert_eq!(found[1].schedule, "7 1 * * Mon");
        assert_eq!(found[1].variable("CRON_TZ"), None, "it stands below");
        assert_eq!(found[2].variable("CRON_TZ"), Some("Asia/Kolkata"));
        assert!(entries("this is no crontab\n").is_err());
    }

    #[test]
    fn percent_is_cut_unless_escaped() {
        assert_eq!(shell_text(r"date '+\%F'"), "date '+%F'");
        assert_eq!(shell_text("date +%F"), "date +");
    }
}
