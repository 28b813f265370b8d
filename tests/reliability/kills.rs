//! Figure 1: SIGKILL at any moment, and at every boundary between the process and the disk.
//!
//! The boundaries are the system calls by which ledger and world are written, so each commit and each call
//! into the practice world has several: before its first write, between any two, before and after its
//! flush. Compiled-in fail points would be about twenty of them and another binary than the shipped one.

use super::share::{PATIENCE, assert_sound, dice, finish, has, runs, spread};
use super::strace::{CALLS, all_files, count, strike};
use crate::support::Running;
use crate::support::practice::Demo;
use nix::sys::signal::Signal;
use std::time::Duration;

#[test]
fn at_random_moments() {
    let wanted = runs(1_000, 10);
    let mut dice = dice(1);
    let (mut killed, mut ran, mut longest_row) = (0, 0, 0);
    while killed < wanted {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), dice.between(1, 1_000), 20);
        ran += 1;
        let mut row = 0;
        // Up to 20 in a row; then it may end in peace.
        while row < 20 && killed < wanted {
            let mut running = Running::start(&mut demo.command());
            let pause = Duration::from_millis(dice.between(5, 900));
            if running.wait(pause).is_some() {
                break;
            }
            running.signal(Signal::SIGKILL);
            let ended = running.wait(PATIENCE).unwrap();
            if ended.code().is_some() {
                break;
            }
            killed += 1;
            row += 1;
        }
        longest_row = longest_row.max(row);
        finish(&demo);
        assert_sound(&demo);
    }
    println!(
        "figure 1, random: {killed} kills in {ran} runs of 20 jobs, up to {longest_row} in a row: 0 twice, 0 lost"
    );
}

#[test]
fn at_every_boundary() {
    if !has("strace") {
        return;
    }
    let whole = tempfile::tempdir().unwrap();
    let demo = Demo::small(whole.path(), 7, 4);
    let mut dice = dice(2);
    let (mut boundaries, mut killed) = (0, 0);
    for call in CALLS {
        let fresh = tempfile::tempdir().unwrap();
        let plain = Demo::small(fresh.path(), 7, 4);
        let last = count(&plain, &all_files(&plain), call);
        boundaries += last;
        for number in spread(last, runs(last, 2.min(last)), &mut dice) {
            let dir = tempfile::tempdir().unwrap();
            let demo = Demo::small(dir.path(), demo.seed, demo.jobs);
            let inject = format!("{call}:signal=KILL:when={number}");
            let struck = strike(&demo.command(), &all_files(&demo), &inject, PATIENCE);
            let ended = struck.ended.expect("a killed run is still there");
            // Each of its threads is told.
            assert!(
                ended.code().is_none() && struck.fired > 0,
                "{inject}: {}",
                ended.err
            );
            killed += 1;
            finish(&demo);
            assert_sound(&demo);
        }
    }
    assert!(boundaries > 500, "{boundaries}");
    println!(
        "figure 1, boundaries: {killed} of {boundaries} writes, flushes and removals met SIGKILL: 0 twice, 0 lost"
    );
}
