//! Faults at system calls of the binary as it is shipped: nothing in it has to help.

use crate::support::practice::Demo;
use crate::support::{Ended, Running};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls by which the ledger and the practice world reach the disk.
pub const CALLS: [&str; 5] = ["pwrite64", "fsync", "write", "unlink", "ftruncate"];

/// Files of the ledger.
pub fn ledger_files(demo: &Demo) -> Vec<PathBuf> {
    let ledger = demo.ledger();
    ["", "-wal", "-journal"]
        .iter()
        .map(|end| with_end(&ledger, end))
        .collect()
}

/// Files of ledger and world that matter for what happened; without the world while it is built.
pub fn all_files(demo: &Demo) -> Vec<PathBuf> {
    let mut files = ledger_files(demo);
    files.push(with_end(&demo.ledger(), ".head"));
    files.push(demo.world());
    files.push(with_end(&demo.world(), "-wal"));
    files
}

pub fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// A command under strace, restricted to some files and calls.
pub fn traced(
    inner: &Command,
    more: &[&str],
    files: &[PathBuf],
    calls: &str,
    log: &Path,
    inject: &str,
) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(log).args(more);
    for file in files {
        command.arg("-P").arg(file);
    }
    command.args(["-e", &format!("trace={calls}")]);
    if !inject.is_empty() {
        command.args(["-e", &format!("inject={inject}")]);
    }
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(std::process::Stdio::null());
    command
}

/// How often a call happens on some files in a whole run.
pub fn count(demo: &Demo, files: &[PathBuf], call: &str) -> u64 {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = traced(&demo.command(), &[], files, call, log.path(), "");
    let ended = Running::start(&mut command).wait(super::share::PATIENCE);
    ended.expect("the traced run hangs").expect_code(0);
    let text = std::fs::read_to_string(log.path()).unwrap();
    let begun = format!("{call}(");
    text.lines().filter(|line| line.contains(&begun)).count() as u64
}

/// A run with a fault at a call.
pub struct Struck {
    /// Its end; nothing when it hung and was killed.
    pub ended: Option<Ended>,
    /// How many calls the fault really struck.
    pub fired: u64,
}

/// Runs with an injection such as `fsync:error=EIO:when=3+`.
pub fn strike(
    inner: &Command,
    files: &[PathBuf],
    inject: &str,
    patience: std::time::Duration,
) -> Struck {
    let log = tempfile::NamedTempFile::new().unwrap();
    let call = inject.split(':').next().unwrap();
    let mut command = traced(inner, &[], files, call, log.path(), inject);
    let mut running = Running::start(&mut command);
    let ended = running.wait(patience);
    drop(running);
    let text = std::fs::read_to_string(log.path()).unwrap();
    let marks = ["(INJECTED)", "+++ killed by SIGKILL +++"];
    let fired = text
        .lines()
        .filter(|line| marks.iter().any(|mark| line.contains(mark)))
        .count() as u64;
    Struck { ended, fired }
}
