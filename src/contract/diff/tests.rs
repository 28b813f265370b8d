use super::*;
use crate::contract::parse_goal;
use std::path::Path;

const ONE: &str = r#"
[goal]
id = "g"
objective = "All of it."
owner = "ann"
deadline = "2024-04-05T18:00:00+02:00[Europe/Berlin]"
[jobs]
high_risk = ["fin_*"]
[[accept]]
id = "rows"
check = "row_count"
[[accept]]
id = "sums"
check = "checksum"
float_tolerance = 0.001
[approval.cutover]
by = ["ann"]
[budget.warehouse_queries]
limit = 300
per = "day"
[limits]
staging_tries = 3
[[strategy]]
id = "s"
worker = "script"
run = ["x"]
"#;

fn contract(text: &str) -> Contract {
    parse_goal(text, Path::new("/"), None).unwrap().contract
}

fn against_one(changes: &[(&str, &str)]) -> ContractDiff {
    let mut text = ONE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    diff(&contract(ONE), &contract(&text))
}

#[test]
fn formatting_and_strategies_change_nothing() {
    let same = against_one(&[
        (
            "[limits]\nstaging_tries = 3",
            "[limits]   # the default\nstaging_tries=3",
        ),
        ("id = \"s\"", "id = \"other\""),
    ]);
    assert!(same.is_empty(), "{same:?}");
    assert!(same.lines().is_empty());
}

#[test]
fn every_kind_of_change_is_a_line_with_its_numbers() {
    let changed = against_one(&[
        (
            "[approval.cutover]",
            "[[accept]]\nid = \"reports\"\ncheck = \"report\"\napplies_to = \"has_reports\"\n[approval.cutover]",
        ),
        ("[[accept]]\nid = \"rows\"\ncheck = \"row_count\"\n", ""),
        ("float_tolerance = 0.001", "float_tolerance = 0.01"),
        (
            "high_risk = [\"fin_*\"]",
            "high_risk = [\"fin_*\", \"tax_*\"]\n[[jobs.retire]]\njobs = [\"old_*\"]\nreason = \"nobody reads it\"",
        ),
        ("limit = 300", "limit = 400"),
        ("staging_tries = 3", "staging_tries = 5"),
        ("2024-04-05T18:00:00+02:00", "2024-04-08T18:00:00+02:00"),
        ("by = [\"ann\"]", "by = [\"ann\", \"bob\"]"),
    ]);
    assert_eq!(
        changed.lines(),
        [
            "clause sums changed: float tolerance: 0.001 -> 0.01",
            "clause reports added: report where has_reports applies",
            "clause rows removed: row_count for all jobs",
            "jobs retired: old_*: nobody reads it",
            "approval by: ann -> ann, bob",
            "budget warehouse queries a day: 300 -> 400",
            "deadline: 2024-04-05T16:00:00Z -> 2024-04-08T16:00:00Z",
            "jobs high risk: fin_* -> fin_*, tax_*",
            "limits staging tries: 3 -> 5",
        ]
    );
    assert!(changed.touches("budgets") && changed.touches("limits"));
    assert!(!changed.touches("world") && !changed.touches("limit"));
}

#[test]
fn a_retired_group_that_is_taken_back_says_that_nothing_comes_back() {
    let with = ONE.replace(
        "[[accept]]\nid = \"rows\"",
        "[[jobs.retire]]\njobs = [\"old_*\"]\nreason = \"unused\"\n[[accept]]\nid = \"rows\"",
    );
    let back = diff(&contract(&with), &contract(ONE));
    assert_eq!(
        back.lines(),
        ["jobs no longer retired: old_*: unused; those cancelled stay cancelled"]
    );
}

#[test]
fn the_unified_diff_shows_the_changed_lines_in_their_surroundings() {
    let new = ONE.replace("limit = 300", "limit = 400");
    let text = unified(ONE, &new, "version 1", "new");
    assert!(text.starts_with("--- version 1\n+++ new\n"), "{text}");
    assert!(text.contains("-limit = 300\n+limit = 400\n"), "{text}");
    assert!(!text.contains("objective"), "{text}");
    assert_eq!(unified(ONE, ONE, "a", "b"), "");
}

#[test]
fn retired_jobs_are_named_by_pattern_or_tag_and_need_a_reason() {
    let text = ONE.replace(
        "high_risk = [\"fin_*\"]",
        "retire = [{ jobs = [\"exp_*\", \"layer:ops\"], reason = \"closed\" }]",
    );
    let jobs = contract(&text).jobs;
    assert_eq!(jobs.retired("exp_a", &[]), Some("closed"));
    assert_eq!(jobs.retired("b", &["layer:ops".to_owned()]), Some("closed"));
    assert_eq!(jobs.retired("b", &["layer:mart".to_owned()]), None);
    for (bad, why) in [
        (
            "retire = [{ jobs = [\"a\"] }]",
            "[[jobs.retire]] has no `reason`",
        ),
        (
            "retire = [{ reason = \"x\" }]",
            "[[jobs.retire]] has no `jobs`",
        ),
        (
            "retire = [{ jobs = [\"\"], reason = \"x\" }]",
            "names no job",
        ),
        (
            "retire = [{ jobs = [\"a\"], reason = \"x\", why = 1 }]",
            "unknown key `why`",
        ),
        ("retire = [\"a\"]", "expected a table [[jobs.retire]]"),
    ] {
        let text = ONE.replace("high_risk = [\"fin_*\"]", bad);
        let error = parse_goal(&text, Path::new("/"), None).unwrap_err();
        let found = error.problems.iter().any(|one| one.message.contains(why));
        assert!(found, "{bad}: {error:?}");
    }
}
