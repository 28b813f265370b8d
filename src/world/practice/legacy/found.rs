//! A job as one format's reader found it, with what only the search for holds needs.

use super::types::{Guard, LegacyFile, OldJob, Scheduler};
use crate::model::JobId;
use crate::world::practice::definition::Lock;
use std::collections::{BTreeMap, BTreeSet};

/// The zone of the old hosts.
pub const HOST_ZONE: &str = "Europe/Berlin";

/// A job and the facts about its surroundings in the files.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub job: OldJob,
    /// The file that the scheduler's text stands in.
    pub file: String,
    /// The host that the file says it is installed on.
    pub host: Option<String>,
    /// The person that the file names for this job.
    pub person: Option<String>,
    /// The programme that it serves, where its file says so.
    pub programme: Option<String>,
    /// Whether its line is commented out.
    pub commented_out: bool,
    /// Whether its file has commented lines only.
    pub nothing_installed: bool,
    /// Where an active line under the commented one runs the same.
    pub twin: Option<String>,
    /// Its last day, `YYYY-MM-DD`, where it has one.
    pub ends: Option<String>,
}

/// All files by path, for readers that need more than one.
pub(super) struct Shelf<'a> {
    files: BTreeMap<&'a str, &'a [u8]>,
}

impl<'a> Shelf<'a> {
    pub(super) fn new(files: &'a [LegacyFile]) -> Self {
        Self {
            files: files
                .iter()
                .map(|file| (file.path.as_str(), file.bytes.as_slice()))
                .collect(),
        }
    }

    /// Paths that satisfy a test, in order.
    pub(super) fn paths(&self, test: impl Fn(&str) -> bool) -> Vec<&'a str> {
        self.files
            .keys()
            .copied()
            .filter(|path| test(path))
            .collect()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// A file's text as it is really encoded.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.files.get(path).map(|bytes| decode(bytes))
    }

    /// A file's text as a reader gets it who takes every file for UTF-8.
    pub(super) fn raw_text(&self, path: &str) -> Option<String> {
        self.files
            .get(path)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Decodes UTF-16 with a byte order mark, else UTF-8; line ends become `\n`.
fn decode(bytes: &[u8]) -> String {
    let units = |from: fn([u8; 2]) -> u16| -> Vec<u16> {
        bytes
            .chunks_exact(2)
            .skip(1)
            .filter_map(|pair| <[u8; 2]>::try_from(pair).ok().map(from))
            .collect()
    };
    let text = match bytes {
        [0xFF, 0xFE, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xFE, 0xFF, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    text.replace("\r\n", "\n")
}

impl Found {
    /// A job of which a reader knows nothing else yet.
    pub(super) fn new(id: &str, scheduler: Scheduler, file: &str) -> Self {
        Self {
            job: OldJob {
                id: JobId::from(id),
                origin: file.to_owned(),
                scheduler,
                definition: String::new(),
                enabled: true,
                schedule: String::new(),
                zone: HOST_ZONE.to_owned(),
                guard: None,
                declared_deps: Vec::new(),
                command: String::new(),
                environment: BTreeMap::new(),
                user: "etl".to_owned(),
                working_folder: "/srv/etl".to_owned(),
                lock: None,
                sql: None,
                table: None,
                hold: None,
            },
            file: file.to_owned(),
            host: None,
            person: None,
            programme: None,
            commented_out: false,
            nothing_installed: false,
            twin: None,
            ends: None,
        }
    }

    /// Takes the command, and what it says about locks and about ticks on which it does nothing.
    pub(super) fn set_command(&mut self, command: &str) {
        command.clone_into(&mut self.job.command);
        self.job.lock = lock_in(command);
        if says_last_day_only(command) {
            self.job.guard = Some(Guard::LastDayOfMonth);
        }
    }

    /// Takes the SQL when the command runs the job's own text of the repository.
    pub(super) fn set_sql(&mut self, sql: Option<String>) {
        self.job.table = sql.as_deref().and_then(written_table);
        self.job.sql = sql;
    }
}

/// Names separated by blanks or commas.
pub(super) fn names(text: &str) -> Vec<JobId> {
    text.split([' ', ',', '\t'])
        .filter(|name| !name.is_empty())
        .map(JobId::from)
        .collect()
}

/// The test that shops write for "tomorrow is the first": `date -d tomorrow +%d` compared with 01.
pub(super) fn says_last_day_only(command: &str) -> bool {
    command.contains("date -d tomorrow +%d") && command.contains("= 01 ]")
}

/// The lock of a `flock` call: with `-n` a taken lock skips the run, without it the run waits.
pub fn lock_in(command: &str) -> Option<Lock> {
    let mut words = command
        .split_whitespace()
        .skip_while(|word| *word != "flock");
    words.next()?;
    let mut wait = true;
    for word in words {
        match word {
            "-n" | "--nonblock" => wait = false,
            option if option.starts_with('-') => {}
            name => {
                return Some(Lock {
                    name: name.to_owned(),
                    wait,
                });
            }
        }
    }
    None
}

/// The table that a job's SQL writes: the one it inserts into or creates.
pub fn written_table(sql: &str) -> Option<String> {
    for lead in [
        "insert into ",
        "create table if not exists ",
        "create table ",
    ] {
        if let Some((_, rest)) = sql.split_once(lead) {
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            return (!name.is_empty()).then_some(name);
        }
    }
    None
}

/// Path of the repository's SQL that a command runs.
pub fn sql_path_in(command: &str) -> Option<&str> {
    let mut words = command.split([' ', '\'', '"']);
    words.find(|word| word.starts_with("jobs/") && word.ends_with(".sql"))
}

/// The job's own SQL: the one of its name. A line that runs another job's text is not that job.
pub(super) fn own_sql<'a>(id: &str, command: &'a str) -> Option<&'a str> {
    sql_path_in(command).filter(|path| *path == format!("jobs/{id}.sql"))
}

/// Words that appear at most once, in order.
pub(super) fn without_repeats(ids: Vec<JobId>) -> Vec<JobId> {
    let mut seen = BTreeSet::new();
    ids.into_iter()
        .filter(|id| seen.insert(id.clone()))
        .collect()
}
