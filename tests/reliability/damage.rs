//! Figure 5: flipped bits, cut files, foreign and missing logs, an older copy put back.

use super::share::{PATIENCE, dice, runs};
use super::strace::with_end;
use crate::support::practice::{Demo, strings};
use crate::support::{Running, call, dogwatch, look, run, within};
use nix::sys::signal::Signal;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// Every row of every table that says something; the beat is for messages only.
fn rows(ledger: &Path) -> Result<BTreeMap<String, Vec<String>>, rusqlite::Error> {
    let conn = Connection::open(ledger)?;
    let mut statement = conn.prepare(
        "select name from sqlite_master where type = 'table' and name not in ('engine') and name not like 'sqlite_%'",
    )?;
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut all = BTreeMap::new();
    for name in names {
        let mut statement = conn.prepare(&format!("select * from \"{name}\""))?;
        let width = statement.column_count();
        let mut found = statement
            .query_map([], |row| {
                (0..width)
                    .map(|at| row.get_ref(at).map(|cell| format!("{cell:?}")))
                    .collect::<Result<Vec<_>, _>>()
                    .map(|cells| cells.join("|"))
            })?
            .collect::<Result<Vec<String>, _>>()?;
        found.sort();
        all.insert(name, found);
    }
    Ok(all)
}

fn finished(dir: &Path) -> Demo {
    let demo = Demo::small(dir, 7, 4);
    run(&mut demo.command()).expect_code(0);
    demo
}

/// A run killed somewhere in the middle, with a log that was not taken over yet.
fn half_done(dir: &Path) -> Demo {
    let demo = Demo::small(dir, 7, 20);
    let mut running = Running::start(&mut demo.command());
    let far = within(PATIENCE, || {
        crate::support::entries(&demo.ledger(), "op.applied") > 8
    });
    assert!(far);
    running.signal(Signal::SIGKILL);
    running.wait(PATIENCE).unwrap();
    demo
}

#[test]
fn every_flipped_bit_that_changes_a_row_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let demo = finished(dir.path());
    let whole = std::fs::read(demo.ledger()).unwrap();
    let right = rows(&demo.ledger()).unwrap();
    let mut dice = dice(7);
    let wanted = runs(1_200, 24);
    let (mut refused, mut found, mut harmless) = (0, 0, 0);
    for _ in 0..wanted {
        let place = tempfile::tempdir().unwrap();
        let ledger = place.path().join("ledger.db");
        let mut bytes = whole.clone();
        let (at, bit) = (
            dice.between(0, whole.len() as u64) as usize,
            dice.between(0, 8),
        );
        bytes[at] ^= 1 << bit;
        std::fs::write(&ledger, &bytes).unwrap();
        let ended = call(&ledger, &["verify"]);
        match ended.code() {
            Some(1) => refused += 1,
            Some(3) => found += 1,
            Some(0) => {
                let same = rows(&ledger).is_ok_and(|rows| rows == right);
                assert!(
                    same,
                    "byte {at} bit {bit} changed a row and verify said nothing"
                );
                harmless += 1;
            }
            other => panic!("byte {at} bit {bit}: {other:?} {}", ended.err),
        }
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    }
    assert!(refused + found > 0);
    println!(
        "figure 5: {wanted} flipped bits: {found} found by verify, {refused} refused as damaged, {harmless} changed no \
         row; silent 0"
    );
}

#[test]
fn an_engine_starts_no_operation_of_a_damaged_job() {
    let dir = tempfile::tempdir().unwrap();
    let demo = half_done(dir.path());
    Connection::open(demo.ledger())
        .unwrap()
        .execute_batch("pragma wal_checkpoint(truncate)")
        .unwrap();
    let whole = std::fs::read(demo.ledger()).unwrap();
    let world = std::fs::read(demo.world()).unwrap();
    let world_log = std::fs::read(with_end(&demo.world(), "-wal")).unwrap_or_default();
    let mut dice = dice(8);
    let wanted = runs(400, 8);
    let (mut refused, mut went_on, mut damaged) = (0, 0, 0);
    for _ in 0..wanted {
        let place = tempfile::tempdir().unwrap();
        let demo = Demo::small(place.path(), 7, 20);
        let mut bytes = whole.clone();
        let at = dice.between(0, whole.len() as u64) as usize;
        bytes[at] ^= 1 << dice.between(0, 8);
        std::fs::write(demo.ledger(), &bytes).unwrap();
        std::fs::write(demo.world(), &world).unwrap();
        if !world_log.is_empty() {
            std::fs::write(with_end(&demo.world(), "-wal"), &world_log).unwrap();
        }
        let before = call(&demo.ledger(), &["verify"]).code();
        // Without an owner, who would wait for the damaged job for ever.
        let mut command = dogwatch(&demo.ledger());
        command.args(["run", "--headless", "--exit-when-waiting", "--speed", "max"]);
        let ended = Running::start(&mut command).wait(PATIENCE).expect("hangs");
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        if ended.code() == Some(1) {
            refused += 1;
            continue;
        }
        went_on += 1;
        if before != Some(0) {
            damaged += 1;
        }
        let world = look(&demo.world());
        let twice = strings(
            &world,
            "select operation_id from effects group by operation_id, action having count(*) > 1",
        );
        assert_eq!(twice, Vec::<String>::new(), "byte {at}");
        let moved_twice = strings(
            &world,
            "select job from production_jobs group by job having count(*) > 1",
        );
        assert_eq!(moved_twice, Vec::<String>::new(), "byte {at}");
        let unapproved = strings(
            &look(&demo.ledger()),
            "select i.job from events i where i.kind = 'op.intended' and i.body ->> 'action' = 'cut_over' \
             and not exists (select 1 from events d where d.kind = 'approval.decided' and d.job = i.job \
               and d.seq < i.seq and d.body ->> 'approved' = 1)",
        );
        assert_eq!(unapproved, Vec::<String>::new(), "byte {at}");
    }
    println!(
        "figure 5, at start: {wanted} flipped bits: {refused} times nothing was started, {went_on} times the others went \
         on ({damaged} with damage that verify also finds); 0 twice, 0 unapproved"
    );
}

#[test]
fn a_cut_missing_foreign_or_older_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let demo = half_done(dir.path());
    let (ledger, log) = (demo.ledger(), with_end(&demo.ledger(), "-wal"));
    let kept = (
        std::fs::read(&ledger).unwrap(),
        std::fs::read(&log).unwrap(),
    );
    assert!(!kept.1.is_empty(), "the log was taken over already");
    let put_back = || {
        std::fs::write(&ledger, &kept.0).unwrap();
        std::fs::write(&log, &kept.1).unwrap();
        let _ = std::fs::remove_file(with_end(&ledger, "-shm"));
    };
    let effects = || -> i64 {
        look(&demo.world())
            .query_row("select count(*) from effects", [], |row| row.get(0))
            .unwrap()
    };
    let before = effects();
    let refuses = |what: &str| {
        let ended = Running::start(&mut demo.command())
            .wait(PATIENCE)
            .expect("hangs");
        assert_eq!(ended.code(), Some(1), "{what}: {}{}", ended.out, ended.err);
        assert!(ended.err.starts_with("dogwatch: "), "{what}: {}", ended.err);
        assert!(
            ended.err.lines().count() >= 2,
            "{what}, no remedy: {}",
            ended.err
        );
        assert_eq!(effects(), before, "{what}");
        println!("figure 5, {what}: {}", ended.err.lines().next().unwrap());
    };

    std::fs::remove_file(&log).unwrap();
    refuses("the log is gone");

    put_back();
    let other = tempfile::tempdir().unwrap();
    let stranger = Demo::small(other.path(), 8, 20);
    let mut running = Running::start(&mut stranger.command());
    assert!(within(PATIENCE, || {
        crate::support::entries(&stranger.ledger(), "op.applied") > 8
    }));
    running.signal(Signal::SIGKILL);
    running.wait(PATIENCE).unwrap();
    std::fs::copy(with_end(&stranger.ledger(), "-wal"), &log).unwrap();
    refuses("the log of another ledger");

    put_back();
    let half = kept.1.len() / 2;
    std::fs::write(&log, &kept.1[..half]).unwrap();
    refuses("half of the log");

    put_back();
    Connection::open(&ledger)
        .unwrap()
        .execute_batch("pragma wal_checkpoint(truncate)")
        .unwrap();
    let older = std::fs::read(&ledger).unwrap();
    let cut = &older[..older.len() - 3 * 4096];
    std::fs::write(&ledger, cut).unwrap();
    refuses("the tail is cut off");

    std::fs::write(&ledger, &older).unwrap();
    super::share::finish(&demo);
    let (newest, last) = (std::fs::read(&ledger).unwrap(), effects());
    std::fs::write(&ledger, &older).unwrap();
    let _ = std::fs::remove_file(&log);
    let ended = Running::start(&mut demo.command()).wait(PATIENCE).unwrap();
    assert!(ended.err.contains("older copy"), "{}", ended.err);
    assert_eq!((ended.code(), effects()), (Some(1), last));
    std::fs::write(&ledger, newest).unwrap();
    super::share::assert_sound(&demo);
    println!("figure 5, an older copy put back: refused, nothing done");
}
