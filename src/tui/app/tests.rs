//! The interface as its operator meets it: keys in, decisions and screens out.

use super::msg::{Effect, Msg};
use super::overlay::Overlay;
use super::place::{Kind, Place};
use super::{ARMING_MS, Answer};
use crate::ledger::{Act, Event};
use crate::model::{ApprovalId, JobId, JobState};
use crate::tui::Leave;
use crate::tui::fixture::World;
use crate::tui::keymap::Key;
use crossterm::event::KeyCode;
use proptest::prelude::*;

const FCT: &str = "a1b2c3d4e5f60001";
const FCT_JOB: &str = "fct_orders_daily";

/// On the card of an open request, drawn and read.
fn at_card() -> World {
    let mut world = World::filled();
    world.keys("2\n");
    assert_eq!(world.model.place(), Place::Card(ApprovalId::from(FCT)));
    world.drawn_and(ARMING_MS);
    world
}

fn sent(effects: &[Effect]) -> Vec<&Act> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit { act, .. } => Some(act),
            _ => None,
        })
        .collect()
}

/// Requirement 4.
#[test]
fn decision_keys_are_dead_until_the_request_was_drawn_for_long_enough() {
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
fn a_high_risk_cutover_wants_the_name_typed_not_pasted() {
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
fn what_was_asked_is_pending_then_done_or_refused() {
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
fn a_dialog_keeps_its_target_when_the_list_moves() {
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
fn a_row_that_leaves_the_list_is_said_to_be_gone_and_is_no_target() {
    let mut world = World::filled();
    world.keys("/state:work\n");
    assert_eq!(world.model.job_here(), Some(JobId::from("mart_revenue")));
    world.event(
        "mart_revenue",
        2,
        Event::JobMoved {
            state: JobState::HandedOver,
            reason: "given up".into(),
        },
    );
    world.load();
    assert!(
        world.screen().contains("No job fits the filter"),
        "{}",
        world.screen()
    );
    let effects = world.keys("p");
    assert!(sent(&effects).is_empty());
}

/// Requirement 7.
#[test]
fn read_only_changes_nothing_whatever_is_pressed() {
    let mut world = World::filled();
    world.model = super::Model::new(None, true, true);
    world.load();
    for place in ["1", "1j", "2\n", "3\n"] {
        for key in ["p", "r", "c", "D", "A", "X", "V", "y"] {
            world.keys(place);
            world.drawn_and(1_000);
            world.keys(key);
            let effects = world.keys("\ny\t\n");
            assert!(sent(&effects).is_empty(), "{place} {key}");
            world.model.overlays.clear();
        }
    }
    assert!(world.screen().contains("READ-ONLY"));
}

/// Requirement 3.
#[test]
fn leaving_asks_only_when_the_engine_is_here_and_detaches_by_default() {
    let mut world = World::filled();
    assert_eq!(world.keys("q"), [Effect::Leave(Leave::Quit)]);
    world.model.engine_here = true;
    assert!(world.keys("q").is_empty());
    assert_eq!(world.keys("\n"), [Effect::Leave(Leave::Detach)]);
    world.keys("q");
    assert!(world.keys("\x1b").is_empty());
    assert!(world.model.overlays.is_empty());
    let interrupt = |world: &mut World| world.send(Msg::Key(Key::ctrl('c')));
    assert!(interrupt(&mut world).is_empty());
    assert!(world.model.overlays.is_empty(), "once is not enough");
    assert!(interrupt(&mut world).is_empty());
    assert!(matches!(world.model.overlays.last(), Some(Overlay::Leave)));
    assert!(interrupt(&mut world).is_empty(), "it never stops work");
}

/// Requirement 15: an effect of unknown outcome first, then requests by the jobs that they hold up.
#[test]
fn needs_are_walked_by_the_cost_of_delay_and_skip_what_was_decided_here() {
    let mut world = World::filled();
    world.keys(".");
    assert_eq!(world.model.kind(), Kind::Operation);
    world.keys(".");
    assert_eq!(world.model.place(), Place::Card(ApprovalId::from(FCT)));
    // Younger, but another job depends on it.
    world.request("stg_orders", "a1b2c3d4e5f60008", "y");
    world.load();
    // Past the younger request, round to the operation, and to what costs the most of the requests.
    world.keys("...");
    let job = |world: &World| world.model.request().map(|request| request.job.clone());
    assert_eq!(job(&world), Some(JobId::from("stg_orders")));
    world.drawn_and(ARMING_MS);
    world.keys("Ay.");
    assert_eq!(job(&world), Some(JobId::from(FCT_JOB)));
    world.keys("-");
    assert_eq!(job(&world), Some(JobId::from("stg_orders")));
}

/// On a slow link people type ahead: Enter opens what the list shows once it is there, and nothing
/// else that was pressed since.
#[test]
fn enter_typed_before_the_list_was_read_opens_it_later() {
    let mut world = World::filled();
    world.keys_without_loading("2l");
    assert_eq!(world.model.kind(), Kind::Approvals);
    world.load();
    assert_eq!(world.model.kind(), Kind::Card);
    world.keys_without_loading("1lj");
    world.load();
    assert_eq!(world.model.kind(), Kind::Jobs);
}

/// The tour goes on only by what it asks for, and never decides.
#[test]
fn the_tour_watches_for_the_real_keys() {
    let mut world = World::filled();
    world.keys("T");
    let step = |world: &World| world.model.tour.map(|tour| tour.step);
    assert!(world.screen().contains("Tour 1 of"), "{}", world.screen());
    world.keys("k");
    assert_eq!(step(&world), Some(0));
    world.keys("j");
    assert_eq!(step(&world), Some(1));
    world.keys("\n");
    assert_eq!(step(&world), Some(2));
    world.keys("\t2\n");
    assert_eq!(step(&world), Some(5));
    world.drawn_and(ARMING_MS);
    world.keys("A");
    assert_eq!(step(&world), Some(5));
    world.keys("y");
    assert_eq!(step(&world), Some(6));
    world.keys(".");
    assert_eq!(step(&world), Some(7));
    world.keys("T");
    assert_eq!(step(&world), None);
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

/// Requirement 19.
#[test]
fn the_log_opens_at_its_end_and_following_yields_to_scrolling() {
    let mut world = World::filled();
    world.keys("8");
    let last = world.model.list().selected;
    world.goal_event(Event::Heartbeat {
        decided: "wait".into(),
        reason: "later".into(),
    });
    world.load();
    assert_ne!(world.model.list().selected, last, "it follows");
    world.keys("kk");
    let held = world.model.list().selected;
    world.goal_event(Event::Heartbeat {
        decided: "wait".into(),
        reason: "later still".into(),
    });
    world.load();
    assert_eq!(world.model.list().selected, held, "it yields");
    world.keys("/later\n");
    world.keys("G");
    assert!(world.screen().contains("later still"), "{}", world.screen());
}

#[test]
fn frozen_keeps_what_is_shown_until_it_thaws() {
    let mut world = World::filled();
    world.keys("z");
    world.event("数据_清洗", 0, Event::JobPaused {});
    world.load();
    assert!(!world.screen().contains("paused"), "{}", world.screen());
    assert!(world.screen().contains("FROZEN"));
    world.keys("z");
    assert!(world.screen().contains("‖ paused"));
}

/// Requirement 18: silence is noticed by the clock alone.
#[test]
fn a_silent_engine_becomes_stale() {
    let mut world = World::filled();
    world.beat();
    world.load();
    assert!(world.screen().contains("● live"));
    let at = super::next_deadline(&world.model).unwrap();
    world.wait(at - world.now.ms);
    assert!(world.screen().contains("STALE 3s"), "{}", world.screen());
}

#[test]
fn the_closing_report_opens_once_by_itself_and_stays_reachable() {
    let mut world = World::filled();
    world.goal_event(Event::GoalEnded {
        summary: "1 cut over, 7 handed over".into(),
    });
    world.load();
    world.load();
    assert!(
        world.screen().contains("Closing report"),
        "{}",
        world.screen()
    );
    assert!(
        world
            .screen()
            .contains("the agent's protocol has no equivalent")
    );
    world.keys("q");
    world.load();
    assert!(!world.screen().contains("Closing report"));
    world.keys("6R");
    assert!(world.screen().contains("Closing report"));
}

#[test]
fn help_lists_this_views_actions_and_runs_the_chosen_one() {
    let mut world = World::filled();
    world.keys("?sort by");
    assert!(
        world.screen().contains("Sort by the next column"),
        "{}",
        world.screen()
    );
    world.keys("\n");
    assert!(world.screen().contains("by name"), "{}", world.screen());
}

#[test]
fn the_palette_goes_to_a_job_by_name() {
    let mut world = World::filled();
    world.keys(":job mart_revenue\n");
    assert_eq!(world.model.place(), Place::Job("mart_revenue".into()));
    assert!(
        world.screen().contains("attempt 2 of 2"),
        "{}",
        world.screen()
    );
    world.keys("[");
    assert!(world.screen().contains("attempt 1 of 2"));
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
fn the_wheel_and_a_click_move_and_decide_nothing() {
    let mut world = World::filled();
    world.send(Msg::Click(4, 8));
    assert_eq!(world.model.job_here(), Some(JobId::from("mart_revenue")));
    world.send(Msg::Wheel(2));
    assert_eq!(
        world.model.job_here(),
        Some(JobId::from("finance_month_close"))
    );
    world.keys("c");
    world.send(Msg::Click(4, 5));
    assert_eq!(
        world.model.job_here(),
        Some(JobId::from("finance_month_close"))
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// Whatever is typed, the interface stays up, and nothing is decided by chance without its dialog.
    #[test]
    fn no_keys_break_it(keys in proptest::collection::vec(0..60_usize, 1..60), width in 1..130_u16, height in 1..45_u16) {
        const KEYS: &[char] = &[
            'j', 'k', 'g', 'G', '\n', '\x1b', '\t', 'l', 'h', 'A', 'X', 'V', 'D', 'p', 'r', 'c', 'o', '[', ']', '{',
            '}', 'L', '/', 's', 'S', ' ', 'v', '*', 'U', 'i', '.', '-', '?', ':', 'z', 'm', 'R', '0', '1', '2', '3',
            '4', '5', '6', '7', '8', 'a', 'y', 'n', 'd', 'w', 'x', '!', 'é', '数', 'b', 'e', 't', 'u', 'f',
        ];
        let mut world = World::filled();
        world.resize(width, height);
        for key in keys {
            world.keys(&KEYS[key].to_string());
            world.drawn_and(300);
            world.screen();
        }
    }
}

/// Only ids and a window of rows are held, and a key waits for neither counting nor sorting.
#[test]
fn many_jobs_are_walked_without_loading_them() {
    let mut world = World::empty();
    for position in 0..20_000 {
        world.add(&format!("job_{position:06}"), position, "One of many");
    }
    world.load();
    let begun = std::time::Instant::now();
    world.send(Msg::Key(Key::char('G')));
    world.send(Msg::Key(Key::char('k')));
    let text = world.screen();
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_millis(50), "{took:?}");
    assert!(text.contains("job_019998"), "{text}");
    world.turn_page();
    assert!(world.screen().contains("not begun"));
    let jobs = world.model.snapshot.jobs.as_ref().unwrap();
    assert!(jobs.rows.len() < 200, "{}", jobs.rows.len());
}

#[test]
fn something_new_that_needs_a_person_rings_once_when_asked_to() {
    let mut world = World::filled();
    world.model.notify = true;
    let rings = |effects: Vec<Effect>| {
        effects
            .into_iter()
            .filter(|effect| matches!(effect, Effect::Notify(_)))
            .count()
    };
    let beat = |world: &mut World| {
        world.goal_event(Event::Heartbeat {
            decided: "wait".into(),
            reason: "the same".into(),
        });
    };
    // Requirement 15.
    world.goal_event(Event::AlertRaised {
        rule: "outage".into(),
        evidence: "9 of 10 staging runs failed".into(),
    });
    assert_eq!(rings(world.load()), 1);
    beat(&mut world);
    assert_eq!(rings(world.load()), 0, "once an item");
    world.request("dim_customer", "a1b2c3d4e5f60009", "x");
    assert_eq!(rings(world.load()), 0, "not so soon again");
    world.wait(60_000);
    beat(&mut world);
    assert_eq!(rings(world.load()), 1, "what came meanwhile is not lost");
}

#[test]
fn a_theme_is_chosen_by_name_in_the_palette() {
    let mut world = World::filled();
    let effects = world.keys(":theme mono\n");
    assert!(matches!(effects.as_slice(), [Effect::Theme(theme)] if theme.name == "mono"));
    world.keys(":theme pink\n");
    assert!(
        world.screen().contains("there is no theme pink"),
        "{}",
        world.screen()
    );
}

#[test]
fn the_goal_shown_does_not_change_when_it_ends() {
    let mut world = World::filled();
    world.model = super::Model::new(None, false, false);
    world.load();
    assert_eq!(world.model.goal, Some(crate::tui::fixture::GOAL.into()));
}

#[test]
fn a_wait_says_whether_it_would_end_now() {
    let mut world = World::filled();
    world.keys("jjw");
    assert!(
        world
            .screen()
            .contains("not yet: looked at 04-02 00:00, in 14h"),
        "{}",
        world.screen()
    );
    world.keys("iw");
    assert!(
        world.screen().contains("or by warehouse_queries renewing"),
        "{}",
        world.screen()
    );
    world.keys("gw");
    assert!(world.screen().contains("stg_orders does not wait"));
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
