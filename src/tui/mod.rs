//! The interface: reads the ledger, shows it, and writes decisions into it. It never touches the
//! engine's state.

pub mod amend;
pub mod app;
pub mod decisions;
pub mod keymap;
pub mod notice;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod view;
pub mod widget;

pub use app::run::run;
pub use decisions::{Decisions, LedgerDecisions};

use crate::ledger::LedgerError;
use crate::model::GoalId;
use std::path::PathBuf;
use thiserror::Error;

/// When colours are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColourWhen {
    /// Unless `NO_COLOR` is set to something.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What the interface is started with.
pub struct Options {
    /// The ledger's file.
    pub ledger: PathBuf,
    /// The goal to show; the first one when none is named.
    pub goal: Option<GoalId>,
    /// No action changes anything.
    pub read_only: bool,
    /// How roles look.
    pub theme: theme::Theme,
    /// Only ASCII is drawn. [`locale_is_utf8`] says whether it must be.
    pub ascii: bool,
    /// When colours are shown.
    pub colour: ColourWhen,
    /// A bad link: at most two frames a second.
    pub calm: bool,
    /// How to say outside of the screen that something new needs a person.
    pub notify: notice::NotifyBy,
    /// Keys that replace the table's own, by the action's name; [`keymap::Key::parse`] reads them.
    pub keys: Vec<(String, Vec<keymap::Key>)>,
    /// Begin with the guided tour.
    pub tour: bool,
    /// Who reads changed goal files; without one they are amended on the command line only.
    pub amender: Option<Box<dyn amend::Amender>>,
    /// Whether the engine runs in this process.
    pub engine: EngineHere,
}

/// Where the engine runs.
pub enum EngineHere {
    /// In another process, or nowhere.
    None,
    /// In this process.
    InProcess(Box<dyn EngineHandle>),
}

/// What the interface must know of an engine in its own process: only whether it has ended.
pub trait EngineHandle: Send {
    /// How the engine ended; `None` while it runs.
    fn finished(&self) -> Option<Result<(), String>>;
}

/// How the operator left. The caller does what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// Work goes on without a terminal.
    Detach,
    /// Work stops after the current steps.
    StopAfterSteps,
    /// Work stops at the next safe point.
    StopAtSafePoint,
    /// The interface ends; there was no engine here to ask about.
    Quit,
    /// The terminal is gone; work follows its declared policy.
    TtyLost,
    /// The process was asked to end by a signal.
    Terminated,
}

/// What keeps the interface from running.
#[derive(Debug, Error)]
pub enum TuiError {
    /// There is no terminal, or it cannot be set up.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] std::io::Error),
    /// Two actions on one key, an unknown action, a key that is never bound.
    #[error("keys: {0}")]
    Keys(String),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl TuiError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Terminal(_) => {
                "Work does not need a terminal: run it with --headless, look with status and jobs."
                    .to_owned()
            }
            Self::Keys(_) => {
                "Nothing was started. Change the keys in the configuration.".to_owned()
            }
            Self::Ledger(error) => error.hint(),
        }
    }
}

/// Whether the locale's character set is UTF-8, by the usual order of variables.
pub fn locale_is_utf8(get: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(get)
        .find(|value| !value.is_empty());
    set.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

#[cfg(test)]
mod fixture;
