//! Runs many seeds of the simulation, or one of them readably. For those who work on dogwatch, not for
//! those who work with it.

use clap::Parser;
use dogwatch::lab::sim::{Options, Scenario, Shape, Violation, scratch, shrink, simulate};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs of the shrinker.
const SHRINK_BUDGET: u32 = 400;
/// Every so-manieth ledger is verified as a whole.
const VERIFY_EVERY: u64 = 16;

/// Seeds through the whole engine, on a virtual clock.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Exactly so many jobs in each scenario; otherwise 1 to 24.
    #[arg(long)]
    jobs: Option<u32>,
    /// Only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Print every entry of the run, with what the ledger does not know in between.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Verify every ledger as a whole, not only one in sixteen.
    #[arg(long)]
    verify: bool,
    /// Go on after a failing seed, and only list it.
    #[arg(long)]
    keep_going: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(why) => {
            eprintln!("simulate: {why}");
            ExitCode::from(1)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let folder = scratch().map_err(|error| error.to_string())?;
    let shape = Shape {
        jobs: arguments.jobs,
    };
    if let Some(seed) = arguments.seed {
        return one(seed, shape, arguments, folder.path());
    }
    let start = Instant::now();
    let mut told = start;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut sound = true;
    for done in 0..arguments.seeds {
        let seed = arguments.from + done;
        let options = Options {
            verify: arguments.verify || seed.is_multiple_of(VERIFY_EVERY),
            ..Options::default()
        };
        let scenario = Scenario::of_seed(seed, shape);
        let outcome = simulate(&scenario, options, folder.path())
            .map_err(|error| format!("seed {seed}: {error}"))?;
        for (name, count) in outcome.counts {
            *counts.entry(name).or_default() += count;
        }
        *counts.entry("crashes".to_owned()).or_default() += outcome.crashes;
        *counts.entry("effects".to_owned()).or_default() += outcome.effects;
        *counts.entry("entries".to_owned()).or_default() += outcome.entries;
        if let Some(first) = outcome.violations.first() {
            sound = false;
            println!("seed {seed}: {}: {}", first.rule, first.what);
            if !arguments.keep_going {
                explain(&scenario, first, options, folder.path())?;
                break;
            }
        }
        if told.elapsed() > Duration::from_secs(10) {
            told = Instant::now();
            eprintln!("{} seeds, {:.1} a second", done + 1, rate(done + 1, start));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    for (name, count) in counts {
        println!("{count:>12} {name}");
    }
    let word = if sound {
        "no rule broken"
    } else {
        "RULES BROKEN"
    };
    println!(
        "{} seeds in {seconds:.1} s, {:.1} a second: {word}",
        arguments.seeds,
        rate(arguments.seeds, start)
    );
    Ok(sound)
}

fn rate(seeds: u64, start: Instant) -> f64 {
    seeds as f64 / start.elapsed().as_secs_f64().max(1e-9)
}

fn one(seed: u64, shape: Shape, arguments: &Arguments, folder: &Path) -> Result<bool, String> {
    let scenario = Scenario::of_seed(seed, shape);
    println!("{}", scenario.summary());
    let options = Options {
        trace: arguments.trace,
        log: true,
        verify: true,
        ..Options::default()
    };
    let outcome = simulate(&scenario, options, folder).map_err(|error| error.to_string())?;
    for line in &outcome.trace {
        println!("{line}");
    }
    for (name, count) in &outcome.counts {
        println!("{count:>12} {name}");
    }
    println!("{} crashes, log {}", outcome.crashes, outcome.log);
    for one in &outcome.violations {
        println!("BROKEN at entry {}: {}: {}", one.seq, one.rule, one.what);
    }
    if let Some(first) = outcome.violations.first()
        && !arguments.trace
    {
        explain(&scenario, first, options, folder)?;
    }
    Ok(outcome.violations.is_empty())
}

/// The smallest run that breaks the same rule, entry by entry.
fn explain(
    scenario: &Scenario,
    first: &Violation,
    options: Options,
    folder: &Path,
) -> Result<(), String> {
    let small = shrink(scenario, first.rule, options, folder, SHRINK_BUDGET);
    println!(
        "shrunk in {} runs to {}",
        small.runs,
        small.scenario.summary()
    );
    println!("{:#?}", small.scenario);
    let options = Options {
        trace: true,
        ..options
    };
    let outcome = simulate(&small.scenario, options, folder).map_err(|error| error.to_string())?;
    for line in &outcome.trace {
        println!("{line}");
    }
    for one in &outcome.violations {
        println!("BROKEN at entry {}: {}: {}", one.seq, one.rule, one.what);
    }
    println!("whole run again: simulate --seed {} --trace", scenario.seed);
    Ok(())
}
