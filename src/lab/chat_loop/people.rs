//! People in the loop: questions, comments, claims.

use super::bench::*;
use super::script::*;
use super::small::*;
use crate::engine::run::Finish;
use crate::ledger::event::Act;
use crate::model::{JobState, WaitKind};
use serde_json::json;

#[test]
fn a_question_waits_for_a_person_at_no_cost_and_its_answer_is_the_tools() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        calls(&[("ask_person", json!({"question": "Which folder?"}))]),
        hand_in("good"),
    ]));
    // The engine goes on with the other job and ends with a person's turn.
    {
        let mut scripted = bench.model.script.lock().unwrap();
        // While the first waits, the second speaks.
        let tail: Vec<Say> = scripted.drain(2..).collect();
        scripted.extend(tail[1..].iter().cloned());
        scripted.push_back(tail[0].clone());
    }
    assert_eq!(bench.run(), Finish::OnlyPeople);
    let open = bench.reader().view().open_questions(&goal()).unwrap();
    assert_eq!((open.len(), open[0].text.as_str()), (1, "Which folder?"));
    let facts = bench.facts("one");
    assert_eq!(facts.wait.as_ref().unwrap().kind, WaitKind::Person);
    let before = facts.tokens();
    assert_eq!(bench.run(), Finish::OnlyPeople);
    assert_eq!(bench.facts("one").tokens(), before, "waiting costs nothing");
    let question = open[0].question.clone();
    bench.submit(
        "one",
        Act::Answer {
            question: "q-other".to_owned(),
            text: "x".to_owned(),
        },
    );
    bench.submit(
        "one",
        Act::Answer {
            question: question.clone(),
            text: "/srv/new".to_owned(),
        },
    );
    assert_eq!(bench.run(), Finish::Ended);
    let asked = bench.model.asked();
    let last = serde_json::to_string(asked.last().unwrap().messages.last().unwrap()).unwrap();
    assert!(last.contains("The operator answers:\\n/srv/new"), "{last}");
    let row = &bench.reader().view().questions(&goal(), 10).unwrap()[0];
    assert_eq!(
        (row.by.as_ref().unwrap().0.as_str(), row.answer.as_str()),
        ("ann", "/srv/new")
    );
    assert_eq!(bench.facts("one").state, JobState::CutOver);
    let kinds = bench.kinds("one");
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "question.answered")
            .count(),
        1
    );
}

#[test]
fn words_about_the_goal_reach_the_next_attempt_of_each_job_once_and_no_other() {
    let bench = Bench::new(&[
        ack("one", "propose_config"),
        hand_in(BAD),
        ack("one", "repair_config"),
        hand_in("bad too, BROKEN"),
        ack("one", "repair_config"),
        hand_in("good"),
        ack("two", "propose_config"),
        hand_in("good"),
    ]);
    let mut engine = bench.engine();
    while bench.facts("one").chat.turns == 0 {
        engine.turn().unwrap();
    }
    bench.comment_on_goal("mind the folders\nof the old host");
    bench.submit(
        "one",
        Act::Comment {
            text: "try /srv".to_owned(),
        },
    );
    engine.run().unwrap();
    drop(engine);
    let openings: Vec<String> = bench
        .model
        .asked()
        .iter()
        .filter(|request| request.messages.len() == 1)
        .map(opening)
        .collect();
    assert_eq!(openings.len(), 4);
    let said = |text: &String| {
        text.contains("> About the whole goal: mind the folders\n> of the old host")
    };
    let told: Vec<bool> = openings.iter().map(said).collect();
    assert_eq!(told, [false, true, false, true], "{openings:#?}");
    assert!(openings[1].contains("The operator says, for this attempt:\n"));
    assert!(openings[1].contains("> About this job: try /srv"));
    assert!(!openings[3].contains("/srv"));
    // The shared prefix, which the provider caches, has none of it.
    for request in bench.model.asked() {
        let fixed = serde_json::to_string(&(&request.tools, &request.system)).unwrap();
        assert!(!fixed.contains("mind the folders"));
    }
}

#[test]
fn words_about_the_goal_outlive_the_engine_and_later_ones_take_their_place() {
    let bench = Bench::new(&[
        ack("one", "propose_config"),
        hand_in("good"),
        ack("two", "propose_config"),
        hand_in("good"),
    ]);
    let mut engine = bench.engine();
    bench.comment_on_goal("first words");
    let empty = bench.comment_on_goal("  ");
    bench.comment_on_goal("second words");
    while bench.facts("one").chat.turns == 0 {
        engine.turn().unwrap();
    }
    drop(engine);
    bench.run();
    let asked = bench.model.asked();
    let openings: Vec<String> = asked
        .iter()
        .filter(|request| request.messages.len() == 1)
        .map(opening)
        .collect();
    // Later attempts were not given them: they are for each job's next one.
    let firsts = || openings.iter().filter(|text| text.contains("attempt: 1\n"));
    assert!(firsts().count() >= 2, "{openings:#?}");
    for text in firsts() {
        assert!(
            text.contains("> About the whole goal: second words"),
            "{text}"
        );
        assert!(!text.contains("first words"));
    }
    let reader = bench.reader();
    let answer = reader.view().decision(&empty).unwrap().unwrap();
    assert_eq!(
        (answer.state.as_str(), answer.why.as_str()),
        ("refused", "the comment is empty")
    );
}

#[test]
fn a_claim_is_listed_for_the_owner_and_changes_nothing() {
    let claim =
        |clause: &str, reason: &str| ("file_claim", json!({"clause": clause, "reason": reason}));
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        calls(&[
            claim("run", "both logs are empty by design"),
            claim("rows", "of no clause"),
            claim("run", " "),
        ]),
        calls(&[claim("run", "again"), claim("run", "a third time")]),
        hand_in(BAD),
        ack("one", "repair_config"),
        calls(&[finish("cannot")]),
    ]));
    bench.run();
    let reader = bench.reader();
    let claims = reader.view().claims(&goal()).unwrap();
    let told: Vec<(&str, u32, &str, &str)> = claims
        .iter()
        .map(|one| {
            (
                one.job.as_str(),
                one.attempt.0,
                one.clause.as_str(),
                one.why.as_str(),
            )
        })
        .collect();
    // The newest first; at most two a loop, and only against clauses of the job.
    assert_eq!(
        told,
        [
            ("one", 1, "run", "again"),
            ("one", 1, "run", "both logs are empty by design")
        ]
    );
    assert_eq!(bench.alerts("claim"), 0, "a claim is no alert");
    assert!(bench.kinds("one").contains(&"claim.filed".to_owned()));
    // The clause still judges: what failed is not done.
    assert_eq!(bench.facts("one").state, JobState::HandedOver);
    assert_eq!(
        reader.view().contract(&goal()).unwrap().unwrap().version.0,
        1
    );
}
