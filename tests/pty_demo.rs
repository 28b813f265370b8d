//! The practice migration as an operator drives it: the real binary in a real pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pty_support;

use dogwatch::ledger::{Reader, engine_runs};
use dogwatch::model::GoalId;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pty_support::{Term, processor_time};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Virtual seconds a second: the first requests come within seconds, the migration does not end.
const SPEED: &str = "20000";

struct Demo {
    dir: tempfile::TempDir,
}

impl Demo {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn ledger(&self) -> PathBuf {
        self.dir.path().join("ledger.db")
    }

    fn program() -> &'static Path {
        Path::new(env!("CARGO_BIN_EXE_dogwatch"))
    }

    fn start(&self) -> Term {
        let dir = self.dir.path().to_str().unwrap();
        Term::start(Self::program(), ["demo", "--dir", dir, "--speed", SPEED])
    }

    fn attach(&self, more: &[&str]) -> Term {
        let ledger = self.ledger();
        let mut words = vec!["attach", "--ledger", ledger.to_str().unwrap()];
        words.extend(more);
        Term::start(Self::program(), words)
    }

    fn status(&self) -> String {
        let out = Command::new(Self::program())
            .args(["status", "--ledger"])
            .arg(self.ledger())
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    }

    fn pid(&self) -> Option<Pid> {
        let reader = Reader::open(&self.ledger()).ok()?;
        let beat = reader.view().engine().ok()??;
        (beat.state != "stopped").then(|| Pid::from_raw(beat.pid as i32))
    }

    /// Waits until the engine is another process than this one.
    fn engine_beside(&self, before: Pid) -> Pid {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if let Some(pid) = self.pid().filter(|pid| *pid != before)
                && engine_runs(&self.ledger())
            {
                return pid;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no engine went on\n{}", self.status());
    }

    fn last_entry(&self) -> i64 {
        let reader = Reader::open(&self.ledger()).unwrap();
        let goal = GoalId::from("practice");
        reader.view().overview(&goal).unwrap().last_seq.0
    }

    fn grows_beyond(&self, seq: i64) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.last_entry() <= seq {
            assert!(Instant::now() < end, "no work goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stops(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        while engine_runs(&self.ledger()) {
            assert!(Instant::now() < end, "the engine does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if let Some(pid) = self.pid()
            && engine_runs(&self.ledger())
        {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

/// Requirements 1, 3, 4, 7 and 15 over the real engine.
#[test]
fn an_operator_looks_decides_leaves_and_finds_everything_again() {
    let demo = Demo::new();
    let mut term = demo.start();
    term.sees("Jobs 120");
    let own = Pid::from_raw(term.child.process_id().unwrap() as i32);

    term.keys("/stg_orders\r");
    term.sees("Jobs 1 of 120");
    term.keys("\r");
    term.sees("Job stg_orders");
    term.until("an attempt", |screen| {
        screen.contents().contains("attempt 1 of")
    });
    // Through the panes: timeline, diff, evidence, operations, transcript.
    for pane in ["Diff", "Evidence", "Operations"] {
        term.keys("\t");
        term.until(pane, |screen| shows_pane(screen, pane));
    }

    term.until("a request", |screen| screen.contents().contains("approval"));
    term.keys("2");
    term.sees("Approvals");
    term.sees("◆ open");
    term.keys("\r");
    term.sees("A approve   X reject");
    let job = requested(&term.text());
    // Another operator, who sees it as soon as it is so.
    let second = demo.attach(&[]);
    second.sees("0/120 cut over");
    term.keys("A");
    term.sees("Sure?");
    term.keys("y");
    term.sees("confirmed");
    let confirmed = Instant::now();
    second.sees("1/120 cut over");
    assert!(confirmed.elapsed() < Duration::from_secs(1));
    drop(second);
    assert!(term.text().contains(&format!("Request {job}")));

    // From a nested view q goes up; at the top it asks.
    term.keys("q");
    term.sees("Approvals");
    term.keys("q");
    term.sees("detach: work goes on");
    term.keys("d");
    term.exits(Duration::from_secs(20));
    term.is_restored();
    term.sees("work goes on without a terminal");

    let headless = demo.engine_beside(own);
    let status = demo.status();
    assert!(
        status.contains(&format!("running, process {headless}")),
        "{status}"
    );
    demo.grows_beyond(demo.last_entry());

    let mut onlooker = demo.attach(&["--read-only"]);
    onlooker.sees("READ-ONLY");
    onlooker.sees("Jobs 120");
    onlooker.keys("/state:cut_over\r");
    onlooker.sees(&job);
    onlooker.keys("2\r");
    onlooker.sees("read-only: nothing can be decided here");
    onlooker.keys("A");
    onlooker.sees("read-only: this interface changes nothing");
    assert!(!onlooker.text().contains("Sure?"));
    onlooker.keys("qq");
    onlooker.exits(Duration::from_secs(5));
    onlooker.is_restored();

    kill(headless, Signal::SIGTERM).unwrap();
    demo.stops();
    assert!(demo.status().contains("not running"), "{}", demo.status());
}

/// Requirement 2, with an engine at work: no signal is sent by this test, the terminal is just gone.
#[test]
fn requirement_02_a_lost_terminal_ends_the_interface_and_not_the_work() {
    let demo = Demo::new();
    let mut term = demo.start();
    term.sees("Jobs 120");
    let own = Pid::from_raw(term.child.process_id().unwrap() as i32);
    demo.grows_beyond(demo.last_entry());
    term.hang_up();
    let took = term.exits(Duration::from_secs(1));
    assert!(took < Duration::from_secs(1), "{took:?}");

    let headless = demo.engine_beside(own);
    demo.grows_beyond(demo.last_entry());
    let mut again = demo.attach(&[]);
    again.sees("Jobs 120");
    again.sees("live");
    again.keys("8/went away\r");
    again.sees("the terminal went away");
    again.keys("q");
    again.exits(Duration::from_secs(5));
    kill(headless, Signal::SIGTERM).unwrap();
    demo.stops();
}

/// Requirement 2, where no SIGHUP is delivered: the interface is the child of a session leader that ignores
/// hang-ups, as under `ssh -t host sh -c …`. A program that only waits for the signal stays for ever.
#[test]
fn requirement_02_a_dead_terminal_is_noticed_without_any_signal() {
    let mut sleeps = Term::nested(Path::new("/bin/sleep"), ["60"]);
    std::thread::sleep(Duration::from_millis(300));
    sleeps.hang_up();
    std::thread::sleep(Duration::from_millis(300));
    let signalled = sleeps.child.try_wait().unwrap();
    assert!(signalled.is_none(), "the harness delivers a signal");
    sleeps.end_group();

    let demo = Demo::new();
    let dir = demo.dir.path().to_str().unwrap();
    let words = [
        "demo",
        "--headless",
        "--dir",
        dir,
        "--jobs",
        "3",
        "--speed",
        "max",
    ];
    let out = Command::new(Demo::program()).args(words).output().unwrap();
    assert!(demo.ledger().exists(), "{out:?}");
    let ledger = demo.ledger();
    let words = ["attach", "--ledger", ledger.to_str().unwrap()];
    for nested in [true, false] {
        let mut term = match nested {
            true => Term::nested(Demo::program(), words),
            false => Term::start(Demo::program(), words),
        };
        term.sees("Jobs 3");
        let own = term.own_process(nested);
        let (took, used) = term.hang_up_and_exits(own, Duration::from_secs(1));
        assert!(took < Duration::from_secs(1), "{took:?}");
        // A loop over a dead descriptor would use all of it.
        assert!(used <= Duration::from_millis(50), "{used:?} of {took:?}");
        // And the measure sees work where there is some.
        let busy = processor_time(std::process::id()).unwrap();
        assert!(busy > Duration::ZERO, "nothing is measured");
    }
}

/// The engine is killed, somebody switches a job on by hand: held, and let go by two keys and a button.
#[test]
fn what_differs_after_an_unclean_stop_is_accepted_on_the_screen() {
    let demo = Demo::new();
    let dir = demo.dir.path().to_str().unwrap();
    let mut words = vec!["demo", "--dir", dir, "--jobs", "3", "--headless"];
    let out = Command::new(Demo::program()).args(&words).output().unwrap();
    assert!(demo.ledger().exists(), "{out:?}");
    words.truncate(5);
    words.extend(["--speed", "1000"]);
    let mut term = Term::start(Demo::program(), &words);
    term.sees("live");
    kill(demo.pid().unwrap(), Signal::SIGKILL).unwrap();
    term.exits(Duration::from_secs(5));

    let world = rusqlite::Connection::open(demo.dir.path().join("world.db")).unwrap();
    let changed = world.execute(
        "insert into production_jobs(operation_id, job, config, config_digest, created_ms, hidden_lookups)
         select 'by-hand', job, 'x', 'abc', 0, 0 from staging_jobs limit 1",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(world);

    let mut term = Term::start(Demo::program(), &words);
    term.sees("HELD by 1 difference");
    term.keys(".");
    term.sees("it is in production as prod-by-hand");
    term.sees("* mark all");
    term.keys("A");
    term.sees("the engine goes on");
    term.keys("\t\r");
    term.sees("1 accepted");
    term.sees_no("HELD");
    term.sees("accepted by");
    term.keys("qq");
    term.sees("stop after the current steps");
    term.keys("w");
    term.exits(Duration::from_secs(10));
}

/// The real preview of a real file, the real engine's answer; and the demo goes on under its new contract.
#[test]
fn a_changed_goal_file_is_put_in_force_on_the_screen() {
    let demo = Demo::new();
    let dir = demo.dir.path().to_str().unwrap();
    let words = ["demo", "--dir", dir, "--jobs", "3", "--speed", "1000"];
    let mut term = Term::start(Demo::program(), words);
    term.sees("Jobs 3");
    let text = std::fs::read_to_string(demo.dir.path().join("practice.toml")).unwrap();
    let changed = text.replace("count = 200", "count = 100");
    assert_ne!(text, changed);
    let file = demo.dir.path().join("changed.toml");
    std::fs::write(&file, changed).unwrap();

    term.keys("6e");
    term.sees("Which goal file");
    term.keys(&format!("\x15{}\r", file.display()));
    term.sees("count: 200 -> 100");
    term.sees("A puts it in force");
    term.keys("A");
    term.sees("Why is it amended?");
    term.keys("a hundred firing times say as much\t\r");
    term.sees("version 2 is in force");
    term.sees("practice v2");
    term.keys("qq");
    term.sees("stop after the current steps");
    term.keys("w");
    term.exits(Duration::from_secs(10));

    let mut again = Term::start(Demo::program(), words);
    again.sees("practice v2");
    again.keys("6\x04");
    again.sees("a hundred firing times say as much");
    again.keys("q");
    again.sees("stop after the current steps");
    again.keys("w");
    again.exits(Duration::from_secs(10));
}

/// Requirement 10: this terminal answers nothing, and nothing is asked of it.
#[test]
fn requirement_10_start_up_asks_the_terminal_nothing_and_paints_without_an_answer() {
    let demo = Demo::new();
    let dir = demo.dir.path().to_str().unwrap();
    let words = [
        "demo",
        "--headless",
        "--dir",
        dir,
        "--jobs",
        "3",
        "--speed",
        "max",
    ];
    let out = Command::new(Demo::program()).args(words).output().unwrap();
    assert!(demo.ledger().exists(), "{out:?}");
    let mut term = demo.attach(&[]);
    term.sees("Jobs 3");
    let raw = term.seen.lock().unwrap().raw.clone();
    let text = String::from_utf8_lossy(&raw).into_owned();
    // Device attributes, cursor and mode reports, colours, keyboard protocol, XTGETTCAP.
    for query in [
        "\x1b[c",
        "\x1b[>c",
        "\x1b[6n",
        "\x1b[5n",
        "$p",
        "\x1b]10;?",
        "\x1b]11;?",
        "\x1b[?u",
        "\x1bP+q",
    ] {
        assert!(!text.contains(query), "{query:?} in {text:?}");
    }
    term.keys("q");
    term.exits(Duration::from_secs(5));
    term.is_restored();
}

/// Requirement 20: it is sent to the terminal, and nothing more is claimed.
#[test]
fn requirement_20_copying_goes_through_the_terminal_and_says_so() {
    let demo = Demo::new();
    let dir = demo.dir.path().to_str().unwrap();
    let words = [
        "demo",
        "--headless",
        "--dir",
        dir,
        "--jobs",
        "3",
        "--speed",
        "max",
    ];
    Command::new(Demo::program()).args(words).output().unwrap();
    let mut term = demo.attach(&[]);
    term.sees("Jobs 3");
    term.keys("y");
    term.sees("sent to the terminal");
    let raw = term.seen.lock().unwrap().raw.clone();
    assert!(String::from_utf8_lossy(&raw).contains("\x1b]52;c;"));
}

/// Requirement 15: what needs a person is told by the engine that went on without a terminal.
#[test]
fn requirement_15_a_headless_engine_tells_a_command_what_needs_a_person() {
    let demo = Demo::new();
    let told = demo.dir.path().join("told");
    let config = demo.dir.path().join("config.toml");
    let text = format!("[notify]\ncommand = [\"tee\", \"-a\", {told:?}]\nevery_s = 1\n");
    std::fs::write(&config, text).unwrap();
    let words = [
        "demo",
        "--speed",
        SPEED,
        "--dir",
        demo.dir.path().to_str().unwrap(),
    ];
    let words = words
        .into_iter()
        .chain(["--config", config.to_str().unwrap()]);
    let mut term = Term::start(Demo::program(), words);
    term.sees("Jobs 120");
    let own = Pid::from_raw(term.child.process_id().unwrap() as i32);
    term.keys("qd");
    term.exits(Duration::from_secs(20));
    let headless = demo.engine_beside(own);
    drop(std::fs::remove_file(&told));
    let end = Instant::now() + Duration::from_secs(30);
    let got = || std::fs::read_to_string(&told).unwrap_or_default();
    while !got().contains("\"what\":\"approval\"") {
        assert!(Instant::now() < end, "nothing told: {}", demo.status());
        std::thread::sleep(Duration::from_millis(50));
    }
    kill(headless, Signal::SIGTERM).unwrap();
    demo.stops();
    let text = got();
    let values = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
    let mut ids: Vec<String> = Vec::new();
    for value in values {
        for item in value.unwrap()["items"].as_array().unwrap() {
            ids.push(item["id"].as_str().unwrap().to_owned());
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "each item once");
}

/// A tmux of its own; closed and forgotten with the test.
struct Tmux {
    dir: tempfile::TempDir,
}

impl Tmux {
    fn run(&self, words: &[&str]) -> String {
        let out = Command::new("tmux")
            .env("TMUX_TMPDIR", self.dir.path())
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .args(["-L", "test", "-f", "/dev/null"])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn sees(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let screen = self.run(&["capture-pane", "-p"]);
            if screen.contains(text) {
                return;
            }
            assert!(Instant::now() < end, "never seen: {text}\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// Requirements 2 and 16, in tmux itself: the pane is closed while work runs; nothing is lost.
#[test]
fn requirement_02_closing_a_tmux_pane_detaches_the_work() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return;
    }
    let demo = Demo::new();
    let tmux = Tmux {
        dir: tempfile::tempdir().unwrap(),
    };
    let binary = Demo::program().to_str().unwrap();
    let dir = demo.dir.path().to_str().unwrap();
    let ledger = demo.ledger();
    let ledger = ledger.to_str().unwrap();
    let size = ["new-session", "-d", "-x", "80", "-y", "24"];
    let start = [&size[..], &[binary, "demo", "--dir", dir, "--speed", SPEED]].concat();
    tmux.run(&start);
    tmux.sees("Jobs 120");
    let own = demo.pid().unwrap();
    tmux.run(&["kill-pane"]);
    let headless = demo.engine_beside(own);
    demo.grows_beyond(demo.last_entry());
    tmux.run(&[&size[..], &[binary, "attach", "--ledger", ledger]].concat());
    tmux.sees("Jobs 120");
    tmux.run(&["send-keys", "2"]);
    tmux.sees("◆ open");
    tmux.run(&["send-keys", "Enter"]);
    tmux.sees("A approve   X reject");
    tmux.run(&["send-keys", "A"]);
    tmux.sees("Sure?");
    tmux.run(&["send-keys", "y"]);
    tmux.sees("confirmed");
    kill(headless, Signal::SIGTERM).unwrap();
    demo.stops();
}

fn requested(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("Request ")).unwrap();
    let after = line.split("Request ").nth(1).unwrap();
    after.split_whitespace().next().unwrap().to_owned()
}

/// The name of the pane that is shown stands in reverse.
fn shows_pane(screen: &vt100::Screen, name: &str) -> bool {
    let (rows, cols) = screen.size();
    (0..rows).any(|row| {
        let chosen: String = (0..cols)
            .filter_map(|col| screen.cell(row, col))
            .filter(|cell| cell.inverse())
            .map(|cell| cell.contents().to_owned())
            .collect();
        chosen.to_lowercase().contains(&name.to_lowercase())
    })
}
