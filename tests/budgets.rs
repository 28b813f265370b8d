//! Budgets, estimates and handoff packages as a person meets them.

use crate::stories::held;
use crate::support::{Ended, call};
use serde_json::Value;
use std::path::Path;

/// A practice migration of 12 jobs with other budgets, adopted; returns its ledger.
fn practice(dir: &Path, budgets: &str) -> std::path::PathBuf {
    let ledger = dir.join("ledger.db");
    let text = dogwatch::world::practice::goal::goal_text(1, 12);
    let file = dir.join("practice.toml");
    std::fs::write(
        &file,
        text.replace("[limits]", &format!("{budgets}\n[limits]")),
    )
    .unwrap();
    let file = file.display().to_string();
    call(&ledger, &["adopt", &file, "--yes"]).expect_code(0);
    ledger
}

fn run(ledger: &Path) -> Ended {
    call(
        ledger,
        &[
            "run",
            "--headless",
            "--exit-when-waiting",
            "--speed",
            "max",
            "--json",
        ],
    )
}

#[test]
fn quota_waits_for_renewals_and_never_crosses() {
    let dir = tempfile::tempdir().unwrap();
    let told = held(dir.path(), "quota", 1);
    let figure = |name: &str| told["figures"][name].as_u64().unwrap();
    assert!(figure("most_a_day") <= 12);
    assert!(figure("days") >= 3, "{told}");
}

#[test]
fn budget_stops_at_its_handoff_and_goes_on_when_the_owner_raises_it() {
    let dir = tempfile::tempdir().unwrap();
    let told = held(dir.path(), "budget", 1);
    let figure = |name: &str| told["figures"][name].as_u64().unwrap();
    assert!(
        figure("used_at_stop") <= 30 && figure("used_at_end") > 30,
        "{told}"
    );
}

#[test]
fn a_total_at_its_handoff_drains_writes_the_package_and_ends_with_its_own_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = practice(dir.path(), "[budget.external_actions]\nlimit = 10");
    let ended = run(&ledger).expect_code(11).json();
    assert_eq!(ended["finish"], "budget");
    let status = call(&ledger, &["status"]).expect_code(0);
    assert!(
        status.out.contains("STOPPED: budget external_actions: "),
        "{}",
        status.out
    );
    let status = call(&ledger, &["status", "--json"]).expect_code(0).json();
    let of = |name: &str| -> Value {
        let all = status["budgets"].as_array().unwrap();
        let found = all
            .iter()
            .find(|one| one["budget"] == name && one["day"] == "");
        found.unwrap().clone()
    };
    let used = of("external_actions")["spent"].as_u64().unwrap();
    assert!((8..=10).contains(&used), "{used}");
    let counted = ended["operations"]["applied"].as_u64().unwrap()
        + ended["operations"]["refused"].as_u64().unwrap();
    assert_eq!(used, counted, "each operation counts once");
    let copy = dir.path().join("handoff-practice/handoff.md");
    let text = std::fs::read_to_string(copy).unwrap();
    assert!(
        text.contains("dogwatch budget raise external_actions"),
        "{text}"
    );
    assert!(text.contains("## Not started"), "{text}");
    call(&ledger, &["verify"]).expect_code(0);
    let lower = call(
        &ledger,
        &["budget", "raise", "external_actions", "5", "--why", "x"],
    );
    assert!(
        lower.err.contains("no more than the limit in force"),
        "{}",
        lower.err
    );
    let wrong = call(&ledger, &["budget", "raise", "patience", "5", "--why", "x"]);
    assert!(
        wrong.err.contains("there is no budget patience"),
        "{}",
        wrong.err
    );
    // Once more: it does not begin anything, and says the same.
    assert_eq!(
        run(&ledger).expect_code(11).json()["operations"],
        ended["operations"]
    );
    // The owner makes room in place, and the next engine goes on by itself.
    call(
        &ledger,
        &[
            "budget",
            "raise",
            "external_actions",
            "300",
            "--why",
            "worth it",
        ],
    )
    .expect_code(0);
    let on = run(&ledger).expect_code(10).json();
    assert!(
        on["operations"]["applied"].as_u64() > ended["operations"]["applied"].as_u64(),
        "{on}"
    );
    let status = call(&ledger, &["status"]).expect_code(0);
    assert!(!status.out.contains("STOPPED"), "{}", status.out);
    call(&ledger, &["verify"]).expect_code(0);
}

#[test]
fn a_days_actions_are_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = practice(
        dir.path(),
        "[budget.external_actions]\nlimit = 4\nper = \"day\"",
    );
    run(&ledger).expect_code(10);
    let status = call(&ledger, &["status", "--json"]).expect_code(0).json();
    let days: Vec<u64> = status["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["budget"] == "external_actions" && one["day"] != "")
        .map(|one| one["spent"].as_u64().unwrap())
        .collect();
    assert!(
        days.len() >= 3 && days.iter().all(|spent| *spent <= 4),
        "{days:?}"
    );
}

#[test]
fn the_handoff_package_is_for_people_and_for_programs() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = practice(dir.path(), "");
    run(&ledger).expect_code(10);
    let open = call(&ledger, &["approvals", "--json"])
        .expect_code(0)
        .json();
    let job = open["approvals"][0]["job"].as_str().unwrap();
    call(&ledger, &["reject", job, "--reason", "not this one"]).expect_code(0);
    run(&ledger).expect_code(10);
    let out = dir.path().join("out");
    let place = out.display().to_string();
    call(&ledger, &["handoff", "practice", "--out", &place]).expect_code(0);
    let text = std::fs::read_to_string(out.join("handoff.md")).unwrap();
    let json: Value =
        serde_json::from_slice(&std::fs::read(out.join("handoff.json")).unwrap()).unwrap();
    assert_eq!(json["schema"], "dogwatch.handoff/1");
    let handed = &json["handed_over"];
    assert_eq!(handed["count"], json["jobs"]["handed_over"]);
    let one = &handed["rows"][0];
    for part in [&one["job"], &json["goal"]] {
        assert!(text.contains(part.as_str().unwrap()), "{part}");
    }
    assert!(one["tried"][0]["strategy"] == "script" && !one["reason"].as_str().unwrap().is_empty());
    assert_eq!(json["approvals"]["count"], json["jobs"]["open"]);
    let printed = call(&ledger, &["handoff"]).expect_code(0);
    assert!(
        printed.out.starts_with("# Handoff: practice"),
        "{}",
        printed.out
    );
    let wrong = call(&ledger, &["handoff", "nobody"]);
    assert_eq!(wrong.code(), Some(1));
    assert!(
        wrong.err.contains("there is no goal nobody"),
        "{}",
        wrong.err
    );
}

#[test]
fn an_estimate_needs_nothing_and_a_measured_one_says_what_was_assumed() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("none.db");
    let plain = call(&ledger, &["estimate"]).expect_code(0);
    for part in [
        "short loops, input: 25.92 M tokens",
        "720: short by 91",
        "fails independently",
    ] {
        assert!(plain.out.contains(part), "{part}\n{}", plain.out);
    }
    let json = call(&ledger, &["estimate", "--json"]).expect_code(0).json();
    assert_eq!(json["figures"]["change"]["need_queries"], 810.75);
    let defaults = call(&ledger, &["estimate", "--defaults"]).expect_code(0);
    let file = dir.path().join("mine.toml");
    std::fs::write(&file, defaults.out.replace("jobs = 120\n", "jobs = 60\n")).unwrap();
    let mine = file.display().to_string();
    let json = call(&ledger, &["estimate", "--assume", &mine, "--json"])
        .expect_code(0)
        .json();
    assert_eq!(json["figures"]["short_loops"]["turns"], 720.0);
    assert_eq!(call(&ledger, &["estimate", "--measured"]).code(), Some(2));
    assert_eq!(call(&ledger, &["estimate", "gone.toml"]).code(), Some(1));
    std::fs::write(&file, "jobs = \"many\"").unwrap();
    let wrong = call(&ledger, &["estimate", "--assume", &mine]);
    assert!(wrong.err.contains("`jobs` is \"many\""), "{}", wrong.err);

    let ledger = practice(dir.path(), "");
    run(&ledger).expect_code(10);
    let goal = dir.path().join("practice.toml").display().to_string();
    for name in ["practice", &goal] {
        let json = call(&ledger, &["estimate", name, "--measured", "--json"])
            .expect_code(0)
            .json();
        let of = |key: &str| json["assumptions"][key].clone();
        assert_eq!(of("jobs")["value"], 12.0);
        assert_eq!(of("deadline.working_days")["value"], 5.0);
        assert_eq!(of("staging.failure_percent")["origin"], "measured");
        assert_eq!(of("staging.failure_percent")["assumed"], 10.0);
        assert!(
            of("staging.failure_percent")["basis"]
                .as_str()
                .unwrap()
                .contains("staging runs")
        );
    }
}

#[test]
fn a_table_of_jobs_says_which_jobs_a_goal_has() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.db");
    std::fs::write(
        dir.path().join("jobs.csv"),
        "id,title\nstg_stores,Stores\nstg_products,\n",
    )
    .unwrap();
    let text = dogwatch::world::practice::goal::goal_text(1, 12);
    let file = dir.path().join("practice.toml");
    std::fs::write(
        &file,
        text.replace("from = \"source\"", "file = \"jobs.csv\""),
    )
    .unwrap();
    let file = file.display().to_string();
    call(&ledger, &["adopt", &file, "--yes"]).expect_code(0);
    let ended = run(&ledger).expect_code(10).json();
    assert_eq!(ended["jobs"]["total"], 2);
    let shown = call(&ledger, &["show", "stg_stores", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(shown["facts"]["title"], "Stores");
    std::fs::write(dir.path().join("jobs.csv"), "id\nnobody\n").unwrap();
    let other = dir.path().join("other.db");
    call(&other, &["adopt", &file, "--yes"]).expect_code(0);
    let refused = run(&other);
    assert_eq!(refused.code(), Some(1));
    assert!(
        refused
            .err
            .contains("line 2: the source lists no job \"nobody\""),
        "{}",
        refused.err
    );
}
