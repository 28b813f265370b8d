//! What is on the screen: every view at fixed sizes, through the real draw function.

use crate::tui::app::ARMING_MS;
use crate::tui::app::msg::Msg;
use crate::tui::app::place::Kind;
use crate::tui::fixture::{World, contract, text_of};
use crate::tui::terminal::screen::Screen;
use crate::tui::text::width;
use crate::tui::theme::{BUILT_IN, Theme};
use ratatui::style::Modifier;

/// What only happens in the midst of a goal, on one screen each.
const TROUBLES: &[(&str, &[&str])] = &[
    ("alert_of_an_outage", &["4\n"]),
    ("question", &["..."]),
    ("question_answered", &["1jjj\na", "Asia/Shanghai"]),
    ("budgets_with_a_forecast", &["5"]),
    ("card_of_a_rollback", &["2\n]]"]),
    ("transcript", &["1jjj\n\t\t\t\t"]),
    ("transcript_unfolded", &["1jjj\n\t\t\t\tf"]),
];

/// Keys that lead to each screen worth looking at; drawn and left alone for a second between groups.
const SCREENS: &[(&str, &[&str])] = &[
    ("goals", &["0"]),
    ("jobs", &["1j"]),
    ("jobs_details", &["1jjji"]),
    ("approvals", &["2"]),
    ("card", &["2\n"]),
    ("card_confirm", &["2\n", "A"]),
    ("card_high_risk", &["2\n]", "Afinance_m"]),
    ("card_reject", &["2\n", "Xthe zone is wrong"]),
    ("to_verify", &["3"]),
    ("operation", &["3\n"]),
    ("operation_rule", &["3\nV"]),
    ("alerts", &["4"]),
    ("budgets", &["5"]),
    ("goal", &["6"]),
    ("waits", &["7"]),
    ("log", &["8"]),
    ("job_timeline", &["1jjj\n"]),
    ("job_diff", &["1jjj\n\t"]),
    ("job_evidence", &["1jjj\n[\t\t"]),
    ("job_operations", &["1jjj\n\t\t\t"]),
    ("help", &["1?"]),
    ("palette", &["1:view"]),
    ("filter_typed", &["1/tries:many"]),
    ("marked_pause", &["1  p"]),
    ("report", &["6R"]),
];

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 40), (40, 12)];

fn at(keys: &[&str], size: (u16, u16)) -> World {
    let mut world = World::filled();
    world.resize(size.0, size.1);
    for group in keys {
        world.keys(group);
        world.drawn_and(ARMING_MS);
    }
    world.beat();
    world.load();
    world
}

fn every_screen(test: impl Fn(&str, &World)) {
    for (name, keys) in SCREENS {
        test(name, &at(keys, (80, 24)));
    }
}

#[test]
fn every_view_at_the_fixed_sizes() {
    for (name, keys) in SCREENS {
        let mut world = at(keys, (80, 24));
        let mut all = String::new();
        for (width, height) in SIZES {
            world.resize(*width, *height);
            all.push_str(&format!("{width}×{height}\n{}\n", world.screen()));
        }
        insta::assert_snapshot!(*name, all);
    }
}

#[test]
fn every_trouble_at_the_fixed_sizes() {
    for (name, keys) in TROUBLES {
        let mut world = World::filled();
        world.outage();
        world.asks("mart_revenue", "Which zone does the old report mean?");
        world.shall_go_back("stg_orders", "a1b2c3d4e5f60009");
        world.turn("mart_revenue", 2);
        world.foretells();
        world.load();
        for group in *keys {
            world.keys(group);
            world.drawn_and(ARMING_MS);
        }
        world.beat();
        world.load();
        let mut all = String::new();
        for (width, height) in SIZES {
            world.resize(*width, *height);
            all.push_str(&format!("{width}×{height}\n{}\n", world.screen()));
        }
        insta::assert_snapshot!(*name, all);
    }
}

/// Requirement 12.
#[test]
fn in_ascii_every_cell_is_ascii() {
    let theme = Theme::built_in("mono").unwrap();
    every_screen(|name, world| {
        let text = text_of(&world.buffer(&theme, true));
        let strange: String = text.chars().filter(|c| !c.is_ascii()).collect();
        assert!(strange.is_empty(), "{name}: {strange}");
    });
    let world = at(&["1j"], (80, 24));
    insta::assert_snapshot!("jobs_ascii", text_of(&world.buffer(&theme, true)));
    let world = at(&["2\n", "A"], (80, 24));
    insta::assert_snapshot!("card_confirm_ascii", text_of(&world.buffer(&theme, true)));
}

/// Requirement 11.
#[test]
fn without_colour_no_cell_has_one_and_the_selection_is_reverse_and_pointed_at() {
    let themes: Vec<Theme> = BUILT_IN
        .iter()
        .map(|(name, _)| Theme::built_in(name).unwrap().with_colour(false))
        .collect();
    every_screen(|screen, world| {
        for theme in &themes {
            for cell in &world.buffer(theme, false).content {
                let plain = ratatui::style::Color::Reset;
                assert_eq!(
                    (cell.fg, cell.bg),
                    (plain, plain),
                    "{} {screen}",
                    theme.name
                );
            }
        }
    });
    let world = at(&["1j"], (80, 24));
    for theme in &themes {
        let buffer = world.buffer(theme, false);
        let row = (0..24).find(|y| buffer[(0, *y)].symbol() == "›").unwrap();
        for x in 0..80 {
            assert!(buffer[(x, row)].modifier.contains(Modifier::REVERSED));
        }
    }
}

/// Requirement 13.
#[test]
fn no_size_breaks_any_screen() {
    for (name, keys) in SCREENS {
        let mut world = World::filled();
        for group in *keys {
            world.keys(group);
            world.drawn_and(ARMING_MS);
        }
        for width in [1, 2, 3, 7, 12, 23, 24, 25, 39, 41, 60, 79, 110, 200, 400] {
            for height in [1, 2, 3, 5, 6, 7, 9, 10, 12, 15, 16, 25, 60, 120] {
                world.send(Msg::Resize(width, height));
                let text = world.screen();
                assert_eq!(text.lines().count(), usize::from(height), "{name}");
            }
        }
    }
}

#[test]
fn below_the_floor_it_says_so_in_numbers_and_q_works() {
    let mut world = World::filled();
    world.resize(20, 5);
    let text = world.screen();
    assert!(
        text.contains("20×5 is too small") && text.contains("24×6"),
        "{text}"
    );
    let effects = world.keys("q");
    assert_eq!(effects.len(), 1);
}

/// Requirement 14.
#[test]
fn what_could_reorder_or_hide_text_is_shown_as_a_mark() {
    let mut world = World::filled();
    world.resize(120, 40);
    world.keys("1G\n");
    let text = world.screen();
    assert!(text.contains("‹202E›evil‹202C›"), "{text}");
    every_screen(|name, world| {
        let text = world.screen();
        let bad = text
            .chars()
            .find(|c| matches!(*c as u32, 0x00..=0x09 | 0x0b..=0x1f | 0x7f..=0x9f | 0x200b..=0x200f | 0x202a..=0x202e));
        assert_eq!(bad, None, "{name}");
    });
}

/// Wide and combining characters: the bytes sent put every column where the buffer has it.
#[test]
fn columns_stay_aligned_on_the_terminal_itself() {
    let theme = Theme::built_in("default").unwrap();
    let mut world = World::filled();
    world.add("اسم_الوظيفة", 8, "arabic");
    world.add("e\u{301}tude_cafe\u{301}", 9, "combining");
    world.add("👩\u{200d}💻_job", 10, "joined emoji");
    world.load();
    let mut sent = Vec::new();
    let mut screen = Screen::new(&mut sent);
    screen.present(world.buffer(&theme, false), None).unwrap();
    let mut parser = vt100::Parser::new(24, 80, 0);
    parser.process(&sent);
    let rows: Vec<String> = parser.screen().rows(0, 80).collect();
    let heading = rows
        .iter()
        .find(|row| row.contains("why, and when"))
        .unwrap();
    let column = width(heading.split("why, and").next().unwrap());
    for name in ["数据_清洗", "اسم_الوظيفة", "tude_cafe", "‹200D›"] {
        let row = rows.iter().find(|row| row.contains(name)).unwrap();
        let before = row.split("not begun").next().unwrap();
        assert_eq!(width(before), column, "{row}");
    }
}

/// Requirement 9: moving the cursor by one row.
#[test]
fn a_key_press_sends_few_bytes() {
    let theme = Theme::built_in("default").unwrap();
    let mut world = World::filled();
    let mut sent = Vec::new();
    let mut screen = Screen::new(&mut sent);
    screen.present(world.buffer(&theme, false), None).unwrap();
    let mut sizes = Vec::new();
    for _ in 0..6 {
        world.keys("j");
        sizes.push(screen.present(world.buffer(&theme, false), None).unwrap());
    }
    sizes.sort_unstable();
    assert!(sizes[sizes.len() / 2] <= 600, "{sizes:?}");
    assert!(sizes[0] > 0);
}

/// Requirement 8: time that changes nothing shown sends nothing.
#[test]
fn idle_is_silent() {
    let theme = Theme::built_in("default").unwrap();
    let mut world = World::filled();
    world.beat();
    world.load();
    let mut sent = Vec::new();
    let mut screen = Screen::new(&mut sent);
    screen.present(world.buffer(&theme, false), None).unwrap();
    for _ in 0..30 {
        world.wait(1_000);
        world.beat();
        world.load();
        assert_eq!(
            screen.present(world.buffer(&theme, false), None).unwrap(),
            0
        );
    }
}

/// Requirement 17: what cannot be done now stays where it is, dimmed, and says why when pressed.
#[test]
fn an_action_that_cannot_be_done_stays_in_the_footer_and_says_why() {
    let mut world = World::filled();
    world.keys("2\n");
    let footer = |world: &World| world.screen().lines().last().unwrap_or("").to_owned();
    let before = footer(&world);
    assert!(before.starts_with("A approve  X reject"), "{before}");
    let theme = Theme::built_in("default").unwrap();
    let dim = world.buffer(&theme, false)[(0, 23)].style();
    world.keys("A");
    assert!(
        world.screen().contains("read it first"),
        "{}",
        world.screen()
    );
    world.drawn_and(ARMING_MS);
    assert_eq!(footer(&world), before);
    assert_ne!(world.buffer(&theme, false)[(0, 23)].style(), dim);
}

/// Requirement 17.
#[test]
fn the_footer_and_help_show_the_table_s_own_keys() {
    let mut world = World::filled();
    world.resize(120, 40);
    world.keys("1?");
    let text = world.screen();
    for entry in world.model.keymap.entries(Kind::Jobs).take(20) {
        let start: String = entry.help.chars().take(20).collect();
        assert!(text.contains(&start), "{start}\n{text}");
    }
}

/// What is only known when the contract can be read: limits, approvers, names of strategies.
#[test]
fn a_readable_contract_gives_limits_approvers_and_strategies() {
    let mut world = at(&["5"], (80, 24));
    world.model.snapshot.parsed = Some(std::sync::Arc::new(contract()));
    world.wait(1);
    insta::assert_snapshot!("budgets_with_contract", world.screen());
    // 14 of them at 09:24.
    for (limit, wanted) in [(20, "used up 13:25"), (100, "lasts the day")] {
        let mut goal = contract();
        goal.contract
            .budgets
            .per_day
            .values_mut()
            .for_each(|one| one.limit = limit);
        world.model.snapshot.parsed = Some(std::sync::Arc::new(goal));
        world.wait(1);
        let text = world.screen();
        assert!(
            text.contains("1.5 an hour since midnight; begins anew 04-02 00:00"),
            "{text}"
        );
        assert!(text.replace("\n ", "").contains(wanted), "{text}");
    }
    let mut world = at(&["2\n", "GG"], (80, 40));
    world.model.snapshot.parsed = Some(std::sync::Arc::new(contract()));
    world.keys_without_loading("ggg");
    let text = world.screen();
    assert!(text.contains("decided by etl-owner, deputy"), "{text}");
    let mut world = at(&["1"], (120, 40));
    world.model.snapshot.parsed = Some(std::sync::Arc::new(contract()));
    assert!(world.screen().contains("script"), "{}", world.screen());
}

const HOSTILE: &[&str] = &[
    "\x1b]0;PWNED\x07visible",
    "\x1b]52;c;UFdORUQ=\x07",
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[HFAKE SCREEN",
    "\x1b[?1049l\x1bcshell$ ",
    "\x1bP+q544e\x1b\\\x05",
    "\u{9b}31m\u{9d}0;T\u{9c}",
    "delete\rkeep\x08\x08",
    "approve \u{202e}lla\u{202c} \u{2066}x\u{2069}",
    "job\u{200b}\u{2060}\u{feff}\u{ad}",
    "hi\u{e0069}\u{e006e}",
    "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
];

/// Every control sequence in `bytes`, by its kind; text is left out.
fn controls(bytes: &[u8]) -> std::collections::BTreeSet<String> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            let kind = chars.next().unwrap();
            let end = chars.by_ref().find(|c| c.is_ascii_alphabetic());
            kinds.insert(format!("ESC {kind} {}", end.unwrap()));
        } else if c.is_control() {
            kinds.insert(format!("{:04x}", c as u32));
        }
    }
    kinds
}

/// Requirement 14, at the bytes: nothing that came from outside reaches the terminal as a command.
#[test]
fn hostile_text_never_becomes_a_control_sequence() {
    let theme = Theme::built_in("default").unwrap();
    for text in HOSTILE {
        let mut world = World::filled();
        world.hostile(text);
        for keys in [
            "1G", "\n", "\t", "\t", "\t", "\t", "8", "4", "5", "R", "\x1b6R",
        ] {
            world.keys(keys);
            let mut sent = Vec::new();
            let mut screen = Screen::new(&mut sent);
            screen.present(world.buffer(&theme, false), None).unwrap();
            let kinds = controls(&sent);
            let ours = ["ESC [ H", "ESC [ J", "ESC [ h", "ESC [ l", "ESC [ m"];
            let foreign: Vec<_> = kinds
                .iter()
                .filter(|kind| !ours.contains(&kind.as_str()))
                .collect();
            assert!(foreign.is_empty(), "{text:?} in {keys:?}: {foreign:?}");
            assert!(sent.len() < 12_000, "{}", sent.len());
        }
    }
}
