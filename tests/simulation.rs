//! Many seeds through the whole engine, and engines that are wrong on purpose, which must be caught.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use dogwatch::lab::sim::measure::{Measure, rule_of};
use dogwatch::lab::sim::{
    Mood, Options, Outcome, Sabotage, Scenario, Shape, Violation, scratch, shrink, simulate,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Seeds within which a wrong engine must be caught.
const SEEDS_TO_CATCH: u64 = 200;

fn run(seed: u64, options: Options, folder: &Path) -> Outcome {
    let scenario = Scenario::of_seed(seed, Shape::default());
    simulate(&scenario, options, folder).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// Runs seeds and says which failed, with the command that shows why.
fn sound(seeds: Range<u64>) {
    let folder = scratch().unwrap();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut crashes = 0;
    for seed in seeds {
        // A whole ledger is verified for every third: that takes longer than the run itself.
        let options = Options {
            verify: seed % 3 == 0,
            ..Options::default()
        };
        let outcome = run(seed, options, folder.path());
        if let Some(Violation { rule, what, .. }) = outcome.violations.first() {
            panic!(
                "seed {seed}: {rule}: {what}\nsee: cargo run --release --bin simulate -- --seed {seed}"
            );
        }
        crashes += outcome.crashes;
        for (name, count) in outcome.counts {
            *counts.entry(name).or_default() += count;
        }
    }
    // A simulation in which nothing goes wrong proves nothing.
    assert!(crashes > 20, "{crashes}");
    for name in [
        "act: amend as a stranger",
        "act: amend what was",
        "act: amend: add a clause",
        "act: amend: change a clause",
        "act: amend: queries a day",
        "act: amend: retire",
        "act: amend: side effects a day",
        "act: approve",
        "act: hand over",
        "act: late",
        "act: look again",
        "act: nonsense",
        "act: pause",
        "act: reject",
        "act: resume",
        "act: retry",
        "act: rule",
        "act: stale",
        "act: stranger",
        "act: twice",
        "fault: contradicts",
        "fault: hang",
        "fault: long run",
        "fault: lost after",
        "fault: lost before",
        "fault: no answer",
        "fault: outage",
        "fault: rate limit",
        "fault: refused",
        "fault: run fails",
        "fault: slow",
        "fault: worker",
        "jobs: cancelled",
        "jobs: cut_over",
        "jobs: handed_over",
        "spin: same_change",
        "spin: same_check_failures",
    ] {
        assert!(counts.contains_key(name), "{name} never came: {counts:?}");
    }
}

#[test]
fn seeds_0_to_69_break_no_rule() {
    sound(0..70);
}

#[test]
fn seeds_100_to_169_break_no_rule() {
    sound(100..170);
}

#[test]
fn seeds_200_to_269_break_no_rule() {
    sound(200..270);
}

/// Seeds that broke a rule once.
#[test]
fn seeds_that_failed_before_break_no_rule() {
    let folder = scratch().unwrap();
    for seed in [
        37, 43, 271, 519, 592, 943, 1_202, 1_384, 1_400, 1_422, 1_508, 1_800, 2_122, 2_162, 2_181,
        2_503, 3_883, 3_934, 5_288, 8_110, 8_186, 9_131,
    ] {
        let outcome = run(seed, Options::default(), folder.path());
        assert_eq!(outcome.violations, [], "seed {seed}");
    }
}

#[test]
fn a_goal_of_120_jobs_breaks_no_rule() {
    let folder = scratch().unwrap();
    let options = Options {
        verify: true,
        ..Options::default()
    };
    let large = Shape {
        jobs: Some(120),
        ..Shape::default()
    };
    for seed in 0..2 {
        let scenario = Scenario::of_seed(seed, large);
        let outcome = simulate(&scenario, options, folder.path()).unwrap();
        assert_eq!(outcome.violations, [], "seed {seed}");
    }
}

/// Seeds of one mood, none of which breaks a rule.
fn measured(seeds: Range<u64>, mood: Mood) -> Measure {
    let folder = scratch().unwrap();
    let shape = Shape { jobs: None, mood };
    let found = Measure::of(seeds, shape, folder.path()).unwrap();
    assert_eq!(found.broken, BTreeMap::new(), "{mood:?}");
    found
}

#[test]
fn a_sound_worker_never_counts_as_spinning() {
    let found = measured(0..16, Mood::Healthy);
    assert_eq!(found.alarms, BTreeMap::new());
}

#[test]
fn every_way_of_going_round_in_circles_is_seen_within_its_threshold() {
    // Whether an alarm came in time and was one is the oracle's business, in every seed.
    for mood in [
        Mood::SameCheck,
        Mood::SameChange,
        Mood::Rounds,
        Mood::Tokens,
    ] {
        let found = measured(0..5, mood);
        let rules: Vec<_> = found.alarms.keys().copied().collect();
        assert_eq!(rules, [rule_of(mood).unwrap()]);
        assert!(found.seeds_with_alarm >= 3, "{mood:?}: {found:?}");
    }
}

/// `simulate --escalations --seeds 500` measures it with more to count.
#[test]
fn sound_jobs_become_a_person_s_by_chance_alone() {
    let found = measured(0..40, Mood::Odds);
    assert!(found.is_by_chance(), "{found:?}");
    assert!(found.expected > 8.0, "{found:?}");
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let (one, other) = (scratch().unwrap(), scratch().unwrap());
    let options = Options {
        log: true,
        ..Options::default()
    };
    let mut logs = BTreeSet::new();
    for seed in 0..12 {
        let first = run(seed, options, one.path());
        let again = run(seed, options, other.path());
        assert_eq!(first.log, again.log, "seed {seed}");
        logs.insert(first.log);
    }
    assert_eq!(logs.len(), 12);
}

/// The first seed that catches a wrong engine, and the rule it broke there.
fn caught(sabotage: Sabotage, folder: &Path) -> (u64, Violation) {
    let options = Options {
        sabotage: Some(sabotage),
        ..Options::default()
    };
    let mut fired = 0;
    for seed in 0..SEEDS_TO_CATCH {
        let outcome = run(seed, options, folder);
        fired += outcome.sabotaged;
        if let Some(first) = outcome.violations.into_iter().next() {
            // Only what the defect did counts: the right engine breaks nothing with this seed.
            assert!(outcome.sabotaged > 0, "seed {seed}: {first:?}");
            let right = run(seed, Options::default(), folder);
            assert_eq!(right.violations, [], "seed {seed}");
            return (seed, first);
        }
    }
    panic!("{sabotage:?} was wrong {fired} times in {SEEDS_TO_CATCH} seeds and never caught");
}

fn all_caught(wrong: &[Sabotage]) {
    let folder = scratch().unwrap();
    for sabotage in wrong {
        let (seed, first) = caught(*sabotage, folder.path());
        println!("{sabotage:?}: seed {seed}: {}: {}", first.rule, first.what);
    }
}

// In two halves, so that two processors share them.
#[test]
fn every_wrong_engine_of_the_first_half_is_caught() {
    all_caught(&Sabotage::ALL[..Sabotage::ALL.len() / 2]);
}

#[test]
fn every_wrong_engine_of_the_second_half_is_caught() {
    all_caught(&Sabotage::ALL[Sabotage::ALL.len() / 2..]);
}

#[test]
fn a_failing_seed_is_made_smaller_before_it_is_shown() {
    let folder = scratch().unwrap();
    let options = Options {
        sabotage: Some(Sabotage::AbsentIsRefused),
        ..Options::default()
    };
    // A large scenario has something to lose.
    let (whole, first) = (0..SEEDS_TO_CATCH)
        .map(|seed| Scenario::of_seed(seed, Shape::default()))
        .filter(|whole| whole.jobs.len() >= 12)
        .find_map(|whole| {
            let outcome = simulate(&whole, options, folder.path()).unwrap();
            Some((whole, outcome.violations.into_iter().next()?))
        })
        .unwrap();
    let small = shrink(&whole, first.rule, options, folder.path(), 300).scenario;
    assert!(small.jobs.len() * 3 <= whole.jobs.len(), "{small:?}");
    assert!(small.acts.len() <= whole.acts.len() && small.crashes.len() <= whole.crashes.len());
    let traced = Options {
        trace: true,
        ..options
    };
    let outcome = simulate(&small, traced, folder.path()).unwrap();
    assert_eq!(outcome.violations.first().unwrap().rule, first.rule);
    let shown = |what: &str| outcome.trace.iter().any(|line| line.contains(what));
    assert!(shown("op.intended"), "{:?}", outcome.trace);
}

/// The laboratory's doors are shut for everything else: nothing outside `lab` names them.
#[test]
fn no_other_module_can_make_an_engine_wrong_or_a_ledger_forgetful() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut open: Vec<PathBuf> = vec![root.clone()];
    let mut read = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let inside = path.strip_prefix(&root).unwrap();
        let own = ["lab", "engine", "ledger", "bin"];
        if own.iter().any(|folder| inside.starts_with(folder)) {
            continue;
        }
        read += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["open_for_simul", "with_rig", "Sabotage", "lab::sim"] {
            assert!(!text.contains(word), "{} names {word}", inside.display());
        }
    }
    assert!(read > 30, "{read}");
}
