//! How loops end, and what a death in the middle of one leaves.

use super::bench::*;
use super::script::*;
use crate::ledger::event::Act;
use crate::ledger::verify;
use crate::model::JobState;
use crate::worker::provider::{Outcome, TurnFailureClass};
use serde_json::json;

#[test]
fn refusal_truncation_and_a_full_context_end_the_attempt_and_keep_nothing_half() {
    for (ends, word) in [
        (vec![Say::Ends(Outcome::Refused)], "refused"),
        (vec![Say::Ends(Outcome::ContextFull)], "context"),
        (
            vec![Say::Ends(Outcome::Truncated), Say::Ends(Outcome::Truncated)],
            "truncated",
        ),
    ] {
        let mut says = vec![ack("one", "propose_config")];
        says.extend(ends.clone());
        says.extend([ack("one", "propose_config"), hand_in("good")]);
        let bench = Bench::new(&script(&says));
        bench.run();
        let attempts = bench.attempts("one");
        assert!(
            attempts[0].contains(&format!("the loop ended, {word}")),
            "{attempts:?}"
        );
        let rows = bench.turns("one");
        assert!(rows[1].answer.is_none(), "{word}");
        assert_eq!(rows[1].tokens(), 105, "it was spent all the same");
        if word == "truncated" {
            let asked = bench.model.asked();
            assert_eq!(asked[2].max_output_tokens, 2 * asked[1].max_output_tokens);
            assert_eq!(asked[2].messages, asked[1].messages);
        }
        assert_eq!(bench.facts("one").state, JobState::CutOver);
    }
}

#[test]
fn a_context_limit_and_a_turn_limit_end_the_loop_with_a_checkpoint() {
    let progress = calls(&[("progress", json!({}))]);
    let mut says = vec![ack("one", "propose_config")];
    says.extend(vec![progress; 2]);
    says.extend([ack("one", "propose_config"), hand_in("good")]);
    let bench = Bench::with("max_turns = 3", "old", &script(&says));
    bench.run();
    assert!(bench.attempts("one")[0].contains("limit: the loop took all of its 3 turns"));
    let second = opening(&bench.model.asked()[3]);
    assert!(
        second.contains("Checkpoint of the attempt before"),
        "{second}"
    );
    assert_eq!(bench.facts("one").state, JobState::CutOver);
}

#[test]
fn a_request_that_can_never_work_goes_to_the_next_strategy() {
    let next =
        "[[strategy]]\nid = \"other\"\nworker = \"chat\"\nprovider = \"scripted\"\nmodel = \"m2\"";
    let bench = Bench::with(
        next,
        "old",
        &script(&[
            Say::Fails(failure(TurnFailureClass::FailStep)),
            ack("one", "propose_config"),
            hand_in("good"),
            // The second job goes through both strategies.
            ack("two", "propose_config"),
            calls(&[finish("cannot")]),
        ]),
    );
    bench.run();
    let attempts = bench.attempts("one");
    assert!(
        attempts[0].starts_with("repair failed the worker repair failed: the service said no"),
        "{attempts:?}"
    );
    assert!(attempts[1].starts_with("other passed"), "{attempts:?}");
    assert_eq!(bench.turns("one")[1].model, "m-answered");
    assert_eq!(bench.model.asked()[1].model, "m2");
}

#[test]
fn a_death_in_the_middle_of_a_turn_loses_one_call_which_counts_in_full() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        calls(&[("read_config", json!({"which": "old"}))]),
        // This answer never reaches the ledger.
        hand_in("lost"),
        hand_in("good"),
    ]));
    let mut engine = bench.engine();
    loop {
        engine.turn().unwrap();
        let chat = bench.facts("one").chat;
        if chat.turns == 3 && chat.open.is_some() {
            break;
        }
    }
    // What a kill leaves: the entries that were committed.
    drop(engine);
    let open = bench.turns("one");
    assert_eq!(open[2].outcome, "open");
    assert_eq!(open[2].tokens(), open[2].reserved_tokens);
    bench.run();
    let rows = bench.turns("one");
    let outcomes: Vec<&str> = rows.iter().map(|row| row.outcome.as_str()).collect();
    assert_eq!(outcomes, ["tools", "tools", "unknown", "tools"]);
    assert_eq!(rows[2].cost, rows[2].reserved_money);
    let facts = bench.facts("one");
    assert_eq!(facts.tokens(), 3 * 105 + rows[2].reserved_tokens);
    assert_eq!(
        (facts.state, facts.attempt.0),
        (JobState::CutOver, 1),
        "the loop went on"
    );
    let asked = bench.model.asked();
    assert_eq!(
        asked[2].messages, asked[3].messages,
        "from the stored conversation"
    );
}

#[test]
fn a_turn_that_ends_after_a_person_took_the_job_is_still_booked() {
    let bench = Bench::new(&script(&[ack("one", "propose_config")]));
    let mut engine = bench.engine();
    while bench.facts("one").chat.open.is_none() {
        engine.turn().unwrap();
    }
    bench.submit(
        "one",
        Act::HandOver {
            reason: "mine".to_owned(),
        },
    );
    engine.run().unwrap();
    drop(engine);
    let facts = bench.facts("one");
    assert_eq!((facts.state, facts.tokens()), (JobState::HandedOver, 105));
    assert_eq!(bench.turns("one").len(), 1);
    assert_eq!(verify(&bench.path).unwrap().word(), "ok");
}

#[test]
fn a_loop_that_goes_round_or_is_paused_again_and_again_ends_as_a_limit() {
    let read = calls(&[("read_config", json!({"which": "old"}))]);
    let mut says = vec![ack("one", "propose_config")];
    says.extend(vec![read; 4]);
    says.push(ack("one", "propose_config"));
    says.extend(vec![Say::Ends(Outcome::Paused); 6]);
    says.extend([ack("one", "propose_config"), hand_in("good")]);
    let bench = Bench::new(&script(&says));
    bench.run();
    let attempts = bench.attempts("one");
    assert!(
        attempts[0].contains("limit: it called read_config 4 times in a row"),
        "{attempts:?}"
    );
    assert!(
        attempts[1].contains("limit: the provider paused it more than 5 times"),
        "{attempts:?}"
    );
    assert_eq!(bench.facts("one").state, JobState::CutOver);
}
