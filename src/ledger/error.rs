//! What can go wrong with a ledger, with what was kept and what to do.

use std::path::PathBuf;
use thiserror::Error;

/// A ledger error. [`LedgerError::hint`] says what to do next.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// There is no such file.
    #[error("no ledger at {}", .0.display())]
    Missing(PathBuf),
    /// The file has no tables yet: whoever began it was stopped before its first commit.
    #[error("{} has no entry yet", .0.display())]
    Empty(PathBuf),
    /// The file is no ledger.
    #[error("{} is not a dogwatch ledger: {why}", path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// A newer program wrote it.
    #[error("{} has schema {found}; this program knows schemas up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// Another engine holds it.
    #[error("another engine holds {}: {holder}", path.display())]
    Held {
        /// The file.
        path: PathBuf,
        /// Who.
        holder: String,
    },
    /// It is older than what was committed before.
    #[error("{} is an older copy: it ends at entry {found}, but entry {known} was committed", path.display())]
    OlderCopy {
        /// The file.
        path: PathBuf,
        /// Its last entry.
        found: i64,
        /// The last entry that was committed.
        known: i64,
    },
    /// The disk does not keep what SQLite promises.
    #[error("{} would not be durable: {why}", path.display())]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// What was read back.
        why: String,
    },
    /// No space is left.
    #[error("no space left for {}: {free}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What is free and what is needed.
        free: String,
    },
    /// The content does not fit its hashes or its form.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        why: String,
    },
    /// An entry that this process may not append, or a body that cannot be written.
    #[error("{0}")]
    Refused(String),
    /// Reading or writing a file beside the ledger failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// SQLite said something else.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        source: rusqlite::Error,
    },
}

impl LedgerError {
    /// Sorts SQLite's errors into the ones a person can act on.
    pub(crate) fn from_sqlite(path: &std::path::Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_path_buf();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::full(&path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged {
                path,
                why: source.to_string(),
            },
            Some(ErrorCode::NotADatabase) => Self::NotALedger {
                path,
                why: source.to_string(),
            },
            _ => Self::Sqlite { path, source },
        }
    }

    /// A full disk, with what is free now.
    pub(crate) fn full(path: &std::path::Path) -> Self {
        let needed = super::reserve::RESERVE_BYTES / (1024 * 1024);
        let free = super::reserve::free_bytes(path).map_or_else(
            || "nobody knows how much is free".to_owned(),
            |bytes| format!("{:.1} MiB free", bytes as f64 / 1_048_576.0),
        );
        Self::Full {
            path: path.to_path_buf(),
            free: format!("{free}, {needed} MiB needed"),
        }
    }

    /// What was kept and what to do next, one sentence or two.
    pub fn hint(&self) -> String {
        use rusqlite::ErrorCode;
        match self {
            Self::Missing(_) => {
                "Adopt a goal (dogwatch adopt FILE) or start the practice migration (dogwatch demo).".into()
            }
            Self::Empty(_) => {
                "Nothing was lost: it was never written to. Adopt a goal (dogwatch adopt FILE), or start again \
                 what was stopped."
                    .into()
            }
            Self::NotALedger { .. } => {
                "The file was not touched. Name the right one with --ledger FILE.".into()
            }
            Self::Newer { .. } => {
                "The file was not touched. Use the newer program, or a copy from before its upgrade.".into()
            }
            Self::Held { .. } => {
                "Watch it with `dogwatch attach`; decisions reach the running engine from any process.".into()
            }
            Self::OlderCopy { .. } => {
                "Nothing was changed. Put the newest copy back. If it is lost, look every operation up in \
                 the world, then remove the .head file beside the ledger to accept the older one."
                    .into()
            }
            Self::NotDurable { .. } => "Nothing was done. Move the ledger to a local file system.".into(),
            Self::Full { .. } => {
                "Everything committed is kept and nothing new is started. Free some space; a running engine \
                 then goes on by itself."
                    .into()
            }
            Self::Damaged { .. } => {
                "Nothing was changed. `dogwatch verify` lists what is damaged; restore a copy from a backup."
                    .into()
            }
            Self::Refused(_) => "Nothing was written.".into(),
            Self::Io { .. } => "Everything committed is kept. Check the path and its permissions.".into(),
            Self::Sqlite { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    "Nothing was written. Check that the file and its directory are writable for this \
                     account."
                        .into()
                }
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    "Nothing was written. Another process held the ledger for too long; try again.".into()
                }
                _ => "Everything committed is kept.".into(),
            },
        }
    }
}
