//! The interface in a real pseudo-terminal: keys, signals, panics, a terminal that goes away.
//!
//! The child is this very test program, asked to run the one ignored test below.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dogwatch::ledger::{Actor, Batch, Entry, Event, Ledger, Reader};
use dogwatch::model::{
    Account, AttemptNo, ContractVersion, GoalId, JobId, JobState, TimeMs, digest_bytes,
};
use dogwatch::tui::notice::NotifyBy;
use dogwatch::tui::theme::Theme;
use dogwatch::tui::{ColourWhen, EngineHandle, EngineHere, Options, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const START: TimeMs = TimeMs(1_711_962_000_000);

struct FailsAfter(AtomicU32);

impl EngineHandle for FailsAfter {
    fn finished(&self) -> Option<Result<(), String>> {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            panic!("the interface's own thread fails");
        }
        None
    }
}

struct Runs;

impl EngineHandle for Runs {
    fn finished(&self) -> Option<Result<(), String>> {
        None
    }
}

/// Not a test: what runs in the pseudo-terminal.
#[test]
#[ignore = "the child process of the tests in this file"]
fn child_interface() {
    let Ok(dir) = std::env::var("DOGWATCH_PTY_DIR") else {
        return;
    };
    let mode = std::env::var("DOGWATCH_PTY_MODE").unwrap_or_default();
    let engine = match mode.as_str() {
        "panic" => EngineHere::InProcess(Box::new(FailsAfter(AtomicU32::new(3)))),
        "engine" => EngineHere::InProcess(Box::new(Runs)),
        _ => EngineHere::None,
    };
    if mode == "panic_elsewhere" {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            panic!("a thread of the engine fails");
        });
    }
    let left = run(Options {
        ledger: Path::new(&dir).join("ledger.db"),
        goal: None,
        read_only: mode == "read_only",
        theme: Theme::built_in("default").unwrap(),
        ascii: false,
        colour: ColourWhen::Auto,
        calm: false,
        notify: NotifyBy::default(),
        keys: vec![],
        tour: false,
        amender: None,
        engine,
    });
    std::fs::write(Path::new(&dir).join("left"), format!("{left:?}")).unwrap();
    println!("left: {left:?}");
}

fn entry(job: Option<&str>, attempt: u32, event: Event) -> Entry {
    Entry {
        at: START,
        goal: GoalId::from("etl"),
        job: job.map(JobId::from),
        attempt: (attempt > 0).then_some(AttemptNo(attempt)),
        actor: Actor::Engine,
        event,
    }
}

fn added(position: u64) -> Event {
    Event::JobAdded {
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
    }
}

fn build_ledger(path: &Path) {
    let mut ledger = Ledger::open_for_engine(path).unwrap();
    let mut batch = Batch::default();
    batch.blob(b"old");
    let text = batch.blob(b"text");
    let adopted = Event::GoalAdopted {
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
    };
    batch.entries.push(entry(None, 0, adopted));
    for (position, job) in ["orders_daily", "customers", "revenue"]
        .into_iter()
        .enumerate()
    {
        batch
            .entries
            .push(entry(Some(job), 0, added(position as u64)));
    }
    for attempt in 1..=2 {
        let config = batch.blob(format!("attempt = {attempt}\n").as_bytes());
        let started = Event::AttemptStarted {
            strategy: "script".into(),
            strategy_index: 0,
            words: None,
            plan: 0,
        };
        let proposed = Event::ConfigProposed {
            config,
            remark: String::new(),
            changes: Vec::new(),
        };
        batch
            .entries
            .push(entry(Some("orders_daily"), attempt, started));
        batch
            .entries
            .push(entry(Some("orders_daily"), attempt, proposed));
    }
    let moved = Event::JobMoved {
        state: JobState::AwaitingApproval,
        reason: "all clauses passed".into(),
    };
    batch.entries.push(entry(Some("orders_daily"), 2, moved));
    let requested = Event::ApprovalRequested {
        action: dogwatch::model::Action::CutOver,
        approval: "0011223344556677".into(),
        digest: digest_bytes(b"evidence"),
        parts: serde_json::json!({}),
        consequences: vec![],
        expires_at: None,
    };
    batch
        .entries
        .push(entry(Some("orders_daily"), 2, requested));
    ledger.append(&batch).unwrap();
}

struct Term {
    dir: tempfile::TempDir,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<(vt100::Parser, usize)>>,
}

impl Term {
    fn start(mode: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        build_ledger(&dir.path().join("ledger.db"));
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: 24,
                cols: 80,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args([
            "child_interface",
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env("DOGWATCH_PTY_DIR", dir.path());
        command.env("DOGWATCH_PTY_MODE", mode);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        command.env_remove("TMUX");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let seen = Arc::new(Mutex::new((vt100::Parser::new(24, 80, 200), 0)));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let into = seen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let mut seen = into.lock().unwrap();
                seen.0.process(&bytes[..count]);
                seen.1 += count;
            }
        });
        let writer = pair.master.take_writer().unwrap();
        Self {
            dir,
            master: Some(pair.master),
            writer: Some(writer),
            child,
            seen,
        }
    }

    fn ledger(&self) -> PathBuf {
        self.dir.path().join("ledger.db")
    }

    fn text(&self) -> String {
        self.seen.lock().unwrap().0.screen().contents()
    }

    fn bytes(&self) -> usize {
        self.seen.lock().unwrap().1
    }

    fn keys(&mut self, keys: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill(
            Pid::from_raw(self.child.process_id().unwrap() as i32),
            signal,
        )
        .unwrap();
    }

    fn until(&self, what: &str, test: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if test(self.seen.lock().unwrap().0.screen()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("never seen: {what}\n{}", self.text());
    }

    fn sees(&self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    fn exits(&mut self, within: Duration) {
        let end = Instant::now() + within;
        while Instant::now() < end {
            if self.child.try_wait().unwrap().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("still runs after {within:?}\n{}", self.text());
    }

    fn left(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("left")).unwrap_or_default()
    }

    /// Alternate screen left, cursor shown, pastes and mouse off, line mode and echo back.
    fn is_restored(&self) {
        self.until("the terminal as it was", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        let modes = format!("{:?}", self.master.as_ref().unwrap().get_termios().unwrap());
        assert!(
            modes.contains("ICANON") && modes.contains("ECHO |"),
            "{modes}"
        );
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn an_operator_filters_opens_steps_approves_and_leaves() {
    let mut term = Term::start("");
    term.sees("Jobs 3");
    term.keys("/orders\r");
    term.sees("Jobs 1 of 3");
    term.keys("\r");
    term.sees("attempt 2 of 2");
    term.keys("[");
    term.sees("attempt 1 of 2");
    term.keys("\t");
    term.sees("attempt = 1");
    term.keys(".");
    term.sees("A approve   X reject");
    term.keys("A");
    term.sees("Sure?");
    term.keys("y");
    term.sees("pending");
    let reader = Reader::open(&term.ledger()).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while reader
        .view()
        .pending_decisions(&GoalId::from("etl"))
        .unwrap()
        .is_empty()
    {
        assert!(Instant::now() < end, "no decision reached the ledger");
        std::thread::sleep(Duration::from_millis(20));
    }
    let row = reader
        .view()
        .pending_decisions(&GoalId::from("etl"))
        .unwrap()
        .remove(0);
    assert_eq!(row.job.as_str(), "orders_daily");
    assert_eq!(row.by, Account::current());
    term.keys("qq");
    term.exits(Duration::from_secs(5));
    term.is_restored();
    assert_eq!(term.left(), "Ok(Quit)");
    term.sees("left: Ok(Quit)");
}

/// Requirement 2.
#[test]
fn requirement_02_a_terminal_that_goes_away_ends_it_at_once() {
    let mut term = Term::start("engine");
    term.sees("Jobs 3");
    drop(term.writer.take());
    drop(term.master.take());
    // The reader's clone of the descriptor goes with the process; the slave hangs up when the last
    // master is closed, which the kill below would also do. A hang-up signal stands for it here.
    term.signal(Signal::SIGHUP);
    term.exits(Duration::from_secs(1));
    assert_eq!(term.left(), "Ok(TtyLost)");
}

/// Requirement 1.
#[test]
fn requirement_01_a_signal_to_end_gives_the_terminal_back() {
    let mut term = Term::start("");
    term.sees("Jobs 3");
    term.keys("m");
    term.sees("mouse on");
    term.signal(Signal::SIGTERM);
    term.exits(Duration::from_secs(2));
    term.is_restored();
    assert_eq!(term.left(), "Ok(Terminated)");
}

#[test]
fn a_panic_of_the_interface_gives_the_terminal_back_and_is_readable() {
    let mut term = Term::start("panic");
    term.sees("the interface's own thread fails");
    term.exits(Duration::from_secs(5));
    term.is_restored();
}

#[test]
fn a_panic_elsewhere_is_kept_off_the_screen_until_it_is_left() {
    let mut term = Term::start("panic_elsewhere");
    term.sees("Jobs 3");
    std::thread::sleep(Duration::from_millis(700));
    assert!(
        !term.text().contains("a thread of the engine fails"),
        "{}",
        term.text()
    );
    term.keys("q");
    term.sees("a thread of the engine fails");
    term.exits(Duration::from_secs(5));
    term.is_restored();
}

#[test]
fn suspending_gives_the_terminal_back_and_going_on_draws_again() {
    let mut term = Term::start("");
    term.sees("Jobs 3");
    term.signal(Signal::SIGTSTP);
    term.until("the shell's screen", |screen| !screen.alternate_screen());
    std::thread::sleep(Duration::from_millis(100));
    term.signal(Signal::SIGCONT);
    term.until("the interface again", vt100::Screen::alternate_screen);
    term.sees("Jobs 3");
    term.keys("q");
    term.exits(Duration::from_secs(5));
    term.is_restored();
}

/// Requirement 8.
#[test]
fn requirement_08_nothing_is_sent_while_nothing_changes() {
    let term = Term::start("");
    term.sees("Jobs 3");
    std::thread::sleep(Duration::from_millis(500));
    let before = term.bytes();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(term.bytes() - before, 0);
}

/// Requirement 3.
#[test]
fn requirement_03_leaving_an_engine_in_this_process_offers_to_detach() {
    let mut term = Term::start("engine");
    term.sees("Jobs 3");
    term.keys("q");
    term.sees("detach: work goes on");
    term.keys("\x1b");
    std::thread::sleep(Duration::from_millis(200));
    term.keys("\x03");
    term.sees("Ctrl-C again");
    term.keys("\x03");
    term.sees("detach: work goes on");
    term.keys("d");
    term.exits(Duration::from_secs(5));
    assert_eq!(term.left(), "Ok(Detach)");
    term.is_restored();
}
