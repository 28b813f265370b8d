//! What a model is told, and what is written down of each turn.

use super::bench::*;
use super::script::*;
use super::small::*;
use crate::engine::run::Finish;
use crate::ledger::event::Act;
use crate::model::{Digest, JobId, JobState};
use crate::worker::provider::TurnRequest;
use serde_json::json;

#[test]
fn a_good_repair_is_staged_checked_and_cut_over_and_every_turn_has_its_row() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        calls(&[
            ("read_config", json!({"which": "old"})),
            ("read_config", json!({"which": "old_host"})),
            ("progress", json!({})),
        ]),
        calls(&[(
            "query_warehouse",
            json!({"sql": "select count(*) from legacy.one"}),
        )]),
        hand_in("good"),
    ]));
    assert_eq!(bench.run(), Finish::Ended);
    assert_eq!(bench.facts("one").state, JobState::CutOver);
    let rows = bench.turns("one");
    assert_eq!(rows.len(), 4);
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row.turn as usize, index + 1);
        assert_eq!((row.input(), row.output, row.tokens()), (100, 5, 105));
        assert_eq!(row.cost, Some(10 * 3 + 20 * 4 + 70 + 5 * 15));
        assert!(row.reserved_tokens > 4_096, "{row:?}");
        assert!(row.reserved_money > row.cost);
        assert_eq!(row.model, "m-answered");
        assert_eq!(row.request_id, Some(format!("req-{}", index + 1)));
    }
    assert_eq!(
        bench.called("one"),
        [
            "acknowledge answered",
            "read_config answered",
            "read_config answered",
            "progress answered",
            "query_warehouse answered",
            "propose_config answered",
            "finish answered"
        ]
    );
    let answers: Vec<String> = bench
        .call_rows("one")
        .iter()
        .map(|row| bench.text(&row.answer))
        .collect();
    assert_eq!(answers[1], "old text");
    assert!(answers[2].contains("X=1"));
    assert!(
        answers[3].contains("2 of 2 queries are left"),
        "{}",
        answers[3]
    );
    assert!(answers[4].contains("42"));
    assert_eq!(bench.small.queries.lock().unwrap().len(), 1);
    let facts = bench.facts("one");
    assert_eq!((facts.tokens(), facts.queries), (4 * 105, 1));
    // The second job gave up, in words that are kept as its own.
    let two = bench.facts("two");
    assert_eq!(two.state, JobState::HandedOver);
    assert!(
        two.reason.contains("says that it cannot be done: my words"),
        "{}",
        two.reason
    );
}

#[test]
fn the_prefix_is_the_same_for_all_jobs_and_turns_and_each_request_begins_with_the_one_before() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        calls(&[("read_evidence", json!({"clause": "all"}))]),
        hand_in(BAD),
        ack("one", "repair_config"),
        hand_in("good"),
    ]));
    bench.run();
    let mut prefixes: Vec<Digest> = Vec::new();
    for job in ["one", "two"] {
        prefixes.extend(bench.turns(job).into_iter().map(|row| row.prefix));
    }
    assert_eq!(prefixes.len(), 7);
    prefixes.dedup();
    assert_eq!(prefixes.len(), 1);
    let totals = bench.reader().view().token_totals(&goal()).unwrap();
    assert_eq!((totals.prefixes, totals.turns), (1, 7));
    assert!((totals.cached_share().unwrap() - 0.7).abs() < 1e-9);
    let asked = bench.model.asked();
    let bare = |request: &TurnRequest| -> Vec<String> {
        request
            .messages
            .iter()
            .map(|one| {
                serde_json::to_string(one)
                    .unwrap()
                    .replace("\"five_minutes\"", "null")
            })
            .collect()
    };
    for pair in asked[..3].windows(2) {
        let (before, after) = (bare(&pair[0]), bare(&pair[1]));
        assert_eq!(before[..], after[..before.len()]);
        assert_eq!(after.len(), before.len() + 2);
        assert_eq!(
            (&pair[0].tools, &pair[0].system),
            (&pair[1].tools, &pair[1].system)
        );
    }
    for request in &asked {
        let text = serde_json::to_string(&(&request.tools, &request.system)).unwrap();
        assert!(
            !text.contains("attempt") || !text.contains("2024"),
            "{text}"
        );
    }
}

#[test]
fn the_next_attempt_starts_from_the_checkpoint_and_the_operators_words_are_for_it_alone() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        hand_in(BAD),
        ack("one", "repair_config"),
        calls(&[
            ("read_config", json!({"which": "previous"})),
            ("read_evidence", json!({"clause": "all"})),
            propose(BAD),
            propose("bad too"),
            finish("proposed"),
        ]),
    ]));
    let mut engine = bench.engine();
    // The words arrive while the first attempt is open, so they are the second's.
    while bench.facts("one").chat.turns == 0 {
        engine.turn().unwrap();
    }
    bench.submit(
        "one",
        Act::Comment {
            text: "mind the folder\nsecond line".to_owned(),
        },
    );
    engine.run().unwrap();
    drop(engine);
    let asked = bench.model.asked();
    let first = opening(&asked[0]);
    assert!(
        !first.contains("operator says") && !first.contains("Checkpoint"),
        "{first}"
    );
    let second = opening(&asked[2]);
    assert!(
        second.contains("The operator says, for this attempt:\n> mind the folder\n> second line")
    );
    assert!(
        second.contains("biggest obstacle: staging run failed: the folder is missing"),
        "{second}"
    );
    assert!(
        second.contains("a remark, not evidence): my words"),
        "{second}"
    );
    let rows = bench.call_rows("one");
    let again = rows
        .iter()
        .find(|row| row.tool == "propose_config" && row.outcome == "error");
    let again = again.unwrap();
    assert!(again.words.contains("the same config again"), "{again:?}");
    assert!(
        bench
            .text(&again.answer)
            .contains("failed before: staging run failed: the folder is missing")
    );
    assert_eq!(bench.facts("one").state, JobState::CutOver);
    let attempts = bench.attempts("one");
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    let checkpoint = bench
        .kinds("one")
        .iter()
        .filter(|kind| *kind == "checkpoint.written")
        .count();
    assert_eq!(checkpoint, 1);
}

#[test]
fn secrets_stop_at_the_door() {
    let definition = "PASSWORD=swordfish99\nrun --key hush-hush-value\n";
    let bench = Bench::with(
        "",
        definition,
        &script(&[
            ack("one", "propose_config"),
            calls(&[("read_config", json!({"which": "old"}))]),
            Say::Calls(vec![
                (
                    "propose_config",
                    json!({"config": "x = 1", "why": "token: sk-ant-api03-0123456789abcdef"}),
                ),
                finish("proposed"),
            ]),
        ]),
    );
    bench.run();
    for request in bench.model.asked() {
        let text = serde_json::to_string(&request).unwrap();
        assert!(
            !text.contains("swordfish99") && !text.contains("hush-hush-value"),
            "{text}"
        );
    }
    for row in bench.turns("one") {
        for digest in row.message.iter().chain(&row.answer) {
            let text = bench.text(digest);
            assert!(
                !text.contains("0123456789abcdef") && !text.contains("swordfish99"),
                "{text}"
            );
        }
    }
    let rows = bench.call_rows("one");
    assert!(bench.text(&rows[1].answer).contains("[redacted]"));
    assert!(
        rows.iter()
            .all(|row| !row.words.contains("0123456789abcdef"))
    );
}

#[test]
fn a_transcript_shows_who_said_what() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        Say::Text("Thinking aloud."),
        hand_in("good\nsecond line"),
    ]));
    bench.run();
    let reader = bench.reader();
    let turns = reader
        .view()
        .transcript(&goal(), &JobId::from("one"), crate::model::AttemptNo(1));
    let turns = turns.unwrap();
    let said: Vec<(&str, String)> = turns
        .iter()
        .flat_map(|turn| &turn.lines)
        .map(|line| (line.speaker.word(), line.head.clone()))
        .collect();
    let speakers: Vec<&str> = said.iter().map(|(who, _)| *who).collect();
    assert_eq!(
        speakers,
        [
            "rules", "rules", "engine", "call", "tool", "model", "engine", "call", "call", "tool",
            "tool"
        ]
    );
    assert_eq!(said[2].1, "job: one");
    assert_eq!(said[5].1, "Thinking aloud.");
    assert!(said[9].1.starts_with("propose_config answered"), "{said:?}");
}
