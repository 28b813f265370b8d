//! One run of an executable: bytes in, bytes out, bounded in time and output.
//!
//! The child gets its own process group, which is killed at the end whatever happened, so that nothing it
//! started outlives the call. Its environment is what is named and nothing else. One loop over `poll`
//! feeds stdin and reads stdout and stderr, so that no full pipe can block the other side, and no
//! descendant that keeps a pipe open can make the call hang.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::io::{PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of stdout kept when nothing else is said; more ends the process.
pub const DEFAULT_STDOUT_CAP: usize = 1024 * 1024;
/// Bytes of stderr kept; more is read and dropped.
pub const DEFAULT_STDERR_CAP: usize = 64 * 1024;
/// Variables passed on from this process when they are set.
const PASSED_ON: [&str; 3] = ["PATH", "LANG", "TZ"];
/// How long output of an ended process is waited for, when a descendant outside its group holds the pipe.
const DRAIN: Duration = Duration::from_millis(300);
/// How long a killed process may take to go.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// What to run.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    /// The program and its arguments; a first word `dogwatch` means this very binary.
    pub argv: Vec<String>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// Its environment beside `PATH`, `LANG` and `TZ`.
    pub env: Vec<(String, String)>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Milliseconds until its process group is killed.
    pub timeout_ms: i64,
    /// Most bytes of stdout; one more ends the process.
    pub stdout_cap: usize,
    /// Most bytes of stderr kept.
    pub stderr_cap: usize,
    /// At the time-out the group is asked to end first, and killed so many milliseconds later; 0 kills it
    /// at once.
    pub term_grace_ms: i64,
}

impl ProcessSpec {
    /// A run with the default caps and an empty environment.
    pub fn new(argv: Vec<String>, cwd: &Path, stdin: Vec<u8>, timeout_ms: i64) -> Self {
        Self {
            argv,
            cwd: cwd.to_owned(),
            env: Vec::new(),
            stdin,
            timeout_ms,
            stdout_cap: DEFAULT_STDOUT_CAP,
            stderr_cap: DEFAULT_STDERR_CAP,
            term_grace_ms: 0,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessOutcome {
    /// It exited by itself.
    Exited {
        /// Its exit status.
        code: i32,
        /// All it wrote.
        stdout: Vec<u8>,
        /// What it wrote to stderr, up to the cap.
        stderr: Vec<u8>,
    },
    /// A signal that was not ours ended it.
    Killed {
        /// The signal's number.
        signal: i32,
        /// What it wrote to stderr, up to the cap.
        stderr: Vec<u8>,
    },
    /// Its time was over; its group was killed.
    TimedOut {
        /// The limit in milliseconds.
        after_ms: i64,
        /// What it wrote to stderr, up to the cap.
        stderr: Vec<u8>,
    },
    /// It wrote more than allowed; its group was killed.
    OutputTooLarge {
        /// The limit in bytes.
        cap: usize,
        /// What it wrote to stderr, up to the cap.
        stderr: Vec<u8>,
    },
    /// It never ran, so it did nothing.
    CouldNotStart {
        /// Why, with the program's name.
        why: String,
    },
}

impl ProcessOutcome {
    /// One sentence for people about everything but success; `None` for exit status 0.
    pub fn trouble(&self) -> Option<String> {
        let with_tail = |text: String, stderr: &[u8]| match last_line(stderr) {
            Some(line) => format!("{text}: {line}"),
            None => text,
        };
        match self {
            Self::Exited { code: 0, .. } => None,
            Self::Exited { code, stderr, .. } => {
                Some(with_tail(format!("it exited with status {code}"), stderr))
            }
            Self::Killed { signal, stderr } => {
                Some(with_tail(format!("signal {signal} ended it"), stderr))
            }
            Self::TimedOut { after_ms, stderr } => {
                let seconds = *after_ms as f64 / 1000.0;
                Some(with_tail(
                    format!("it was killed after {seconds} s without an end"),
                    stderr,
                ))
            }
            Self::OutputTooLarge { cap, stderr } => Some(with_tail(
                format!("it was killed for writing more than {cap} bytes"),
                stderr,
            )),
            Self::CouldNotStart { why } => Some(format!("it could not be started: {why}")),
        }
    }
}

/// The last line that says something, at most 300 characters of it.
fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(300).collect())
}

/// This program, as it can be started again. Its file may have been replaced since, by an upgrade: then the path is
/// gone, and what runs is started through the kernel's own link to it, so that an engine's workers are of its version.
///
/// # Errors
/// When the path of this program is not known.
pub fn own_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let running = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    Ok(match path.exists() || !running.exists() {
        true => path,
        false => running,
    })
}

/// Words of a command line as the goal file writes them: those that begin with `./` or `../` start at
/// `base_dir`, and a first word `dogwatch` is this binary.
///
/// # Errors
/// When this binary's own path is not known.
pub fn resolve_words(words: &[String], base_dir: &Path) -> Result<Vec<String>, String> {
    let base = std::path::absolute(base_dir).map_err(|error| error.to_string())?;
    let mut resolved = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        if index == 0 && word == "dogwatch" {
            let exe = own_program()
                .map_err(|error| format!("the path of dogwatch itself is not known: {error}"))?;
            resolved.push(exe.to_string_lossy().into_owned());
        } else if word.starts_with("./") || word.starts_with("../") {
            resolved.push(base.join(word).to_string_lossy().into_owned());
        } else {
            resolved.push(word.clone());
        }
    }
    Ok(resolved)
}

/// Runs to the end, to the time-out or to the output cap, whichever comes first. Blocks.
pub fn run(spec: &ProcessSpec) -> ProcessOutcome {
    let deadline =
        Instant::now() + Duration::from_millis(u64::try_from(spec.timeout_ms).unwrap_or(0));
    match start(spec) {
        Err(why) => ProcessOutcome::CouldNotStart { why },
        Ok((child, ended)) => Running::new(child, ended, spec).finish(deadline),
    }
}

/// Starts the child and the thread that notices its end.
fn start(spec: &ProcessSpec) -> Result<(Child, PipeReader), String> {
    let words = resolve_words(&spec.argv, &spec.cwd)?;
    let (program, arguments) = words
        .split_first()
        .filter(|(program, _)| !program.is_empty())
        .ok_or_else(|| "no program is named".to_owned())?;
    let (ended, end) = std::io::pipe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(
            PASSED_ON
                .iter()
                .filter_map(|name| Some((*name, std::env::var_os(name)?))),
        )
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = command
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let pid = pid_of(&child);
    // Left unreaped, so that the group's id cannot be given to another process before the group is killed.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    std::thread::spawn(move || {
        while waitid(Id::Pid(pid), flags) == Err(Errno::EINTR) {}
        drop(end);
    });
    Ok((child, ended))
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))
}

/// Why the loop stopped.
enum Stop {
    Ended,
    TimedOut,
    TooLarge,
}

/// A child with its pipes; those that are closed or used up are `None`.
struct Running<'s> {
    child: Child,
    ended: PipeReader,
    spec: &'s ProcessSpec,
    stdin: Option<ChildStdin>,
    sent: usize,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl<'s> Running<'s> {
    fn new(mut child: Child, ended: PipeReader, spec: &'s ProcessSpec) -> Self {
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        for fd in [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ] {
            // A pipe that stays blocking only costs promptness at the time-out; it is never the case.
            let _ = fd.map(|fd| fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)));
        }
        Self {
            child,
            ended,
            spec,
            stdin: stdin.filter(|_| !spec.stdin.is_empty()),
            sent: 0,
            stdout,
            stderr,
            out: Vec::new(),
            err: Vec::new(),
        }
    }

    fn finish(mut self, deadline: Instant) -> ProcessOutcome {
        let stop = self.pump(deadline, true);
        let group = pid_of(&self.child);
        if matches!(stop, Stop::TimedOut) && self.spec.term_grace_ms > 0 {
            let grace = Duration::from_millis(self.spec.term_grace_ms.unsigned_abs());
            let _ = killpg(group, Signal::SIGTERM);
            // What it says on the way out belongs to it; that it ended in time changes nothing.
            let _ = self.pump(Instant::now() + grace, true);
        }
        // The leader is unreaped, so the group still is the child's; ESRCH only says that nobody is left.
        let _ = killpg(group, Signal::SIGKILL);
        let stop = match stop {
            Stop::Ended => match self.pump(Instant::now() + DRAIN, false) {
                Stop::TooLarge => Stop::TooLarge,
                _ => Stop::Ended,
            },
            other => other,
        };
        self.stdin = None;
        let status = self.reap();
        let stderr = self.err;
        match stop {
            Stop::TimedOut => ProcessOutcome::TimedOut {
                after_ms: self.spec.timeout_ms,
                stderr,
            },
            Stop::TooLarge => ProcessOutcome::OutputTooLarge {
                cap: self.spec.stdout_cap,
                stderr,
            },
            Stop::Ended => match status.map(|status| (status.code(), status.signal())) {
                Some((Some(code), _)) => ProcessOutcome::Exited {
                    code,
                    stdout: self.out,
                    stderr,
                },
                Some((None, signal)) => ProcessOutcome::Killed {
                    signal: signal.unwrap_or(0),
                    stderr,
                },
                None => ProcessOutcome::Killed { signal: 0, stderr },
            },
        }
    }

    /// Feeds and reads until the child has ended (`to_exit`) or the pipes are closed, the deadline has
    /// passed, or stdout is above its cap.
    fn pump(&mut self, deadline: Instant, to_exit: bool) -> Stop {
        loop {
            if !to_exit && self.stdout.is_none() && self.stderr.is_none() {
                return Stop::Ended;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return if to_exit { Stop::TimedOut } else { Stop::Ended };
            }
            if self.wait(left, to_exit) {
                return Stop::Ended;
            }
            self.feed();
            self.read_stderr();
            if !self.read_stdout() {
                return Stop::TooLarge;
            }
        }
    }

    /// Waits until something can be done; true when the child has ended.
    fn wait(&self, left: Duration, to_exit: bool) -> bool {
        let wanted = [
            (to_exit.then(|| self.ended.as_fd()), PollFlags::POLLIN),
            (self.stdin.as_ref().map(AsFd::as_fd), PollFlags::POLLOUT),
            (self.stdout.as_ref().map(AsFd::as_fd), PollFlags::POLLIN),
            (self.stderr.as_ref().map(AsFd::as_fd), PollFlags::POLLIN),
        ];
        let mut fds: Vec<PollFd<'_>> = wanted
            .into_iter()
            .filter_map(|(fd, flags)| Some(PollFd::new(fd?, flags)))
            .collect();
        let ms = u16::try_from(left.as_millis().saturating_add(1)).unwrap_or(u16::MAX);
        match poll(&mut fds, PollTimeout::from(ms)) {
            Ok(0) | Err(_) => false,
            Ok(_) => to_exit && fds.first().and_then(PollFd::any).unwrap_or(false),
        }
    }

    fn feed(&mut self) {
        let Some(pipe) = &mut self.stdin else { return };
        let rest = self.spec.stdin.get(self.sent..).unwrap_or(&[]);
        match pipe.write(rest) {
            Ok(count) => {
                self.sent += count;
                if self.sent >= self.spec.stdin.len() {
                    self.stdin = None;
                }
            }
            Err(error) if would_block(&error) => {}
            // It closed its end: it does not want the rest.
            Err(_) => self.stdin = None,
        }
    }

    /// False when stdout is above its cap.
    fn read_stdout(&mut self) -> bool {
        let mut buffer = [0_u8; 64 * 1024];
        let Some(pipe) = &mut self.stdout else {
            return true;
        };
        match pipe.read(&mut buffer) {
            Ok(0) => self.stdout = None,
            Ok(count) => {
                if self.out.len() + count > self.spec.stdout_cap {
                    return false;
                }
                self.out
                    .extend_from_slice(buffer.get(..count).unwrap_or(&[]));
            }
            Err(error) if would_block(&error) => {}
            Err(_) => self.stdout = None,
        }
        true
    }

    fn read_stderr(&mut self) {
        let mut buffer = [0_u8; 16 * 1024];
        let Some(pipe) = &mut self.stderr else { return };
        match pipe.read(&mut buffer) {
            Ok(0) => self.stderr = None,
            Ok(count) => {
                let room = self.spec.stderr_cap.saturating_sub(self.err.len());
                let kept = buffer.get(..count.min(room)).unwrap_or(&[]);
                self.err.extend_from_slice(kept);
            }
            Err(error) if would_block(&error) => {}
            Err(_) => self.stderr = None,
        }
    }

    /// Collects the ended child; a process that even SIGKILL does not end is left behind.
    fn reap(&mut self) -> Option<std::process::ExitStatus> {
        let give_up = Instant::now() + KILL_GRACE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < give_up => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => return None,
            }
        }
    }
}

fn would_block(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout_ms: i64) -> ProcessSpec {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        ProcessSpec::new(argv, Path::new("/"), Vec::new(), timeout_ms)
    }

    fn exited(outcome: &ProcessOutcome) -> (i32, String) {
        match outcome {
            ProcessOutcome::Exited { code, stdout, .. } => {
                (*code, String::from_utf8_lossy(stdout).into_owned())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_carries_status_and_output() {
        let outcome = run(&shell(
            "echo out; echo first >&2; echo last >&2; exit 3",
            5_000,
        ));
        assert_eq!(exited(&outcome), (3, "out\n".to_owned()));
        assert_eq!(
            outcome.trouble().as_deref(),
            Some("it exited with status 3: last")
        );
    }

    #[test]
    fn the_environment_is_what_is_named() {
        let mut spec = shell("env | cut -d= -f1 | sort | tr '\\n' ' '", 60_000);
        spec.env = vec![("GIVEN".to_owned(), "1".to_owned())];
        let (_, out) = exited(&run(&spec));
        for name in out.split_whitespace() {
            // The shell itself sets the last three.
            let known = ["GIVEN", "PATH", "LANG", "TZ", "PWD", "SHLVL", "_"];
            assert!(known.contains(&name), "{name}");
        }
        assert!(out.contains("GIVEN"));
    }

    #[test]
    fn a_large_input_is_echoed_without_a_deadlock() {
        let mut spec = shell("cat", 20_000);
        spec.stdin = vec![b'x'; 900_000];
        assert_eq!(exited(&run(&spec)).1.len(), 900_000);
        // An input that nobody reads is no error.
        spec.argv[2] = "exit 0".to_owned();
        assert_eq!(exited(&run(&spec)).0, 0);
    }

    #[test]
    fn a_hanging_process_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let script = format!("sleep 300 & echo $! > {}; wait", pid_file.display());
        let started = Instant::now();
        let outcome = run(&shell(&script, 1_500));
        assert!(matches!(outcome, ProcessOutcome::TimedOut { .. }));
        assert!(started.elapsed() < Duration::from_secs(30));
        let pid: i32 = std::fs::read_to_string(pid_file)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        for _ in 0..100 {
            if !alive(pid) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the grandchild lives");
    }

    /// A zombie that nobody has collected yet is not alive.
    fn alive(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_descendant_that_keeps_the_pipe_does_not_hold_the_call() {
        let started = Instant::now();
        assert_eq!(
            exited(&run(&shell("sleep 60 & echo done", 90_000))).1,
            "done\n"
        );
        // One that left the group keeps the pipe open even after the group is gone.
        let outcome = run(&shell("setsid sleep 20 & sleep 0.5; echo done", 90_000));
        assert_eq!(exited(&outcome).1, "done\n");
        assert!(started.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn too_much_stdout_ends_it_and_too_much_stderr_is_dropped() {
        let outcome = run(&shell("head -c 2000000 /dev/zero; echo no >&2", 60_000));
        let cap = DEFAULT_STDOUT_CAP;
        assert!(matches!(outcome, ProcessOutcome::OutputTooLarge { cap: c, .. } if c == cap));
        let outcome = run(&shell("head -c 2000000 /dev/zero >&2; echo ok", 60_000));
        let ProcessOutcome::Exited { stdout, stderr, .. } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(
            (stdout.as_slice(), stderr.len()),
            (&b"ok\n"[..], DEFAULT_STDERR_CAP)
        );
    }

    #[test]
    fn a_group_is_asked_to_end_before_it_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("asked");
        let script = format!(
            "trap 'echo bye > {}; exit 0' TERM; while :; do sleep 0.05; done",
            file.display()
        );
        let mut spec = shell(&script, 700);
        spec.term_grace_ms = 20_000;
        let started = Instant::now();
        let outcome = run(&spec);
        assert!(
            matches!(outcome, ProcessOutcome::TimedOut { .. }),
            "{outcome:?}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "bye\n");
        assert!(started.elapsed() < Duration::from_secs(15));
        // One that does not listen is killed.
        let mut deaf = shell("trap '' TERM; while :; do sleep 0.05; done", 300);
        deaf.term_grace_ms = 300;
        assert!(matches!(run(&deaf), ProcessOutcome::TimedOut { .. }));
    }

    #[test]
    fn what_cannot_start_says_so() {
        let mut spec = shell("", 1_000);
        spec.argv = vec!["./no-such-program".to_owned()];
        let ProcessOutcome::CouldNotStart { why } = run(&spec) else {
            panic!()
        };
        assert!(why.contains("no-such-program"), "{why}");
        spec.argv.clear();
        assert!(matches!(run(&spec), ProcessOutcome::CouldNotStart { .. }));
    }

    #[test]
    fn a_signal_is_told_apart_from_an_exit() {
        let outcome = run(&shell("kill -9 $$", 60_000));
        assert!(
            matches!(outcome, ProcessOutcome::Killed { signal: 9, .. }),
            "{outcome:?}"
        );
    }

    #[test]
    fn dogwatch_means_this_binary() {
        let words = [
            "dogwatch".to_owned(),
            "./x".to_owned(),
            "dogwatch".to_owned(),
        ];
        let resolved = resolve_words(&words, Path::new("/goals")).unwrap();
        assert_eq!(
            resolved[0],
            std::env::current_exe().unwrap().to_string_lossy()
        );
        assert_eq!(resolved[1], "/goals/./x");
        assert_eq!(resolved[2], "dogwatch");
    }
}
