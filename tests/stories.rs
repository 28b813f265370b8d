//! `demo --scenario`: each story plays to its end, what it states holds, and the same seed tells the same.

use crate::support::{Ended, call};
use serde_json::Value;
use std::path::Path;

/// A story in a directory of its own.
pub fn story(dir: &Path, name: &str, seed: u64) -> Ended {
    let seed = seed.to_string();
    let place = dir.join(format!("{name}-{seed}"));
    let words = [
        "demo",
        "--scenario",
        name,
        "--seed",
        &seed,
        "--json",
        "--dir",
    ];
    let mut words: Vec<&str> = words.to_vec();
    let place = place.display().to_string();
    words.push(&place);
    call(&dir.join("unused.db"), &words)
}

/// The story's JSON; everything that it states must hold.
#[track_caller]
pub fn held(dir: &Path, name: &str, seed: u64) -> Value {
    let told = story(dir, name, seed).expect_code(0).json();
    assert_eq!(told["schema"], "dogwatch.story/1");
    assert_eq!(
        (told["holds"].as_bool(), told["chain"].as_str()),
        (Some(true), Some("ok"))
    );
    assert!(!told["checks"].as_array().unwrap().is_empty(), "{told}");
    for check in told["checks"].as_array().unwrap() {
        assert_eq!(check["holds"], true, "{check}");
    }
    told
}

#[test]
fn restart_plays_the_same_for_the_same_seed() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let told = held(one.path(), "restart", 1);
    let again = held(two.path(), "restart", 1);
    for part in ["lines", "figures", "checks"] {
        assert_eq!(told[part], again[part]);
    }
    assert!(told["figures"]["left_without_outcome"].as_u64().unwrap() > 0);
}

#[test]
#[ignore = "long in a development build; `.ci/run` runs it on the release binary"]
fn cutovers_keep_the_calendar_go_in_waves_and_one_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let told = held(dir.path(), "cutover", 1);
    let figures = &told["figures"];
    assert_eq!(figures["at_once_before"], 1);
    assert!(figures["at_once_after"].as_u64().unwrap() > 1, "{figures}");
    assert!(figures["cutovers"].as_u64().unwrap() > 5, "{figures}");
}

#[test]
fn an_unknown_story_lists_them_and_a_used_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = story(dir.path(), "restrat", 1);
    assert_eq!(wrong.code(), Some(2));
    assert!(
        wrong.err.contains("The engine is killed twice"),
        "{}",
        wrong.err
    );
    let used = dir.path().join("restart-1");
    std::fs::create_dir(&used).unwrap();
    std::fs::write(used.join("ledger.db"), "a person's").unwrap();
    let refused = story(dir.path(), "restart", 1);
    assert_eq!(refused.code(), Some(1));
    assert!(refused.err.contains("empty --dir"), "{}", refused.err);
    assert_eq!(
        std::fs::read_to_string(used.join("ledger.db")).unwrap(),
        "a person's"
    );
}

#[test]
#[ignore = "long in a development build; `.ci/run` runs it on the release binary"]
fn outage_is_one_alert_and_costs_no_job_a_try() {
    let dir = tempfile::tempdir().unwrap();
    let told = held(dir.path(), "outage", 3);
    let figures = &told["figures"];
    assert_eq!(
        (figures["outages"].as_u64(), figures["alerts"].as_u64()),
        (Some(1), Some(1))
    );
    // The fault fired: tries were spent in vain, and given back.
    assert!(
        figures["tries_given_back"].as_u64().unwrap() > 0,
        "{figures}"
    );
    assert!(
        figures["waiting_at_09_45"].as_u64().unwrap() > 0,
        "{figures}"
    );
}

#[test]
#[ignore = "long in a development build; `.ci/run` runs it on the release binary"]
fn spin_stops_in_every_way_and_can_be_overruled() {
    let dir = tempfile::tempdir().unwrap();
    let told = held(dir.path(), "spin", 2);
    for rule in ["same_check_failures", "same_change", "rounds_without_pass"] {
        let key = format!("alarms_{rule}");
        assert!(
            told["figures"][&key].as_u64().unwrap() > 0,
            "{rule}: {told}"
        );
    }
    let ledger = dir.path().join("spin-2/ledger.db");
    let listed = crate::support::json(&ledger, &["spin", "list", "--json"]);
    let alarm = listed["alarms"].as_array().unwrap().iter();
    let mine = alarm.filter(|one| one["job"] == "stg_returns").count();
    assert_eq!(mine, 2, "{listed}");
    assert_eq!(listed["overruled"][0]["by"], "ola");
    let shown = call(&ledger, &["spin", "list"]).expect_code(0).out;
    assert!(
        shown.contains("clause schedule fails again and again"),
        "{shown}"
    );
    let unknown = call(&ledger, &["spin", "overrule", "1", "--reason", "r"]);
    assert_eq!(unknown.code(), Some(1));
    assert!(
        unknown.err.contains("there is no alarm 1"),
        "{}",
        unknown.err
    );
    // Nobody runs: it is recorded, and the next engine answers.
    let number = listed["alarms"][0]["seq"].as_i64().unwrap().to_string();
    let asked = call(
        &ledger,
        &["spin", "overrule", &number, "--reason", "seen it"],
    );
    assert!(asked.expect_code(0).out.contains("pending"));
}
