//! Figure 8: the terminal goes away in the middle of an approval.

use super::share::{PATIENCE, dice, runs};
use crate::pty_support::Term;
use crate::support::practice::Demo;
use crate::support::{binary, call, dogwatch, entries, look, within};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

#[test]
fn nothing_half_typed_counts() {
    let mut dice = dice(14);
    let wanted = runs(50, 4);
    // How far the answer had got.
    let typed = ["", "a", "a\u{1b}[B", "r", "rbecause", "/fin", ":", "?"];
    let mut slowest = Duration::ZERO;
    for number in 0..wanted {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), 7, 20);
        let place = dir.path().to_str().unwrap();
        let words = [
            "demo", "--seed", "7", "--jobs", "20", "--speed", "3000", "--dir", place,
        ];
        let mut term = Term::start(&binary(), words);
        term.sees("Jobs 20");
        let asked = within(PATIENCE, || {
            entries(&demo.ledger(), "approval.requested") > 0
        });
        assert!(asked, "nothing was asked");
        term.keys("3");
        std::thread::sleep(Duration::from_millis(200));
        let keys = typed[number as usize % typed.len()];
        term.keys(keys);
        std::thread::sleep(Duration::from_millis(dice.between(0, 150)));
        let began = Instant::now();
        term.hang_up();
        term.exits(Duration::from_secs(5));
        slowest = slowest.max(began.elapsed());
        // Work goes on without the terminal, and nobody answered anything.
        let goes_on = || {
            let status = call(&demo.ledger(), &["status", "--json"]);
            status.code() == Some(0) && status.json()["engine"]["running"] == true
        };
        assert!(within(PATIENCE, goes_on), "after {keys:?} nothing goes on");
        assert_eq!(
            entries(&demo.ledger(), "decision.submitted"),
            0,
            "after {keys:?}"
        );
        assert_eq!(
            entries(&demo.ledger(), "approval.decided"),
            0,
            "after {keys:?}"
        );
        let mut again = Term::start(
            &binary(),
            ["attach", "--ledger", demo.ledger().to_str().unwrap()],
        );
        again.sees("Jobs 20");
        again.keys("q");
        again.exits(Duration::from_secs(5));
        let engine: i32 = look(&demo.ledger())
            .query_row("select pid from engine", [], |row| row.get(0))
            .unwrap();
        kill(Pid::from_raw(engine), Signal::SIGTERM).unwrap();
        assert!(within(PATIENCE, || {
            call(&demo.ledger(), &["status", "--json"]).json()["engine"]["running"] == false
        }));
        crate::support::run(dogwatch(&demo.ledger()).arg("verify")).expect_code(0);
    }
    println!(
        "figure 8: {wanted} terminals lost in mid-approval: the interface was gone within {slowest:?}, work went on, 0 \
         answers counted"
    );
}
