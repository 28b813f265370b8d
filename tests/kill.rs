//! SIGKILL at random moments: the run goes on where it stopped, and nothing happens twice or is forgotten.
//!
//! `DOGWATCH_KILLS` sets how often one run is killed (5), `DOGWATCH_KILL_SEED` which moments are drawn,
//! `DOGWATCH_JOBS` how many jobs there are (24).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use nix::sys::signal::Signal;
use std::time::Duration;
use support::practice::{Demo, assert_kept_its_promises, strings};
use support::{Dice, Running, entries, look, number_of, within};

/// Longer than any start or run on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn a_run_killed_again_and_again_keeps_its_promises() {
    let kills = number_of("DOGWATCH_KILLS", 5);
    let seed = number_of("DOGWATCH_KILL_SEED", 1);
    println!("{kills} kills, DOGWATCH_KILL_SEED={seed}");
    let dir = tempfile::tempdir().unwrap();
    let demo = Demo::new(dir.path(), 7);
    let mut dice = Dice::new(seed);
    let count = |demo: &Demo| {
        let entries =
            look(&demo.ledger()).query_row("select count(*) from events", [], |row| row.get(0));
        entries.unwrap_or(0_i64)
    };
    // An uncut run of this seed has more than 17 entries a job: the kills are spread over them.
    let stretch = u64::from(demo.jobs) * 17 / kills.max(1);
    let mut killed = 0;
    for number in 1..=kills {
        let mut running = Running::start(&mut demo.command());
        // Every fifth dies while it starts, the others after some more work than the last one did.
        let moment = if number % 5 == 3 {
            Moment::After(Duration::from_millis(dice.between(0, 400)))
        } else {
            Moment::Entries((number * stretch - dice.between(0, stretch)) as i64)
        };
        match moment {
            Moment::After(time) => std::thread::sleep(time),
            Moment::Entries(wanted) => {
                let reached = within(PATIENCE, || {
                    demo.ledger().exists()
                        && entries(&demo.ledger(), "engine.started") > 0
                        && count(&demo) >= wanted
                });
                assert!(reached, "{wanted} entries were never reached");
                // Not at a commit, but somewhere between two.
                std::thread::sleep(Duration::from_micros(dice.between(0, 30_000)));
            }
        }
        running.signal(Signal::SIGKILL);
        let ended = running.wait(PATIENCE).unwrap();
        killed += u64::from(ended.code().is_none());
    }
    assert_eq!(killed, kills, "a run ended before it was killed");

    let ended = Running::start(&mut demo.command()).wait(PATIENCE).unwrap();
    let report = ended.expect_code(0).json();
    assert_eq!(report["finish"], "ended");
    assert_kept_its_promises(&demo, &report);

    let ledger = look(&demo.ledger());
    let unclean = strings(
        &ledger,
        "select body from events where kind = 'engine.started' and body ->> 'after_clean_stop' = 0",
    );
    println!("{} of {kills} kills met a working engine", unclean.len());
    assert!(!unclean.is_empty());
    assert_eq!(entries(&demo.ledger(), "engine.stopped"), 1);
}

enum Moment {
    After(Duration),
    Entries(i64),
}
