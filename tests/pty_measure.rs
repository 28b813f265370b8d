//! What the interface costs, measured on a binary in a pseudo-terminal. Prints a table for
//! docs/performance.md and fails where an aim is missed by far:
//!
//! ```text
//! cargo build --release
//! DOGWATCH_BIN=target/release/dogwatch cargo test --release --test pty_measure -- --ignored --nocapture
//! ```
//!
//! `DOGWATCH_BIN` is the binary (this build's own without it; a debug build misses the aims),
//! `DOGWATCH_MEASURE_JOBS` the sizes (`100,120,10000,100000`), `DOGWATCH_MEASURE_IDLE_S` how long it is left
//! alone (30). CPU and memory are read from /proc and are missing elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "pty_measure/aims.rs"]
mod aims;
#[path = "pty_measure/ledger.rs"]
mod ledger;
mod pty_support;

use aims::{Figure, amount, table, time};
use dogwatch::ledger::{Actor, Batch, Entry, Event, Ledger};
use dogwatch::model::{GoalId, JobId};
use pty_support::Term;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Keys pressed for a median.
const KEYS: usize = 60;
/// Longer apart than frames are, so that each key has one of its own.
const BETWEEN: Duration = Duration::from_millis(220);
/// Runs of which the middle one counts.
const RUNS: usize = 5;

/// A program's key is shown; what that took.
struct Key {
    first_ms: f64,
    bytes: usize,
}

#[test]
#[ignore = "takes minutes; see the top of this file"]
fn what_the_interface_costs() {
    let binary = std::env::var_os("DOGWATCH_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_dogwatch")),
        |path| std::path::absolute(PathBuf::from(path)).unwrap(),
    );
    let sizes = std::env::var("DOGWATCH_MEASURE_JOBS").unwrap_or("100,120,10000,100000".to_owned());
    let idle_s = std::env::var("DOGWATCH_MEASURE_IDLE_S")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(30);
    let mut measured = Vec::new();
    for size in sizes.split(',') {
        let jobs: u64 = size.trim().parse().unwrap();
        measured.push((jobs, measure(&binary, jobs, Duration::from_secs(idle_s))));
    }
    println!("{}", table(&measured));
    let failed: Vec<String> = measured
        .iter()
        .flat_map(|(jobs, figures)| figures.iter().map(move |figure| (jobs, figure)))
        .filter(|(_, figure)| figure.failed())
        .map(|(jobs, figure)| format!("{} at {jobs} jobs", figure.what))
        .collect();
    assert!(failed.is_empty(), "far from their aims: {failed:?}");
}

fn measure(binary: &Path, jobs: u64, idle: Duration) -> Vec<Figure> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    let mut engine = ledger::build(&path, jobs);
    let words = ["attach", "--ledger", path.to_str().unwrap()];
    let mut figures = starts(binary, &words);
    let mut term = Term::start(binary, words);
    term.sees("job_000001");
    std::thread::sleep(Duration::from_millis(1_500));
    figures.extend(keys(&mut term));
    figures.push(one_row(&mut term, &mut engine));
    figures.extend(left_alone(&term, jobs, idle));
    let begun = Instant::now();
    term.hang_up();
    term.exits(Duration::from_secs(8));
    figures.push(Figure::new(
        "gone after a hang-up",
        "ms",
        ms(begun.elapsed()),
        time(250.0),
    ));
    let mut term = Term::nested(binary, words);
    term.sees("job_000001");
    let begun = Instant::now();
    term.hang_up();
    term.exits(Duration::from_secs(8));
    figures.push(Figure::new(
        "… without SIGHUP",
        "ms",
        ms(begun.elapsed()),
        time(250.0),
    ));
    figures
}

/// From the start of the process to a first byte, a first frame and the first rows; the ledger is in the
/// system's cache.
fn starts(binary: &Path, words: &[&str]) -> Vec<Figure> {
    let mut found: [Vec<f64>; 3] = Default::default();
    for _ in 0..=RUNS {
        let begun = Instant::now();
        let mut term = Term::start(binary, words);
        let times = [
            |term: &Term| term.bytes() > 0,
            |term: &Term| term.text().contains("8 Log"),
            |term: &Term| term.text().contains("job_000001"),
        ]
        .map(|is_so| {
            while !is_so(&term) {
                std::thread::sleep(Duration::from_micros(300));
                assert!(begun.elapsed() < Duration::from_secs(30), "{}", term.text());
            }
            ms(begun.elapsed())
        });
        for (all, one) in found.iter_mut().zip(times) {
            all.push(one);
        }
        term.keys("q");
        term.exits(Duration::from_secs(8));
    }
    let [byte, frame, rows] = found.map(|mut all| {
        // The first run fills the cache.
        all.remove(0);
        middle(&mut all)
    });
    vec![
        Figure::new("first byte", "ms", byte, None),
        Figure::new("first frame", "ms", frame, time(50.0)),
        Figure::new("first rows", "ms", rows, time(50.0)),
    ]
}

fn middle(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn keys(term: &mut Term) -> Vec<Figure> {
    let mut keys: Vec<Key> = (0..KEYS).map(|_| press(term, "j")).collect();
    let mut pages: Vec<f64> = (0..10)
        .map(|at| press(term, if at % 2 == 0 { "\x1b[6~" } else { "\x1b[5~" }).first_ms)
        .collect();
    let mut ends: Vec<f64> = (0..4)
        .map(|at| press(term, if at % 2 == 0 { "G" } else { "g" }).first_ms)
        .collect();
    let mut filters: Vec<f64> = Vec::new();
    for text in ["/", "7", "7", "7", "\x1b"] {
        filters.push(press(term, text).first_ms);
    }
    std::thread::sleep(Duration::from_secs(1));
    keys.sort_by(|a, b| a.first_ms.total_cmp(&b.first_ms));
    let key_ms = [keys[KEYS / 2].first_ms, keys[KEYS * 95 / 100].first_ms];
    keys.sort_by_key(|key| key.bytes);
    let key_bytes = [keys[KEYS / 2].bytes, keys[KEYS * 95 / 100].bytes];
    vec![
        Figure::new("key to frame", "ms", key_ms[0], time(10.0)),
        Figure::new("… 95 %", "ms", key_ms[1], None),
        Figure::new("page to frame", "ms", middle(&mut pages), None),
        Figure::new("end of the list to frame", "ms", middle(&mut ends), None),
        Figure::new(
            "letter of a filter to frame",
            "ms",
            middle(&mut filters),
            None,
        ),
        Figure::new("a key", "bytes", key_bytes[0] as f64, amount(600.0)),
        Figure::new("… 95 %", "bytes", key_bytes[1] as f64, None),
    ]
}

/// One job changes, and its row with what the header counts.
fn one_row(term: &mut Term, engine: &mut Ledger) -> Figure {
    press(term, "g");
    std::thread::sleep(Duration::from_secs(1));
    let before = term.bytes();
    let change = Entry {
        at: ledger::START.plus_ms(60_000),
        goal: GoalId::from("etl"),
        job: Some(JobId::from("job_000001")),
        attempt: None,
        actor: Actor::Engine,
        event: Event::JobPaused {},
    };
    engine
        .append(&Batch {
            entries: vec![change],
            blobs: vec![],
        })
        .unwrap();
    term.sees("‖ paused");
    std::thread::sleep(Duration::from_secs(2));
    let bytes = (term.bytes() - before) as f64;
    Figure::new("one changed row", "bytes", bytes, amount(2_000.0))
}

fn left_alone(term: &Term, jobs: u64, idle: Duration) -> Vec<Figure> {
    // Quiet for long enough that the ledger is looked at less often.
    std::thread::sleep(Duration::from_secs(12));
    let pid = term.child.process_id().unwrap();
    let (bytes, cpu) = (term.bytes(), cpu_ms(pid));
    std::thread::sleep(idle);
    let sent = (term.bytes() - bytes) as f64;
    let percent = cpu
        .zip(cpu_ms(pid))
        .map(|(before, after)| (after - before) / ms(idle) * 100.0);
    let most_mb = match jobs {
        ..=120 => amount(25.0),
        100_000.. => amount(60.0),
        _ => None,
    };
    vec![
        Figure::new("idle", "bytes", sent, amount(0.0)),
        Figure {
            what: "idle processor",
            unit: "%",
            value: percent,
            aim: time(0.5),
        },
        Figure {
            what: "memory",
            unit: "MB",
            value: memory_mb(pid),
            aim: most_mb,
        },
    ]
}

fn press(term: &mut Term, key: &str) -> Key {
    let before = term.bytes();
    let begun = Instant::now();
    term.keys(key);
    let mut first_ms = None;
    while begun.elapsed() < BETWEEN {
        if first_ms.is_none() && term.bytes() > before {
            first_ms = Some(ms(begun.elapsed()));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Key {
        first_ms: first_ms.unwrap_or(ms(BETWEEN)),
        bytes: term.bytes() - before,
    }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// User and system time of a process, from its ticks of 10 ms.
fn cpu_ms(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) * 10.0)
}

fn memory_mb(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kb: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kb / 1_024.0)
}
