//! The real binary in a pseudo-terminal that can be read, typed into and taken away.

#![allow(dead_code)]

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a screen is waited for: long, since a slow machine is no failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes kept as they came.
const MAX_RAW: usize = 1024 * 1024;

/// What came from the program.
pub struct Seen {
    /// The screen as a terminal would show it.
    pub parser: vt100::Parser,
    /// Bytes in all.
    pub bytes: usize,
    /// The first ones, as they came.
    pub raw: Vec<u8>,
    /// When the last ones came.
    pub at: Instant,
}

/// A program in a terminal.
pub struct Term {
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    reader: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    /// The program.
    pub child: Box<dyn Child + Send + Sync>,
    /// What came from it.
    pub seen: Arc<Mutex<Seen>>,
}

impl Term {
    /// Starts a program in a terminal of 80×24 that is the controlling one of its session.
    pub fn start<S: AsRef<OsStr>>(program: &Path, words: impl IntoIterator<Item = S>) -> Self {
        Self::sized(program, words, (80, 24))
    }

    /// Starts a program as the child of a session leader that ignores hang-ups: when the terminal goes away
    /// no signal reaches the program, as under `ssh -t host sh -c …` and some multiplexers.
    pub fn nested<S: AsRef<OsStr>>(program: &Path, words: impl IntoIterator<Item = S>) -> Self {
        let script = r#"trap '' HUP; (trap - HUP; exec "$0" "$@"); exit $?"#;
        let mut all: Vec<OsString> = vec!["-c".into(), script.into(), program.into()];
        all.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        Self::start(Path::new("/bin/sh"), all)
    }

    /// The same in another size.
    pub fn sized<S: AsRef<OsStr>>(
        program: &Path,
        words: impl IntoIterator<Item = S>,
        (cols, rows): (u16, u16),
    ) -> Self {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(words);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        for name in ["NO_COLOR", "TMUX", "DOGWATCH_LEDGER", "DOGWATCH_CONFIG"] {
            command.env_remove(name);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Seen {
            parser: vt100::Parser::new(rows, cols, 200),
            bytes: 0,
            raw: Vec::new(),
            at: Instant::now(),
        }));
        let reader = read_on_thread(pair.master.as_ref(), &stop, &seen);
        let writer = pair.master.take_writer().unwrap();
        Self {
            master: Some(pair.master),
            writer: Some(writer),
            reader: Some(reader),
            stop,
            child,
            seen,
        }
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// The screen's text.
    pub fn text(&self) -> String {
        self.seen.lock().unwrap().parser.screen().contents()
    }

    /// Bytes so far.
    pub fn bytes(&self) -> usize {
        self.seen.lock().unwrap().bytes
    }

    /// Waits until the screen is so.
    pub fn until(&self, what: &str, test: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if test(self.seen.lock().unwrap().parser.screen()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("never seen: {what}\n{}", self.text());
    }

    /// Waits for a text.
    pub fn sees(&self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    /// Waits until a text is gone.
    pub fn sees_no(&self, text: &str) {
        let what = format!("a screen without {text}");
        self.until(&what, |screen| !screen.contents().contains(text));
    }

    /// Waits for the program's end; how long that took.
    pub fn exits(&mut self, within: Duration) -> Duration {
        let begun = Instant::now();
        while begun.elapsed() < within {
            if self.child.try_wait().unwrap().is_some() {
                return begun.elapsed();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("still runs after {within:?}\n{}", self.text());
    }

    /// The program's own number: of the leader's child where it was started by [`Term::nested`].
    pub fn own_process(&self, nested: bool) -> u32 {
        let leader = self.child.process_id().unwrap();
        if !nested {
            return leader;
        }
        let path = format!("/proc/{leader}/task/{leader}/children");
        let children = std::fs::read_to_string(path).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Takes the terminal away and waits for the program's end: how long that took, and the processor's time
    /// that it used from then on.
    pub fn hang_up_and_exits(&mut self, process: u32, within: Duration) -> (Duration, Duration) {
        let before = processor_time(process).unwrap();
        let mut used = Duration::ZERO;
        self.hang_up();
        let begun = Instant::now();
        while begun.elapsed() < within {
            match processor_time(process) {
                Some(now) => used = now.saturating_sub(before),
                None => return (begun.elapsed(), used),
            }
            if self.child.try_wait().unwrap().is_some() {
                return (begun.elapsed(), used);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("still runs after {within:?}, having used {used:?}");
    }

    /// Alternate screen left, cursor shown, pastes and mouse off, line mode and echo back.
    pub fn is_restored(&self) {
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

    /// Ends the program and what it started: a session of its own is its process group.
    pub fn end_group(&mut self) {
        let leader = self.child.process_id().unwrap();
        let group = nix::unistd::Pid::from_raw(leader as i32);
        nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).unwrap();
    }

    /// Takes the terminal away as a lost connection does: the last descriptor of its other end is closed.
    pub fn hang_up(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        drop(self.writer.take());
        drop(self.master.take());
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// What a process used of the processor, in user and kernel mode, to a hundredth of a second; none when it is
/// gone. An ended one that nobody waited for still says it.
pub fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold anything; what follows its bracket does not.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    let ticks = ticks(11)? + ticks(12)?;
    Some(Duration::from_millis(ticks * 10))
}

/// Reads without blocking, so that the thread and its descriptor can be ended.
fn read_on_thread(
    master: &dyn MasterPty,
    stop: &Arc<AtomicBool>,
    seen: &Arc<Mutex<Seen>>,
) -> JoinHandle<()> {
    let mut reader = master.try_clone_reader().unwrap();
    let number = master.as_raw_fd().unwrap();
    // The master is alive here, and the flag belongs to the open file that the reader shares.
    #[allow(unsafe_code)]
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).unwrap());
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK)).unwrap();
    let (stop, seen) = (stop.clone(), seen.clone());
    std::thread::spawn(move || {
        let mut bytes = [0; 16_384];
        while !stop.load(Ordering::SeqCst) {
            match reader.read(&mut bytes) {
                Ok(count @ 1..) => {
                    let mut seen = seen.lock().unwrap();
                    seen.parser.process(&bytes[..count]);
                    seen.bytes += count;
                    if seen.raw.len() < MAX_RAW {
                        seen.raw.extend_from_slice(&bytes[..count]);
                    }
                    seen.at = Instant::now();
                }
                Ok(0) => return,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}
