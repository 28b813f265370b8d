//! How much of a night is run, and what must be true after every fault.

use crate::support::practice::{Demo, strings, wrong_effects};
use crate::support::{Dice, Running, call, look, number_of};
use std::collections::BTreeSet;
use std::time::Duration;

/// Longer than anything that ends; what is still there then hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// This share of a night's number, and never fewer than `least`.
pub fn runs(nightly: u64, least: u64) -> u64 {
    (nightly * number_of("DOGWATCH_SHARE", 1))
        .div_ceil(100)
        .max(least)
}

/// What is drawn by a test; another seed draws other moments.
pub fn dice(what: u64) -> Dice {
    Dice::new(number_of("DOGWATCH_SEED", 1) * 1_000 + what)
}

/// Whether a program is there. Where checks are run for everybody it must be.
pub fn has(program: &str) -> bool {
    let there = std::process::Command::new(program)
        .arg("--version")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok();
    assert!(
        there || std::env::var("CI").as_deref() != Ok("true"),
        "{program} is missing; apt-get install {program}"
    );
    if !there {
        println!("NOT RUN: {program} is not installed");
    }
    there
}

/// Lets a demo go on to its end without any fault.
#[track_caller]
pub fn finish(demo: &Demo) {
    let ended = Running::start(&mut demo.command()).wait(PATIENCE);
    let report = ended.expect("the run hangs").expect_code(0).json();
    assert_eq!(report["chain"], "ok");
    assert_eq!(report["jobs"]["open"], 0, "{report}");
}

/// Nothing twice, nothing lost, every job ended, ledger and world agree. Reads the files by SQL of its own.
#[track_caller]
pub fn assert_sound(demo: &Demo) {
    call(&demo.ledger(), &["verify"]).expect_code(0);
    let (world, ledger) = (look(&demo.world()), look(&demo.ledger()));
    assert_eq!(wrong_effects(&world, &ledger), Vec::<String>::new());
    let open = strings(
        &ledger,
        "select job from jobs where state not in ('cut_over', 'handed_over', 'cancelled')",
    );
    assert_eq!(open, Vec::<String>::new());
    let done = strings(&ledger, "select job from jobs where state = 'cut_over'");
    let moved = strings(&world, "select job from production_jobs");
    assert_eq!(BTreeSet::from_iter(done), BTreeSet::from_iter(moved));
}

/// `count` different numbers from 1 to `last`, spread over the whole range, another set for each seed.
pub fn spread(last: u64, count: u64, dice: &mut Dice) -> BTreeSet<u64> {
    if count >= last {
        return (1..=last).collect();
    }
    let step = last as f64 / count as f64;
    (0..count)
        .map(|index| {
            let low = (index as f64 * step) as u64;
            let high = ((index + 1) as f64 * step) as u64;
            1 + dice.between(low, high.max(low + 1))
        })
        .collect()
}
