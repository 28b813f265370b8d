//! Moving, opening, filtering, leaving.

use super::*;

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
fn requirement_07_read_only_changes_nothing_whatever_is_pressed() {
    let mut world = World::filled();
    world.differs();
    world.spins("mart_revenue");
    world.model = Model::new(None, true, true);
    world.load();
    for place in ["1", "1j", "2\n", "3\n", "4\n", "d", "d*", "6egoal.toml\n"] {
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
fn requirement_03_leaving_asks_only_when_the_engine_is_here_and_detaches_by_default() {
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

/// Requirement 19.
#[test]
fn requirement_19_the_log_opens_at_its_end_and_following_yields_to_scrolling() {
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
    world.keys(":job mart_rev");
    assert!(world.screen().contains("Enter opens the job"));
    world.keys("enue\n");
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
    world.add("job_000000", 0, "One of many");
    world.multiply("job_000000", 19_999);
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
