//! Figure 4: no space. Nothing new is started, one message says so, and work goes on by itself.

use super::share::{PATIENCE, assert_sound, dice, has, runs, spread};
use super::strace::{count, strike, with_end};
use crate::support::practice::{Demo, strings};
use crate::support::{Running, call, dogwatch, entries, look, within};
use nix::sys::signal::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn writes_that_find_no_space_are_tried_again() {
    if !has("strace") {
        return;
    }
    let mut dice = dice(11);
    let fresh = tempfile::tempdir().unwrap();
    let plain = Demo::small(fresh.path(), 7, 4);
    let log = |demo: &Demo| vec![with_end(&demo.ledger(), "-wal")];
    let last = count(&plain, &log(&plain), "pwrite64");
    let (mut cases, mut waited, mut at_start) = (0, 0, 0);
    for number in spread(last, runs(last, 6), &mut dice) {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo::small(dir.path(), 7, 4);
        // Five tries in a row fail.
        let inject = format!("pwrite64:error=ENOSPC:when={number}..{}", number + 4);
        let struck = strike(&demo.command(), &log(&demo), &inject, PATIENCE);
        assert!(struck.fired > 0, "{inject} never fired");
        let ended = struck.ended.unwrap_or_else(|| panic!("{inject}: hung"));
        cases += 1;
        let said = ended.err.matches("no space left").count();
        if ended.code() == Some(0) {
            waited += u64::from(said > 0);
            assert!(said <= 2, "{inject}: {}", ended.err);
        } else {
            // Before a goal is adopted there is nothing to wait for.
            at_start += 1;
            assert_eq!(ended.code(), Some(1), "{inject}: {}", ended.err);
            assert!(
                said == 1 && ended.err.contains("MiB free"),
                "{inject}: {}",
                ended.err
            );
            super::share::finish(&demo);
        }
        assert_sound(&demo);
    }
    assert!(waited > 0, "no run waited for space");
    println!(
        "figure 4, injected: {cases} runs met ENOSPC, {waited} waited and went on by themselves, {at_start} were refused \
         before any work began; 0 twice, 0 lost"
    );
}

/// A file system of its own, unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, mib: u32) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn fill(place: &Path) -> PathBuf {
    let filler = place.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[7; 4096]).is_ok() {}
    filler
}

/// The practice goal, its world elsewhere, its ledger on the small file system.
fn goal(dir: &Path) -> PathBuf {
    let text = include_str!("../../assets/practice/goal.toml")
        .replace("{limit}", "300")
        .replace("{seed}", "3")
        .replace("{jobs}", "60");
    let file = dir.join("goal.toml");
    std::fs::write(&file, text).unwrap();
    file
}

fn run_on(ledger: &Path, file: &Path) -> Command {
    let mut command = dogwatch(ledger);
    command
        .env("HOME", file.parent().unwrap())
        .args([
            "run",
            "--headless",
            "--exit-when-waiting",
            "--yes",
            "--speed",
            "2000",
            "--json",
        ])
        .arg(file);
    command
}

#[test]
fn a_full_file_system_is_waited_out_and_can_be_left() {
    for leaves in [false, true] {
        let (dir, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let Some(small) = Small::mount(disk.path(), 24) else {
            println!(
                "NOT RUN: no file system can be mounted here; the injected ENOSPC stands for it"
            );
            return;
        };
        let ledger = disk.path().join("ledger.db");
        let file = goal(dir.path());
        let mut running = Running::start(&mut run_on(&ledger, &file));
        assert!(within(PATIENCE, || entries(&ledger, "op.applied") > 2));
        let filler = fill(disk.path());
        let full = Instant::now();
        let state = || -> String {
            look(&ledger)
                .query_row("select state from engine", [], |row| row.get(0))
                .unwrap_or_default()
        };
        assert!(
            within(PATIENCE, || state() == "no space"),
            "the full disk was never told"
        );
        let noticed = full.elapsed();
        // Reading and verifying work, and nothing is intended any more.
        let told = call(&ledger, &["status"]).expect_code(0).out;
        assert!(told.contains("no space on the disk"), "{told}");
        call(&ledger, &["verify"]).expect_code(0);
        call(&ledger, &["jobs", "--json"]).expect_code(0);
        let intended = entries(&ledger, "op.intended");
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(entries(&ledger, "op.intended"), intended);
        if leaves {
            running.signal(Signal::SIGTERM);
            let ended = running.wait(PATIENCE).expect("it cannot be left");
            let ended = ended.expect_code(0);
            assert_eq!(ended.json()["finish"], "stopped");
            assert_eq!(
                entries(&ledger, "engine.stopped"),
                1,
                "the last words are missing"
            );
            println!(
                "figure 4, file system full: left with its last words in {:?}",
                ended.took
            );
        } else {
            std::fs::remove_file(filler).unwrap();
            let freed = Instant::now();
            let went_on = within(PATIENCE, || entries(&ledger, "op.intended") > intended);
            assert!(went_on, "it did not go on");
            let resumed = freed.elapsed();
            let ended = running.wait(PATIENCE).expect("hangs").expect_code(10);
            assert_eq!(
                ended.err.matches("no space left").count(),
                1,
                "{}",
                ended.err
            );
            assert!(
                ended.err.contains("MiB free, 16 MiB needed"),
                "{}",
                ended.err
            );
            assert!(ended.err.contains("work goes on"), "{}", ended.err);
            assert!(with_end(&ledger, ".reserve").exists());
            println!(
                "figure 4, file system full: noticed within {noticed:?}, went on {resumed:?} after there was space"
            );
        }
        let twice = strings(
            &look(&dir.path().join("world.db")),
            "select operation_id from effects group by operation_id, action having count(*) > 1",
        );
        assert_eq!(twice, Vec::<String>::new());
        call(&ledger, &["verify"]).expect_code(0);
        drop(small);
    }
}
