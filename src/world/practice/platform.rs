//! The hosts that commands run on: folders, programs, locks, the network.

use super::shell::{Call, Host, absolute};
use super::{date_of_day, shell::Shell};
use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of a run's log that are kept.
pub const MAX_LOG: usize = 16 * 1024;
/// Most effects that one run may have.
pub const MAX_EFFECTS: usize = 1_000;

/// Folders of the new scheduler's hosts.
pub const NEW_FOLDERS: &[&str] = &[
    "/",
    "/dev",
    "/srv",
    "/srv/etl",
    "/srv/etl/jobs",
    "/srv/etl/log",
    "/srv/etl/in",
    "/srv/etl/out",
    "/srv/etl/backup",
    "/opt/etl",
    "/opt/etl/bin",
    "/var/lock",
    "/tmp",
];
/// Folders that only the old hosts have: the account's home, and the link in it.
pub const OLD_FOLDERS: &[&str] = &[
    "/home",
    "/home/etl",
    "/home/etl/etl",
    "/home/oozie",
    "/home/oozie/.ssh",
];

const ETL_PROGRAMS: &[&str] = &[
    "run-sql",
    "run-ops",
    "vacuum-warehouse",
    "dump-warehouse",
    "purge-events",
    "count-rows",
    "rotate-logs",
    "check-disk",
    "etl-listener",
    "poll-orders",
    "sample-events",
    "push-manifest",
    "post-ledger",
    "compact-archive",
];
const SYSTEM_PROGRAMS: &[&str] = &[
    "date", "echo", "printf", "test", "[", "flock", "curl", "ssh", "env", "sleep",
];
const DATABASES: &[&str] = &["warehouse", "crm-replica"];

/// The path that a command gets when its environment sets none.
pub const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Runs a job's SQL; gives a line for the log, or why it failed.
pub type RunSql<'a> = dyn FnMut(&BTreeSet<String>) -> Result<String, String> + 'a;

/// One host, for one run.
pub struct Platform<'a> {
    /// The old hosts have folders, keys and files that the new ones lack.
    pub old: bool,
    /// The logical day; the run's programs see its midnight as the time.
    pub day: i64,
    /// Locks that others hold: name to holder.
    pub held: &'a BTreeMap<String, String>,
    /// Locks that this run holds.
    pub taken: BTreeSet<String>,
    /// Hosts that do not answer: name to what is seen.
    pub hosts: &'a BTreeMap<String, String>,
    /// Differs for every run: what a program that draws at random would do.
    pub nonce: String,
    /// Runs the job's SQL.
    pub run_sql: &'a mut RunSql<'a>,
    /// Programs that did work.
    pub tasks: u32,
    /// What they did, one line each.
    pub effects: Vec<String>,
    /// The log.
    pub log: String,
}

impl Host for Platform<'_> {
    fn run(&mut self, call: &Call<'_>) -> (i32, String) {
        match self.found(call) {
            Ok(program) => self.program(&program, call),
            Err((status, message)) => {
                self.log(&message);
                (status, String::new())
            }
        }
    }

    fn has_folder(&self, path: &str) -> bool {
        NEW_FOLDERS.contains(&path) || (self.old && OLD_FOLDERS.contains(&path))
    }

    fn log(&mut self, line: &str) {
        let room = MAX_LOG.saturating_sub(self.log.len());
        if room > 0 {
            self.log.extend(line.chars().take(room));
            self.log.push('\n');
        }
    }
}

impl Platform<'_> {
    /// The program's name, when it is where the command looks for it.
    fn found(&self, call: &Call<'_>) -> Result<String, (i32, String)> {
        let word = call.argv.first().map_or("", String::as_str);
        let (folders, name) = match word.rsplit_once('/') {
            Some((folder, name)) => (absolute(call.folder, folder), name),
            None => (
                call.environment
                    .get("PATH")
                    .cloned()
                    .unwrap_or_else(|| DEFAULT_PATH.to_owned()),
                word,
            ),
        };
        let found = folders.split(':').any(|folder| match folder {
            "/opt/etl/bin" => ETL_PROGRAMS.contains(&name),
            "/usr/bin" | "/bin" => SYSTEM_PROGRAMS.contains(&name),
            _ => false,
        });
        if found {
            Ok(name.to_owned())
        } else {
            Err((127, format!("sh: {word}: command not found")))
        }
    }

    fn program(&mut self, program: &str, call: &Call<'_>) -> (i32, String) {
        let arguments = call.argv.get(1..).unwrap_or_default();
        match program {
            "date" => self.date(arguments),
            "echo" | "printf" => {
                let text = format!("{}\n", arguments.join(" "));
                if !call.outputs.is_empty() {
                    self.effect(program, arguments, call);
                }
                (0, text)
            }
            "test" | "[" => (i32::from(!test(program, arguments)), String::new()),
            "sleep" => (0, String::new()),
            "env" => self.env(arguments, call),
            "flock" => self.flock(arguments, call),
            "run-sql" => self.run_sql(arguments, call),
            "curl" => self.curl(arguments, call),
            "ssh" => self.ssh(arguments, call),
            "sample-events" => {
                let nonce = self.nonce.clone();
                self.work(program, arguments, call, &format!(" drew {nonce}"))
            }
            _ => self.work(program, arguments, call, ""),
        }
    }

    fn work(
        &mut self,
        program: &str,
        arguments: &[String],
        call: &Call<'_>,
        note: &str,
    ) -> (i32, String) {
        self.tasks += 1;
        self.effect(program, arguments, call);
        if let Some(last) = self.effects.last_mut() {
            last.push_str(note);
        }
        self.log(&format!("{program}: done"));
        (0, String::new())
    }

    /// One line for what a program did. Where its log goes is not part of what it does.
    fn effect(&mut self, program: &str, arguments: &[String], call: &Call<'_>) {
        if self.effects.len() >= MAX_EFFECTS {
            return;
        }
        let mut line = program.to_owned();
        for text in arguments {
            line.push(' ');
            line.push_str(text);
        }
        for output in call
            .outputs
            .iter()
            .filter(|o| !o.contains("/srv/etl/log/") && !o.ends_with("/dev/null"))
        {
            line.push(' ');
            line.push_str(output);
        }
        self.effects.push(line);
    }

    fn fail(&mut self, status: i32, message: &str) -> (i32, String) {
        self.log(message);
        (status, String::new())
    }

    fn date(&mut self, arguments: &[String]) -> (i32, String) {
        let mut day = self.day;
        let mut format = "%a %b %e %H:%M:%S CEST %Y".to_owned();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let when = match word.as_str() {
                "-u" => continue,
                "-d" => words.next().map_or("", String::as_str),
                text if text.starts_with("--date=") => text.trim_start_matches("--date="),
                "-I" => "%F",
                text if text.starts_with('+') => {
                    format = text.trim_start_matches('+').to_owned();
                    continue;
                }
                other => return self.fail(1, &format!("date: invalid date '{other}'")),
            };
            day += match when {
                "today" | "now" => 0,
                "tomorrow" | "+1 day" | "1 day" => 1,
                "yesterday" | "-1 day" | "1 day ago" => -1,
                "%F" => {
                    when.clone_into(&mut format);
                    0
                }
                other => return self.fail(1, &format!("date: invalid date '{other}'")),
            };
        }
        let midnight = date_of_day(day).at(0, 0, 0, 0);
        match jiff::fmt::strtime::format(&format, midnight) {
            Ok(text) => (0, format!("{text}\n")),
            Err(error) => self.fail(1, &format!("date: invalid format '{format}': {error}")),
        }
    }

    fn env(&mut self, arguments: &[String], call: &Call<'_>) -> (i32, String) {
        let mut environment = call.environment.clone();
        let mut rest = arguments;
        while let Some((name, value)) = rest.first().and_then(|word| word.split_once('=')) {
            environment.insert(name.to_owned(), value.to_owned());
            rest = rest.get(1..).unwrap_or_default();
        }
        self.nested(rest, &environment, call)
    }

    fn nested(
        &mut self,
        argv: &[String],
        environment: &BTreeMap<String, String>,
        call: &Call<'_>,
    ) -> (i32, String) {
        match argv {
            [] => (0, String::new()),
            [shell, flag, script, ..] if flag == "-c" && shell.ends_with("sh") => {
                let mut inner = Shell {
                    environment: environment.clone(),
                    folder: call.folder.to_owned(),
                    host: self,
                    // One level short of the limit per program: recursion through programs is bounded too.
                    depth: 8,
                };
                match inner.run(script) {
                    Ok(result) => result,
                    Err(error) => self.fail(2, &error.0),
                }
            }
            _ => self.run(&Call {
                argv,
                environment,
                folder: call.folder,
                outputs: call.outputs,
                input: call.input,
            }),
        }
    }

    fn flock(&mut self, arguments: &[String], call: &Call<'_>) -> (i32, String) {
        let mut skip = false;
        let mut rest = arguments;
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            match option.as_str() {
                "-n" | "--nb" | "--nonblock" => skip = true,
                "-x" | "-e" | "--exclusive" => {}
                "-w" | "--timeout" => rest = rest.get(1..).unwrap_or_default(),
                other => return self.fail(64, &format!("flock: unknown option {other}")),
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        let Some((lock, mut command)) = rest.split_first() else {
            return self.fail(64, "flock: no lock file");
        };
        let lock = absolute(call.folder, lock);
        if let Some(holder) = self.held.get(&lock) {
            if skip {
                let line = format!("flock: {lock} is held by {holder}; skipped: lock held");
                return self.fail(1, &line);
            }
            self.log(&format!("flock: waited for {holder} to release {lock}"));
        }
        self.taken.insert(lock);
        let shell = ["sh".to_owned(), "-c".to_owned()];
        let words: Vec<String>;
        if command.first().is_some_and(|word| word == "-c") {
            words = shell
                .iter()
                .chain(command.iter().skip(1))
                .cloned()
                .collect();
            command = &words;
        }
        self.nested(command, call.environment, call)
    }

    fn run_sql(&mut self, arguments: &[String], call: &Call<'_>) -> (i32, String) {
        let mut file: Option<&String> = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                if file.replace(word).is_some() {
                    return self.fail(2, &format!("run-sql: unexpected argument {word}"));
                }
                continue;
            }
            let value = words.next().map_or("", String::as_str);
            let fits = match word.as_str() {
                "--stamp" => value.len() == 8 && value.bytes().all(|b| b.is_ascii_digit()),
                "--db" => DATABASES.contains(&value),
                "--mail-to" => value.contains('@'),
                _ => return self.fail(2, &format!("run-sql: unknown option {word}")),
            };
            if !fits {
                return self.fail(2, &format!("run-sql: {word}: '{value}' is not one"));
            }
        }
        let Some(file) = file else {
            return self.fail(2, "run-sql: no file");
        };
        let path = absolute(call.folder, file);
        let jobs = path.starts_with("/srv/etl/jobs/")
            || (self.old && path.starts_with("/home/etl/etl/jobs/"));
        if !jobs || !path.ends_with(".sql") {
            return self.fail(1, &format!("run-sql: {file}: No such file or directory"));
        }
        match (self.run_sql)(&self.taken) {
            Ok(line) => {
                self.tasks += 1;
                self.effect("run-sql", arguments, call);
                self.log(&line);
                (0, String::new())
            }
            Err(line) => self.fail(1, &line),
        }
    }

    fn curl(&mut self, arguments: &[String], call: &Call<'_>) -> (i32, String) {
        let url = arguments.iter().find(|word| word.contains("://"));
        let Some(host) = url.and_then(|url| url.split('/').nth(2)) else {
            return self.fail(3, "curl: (3) no URL");
        };
        match self.hosts.get(host) {
            Some(seen) if seen.starts_with("HTTP ") => {
                let line = format!("curl: (22) The requested URL returned error: {seen}");
                self.fail(22, &line)
            }
            Some(_) => self.fail(6, &format!("curl: (6) Could not resolve host: {host}")),
            None => self.work("curl", arguments, call, ""),
        }
    }

    fn ssh(&mut self, arguments: &[String], call: &Call<'_>) -> (i32, String) {
        let key = arguments
            .iter()
            .position(|word| word == "-i")
            .and_then(|at| arguments.get(at + 1));
        if self.old || key.is_none() && arguments.is_empty() {
            return self.work("ssh", arguments, call, "");
        }
        let key = key.map_or("no key", String::as_str);
        self.fail(
            255,
            &format!("ssh: {key}: no such identity; Permission denied (publickey)"),
        )
    }
}

/// `test` and `[`: string comparison, `-n`, `-z`; files and numbers as far as jobs use them.
fn test(program: &str, arguments: &[String]) -> bool {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let words = match (program, words.as_slice()) {
        ("[", [inner @ .., "]"]) => inner,
        ("[", _) => return false,
        (_, all) => all,
    };
    let number = |text: &str| text.parse::<i64>().ok();
    match words {
        [one] => !one.is_empty(),
        ["!", rest @ ..] => !test(
            "test",
            &rest.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(),
        ),
        ["-n", text] => !text.is_empty(),
        ["-z", text] => text.is_empty(),
        [a, "=" | "==", b] => a == b,
        [a, "!=", b] => a != b,
        [a, operator, b] => match (number(a), number(b)) {
            (Some(a), Some(b)) => match *operator {
                "-eq" => a == b,
                "-ne" => a != b,
                "-lt" => a < b,
                "-le" => a <= b,
                "-gt" => a > b,
                "-ge" => a >= b,
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
#[path = "platform_tests.rs"]
mod tests;
