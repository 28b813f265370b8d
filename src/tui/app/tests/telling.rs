//! What the screen says by itself: needs, freshness, notices, the end.

use super::*;

/// Requirement 15: an effect of unknown outcome first, then requests by the jobs that they hold up.
#[test]
fn requirement_15_needs_are_walked_by_the_cost_of_delay_and_skip_what_was_decided_here() {
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
fn requirement_18_a_silent_engine_becomes_stale() {
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
fn requirement_15_something_new_that_needs_a_person_rings_once_when_asked_to() {
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

/// An approved job that follows another one into production says which, wherever it is looked at.
#[test]
fn an_approved_job_that_waits_for_another_names_it_everywhere() {
    let mut world = at_card();
    world.decided(FCT, FCT_JOB, true);
    world.load();
    assert!(
        world.screen().contains("requested → approved → not begun"),
        "{}",
        world.screen()
    );
    world.follows(FCT_JOB, "dim_customer");
    world.load();
    let text = world.screen();
    assert!(
        text.contains("approved → waits for dim_customer, which goes first"),
        "{text}"
    );
    assert!(text.contains("1 waits for dim_customer"), "{text}");
    world.keys("1");
    let text = world.screen();
    let row = text.lines().find(|line| line.contains(FCT_JOB)).unwrap();
    assert!(row.contains("waits: job"), "{row}");
    assert!(row.contains("may be cut over; dim_customer"), "{row}");
}

/// Requirement 15: a request that holds up a chain of jobs comes before one that holds up a single job,
/// though that was asked earlier; jobs that have ended are held up by nothing.
#[test]
fn requirement_15_what_holds_up_the_most_unfinished_jobs_comes_first() {
    let mut world = World::empty();
    for (position, (job, upstream)) in [
        ("one", vec![]),
        ("after_one", vec!["one"]),
        ("chain", vec![]),
        ("chain_2", vec!["chain"]),
        ("chain_3", vec!["chain_2"]),
        ("ended", vec![]),
        ("ended_2", vec!["ended"]),
        ("ended_3", vec!["ended"]),
        ("ended_4", vec!["ended"]),
    ]
    .into_iter()
    .enumerate()
    {
        world.add_after(job, position as u64, job, &upstream);
    }
    world.goal_event(Event::GoalListed { jobs: 9 });
    for job in ["ended_2", "ended_3", "ended_4"] {
        world.event(
            job,
            0,
            Event::JobMoved {
                state: JobState::HandedOver,
                reason: "by hand".into(),
            },
        );
    }
    world.until_approval("ended", "a1b2c3d4e5f60001");
    world.until_approval("one", "a1b2c3d4e5f60002");
    world.until_approval("chain", "a1b2c3d4e5f60003");
    world.load();
    let held: Vec<(&str, u64)> = world
        .model
        .snapshot
        .needs
        .iter()
        .filter_map(|need| need.job.as_ref())
        .map(|job| (job.as_str(), world.model.snapshot.held[job]))
        .collect();
    assert_eq!(held, [("chain", 2), ("one", 1), ("ended", 0)]);
    world.keys(".");
    assert!(
        world.screen().contains("Request chain"),
        "{}",
        world.screen()
    );
}

/// Requirement 15: working, waiting on the world, waiting on you, to verify, stopped and dead are six words,
/// and nothing is called work that no engine does.
#[test]
fn requirement_15_six_states_are_six_words_and_work_without_an_engine_is_none() {
    let mut world = World::filled();
    world.add("ops_late", 20, "Late");
    world.attempt("ops_late", 1, "[run]\n");
    world.event(
        "ops_late",
        1,
        Event::JobMoved {
            state: JobState::Working,
            reason: String::new(),
        },
    );
    world.beat();
    world.load();
    let row = |world: &World, job: &str| {
        let text = world.screen();
        let found = text.lines().find(|line| line.contains(job));
        found.unwrap_or_default().to_owned()
    };
    assert!(
        row(&world, "ops_late").contains("▸ working"),
        "{}",
        world.screen()
    );
    assert!(row(&world, "mart_revenue").contains("waits: world"));
    assert!(row(&world, "fct_orders_daily").contains("waits: you"));
    assert!(row(&world, "exp_partner_feed").contains("to verify"));
    world.wait(60_000);
    assert!(
        row(&world, "ops_late").contains("dead"),
        "{}",
        world.screen()
    );
    assert!(row(&world, "ops_late").contains("the engine fell silent"));
    assert!(row(&world, "fct_orders_daily").contains("waits: you"));
    let now = world.now.wall;
    world.ledger.beat(now, now, 1_000, "stopped");
    world.goal_event(Event::Heartbeat {
        decided: "wait".into(),
        reason: "stopping".into(),
    });
    world.load();
    assert!(
        row(&world, "ops_late").contains("stopped"),
        "{}",
        world.screen()
    );
    assert!(row(&world, "ops_late").contains("no engine runs"));
}

#[test]
fn contract_versions_are_stepped_through_with_what_each_changed() {
    let mut world = World::filled();
    world.keys("6");
    world.keys("[");
    assert!(world.screen().contains("one version"), "{}", world.screen());
    world.adopts(
        2,
        "[goal]\nid = \"etl-migration\"\nowner = \"@me\"\n\n[[accept]]\nid = \"reports\"\n",
    );
    world.load();
    world.keys("G");
    let text = world.screen();
    assert!(text.contains("+ id = \"reports\""), "{text}");
    assert!(
        text.contains("lines as before") || text.contains("owner"),
        "{text}"
    );
    world.resize(80, 60);
    let text = world.screen();
    assert!(text.contains("Contract version 2 of 2"), "{text}");
    assert!(text.contains("What it changed in version 1"), "{text}");
    world.keys("[");
    let text = world.screen();
    assert!(text.contains("Contract version 1 of 2"), "{text}");
    assert!(!text.contains("reports"), "{text}");
    world.keys("]");
    assert!(world.screen().contains("Contract version 2 of 2"));
}

#[test]
fn the_waits_say_what_would_end_the_one_under_the_cursor() {
    let mut world = World::filled();
    world.resize(120, 24);
    world.keys("7");
    let text = world.screen();
    assert!(
        text.contains("wakes by a decision on the request"),
        "{text}"
    );
}

#[test]
fn the_text_of_a_view_is_copied_whole() {
    let mut world = World::filled();
    world.keys("1jjj\n\t\t");
    let effects = world.keys("Y");
    assert!(
        matches!(&effects[..], [Effect::Copy(text)] if text.contains("SELECT count(*) FROM legacy.orders") || text.contains("no clause was judged")),
        "{effects:?}"
    );
    world.keys("1");
    let effects = world.keys("Y");
    let [Effect::Copy(text)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert!(
        text.contains("stg_orders") && text.contains("数据_清洗"),
        "{text}"
    );
}
