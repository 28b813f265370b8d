//! What the interface costs, measured on a binary in a pseudo-terminal. Prints a table for
//! docs/performance.md:
//!
//! ```text
//! cargo build --release
//! DOGWATCH_BIN=target/release/dogwatch cargo test --release --test pty_measure -- --ignored --nocapture
//! ```
//!
//! `DOGWATCH_BIN` is the binary (this build's own without it), `DOGWATCH_MEASURE_JOBS` the sizes
//! (`120,10000,100000`), `DOGWATCH_MEASURE_IDLE_S` how long it is left alone (30). CPU and memory are read
//! from /proc and are missing elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pty_support;

use dogwatch::ledger::{Actor, Batch, Entry, Event, Ledger};
use dogwatch::model::{Account, ContractVersion, GoalId, JobId, TimeMs, digest_bytes};
use pty_support::Term;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const START: TimeMs = TimeMs(1_711_962_000_000);
/// Keys pressed for a median.
const KEYS: usize = 60;
/// Longer apart than frames are, so that each key has one of its own.
const BETWEEN: Duration = Duration::from_millis(220);

/// A program's key is shown; what that took.
struct Key {
    first_ms: f64,
    bytes: usize,
}

struct Figures {
    first_byte_ms: f64,
    first_frame_ms: f64,
    key_ms: [f64; 2],
    key_bytes: [usize; 2],
    page_ms: f64,
    row_bytes: usize,
    idle_bytes: usize,
    idle_cpu_percent: Option<f64>,
    memory_mb: Option<f64>,
    hang_up_ms: f64,
}

#[test]
#[ignore = "takes minutes; see the top of this file"]
fn what_the_interface_costs() {
    let binary = std::env::var_os("DOGWATCH_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_dogwatch")),
        |path| std::path::absolute(PathBuf::from(path)).unwrap(),
    );
    let sizes = std::env::var("DOGWATCH_MEASURE_JOBS").unwrap_or("120,10000,100000".to_owned());
    let idle_s = std::env::var("DOGWATCH_MEASURE_IDLE_S")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(30);
    let mut table = String::from(
        "| jobs | first byte | first rows | key, median and 95 % | bytes a key, median and 95 % | \
         page in a list | bytes for one changed row | idle bytes | idle CPU | memory | gone after a hang-up |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for size in sizes.split(',') {
        let jobs: u64 = size.trim().parse().unwrap();
        let figures = measure(&binary, jobs, Duration::from_secs(idle_s));
        table.push_str(&row(jobs, idle_s, &figures));
    }
    println!("{table}");
}

fn row(jobs: u64, idle_s: u64, f: &Figures) -> String {
    let or = |value: Option<f64>, unit: &str| {
        value.map_or("not measured".to_owned(), |value| {
            format!("{value:.2} {unit}")
        })
    };
    format!(
        "| {jobs} | {:.0} ms | {:.0} ms | {:.1}, {:.1} ms | {}, {} | {:.1} ms | {} | {} in {idle_s} s | {} | {} | {:.0} ms |\n",
        f.first_byte_ms,
        f.first_frame_ms,
        f.key_ms[0],
        f.key_ms[1],
        f.key_bytes[0],
        f.key_bytes[1],
        f.page_ms,
        f.row_bytes,
        f.idle_bytes,
        or(f.idle_cpu_percent, "%"),
        or(f.memory_mb, "MB"),
        f.hang_up_ms
    )
}

fn measure(binary: &Path, jobs: u64, idle: Duration) -> Figures {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.db");
    let mut engine = build(&ledger, jobs);
    let begun = Instant::now();
    let mut term = Term::start(binary, ["attach", "--ledger", ledger.to_str().unwrap()]);
    while term.bytes() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let first_byte_ms = ms(begun.elapsed());
    term.sees("job_000001");
    let first_frame_ms = ms(begun.elapsed());
    std::thread::sleep(Duration::from_millis(1_500));

    let mut keys: Vec<Key> = (0..KEYS).map(|_| press(&mut term, "j")).collect();
    let mut pages: Vec<Key> = (0..10)
        .map(|at| press(&mut term, if at % 2 == 0 { "\x1b[6~" } else { "\x1b[5~" }))
        .collect();
    press(&mut term, "g");
    std::thread::sleep(Duration::from_secs(1));

    let before = term.bytes();
    let change = Entry {
        at: START.plus_ms(60_000),
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
    term.sees("paused");
    std::thread::sleep(Duration::from_secs(2));
    let row_bytes = term.bytes() - before;

    // Quiet for long enough that the ledger is looked at less often.
    std::thread::sleep(Duration::from_secs(12));
    let pid = term.child.process_id().unwrap();
    let (bytes, cpu) = (term.bytes(), cpu_ms(pid));
    std::thread::sleep(idle);
    let idle_bytes = term.bytes() - bytes;
    let idle_cpu_percent = cpu
        .zip(cpu_ms(pid))
        .map(|(before, after)| (after - before) / ms(idle) * 100.0);
    let memory_mb = memory_mb(pid);
    let gone = Instant::now();
    term.hang_up();
    term.exits(Duration::from_secs(8));
    keys.sort_by(|a, b| a.first_ms.total_cmp(&b.first_ms));
    let key_ms = [keys[KEYS / 2].first_ms, keys[KEYS * 95 / 100].first_ms];
    keys.sort_by_key(|key| key.bytes);
    pages.sort_by(|a, b| a.first_ms.total_cmp(&b.first_ms));
    Figures {
        first_byte_ms,
        first_frame_ms,
        key_ms,
        key_bytes: [keys[KEYS / 2].bytes, keys[KEYS * 95 / 100].bytes],
        page_ms: pages[pages.len() / 2].first_ms,
        row_bytes,
        idle_bytes,
        idle_cpu_percent,
        memory_mb,
        hang_up_ms: ms(gone.elapsed()),
    }
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

/// A ledger of many jobs, none begun.
fn build(path: &Path, jobs: u64) -> Ledger {
    let mut ledger = Ledger::open_for_engine(path).unwrap();
    let mut batch = Batch::default();
    batch.blob(b"old");
    let text = batch.blob(b"text");
    let entry = |job: Option<String>, event: Event| Entry {
        at: START,
        goal: GoalId::from("etl"),
        job: job.map(JobId),
        attempt: None,
        actor: Actor::Engine,
        event,
    };
    batch.entries.push(entry(
        None,
        Event::GoalAdopted {
            version: ContractVersion(1),
            contract_digest: digest_bytes(b"contract"),
            text,
            base_dir: "/".into(),
            overrides: vec![],
            me: Account("owner".into()),
            objective: "Move everything.".into(),
            owner: Account("owner".into()),
            deadline: None,
            answers: vec![],
        },
    ));
    for position in 0..jobs {
        let event = Event::JobAdded {
            position,
            title: format!("Job number {position}"),
            tags: vec![],
            depends_on: vec![],
            origin: "sales.crontab:1".into(),
            definition: digest_bytes(b"old"),
            output: None,
            hold: None,
            high_risk: false,
            clauses: vec!["rows".into()],
        };
        batch
            .entries
            .push(entry(Some(format!("job_{position:06}")), event));
        if batch.entries.len() >= 5_000 {
            ledger.append(&std::mem::take(&mut batch)).unwrap();
        }
    }
    batch.entries.push(entry(None, Event::GoalListed { jobs }));
    ledger.append(&batch).unwrap();
    ledger
}
