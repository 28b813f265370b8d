//! One engine a ledger: a kernel file lock beside it.
//!
//! The lock lives as long as the process; a killed engine leaves nothing to time out. What is written
//! in the file is for the message only.

use super::error::LedgerError;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who holds a ledger, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
}

impl Holder {
    /// This process.
    pub fn current() -> Self {
        let host = nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok())
            .unwrap_or_else(|| "unknown host".to_owned());
        Self {
            pid: std::process::id(),
            host,
        }
    }
}

/// The held lock; released when dropped or when the process ends in any way.
#[derive(Debug)]
pub(crate) struct EngineLock {
    _file: File,
}

/// The lock file of a ledger.
pub(crate) fn lock_path(ledger: &Path) -> PathBuf {
    beside(ledger, "lock")
}

/// A file beside the ledger, such as `ledger.db.lock`.
pub(crate) fn beside(ledger: &Path, suffix: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

/// Whether an engine holds the ledger now. Asks the kernel; a file left behind means nothing.
pub fn engine_runs(ledger: &Path) -> bool {
    match File::open(lock_path(ledger)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// Takes the lock; a process that only asks whether an engine runs holds it for a moment.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    for _ in 0..3 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(40)),
            other => return other,
        }
    }
    file.try_lock()
}

impl EngineLock {
    pub(crate) fn take(ledger: &Path) -> Result<Self, LedgerError> {
        let path = lock_path(ledger);
        let io = |source| LedgerError::Io {
            path: path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io)?;
        match lock_soon(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let holder = serde_json::from_str::<Holder>(&text).map_or_else(
                    |_| "it is starting now".to_owned(),
                    |holder| format!("process {} on {}", holder.pid, holder.host),
                );
                return Err(LedgerError::Held {
                    path: ledger.to_path_buf(),
                    holder,
                });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let text = serde_json::to_string(&Holder::current()).unwrap_or_default();
        file.set_len(0).map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        // A full disk must not keep the engine from starting; the text is for a message only.
        let _ = file.write_all(text.as_bytes());
        Ok(Self { _file: file })
    }
}
