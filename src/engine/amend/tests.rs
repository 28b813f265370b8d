use super::measure::Measured;
use super::*;
use crate::contract::{Contract, parse_goal};
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::facts::{ClauseFacts, JobFacts};
use crate::ledger::read::{RerunMeasure, StagingResource};
use crate::model::{
    ClauseId, ContractVersion, Digest, JobId, JobState, TimeMs, Verdict, digest_bytes,
};
use std::collections::BTreeMap;
use std::path::Path;

const ONE: &str = r#"
[goal]
id = "g"
objective = "All of it."
owner = "ann"
deadline = "2024-04-05T18:00:00+02:00[Europe/Berlin]"
workdays = "mon-fri 09:00-18:00"
[[accept]]
id = "rows"
check = "row_count"
[[accept]]
id = "sums"
check = "checksum"
[approval.cutover]
by = ["ann"]
minutes_each = 3
[budget.warehouse_queries]
limit = 300
per = "day"
"#;

/// Version 2: a clause more, and the `old_` jobs given up.
fn two() -> String {
    format!(
        "{ONE}\n[[accept]]\nid = \"reports\"\ncheck = \"report\"\nqueries = 3\ncatalog = \"select 1\"\n\
         [[jobs.retire]]\njobs = [\"old_*\"]\nreason = \"unused\"\n"
    )
}

fn contract(text: &str) -> Contract {
    parse_goal(text, Path::new("/"), None).unwrap().contract
}

/// Start of working day 3.
fn wednesday() -> TimeMs {
    TimeMs::from_timestamp("2024-04-03T09:00:00+02:00".parse().unwrap())
}

fn job(name: &str, position: u64, state: JobState, contract: &Contract) -> JobFacts {
    let entry = |event| Entry {
        at: TimeMs(1),
        goal: "g".into(),
        job: Some(name.into()),
        attempt: None,
        actor: Actor::Engine,
        event,
    };
    let clauses: Vec<ClauseId> = contract.accept.iter().map(|one| one.id.clone()).collect();
    let mut facts = JobFacts::added(&entry(Event::JobAdded {
        position,
        title: String::new(),
        tags: vec![],
        depends_on: vec![],
        origin: String::new(),
        definition: digest_bytes(b"old"),
        output: Some(serde_json::json!({ "table": name, "key": [], "columns": [] })),
        hold: None,
        high_risk: false,
        clauses,
    }))
    .unwrap();
    let config = digest_bytes(name.as_bytes());
    facts.apply(&entry(Event::JobMoved {
        state,
        reason: String::new(),
    }));
    if state == JobState::Pending {
        return facts;
    }
    facts.config = Some(config.clone());
    facts.queries = 6;
    for clause in &contract.accept {
        facts.evidence.insert(
            clause.id.clone(),
            ClauseFacts {
                clause_digest: clause.digest.clone(),
                config: config.clone(),
                lineage: digest_bytes(b""),
                checker: digest_bytes(b""),
                operation: "op".into(),
                by: Default::default(),
                verdict: Verdict::Pass,
                summary: String::new(),
                detail: digest_bytes(b""),
            },
        );
    }
    facts
}

struct World {
    jobs: Vec<JobFacts>,
    staging: BTreeMap<JobId, Vec<StagingResource>>,
    measured: Measured,
}

/// 40 reconciled, 5 of the `old_` ones reconciled and 10 untouched, 65 not done.
fn main_case() -> World {
    let one = contract(ONE);
    let mut jobs = Vec::new();
    let mut staging = BTreeMap::new();
    let mut add = |name: String, state| {
        let facts = job(&name, jobs.len() as u64, state, &one);
        if state == JobState::AwaitingApproval {
            let run = StagingResource {
                operation: "op".into(),
                reference: format!("staging/{name}"),
                at: TimeMs(1),
            };
            staging.insert(facts.id.clone(), vec![run]);
        }
        jobs.push(facts);
    };
    for number in 0..40 {
        add(format!("kept_{number}"), JobState::AwaitingApproval);
    }
    for number in 0..5 {
        add(format!("old_done_{number}"), JobState::AwaitingApproval);
    }
    for number in 0..10 {
        add(format!("old_new_{number}"), JobState::Pending);
    }
    for number in 0..65 {
        add(format!("open_{number}"), JobState::Pending);
    }
    let reruns = RerunMeasure {
        first: 280,
        again: 42,
    };
    World {
        jobs,
        staging,
        measured: Measured {
            reruns,
            ..Measured::default()
        },
    }
}

fn impact(world: &World, new: &str, used_today: u64) -> Impact {
    let (old, new) = (contract(ONE), contract(new));
    preview(&Situation {
        jobs: &world.jobs,
        old: &old,
        version: ContractVersion(1),
        new: &new,
        measured: &world.measured,
        staging: &world.staging,
        used_today,
        left_today: None,
        now: wednesday(),
    })
}

#[test]
fn the_arithmetic_of_the_plan_comes_out_to_the_number() {
    let world = main_case();
    let seen = impact(&world, &two(), 0);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} instead of {b}");
    assert_eq!(seen.cancelled.len(), 15);
    assert_eq!(
        seen.cancelled
            .iter()
            .filter(|one| !one.staging.is_empty())
            .count(),
        5
    );
    assert_eq!(seen.sunk_queries(), 30);
    assert_eq!((seen.kept, seen.not_done.jobs), (40, 65));
    assert_eq!(seen.again.len(), 1, "only the new clause");
    close(seen.again[0].queries, 120.0);
    close(seen.not_done.queries, 585.0);
    close(seen.reruns.queries, 105.75);
    close(seen.need, 810.75);
    let quota = seen.quota.as_ref().unwrap();
    assert_eq!((quota.left, quota.renewals), (Some(900), Some(2)));
    close(quota.spare.unwrap(), 89.25);
    close(seen.approvals.minutes, 315.0);
    close(seen.approvals.working_minutes.unwrap(), 27.0 * 60.0);
    assert!(seen.fits() && seen.choices.is_empty());
    let lines = seen.lines().join("\n");
    for words in [
        "15 jobs cancelled, 5 of them with resources in staging",
        "to clean up: old_done_0: staging/old_done_0",
        "about 106 (105.75)",
        "needed in all: about 811 (810.75)",
        "about 89 (89.25) queries to spare",
        "105 cutovers at 3 minutes: 315 minutes",
    ] {
        assert!(lines.contains(words), "{words} is missing in\n{lines}");
    }
}

#[test]
fn what_is_short_comes_with_choices_that_really_fit() {
    let world = main_case();
    let seen = impact(&world, &two(), 180);
    let spare = seen.quota.as_ref().unwrap().spare.unwrap();
    assert!((spare + 90.75).abs() < 1e-9, "{spare}");
    assert!(!seen.fits());
    let mut kinds = 0;
    for choice in &seen.choices {
        kinds += 1;
        match choice {
            Choice::MoreQuota { to, spare, .. } => {
                let raised = two().replace("limit = 300", &format!("limit = {to}"));
                let then = impact(&world, &raised, 180).quota.unwrap().spare.unwrap();
                assert!((then - spare).abs() < 1e-9 && then >= 0.0, "{then}");
                let less = two().replace("limit = 300", &format!("limit = {}", to - 1));
                assert!(impact(&world, &less, 180).quota.unwrap().spare.unwrap() < 0.0);
            }
            Choice::LaterDeadline {
                days, spare, to, ..
            } => {
                assert_eq!(*days, 1);
                let later = two().replace("2024-04-05T18", "2024-04-06T18");
                assert_eq!(contract(&later).deadline, Some(*to));
                let then = impact(&world, &later, 180).quota.unwrap().spare.unwrap();
                assert!((then - spare).abs() < 1e-9 && then >= 0.0);
            }
            Choice::FewerJobs { jobs, of, spare } => {
                assert_eq!((*jobs, *of), (9, 65));
                let mut fewer = main_case();
                fewer.jobs.truncate(fewer.jobs.len() - 9);
                let then = impact(&fewer, &two(), 180).quota.unwrap().spare.unwrap();
                assert!((then - spare).abs() < 1e-9 && then >= 0.0);
            }
            Choice::WithoutClause {
                clause,
                spare,
                saves,
            } => {
                assert_eq!(clause.as_str(), "reports");
                assert!((saves - 315.0 * 1.15).abs() < 1e-9);
                assert!((spare - (315.0 * 1.15 - 90.75)).abs() < 1e-9);
            }
            Choice::MoreApproverTime { .. } => panic!("approvers have time"),
        }
    }
    assert_eq!(kinds, 4);
}

#[test]
fn a_budget_alone_runs_nothing_again_and_voids_nothing() {
    let world = main_case();
    let raised = ONE.replace("limit = 300", "limit = 400");
    let seen = impact(&world, &raised, 0);
    assert!(seen.again.is_empty() && seen.voided.is_empty() && seen.cancelled.is_empty());
    assert_eq!(seen.quota.unwrap().left, Some(1_200));
}

#[test]
fn production_is_never_cancelled_and_needs_the_new_clause() {
    let mut world = main_case();
    let one = contract(ONE);
    let mut in_production = job("old_live", 200, JobState::CutOver, &one);
    in_production.production = Some("job-1".to_owned());
    world.jobs.push(in_production);
    let seen = impact(&world, &two(), 0);
    assert_eq!(seen.cancelled.len(), 15);
    assert_eq!(seen.retired_in_production, [JobId::from("old_live")]);
    assert_eq!(seen.reverify, [JobId::from("old_live")]);
    assert!((seen.reverify_clauses[0].queries - 3.0).abs() < 1e-9);
    assert_eq!(seen.approvals.jobs, 105, "it is in production already");
}

#[test]
fn too_little_measured_is_said_and_the_plan_s_rate_stands_in() {
    let mut world = main_case();
    world.measured.reruns = RerunMeasure {
        first: 59,
        again: 59,
    };
    let seen = impact(&world, &two(), 0);
    assert_eq!(
        (seen.reruns.rate, seen.reruns.measured_from),
        (DEFAULT_RERUN_RATE, None)
    );
    assert!(
        seen.lines()
            .iter()
            .any(|line| line.contains("too little is measured"))
    );
    world.measured.reruns = RerunMeasure {
        first: 60,
        again: 30,
    };
    assert_eq!(impact(&world, &two(), 0).reruns.rate, 0.5);
}

#[test]
fn a_pass_under_another_meaning_of_the_clause_is_none() {
    let one = contract(ONE);
    let facts = job("a", 0, JobState::AwaitingApproval, &one);
    assert_eq!(will_run_again(&one, &facts).count(), 0);
    let changed = contract(&ONE.replace(
        "check = \"checksum\"",
        "check = \"checksum\"\ncolumns = \"all\"",
    ));
    let again: Vec<&str> = will_run_again(&changed, &facts)
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(again, ["sums"]);
    let other = JobFacts {
        config: Some(Digest("other".into())),
        ..facts
    };
    assert_eq!(will_run_again(&one, &other).count(), 2);
}
