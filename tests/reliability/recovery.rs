//! Figure 15: kills while it recovers.

use super::share::{PATIENCE, assert_sound, dice, finish, runs};
use crate::support::practice::Demo;
use crate::support::{Running, entries, within};
use nix::sys::signal::Signal;
use std::time::Duration;

#[test]
fn twenty_kills_while_it_recovers() {
    let mut dice = dice(12);
    let wanted = runs(10, 1);
    let mut killed = 0;
    for _ in 0..wanted {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), 7, 20);
        let mut running = Running::start(&mut demo.command());
        assert!(within(PATIENCE, || entries(&demo.ledger(), "op.applied") > 4));
        running.signal(Signal::SIGKILL);
        running.wait(PATIENCE).unwrap();
        for _ in 0..20 {
            let mut running = Running::start(&mut demo.command());
            // A start takes some tens of milliseconds: opening, verifying, settling.
            std::thread::sleep(Duration::from_millis(dice.between(0, 80)));
            running.signal(Signal::SIGKILL);
            let ended = running.wait(PATIENCE).unwrap();
            killed += u64::from(ended.code().is_none());
        }
        finish(&demo);
        assert_sound(&demo);
    }
    assert!(killed >= 10, "{killed}");
    println!(
        "figure 15: {killed} kills while it recovered, 20 in a row: every job ended, 0 twice, 0 lost"
    );
}
