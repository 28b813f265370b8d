//! What is asked of the engine: requests, dialogs, rulings, and their answers.

use super::*;

/// Requirement 4.
#[test]
fn requirement_04_decision_keys_are_dead_until_the_request_was_drawn_for_long_enough() {
    let mut world = World::filled();
    world.keys("2\n");
    world.wait(10_000);
    world.keys("A");
    assert!(world.model.overlays.is_empty(), "it was never drawn");
    world.drawn_and(ARMING_MS - 1);
    world.keys("A");
    assert!(world.model.overlays.is_empty());
    world.wait(1);
    world.keys("A");
    assert!(matches!(
        world.model.overlays.last(),
        Some(Overlay::Confirm { .. })
    ));
}

#[test]
fn a_request_that_changes_arms_again_and_an_open_dialog_for_the_old_one_sends_nothing() {
    let mut world = at_card();
    world.keys("A");
    world.event(
        "fct_orders_daily",
        1,
        Event::ApprovalVoided {
            approval: FCT.into(),
            why: "the config changed".into(),
        },
    );
    world.load();
    let effects = world.keys("y");
    assert!(sent(&effects).is_empty());
    assert!(
        world.screen().contains("the request changed meanwhile"),
        "{}",
        world.screen()
    );
}

#[test]
fn an_approval_carries_the_id_and_digest_that_were_seen() {
    let mut world = at_card();
    let digest = world.model.request().unwrap().digest.clone();
    world.keys("A");
    let effects = world.keys("y");
    assert_eq!(
        sent(&effects),
        [&Act::Approve {
            approval: FCT.into(),
            digest
        }]
    );
}

#[test]
fn approving_takes_two_keys_and_the_next_request_one() {
    let mut world = at_card();
    world.keys("Ay");
    world.keys("]");
    let job = world.model.request().map(|request| request.job.clone());
    assert_eq!(job, Some(JobId::from("finance_month_close")));
}

#[test]
fn approval_keys_do_nothing_in_the_list() {
    let mut world = World::filled();
    world.keys("2");
    world.drawn_and(5_000);
    for key in ["A", "X"] {
        let effects = world.keys(key);
        assert!(effects.is_empty() && world.model.overlays.is_empty());
    }
}

/// Requirement 6.
#[test]
fn requirement_06_a_high_risk_cutover_wants_the_name_typed_not_pasted() {
    let mut world = at_card();
    world.keys("]");
    world.drawn_and(ARMING_MS);
    world.keys("A");
    world.send(Msg::Paste("finance_month_close".into()));
    assert!(sent(&world.keys("\n")).is_empty());
    assert!(sent(&world.keys("y\n")).is_empty());
    world.send(Msg::Key(Key::plain(KeyCode::Backspace)));
    let effects = world.keys("finance_month_close\n");
    assert_eq!(sent(&effects).len(), 1);
}

#[test]
fn a_rejection_needs_a_reason() {
    let mut world = at_card();
    world.keys("X\t\n");
    assert!(matches!(
        world.model.overlays.last(),
        Some(Overlay::Text { .. })
    ));
    let effects = world.keys("wrong zone\t\n");
    let acts = sent(&effects);
    assert!(matches!(acts.as_slice(), [Act::Reject { reason, .. }] if reason == "wrong zone"));
}

/// Requirement 18.
#[test]
fn requirement_18_what_was_asked_is_pending_then_done_or_refused() {
    let mut world = at_card();
    world.keys("A");
    let effects = world.keys("y");
    world.submit(&effects, "d1");
    world.load();
    assert!(world.screen().contains("pending"), "{}", world.screen());
    assert!(world.screen().contains("deciding"));
    world.answer("d1", false, "bob may not decide this");
    world.load();
    assert!(
        world.screen().contains("REFUSED, bob may not decide this"),
        "{}",
        world.screen()
    );
    // Refused: the request is open again, and can be decided.
    world.keys("A");
    assert_eq!(world.model.overlays.len(), 1);
}

#[test]
fn the_card_follows_its_decision_to_the_end() {
    let mut world = at_card();
    world.decided(FCT, "fct_orders_daily", true);
    world.load();
    assert!(
        world.screen().contains("requested → approved → not begun"),
        "{}",
        world.screen()
    );
    assert_eq!(world.model.place(), Place::Card(ApprovalId::from(FCT)));
}

/// Requirement 5: a dialog holds its target though the list below it changes.
#[test]
fn requirement_05_a_dialog_keeps_its_target_when_the_list_moves() {
    let mut world = World::filled();
    world.keys("jjjjjj");
    assert_eq!(world.model.job_here(), Some(JobId::from("ops_agent_probe")));
    world.keys("r");
    world.keys("s"); // Not a key of the dialog: nothing happens.
    world.model.reverse = true;
    world.load();
    let effects = world.keys("y");
    assert!(matches!(
        effects.as_slice(),
        [Effect::Submit { job, act: Act::Retry, .. }] if job.as_str() == "ops_agent_probe"
    ));
}

#[test]
fn many_jobs_are_paused_only_after_their_names_were_shown() {
    let mut world = World::filled();
    world.keys("g  p");
    assert!(world.screen().contains("[ Cancel ]"), "{}", world.screen());
    assert!(sent(&world.keys("\n")).is_empty(), "Cancel has the focus");
    world.keys("p\t");
    let effects = world.keys("\n");
    assert_eq!(sent(&effects).len(), 2);
}

#[test]
fn a_ruling_needs_the_reference_and_the_reason() {
    let mut world = World::filled();
    world.keys("3\nVh\n");
    assert!(matches!(
        world.model.overlays.last(),
        Some(Overlay::Rule { .. })
    ));
    let effects = world.keys("run-99\nseen in the target's list\t\n");
    let acts = sent(&effects);
    assert!(matches!(
        acts.as_slice(),
        [Act::Rule { happened: true, reference, reason, .. }]
            if reference == "run-99" && reason == "seen in the target's list"
    ));
}

#[test]
fn pasted_text_is_text_and_its_controls_are_marks() {
    let mut world = at_card();
    world.keys("X");
    let effects = world.send(Msg::Paste("no\x1b[2Jq\ny\u{202e}".into()));
    assert!(effects.is_empty());
    let effects = world.keys("\t\n");
    let acts = sent(&effects);
    assert!(
        matches!(acts.as_slice(), [Act::Reject { reason, .. }] if reason == "no␛[2Jq\ny‹202E›"),
        "{acts:?}"
    );
}

#[test]
fn a_decision_that_nobody_will_answer_says_so() {
    let mut world = at_card();
    world.keys("A");
    let effects = world.keys("y");
    world.submit(&effects, "d1");
    world.load();
    world.wait(60_000);
    assert!(
        world.screen().contains("no engine is running"),
        "{}",
        world.screen()
    );
}

#[test]
fn an_error_of_the_writer_is_a_refusal() {
    let mut world = at_card();
    world.keys("A");
    let effects = world.keys("y");
    let Some(Effect::Submit { local, .. }) = effects.first() else {
        panic!("nothing was sent");
    };
    world.send(Msg::Submitted {
        local: *local,
        result: Err("no space left".into()),
    });
    assert!(matches!(world.model.asked[0].answer, Answer::Refused(_)));
    world.wait(7_000);
    assert!(
        world.screen().contains("REFUSED, no space left"),
        "{}",
        world.screen()
    );
}

#[test]
fn a_text_for_many_jobs_names_them() {
    let mut world = World::filled();
    world.keys("  D");
    let text = world.screen();
    assert!(
        text.contains("fct_orders_daily, stg_orders: Why must a person"),
        "{text}"
    );
}

#[test]
fn a_model_s_question_is_answered_in_a_text_and_carries_its_id() {
    let mut world = World::filled();
    world.asks("mart_revenue", "Which zone does the old report mean?");
    world.load();
    assert!(world.screen().contains("1 question"), "{}", world.screen());
    // An effect of unknown outcome first, then the question.
    world.keys("..");
    let text = world.screen();
    assert!(
        text.contains("Which zone does the old report mean?"),
        "{text}"
    );
    world.keys("a");
    assert!(world.screen().contains("Which zone"), "{}", world.screen());
    let effects = world.keys("Asia/Shanghai\t\n");
    assert_eq!(
        sent(&effects),
        [&Act::Answer {
            question: "q1".into(),
            text: "Asia/Shanghai".into()
        }]
    );
}

#[test]
fn a_job_in_production_can_be_asked_back_with_a_reason_and_the_card_says_so() {
    let mut world = World::filled();
    world.keys(":roll-back\n");
    let effects = world.keys("wrong report\t\n");
    assert_eq!(
        sent(&effects),
        [&Act::RollBack {
            reason: "wrong report".into()
        }]
    );
    world.keys("j:roll-back\n");
    assert!(
        world.screen().contains("only a job in production"),
        "{}",
        world.screen()
    );
    world.shall_go_back("stg_orders", "a1b2c3d4e5f60009");
    world.load();
    world.keys("2");
    let text = world.screen();
    assert!(text.contains("ROLL BACK"), "{text}");
    world.keys("jj\n");
    let text = world.screen();
    assert!(text.contains("Request to roll back stg_orders"), "{text}");
    assert!(text.contains("taken out of production"), "{text}");
    assert!(text.contains("the morning report is wrong"), "{text}");
    world.drawn_and(ARMING_MS);
    world.keys("A");
    let text = world.screen();
    assert!(text.contains("Take stg_orders out of production"), "{text}");
}

/// What can happen to the list while a dialog is open.
#[derive(Debug, Clone)]
enum Happening {
    Insert(u64),
    HandOver(usize),
    Sort(usize),
    Reverse,
    Filter(&'static str),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (20..90_u64).prop_map(Happening::Insert),
        (0..8_usize).prop_map(Happening::HandOver),
        (0..6_usize).prop_map(Happening::Sort),
        Just(Happening::Reverse),
        prop_oneof![Just("orders"), Just("state:handed_over"), Just("")]
            .prop_map(Happening::Filter),
    ]
}

fn happens(world: &mut World, what: &Happening) {
    match what {
        Happening::Insert(position) => {
            let job = format!("new_{position}");
            if world.model.row_of(&job.as_str().into()).is_none() {
                world.add(&job, *position, "New");
            }
        }
        Happening::HandOver(at) => {
            let rows = world.model.snapshot.jobs.clone().unwrap();
            if let Some(job) = rows.ids.get(*at) {
                let reason = "by hand".into();
                let state = JobState::HandedOver;
                world.event(job.as_str(), 0, Event::JobMoved { state, reason });
            }
        }
        Happening::Sort(at) => {
            use crate::ledger::read::JobSort::*;
            world.model.sort = [Position, Id, State, Tries, Progress, Queries][*at];
        }
        Happening::Reverse => world.model.reverse = !world.model.reverse,
        Happening::Filter(text) => drop(world.model.filters.insert(Kind::Jobs, (*text).into())),
    }
    world.load();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Whatever is inserted, moved, sorted or filtered away between the keys: the cursor stays on its job or is
    /// said to be gone, marks hold jobs, and a dialog asks for what it named when it opened.
    #[test]
    fn requirement_05_shuffling_between_keys_changes_no_target(
        row in 0..8_usize,
        mark in any::<bool>(),
        before in proptest::collection::vec(happening(), 0..4),
        during in proptest::collection::vec(happening(), 1..5),
    ) {
        let mut world = World::filled();
        world.keys(&"j".repeat(row));
        if mark {
            world.keys(" ");
        }
        let aimed = world.model.job_here().unwrap();
        let wanted: Vec<JobId> = match mark {
            true => world.model.marks.iter().cloned().collect(),
            false => vec![aimed.clone()],
        };
        for what in &before {
            happens(&mut world, what);
            match world.model.job_here() {
                Some(job) => prop_assert_eq!(&job, &aimed),
                None => {
                    let gone = world.model.list().gone || world.model.ids().is_empty();
                    prop_assert!(gone, "{}", world.screen());
                }
            }
        }
        if !mark && world.model.job_here().is_none() {
            world.keys("c");
            prop_assert!(world.model.overlays.is_empty(), "nothing is asked of what is gone");
            return Ok(());
        }
        world.keys("cwords");
        for what in &during {
            happens(&mut world, what);
        }
        let effects = world.keys("\t\n");
        let asked: Vec<&JobId> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Submit { job, .. } => Some(job),
                _ => None,
            })
            .collect();
        prop_assert_eq!(asked, wanted.iter().collect::<Vec<_>>());
    }
}
