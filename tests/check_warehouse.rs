//! `row_count` and `checksum` where there is nothing, too little, or something odd to compare.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers may fail it"
)]

use crate::check_world;

use check_world::{Sqlite, clause, judge, judge_in, warehouse_world, world};
use dogwatch::check::checker;
use dogwatch::model::Verdict;
use dogwatch::world::ports::{Column, ColumnKind, Output};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn output(columns: &[(&str, ColumnKind)], key: &[&str]) -> Output {
    Output {
        table: "x".to_owned(),
        key: key.iter().map(|name| (*name).to_owned()).collect(),
        columns: columns
            .iter()
            .map(|(name, kind)| Column {
                name: (*name).to_owned(),
                kind: *kind,
            })
            .collect(),
    }
}

fn small() -> Output {
    output(
        &[("id", ColumnKind::Integer), ("v", ColumnKind::Text)],
        &["id"],
    )
}

fn tables(old: &str, new: &str) -> Arc<Sqlite> {
    let sql = format!(
        "CREATE TABLE legacy_x (id, v); CREATE TABLE staging_x (id, v); {} {}",
        insert("legacy_x", old),
        insert("staging_x", new)
    );
    Arc::new(Sqlite::new(&sql))
}

fn insert(table: &str, values: &str) -> String {
    if values.is_empty() {
        return String::new();
    }
    format!("INSERT INTO {table} VALUES {values};")
}

fn verdict(warehouse: &Arc<Sqlite>, check: &str, params: serde_json::Value) -> (Verdict, String) {
    let world = warehouse_world(Arc::clone(warehouse));
    let evidence = judge(&world, check, params, Some(&small())).unwrap();
    (evidence.verdict, evidence.summary)
}

#[test]
fn nothing_on_both_sides_is_no_evidence_unless_the_contract_says_so() {
    for check in ["row_count", "checksum"] {
        let empty = tables("", "");
        assert_eq!(verdict(&empty, check, json!({})).0, Verdict::Inconclusive);
        let allowed = verdict(&empty, check, json!({"allow_empty": true}));
        assert_eq!(allowed.0, Verdict::Pass);
        let half = tables("(1,'a')", "");
        assert_eq!(verdict(&half, check, json!({})).0, Verdict::Fail);
        let other_half = tables("", "(1,'a')");
        assert_eq!(verdict(&other_half, check, json!({})).0, Verdict::Fail);
    }
}

#[test]
fn a_missing_table_fails_on_the_new_side_and_proves_nothing_on_the_old() {
    for check in ["row_count", "checksum"] {
        let no_new = tables("(1,'a')", "(1,'a')");
        no_new.execute("DROP TABLE staging_x");
        let (found, summary) = verdict(&no_new, check, json!({}));
        assert_eq!(found, Verdict::Fail);
        assert!(summary.contains("staging_x"), "{summary}");
        let no_old = tables("(1,'a')", "(1,'a')");
        no_old.execute("DROP TABLE legacy_x");
        assert_eq!(verdict(&no_old, check, json!({})).0, Verdict::Unverified);
    }
}

#[test]
fn a_column_missing_on_both_sides_is_not_taken_for_a_text() {
    let warehouse = Arc::new(Sqlite::new(
        "CREATE TABLE legacy_x (id); CREATE TABLE staging_x (id);
         INSERT INTO legacy_x VALUES (1); INSERT INTO staging_x VALUES (1);",
    ));
    let (found, summary) = verdict(&warehouse, "checksum", json!({}));
    assert_eq!(found, Verdict::Unverified, "{summary}");
}

#[test]
fn without_table_or_warehouse_nothing_is_verified() {
    let bare = world(check_world::silent(), check_world::silent());
    for check in ["row_count", "checksum"] {
        let evidence = judge(&bare, check, json!({}), Some(&small())).unwrap();
        assert_eq!(evidence.verdict, Verdict::Unverified);
        let world = warehouse_world(tables("(1,'a')", "(1,'a')"));
        let evidence = judge(&world, check, json!({}), None).unwrap();
        assert_eq!(evidence.verdict, Verdict::Unverified);
        assert!(evidence.queries.is_empty());
    }
}

#[test]
fn a_failing_warehouse_is_no_verdict() {
    let broken = Arc::new(Sqlite::new(
        "CREATE TABLE legacy_x (id, v); INSERT INTO legacy_x VALUES (1, 'a');
         CREATE VIEW staging_x AS SELECT json('{') AS id, 'a' AS v;",
    ));
    let world = warehouse_world(broken);
    assert!(judge(&world, "checksum", json!({}), Some(&small())).is_err());
}

#[test]
fn values_that_only_look_alike_differ() {
    for (old, new) in [
        ("(1, NULL)", "(1, '')"),
        ("(1, 5000)", "(1, 5000.0)"),
        ("(5000, 'a')", "(5000.0, 'a')"),
        ("(1, 'a')", "(1, 'a ')"),
        ("(1, 'a'), (2, NULL)", "(1, NULL), (2, 'a')"),
        ("(1, 'a'), (1, 'a')", "(1, 'a'), (1, 'b')"),
    ] {
        let (found, summary) = verdict(&tables(old, new), "checksum", json!({}));
        assert_eq!(found, Verdict::Fail, "{old} / {new}: {summary}");
    }
}

#[test]
fn neighbouring_fields_do_not_run_together() {
    let output = output(
        &[
            ("id", ColumnKind::Integer),
            ("v", ColumnKind::Text),
            ("w", ColumnKind::Text),
        ],
        &["id"],
    );
    for (old, new) in [
        ("1,'a|b','c'", "1,'a','b|c'"),
        ("1,'a',NULL", "1,NULL,'a'"),
        ("1,'a;t1:b','c'", "1,'a','b;t1:c'"),
    ] {
        let warehouse = Arc::new(Sqlite::new(&format!(
            "CREATE TABLE legacy_x (id,v,w); CREATE TABLE staging_x (id,v,w);
             INSERT INTO legacy_x VALUES ({old}); INSERT INTO staging_x VALUES ({new});"
        )));
        let world = warehouse_world(warehouse);
        let evidence = judge(&world, "checksum", json!({}), Some(&output)).unwrap();
        assert_eq!(evidence.verdict, Verdict::Fail, "{old} / {new}");
    }
}

#[test]
fn excluded_columns_are_left_out_and_named() {
    let warehouse = tables("(1,'a')", "(1,'b')");
    let world = warehouse_world(warehouse);
    let evidence = judge(
        &world,
        "checksum",
        json!({"exclude": ["v", "not_here"]}),
        Some(&small()),
    )
    .unwrap();
    assert_eq!(evidence.verdict, Verdict::Pass);
    assert_eq!(evidence.numbers["contract"]["excluded"], json!(["v"]));
    let keyless = judge(
        &world,
        "checksum",
        json!({"exclude": ["id"]}),
        Some(&small()),
    )
    .unwrap();
    assert_eq!(keyless.verdict, Verdict::Unverified);
}

#[test]
fn a_table_without_a_key_is_compared_row_by_row() {
    let output = output(&[("id", ColumnKind::Integer), ("v", ColumnKind::Text)], &[]);
    let same = warehouse_world(tables("(1,'a'),(2,'b')", "(2,'b'),(1,'a')"));
    let evidence = judge(&same, "checksum", json!({}), Some(&output)).unwrap();
    assert_eq!(evidence.verdict, Verdict::Pass);
    let other = warehouse_world(tables("(1,'a'),(2,'b')", "(2,'a'),(1,'b')"));
    let evidence = judge(&other, "checksum", json!({}), Some(&output)).unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
}

#[test]
fn rows_recombined_under_one_key_are_found() {
    let output = output(
        &[
            ("id", ColumnKind::Integer),
            ("v", ColumnKind::Text),
            ("w", ColumnKind::Text),
        ],
        &["id"],
    );
    let warehouse = Arc::new(Sqlite::new(
        "CREATE TABLE legacy_x (id,v,w); CREATE TABLE staging_x (id,v,w);
         INSERT INTO legacy_x VALUES (1,'a','b'),(1,'c','d');
         INSERT INTO staging_x VALUES (1,'a','d'),(1,'c','b');",
    ));
    let evidence = judge(
        &warehouse_world(warehouse),
        "checksum",
        json!({}),
        Some(&output),
    )
    .unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
    assert!(
        evidence.summary.contains("not unique"),
        "{}",
        evidence.summary
    );
}

/// The sums of a tiny table, worked out outside this project with another MD5 and by hand.
#[test]
fn the_numbers_are_the_definitions() {
    let world = warehouse_world(tables(
        "(1,'Café'),(2,NULL),(3,'')",
        "(3,''),(1,'Café'),(2,NULL)",
    ));
    let evidence = judge(&world, "checksum", json!({}), Some(&small())).unwrap();
    assert_eq!(evidence.verdict, Verdict::Pass);
    let expected: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    for name in ["key_sums", "row_sums"] {
        assert_eq!(evidence.numbers[name]["old"], expected[name], "{name}");
    }
    assert_eq!(
        evidence.numbers["column_lanes"]["v"]["new"],
        expected["v_lane"]
    );
}

const GOLDEN: &str = r#"{"key_sums": [8113235490, 10442517861, 5456825618, 8038996886], "row_sums": [7663039619, 6579558062, 9048234134, 9084375995], "v_lane": 7663039619}"#;

#[test]
fn wrong_parameters_are_problems_not_defaults() {
    for (check, params) in [
        ("row_count", json!({"allow_empty": 1})),
        ("row_count", json!({"min": 1})),
        ("checksum", json!({"columns": "some"})),
        ("checksum", json!({"hash": "crc32"})),
        ("checksum", json!({"exclude": "v"})),
        ("checksum", json!({"float_tolerance": -1})),
        ("schedule", json!({"count": 0})),
        ("schedule", json!({"zone": "Mars/Olympus"})),
        ("schedule", json!({"starts": ["yesterday"]})),
        ("run_log", json!({"any": true})),
        ("command", json!({})),
        ("command", json!({"run": []})),
    ] {
        let problems = checker(check)
            .unwrap()
            .problems(&clause(check, params.clone()));
        assert_eq!(problems.len(), 1, "{check} {params}: {problems:?}");
    }
}

#[test]
fn evidence_carries_what_ran() {
    let warehouse = tables("(1,'a')", "(1,'b')");
    let world = warehouse_world(Arc::clone(&warehouse));
    let clause = clause("checksum", json!({}));
    let evidence = judge_in(
        &world,
        &clause,
        Some(&small()),
        "2024-03-01T00:00:00Z",
        ".".as_ref(),
    )
    .unwrap();
    assert_eq!(evidence.queries, *warehouse.ran.lock().unwrap());
    assert_eq!(evidence.numbers["contract"]["key"], json!(["id"]));
    assert!(evidence.numbers["contract_digest"].is_string());
}

fn rows() -> impl Strategy<Value = Vec<(i8, Option<String>)>> {
    proptest::collection::vec(
        (any::<i8>(), proptest::option::of("[a-c é|;:']{0,4}")),
        1..12,
    )
}

fn values(rows: &[(i8, Option<String>)]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|(id, v)| match v {
            Some(v) => format!("({id}, '{}')", v.replace('\'', "''")),
            None => format!("({id}, NULL)"),
        })
        .collect();
    rows.join(", ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_never_matters(rows in rows(), turn in 0_usize..12) {
        let mut turned = rows.clone();
        turned.rotate_left(turn % rows.len());
        turned.reverse();
        let (found, summary) = verdict(&tables(&values(&rows), &values(&turned)), "checksum", json!({}));
        prop_assert_eq!(found, Verdict::Pass, "{}", summary);
    }

    #[test]
    fn a_row_put_in_place_of_another_shows_unless_they_are_the_same(rows in rows(), from in 0_usize..12, to in 0_usize..12) {
        let mut changed = rows.clone();
        let (from, to) = (from % rows.len(), to % rows.len());
        changed[to] = rows[from].clone();
        let same = rows[from] == rows[to];
        let (found, summary) = verdict(&tables(&values(&rows), &values(&changed)), "checksum", json!({}));
        prop_assert_eq!(found == Verdict::Pass, same, "{}", summary);
    }

    #[test]
    fn an_even_number_of_copies_does_not_cancel(rows in rows()) {
        let mut more = rows.clone();
        more.push(rows[0].clone());
        more.push(rows[0].clone());
        let (found, _) = verdict(&tables(&values(&rows), &values(&more)), "checksum", json!({}));
        prop_assert_eq!(found, Verdict::Fail);
    }
}
