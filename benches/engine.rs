//! What the engine itself costs: jobs over a world in which nothing takes time, beside what the file system
//! can do in the same directory and the same run.
//!
//! `cargo bench --bench engine [-- --jobs N] [--dir DIR]`: 120 and 10,000 jobs, or N alone.

// A measure that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dogwatch::engine::run::Finish;
use dogwatch::lab::noop::Noop;
use dogwatch::lab::noop_goal::NoopGoal;
use dogwatch::ledger::{Reader, verify};
use nix::sys::resource::{UsageWho, getrusage};
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the file system is probed, before and after each run.
const PROBE: Duration = Duration::from_millis(500);
/// Where the probe's file begins again, so that it overwrites as a write-ahead log does.
const PROBE_BYTES: u64 = 4 * 1024 * 1024;
/// Argument of the process that is killed.
const CHILD: &str = "--child";

struct Args {
    jobs: Vec<usize>,
    dir: PathBuf,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    };
    if let Some(dir) = value(CHILD) {
        let jobs = value("--jobs").expect("--jobs").parse().expect("a number");
        return child(Path::new(&dir), jobs);
    }
    let args = Args {
        jobs: match value("--jobs") {
            Some(number) => vec![number.parse().expect("--jobs takes a number")],
            None => vec![120, 10_000],
        },
        dir: value("--dir")
            .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from),
    };
    println!(
        "{} build; ledger under {}",
        if cfg!(debug_assertions) {
            "debug"
        } else {
            "optimised"
        },
        args.dir.display()
    );
    for jobs in &args.jobs {
        measure(*jobs, &args.dir);
        measure_restart(*jobs, &args.dir);
    }
}

/// A whole goal, from its listed jobs to its end.
fn measure(jobs: usize, parent: &Path) {
    let dir = tempfile::tempdir_in(parent).unwrap();
    let path = dir.path().join("ledger.db");
    let goal = goal(Noop::new(jobs, None), dir.path());
    let listing = Instant::now();
    let ledger = goal.open(&path).unwrap();
    let listed = listing.elapsed();
    let before = probe(dir.path());
    let first = last_entry(&path);
    let mut engine = goal.engine(ledger).unwrap();
    let (commits, cpu, begun) = (engine.ledger().commits(), cpu_ms(), Instant::now());
    let finish = engine.run().unwrap();
    let (wall, cpu) = (begun.elapsed(), cpu_ms() - cpu);
    let commits = engine.ledger().commits() - commits;
    drop(engine);
    let after = probe(dir.path());
    assert_eq!(finish, Finish::Ended);
    assert_eq!(
        goal.noop.effects(),
        2 * jobs,
        "two effects a job, each once"
    );
    assert_eq!(verify(&path).unwrap().word(), "ok");

    let steps = (last_entry(&path) - first) as f64;
    let seconds = wall.as_secs_f64();
    let syncs = f64::midpoint(before, after);
    println!(
        "\n{jobs} jobs, 8 at once (listed in {:.0} ms)",
        listed.as_secs_f64() * 1e3
    );
    println!(
        "  durable steps       {steps:>9.0}   {:.1} a job",
        steps / jobs as f64
    );
    println!(
        "  steps a second      {:>9.0}   in {seconds:.2} s",
        steps / seconds
    );
    println!("  fdatasync a second  {syncs:>9.0}   of 4 KiB; {before:.0} before, {after:.0} after");
    println!("  steps a fdatasync   {:>9.2}", steps / seconds / syncs);
    println!(
        "  commits             {commits:>9}   {:.2} steps each",
        steps / commits as f64
    );
    println!("  commits a second    {:>9.0}", commits as f64 / seconds);
    println!(
        "  CPU ms a step       {:>9.3}   user and system; {:.0} % of one core",
        cpu / steps,
        cpu / seconds / 10.0
    );
}

/// From opening the ledger to the first effect, after a kill in the middle.
fn measure_restart(jobs: usize, parent: &Path) {
    let dir = tempfile::tempdir_in(parent).unwrap();
    kill_half_way(jobs, dir.path());
    let noop = Noop::reopen(jobs, &side(dir.path())).unwrap();
    let found = noop.effects();
    let begun = Instant::now();
    let goal = goal(noop, dir.path());
    let ledger = goal.open(&dir.path().join("ledger.db")).unwrap();
    let opened = begun.elapsed();
    let mut engine = goal.engine(ledger).unwrap();
    let ready = begun.elapsed();
    engine.run().unwrap();
    let first = goal
        .noop
        .first_effect()
        .expect("an effect")
        .duration_since(begun);
    assert_eq!(
        goal.noop.effects(),
        2 * jobs,
        "two effects a job, each once"
    );
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("  after a kill with {found} effects done");
    println!("    ledger open       {:>9.1} ms", ms(opened));
    println!("    engine ready      {:>9.1} ms", ms(ready));
    println!("    first new effect  {:>9.1} ms", ms(first));
}

fn kill_half_way(jobs: usize, dir: &Path) {
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own)
        .args([CHILD.as_ref(), dir.as_os_str(), "--jobs".as_ref()])
        .arg(jobs.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(600);
    let line_bytes = 80;
    loop {
        let size = std::fs::metadata(side(dir)).map_or(0, |meta| meta.len());
        if size >= (jobs * line_bytes) as u64 {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "the process to be killed did not get half way"
        );
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be killed"
        );
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn child(dir: &Path, jobs: usize) {
    let noop = Noop::reopen(jobs, &side(dir)).unwrap();
    let goal = goal(noop, dir);
    let ledger = goal.open(&dir.join("ledger.db")).unwrap();
    goal.engine(ledger).unwrap().run().unwrap();
}

fn goal(noop: std::sync::Arc<Noop>, dir: &Path) -> NoopGoal {
    NoopGoal::new(noop, "required = false", dir).unwrap()
}

fn side(dir: &Path) -> PathBuf {
    dir.join("effects")
}

fn last_entry(path: &Path) -> i64 {
    Reader::open(path)
        .unwrap()
        .view()
        .overview(&"noop".into())
        .unwrap()
        .last_seq
        .0
}

/// Writes of 4 KiB, each with its own fdatasync, a second.
fn probe(dir: &Path) -> f64 {
    let path = dir.join("probe");
    let mut file = File::create(&path).unwrap();
    let block = [7_u8; 4096];
    let (begun, mut count) = (Instant::now(), 0_u32);
    while begun.elapsed() < PROBE {
        if u64::from(count) * 4096 % PROBE_BYTES == 0 {
            file.seek(SeekFrom::Start(0)).unwrap();
        }
        file.write_all(&block).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    std::fs::remove_file(path).unwrap();
    rate
}

/// CPU time of this process so far, in milliseconds.
fn cpu_ms() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let ms =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    ms(usage.user_time()) + ms(usage.system_time())
}
