//! Clauses that people and models judge, over the practice world: who is asked, what the word is worth, and
//! that a soak comes before done.

use crate::amendments::amend;
use dogwatch::lab::story::{Stage, replaced};
use dogwatch::ledger::Act;
use dogwatch::ledger::facts::JobFacts;
use dogwatch::model::{Account, EvidenceKind, JobId, JobState, Verdict};
use dogwatch::world::practice::goal::goal_text;
use std::path::Path;

const JOBS: usize = 8;

/// A model's clause (a program stands for it), and a person who looks at every second job with a table.
const CLAUSES: &str = "[[accept]]\nid = \"tone\"\ncheck = \"command\"\nkind = \"judge\"\nrun = [\"./judge.sh\"]\n\
    applies_to = \"has_table\"\n\
    [[accept]]\nid = \"looked\"\ncheck = \"person\"\nevery = 2\nrows = 4\nof = \"tone\"\n\
    question = \"Do these rows read like the old ones?\"\napplies_to = \"has_table\"\n";

fn text(clauses: &str) -> String {
    let text = goal_text(3, JOBS);
    replaced(
        &text,
        "[approval.cutover]",
        &format!("{clauses}\n[approval.cutover]"),
    )
    .unwrap()
}

fn stage(dir: &Path, text: &str) -> Stage {
    let mut stage = Stage::new("sampling", 3, dir, Box::new(|_| {})).unwrap();
    let judge = stage
        .file(
            "judge.sh",
            "#!/bin/sh\ncat >/dev/null\necho '{\"verdict\": \"pass\", \"summary\": \"reads well\"}'\n",
        )
        .unwrap();
    std::fs::set_permissions(judge, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    stage.adopt(text).unwrap();
    stage
}

fn facts(stage: &Stage) -> Vec<JobFacts> {
    stage
        .look(|moment| moment.view.all_facts(moment.goal))
        .unwrap()
}

fn of(stage: &Stage, job: &JobId) -> JobFacts {
    facts(stage).into_iter().find(|one| one.id == *job).unwrap()
}

/// The job that somebody is asked about, once there are so many.
fn asked(stage: &mut Stage, count: usize) -> Vec<JobFacts> {
    stage
        .until("somebody is asked to look", |moment| {
            let open = moment.view.open_questions(moment.goal)?;
            Ok(open.iter().filter(|one| one.is_sample()).count() >= count)
        })
        .unwrap();
    let all = facts(stage);
    all.into_iter().filter(|one| one.sample.is_some()).collect()
}

fn judge(job: &JobFacts, pass: bool, reason: &str) -> Act {
    Act::Judge {
        sample: job.sample.as_ref().unwrap().id.clone(),
        pass,
        reason: reason.to_owned(),
    }
}

#[test]
fn a_person_looks_at_chosen_rows_before_the_request_and_the_word_is_bound_to_what_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let mut stage = stage(dir.path(), &text(CLAUSES));
    let open = asked(&mut stage, 2);
    let (first, second) = (open[0].clone(), open[1].clone());
    for job in &open {
        assert_eq!(job.position % 2, 1, "only every second job: {}", job.id);
        assert_eq!(
            job.requests, 0,
            "nothing is requested before somebody looked"
        );
        assert_eq!(job.state, JobState::Staged);
        assert!(job.sample.as_ref().unwrap().rows > 0, "{}", job.id);
    }
    let rows = stage
        .look(|moment| moment.view.open_questions(moment.goal))
        .unwrap();
    let question = rows.iter().find(|one| one.job == first.id).unwrap().clone();
    for words in [
        "read like the old ones?",
        "a model judged: reads well",
        "on both sides",
    ] {
        assert!(question.text.contains(words), "{}", question.text);
    }
    let (owner, other) = (stage.owner(), Account("somebody".to_owned()));
    let mut refused = |act: Act, by: &Account, word: &str| {
        let (accepted, why) = stage.act(&first.id, act, by).unwrap();
        assert!(!accepted && why.contains(word), "{why}");
    };
    refused(
        judge(&first, true, ""),
        &other,
        "the contract names practice-owner",
    );
    refused(judge(&first, false, "  "), &owner, "needs its reason");
    refused(judge(&second, true, ""), &owner, "not asked about any more");
    let answer = |text: &str| Act::Answer {
        question: question.question.clone(),
        text: text.to_owned(),
    };
    refused(answer("looks good"), &owner, "write \"pass\"");
    // A fail is a failed check, and its reason is what the next attempt is given.
    let (accepted, why) = stage
        .act(&first.id, answer("fail: the totals are in cents"), &owner)
        .unwrap();
    assert!(accepted, "{why}");
    let failed = of(&stage, &first.id);
    assert!(failed.sample.is_none());
    assert!(
        failed
            .last_failures
            .iter()
            .any(|one| one.contains("the totals are in cents")),
        "{:?}",
        failed.last_failures
    );
    // A pass lets the request go out, with whose word each clause is.
    let (accepted, why) = stage
        .act(&second.id, judge(&second, true, "all four"), &owner)
        .unwrap();
    assert!(accepted, "{why}");
    stage
        .until("the request", |moment| {
            Ok(moment
                .view
                .facts(moment.goal, &second.id)?
                .unwrap()
                .requests
                == 1)
        })
        .unwrap();
    let passed = of(&stage, &second.id);
    assert!(passed.reason.contains("request"), "{}", passed.reason);
    let counts = |by| passed.passed_by(by);
    assert_eq!(
        (counts(EvidenceKind::Judge), counts(EvidenceKind::Person)),
        (1, 1)
    );
    let evidence = stage
        .look(|moment| moment.view.evidence(moment.goal, &second.id))
        .unwrap();
    let by_person = evidence
        .iter()
        .find(|one| one.kind == EvidenceKind::Person)
        .unwrap();
    assert_eq!(by_person.by.as_ref(), Some(&owner));
    assert_eq!(by_person.verdict, Verdict::Pass);
    assert!(
        by_person.summary.contains("looked at 4 rows: all four"),
        "{}",
        by_person.summary
    );
    let row = stage
        .look(|moment| {
            moment
                .view
                .job_rows(moment.goal, std::slice::from_ref(&second.id))
        })
        .unwrap();
    assert_eq!((row[0].passed_judge, row[0].passed_person), (1, 1));
    // Other rows are other evidence: the pass is void, the request too, and somebody is asked again.
    let (accepted, why) = amend(
        &mut stage,
        &text(&CLAUSES.replace("rows = 4", "rows = 3")),
        &owner,
    );
    assert!(accepted, "{why}");
    stage
        .until("somebody is asked again", |moment| {
            let facts = moment.view.facts(moment.goal, &second.id)?.unwrap();
            Ok(facts.sample.is_some_and(|own| own.rows == 3))
        })
        .unwrap();
    let again = of(&stage, &second.id);
    assert!(
        again.requests == 1,
        "no second request before somebody looked again"
    );
    let lapsed = stage
        .look(|moment| moment.view.questions(moment.goal, 50))
        .unwrap();
    assert!(
        lapsed
            .iter()
            .any(|one| one.job == first.id && one.by.as_ref() == Some(&owner))
    );
    assert_eq!(stage.end().unwrap().chain, "ok");
}

#[test]
fn the_practice_owner_looks_too_and_a_job_is_done_only_after_its_soak() {
    let dir = tempfile::tempdir().unwrap();
    let soaking = format!("{}\n[soak]\nfor = \"2d\"\n", text(CLAUSES));
    let mut stage = stage(dir.path(), &soaking);
    stage.owner_decides(true);
    stage
        .until("a job soaks", |moment| {
            Ok(moment
                .view
                .overview(moment.goal)?
                .by_wait
                .contains_key(&dogwatch::model::WaitKind::Soak))
        })
        .unwrap();
    let soaks = facts(&stage)
        .into_iter()
        .find(|one| one.production.is_some())
        .unwrap();
    assert_eq!(
        soaks.state,
        JobState::Reverify,
        "in production is not done yet"
    );
    let end = soaks.cut_over_at.unwrap().plus_ms(2 * 86_400_000);
    stage
        .until("that job is done", |moment| {
            let facts = moment.view.facts(moment.goal, &soaks.id)?.unwrap();
            Ok(facts.state == JobState::CutOver)
        })
        .unwrap();
    assert!(
        stage.now() >= end,
        "done {} before its soak was over",
        soaks.id
    );
    let done = of(&stage, &soaks.id);
    assert!(done.reason.contains("after the soak"), "{}", done.reason);
    let alerts = stage
        .look(|moment| moment.view.alerts(moment.goal))
        .unwrap();
    assert!(
        alerts.iter().all(|one| one.rule != "stall"),
        "waiting healthily is no stall: {alerts:?}"
    );
    stage.until_end().unwrap();
    let by_person: usize = facts(&stage)
        .iter()
        .map(|one| one.passed_by(EvidenceKind::Person))
        .sum();
    assert!(by_person > 0, "the owner looked at nothing");
    assert_eq!(stage.end().unwrap().chain, "ok");
}
