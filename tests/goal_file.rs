//! The goal file as an owner meets it: what is taken, what is refused, and how the refusal reads.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use dogwatch::check::Known;
use dogwatch::contract::{Goal, GoalError, Soak, apply_overrides, parse_goal, parse_goal_bytes};
use dogwatch::contract::{parse::MAX_PROBLEMS, read_goal_file};
use dogwatch::model::Account;
use proptest::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};

const FULL: &str = r#"
[goal]
id = "etl-migration"
objective = "Every legacy ETL job runs on the new scheduler and reconciles."
owner = "@me"
deadline = "2026-12-04T18:00:00+08:00[Asia/Shanghai]"
workdays = "mon-fri 09:00-18:00"

[jobs]
from = "source"
depends_on = "source"
high_risk = ["finance_*"]

[[accept]]
id = "rows"
check = "row_count"

[[accept]]
id = "reports"
check = "no_such_checker"
queries = 3
applies_to = "has_reports"

[approval.cutover]
by = ["@me", "second"]
minutes_each = 3
expires = "3d"

[soak]
for = "2 runs"

[budget.tokens]
limit = 30_000_000
[budget.wall_clock]
limit = "5 workdays"
[budget.warehouse_queries]
limit = 300
per = "day"
[budget.handoff_at]
percent = 80

[limits]
staging_tries = 3
repair_rounds = 4
concurrent_jobs = 8

[spin]
same_check_failures = 3

[heartbeat]
every = "15m"
wake_on = ["approval", "quota_reset", "event:source.changed"]

[[strategy]]
id = "script"
worker = "script"
run = ["dogwatch", "convert", "--job", "{job}"]
timeout = "30s"

[[strategy]]
id = "repair"
worker = "chat"
provider = "anthropic"
model = "m"
max_turns = 9

[provider.anthropic]
api_key = { env = "KEY" }

[provider.anthropic.price.m]
input = 1
output = 2

[world.source]
adapter = "command"
run = ["./source.py"]
path = "a.crontab"

[world.target]
adapter = "command"
run = ["./target.py"]
api_token = { command = ["pass", "show", "x"] }
"#;

fn parse(text: &str) -> Result<Goal, GoalError> {
    parse_goal(text, Path::new("/goals"), Some(&Known))
}

/// The full goal with one text replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(FULL.contains(from), "{from}");
    FULL.replacen(from, to, 1)
}

/// The one problem of a goal file.
fn only_problem(text: &str) -> (usize, usize, String, String) {
    let error = parse(text).expect_err("it must be refused");
    assert_eq!(error.problems.len(), 1, "{error}");
    let problem = &error.problems[0];
    (
        problem.line,
        problem.column,
        problem.message.clone(),
        problem.hint.clone().unwrap_or_default(),
    )
}

fn line_of(text: &str, part: &str) -> usize {
    let at = text.find(part).unwrap();
    text[..at].matches('\n').count() + 1
}

#[test]
fn every_section_of_the_design_is_taken() {
    let goal = parse(FULL).unwrap();
    let contract = &goal.contract;
    assert_eq!(
        contract.deadline.unwrap().to_string(),
        "2026-12-04T10:00:00Z"
    );
    assert_eq!(contract.workdays.zone, "Asia/Shanghai");
    assert!(contract.jobs.is_high_risk("finance_daily"));
    assert_eq!(contract.soak, Some(Soak::Runs(2)));
    assert!((contract.budgets.total["wall_clock"].limit - 5.0).abs() < 1e-9);
    assert_eq!(contract.budgets.per_day["warehouse_queries"].limit, 300);
    assert_eq!(contract.approval.expires_after_ms, Some(3 * 86_400_000));
    assert_eq!(contract.heartbeat.every_ms, 900_000);
    assert_eq!(contract.accept[1].params["queries"], 3);
    assert_eq!(goal.strategies[0].timeout_ms, 30_000);
    assert_eq!(goal.strategies[1].params["provider"], "anthropic");
    let key = goal.providers["anthropic"].api_key.as_ref();
    assert_eq!(key.unwrap()["env"], "KEY");
    assert_eq!(goal.strategies[1].params["max_turns"], 9);
    assert_eq!(contract.world.ports["source"]["path"], "a.crontab");
    assert!(goal.questions.iter().any(|q| q.contains("no_such_checker")));
    assert_eq!(goal.questions.len(), 1, "{:?}", goal.questions);
    let said = |word: &str| goal.notes.iter().any(|note| note.contains(word));
    assert!(said("[soak] in runs"), "{:?}", goal.notes);
    assert!(!said("[spin]"), "spinning stops: {:?}", goal.notes);
}

#[test]
fn an_unknown_key_names_its_place_and_the_nearest_key() {
    let text = changed("staging_tries = 3", "stagging_tries = 3");
    let (line, column, message, hint) = only_problem(&text);
    assert_eq!((line, column), (line_of(&text, "stagging"), 1));
    assert_eq!(message, "unknown key `stagging_tries` in [limits]");
    assert_eq!(hint, "did you mean `staging_tries`?");
    for (from, to, near) in [
        ("[limits]", "[limit]", "limits"),
        ("[budget.tokens]", "[budget.token]", "tokens"),
        ("[world.source]", "[world.sorce]", "source"),
        ("[approval.cutover]", "[approval.cut_over]", "cutover"),
        ("timeout = \"30s\"", "timout = \"30s\"", "timeout"),
        ("check = \"row_count\"", "chek = \"row_count\"", "check"),
    ] {
        let text = changed(from, to);
        let error = parse(&text).unwrap_err();
        let hint = error.problems[0].hint.clone().unwrap();
        assert!(hint.contains(&format!("`{near}`")), "{to}: {error}");
        assert_eq!(error.problems[0].line, line_of(&text, to), "{error}");
    }
}

#[test]
fn a_wrong_type_says_what_was_found_and_what_was_expected() {
    let text = changed("concurrent_jobs = 8", "concurrent_jobs = \"8\"");
    let (line, column, message, _) = only_problem(&text);
    assert_eq!((line, column), (line_of(&text, "concurrent"), 19));
    assert_eq!(
        message,
        "`concurrent_jobs` of [limits] is the text \"8\"; expected a whole number"
    );
    for (from, to, expected) in [
        ("staging_tries = 3", "staging_tries = -3", "from 1 to 100"),
        (
            "by = [\"@me\", \"second\"]",
            "by = \"@me\"",
            "a list of texts",
        ),
        ("by = [\"@me\", \"second\"]", "by = [1]", "text in quotes"),
        ("limit = 300", "limit = -300", "from 1 to"),
        ("limit = 30_000_000", "limit = nan", "above 0"),
        (
            "every = \"15m\"",
            "every = \"15 minutes\"",
            "such as \"15m\"",
        ),
        ("\"5 workdays\"", "\"5 days\"", "5 workdays"),
        ("\"2 runs\"", "\"twice\"", "2 runs"),
        ("per = \"day\"", "per = \"week\"", "expected \"day\""),
        ("+08:00[Asia", "+07:00[Asia", "contradicts"),
        (
            "\"mon-fri 09:00-18:00\"",
            "\"weekdays\"",
            "mon-fri 09:00-18:00",
        ),
        ("\"@me\"\ndead", "\"no one\"\ndead", "account"),
        (
            "worker = \"script\"",
            "worker = \"scrpt\"",
            "unknown worker",
        ),
        (
            "adapter = \"command\"",
            "adapter = \"comand\"",
            "unknown adapter",
        ),
        ("\"quota_reset\"", "\"quota_rest\"", "does not know"),
    ] {
        let (_, _, message, _) = only_problem(&changed(from, to));
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn missing_parts_are_named() {
    for (from, expected) in [
        ("owner = \"@me\"\n", "[goal] has no `owner`"),
        (
            "objective = \"Every legacy ETL job runs on the new scheduler and reconciles.\"\n",
            "[goal] has no `objective`",
        ),
        ("run = [\"./source.py\"]\n", "[world.source] has no `run`"),
        ("per = \"day\"\n", "expected per = \"day\""),
    ] {
        let (line, _, message, _) = only_problem(&changed(from, ""));
        assert!(message.contains(expected), "{message}");
        assert!(line > 0);
    }
    let (.., message, _) = only_problem("[goal]\nid='g'\nobjective='o'\nowner='@me'\n");
    assert!(message.contains("no [[accept]]"), "{message}");
}

#[test]
fn an_id_is_used_once() {
    let text = changed("id = \"reports\"", "id = \"rows\"");
    let (line, _, message, _) = only_problem(&text);
    assert_eq!(message, "a second clause with the id \"rows\"");
    assert_eq!(line, line_of(&text, "check = \"no_such_checker\"") - 1);
    let (.., message, _) = only_problem(&changed("id = \"repair\"", "id = \"script\""));
    assert_eq!(message, "a second strategy with the id \"script\"");
}

#[test]
fn a_secret_is_only_taken_by_reference() {
    for (from, to) in [
        ("api_key = { env = \"KEY\" }", "api_key = \"sk-1\""),
        (
            "api_token = { command = [\"pass\", \"show\", \"x\"] }",
            "login = { password = \"hunter2\" }",
        ),
        (
            "path = \"a.crontab\"",
            "address = \"https://me:hunter2@example.org/\"",
        ),
    ] {
        let (.., message, hint) = only_problem(&changed(from, to));
        assert!(
            message.contains("secret") || message.contains("password"),
            "{message}"
        );
        assert!(hint.contains("env"), "{hint}");
        assert!(!message.contains("hunter2") && !message.contains("sk-1"));
    }
}

#[test]
fn all_problems_come_at_once_in_order_and_no_more_than_twenty() {
    let text = changed("owner = \"@me\"", "ownr = \"@me\"")
        .replace("limit = 300", "limit = 0")
        .replace("every = \"15m\"", "every = 15");
    let error = parse(&text).unwrap_err();
    let lines: Vec<usize> = error.problems.iter().map(|p| p.line).collect();
    assert_eq!(lines.len(), 4, "{error}");
    assert!(lines.is_sorted());
    let many: String = (0..100).map(|n| format!("zz{n} = 1\n")).collect();
    assert_eq!(parse(&many).unwrap_err().problems.len(), MAX_PROBLEMS);
}

#[test]
fn the_report_shows_the_line_and_a_caret_and_nothing_a_terminal_acts_on() {
    let text = changed("concurrent_jobs = 8", "concurrent_jobs = \"\\u001b[2J\"");
    let report = parse(&text).unwrap_err().report("etl.toml", &text);
    let line = line_of(&text, "concurrent_jobs");
    let expected = format!("etl.toml:{line}:19: `concurrent_jobs`");
    assert!(report.as_str().starts_with(&expected), "{report}");
    let lines: Vec<&str> = report.as_str().lines().collect();
    assert_eq!(lines[1].find("\"\\u001b"), lines[2].find('^'), "{report}");
    assert!(!report.as_str().contains('\u{1b}'));
}

#[test]
fn a_text_that_is_never_closed_is_shown_too() {
    let text = "[goal]\nid = \"\"\"never closed\n";
    let report = parse(text).unwrap_err().report("g.toml", text);
    assert!(report.as_str().contains("not TOML"), "{report}");
    assert!(report.as_str().contains('^'), "{report}");
}

#[test]
fn ten_megabytes_of_nonsense_are_refused_at_once() {
    let nonsense = "x7Q[=\"\n".repeat(10 * 1024 * 1024 / 7);
    let started = Instant::now();
    let error = parse(&nonsense).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(1));
    assert!(error.to_string().contains("at most 1048576"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big.toml");
    std::fs::write(&file, &nonsense).unwrap();
    let (error, _) = read_goal_file(&file, Some(&Known)).unwrap_err();
    assert!(
        error.to_string().contains(&nonsense.len().to_string()),
        "{error}"
    );
}

#[test]
fn nonsense_below_the_limit_is_refused_quickly() {
    for piece in [
        "x7Q[=\"\n",
        "a=[[",
        "[a.b.c]\n",
        "[[",
        "a.b.c.d=1\n",
        "x = {a=",
        "\"\"\"",
    ] {
        let text = piece.repeat(1024 * 1024 / piece.len());
        let started = Instant::now();
        assert!(parse(&text).is_err(), "{piece}");
        assert!(started.elapsed() < Duration::from_secs(10), "{piece}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_where_they_stand() {
    let error = parse_goal_bytes(b"[goal]\nid = \"\xff\"", Path::new("."), None).unwrap_err();
    assert_eq!((error.problems[0].line, error.problems[0].column), (2, 7));
    assert!(error.to_string().contains("UTF-8"));
    let error = parse_goal_bytes(b"[goal]\nid\0", Path::new("."), None).unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
}

#[test]
fn the_digest_covers_meaning_and_not_writing() {
    let digest = parse(FULL).unwrap().contract.digest;
    let rewritten = changed("every = \"15m\"", "every   = '900s' # a quarter")
        .replace(
            "id = \"rows\"\ncheck = \"row_count\"",
            "check = \"row_count\"\nid = \"rows\"",
        )
        .replace("timeout = \"30s\"", "timeout = \"40s\"");
    assert_eq!(parse(&rewritten).unwrap().contract.digest, digest);
    for (from, to) in [
        ("limit = 300", "limit = 301"),
        ("queries = 3", "queries = 4"),
        ("path = \"a.crontab\"", "path = \"b.crontab\""),
        ("18:00:00+08", "18:00:01+08"),
        ("\"second\"", "\"third\""),
    ] {
        assert_ne!(parse(&changed(from, to)).unwrap().contract.digest, digest);
    }
}

#[test]
fn me_is_who_adopts_and_the_digest_stays() {
    let contract = parse(FULL).unwrap().contract;
    let digest = contract.digest.clone();
    let resolved = contract.resolve_me(&Account("second".to_owned()));
    assert_eq!(resolved.owner.0, "second");
    assert_eq!(resolved.approval.by, vec![Account("second".to_owned())]);
    assert_eq!(resolved.digest, digest);
}

#[test]
fn overrides_change_the_world_and_the_digest() {
    let mut goal = parse(FULL).unwrap();
    let digest = goal.contract.digest.clone();
    apply_overrides(&mut goal, &["source.path=/etc/crontab".to_owned()]).unwrap();
    assert_eq!(goal.contract.world.ports["source"]["path"], "/etc/crontab");
    assert_ne!(goal.contract.digest, digest);
    let typed = [
        "source.n=3",
        "source.x=2.5",
        "source.on=true",
        "source.day=2024-04-01",
    ];
    apply_overrides(&mut goal, &typed.map(str::to_owned)).unwrap();
    let source = serde_json::Value::Object(goal.contract.world.ports["source"].clone());
    assert_eq!(
        (source["n"].as_i64(), source["x"].as_f64()),
        (Some(3), Some(2.5))
    );
    assert_eq!(
        (source["on"].as_bool(), source["day"].as_str()),
        (Some(true), Some("2024-04-01"))
    );
    for (text, part) in [
        ("source.path", "PORT.KEY=VALUE"),
        ("path=x", "PORT.KEY=VALUE"),
        ("warehouse.path=x", "no [world.warehouse]"),
        ("source.run=evil", "which program"),
        ("target.api_token=x", "secret"),
    ] {
        let error = apply_overrides(&mut goal, &[text.to_owned()]).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_path_typed_in_a_shell_starts_where_the_shell_stands() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "").unwrap();
    let typed = ["source.path=mine", "source.path=./new", "source.zone=UTC"].map(str::to_owned);
    let absolute = dogwatch::contract::absolute_overrides(&typed, folder.path());
    let here = folder.path().display();
    assert_eq!(absolute[0], format!("source.path={here}/mine"));
    assert_eq!(absolute[1], format!("source.path={here}/./new"));
    assert_eq!(absolute[2], "source.zone=UTC");
}

#[test]
fn what_is_ambiguous_is_asked() {
    let text = changed("by = [\"@me\", \"second\"]", "required = false");
    assert!(
        parse(&text)
            .unwrap()
            .questions
            .iter()
            .any(|q| q.contains("required = false"))
    );
    let text = changed("by = [\"@me\", \"second\"]", "by = []");
    assert!(
        parse(&text)
            .unwrap()
            .questions
            .iter()
            .any(|q| q.contains("nobody"))
    );
    let text = changed(
        "deadline = \"2026-12-04T18:00:00+08:00[Asia/Shanghai]\"\n",
        "",
    );
    let questions = parse(&text).unwrap().questions;
    assert!(questions.iter().any(|q| q.contains("no deadline")));
    assert!(questions.iter().any(|q| q.contains("UTC")));
    let text = changed("2026-12-04T18:00:00+08:00[Asia/Shanghai]", "none");
    let goal = parse(&text).unwrap();
    assert_eq!(goal.contract.deadline, None);
    assert!(!goal.questions.iter().any(|q| q.contains("deadline: ")));
    let text = changed("check = \"row_count\"\n", "");
    assert!(
        parse(&text)
            .unwrap()
            .questions
            .iter()
            .any(|q| q.contains("no checker"))
    );
}

#[test]
fn the_documented_goal_and_the_shipped_ones_have_no_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(root.join("docs/goal-file.md")).unwrap();
    let (_, after) = docs.split_once("```toml\n").unwrap();
    let goal = parse(after.split("```").next().unwrap()).unwrap();
    assert_eq!(goal.questions, Vec::<String>::new());
    // The example runs without anyone to answer.
    let (example, _) =
        read_goal_file(&root.join("goals/crontab-to-timers.toml"), Some(&Known)).unwrap();
    assert_eq!(example.questions, Vec::<String>::new());
    for entry in std::fs::read_dir(root.join("goals")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
            && let Err((error, text)) = read_goal_file(&path, Some(&Known))
        {
            panic!("{}", error.report(&path.to_string_lossy(), &text));
        }
    }
}

#[test]
fn every_key_of_every_section_is_documented() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/goal-file.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for section in [
        "goal",
        "jobs",
        "approval.cutover",
        "soak",
        "budget.tokens",
        "limits",
        "spin",
        "heartbeat",
    ] {
        // The parser itself tells its keys when one is nothing like any of them.
        let text = format!("[{section}]\nqqqq = 1\n");
        let error = parse(&text).unwrap_err();
        let problem = error
            .problems
            .iter()
            .find(|p| p.message.contains("`qqqq`"))
            .unwrap();
        let hint = problem.hint.clone().unwrap();
        let keys = hint.strip_prefix("expected one of: ").unwrap();
        for key in keys.split(", ") {
            assert!(docs.contains(&format!("`{key}`")), "{section}.{key}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,300}") {
        let _ = parse(&text).map_err(|error| error.report("f", &text));
    }

    #[test]
    fn no_change_of_a_good_goal_makes_it_panic(
        at in 0..FULL.len(),
        length in 0_usize..40,
        piece in "(?s)[\\[\\]{}=\"'.,#\n a-z0-9\\-]{0,12}|.{0,4}",
    ) {
        let end = (at + length).min(FULL.len());
        if let (Some(before), Some(after)) = (FULL.get(..at), FULL.get(end..)) {
            let text = format!("{before}{piece}{after}");
            match parse(&text) {
                Ok(goal) => prop_assert!(!goal.contract.owner.0.is_empty()),
                Err(error) => {
                    prop_assert!(!error.problems.is_empty());
                    prop_assert!(error.problems.len() <= MAX_PROBLEMS);
                    let lines = text.split('\n').count();
                    for problem in &error.problems {
                        prop_assert!(problem.line >= 1 && problem.line <= lines);
                    }
                    prop_assert!(error.report("f", &text).as_str().contains('^'));
                }
            }
        }
    }
}

#[test]
fn what_has_no_effect_yet_is_said_and_what_has_is_not() {
    let text = r#"
[goal]
id = "x"
objective = "y"
owner = "@me"
deadline = "2026-12-04T18:00:00+08:00[Asia/Shanghai]"
[jobs]
file = "jobs.csv"
depends_on = "none"
[[accept]]
id = "rows"
check = "row_count"
[approval.cutover]
by = ["@me"]
[budget.wall_clock]
limit = "5 workdays"
[budget.warehouse_queries]
limit = 300
per = "day"
[heartbeat]
every = "15m"
wake_on = ["approval"]
[[strategy]]
id = "s"
worker = "script"
run = ["true"]
[world.practice]
"#;
    let goal = parse_goal(text, Path::new("/"), None).unwrap();
    for word in ["depends_on", "wake_on"] {
        let said = goal.notes.iter().any(|note| note.contains(word));
        assert!(said, "{word}: {:?}", goal.notes);
    }
    assert_eq!(goal.notes.len(), 2, "{:?}", goal.notes);
}

/// Walls stand without a word; leaving one out takes a word.
#[test]
fn tokens_and_money_are_limited_unless_the_owner_says_none() {
    let text = |budgets: &str| {
        format!(
            "[goal]\nid = \"x\"\nobjective = \"y\"\nowner = \"ann\"\n[[accept]]\nid = \"rows\"\n\
             check = \"row_count\"\n{budgets}"
        )
    };
    let walls = |budgets: &str| {
        let goal = parse_goal(&text(budgets), Path::new("/"), None).unwrap();
        let total = goal.contract.budgets.total;
        let of = |name: &str| total.get(name).map(|one| one.limit);
        (of("tokens"), of("money"))
    };
    assert_eq!(walls(""), (Some(30_000_000.0), Some(100.0)));
    assert_eq!(
        walls("[budget.money]\nlimit = 2.5\n"),
        (Some(30_000_000.0), Some(2.5))
    );
    assert_eq!(
        walls("[budget.tokens]\nlimit = \"none\"\n"),
        (None, Some(100.0))
    );
    let error = parse_goal(
        &text("[budget.money]\nlimit = 1e12\n"),
        Path::new("/"),
        None,
    )
    .unwrap_err();
    assert!(error.problems[0].message.contains("9000000"), "{error}");
}
