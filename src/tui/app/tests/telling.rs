//! What the screen says by itself: needs, freshness, notices, the end.

use super::*;

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
    let at = next_deadline(&world.model).unwrap();
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
fn the_goal_shown_does_not_change_when_it_ends() {
    let mut world = World::filled();
    world.model = Model::new(None, false, false);
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
