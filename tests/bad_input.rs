//! Bad input by the binary: each ends in a clear error or a classed outcome, soon, and nothing is lost.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use support::practice::strings;
use support::{Ended, Running, call, dogwatch, entries, json, look, within};

/// Far more than an error needs on a busy machine, far less than waiting for something.
const SOON: Duration = Duration::from_secs(20);

const GOAL: &str = r#"[goal]
id = "small"
objective = "Every small job is moved."
owner = "@me"
deadline = "none"
zone = "UTC"

[[accept]]
id = "judge"
check = "command"
run = ["./judge.sh"]

[approval.cutover]
by = ["@me"]

[limits]
concurrent_jobs = 8

[[strategy]]
id = "convert"
worker = "script"
run = ["./convert.sh", "{job}"]

[world.source]
adapter = "command"
run = ["./source.sh"]
timeout = "2s"

[world.target]
adapter = "command"
run = ["./target.sh"]
timeout = "2s"
"#;

/// An error for a person: exit code 1, soon, all of these words, no panic.
#[track_caller]
fn assert_told(ended: Ended, words: &[&str]) {
    assert!(ended.took < SOON, "{:?}", ended.took);
    let Ended { err, .. } = ended.expect_code(1);
    assert!(err.starts_with("dogwatch: "), "{err}");
    for word in words {
        assert!(err.contains(word), "no {word:?} in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
    assert!(err.len() < 10_000, "{} bytes", err.len());
}

#[test]
fn a_bad_goal_file_is_refused_with_the_place_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (file, ledger) = (dir.path().join("goal.toml"), dir.path().join("ledger.db"));
    let changed = |from: &str, to: &str| {
        assert!(GOAL.contains(from));
        GOAL.replacen(from, to, 1)
    };
    let second = "[[accept]]\nid = \"judge\"\ncheck = \"run_log\"\n\n[approval.cutover]";
    let cases: [(String, &[&str]); 7] = [
        (
            changed("concurrent_jobs = 8", "concurent_jobs = 8"),
            &["goal.toml:17:1", "concurent_jobs", "concurrent_jobs"],
        ),
        (
            changed("[limits]", "[limit]"),
            &["goal.toml:16:", "limit", "limits"],
        ),
        (
            changed("concurrent_jobs = 8", "concurrent_jobs = \"eight\""),
            &["goal.toml:17:19", "concurrent_jobs", "number"],
        ),
        (changed("owner = \"@me\"\n", ""), &["goal.toml:1:", "owner"]),
        (
            changed("[approval.cutover]", second),
            &["goal.toml:14:", "second clause", "judge", "hint: "],
        ),
        (changed("[limits]", "[limits"), &["goal.toml:16:"]),
        (
            changed("\"none\"", "\"next week\""),
            &["goal.toml:5:", "next week"],
        ),
    ];
    for (text, words) in cases {
        std::fs::write(&file, text).unwrap();
        for verb in ["check", "adopt", "run"] {
            let mut all = vec![verb, file.to_str().unwrap()];
            all.extend(if verb == "run" {
                &["--headless"][..]
            } else {
                &[]
            });
            assert_told(call(&ledger, &all), words);
            assert!(!ledger.exists(), "{verb} of a bad file made a ledger");
        }
    }
    // The same text without the changes is sound, so each error above is the change's.
    std::fs::write(&file, GOAL).unwrap();
    call(&ledger, &["check", file.to_str().unwrap()]).expect_code(0);
}

#[test]
fn nonsense_is_refused_soon_whatever_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let (file, ledger) = (dir.path().join("goal.toml"), dir.path().join("ledger.db"));
    let mut dice = support::Dice::new(1);
    let noise: Vec<u8> = (0..10_000_000)
        .map(|_| dice.between(0, 256) as u8)
        .collect();
    let nested = "[".repeat(900_000);
    let keys = "a = 1\n".repeat(150_000);
    for (bytes, words) in [
        (
            &noise[..],
            &["goal.toml", "10000000 bytes", "at most 1048576"][..],
        ),
        (&noise[..1_000_000], &["goal.toml:1:"]),
        (nested.as_bytes(), &["goal.toml:1:"]),
        (keys.as_bytes(), &["goal.toml:", "a"]),
    ] {
        std::fs::write(&file, bytes).unwrap();
        assert_told(call(&ledger, &["adopt", file.to_str().unwrap()]), words);
    }
    assert_told(
        call(&ledger, &["check", dir.path().to_str().unwrap()]),
        &["cannot be read"],
    );
    assert_told(
        call(&ledger, &["check", "not-there.toml"]),
        &["not-there.toml", "cannot be read"],
    );
    assert!(!ledger.exists());
}

/// A finished demo of a few jobs, made once.
fn finished() -> &'static Path {
    static DONE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = DONE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        demo(dir.path(), 8).expect_code(0);
        dir
    });
    dir.path()
}

fn demo(dir: &Path, jobs: u32) -> Ended {
    let mut command = dogwatch(&dir.join("ledger.db"));
    command.args([
        "demo",
        "--headless",
        "--speed",
        "max",
        "--approve",
        "practice-owner",
        "--json",
    ]);
    command
        .args(["--jobs", &jobs.to_string(), "--dir"])
        .arg(dir);
    support::run(&mut command)
}

/// A copy of its ledger to damage, with what lies beside it.
fn copy() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(finished()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    let ledger = dir.path().join("ledger.db");
    // Everything is in the one file, as after a clean end.
    assert!(std::fs::metadata(dir.path().join("ledger.db-wal")).map_or(0, |meta| meta.len()) == 0);
    (dir, ledger)
}

/// Every command tells it; the file stays as it was.
#[track_caller]
fn assert_untouched(dir: &Path, ledger: &Path, words: &[&str]) {
    let before = std::fs::read(ledger).unwrap();
    for verb in [
        &["status"][..],
        &["jobs", "--json"],
        &["verify"],
        &["approve", "x", "--digest", "0123456789ab"],
    ] {
        assert_told(call(ledger, verb), words);
    }
    assert_told(demo(dir, 8), words);
    assert!(
        before == std::fs::read(ledger).unwrap(),
        "the file was changed"
    );
}

#[test]
fn what_is_no_ledger_is_named_and_left_alone() {
    let (dir, ledger) = copy();
    std::fs::write(&ledger, "dear diary, ".repeat(1000)).unwrap();
    assert_untouched(
        dir.path(),
        &ledger,
        &["ledger.db", "not a dogwatch ledger", "--ledger"],
    );

    std::fs::remove_file(&ledger).unwrap();
    let other = rusqlite::Connection::open(&ledger).unwrap();
    other
        .execute_batch("create table t (x); insert into t values (1)")
        .unwrap();
    drop(other);
    assert_untouched(
        dir.path(),
        &ledger,
        &["ledger.db", "not a dogwatch ledger", "another program's"],
    );
}

#[test]
fn a_newer_ledger_is_named_and_left_alone() {
    let (dir, ledger) = copy();
    let conn = rusqlite::Connection::open(&ledger).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    assert_untouched(
        dir.path(),
        &ledger,
        &["ledger.db", "schema 99", "newer program"],
    );
}

#[test]
fn a_truncated_or_overwritten_ledger_is_named_and_left_alone() {
    let whole = std::fs::read(copy().1).unwrap();
    for (what, bytes) in [
        ("half of it", whole[..whole.len() / 2].to_vec()),
        ("overwritten in the middle", {
            let mut bytes = whole.clone();
            let middle = bytes.len() / 8;
            bytes[middle..whole.len() - middle].fill(0xff);
            bytes
        }),
    ] {
        let (dir, ledger) = copy();
        std::fs::write(&ledger, &bytes).unwrap();
        let ended = call(&ledger, &["verify"]);
        assert!(
            [Some(1), Some(3)].contains(&ended.code()),
            "{what}: {}{}",
            ended.out,
            ended.err
        );
        let told = ended.out + &ended.err;
        assert!(
            told.contains("ledger.db") && told.to_lowercase().contains("damaged"),
            "{what}: {told}"
        );
        assert_told(demo(dir.path(), 8), &["ledger.db", "damaged", "backup"]);
        assert!(
            bytes == std::fs::read(&ledger).unwrap(),
            "{what}: the file was changed"
        );
    }
}

#[test]
fn one_changed_letter_is_found_and_its_job_named() {
    let (dir, ledger) = copy();
    let mut bytes = std::fs::read(&ledger).unwrap();
    // SQLite itself sees nothing wrong in this.
    let (job, word) = ("stg_products", b"\"reference\":\"stg-");
    let body: String = strings(
        &look(&ledger),
        "select body from events where kind = 'op.applied' and job = 'stg_products' order by seq",
    )[0]
    .clone();
    let places: Vec<usize> = bytes
        .windows(body.len())
        .enumerate()
        .filter(|(_, part)| *part == body.as_bytes())
        .map(|(at, _)| at)
        .collect();
    assert_eq!(places.len(), 1);
    let inside = body
        .as_bytes()
        .windows(word.len())
        .position(|part| part == word)
        .unwrap();
    bytes[places[0] + inside + word.len()] ^= 1;
    std::fs::write(&ledger, &bytes).unwrap();
    let ended = call(&ledger, &["verify", "--json"]).expect_code(3).json();
    assert_eq!(ended["sound"], false);
    let damage = ended["damage"].as_array().unwrap();
    assert!(damage.iter().any(|one| one["job"] == job), "{ended}");
    // The rest goes on; the closing report says that not all is well.
    let report = demo(dir.path(), 8).expect_code(3).json();
    assert_ne!(report["chain"], "ok");
    assert!(report["chain"].as_str().unwrap().contains(job), "{report}");
}

#[test]
fn another_demo_in_the_same_place_is_refused_and_changes_nothing() {
    let (dir, ledger) = copy();
    let file = dir.path().join("practice.toml");
    let before = (
        std::fs::read(&ledger).unwrap(),
        std::fs::read(&file).unwrap(),
    );
    assert_told(demo(dir.path(), 9), &["practice", "another --dir"]);
    assert!(
        before
            == (
                std::fs::read(&ledger).unwrap(),
                std::fs::read(&file).unwrap()
            )
    );
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("practice.toml."))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    demo(dir.path(), 8).expect_code(0);
}

#[test]
fn a_place_that_cannot_hold_a_ledger_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a-file");
    std::fs::write(&file, "x").unwrap();
    let goal = dir.path().join("goal.toml");
    std::fs::write(&goal, GOAL).unwrap();
    let ledger = file.join("ledger.db");
    let adopt = ["adopt", goal.to_str().unwrap()];
    assert_told(call(&ledger, &adopt), &["a-file", "Check the path"]);
    // A directory in its place.
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    assert_told(call(&dir.path().join("folder"), &adopt), &["folder"]);
    assert_told(
        call(&dir.path().join("none.db"), &["status"]),
        &["no ledger at", "none.db", "adopt"],
    );
    assert!(!dir.path().join("none.db").exists());
}

#[test]
fn a_second_engine_is_refused_and_the_first_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.db");
    let mut command = dogwatch(&ledger);
    command
        .args([
            "demo",
            "--headless",
            "--speed",
            "60",
            "--jobs",
            "8",
            "--json",
            "--dir",
        ])
        .arg(dir.path());
    let mut first = Running::start(&mut command);
    assert!(within(Duration::from_secs(60), || entries(
        &ledger,
        "op.intended"
    ) > 0));
    let holder = format!("process {}", first.id());
    assert_told(
        demo(dir.path(), 8),
        &["another engine holds", "ledger.db", &holder, "attach"],
    );
    assert_eq!(
        json(&ledger, &["status", "--json"])["engine"]["running"],
        true
    );
    assert!(first.wait(Duration::ZERO).is_none(), "the first one ended");
    first.signal(Signal::SIGTERM);
    let report = first
        .wait(Duration::from_secs(60))
        .unwrap()
        .expect_code(0)
        .json();
    assert_eq!(
        (report["finish"].as_str(), report["chain"].as_str()),
        (Some("stopped"), Some("ok"))
    );
    assert_eq!(entries(&ledger, "engine.started"), 1);
}

fn write_script(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const SOURCE: &str = r#"cat > /dev/null
printf '{"jobs":['
for job in good hangs garbage gigabyte exits3; do
  printf '%s{"id":"%s","title":"%s","definition":"%s"}' "$comma" $job $job $job
  comma=,
done
printf ']}'"#;

/// Good to one job, bad to the others in the way that their names say.
const TARGET: &str = r#"request=$(cat)
answer='{"outcome":"absent"}'
case $request in
  *'"call":"info"'*) echo '{"name":"small","version":"1","one_effect_per_id":{}}'; exit;;
  *'"job":"hangs"'*) sleep 600;;
  *'"job":"garbage"'*) echo 'Segmentation fault \033[2J {"outcome":'; exit;;
  *'"job":"gigabyte"'*) head -c 1000000000 /dev/zero | tr '\0' x; exit;;
  *'"job":"exits3"'*) echo 'no luck today' >&2; exit 3;;
  *'"call":"effect"'*)
    echo "$request" >> effects.log
    digest=$(echo "$request" | sed 's/.*"config_digest":"\([0-9a-f]*\)".*/\1/')
    answer='{"outcome":"applied","reference":"run-1","config_digest":"'$digest'"}';;
  *'"call":"run_state"'*) answer='{"state":"succeeded","log":"fine"}';;
  *'"call":"consequences"'*) answer='{"consequences":[]}';;
esac
echo "$answer""#;

/// A goal over scripts.
fn scripts(dir: &Path) -> PathBuf {
    write_script(dir, "source.sh", SOURCE);
    write_script(dir, "target.sh", TARGET);
    write_script(
        dir,
        "convert.sh",
        "cat > /dev/null\nprintf '{\"config\":\"job = %s\"}' $1",
    );
    write_script(
        dir,
        "judge.sh",
        "cat > /dev/null\necho '{\"verdict\":\"pass\",\"summary\":\"fine\"}'",
    );
    let file = dir.join("goal.toml");
    std::fs::write(&file, GOAL).unwrap();
    file
}

fn run_goal(ledger: &Path, file: &Path) -> Ended {
    call(
        ledger,
        &[
            "run",
            file.to_str().unwrap(),
            "--headless",
            "--exit-when-waiting",
            "--json",
        ],
    )
}

#[test]
fn adapters_that_misbehave_cost_their_own_job_only() {
    let dir = tempfile::tempdir().unwrap();
    let (file, ledger) = (scripts(dir.path()), dir.path().join("ledger.db"));
    let ended = run_goal(&ledger, &file).expect_code(10);
    assert!(ended.took < Duration::from_secs(60), "{:?}", ended.took);
    let report = ended.json();
    assert_eq!(report["operations"]["to_verify"], 4, "{report}");
    let jobs = json(&ledger, &["jobs", "--json"]);
    for job in jobs["jobs"].as_array().unwrap() {
        let id = job["id"].as_str().unwrap();
        if id == "good" {
            assert_eq!(job["state"], "awaiting_approval");
            continue;
        }
        assert_eq!(job["to_verify"], true, "{job}");
        assert_eq!(job["waiting"]["for"], "to_verify", "{job}");
        let shown = json(&ledger, &["show", id, "--json"]);
        let operations = shown["operations"].as_array().unwrap();
        assert_eq!(operations.len(), 1, "{shown}");
        assert_eq!(operations[0]["state"], "unknown", "{shown}");
        let why = operations[0]["why"].as_str().unwrap();
        let word = match id {
            "hangs" => "killed after 2 s",
            "garbage" => "JSON",
            "gigabyte" => "16",
            _ => "no luck today",
        };
        assert!(why.contains(word), "{id}: {why}");
        assert!(why.len() < 2_000, "{id}: {why:?}");
        // What an adapter says reaches no terminal as it is.
        for words in [&["show", id][..], &["show", id, "--json"], &["jobs"]] {
            assert!(!call(&ledger, words).out.contains('\u{1b}'), "{words:?}");
        }
    }
    // The largest process that this test waited for; a gigabyte was written into one of them.
    let peak_kib = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    assert!(peak_kib < 300_000, "{peak_kib} KiB");
    assert_eq!(json(&ledger, &["verify", "--json"])["sound"], true);

    // Started again, what is unclear is not sent again, and the good one is not staged twice.
    run_goal(&ledger, &file).expect_code(10);
    let sent = std::fs::read_to_string(dir.path().join("effects.log")).unwrap();
    assert_eq!(sent.lines().count(), 1, "{sent}");
    assert_eq!(entries(&ledger, "op.sent_again"), 0);
    assert_eq!(entries(&ledger, "op.intended"), 5);
}

#[test]
fn a_source_that_misbehaves_is_an_error_and_nothing_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let (file, ledger) = (scripts(dir.path()), dir.path().join("ledger.db"));
    for (script, word) in [
        ("sleep 600", "killed after 2 s"),
        ("echo nonsense", "JSON"),
        ("head -c 1000000000 /dev/zero", "16"),
        ("echo 'no luck today' >&2; exit 3", "no luck today"),
        ("echo '{\"jobs\":[],\"extra\":1}'", "extra"),
        (
            "echo '{\"jobs\":[{\"id\":\"a\",\"title\":\"\",\"definition\":\"\"}],\"accounting\":{\"lines\":2,\"kinds\":{\"job\":1}}}'",
            "1 are accounted for",
        ),
    ] {
        write_script(dir.path(), "source.sh", script);
        assert_told(run_goal(&ledger, &file), &[word]);
    }
    assert_eq!(entries(&ledger, "job.added"), 0);
    // Mended, the same command goes on.
    scripts(dir.path());
    write_script(
        dir.path(),
        "source.sh",
        "echo '{\"jobs\":[{\"id\":\"good\",\"title\":\"x\",\"definition\":\"x\"}]}'",
    );
    run_goal(&ledger, &file).expect_code(10);
    assert_eq!(entries(&ledger, "job.added"), 1);
}

#[test]
fn only_the_named_person_approves_only_what_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let (file, ledger) = (scripts(dir.path()), dir.path().join("ledger.db"));
    let one = "cat > /dev/null\necho '{\"jobs\":[{\"id\":\"good\",\"title\":\"x\",\"definition\":\"x\"}]}'";
    write_script(dir.path(), "source.sh", one);
    run_goal(&ledger, &file).expect_code(10);
    let digest = {
        let open = json(&ledger, &["approvals", "--json"]);
        open["approvals"][0]["digest"].as_str().unwrap().to_owned()
    };
    assert_told(
        call(&ledger, &["approve", "god", "--digest", &digest]),
        &["no job god", "good"],
    );
    assert_told(
        call(&ledger, &["approve", "good", "--digest", &digest[..8]]),
        &["at least 12"],
    );

    // No engine runs: the wrong digest is recorded, and refused by the next one.
    let wrong = "0".repeat(64);
    let told = json(&ledger, &["approve", "good", "--digest", &wrong, "--json"]);
    assert_eq!(told["state"], "pending");
    run_goal(&ledger, &file).expect_code(10);
    let answers = || {
        strings(
            &look(&ledger),
            "select body ->> 'accepted' || ' ' || (body ->> 'why') from events where kind = 'decision.answered' order by seq",
        )
    };
    assert_eq!(answers().len(), 1);
    assert!(answers()[0].starts_with("0 "), "{:?}", answers());
    assert_eq!(entries(&ledger, "approval.decided"), 0);

    // An engine runs: it refuses at once, with exit code 4.
    let mut command = dogwatch(&ledger);
    let mut engine = Running::start(command.args(["run", "--goal", "small", "--headless"]));
    assert!(within(Duration::from_secs(30), || entries(
        &ledger,
        "engine.started"
    ) == 3));
    let refused = call(&ledger, &["approve", "good", "--digest", &wrong, "--json"])
        .expect_code(4)
        .json();
    assert_eq!(refused["state"], "refused");
    assert!(!refused["why"].as_str().unwrap().is_empty());
    // The same request in another account's name.
    submit_as("mallory", &ledger, &digest);
    assert!(within(Duration::from_secs(30), || entries(
        &ledger,
        "decision.answered"
    ) == 3));
    assert!(
        answers()[2].contains("mallory is not an approver"),
        "{:?}",
        answers()
    );
    assert_eq!(entries(&ledger, "approval.decided"), 0);
    // What was seen, by who is named: done.
    let done = call(
        &ledger,
        &["approve", "good", "--digest", &digest[..12], "--json"],
    )
    .expect_code(0)
    .json();
    assert_eq!(done["state"], "accepted", "{done}");
    let ended = engine.wait(Duration::from_secs(60)).unwrap().expect_code(0);
    assert!(ended.out.contains("1 cut over"), "{}", ended.out);
}

fn submit_as(who: &str, ledger: &Path, digest: &str) {
    use dogwatch::ledger::{Act, decide};
    use dogwatch::model::{Account, Digest, GoalId, JobId, time::Clock};
    let approval = strings(
        &look(ledger),
        "select body ->> 'approval' from events where kind = 'approval.requested'",
    )[0]
    .clone();
    let act = Act::Approve {
        approval: dogwatch::model::ApprovalId(approval),
        digest: Digest(digest.to_owned()),
    };
    let (goal, job) = (GoalId::from("small"), JobId::from("good"));
    decide::submit(
        ledger,
        &goal,
        &job,
        act,
        &Account(who.to_owned()),
        "test",
        Clock::Real.now(),
    )
    .unwrap();
}
