//! A run that is asked to stop says goodbye in the ledger and is taken up again.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use nix::sys::signal::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::practice::strings;
use support::{Running, dogwatch, entries, json, look, within};

const PATIENCE: Duration = Duration::from_secs(120);

fn demo(dir: &Path) -> Command {
    let mut command = dogwatch(&dir.join("ledger.db"));
    command
        .args(["demo", "--headless", "--jobs", "14", "--speed", "max"])
        .args(["--approve", "practice-owner", "--json", "--dir"])
        .arg(dir);
    command
}

/// Starts and waits until some jobs are in the middle of their way.
fn started(dir: &Path, operations: i64) -> Running {
    let running = Running::start(&mut demo(dir));
    let ledger = dir.join("ledger.db");
    assert!(within(PATIENCE, || entries(&ledger, "op.applied") >= operations));
    running
}

fn last_words(ledger: &Path) -> Vec<String> {
    strings(
        &look(ledger),
        "select body ->> 'why' from events where kind = 'engine.stopped' order by seq",
    )
}

#[test]
fn a_signal_ends_a_run_soon_and_the_next_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.db");
    for (number, signal) in [Signal::SIGTERM, Signal::SIGINT].into_iter().enumerate() {
        let mut running = started(dir.path(), 3 + 6 * number as i64);
        running.signal(signal);
        let ended = running
            .wait(Duration::from_secs(20))
            .unwrap_or_else(|| panic!("{signal} was not heard"));
        let report = ended.expect_code(0).json();
        assert_eq!(report["finish"], "stopped", "{signal}");
        assert!(report["jobs"]["open"].as_u64().unwrap() > 0, "{report}");
        let said = last_words(&ledger);
        assert_eq!(said.len(), number + 1);
        assert_eq!(said[number], format!("signal {}", signal as i32));
        // Nothing is left in the air: what was begun has its outcome.
        let open = strings(
            &look(&ledger),
            "select body ->> 'operation' from events i where kind = 'op.intended' and not exists \
             (select 1 from events o where o.kind in ('op.applied', 'op.refused', 'op.unknown') \
              and o.body ->> 'operation' = i.body ->> 'operation')",
        );
        assert_eq!(open, Vec::<String>::new());
        let status = json(&ledger, &["status", "--json"]);
        assert_eq!(status["engine"]["running"], false);
    }
    let ended = Running::start(&mut demo(dir.path()))
        .wait(PATIENCE)
        .unwrap();
    let report = ended.expect_code(0).json();
    assert_eq!(
        (&report["finish"], &report["chain"]),
        (&Value::from("ended"), &Value::from("ok"))
    );
    assert_eq!(report["jobs"]["open"], 0);
    assert_eq!(
        last_words(&ledger),
        ["signal 15", "signal 2", "every job has ended"]
    );
    let clean = strings(
        &look(&ledger),
        "select body ->> 'after_clean_stop' || '' from events where kind = 'engine.started'",
    );
    assert_eq!(clean, ["1", "1", "1"]);
}

#[test]
fn a_terminal_that_goes_away_does_not_end_headless_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = started(dir.path(), 3);
    running.signal(Signal::SIGHUP);
    let report = running.wait(PATIENCE).unwrap().expect_code(0).json();
    assert_eq!(report["finish"], "ended");
    assert_eq!(report["jobs"]["open"], 0);
}
