//! What concerns the goal as a whole: differences that hold the engine, amendments, alarms of spinning.

use super::*;
use crate::model::{Account, ContractVersion, DriftId, Seq};

/// At the differences, drawn and read.
fn held() -> World {
    let mut world = World::filled();
    world.differs();
    world.load();
    world.keys("d");
    world.drawn_and(ARMING_MS);
    world
}

fn accepted(effects: &[Effect]) -> Vec<Vec<DriftId>> {
    sent(effects)
        .into_iter()
        .filter_map(|act| match act {
            Act::AcceptDrift { items } => Some(items.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_held_engine_comes_first_and_says_item_by_item_why() {
    let mut world = World::filled();
    world.differs();
    world.load();
    let text = world.screen();
    assert!(text.contains("HELD by 3 differences"), "{text}");
    world.keys(".");
    assert_eq!(world.model.place(), Place::Drift);
    let text = world.screen();
    assert!(text.contains("Differences: 3 hold the engine"), "{text}");
    assert!(text.contains("stg_orders is in production as prod-17"));
    assert!(text.contains("prod-17 is not in production; the old job runs"));
    assert!(text.contains("a person takes the job"), "{text}");
    world.keys("j");
    let text = world.screen();
    assert!(text.contains("the goal has one job more"), "{text}");
}

/// Requirement 4 where the world's word is taken: dead when drawn, and again when another one is found.
#[test]
fn requirement_04_differences_cannot_be_accepted_before_they_were_read() {
    let mut world = World::filled();
    world.differs();
    world.load();
    world.keys("d");
    world.wait(5_000);
    assert!(world.keys("A").is_empty() && world.model.overlays.is_empty());
    world.drawn_and(ARMING_MS - 1);
    assert!(world.keys("A").is_empty() && world.model.overlays.is_empty());
    world.wait(1);
    world.keys("A");
    assert!(matches!(
        world.model.overlays.last(),
        Some(Overlay::Targets { yes: false, .. })
    ));
    world.keys("\x1b");
    world.accepted("d0000003");
    world.load();
    world.keys("A");
    assert!(world.model.overlays.is_empty(), "they changed");
    assert!(world.screen().contains("read it first"));
}

#[test]
fn one_or_all_are_accepted_and_each_is_named_first() {
    let mut world = held();
    world.keys("A");
    let text = world.screen();
    assert!(
        text.contains("The engine stays held by the others"),
        "{text}"
    );
    assert!(sent(&world.keys("\n")).is_empty(), "Cancel has the focus");
    world.keys("A\t");
    let effects = world.keys("\n");
    assert_eq!(accepted(&effects), [[DriftId("d0000001".into())]]);
    let mut world = held();
    world.keys("*A");
    let text = world.screen();
    assert!(text.contains("the engine goes on"), "{text}");
    assert!(
        text.contains("ops_new_feed: the goal has one job more"),
        "{text}"
    );
    world.keys("\t");
    let effects = world.keys("\n");
    assert_eq!(accepted(&effects)[0].len(), 3);
}

#[test]
fn what_is_not_seen_any_more_is_not_accepted_by_an_open_dialog() {
    let mut world = held();
    world.keys("*A\t");
    world.accepted("d0000002");
    world.load();
    assert!(sent(&world.keys("\n")).is_empty());
    let text = world.screen();
    assert!(text.contains("the differences changed meanwhile"), "{text}");
}

#[test]
fn ledger_and_world_are_compared_again_on_demand_while_the_engine_is_held() {
    let mut world = held();
    let effects = world.keys("r");
    assert_eq!(sent(&effects), [&Act::CompareAgain]);
    for item in ["d0000001", "d0000002", "d0000003"] {
        world.accepted(item);
    }
    world.load();
    assert!(!world.screen().contains("HELD"), "{}", world.screen());
    let text = world.screen();
    assert!(text.contains("accepted by etl-owner"), "{text}");
    assert!(sent(&world.keys("r")).is_empty());
    assert!(world.screen().contains("nothing differs"));
    assert!(world.keys("A").is_empty() && world.model.overlays.is_empty());
}

/// On the page of a changed goal file, drawn and read.
fn amendment() -> World {
    let mut world = World::filled();
    world.keys("6e");
    let text = world.screen();
    assert!(text.contains("/srv/goals/"), "{text}");
    let effects = world.keys("new.toml\n");
    assert_eq!(effects, [Effect::Propose("/srv/goals/new.toml".into())]);
    world
}

#[test]
fn a_changed_goal_file_shows_what_it_would_do_before_it_is_put_in_force() {
    let mut world = amendment();
    assert!(world.screen().contains("reading it"), "{}", world.screen());
    assert!(world.keys("A").is_empty());
    world.reads(|_| {});
    world.resize(100, 60);
    let text = world.screen();
    for wanted in [
        "2 of etl-migration, after version 1",
        "No deadline hour is said",
        "2 requests are void",
        "304 short",
        "+ staging_tries = 2",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    // Requirement 4: dead until it was on the screen.
    assert!(world.keys("A").is_empty() && world.model.overlays.is_empty());
    world.drawn_and(ARMING_MS);
    world.keys("A");
    // A reason is needed.
    assert!(world.keys("\t\n").is_empty());
    assert!(world.screen().contains("a reason is needed"));
    let effects = world.keys("the quarter closes later\t\n");
    let [Effect::Submit { act, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    let Act::Amend {
        why,
        from,
        answers,
        text: digest,
        ..
    } = act
    else {
        panic!("{act:?}");
    };
    assert_eq!(
        (why.as_str(), *from),
        ("the quarter closes later", ContractVersion(1))
    );
    assert_eq!(answers.len(), 1);
    let text = crate::tui::app::ask_goal::text_of(&world.model, act).unwrap();
    assert_eq!(*digest, crate::model::digest_bytes(text.as_bytes()));
    assert!(text.contains("staging_tries = 2"));
}

#[test]
fn only_the_owner_amends_and_others_are_told_so() {
    let mut world = amendment();
    world.reads(|proposal| proposal.me = Account("guest".into()));
    world.drawn_and(ARMING_MS);
    let text = world.screen();
    assert!(text.contains("only the owner (etl-owner) amends"), "{text}");
    assert!(world.keys("A").is_empty() && world.model.overlays.is_empty());
    assert!(world.screen().contains("and you are guest"));
}

#[test]
fn an_amendment_of_a_version_that_is_past_must_be_read_again() {
    let mut world = amendment();
    world.reads(|_| {});
    world.drawn_and(ARMING_MS);
    world.keys("Abecause");
    world.adopts(2, "[goal]\nid = \"etl-migration\"\nowner = \"@me\"\n");
    world.load();
    assert!(sent(&world.keys("\t\n")).is_empty());
    let text = world.screen();
    assert!(
        text.contains("another version took force meanwhile"),
        "{text}"
    );
    let effects = world.keys("r");
    assert_eq!(effects, [Effect::Propose("/srv/goals/new.toml".into())]);
    world.reads(|_| {});
    world.drawn_and(ARMING_MS);
    world.keys("A");
    assert!(matches!(
        world.model.overlays.last(),
        Some(Overlay::Text { .. })
    ));
}

#[test]
fn a_file_that_is_no_amendment_says_why_and_can_be_read_again() {
    let mut world = amendment();
    let file = "/srv/goals/new.toml".to_owned();
    let result = Err("new.toml: line 3: there is no key objectiv\nNothing was changed.".into());
    world.send(Msg::Proposed { file, result });
    let text = world.screen();
    assert!(text.contains("there is no key objectiv"), "{text}");
    assert_eq!(world.keys("r").len(), 1);
    // An answer about another file is not shown for this one.
    let result = Err("of another file".into());
    world.send(Msg::Proposed {
        file: "other.toml".into(),
        result,
    });
    assert!(world.screen().contains("reading it"));
    // The path is there again.
    world.keys("e");
    assert!(world.screen().contains("/srv/goals/new.toml"));
}

#[test]
fn an_alarm_of_spinning_is_overruled_with_a_reason_for_the_job_or_everywhere() {
    for (key, everywhere) in [("j", false), ("e", true)] {
        let mut world = World::filled();
        world.spins("mart_revenue");
        world.load();
        world.keys("4\n");
        let text = world.screen();
        assert!(text.contains("Alarm"), "{text}");
        assert!(text.contains("3, the contract allows 3"), "{text}");
        world.keys("V");
        world.keys(key);
        assert!(world.keys("\t\n").is_empty(), "a reason is needed");
        let effects = world.keys("the warehouse was away\t\n");
        let [Effect::Submit { job, act, .. }] = &effects[..] else {
            panic!("{effects:?}");
        };
        assert_eq!(job.as_str(), "mart_revenue");
        assert!(
            matches!(act, Act::OverruleSpin { everywhere: all, reason, .. }
                if *all == everywhere && reason == "the warehouse was away"),
            "{act:?}"
        );
    }
}

#[test]
fn what_was_overruled_is_said_and_taken_back_on_the_same_page() {
    let mut world = World::filled();
    world.spins("mart_revenue");
    let overrule = world.overrules("mart_revenue");
    world.keys("4\n");
    let text = world.screen();
    assert!(text.contains("not spinning, for mart_revenue"), "{text}");
    world.keys("V");
    assert!(world.screen().contains("counts as spinning again"));
    let effects = world.keys("y");
    assert_eq!(sent(&effects), [&Act::EnforceSpin { overrule }]);
    world.goal_event(Event::SpinEnforced { overrule });
    world.load();
    assert!(world.screen().contains("V says that it is not spinning"));
    assert!(overrule > Seq(0));
}

#[test]
fn other_alerts_cannot_be_ruled_on() {
    let mut world = World::filled();
    world.outage();
    world.load();
    world.keys("4\nV");
    assert!(world.model.overlays.is_empty());
    assert!(world.screen().contains("only an alarm of spinning"));
}

/// What was typed and not sent, or was refused, is there when the same is asked for again.
#[test]
fn the_text_typed_is_kept_when_a_dialog_is_left_or_its_decision_refused() {
    let mut world = at_card();
    world.keys("Xthe zone is wrong\x1b");
    assert!(world.screen().contains("what you wrote is kept"));
    world.keys("X");
    let effects = world.keys(", twice\t\n");
    let acts = sent(&effects);
    assert!(
        matches!(acts.as_slice(), [Act::Reject { reason, .. }] if reason == "the zone is wrong, twice"),
        "{acts:?}"
    );
    world.submit(&effects, "d1");
    world.load();
    world.answer("d1", false, "bob may not decide this");
    world.load();
    world.keys("X");
    assert!(world.screen().contains("the zone is wrong, twice"));
    // Another request's dialog begins empty.
    world.keys("\x1b]");
    world.drawn_and(ARMING_MS);
    world.keys("X");
    assert!(!world.screen().contains("twice"), "{}", world.screen());
    // Ctrl-C leaves as Esc does.
    world.keys("mine");
    world.send(Msg::Key(Key::ctrl('c')));
    assert!(world.model.overlays.is_empty());
    world.keys("X");
    assert!(world.screen().contains("mine"));
}

#[test]
fn a_text_that_was_sent_is_not_offered_again() {
    let mut world = World::filled();
    world.keys("jjjc");
    let effects = world.keys("use the old zone\t\n");
    assert_eq!(sent(&effects).len(), 1);
    world.keys("c");
    assert!(!world.screen().contains("use the old zone"));
}
