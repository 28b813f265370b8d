//! The practice migration by the binary, judged from its files without dogwatch's own checkers.
//!
//! `DOGWATCH_JOBS` says how many of the 120 jobs there are: 24 unless told, so that a development build needs
//! seconds. `.ci/run` runs all of them on the release binary.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use support::number_of;
use support::practice::{
    Demo, assert_kept_its_promises, different_outputs, of_class, scenario, wrong_effects,
};

struct Done {
    demo: Demo,
    report: Value,
    _dir: tempfile::TempDir,
}

fn done(seed: u64) -> Done {
    let dir = tempfile::tempdir().unwrap();
    // A directory that does not exist yet, as a newcomer would name one.
    let demo = Demo::new(&dir.path().join("practice"), seed);
    let report = demo.run().expect_code(0).json();
    Done {
        demo,
        report,
        _dir: dir,
    }
}

/// Several tests look at this run.
fn first() -> &'static Done {
    static FIRST: OnceLock<Done> = OnceLock::new();
    FIRST.get_or_init(|| done(1))
}

#[test]
fn the_migration_ends_and_its_promises_hold() {
    let first = first();
    assert_kept_its_promises(&first.demo, &first.report);
}

#[test]
fn the_report_has_its_documented_shape() {
    let Done { demo, report, .. } = first();
    assert_eq!(report["schema"], "dogwatch.demo/1");
    assert_eq!(report["seed"], 1);
    assert_eq!(report["finish"], "ended");
    for (group, keys) in [
        (
            "jobs",
            &["total", "cut_over", "handed_over", "cancelled", "open"][..],
        ),
        ("operations", &["applied", "refused", "to_verify"]),
        ("queries", &["used", "limit_per_day"]),
        ("approvals", &["approved", "rejected"]),
    ] {
        for key in keys {
            assert!(report[group][key].is_u64(), "{group}.{key}: {report}");
        }
    }
    assert_eq!(report["chain"], "ok");
    let same_file = |key: &str, path: std::path::PathBuf| {
        let told = std::path::Path::new(report[key].as_str().unwrap());
        assert_eq!(told.canonicalize().unwrap(), path.canonicalize().unwrap());
    };
    same_file("ledger", demo.ledger());
    same_file("world", demo.world());
    // The week has five days, and a person needs time for each decision.
    let days = report["virtual_days"].as_f64().unwrap();
    assert!((0.01..5.0).contains(&days), "{days}");
    assert!(report["wall_ms"].as_u64().unwrap() > 0);
    for job in demo.jobs()["jobs"].as_array().unwrap() {
        for key in ["id", "state", "reason"] {
            assert!(job[key].is_string(), "{job}");
        }
        assert!(job["tries"].is_u64(), "{job}");
        assert_eq!(job["contract_version"], 1, "{job}");
    }
}

#[test]
fn the_same_seed_gives_the_same_report_and_jobs() {
    let first = first();
    let again = done(1);
    let comparable = |report: &Value| {
        let mut report = report.clone();
        for place in ["ledger", "world", "wall_ms"] {
            assert!(report.as_object_mut().unwrap().remove(place).is_some());
        }
        report
    };
    assert_eq!(comparable(&first.report), comparable(&again.report));
    assert_eq!(first.demo.jobs(), again.demo.jobs());
}

/// Script, then the practice model: nearly all that can be moved is, and every loop began with the same bytes.
#[test]
fn the_practice_model_repairs_what_the_script_leaves() {
    let first = first();
    let rows = scenario(first.demo.jobs);
    let ends = first.demo.ends();
    let convertible: BTreeSet<String> = of_class(&rows, "mechanical")
        .union(&of_class(&rows, "repair"))
        .cloned()
        .collect();
    if rows.len() == 120 {
        assert_eq!(convertible.len(), 97);
    }
    let left: Vec<_> = convertible
        .iter()
        .filter(|job| ends[*job].0 != "cut_over")
        .map(|job| (job, &ends[job].1))
        .collect();
    assert!(left.len() * 20 <= convertible.len(), "{left:#?}");
    assert_compared_for_another_date(&first.demo, &ends);
    for job in of_class(&rows, "impossible") {
        assert_eq!(ends[&job].0, "handed_over", "{job}");
    }
    // The report's score is what is counted here.
    let score = &first.report["score"];
    assert_eq!(score["convertible"], convertible.len());
    assert_eq!(score["cut_over"], convertible.len() - left.len());
    assert_eq!(score["left"].as_array().unwrap().len(), left.len());
    assert_eq!(score["impossible_handed_over"], score["impossible"]);
    assert_eq!(score["compared"], first.report["jobs"]["cut_over"]);
    assert_eq!(score["false_completions"], serde_json::json!([]));
    let models = &first.report["practice_model"];
    assert_eq!(models["names"], serde_json::json!(["practice model"]));
    assert_eq!(models["prefixes"], 1, "{models}");
    let share = models["cached_share"].as_f64().unwrap();
    // A short run has hardly written its prefix when it ends.
    let wanted = if rows.len() == 120 { 0.85 } else { 0.7 };
    assert!(share >= wanted, "{models}");
    // Counted by hand from the turns, not from the report's own sums.
    let ledger = support::look(&first.demo.ledger());
    let (input, read): (i64, i64) = ledger
        .query_row(
            "select sum(uncached + cache_write + cache_read), sum(cache_read) from turns where source = 'reported'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert!(read as f64 >= wanted * input as f64, "{read} of {input}");
    // It misbehaved, and what it did is on record.
    for (tool, outcome) in [("acknowledge", "drift"), ("finish", "error")] {
        let count: i64 = ledger
            .query_row(
                "select count(*) from tool_calls where tool = ?1 and outcome = ?2",
                [tool, outcome],
                |row| row.get(0),
            )
            .unwrap();
        // Too few attempts for something rare, where there are few jobs.
        assert!(count > 0 || rows.len() < 120, "{tool} {outcome}");
    }
}

/// Jobs whose tables are empty on the run day are in production because another date showed them equal.
fn assert_compared_for_another_date(demo: &Demo, ends: &BTreeMap<String, (String, String)>) {
    let ledger = support::look(&demo.ledger());
    for job in ["mart_reorder", "exp_carrier_manifest", "exp_web_audience"] {
        let Some((state, reason)) = ends.get(job) else {
            assert!(demo.jobs < 120, "{job}");
            continue;
        };
        assert_eq!(state, "cut_over", "{job}: {reason}");
        let said: Vec<String> = ledger
            .prepare("select verdict || ': ' || summary from evidence where job = ?1 and clause = 'rows' order by seq")
            .unwrap()
            .query_map([job], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let (first, last) = (&said[0], &said[said.len() - 1]);
        assert!(
            first.starts_with("inconclusive: 0 rows on both sides"),
            "{job}: {first}"
        );
        assert!(
            last.starts_with("pass: ") && last.contains("(compared for 2024-03-"),
            "{job}: {last}"
        );
    }
}

/// The same turns in one conversation that keeps everything it read take several times the input.
#[test]
fn one_long_session_costs_more_input() {
    let first = first();
    let reader = dogwatch::ledger::Reader::open(&first.demo.ledger()).unwrap();
    let goal = dogwatch::model::GoalId::from("practice");
    let both = dogwatch::lab::long_session::compare(reader.view(), &goal).unwrap();
    println!(
        "{} turns: {} tokens in short loops, {} in one session with {} compactions: {:.1} times; the estimate says 3.5",
        both.turns,
        both.short,
        both.long,
        both.compactions,
        both.ratio()
    );
    if first.demo.jobs == 120 {
        assert!(both.turns > 200 && both.compactions > 0, "{both:?}");
        assert!(both.ratio() > 3.5, "{both:?}");
    }
    assert!(both.ratio() > 1.0, "{both:?}");
    // The short side is what the provider's own accounting says, to a tenth.
    let models = &first.report["practice_model"];
    let counted: u64 = ["uncached", "cache_write", "cache_read"]
        .iter()
        .map(|key| models[*key].as_u64().unwrap())
        .sum();
    let difference = both.short.abs_diff(counted) as f64 / counted as f64;
    assert!(difference < 0.15, "{} and {counted}", both.short);
}

/// `tests/kill.rs` runs another seed each time; `DOGWATCH_SEEDS` is how many more are run here, uncut.
#[test]
fn other_seeds_keep_the_promises_as_well() {
    for seed in 2..2 + number_of("DOGWATCH_SEEDS", 0) {
        println!("seed {seed}");
        let other = done(seed);
        assert_kept_its_promises(&other.demo, &other.report);
        // Other faults met it: the seed is no decoration.
        assert_ne!(first().demo.jobs(), other.demo.jobs());
    }
}

/// The comparison of this file can fail: one changed value, one row twice, one lost, one run that did less.
#[test]
fn a_wrong_output_in_production_would_be_seen() {
    let first = first();
    let copy = tempfile::NamedTempFile::new().unwrap();
    let original = support::look(&first.demo.world());
    original.backup("main", copy.path(), None).unwrap();
    let world = rusqlite::Connection::open(copy.path()).unwrap();
    let rows = scenario(first.demo.jobs);
    let changes = [
        (
            "dim_product",
            "update production__dim_product set price_cents = price_cents + 1 where rowid = 7",
        ),
        (
            "stg_orders",
            "insert into production__stg_orders select * from production__stg_orders limit 1",
        ),
        (
            "stg_products",
            "delete from production__stg_products where rowid = (select max(rowid) from production__stg_products)",
        ),
        (
            "ops_vacuum",
            "update production_runs set effect_digest = 'x' where no = (select no from production_jobs where job = 'ops_vacuum')",
        ),
    ];
    let there = |job: &str| rows.iter().any(|row| row.job == job);
    for (job, change) in changes.into_iter().filter(|(job, _)| there(job)) {
        let done = BTreeSet::from([job.to_owned()]);
        assert_eq!(
            different_outputs(&world, &rows, &done),
            Vec::<String>::new()
        );
        assert_eq!(world.execute(change, []).unwrap(), 1, "{change}");
        assert_eq!(different_outputs(&world, &rows, &done).len(), 1, "{change}");
    }
}

/// So can the counting of effects: one twice, one that the ledger lost, one job started twice in staging.
#[test]
fn an_effect_that_happened_twice_or_unknown_would_be_seen() {
    let first = first();
    let copy = tempfile::NamedTempFile::new().unwrap();
    let ledger = support::look(&first.demo.ledger());
    for change in [
        "insert into effects select 9999, operation_id, action, job, reference, at_ms, wall_ms, process from effects limit 1",
        "insert into effects select 9999, 'lost', action, job, 'lost', at_ms, wall_ms, process from effects limit 1",
        "insert into staging_jobs select 9999, operation_id, job, config, config_digest, created_ms, 0 from staging_jobs limit 1",
        "update legacy_jobs set disabled_by = null where job = 'dim_product'",
    ] {
        let original = support::look(&first.demo.world());
        original.backup("main", copy.path(), None).unwrap();
        let world = rusqlite::Connection::open(copy.path()).unwrap();
        assert_eq!(wrong_effects(&world, &ledger), Vec::<String>::new());
        assert_eq!(world.execute(change, []).unwrap(), 1, "{change}");
        assert_eq!(wrong_effects(&world, &ledger).len(), 1, "{change}");
    }
}
