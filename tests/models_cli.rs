//! Language models as an operator meets them: `doctor`, and a plan with an agent, over the stub.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::stub_provider::Stub;
use crate::support::{call, dogwatch, entries, json, look, repository, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

const KEY: &str = "the-real-key-9876";

fn stub() -> Stub {
    Stub::start(&format!(
        "name = \"x\"\nkey = \"{KEY}\"\n[[turn]]\nsay = \"some words of an answer\"\n"
    ))
}

/// A practice goal of four jobs whose plan is one agent in a mode.
fn place(dir: &Path, stub: &Stub, mode: &[&str], more: &str) -> (PathBuf, PathBuf) {
    let script = repository("tests/fake_agents/agent.py");
    let mut words = vec!["python3".to_owned(), script.display().to_string()];
    words.extend(mode.iter().map(|word| (*word).to_owned()));
    let words = serde_json::to_string(&words).unwrap();
    let text = include_str!("../assets/practice/goal.toml")
        .replace("{limit}", "300")
        .replace("{seed}", "3")
        .replace("{jobs}", "4");
    let (head, tail) = text.split_once("[[strategy]]").unwrap();
    let world = tail.split_once("[world.practice]").unwrap().1;
    let text = format!(
        "{head}[[strategy]]\nid = \"agent\"\nworker = \"command\"\nprofile = \"claude\"\nprovider = \"p\"\n\
         model = \"stub-1\"\nrun = {words}\nattempt_tokens = 3000\nattempt_dollars = 0.05\nsandbox = \"none\"\n\
         timeout = \"60s\"\n\n[provider.p]\nprotocol = \"anthropic\"\nbase_url = \"{}\"\n\
         api_key = {{ file = \"key\" }}\n[provider.p.price.stub-1]\ninput = 1\noutput = 5\n{more}\n\
         [world.practice]{world}",
        stub.base_url()
    );
    std::fs::write(dir.join("key"), KEY).unwrap();
    let goal = dir.join("goal.toml");
    std::fs::write(&goal, text).unwrap();
    (goal, dir.join("ledger.db"))
}

fn go_on(ledger: &Path, goal: &Path) -> Value {
    let words = [
        "run",
        "--headless",
        "--exit-when-waiting",
        "--speed",
        "max",
        "--json",
        "--yes",
    ];
    let mut command = dogwatch(ledger);
    let ended = run(command.args(words).arg(goal));
    assert!(matches!(ended.code(), Some(0 | 10 | 11)), "{}", ended.err);
    ended.json()
}

fn sum(ledger: &Path, key: &str, kind: &str) -> u64 {
    let sql = format!(
        "SELECT coalesce(sum(json_extract(body, '$.{key}')), 0) FROM events WHERE kind = '{kind}'"
    );
    let total: i64 = look(ledger).query_row(&sql, [], |row| row.get(0)).unwrap();
    u64::try_from(total).unwrap()
}

/// Neither the ledger nor anything beside it holds the key, but the file that it is kept in.
fn assert_no_key(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("key") {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

#[test]
fn what_agents_took_is_reserved_before_and_booked_as_the_provider_counted() {
    let (dir, stub) = (tempfile::tempdir().unwrap(), stub());
    let (goal, ledger) = place(dir.path(), &stub, &["good"], "");
    go_on(&ledger, &goal);
    let billed = stub.accounting();
    assert!(billed.turns >= 4, "{billed:?}");
    let attempts = entries(&ledger, "budget.reserved");
    assert_eq!(attempts, i64::try_from(billed.turns).unwrap());
    assert_eq!(entries(&ledger, "budget.settled"), attempts);
    let tokens = sum(&ledger, "spent.tokens", "budget.settled");
    assert_eq!(tokens, billed.input() + billed.sum.output);
    let money = sum(&ledger, "spent.money", "budget.settled");
    assert_eq!(
        money,
        billed.sum.uncached * 1_000_000 + billed.sum.output * 5_000_000
    );
    assert_eq!(
        sum(&ledger, "amounts.tokens", "budget.reserved"),
        3_000 * attempts.unsigned_abs()
    );
    assert_no_key(dir.path());
    call(&ledger, &["verify"]).expect_code(0);
}

#[test]
fn a_wall_of_tokens_is_never_crossed_by_agents() {
    let (dir, stub) = (tempfile::tempdir().unwrap(), stub());
    let wall = "[budget.tokens]\nlimit = 4000\n";
    let (goal, ledger) = place(dir.path(), &stub, &["greedy"], wall);
    go_on(&ledger, &goal);
    let billed = stub.accounting();
    let total = billed.input() + billed.sum.output;
    assert!(total > 1_500 && total <= 4_000, "{billed:?}");
    assert_eq!(sum(&ledger, "spent.tokens", "budget.settled"), total);
}

#[test]
fn an_agent_that_changes_a_checker_raises_tamper_and_its_proposal_is_not_taken() {
    let (dir, stub) = (tempfile::tempdir().unwrap(), stub());
    let checker = dir.path().join("checker.py");
    std::fs::write(&checker, "print('x')").unwrap();
    let clause =
        "[[accept]]\nid = \"own\"\ncheck = \"command\"\nrun = [\"python3\", \"./checker.py\"]\n";
    let mode = ["tamper", checker.to_str().unwrap()];
    let (goal, ledger) = place(dir.path(), &stub, &mode, clause);
    go_on(&ledger, &goal);
    assert_eq!(entries(&ledger, "config.proposed"), 0);
    let alerts: Vec<String> = look(&ledger)
        .prepare("SELECT evidence FROM alerts WHERE rule = 'tamper'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(!alerts.is_empty());
    assert!(
        alerts[0].contains("checker.py") && alerts[0].contains("void"),
        "{alerts:?}"
    );
    call(&ledger, &["verify"]).expect_code(0);
}

#[test]
fn doctor_says_what_is_there_and_calls_only_when_it_is_told_to() {
    let (dir, stub) = (tempfile::tempdir().unwrap(), stub());
    let (goal, ledger) = place(dir.path(), &stub, &["nothing-left"], "");
    call(&ledger, &["adopt", "--yes", goal.to_str().unwrap()]).expect_code(0);
    let told = call(&ledger, &["doctor"]).expect_code(0).out;
    for part in [
        "provider p: its key is there (by file)",
        "provider p: reachable, 1 models: stub-1",
        "this host, no proxy",
        "agent of agent: python3 Python 3",
        "sandbox: bubblewrap",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert!(!told.contains(KEY), "{told}");
    assert_eq!(stub.accounting().turns, 0);
    let told = json(&ledger, &["doctor", "--call", "--json"]);
    assert_eq!(stub.accounting().turns, 1);
    let called = &told["providers"][0]["calls"][0];
    assert_eq!(called["source"], "reported");
    assert_eq!(called["input"], stub.accounting().input());
    assert_eq!(told["providers"][0]["key"], true);
    // A key that is not there is told by its place, and the rest of the report comes all the same.
    std::fs::remove_file(dir.path().join("key")).unwrap();
    let told = call(&ledger, &["doctor"]).expect_code(0).out;
    assert!(
        told.contains("provider p: the key `api_key`: key: "),
        "{told}"
    );
    assert!(told.contains("the world opens"), "{told}");
}
