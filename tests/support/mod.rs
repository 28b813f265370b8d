//! What the end-to-end tests share: the binary, its JSON, and looks into the files that bypass dogwatch.

#![allow(
    dead_code,
    reason = "each test binary uses the part of it that it needs"
)]

pub mod practice;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A binary that ended.
pub struct Ended {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Ended {
    /// The exit code; a signal is none.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    /// Fails the test unless the exit code is the one expected.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}\n{}", self.out, self.err);
        self
    }
}

/// The binary that is tested: cargo's own, or the one that `DOGWATCH_BIN` names.
pub fn binary() -> PathBuf {
    std::env::var_os("DOGWATCH_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_dogwatch")),
        PathBuf::from,
    )
}

/// The binary with a ledger; the account's own ledger and data are out of its reach.
pub fn dogwatch(ledger: &Path) -> Command {
    let mut command = Command::new(binary());
    let home = ledger.parent().unwrap_or(ledger);
    command
        .env("DOGWATCH_LEDGER", ledger)
        .env("HOME", home)
        .env_remove("XDG_DATA_HOME")
        .env_remove("SSH_CONNECTION")
        .stdin(Stdio::null());
    command
}

/// Runs to its end.
pub fn run(command: &mut Command) -> Ended {
    let begun = Instant::now();
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Ended {
        status,
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
        took: begun.elapsed(),
    }
}

/// A subcommand over a ledger, to its end.
pub fn call(ledger: &Path, words: &[&str]) -> Ended {
    run(dogwatch(ledger).args(words))
}

/// A subcommand's JSON; it must end well.
#[track_caller]
pub fn json(ledger: &Path, words: &[&str]) -> Value {
    call(ledger, words).expect_code(0).json()
}

/// A started binary whose output goes to files, so that no pipe can fill; killed when dropped.
pub struct Running {
    child: Child,
    out: tempfile::NamedTempFile,
    err: tempfile::NamedTempFile,
    begun: Instant,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let (out, err) = (
            tempfile::NamedTempFile::new().unwrap(),
            tempfile::NamedTempFile::new().unwrap(),
        );
        command.stdout(out.reopen().unwrap());
        command.stderr(err.reopen().unwrap());
        Self {
            child: command.spawn().unwrap(),
            out,
            err,
            begun: Instant::now(),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its end within a time, or nothing.
    pub fn wait(&mut self, at_most: Duration) -> Option<Ended> {
        let until = Instant::now() + at_most;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(Ended {
                    status,
                    out: std::fs::read_to_string(self.out.path()).unwrap(),
                    err: std::fs::read_to_string(self.err.path()).unwrap(),
                    took: self.begun.elapsed(),
                });
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.id()).unwrap());
        // A process that has just ended cannot be signalled any more.
        let _ = nix::sys::signal::kill(id, signal);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a condition; false when it does not come in time.
pub fn within(at_most: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + at_most;
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    condition()
}

/// A SQLite file, to be looked at only.
pub fn look(path: &Path) -> rusqlite::Connection {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = rusqlite::Connection::open_with_flags(path, flags).unwrap();
    conn.busy_timeout(Duration::from_secs(5)).unwrap();
    conn
}

/// How many entries of a kind the ledger has; none when it is not there yet.
pub fn entries(ledger: &Path, kind: &str) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    rusqlite::Connection::open_with_flags(ledger, flags)
        .and_then(|conn| {
            conn.query_row(
                "select count(*) from events where kind = ?1",
                [kind],
                |row| row.get(0),
            )
        })
        .unwrap_or(0)
}

/// A number of an environment variable, or the default for `cargo test`.
pub fn number_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Small, seeded, and the same everywhere.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// From `low` to below `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + self.0 % (high - low)
    }
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
