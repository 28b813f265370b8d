use super::*;
use crate::ledger::read::TurnMeasure;
use proptest::prelude::*;

fn defaults() -> Assumptions {
    Assumptions::defaults().unwrap()
}

/// The built-in assumptions give these figures, each to its last digit.
#[test]
fn the_built_in_plan_gives_its_figures() {
    let all = figures(&defaults());
    let short = &all.short_loops;
    assert_eq!(short.turns, 1_440.0);
    assert_eq!(short.input_tokens, 25_920_000.0);
    assert_eq!(short.output_tokens, 1_440_000.0);
    assert_eq!(short.cached_tokens, 10_368_000.0);
    assert_eq!(short.uncached_tokens, 15_552_000.0);
    let long = all.long_session.unwrap();
    assert_eq!(long.turns_per_cycle, 32.0);
    assert_eq!(long.compactions, 45.0);
    assert_eq!(long.turn_input_tokens, 86_400_000.0);
    assert_eq!(long.compaction_input_tokens, 4_500_000.0);
    assert_eq!(long.input_tokens, 90_900_000.0);
    assert_eq!(format!("{:.1}", long.times_short_loops), "3.5");
    let jobs: Vec<(u32, f64)> = all
        .escalated
        .iter()
        .map(|one| (one.tries, one.jobs))
        .collect();
    assert_eq!(jobs, [(3, 0.12), (2, 1.2)]);
    assert_eq!((all.queries.queries, all.queries.days), (720.0, 3.0));
    let changed = &all.queries_changed;
    assert_eq!(
        (changed.jobs, changed.queries, changed.days),
        (105.0, 945.0, 4.0)
    );
    assert_eq!(all.approval_minutes, 315.0);
    assert_eq!(all.deadline_days, 5.0);
}

#[test]
fn the_change_on_day_three_gives_its_figures() {
    let own = figures(&defaults()).change.unwrap();
    assert_eq!(own.kept_queries, 120.0);
    assert_eq!(own.open_queries, 585.0);
    assert_eq!(own.sunk_queries, 30.0);
    assert_eq!(own.rerun_queries, 105.75);
    assert_eq!(
        (own.rerun_open_queries, own.rerun_kept_queries),
        (87.75, 18.0)
    );
    assert_eq!(own.need_queries, 810.75);
    assert_eq!((own.left_queries, own.spare_queries), (900.0, 89.25));
    assert_eq!(
        (own.left_reduced_queries, own.spare_reduced_queries),
        (720.0, -90.75)
    );
    assert_eq!((own.approvals, own.approval_minutes), (105.0, 315.0));
}

#[test]
fn the_sensitivities_give_their_figures() {
    let other = figures(&defaults()).sensitivity;
    assert_eq!(other.staging_failure_percent, 30.0);
    let jobs: Vec<(u32, f64)> = other
        .escalated
        .iter()
        .map(|one| (one.tries, one.jobs))
        .collect();
    assert_eq!(jobs, [(3, 3.24), (2, 10.8)]);
    assert_eq!(
        (other.turns_per_job, other.input_tokens),
        (20.0, 43_200_000.0)
    );
}

#[test]
fn the_text_has_every_figure_as_people_write_it() {
    let assumed = defaults();
    let text = render(&assumed, &figures(&assumed));
    for part in [
        "turns: 1,440",
        "short loops, input: 25.92 M tokens",
        "short loops, output: 1.44 M tokens",
        "of the input, cached prefix: 10.368 M tokens",
        "not served from cache: 15.552 M tokens",
        "turns a compaction cycle: 32",
        "compactions: 45",
        "long session: input: 90.9 M tokens (86.4 + 4.5)",
        "long session ÷ short loops, input: 3.5",
        "innocent jobs escalated, 3 tries / 2 tries: 0.12 / 1.2",
        "720 for 120 jobs, at least 3 days at 300 a day",
        "945 for 105 jobs, at least 4 days",
        "kept jobs, new clause only: 120",
        "at the change: not done: 585",
        "sunk in retired jobs: 30, not counted against what is left",
        "reruns: 105.75, about 106 (87.75 + 18)",
        "need: 810.75, about 811",
        "left on days 3–5, whole: 900: 89 to spare",
        "left if only 120 remain on day 3: 720: short by 91",
        "105 jobs, 315 minutes, 5.25 hours",
        "if staging fails 30 % of the time: innocent jobs escalated, 3 tries / 2 tries: 3.24 / 10.8",
        "if a job takes 20 turns: short loops, input: 43.2 M tokens",
        "only while staging fails independently",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}

#[test]
fn figures_follow_the_assumptions() {
    let mut assumed = defaults();
    assumed
        .read("jobs = 60\n[staging]\nfailure_percent = 20\n", Origin::File)
        .unwrap();
    let all = figures(&assumed);
    assert_eq!(all.short_loops.turns, 720.0);
    assert_eq!(all.escalated[0].jobs, 0.48);
    assert!(all.change.is_none(), "the change speaks of 120 jobs");
    assert!(render(&assumed, &all).contains("at the change: left out"));
    let rows = assumption_rows(&assumed);
    assert_eq!(rows[0][..3], ["jobs", "60", "file"]);
}

#[test]
fn a_measurement_stands_beside_what_was_assumed() {
    let mut assumed = defaults();
    assumed.set(Key::MinutesEach, 4.5, Origin::Measured, "of 12 decisions");
    let row = assumption_rows(&assumed)
        .into_iter()
        .find(|row| row[0] == "minutes an approval")
        .unwrap();
    assert_eq!(
        row[1..],
        ["4.5 min", "measured", "3 min", "of 12 decisions"]
    );
}

fn row_of(assumed: &Assumptions, key: Key) -> Value {
    assumed.all().find(|one| one.0 == key).unwrap().1.clone()
}

/// Thirty turns, twenty of them counted: a plan follows what they took, and says how many they were.
#[test]
fn measured_turns_take_the_place_of_what_was_assumed_of_them() {
    let mut assumed = defaults();
    let all = TurnMeasure {
        turns: 30,
        attempts: 6,
        jobs: 5,
        reported: 20,
        input: 80_000,
        output: 6_000,
        of_cache: 10,
        uncached: 10_000,
        cache_write: 6_000,
        cache_read: 24_000,
    };
    measure_turns(&mut assumed, &all);
    for (key, value, before, basis) in [
        (
            Key::TurnsPerJob,
            6.0,
            12.0,
            "30 turns in 6 attempts, 5.0 each",
        ),
        (Key::OutputTokens, 300.0, 1_000.0, "20 reported turns"),
        (Key::PrefixTokens, 3_000.0, 8_000.0, "4000 read each"),
        (
            Key::JobContextTokens,
            1_000.0,
            10_000.0,
            "20 reported turns",
        ),
        (
            Key::CacheHitPercent,
            80.0,
            90.0,
            "10 turns; a cache served 60.0 %",
        ),
    ] {
        let row = row_of(&assumed, key);
        assert_eq!((row.value, row.assumed), (value, Some(before)), "{key:?}");
        assert_eq!(row.origin, Origin::Measured, "{key:?}");
        assert!(row.basis.contains(basis), "{key:?}: {}", row.basis);
    }
    // 120 jobs of 6 turns that read 4,000 tokens each, of which a cache serves 60 %.
    let short = figures(&assumed).short_loops;
    assert_eq!(short.input_tokens, 2_880_000.0);
    assert_eq!(short.cached_tokens, 1_728_000.0);
    assert_eq!(short.output_tokens, 216_000.0);
}

#[test]
fn what_no_provider_counted_stays_assumed() {
    let mut assumed = defaults();
    measure_turns(&mut assumed, &TurnMeasure::default());
    assert_eq!(assumed, defaults());
    let uncounted = TurnMeasure {
        turns: 8,
        attempts: 2,
        jobs: 2,
        ..TurnMeasure::default()
    };
    measure_turns(&mut assumed, &uncounted);
    assert_eq!(row_of(&assumed, Key::TurnsPerJob).value, 4.0);
    assert_eq!(row_of(&assumed, Key::OutputTokens).origin, Origin::Default);
    // Counted, but nothing is said of a cache: its rate stays assumed, and the whole input is as counted.
    for (input, parts) in [(24_000, (8_000.0, 4_000.0)), (6_000, (3_000.0, 0.0))] {
        let mut assumed = defaults();
        let told = TurnMeasure {
            reported: 2,
            input,
            ..uncounted
        };
        measure_turns(&mut assumed, &told);
        let of = |key| assumed.get(key);
        assert_eq!((of(Key::PrefixTokens), of(Key::JobContextTokens)), parts);
        assert_eq!(
            row_of(&assumed, Key::CacheHitPercent).origin,
            Origin::Default
        );
    }
}

#[test]
fn a_wrong_file_of_assumptions_says_what_is_wrong_and_changes_nothing() {
    for (text, part) in [
        ("jops = 3", "unknown key `jops`, did you mean `jobs`?"),
        (
            "[model]\nturns_per_jobb = 1",
            "did you mean `model.turns_per_job`?",
        ),
        (
            "[model.turns_per_job]\nx = 1",
            "unknown key `model.turns_per_job`",
        ),
        ("jobs = 0", "expected a number from 1 to 1000000"),
        ("jobs = -5", "`jobs` is -5"),
        ("jobs = \"many\"", "`jobs` is \"many\""),
        ("jobs = nan", "`jobs` is nan"),
        ("[staging]\nfailure_percent = 101", "from 0 to 100"),
        ("jobs = ", ""),
    ] {
        let mut assumed = defaults();
        let error = assumed.read(text, Origin::File).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert_eq!(assumed, defaults(), "{text}");
    }
    let long = "#".repeat(70_000);
    assert!(defaults().read(&long, Origin::File).is_err());
}

proptest! {
    /// No assumption that is accepted gives a figure that is no number.
    #[test]
    fn every_plan_has_figures(at in proptest::collection::vec(0.0_f64..1.0, Key::ALL.len())) {
        let mut assumed = defaults();
        for (key, share) in Key::ALL.iter().zip(at) {
            let (least, most) = key.range();
            assumed.set(*key, least + (most - least) * share.powi(6), Origin::File, "");
        }
        let json = serde_json::to_string(&figures(&assumed)).unwrap();
        prop_assert!(!json.contains("null,\"days\""), "{json}");
        prop_assert!(!render(&assumed, &figures(&assumed)).contains("NaN"));
    }
}
