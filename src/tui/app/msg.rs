//! What can happen to the interface, and what it asks to be done.

use super::snapshot::Snapshot;
use crate::ledger::Act;
use crate::model::{DecisionId, GoalId, JobId, TimeMs};
use crate::tui::Leave;
use crate::tui::amend::Proposal;
use crate::tui::keymap::Key;
use crate::tui::notice::Notice;
use crate::tui::theme::Theme;

/// The two times that update is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the interface started; never goes back.
    pub ms: u64,
    /// The machine's calendar clock, which the engine's beat is written in.
    pub wall: TimeMs,
}

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// A key.
    Key(Key),
    /// The wheel: rows to move by.
    Wheel(isize),
    /// A click at a column and a row.
    Click(u16, u16),
    /// A paste; it is text, never keys.
    Paste(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// The ledger as it is now.
    Snapshot(Box<Snapshot>),
    /// The ledger could not be read; the last snapshot stays.
    LoadFailed(String),
    /// A decision was written, or could not be.
    Submitted {
        /// Which, by the number the interface gave it.
        local: u64,
        /// Its id in the ledger.
        result: Result<DecisionId, String>,
    },
    /// A changed goal file was read.
    Proposed {
        /// Which, as it was asked for.
        file: String,
        /// What it would do, or why it is no amendment.
        result: Result<Box<Proposal>, String>,
    },
    /// A notice could not be handed over, and why.
    NoticeFailed(String),
    /// A frame with this very model was put on the screen.
    Drawn,
    /// Time passed; something shown may be due to change.
    Tick,
    /// The engine in this process ended.
    EngineEnded(Result<(), String>),
    /// The terminal is gone.
    TtyLost,
    /// The process is asked to end.
    Terminate,
    /// The process is asked to stop for a while.
    Suspend,
}

/// Something to do outside of update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write a decision.
    Submit {
        /// The interface's own number for it.
        local: u64,
        /// The goal.
        goal: GoalId,
        /// The job.
        job: JobId,
        /// What is asked.
        act: Act,
    },
    /// Read a changed goal file and say what it would do.
    Propose(String),
    /// Send a text to the terminal's clipboard.
    Copy(String),
    /// Mouse reports on or off.
    Mouse(bool),
    /// Draw everything again.
    Repaint,
    /// Say outside of the screen that something needs a person.
    Notify(Notice),
    /// Another look.
    Theme(Box<Theme>),
    /// Give the terminal back and stop until continued.
    Suspend,
    /// End the interface.
    Leave(Leave),
}
