//! The one owner of the terminal: modes, signals, input, frames.

pub mod copy;
pub mod input;
pub mod screen;
pub mod signals;

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

/// Whether the terminal is in our modes; whoever turns it off undoes them, once.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// What other threads said when they panicked; shown once the terminal is back.
static ELSEWHERE: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Panics of other threads that are kept.
const MAX_PANICS: usize = 16;

/// Alternate screen, cursor hidden, pastes marked.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h";
/// Everything undone, whatever was on: a frame in progress, mouse, pastes, looks, cursor, screen.
const UNDO: &[u8] =
    b"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal in our modes. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Guard {
    hook: bool,
}

impl Guard {
    /// Takes the terminal and installs the panic hook.
    ///
    /// # Errors
    /// When there is no terminal or its modes cannot be set.
    pub fn enter() -> io::Result<Self> {
        if let Err(error) = enter_modes() {
            undo();
            return Err(error);
        }
        install_hook(std::thread::current().id());
        Ok(Self { hook: true })
    }

    /// Gives the terminal back, stops this process, and takes the terminal again when it is continued.
    ///
    /// # Errors
    /// When the terminal cannot be taken again.
    pub fn suspend(&self) -> io::Result<()> {
        undo();
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP).map_err(io::Error::from)?;
        enter_modes()
    }

    /// Sets the modes again after another program may have changed them.
    ///
    /// # Errors
    /// When they cannot be set.
    pub fn renew(&self) -> io::Result<()> {
        enter_modes()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        undo();
        if self.hook && !std::thread::panicking() {
            // Back to the standard hook: nothing of ours is on the terminal any more.
            drop(std::panic::take_hook());
        }
        let said = std::mem::take(&mut *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner));
        for text in said {
            let written = writeln!(io::stderr(), "{text}");
            drop(written);
        }
    }
}

/// The terminal for writing: standard output if it is one, else the controlling terminal.
///
/// # Errors
/// When there is no terminal.
pub fn tty() -> io::Result<File> {
    let out = io::stdout();
    if out.is_terminal() {
        return Ok(File::from(out.as_fd().try_clone_to_owned()?));
    }
    File::options().read(true).write(true).open("/dev/tty")
}

/// Columns and rows; 80×24 when the terminal does not say.
pub fn size() -> (u16, u16) {
    match crossterm::terminal::window_size() {
        Ok(size) if size.columns > 0 && size.rows > 0 => (size.columns, size.rows),
        _ => (80, 24),
    }
}

fn enter_modes() -> io::Result<()> {
    let mut out = tty()?;
    ENTERED.store(true, Ordering::SeqCst);
    crossterm::terminal::enable_raw_mode()?;
    out.write_all(ENTER)
}

/// Undoes every mode, once; errors are ignored, since the terminal may be gone.
fn undo() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    if let Ok(mut out) = tty() {
        drop(out.write_all(UNDO));
    }
    drop(crossterm::terminal::disable_raw_mode());
}

/// A panic of the interface's thread gives the terminal back before its message is printed. One of
/// another thread must not write over the screen: its message waits until the terminal is back.
fn install_hook(interface: ThreadId) {
    let before = Arc::new(std::panic::take_hook());
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == interface || !ENTERED.load(Ordering::SeqCst) {
            undo();
            before(info);
            return;
        }
        let mut kept = ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_PANICS {
            kept.push(info.to_string());
        }
    }));
}
