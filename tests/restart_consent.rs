//! After an unclean stop: what differs between the ledger and the world is put before a person, and nothing
//! is started until it is accepted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use nix::sys::signal::Signal;
use rusqlite::Connection;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{Running, call, dogwatch, entries, json, look, within};

const PATIENCE: Duration = Duration::from_secs(120);

/// A practice goal of 10 jobs without faults, worked on until only its owner can move it on.
fn place(dir: &Path) -> PathBuf {
    let text = include_str!("../assets/practice/goal.toml")
        .replace("{limit}", "300")
        .replace("{seed}", "3")
        .replace("{jobs}", "10");
    let goal = dir.join("goal.toml");
    std::fs::write(&goal, text).unwrap();
    let ledger = dir.join("ledger.db");
    go_on(&ledger, &["--yes", goal.to_str().unwrap()], 10);
    ledger
}

fn go_on(ledger: &Path, more: &[&str], code: i32) -> Value {
    let mut words = vec!["run", "--headless", "--exit-when-waiting", "--json"];
    words.extend(["--speed", "max"]);
    words.extend(more);
    call(ledger, &words).expect_code(code).json()
}

/// An engine that does not say goodbye.
fn killed(ledger: &Path) {
    let before = entries(ledger, "engine.started");
    let mut command = dogwatch(ledger);
    command.args(["run", "--headless", "--goal", "practice"]);
    let mut running = Running::start(&mut command);
    assert!(within(PATIENCE, || entries(ledger, "engine.started") > before));
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait(PATIENCE).unwrap().code(), None);
}

/// Jobs whose request is open, in order.
fn asked(ledger: &Path) -> Vec<(String, String)> {
    let list = json(ledger, &["approvals", "--json"]);
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = list["approvals"].as_array().unwrap();
    rows.iter()
        .map(|row| (word(row, "job"), word(row, "digest")))
        .collect()
}

fn world(ledger: &Path) -> PathBuf {
    ledger.with_file_name("world.db")
}

fn in_production(ledger: &Path) -> i64 {
    let sql = "select count(*) from effects where action = 'cut_over'";
    look(&world(ledger))
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

fn state_of(ledger: &Path, job: &str) -> String {
    let shown = json(ledger, &["show", job, "--json"]);
    shown["facts"]["state"].as_str().unwrap().to_owned()
}

fn held(ledger: &Path) -> u64 {
    let status = json(ledger, &["status", "--json"]);
    status["overview"]["held"].as_u64().unwrap()
}

#[test]
fn what_others_did_while_no_engine_ran_is_accepted_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = place(dir.path());
    let requests = asked(&ledger);
    let (by_hand, run_gone, approved) = (&requests[0].0, &requests[1].0, &requests[2]);
    killed(&ledger);
    let conn = Connection::open(world(&ledger)).unwrap();
    conn.execute(
        "insert into production_jobs(operation_id, job, config, config_digest, created_ms, hidden_lookups)
         values ('by-hand', ?1, 'x', 'abc', 0, 0)",
        [by_hand],
    )
    .unwrap();
    let gone = "select no from staging_jobs where job = ?1";
    for sql in [
        format!("delete from staging_runs where no in ({gone})"),
        "delete from staging_jobs where job = ?1".to_owned(),
    ] {
        assert!(conn.execute(&sql, [run_gone]).unwrap() > 0, "{sql}");
    }
    drop(conn);

    // The owner said yes to something else: held all the same.
    call(&ledger, &["approve", &approved.0, "--digest", &approved.1]).expect_code(0);
    go_on(&ledger, &["--goal", "practice"], 10);
    assert_eq!(held(&ledger), 2);
    assert_eq!(in_production(&ledger), 0, "a held engine started something");
    let words = call(&ledger, &["status"]).expect_code(0).out;
    assert!(words.contains("held: 2 differences"), "{words}");
    let list = json(&ledger, &["drift", "list", "--json"]);
    let found = |kind: &str| {
        let rows = list["differences"].as_array().unwrap();
        let row = rows.iter().find(|row| row["kind"] == kind);
        row.unwrap_or_else(|| panic!("no {kind} in {list}")).clone()
    };
    let (unknown, missing) = (found("cutover_unknown"), found("run_missing"));
    assert_eq!(unknown["job"], by_hand.as_str());
    assert_eq!(missing["job"], run_gone.as_str());

    // Item by item; what is not in the list is refused.
    call(&ledger, &["drift", "accept", "d0000000"]).expect_code(1);
    let item = unknown["item"].as_str().unwrap();
    call(&ledger, &["drift", "accept", item]).expect_code(0);
    go_on(&ledger, &["--goal", "practice"], 10);
    assert_eq!(held(&ledger), 1);
    assert_eq!(state_of(&ledger, by_hand), "handed_over");
    assert_eq!(in_production(&ledger), 0);

    call(&ledger, &["drift", "accept", "--all"]).expect_code(0);
    go_on(&ledger, &["--goal", "practice"], 10);
    assert_eq!(held(&ledger), 0);
    assert_eq!(state_of(&ledger, &approved.0), "cut_over");
    assert_eq!(in_production(&ledger), 1, "one yes, one cutover");
    assert_eq!(state_of(&ledger, run_gone), "awaiting_approval");
    let staged = "select count(*) from effects where action = 'stage' and job = ?1";
    let staged: i64 = look(&world(&ledger))
        .query_row(staged, [run_gone], |row| row.get(0))
        .unwrap();
    assert_eq!(staged, 2, "the run that was gone was made again, once");
    call(&ledger, &["verify"]).expect_code(0);

    // What was accepted is not asked again.
    killed(&ledger);
    go_on(&ledger, &["--goal", "practice"], 10);
    assert_eq!(held(&ledger), 0);
    let all = json(&ledger, &["drift", "list", "--all", "--json"]);
    assert_eq!(all["differences"].as_array().unwrap().len(), 2);
}

#[test]
fn the_configuration_says_what_an_unclean_stop_leads_to() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = place(dir.path());
    let config = |word: &str| {
        let path = dir.path().join(format!("{word}.toml"));
        std::fs::write(&path, format!("[run]\nresume = \"{word}\"\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let goal = ["--goal", "practice", "--config"];
    // Nothing differs: the default goes on by itself, and `ask` asks all the same.
    killed(&ledger);
    go_on(&ledger, &goal[..2], 10);
    assert_eq!(held(&ledger), 0);
    assert!(entries(&ledger, "drift.checked") > 0);
    killed(&ledger);
    let ask = config("ask");
    go_on(&ledger, &[&goal[..], &[&ask]].concat(), 10);
    assert_eq!(held(&ledger), 1);
    // A clean stop while held washes nothing away.
    go_on(&ledger, &[&goal[..], &[&ask]].concat(), 10);
    assert_eq!(held(&ledger), 1);
    call(&ledger, &["drift", "accept", "--all"]).expect_code(0);
    go_on(&ledger, &[&goal[..], &[&ask]].concat(), 10);
    assert_eq!(held(&ledger), 0);

    // `auto` takes the world's word, and says so.
    killed(&ledger);
    let job = asked(&ledger)[0].0.clone();
    let conn = Connection::open(world(&ledger)).unwrap();
    conn.execute(
        "insert into production_jobs(operation_id, job, config, config_digest, created_ms, hidden_lookups)
         values ('by-hand', ?1, 'x', 'abc', 0, 0)",
        [&job],
    )
    .unwrap();
    drop(conn);
    let auto = config("auto");
    go_on(&ledger, &[&goal[..], &[&auto]].concat(), 10);
    assert_eq!(held(&ledger), 0);
    assert_eq!(state_of(&ledger, &job), "handed_over");
    let all = json(&ledger, &["drift", "list", "--all", "--json"]);
    let rows = all["differences"].as_array().unwrap();
    assert!(
        rows.iter()
            .any(|row| row["job"] == job.as_str() && row["how"] == "run.resume is \"auto\""),
        "{all}"
    );
}
