//! Figure 6: two engines at once, a holder that is killed, a holder that stands still.

use super::share::{PATIENCE, assert_sound, dice, finish, runs};
use crate::support::practice::Demo;
use crate::support::{Running, dogwatch, entries, within};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// From the start of a refused engine to its end; the target is 200 ms, this is a busy machine's.
const REFUSED_SOON: Duration = Duration::from_secs(5);

fn slow(demo: &Demo) -> std::process::Command {
    let mut command = dogwatch(&demo.ledger());
    command
        .args([
            "demo",
            "--headless",
            "--seed",
            &demo.seed.to_string(),
            "--jobs",
            "20",
        ])
        .args([
            "--speed",
            "600",
            "--json",
            "--approve",
            "practice-owner",
            "--dir",
        ])
        .arg(&demo.dir);
    command
}

#[test]
fn one_of_two_works_whatever_the_gap() {
    let mut dice = dice(9);
    let wanted = runs(200, 6);
    let (mut slowest, mut gaps) = (Duration::ZERO, 0);
    for number in 0..wanted {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), 7, 20);
        let gap = if number == 0 { 0 } else { dice.between(0, 500) };
        gaps += gap;
        let mut first = Running::start(&mut slow(&demo));
        std::thread::sleep(Duration::from_millis(gap));
        let mut second = Running::start(&mut slow(&demo));
        // Either may be the one that holds the ledger; the other ends by itself.
        let began = Instant::now();
        let loser = loop {
            if let Some(ended) = second.wait(Duration::from_millis(5)) {
                break ended;
            }
            if let Some(ended) = first.wait(Duration::from_millis(5)) {
                break ended;
            }
            assert!(began.elapsed() < PATIENCE, "gap {gap}: both run");
        };
        slowest = slowest.max(loser.took);
        assert_eq!(loser.code(), Some(1), "gap {gap}: {}", loser.err);
        assert!(
            loser.err.contains("another engine holds"),
            "gap {gap}: {}",
            loser.err
        );
        assert!(loser.err.contains("dogwatch attach"), "{}", loser.err);
        drop((first, second));
        finish(&demo);
        assert_sound(&demo);
    }
    assert!(slowest < REFUSED_SOON, "{slowest:?}");
    println!(
        "figure 6: {wanted} pairs, gaps 0 to 500 ms (mean {} ms): one worked, the other said who holds it within \
         {slowest:?}; 0 twice",
        gaps / wanted
    );
}

#[test]
fn after_a_killed_holder_the_next_starts_and_a_stopped_one_keeps_its_lock() {
    let mut dice = dice(10);
    let wanted = runs(50, 3);
    let mut starts = Vec::new();
    for _ in 0..wanted {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), 7, 20);
        let mut holder = Running::start(&mut slow(&demo));
        assert!(within(PATIENCE, || entries(
            &demo.ledger(),
            "engine.started"
        ) == 1));
        std::thread::sleep(Duration::from_millis(dice.between(0, 200)));
        holder.signal(Signal::SIGSTOP);
        let ended = Running::start(&mut slow(&demo))
            .wait(PATIENCE)
            .expect("hangs");
        assert_eq!(ended.code(), Some(1), "{}", ended.err);
        let said = format!("process {}", holder.id());
        assert!(ended.err.contains(&said), "{}", ended.err);
        assert!(ended.took < REFUSED_SOON, "{:?}", ended.took);
        holder.signal(Signal::SIGKILL);
        holder.wait(PATIENCE).unwrap();
        let began = Instant::now();
        let mut next = Running::start(&mut slow(&demo));
        assert!(within(PATIENCE, || entries(
            &demo.ledger(),
            "engine.started"
        ) == 2));
        starts.push(began.elapsed());
        next.signal(Signal::SIGKILL);
        next.wait(PATIENCE).unwrap();
        finish(&demo);
        assert_sound(&demo);
    }
    starts.sort();
    println!(
        "figure 6, holder stopped and killed: {wanted} times the second was refused and the next one started, median \
         {:?} after the kill",
        starts[starts.len() / 2]
    );
}
