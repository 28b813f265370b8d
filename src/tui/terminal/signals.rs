//! Signals, on a thread of their own.

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::JoinHandle;

/// What was asked of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The terminal hung up.
    HangUp,
    /// End.
    Terminate,
    /// Stop for a while.
    Stop,
    /// Go on; another program may have used the terminal.
    Continue,
    /// The terminal has another size.
    Resize,
}

/// The thread that waits for signals; dropping it ends the thread.
#[derive(Debug)]
pub struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts watching.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn start(send: impl Fn(Signal) + Send + 'static) -> io::Result<Self> {
        let mut signals =
            Signals::new([SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH])?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    send(match signal {
                        SIGHUP => Signal::HangUp,
                        SIGTSTP => Signal::Stop,
                        SIGCONT => Signal::Continue,
                        SIGWINCH => Signal::Resize,
                        _ => Signal::Terminate,
                    });
                }
            })?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
