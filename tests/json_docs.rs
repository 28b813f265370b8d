//! `docs/json.md` against what the commands print: each documented object has exactly the keys that are
//! printed, and every shape that is printed is documented.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Objects whose keys are data.
const KEYED_BY_DATA: &[&str] = &[
    "overview.by_state",
    "overview.by_wait",
    "facts.operations",
    "facts.ordinals",
    "facts.evidence",
    "facts.clause_digests",
    "facts.waivers",
    "facts.spin.failed_checks",
    "facts.spin.changes",
    "evidence[].detail.numbers",
    "measured[].counts",
    "figures",
    "assumptions",
];

/// A small practice migration with one job cut over.
struct Demo {
    dir: tempfile::TempDir,
}

impl Demo {
    fn run(&self, args: &[&str]) -> Value {
        let out = Command::new(env!("CARGO_BIN_EXE_dogwatch"))
            .args(args)
            .arg("--json")
            .current_dir(self.dir.path())
            .env("DOGWATCH_LEDGER", "demo/ledger.db")
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&out.stderr);
        assert!(
            matches!(out.status.code(), Some(0 | 10)),
            "{args:?}: {words}"
        );
        serde_json::from_slice(&out.stdout).unwrap_or_else(|why| panic!("{args:?}: {why}: {words}"))
    }
}

fn printed() -> BTreeMap<String, Value> {
    let demo = Demo {
        dir: tempfile::tempdir().unwrap(),
    };
    let mut all = vec![
        demo.run(&["demo", "--headless", "--jobs", "12", "--dir", "demo"]),
        demo.run(&["check", "demo/practice.toml"]),
        demo.run(&["adopt", "demo/practice.toml", "--ledger", "other.db"]),
        demo.run(&["status"]),
        demo.run(&["jobs", "--filter", "state:awaiting_approval"]),
        demo.run(&["approvals"]),
    ];
    let open = all[5]["approvals"][0].clone();
    let word = |key: &str| open[key].as_str().unwrap();
    let (job, digest) = (word("job"), word("digest"));
    all.push(demo.run(&["approve", job, "--digest", digest]));
    all.push(demo.run(&["run", "--headless", "--exit-when-waiting", "--speed", "max"]));
    assert_eq!(
        all[7]["jobs"]["cut_over"], 1,
        "the approved job was not cut over: {}",
        all[7]
    );
    all.push(demo.run(&["show", job, "--config"]));
    all.push(demo.run(&["questions", "--all"]));
    all.push(demo.run(&["verify"]));
    all.push(demo.run(&["verify-op", "list"]));
    all.push(demo.run(&["drift", "list"]));
    let operation = all[8]["operations"][0]["operation"]
        .as_str()
        .unwrap()
        .to_owned();
    all.push(demo.run(&["verify-op", "show", &operation]));
    all.push(demo.run(&["doctor", "--prove"]));
    all.push(demo.run(&["config"]));
    let changed = demo.dir.path().join("demo/changed.toml");
    let text = std::fs::read_to_string(demo.dir.path().join("demo/practice.toml")).unwrap();
    std::fs::write(
        &changed,
        text.replace("staging_tries = 5", "staging_tries = 7"),
    )
    .unwrap();
    all.push(demo.run(&["amend", "demo/changed.toml", "--preview"]));
    all.push(demo.run(&["claims"]));
    all.push(demo.run(&["sample", "list"]));
    all.push(demo.run(&["plan"]));
    let revised = text.replace("id = \"repair-again\"", "id = \"repair-anew\"");
    std::fs::write(&changed, revised).unwrap();
    all.push(demo.run(&[
        "plan",
        "revise",
        "demo/changed.toml",
        "--hypothesis",
        "another name",
    ]));
    all.push(demo.run(&["handoff"]));
    all.push(demo.run(&["budget"]));
    let raise = [
        "budget",
        "raise",
        "warehouse_queries",
        "600",
        "--why",
        "more",
    ];
    all.push(demo.run(&raise));
    all.push(demo.run(&["estimate", "practice", "--measured"]));
    all.push(demo.run(&["spin", "list"]));
    all.push(demo.run(&["demo", "--scenario", "restart", "--dir", "restart"]));
    all.into_iter()
        .map(|one| (one["schema"].as_str().unwrap().to_owned(), one))
        .collect()
}

/// The example of each shape.
fn documented() -> BTreeMap<String, Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = BTreeMap::new();
    for section in text.split("\n## ").skip(1) {
        let (name, rest) = section.split_once('\n').unwrap();
        let example = rest
            .split_once("```json\n")
            .unwrap_or_else(|| panic!("{name} has no example"));
        let example = example.1.split_once("\n```").unwrap().0;
        let value: Value =
            serde_json::from_str(example).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(value["schema"], name, "the heading and the example differ");
        found.insert(name.to_owned(), value);
    }
    found
}

/// Where two objects' keys differ. What is null or an empty list on one side is not compared further.
fn differences(path: &str, doc: &Value, real: &Value, found: &mut Vec<String>) {
    match (doc, real) {
        (Value::Object(doc), Value::Object(real)) => {
            if KEYED_BY_DATA.contains(&path) {
                return;
            }
            let keys =
                |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<BTreeSet<_>>();
            let (in_doc, in_real) = (keys(doc), keys(real));
            for key in in_doc.symmetric_difference(&in_real) {
                let side = if in_doc.contains(key) {
                    "documented"
                } else {
                    "printed"
                };
                found.push(format!("{path}: {key} is only {side}"));
            }
            for key in in_doc.intersection(&in_real) {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                differences(&below, &doc[key], &real[key], found);
            }
        }
        (Value::Array(doc), Value::Array(real)) => {
            if let (Some(doc), Some(real)) = (doc.first(), real.first()) {
                differences(&format!("{path}[]"), doc, real, found);
            }
        }
        (Value::Null, _) | (_, Value::Null) => {}
        (doc, real) => {
            if std::mem::discriminant(doc) != std::mem::discriminant(real) {
                found.push(format!("{path}: documented as {doc}, printed as {real}"));
            }
        }
    }
}

#[test]
fn every_json_shape_is_documented_key_by_key() {
    let (printed, documented) = (printed(), documented());
    let names = |map: &BTreeMap<String, Value>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&printed), names(&documented));
    let mut found = Vec::new();
    for (name, real) in &printed {
        let mut here = Vec::new();
        differences("", &documented[name], real, &mut here);
        found.extend(here.into_iter().map(|one| format!("{name}: {one}")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_schema_name_in_the_commands_is_documented() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let documented = documented();
    let mut seen = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|one| one != "rs") || path.ends_with("output.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("\"dogwatch.").skip(1) {
            let name = format!("dogwatch.{}", part.split('"').next().unwrap());
            assert!(documented.contains_key(&name), "{}: {name}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "the schema names were not found");
}

#[test]
fn a_key_on_one_side_only_is_told() {
    let doc = serde_json::json!({ "a": 1, "list": [{ "b": 1 }], "type": "x" });
    let real = serde_json::json!({ "a": 1, "list": [{ "c": 1 }], "type": 2 });
    let mut found = Vec::new();
    differences("", &doc, &real, &mut found);
    assert_eq!(found.len(), 3, "{found:?}");
}
