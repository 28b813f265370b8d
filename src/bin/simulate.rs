//! Runs many seeds of the simulation, or one of them readably. For those who work on dogwatch, not for
//! those who work with it.

use clap::Parser;
use dogwatch::lab::sim::measure::{Measure, rule_of};
use dogwatch::lab::sim::{
    Mood, Options, Outcome, Scenario, Shape, Violation, scratch, shrink, simulate,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Runs of the shrinker.
const SHRINK_BUDGET: u32 = 400;
/// Every so-manieth ledger is verified as a whole.
const VERIFY_EVERY: u64 = 16;
/// Threads at most.
const MAX_THREADS: usize = 64;

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
    /// Seeds at once, each on a thread of its own.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Count sound jobs that become a person's, against what chance gives.
    #[arg(long, conflicts_with_all = ["healthy", "circles"])]
    escalations: bool,
    /// Count alarms on spinning where the worker is sound: there may be none.
    #[arg(long, conflicts_with = "circles")]
    healthy: bool,
    /// The worker goes round in circles in this way: each must be seen within its threshold.
    #[arg(long, value_enum)]
    circles: Option<Circles>,
}

/// Ways to go round in circles.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Circles {
    /// The same check fails again.
    SameCheck,
    /// The same change is handed in again.
    SameChange,
    /// Nothing passes anywhere.
    Rounds,
    /// Nothing passes anywhere, and tokens are spent.
    Tokens,
}

fn mood(arguments: &Arguments) -> Mood {
    match arguments.circles {
        Some(Circles::SameCheck) => Mood::SameCheck,
        Some(Circles::SameChange) => Mood::SameChange,
        Some(Circles::Rounds) => Mood::Rounds,
        Some(Circles::Tokens) => Mood::Tokens,
        None if arguments.escalations => Mood::Odds,
        None if arguments.healthy => Mood::Healthy,
        None => Mood::Any,
    }
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
        mood: mood(arguments),
    };
    if let Some(seed) = arguments.seed {
        return one(seed, shape, arguments, folder.path());
    }
    if shape.mood != Mood::Any {
        return measured(arguments, shape, folder.path());
    }
    many(arguments, shape)
}

/// Seeds of one mood: what was seen, what was to be expected, and whether that fits.
fn measured(arguments: &Arguments, shape: Shape, folder: &Path) -> Result<bool, String> {
    let seeds = arguments.from..arguments.from.saturating_add(arguments.seeds);
    let found = Measure::of(seeds, shape, folder).map_err(|error| error.to_string())?;
    for (seed, one) in &found.broken {
        println!("seed {seed}: {}: {}", one.rule, one.what);
    }
    println!("{} seeds, {} jobs", found.seeds, found.jobs);
    for (rule, count) in &found.alarms {
        println!("alarms {rule}: {count}");
    }
    let sound = found.broken.is_empty();
    let fits = match (shape.mood, rule_of(shape.mood)) {
        (Mood::Odds, _) => {
            let (low, high) = found.interval();
            println!("jobs that became a person's: {}", found.handed_over);
            println!(
                "expected by chance (p to the power of n): {:.1}",
                found.expected
            );
            println!(
                "jobs of which failed runs counted for nothing, taken for an outage: {}",
                found.relieved
            );
            println!("99.9 % interval: {low:.1} to {high:.1}");
            found.is_by_chance()
        }
        (_, None) => found.seeds_with_alarm == 0,
        (_, Some(rule)) => {
            println!("seeds with an alarm: {}", found.seeds_with_alarm);
            found.alarms.keys().all(|own| *own == rule) && found.seeds_with_alarm > 0
        }
    };
    println!(
        "verdict: {}",
        if fits && sound {
            "as expected"
        } else {
            "NOT AS EXPECTED"
        }
    );
    Ok(fits && sound)
}

/// What many seeds came to.
#[derive(Default)]
struct Tally {
    /// How often each thing happened.
    counts: BTreeMap<String, u64>,
    /// In how many seeds it did.
    seeds_with: BTreeMap<String, u64>,
    /// Seeds and seconds by size of the scenario.
    sizes: BTreeMap<&'static str, (u64, f64)>,
    done: u64,
    failed: BTreeMap<u64, Violation>,
}

impl Tally {
    fn add(&mut self, jobs: usize, outcome: Outcome, seconds: f64) {
        self.done += 1;
        let size = self.sizes.entry(size_of(jobs)).or_default();
        *size = (size.0 + 1, size.1 + seconds);
        let all = [
            ("crashes", outcome.crashes),
            ("effects", outcome.effects),
            ("entries", outcome.entries),
        ];
        let named = all.map(|(name, count)| (name.to_owned(), count));
        for (name, count) in outcome.counts.into_iter().chain(named) {
            *self.seeds_with.entry(name.clone()).or_default() += u64::from(count > 0);
            *self.counts.entry(name).or_default() += count;
        }
    }

    fn print(&self) {
        println!("{:>12} {:>7} what", "times", "seeds");
        for (name, count) in &self.counts {
            let seeds = self.seeds_with.get(name).copied().unwrap_or(0);
            let share = 100.0 * seeds as f64 / self.done.max(1) as f64;
            println!("{count:>12} {share:>6.1}% {name}");
        }
        for (size, (seeds, seconds)) in &self.sizes {
            let rate = *seeds as f64 / seconds.max(1e-9);
            println!("{size}: {seeds} seeds, {rate:.1} a second and thread");
        }
    }
}

fn size_of(jobs: usize) -> &'static str {
    match jobs {
        0..=4 => "   1 to 4 jobs",
        5..=12 => "  5 to 12 jobs",
        13..=24 => " 13 to 24 jobs",
        _ => "over 24 jobs",
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes seeds from the common counter until there are no more, or one failed.
fn work(
    arguments: &Arguments,
    shape: Shape,
    next: &AtomicU64,
    tally: &Mutex<Tally>,
    start: Instant,
) -> Result<(), String> {
    let folder = scratch().map_err(|error| error.to_string())?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let stop = !arguments.keep_going && !lock(tally).failed.is_empty();
        if number >= arguments.seeds || stop {
            return Ok(());
        }
        let seed = arguments.from + number;
        let options = options(arguments, seed);
        let scenario = Scenario::of_seed(seed, shape);
        let begun = Instant::now();
        let outcome = simulate(&scenario, options, folder.path())
            .map_err(|error| format!("seed {seed}: {error}"))?;
        let seconds = begun.elapsed().as_secs_f64();
        let mut tally = lock(tally);
        if let Some(first) = outcome.violations.first() {
            println!("seed {seed}: {}: {}", first.rule, first.what);
            tally.failed.insert(seed, first.clone());
        }
        tally.add(scenario.jobs.len(), outcome, seconds);
        if tally.done.is_multiple_of(500) {
            eprintln!(
                "{} seeds, {:.1} a second",
                tally.done,
                rate(tally.done, start)
            );
        }
    }
}

fn options(arguments: &Arguments, seed: u64) -> Options {
    Options {
        verify: arguments.verify || seed.is_multiple_of(VERIFY_EVERY),
        ..Options::default()
    }
}

fn many(arguments: &Arguments, shape: Shape) -> Result<bool, String> {
    let start = Instant::now();
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    let threads = arguments.threads.clamp(1, MAX_THREADS);
    let ended: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(arguments, shape, &next, &tally, start)))
            .collect();
        workers
            .into_iter()
            .map(|one| {
                one.join()
                    .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
            })
            .collect()
    });
    ended.into_iter().collect::<Result<Vec<()>, String>>()?;
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.print();
    let failed = tally.failed.first_key_value();
    if let Some((seed, first)) = failed.filter(|_| !arguments.keep_going) {
        let folder = scratch().map_err(|error| error.to_string())?;
        let scenario = Scenario::of_seed(*seed, shape);
        explain(&scenario, first, options(arguments, *seed), folder.path())?;
    }
    let word = match tally.failed.len() {
        0 => "no rule broken".to_owned(),
        count => format!("RULES BROKEN by {count} seeds"),
    };
    println!(
        "{} seeds in {:.1} s with {threads} threads, {:.1} a second: {word}",
        tally.done,
        start.elapsed().as_secs_f64(),
        rate(tally.done, start)
    );
    Ok(failed.is_none())
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
