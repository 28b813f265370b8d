//! The `command` checker with real executables, good and bad.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers may fail it"
)]

use crate::check_world;

use check_world::{clause, judge_in, silent, world};
use dogwatch::check::{Evidence, checker};
use dogwatch::model::{FailureClass, Verdict};
use dogwatch::world::ports::PortError;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn write(dir: &Path, script: &str) {
    let path = dir.join("check.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn judge(script: &str, params: serde_json::Value) -> Result<Evidence, PortError> {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), script);
    let world = world(silent(), silent());
    judge_in(
        &world,
        &clause("command", params),
        None,
        "2024-03-01T00:00:00Z",
        dir.path(),
    )
}

fn run() -> serde_json::Value {
    json!({"run": ["./check.sh", "{job}"], "settings": {"limit": 3}})
}

#[test]
fn a_verdict_comes_with_its_numbers() {
    let script = r#"read -r request
case "$request" in *'"call":"check"'*'"at":1709251200000'*'"limit":3'*) ;; *) exit 9;; esac
printf '{"verdict":"fail","summary":"%s is late","numbers":{"minutes":5}}' "$1""#;
    let evidence = judge(script, run()).unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
    assert_eq!(evidence.summary, "job_1 is late");
    assert_eq!(evidence.numbers["minutes"], json!(5));
}

/// The keys of an object and of all that is in it, but for what goal files and sources fill in.
fn shape(value: &serde_json::Value, at: &str, keys: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        return;
    };
    for (key, value) in object {
        let place = format!("{at}/{key}");
        if key != "params" {
            shape(value, &place, keys);
        }
        keys.push(place);
    }
    keys.sort();
}

#[test]
fn it_reads_and_answers_what_is_documented() {
    let text = include_str!("../docs/adapters.md");
    let block = |kind: &str| {
        let (_, rest) = text.split_once(&format!("```json {kind}\n")).unwrap();
        rest.split_once("\n```").unwrap().0
    };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("reply"), block("checker-reply")).unwrap();
    write(dir.path(), "cat > request; cat reply");
    let world = world(silent(), silent());
    let clause = clause("command", run());
    let evidence = judge_in(&world, &clause, None, "2024-03-01T00:00:00Z", dir.path()).unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
    assert_eq!(evidence.numbers["minutes"], json!(12));
    let sent = std::fs::read_to_string(dir.path().join("request")).unwrap();
    let keys = |text: &str| {
        let mut keys = Vec::new();
        shape(&serde_json::from_str(text).unwrap(), "", &mut keys);
        keys
    };
    assert_eq!(keys(&sent), keys(block("checker-request")));
}

#[test]
fn what_it_does_wrong_is_never_a_verdict() {
    let pass = r#"{"verdict":"pass","summary":"fine"}"#;
    for (script, class) in [
        ("exit 3".to_owned(), FailureClass::Environment),
        (format!("echo '{pass}'; exit 1"), FailureClass::Environment),
        ("sleep 20".to_owned(), FailureClass::Environment),
        (
            "head -c 3000000 /dev/zero".to_owned(),
            FailureClass::Environment,
        ),
        ("true".to_owned(), FailureClass::Unclear),
        ("echo all good".to_owned(), FailureClass::Unclear),
        (format!("echo '{pass}{pass}'"), FailureClass::Unclear),
        (
            r#"echo '{"verdict":"passed","summary":"x"}'"#.to_owned(),
            FailureClass::Unclear,
        ),
        (
            r#"echo '{"verdict":"pass","summary":""}'"#.to_owned(),
            FailureClass::Unclear,
        ),
        (
            r#"echo '{"verdict":"pass","summary":"x","also":1}'"#.to_owned(),
            FailureClass::Unclear,
        ),
        (
            r#"echo '{"verdict":"pass","summary":"x","queries":["select 1"]}'"#.to_owned(),
            FailureClass::Unclear,
        ),
    ] {
        let params = json!({"run": ["./check.sh"], "timeout_ms": 400});
        let error = judge(&script, params).expect_err(&script);
        assert_eq!(error.class, class, "{script}: {error}");
    }
    let absent = judge("true", json!({"run": ["./absent.sh"]})).unwrap_err();
    assert_eq!(absent.class, FailureClass::Environment);
}

#[test]
fn a_change_of_the_executable_changes_the_digest() {
    let dir = tempfile::tempdir().unwrap();
    let digest = |params| {
        checker("command")
            .unwrap()
            .digest(&clause("command", params), dir.path())
    };
    let direct = || digest(json!({"run": ["./check.sh"]}));
    let by_shell = || digest(json!({"run": ["sh", "check.sh"]}));
    write(dir.path(), "exit 0");
    let before = (direct(), by_shell());
    assert_eq!(before, (direct(), by_shell()));
    write(dir.path(), "exit 1");
    assert_ne!(before.0, direct());
    assert_ne!(before.1, by_shell());
}
