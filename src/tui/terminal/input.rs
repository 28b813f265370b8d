//! Keys, on a thread of their own. The descriptor is polled before it is read, so that a terminal that
//! is gone is noticed even when no signal comes, and never spun on.

use crossterm::event::{Event, KeyEventKind};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the decoder may look for the rest of what arrived.
const REST: Duration = Duration::from_millis(1);

/// What the terminal sent.
#[derive(Debug)]
pub enum Input {
    /// A key, a paste, a size.
    Event(Event),
    /// The terminal is gone.
    Lost,
}

/// The thread that reads; dropping it ends the thread.
#[derive(Debug)]
pub struct Reader {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts reading; `send` returns false when nobody listens any more.
    ///
    /// # Errors
    /// When there is no terminal to read from.
    pub fn start(send: impl Fn(Input) -> bool + Send + 'static) -> io::Result<Self> {
        let tty = source()?;
        let (stopped, stop) = nix::unistd::pipe().map_err(io::Error::from)?;
        let thread = std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || read_until_stopped(&tty, &stopped, &send))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Closing the pipe's end wakes the poll.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// The same terminal that crossterm reads: standard input if it is one.
fn source() -> io::Result<OwnedFd> {
    let input = io::stdin();
    if input.is_terminal() {
        return input.as_fd().try_clone_to_owned();
    }
    Ok(File::open("/dev/tty")?.into())
}

fn read_until_stopped(tty: &OwnedFd, stopped: &OwnedFd, send: &impl Fn(Input) -> bool) {
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    loop {
        let mut fds = [
            PollFd::new(tty.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(_) => {
                send(Input::Lost);
                return;
            }
        }
        let [tty_fd, stop_fd] = &fds;
        if stop_fd.revents().is_some_and(|flags| !flags.is_empty()) {
            return;
        }
        let flags = tty_fd.revents().unwrap_or(PollFlags::empty());
        if flags.intersects(gone) {
            send(Input::Lost);
            return;
        }
        if flags.contains(PollFlags::POLLIN) && !drain(send) {
            return;
        }
    }
}

/// Everything that has arrived; false when the thread shall end.
fn drain(send: &impl Fn(Input) -> bool) -> bool {
    loop {
        match crossterm::event::poll(REST) {
            Ok(true) => {}
            Ok(false) => return true,
            Err(_) => {
                send(Input::Lost);
                return false;
            }
        }
        match crossterm::event::read() {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
            Ok(event) => {
                if !send(Input::Event(event)) {
                    return false;
                }
            }
            Err(_) => {
                send(Input::Lost);
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Requirement 2, without any signal: the descriptor alone says that the terminal is gone.
    #[test]
    fn requirement_02_a_terminal_that_hangs_up_is_noticed_by_its_descriptor() {
        let pair = nix::pty::openpty(None, None).unwrap();
        let (stopped, _stop) = nix::unistd::pipe().unwrap();
        let (send, lost) = channel();
        let slave = pair.slave;
        let thread = std::thread::spawn(move || {
            read_until_stopped(&slave, &stopped, &|input| send.send(input).is_ok());
        });
        assert!(lost.recv_timeout(Duration::from_millis(100)).is_err());
        drop(pair.master);
        let seen = lost.recv_timeout(Duration::from_millis(250)).unwrap();
        assert!(matches!(seen, Input::Lost));
        thread.join().unwrap();
    }

    #[test]
    fn closing_the_pipe_ends_the_thread() {
        let pair = nix::pty::openpty(None, None).unwrap();
        let (stopped, stop) = nix::unistd::pipe().unwrap();
        let slave = pair.slave;
        let thread = std::thread::spawn(move || read_until_stopped(&slave, &stopped, &|_| true));
        drop(stop);
        thread.join().unwrap();
    }
}
