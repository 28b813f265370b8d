//! Figure 3: the Nth write or flush of the ledger fails, for every N, once and for good.

use super::share::{PATIENCE, assert_sound, dice, finish, has, runs, spread};
use super::strace::{Struck, count, ledger_files, strike};
use crate::support::practice::Demo;
use crate::support::{call, look};
use std::path::Path;
use std::time::Duration;

/// From the fault to the end of the process; the target is 2 s, this is a busy machine's.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn the_nth_write_or_flush_fails() {
    if !has("strace") {
        return;
    }
    let mut dice = dice(3);
    let (mut cases, mut fired, mut refused) = (0, 0, 0);
    for (calls, error) in [
        ("fsync", "EIO"),
        ("fsync", "ENOSPC"),
        ("pwrite64", "EIO"),
        ("ftruncate", "EIO"),
    ] {
        let fresh = tempfile::tempdir().unwrap();
        let plain = Demo::small(fresh.path(), 7, 4);
        let last = count(&plain, &ledger_files(&plain), calls);
        for number in spread(last, runs(last, 3.min(last)), &mut dice) {
            for sticky in ["", "+"] {
                let dir = tempfile::tempdir().unwrap();
                let demo = Demo::small(dir.path(), 7, 4);
                let inject = format!("{calls}:error={error}:when={number}{sticky}");
                let struck = strike(&demo.command(), &ledger_files(&demo), &inject, SOON);
                assert!(struck.fired > 0, "{inject} never fired");
                fired += struck.fired;
                cases += 1;
                refused += u64::from(told(&struck, &inject));
                assert_acknowledged(&demo.ledger(), &inject);
                finish(&demo);
                assert_sound(&demo);
            }
        }
    }
    println!(
        "figure 3: {cases} runs met {fired} failed writes and flushes, {refused} ended with a clear error, the others \
         did not need the call; hung 0, lost 0, restart finished all"
    );
}

/// Whether the process said that it could not go on; it never hangs and never panics.
#[track_caller]
fn told(struck: &Struck, inject: &str) -> bool {
    let ended = struck
        .ended
        .as_ref()
        .unwrap_or_else(|| panic!("{inject}: hung"));
    assert!(!ended.err.contains("panicked"), "{inject}: {}", ended.err);
    if ended.code() == Some(0) {
        return false;
    }
    assert_eq!(ended.code(), Some(1), "{inject}: {}", ended.err);
    assert!(
        ended.err.starts_with("dogwatch: "),
        "{inject}: {}",
        ended.err
    );
    true
}

/// The last entry that the engine took for durable is in the file.
#[track_caller]
pub fn assert_acknowledged(ledger: &Path, what: &str) {
    let Ok(head) = std::fs::read_to_string(super::strace::with_end(ledger, ".head")) else {
        return;
    };
    let (seq, hash) = head.trim().split_once(' ').unwrap();
    let found: String = look(ledger)
        .query_row(
            "select hash from events where seq = ?1",
            [seq.parse::<i64>().unwrap()],
            |row| row.get(0),
        )
        .unwrap_or_else(|error| panic!("{what}: entry {seq} was acknowledged: {error}"));
    assert_eq!(found, hash, "{what}");
    call(ledger, &["verify"]).expect_code(0);
}

#[test]
fn a_fault_while_it_starts_again() {
    if !has("strace") {
        return;
    }
    let mut dice = dice(4);
    let mut fired = 0;
    for number in spread(40, runs(40, 4), &mut dice) {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), 7, 4);
        let files = ledger_files(&demo);
        let cut = strike(
            &demo.command(),
            &files,
            "fsync:signal=KILL:when=25",
            PATIENCE,
        );
        assert!(cut.fired > 0);
        let inject = format!("pwrite64:error=EIO:when={number}+");
        let struck = strike(&demo.command(), &files, &inject, SOON);
        fired += struck.fired;
        told(&struck, &inject);
        finish(&demo);
        assert_sound(&demo);
    }
    assert!(fired > 0);
    println!("figure 15, recovery: {fired} failed writes while it started again: every run ended");
}
