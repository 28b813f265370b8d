//! What is on the screen: every view at fixed sizes, through the real draw function.

use crate::tui::app::layout::FLOOR;
use crate::tui::app::msg::{Msg, Now};
use crate::tui::app::place::Kind;
use crate::tui::app::{ARMING_MS, Model, update};
use crate::tui::fixture::{World, buffer_of, contract, text_of};
use crate::tui::terminal::screen::Screen;
use crate::tui::text::width;
use crate::tui::theme::{BUILT_IN, Theme};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::sync::Mutex;

/// A screen: its name, what happened before, and the keys that lead to it; drawn and left alone for a second
/// between groups of keys.
type Shown = (&'static str, fn(&mut World), &'static [&'static str]);

fn nothing(_: &mut World) {}

/// What only happens in the midst of a goal.
fn troubles(world: &mut World) {
    world.outage();
    world.asks("mart_revenue", "Which zone does the old report mean?");
    world.shall_go_back("stg_orders", "a1b2c3d4e5f60009");
    world.turn("mart_revenue", 2);
    world.foretells();
}

/// An engine that stopped uncleanly, and a job that goes round in circles.
fn held(world: &mut World) {
    world.differs();
    world.spins("mart_revenue");
}

fn overruled(world: &mut World) {
    world.spins("mart_revenue");
    world.overrules("mart_revenue");
}

fn engine_here(world: &mut World) {
    world.model.engine_here = true;
}

/// Every view and every dialog.
const SCREENS: &[Shown] = &[
    ("goals", nothing, &["0"]),
    ("jobs", nothing, &["1j"]),
    ("jobs_details", nothing, &["1jjji"]),
    ("approvals", nothing, &["2"]),
    ("card", nothing, &["2\n"]),
    ("card_confirm", nothing, &["2\n", "A"]),
    ("card_high_risk", nothing, &["2\n]", "Afinance_m"]),
    ("card_reject", nothing, &["2\n", "Xthe zone is wrong"]),
    ("card_of_a_rollback", troubles, &["2\n]]"]),
    ("to_verify", nothing, &["3"]),
    ("operation", nothing, &["3\n"]),
    ("operation_rule", nothing, &["3\nV"]),
    ("operation_rule_reference", nothing, &["3\nVhrun-9"]),
    ("operation_rule_reason", nothing, &["3\nVnnobody saw it"]),
    ("operation_undone", nothing, &["3\nVuswitched it off"]),
    ("drift", held, &["d"]),
    ("drift_accept_one", held, &["d", "A"]),
    ("drift_accept_all", held, &["d", "*A"]),
    ("drift_none", nothing, &["d"]),
    ("alerts", nothing, &["4"]),
    ("alert_of_an_outage", troubles, &["4\n"]),
    ("alert_of_spinning", held, &["4\n"]),
    ("alert_not_spinning", held, &["4\nV"]),
    (
        "alert_not_spinning_reason",
        held,
        &["4\nVjthe warehouse was away"],
    ),
    ("alert_overruled", overruled, &["4\n"]),
    ("alert_overruled_back", overruled, &["4\nV"]),
    ("budgets", nothing, &["5"]),
    ("budgets_with_a_forecast", troubles, &["5"]),
    ("goal", nothing, &["6"]),
    ("amend_file", nothing, &["6egoal.toml"]),
    ("amend_reading", nothing, &["6egoal.toml\n"]),
    ("amendment", nothing, &["6egoal.toml\n", AS_READ]),
    (
        "amendment_why",
        nothing,
        &["6egoal.toml\n", AS_READ, "Athe month close moved"],
    ),
    ("waits", nothing, &["7"]),
    ("log", nothing, &["8"]),
    ("job_timeline", nothing, &["1jjj\n"]),
    ("job_diff", nothing, &["1jjj\n\t"]),
    ("job_evidence", nothing, &["1jjj\n[\t\t"]),
    ("job_operations", nothing, &["1jjj\n\t\t\t"]),
    ("job_transcript_empty", nothing, &["1jjj\n\t\t\t\t"]),
    ("transcript", troubles, &["1jjj\n\t\t\t\t"]),
    ("transcript_unfolded", troubles, &["1jjj\n\t\t\t\tf"]),
    ("job_log", nothing, &["1jjjL"]),
    ("job_retry", nothing, &["1jjjjjjr"]),
    ("job_comment", nothing, &["1jjjcuse the old zone"]),
    ("job_hand_over", nothing, &["1jjjDnobody knows the format"]),
    ("question", troubles, &["..."]),
    ("question_answered", troubles, &["1jjj\na", "Asia/Shanghai"]),
    ("help", nothing, &["1?"]),
    ("help_searched", nothing, &["1?sort"]),
    ("palette", nothing, &["1:view"]),
    ("filter_typed", nothing, &["1/tries:many"]),
    ("marked_pause", nothing, &["1  p"]),
    ("report", nothing, &["6R"]),
    ("tour", nothing, &["1T"]),
    ("leave", engine_here, &["1q"]),
];

/// Stands for what whoever reads goal files answers.
const AS_READ: &str = "\0";

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 40), (40, 12)];

fn at(screen: &Shown, size: (u16, u16)) -> World {
    let (_, before, keys) = screen;
    let mut world = World::filled();
    world.resize(size.0, size.1);
    before(&mut world);
    world.load();
    for group in *keys {
        match *group {
            AS_READ => world.reads(|_| {}),
            keys => drop(world.keys(keys)),
        }
        world.drawn_and(ARMING_MS);
    }
    world.beat();
    world.load();
    world
}

/// A screen by its name.
fn named(name: &str, size: (u16, u16)) -> World {
    let screen = SCREENS.iter().find(|(one, ..)| *one == name).unwrap();
    at(screen, size)
}

/// A screen as it stood when its keys were pressed: only drawn from then on.
#[derive(Clone)]
struct Still {
    name: &'static str,
    model: Model,
    now: Now,
}

impl Still {
    fn resize(&mut self, (width, height): (u16, u16)) {
        update(&mut self.model, self.now, Msg::Resize(width, height));
    }
}

/// All screens; made once, since each takes a ledger and many keys.
fn stills() -> Vec<Still> {
    static ALL: Mutex<Vec<Still>> = Mutex::new(Vec::new());
    let still = |screen: &Shown| {
        let world = at(screen, SIZES[0]);
        Still {
            name: screen.0,
            model: world.model,
            now: world.now,
        }
    };
    let mut all = ALL.lock().unwrap();
    if all.is_empty() {
        *all = SCREENS.iter().map(still).collect();
    }
    all.clone()
}

/// How each cell looks that does not look like plain text: runs of columns with their style, row by row.
fn looks(buffer: &Buffer) -> String {
    let mut out = String::new();
    let plain = (Color::Reset, Color::Reset, Modifier::empty());
    for y in 0..buffer.area.height {
        let mut runs: Vec<(u16, u16, _)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = (cell.fg, cell.bg, cell.modifier);
            match runs.last_mut() {
                Some((_, end, last)) if *last == style => *end = x,
                _ => runs.push((x, x, style)),
            }
        }
        let runs: Vec<String> = runs
            .into_iter()
            .filter(|(.., style)| *style != plain)
            .map(|(from, to, (fg, bg, how))| {
                let mut words = vec![format!("{from}-{to}")];
                words.extend((fg != Color::Reset).then(|| fg.to_string().to_lowercase()));
                words.extend((bg != Color::Reset).then(|| format!("on {bg}").to_lowercase()));
                words.extend(how.iter_names().map(|(name, _)| name.to_lowercase()));
                words.join(" ")
            })
            .collect();
        if !runs.is_empty() {
            out.push_str(&format!("{:>2}: {}\n", y + 1, runs.join(", ")));
        }
    }
    out
}

/// The rows that ASCII shows otherwise.
fn other_rows(text: &str, ascii: &str) -> String {
    let rows = text.lines().zip(ascii.lines()).enumerate();
    rows.filter(|(_, (one, other))| one != other)
        .map(|(at, (_, ascii))| format!("{:>2}: {ascii}\n", at + 1))
        .collect()
}

/// Each view and dialog at each size: its text, its colours, how it looks without any, and in ASCII.
/// Requirement 12: in ASCII every cell is ASCII.
#[test]
fn requirement_12_every_view_and_dialog_at_the_fixed_sizes_in_colour_mono_and_ascii() {
    let colour = Theme::built_in("default").unwrap();
    let mono = Theme::built_in("mono").unwrap();
    for mut still in stills() {
        let name = still.name;
        let mut all = String::new();
        for size in SIZES {
            still.resize(*size);
            let coloured = buffer_of(&still.model, &colour, false);
            let plain = buffer_of(&still.model, &mono, false);
            let text = text_of(&coloured);
            assert_eq!(text, text_of(&plain), "{name}: no theme changes words");
            let ascii = text_of(&buffer_of(&still.model, &mono, true));
            assert!(ascii.is_ascii(), "requirement 12, {name}: {ascii}");
            let (width, height) = size;
            all.push_str(&format!(
                "{width}×{height}\n{text}\n-- colour\n{}\n-- mono\n{}\n-- ascii\n{}\n",
                looks(&coloured),
                looks(&plain),
                other_rows(&text, &ascii)
            ));
        }
        insta::assert_snapshot!(name, all);
    }
}

/// Requirement 13: every view, every dialog, each also under a dialog that is resized. Each of the sizes at
/// which something changes is tried on every fifteenth screen, others by chance.
#[test]
fn requirement_13_no_size_breaks_any_screen() {
    const WIDTHS: &[u16] = &[
        1, 2, 3, 7, 12, 23, 24, 25, 39, 41, 59, 60, 79, 109, 110, 200, 400,
    ];
    const HEIGHTS: &[u16] = &[1, 2, 3, 5, 6, 7, 9, 10, 12, 15, 16, 25, 60, 120];
    let edges: Vec<(u16, u16)> = WIDTHS
        .iter()
        .flat_map(|width| HEIGHTS.iter().map(|height| (*width, *height)))
        .collect();
    let theme = Theme::built_in("default").unwrap();
    for (index, mut still) in stills().into_iter().enumerate() {
        let mut drawn = |size: (u16, u16)| {
            still.resize(size);
            let buffer = buffer_of(&still.model, &theme, false);
            let last: String = (0..size.0)
                .map(|x| buffer[(x, size.1 - 1)].symbol())
                .collect();
            // From the floor up the last row has the keys, or a dialog's edge over them.
            if size.0 >= FLOOR.0 && size.1 >= FLOOR.1 {
                assert!(!last.trim().is_empty(), "{} at {size:?}", still.name);
            }
        };
        for size in edges.iter().skip(index % 15).step_by(15) {
            drawn(*size);
        }
        // By chance, but the same at every run.
        let mut seed = index as u32 * 7_919 + 1;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((seed >> 8) % below + 1) as u16
        };
        for _ in 0..8 {
            let size = (next(400), next(120));
            drawn(size);
        }
        drawn((80, 24));
    }
}

/// Requirement 11.
#[test]
fn requirement_11_without_colour_no_cell_has_one_and_the_selection_is_reverse_and_pointed_at() {
    let themes: Vec<Theme> = BUILT_IN
        .iter()
        .map(|(name, _)| Theme::built_in(name).unwrap().with_colour(false))
        .collect();
    for still in stills() {
        for theme in &themes {
            let buffer = buffer_of(&still.model, theme, false);
            let coloured = |cell: &Cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset);
            let found = buffer.content.iter().find(|cell| coloured(cell));
            assert_eq!(found, None, "{} {}", theme.name, still.name);
        }
    }
    let world = named("jobs", (80, 24));
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
fn requirement_13_below_the_floor_it_says_so_in_numbers_and_q_works() {
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
fn requirement_14_what_could_reorder_or_hide_text_is_shown_as_a_mark() {
    let mut world = World::filled();
    world.resize(120, 40);
    world.keys("1G\n");
    let text = world.screen();
    assert!(text.contains("‹202E›evil‹202C›"), "{text}");
    let theme = Theme::built_in("default").unwrap();
    for still in stills() {
        let text = text_of(&buffer_of(&still.model, &theme, false));
        let bad = text
            .chars()
            .find(|c| matches!(*c as u32, 0x00..=0x09 | 0x0b..=0x1f | 0x7f..=0x9f | 0x200b..=0x200f | 0x202a..=0x202e));
        assert_eq!(bad, None, "{}", still.name);
    }
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
fn requirement_09_a_key_press_sends_few_bytes() {
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
fn requirement_08_idle_is_silent() {
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
fn requirement_17_an_action_that_cannot_be_done_stays_in_the_footer_and_says_why() {
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
fn requirement_17_the_footer_and_help_show_the_table_s_own_keys() {
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
    let mut world = named("budgets", (80, 24));
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
    let mut world = named("card", (80, 40));
    world.keys("GG");
    world.model.snapshot.parsed = Some(std::sync::Arc::new(contract()));
    world.keys_without_loading("ggg");
    let text = world.screen();
    assert!(text.contains("decided by etl-owner, deputy"), "{text}");
    let mut world = named("jobs", (120, 40));
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
fn requirement_14_hostile_text_never_becomes_a_control_sequence() {
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
