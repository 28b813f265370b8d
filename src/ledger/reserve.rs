//! Space kept free beside the ledger, so that reading, export and quitting work on a full disk.

use super::lock::beside;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What is kept.
pub(super) const RESERVE_BYTES: u64 = 16 * 1024 * 1024;

/// The reserve of one ledger.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    /// Given up on a full disk; nothing is written before it is back.
    given_up: bool,
}

impl Reserve {
    /// Of a ledger; nothing is done yet.
    pub(super) fn of(ledger: &Path) -> Self {
        Self {
            path: beside(ledger, "reserve"),
            given_up: false,
        }
    }

    fn is_kept(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() == RESERVE_BYTES)
    }

    /// Keeps the space; false when there is not enough. Without it everything still works until the disk
    /// is full.
    pub(super) fn keep(&self) -> bool {
        if self.is_kept() {
            return true;
        }
        let kept = File::create(&self.path).and_then(|file| {
            nix::fcntl::posix_fallocate(&file, 0, RESERVE_BYTES as i64)
                .map_err(std::io::Error::from)
        });
        if kept.is_err() {
            // A partly written reserve would only take the space it is meant to keep.
            drop(std::fs::remove_file(&self.path));
        }
        kept.is_ok()
    }

    /// Gives the space up, for readers and for the last words.
    pub(super) fn give_up(&mut self) {
        self.given_up = self.given_up || self.is_kept();
        drop(std::fs::remove_file(&self.path));
    }

    /// Whether there is room for more than the last words: what was given up is there again.
    pub(super) fn is_back(&mut self) -> bool {
        if self.given_up && self.keep() {
            self.given_up = false;
        }
        !self.given_up
    }
}

/// Bytes that this account can still write beside a file.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = parent.unwrap_or(Path::new("."));
    let found = nix::sys::statvfs::statvfs(dir).ok()?;
    Some(
        found
            .blocks_available()
            .saturating_mul(found.fragment_size()),
    )
}
