//! The engine over a world in which nothing can fail: its own paths, from adoption to the end.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::engine_support;

use dogwatch::engine::run::Finish;
use dogwatch::ledger::{Act, Reader, decide, verify};
use dogwatch::model::{Account, GoalId, JobId, JobState, TimeMs};
use engine_support::{Bench, ME};

#[test]
fn without_approval_every_job_is_cut_over_once_and_the_ledger_verifies() {
    let bench = Bench::new(20, false);
    assert_eq!(bench.run(), Finish::Ended);
    let overview = bench.reader().view().overview(&bench.goal).unwrap();
    assert_eq!(overview.by_state.get(&JobState::CutOver), Some(&20));
    // One staging run and one cutover a job.
    assert_eq!(bench.noop.effects(), 40);
    assert_eq!(verify(&bench.ledger).unwrap().word(), "ok");
    // Started again, there is nothing to do.
    assert_eq!(bench.run(), Finish::Ended);
    assert_eq!(bench.noop.effects(), 40);
}

#[test]
fn with_approval_nothing_reaches_production_before_the_named_person_says_yes() {
    let bench = Bench::new(3, true);
    assert_eq!(bench.run(), Finish::OnlyPeople);
    assert_eq!(bench.noop.effects(), 3);
    let goal = bench.goal.clone();
    let open = bench.reader().view().open_approvals(&goal).unwrap();
    assert_eq!(open.len(), 3);

    let ask = |number: usize, digest: &dogwatch::model::Digest, who: &str| {
        let act = Act::Approve {
            approval: open[number].approval.clone(),
            digest: digest.clone(),
        };
        let account = Account(who.to_owned());
        decide::submit(
            &bench.ledger,
            &goal,
            &open[number].job,
            act,
            &account,
            "test",
            TimeMs(number as i64),
        )
        .unwrap()
    };
    let stranger = ask(0, &open[0].digest, "mallory");
    let stale = ask(1, &open[0].digest, ME);
    let good = ask(2, &open[2].digest, ME);
    let twice = {
        let act = Act::Approve {
            approval: open[2].approval.clone(),
            digest: open[2].digest.clone(),
        };
        let me = Account(ME.to_owned());
        decide::submit(
            &bench.ledger,
            &goal,
            &open[2].job,
            act,
            &me,
            "test",
            TimeMs(99),
        )
        .unwrap()
    };
    assert_eq!(bench.run(), Finish::OnlyPeople);
    let reader = bench.reader();
    let answer = |id| {
        let row = reader.view().decision(&id).unwrap().unwrap();
        (row.state, row.why)
    };
    assert_eq!(answer(good).0, "accepted");
    let (state, why) = answer(stranger);
    assert!(
        state == "refused" && why.contains("mallory is not an approver"),
        "{why}"
    );
    let (state, why) = answer(stale);
    assert!(
        state == "refused" && why.contains("is not what is asked now"),
        "{why}"
    );
    assert_eq!(answer(twice).0, "refused");
    assert_eq!(state_of(&reader, &goal, &open[2].job), JobState::CutOver);
    assert_eq!(
        state_of(&reader, &goal, &open[0].job),
        JobState::AwaitingApproval
    );
    assert_eq!(bench.noop.effects(), 4);
    let request = reader.view().approval(&open[2].approval).unwrap().unwrap();
    assert!(
        request.outcome.starts_with("applied as run-"),
        "{}",
        request.outcome
    );
}

#[test]
fn a_rejected_job_is_handed_over_with_the_reason_and_can_be_tried_again() {
    let bench = Bench::new(1, true);
    bench.run();
    let open = bench.reader().view().open_approvals(&bench.goal).unwrap();
    let job = open[0].job.clone();
    bench.submit(
        &job,
        Act::Reject {
            approval: open[0].approval.clone(),
            digest: open[0].digest.clone(),
            reason: "not in quarter end".to_owned(),
        },
    );
    assert_eq!(bench.run(), Finish::Ended);
    let facts = bench
        .reader()
        .view()
        .facts(&bench.goal, &job)
        .unwrap()
        .unwrap();
    assert_eq!(facts.state, JobState::HandedOver);
    assert!(
        facts.reason.contains("not in quarter end"),
        "{}",
        facts.reason
    );
    bench.submit(&job, Act::Retry);
    assert_eq!(bench.run(), Finish::OnlyPeople);
    assert_eq!(
        state_of(&bench.reader(), &bench.goal, &job),
        JobState::AwaitingApproval
    );
    assert_eq!(verify(&bench.ledger).unwrap().word(), "ok");
}

#[test]
fn a_paused_job_stays_where_it_is_until_resumed() {
    let bench = Bench::new(2, false);
    bench.list();
    let job = JobId::from("job-000000");
    bench.submit(&job, Act::Pause);
    assert_eq!(bench.run(), Finish::OnlyPeople);
    assert_eq!(bench.noop.effects(), 2);
    bench.submit(&job, Act::Resume);
    assert_eq!(bench.run(), Finish::Ended);
    assert_eq!(bench.noop.effects(), 4);
}

#[test]
fn a_damaged_job_is_refused_before_any_operation_and_the_others_go_on() {
    let bench = Bench::new(4, false);
    bench.list();
    rusqlite::Connection::open(&bench.ledger)
        .unwrap()
        .execute_batch(
            "DROP TRIGGER events_keep;
             UPDATE events SET body = replace(body, 'No-op', 'Other') WHERE job = 'job-000002';",
        )
        .unwrap();
    for _ in 0..2 {
        assert_eq!(bench.run(), Finish::OnlyPeople);
    }
    let reader = bench.reader();
    let overview = reader.view().overview(&bench.goal).unwrap();
    assert_eq!(overview.by_state.get(&JobState::CutOver), Some(&3));
    assert_eq!(
        state_of(&reader, &bench.goal, &JobId::from("job-000002")),
        JobState::Pending
    );
    assert_eq!(bench.noop.effects(), 6);
    // Told once, not at every start; and the goal has not ended.
    let alerts = reader.view().alerts(&bench.goal).unwrap();
    assert_eq!(alerts.len(), 1);
    assert!(
        alerts[0].evidence.contains("job-000002"),
        "{}",
        alerts[0].evidence
    );
    assert_eq!(reader.view().goals().unwrap()[0].ended, None);
    assert!(!verify(&bench.ledger).unwrap().is_sound());
}

fn state_of(reader: &Reader, goal: &GoalId, job: &JobId) -> JobState {
    reader.view().facts(goal, job).unwrap().unwrap().state
}

#[test]
fn a_request_that_expired_is_made_again_under_an_id_of_its_own() {
    let bench = Bench::with(1, "expires = \"10m\"");
    assert_eq!(bench.run(), Finish::OnlyPeople);
    let first = bench.reader().view().open_approvals(&bench.goal).unwrap();
    let later = first[0].expires_at.unwrap().plus_ms(1);
    assert_eq!(bench.run_at(later), Finish::OnlyPeople);
    let open = bench.reader().view().open_approvals(&bench.goal).unwrap();
    assert_eq!(open.len(), 1);
    // Asked for the very same thing, so only the id tells the two apart.
    assert_eq!(open[0].digest, first[0].digest);
    assert_ne!(open[0].approval, first[0].approval);
    let old = bench.reader().view().approval(&first[0].approval).unwrap();
    assert_eq!(old.unwrap().state, "void");
    assert_eq!(verify(&bench.ledger).unwrap().word(), "ok");
}
