//! Outcomes that nobody knows: parked for a person, ruled on, and sent again only under a proof.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{call, json, look};

/// A practice goal of 12 jobs in which every third reply is lost, and its ledger.
fn place(dir: &Path, keeps_one_effect: bool) -> (PathBuf, PathBuf) {
    let text = include_str!("../assets/practice/goal.toml")
        .replace("{limit}", "300")
        .replace("{seed}", "3")
        .replace("{jobs}", "12");
    let faults = format!(
        "\n[world.practice.faults]\ndedup = {keeps_one_effect}\nlost_reply_before_write = 0.2\n\
         lost_reply_after_write = 0.15\n"
    );
    let goal = dir.join("goal.toml");
    std::fs::write(&goal, text + &faults).unwrap();
    (goal, dir.join("ledger.db"))
}

fn go_on(ledger: &Path, more: &[&str]) -> Value {
    let mut words = vec![
        "run",
        "--headless",
        "--exit-when-waiting",
        "--speed",
        "max",
        "--json",
    ];
    words.extend(more);
    call(ledger, &words).expect_code(10).json()
}

fn duplicates(world: &Path) -> i64 {
    let sql = "SELECT count(*) FROM (SELECT operation_id FROM effects GROUP BY operation_id HAVING count(*) > 1)";
    look(world).query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn without_a_proof_lost_replies_wait_for_a_person_and_never_become_a_second_effect() {
    let dir = tempfile::tempdir().unwrap();
    let (goal, ledger) = place(dir.path(), false);
    let first = go_on(&ledger, &["--yes", goal.to_str().unwrap()]);
    let parked = first["operations"]["to_verify"].as_u64().unwrap();
    assert!(parked > 0, "no reply was lost: the fault did not fire");
    assert_eq!(duplicates(&dir.path().join("world.db")), 0);

    let list = json(&ledger, &["verify-op", "list", "--json"]);
    let all = list["operations"].as_array().unwrap();
    assert_eq!(all.len() as u64, parked);
    let id = all[0]["operation"].as_str().unwrap();
    let shown = json(&ledger, &["verify-op", "show", id, "--json"]);
    let kinds: Vec<&str> = shown["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["entry"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(&kinds[..3], ["op.intended", "op.unknown", "op.looked_up"]);
    assert_eq!(shown["operation"]["sends"], 1);

    // A ruling needs its reason and exactly one outcome.
    call(&ledger, &["verify-op", "rule", id, "--reason", "r"]).expect_code(2);
    call(
        &ledger,
        &[
            "verify-op",
            "rule",
            id,
            "--did-not",
            "--reason",
            "no such run in the scheduler",
        ],
    )
    .expect_code(0);
    let second = go_on(&ledger, &["--goal", "practice"]);
    let shown = json(&ledger, &["verify-op", "show", id, "--json"]);
    assert_eq!(shown["operation"]["state"], "refused");
    assert!(second["operations"]["applied"].as_u64() > first["operations"]["applied"].as_u64());
    assert_eq!(duplicates(&dir.path().join("world.db")), 0);
    call(&ledger, &["verify"]).expect_code(0);
}

#[test]
fn a_proof_is_measured_and_its_absence_as_well() {
    for keeps_one_effect in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (goal, ledger) = place(dir.path(), keeps_one_effect);
        call(&ledger, &["adopt", "--yes", goal.to_str().unwrap()]).expect_code(0);
        let early = call(&ledger, &["doctor", "--prove"]).expect_code(1);
        assert!(
            early
                .err
                .contains("no such job has a config that was staged"),
            "{}",
            early.err
        );
        go_on(&ledger, &["--goal", "practice"]);
        let told = json(&ledger, &["doctor", "--prove", "--json"]);
        let newest = &told["measured"][0];
        assert_eq!(newest["proven"], keeps_one_effect, "{newest}");
        let sentence = told["resends_under"]["stage"].as_str();
        assert_eq!(
            sentence.is_some_and(|text| text.starts_with("measured on")),
            keeps_one_effect
        );
        let doubled = duplicates(&dir.path().join("world.db"));
        // Only the measurement itself may have made second effects, and only where nothing prevents it.
        assert_eq!(doubled > 0, !keeps_one_effect);
        assert_eq!(told["measured"][0]["version"], told["version"]);
        call(&ledger, &["verify"]).expect_code(0);
    }
}

#[test]
fn with_a_proof_lost_replies_settle_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let (goal, ledger) = place(dir.path(), true);
    let report = go_on(&ledger, &["--yes", goal.to_str().unwrap()]);
    assert_eq!(report["operations"]["to_verify"], 0);
    assert!(
        support::entries(&ledger, "op.sent_again") > 0,
        "nothing was sent again"
    );
    assert_eq!(duplicates(&dir.path().join("world.db")), 0);
}
