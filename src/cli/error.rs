//! Errors at the edge: what happened, what was kept, what to do next.

use crate::engine::EngineError;
use crate::engine::adopt::AdoptError;
use crate::ledger::LedgerError;
use crate::model::SafeText;

/// For `--help`.
pub const EXIT_CODES: &str = "Exit codes: 0 done, 1 error, 2 wrong usage, 3 something does not verify, \
4 a decision was refused, 10 only people can move the goal on, 11 a budget ended the work.";

/// The hint of a refused adoption.
pub const NOTHING_ADOPTED: &str = "Nothing was adopted.";

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done.
    Done,
    /// Something does not verify.
    Unsound,
    /// The engine refused the decision.
    Refused,
    /// Only people can move the goal on.
    OnlyPeople,
    /// A budget ended the work.
    Budget,
    /// A practice worker says that it cannot do this job.
    WorkerRefused,
}

impl ExitCode {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unsound => 3,
            Self::Refused => 4,
            Self::OnlyPeople => 10,
            Self::Budget => 11,
            Self::WorkerRefused => crate::worker::script::REFUSED_STATUS as u8,
        }
    }
}

/// An error for a person.
#[derive(Debug)]
pub struct CliError {
    /// What happened.
    pub what: SafeText,
    /// What was kept and what to do next; may be empty.
    pub hint: SafeText,
}

impl CliError {
    /// With a hint.
    pub fn new(what: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Self {
            what: SafeText::block(what.as_ref()),
            hint: SafeText::block(hint.as_ref()),
        }
    }

    /// As it is printed.
    pub fn render(&self) -> String {
        let mut out = format!("dogwatch: {}", self.what);
        if !self.hint.as_str().is_empty() {
            out.push_str(&format!("\n  {}", self.hint));
        }
        out
    }
}

impl From<LedgerError> for CliError {
    fn from(error: LedgerError) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}

impl From<AdoptError> for CliError {
    fn from(error: AdoptError) -> Self {
        match error {
            AdoptError::Ledger(error) => error.into(),
            // The contract stands already; only the list is missing.
            AdoptError::Source(_) => Self::new(
                error.to_string(),
                "No job was listed. Mend the adapter and run the goal again.",
            ),
            other => Self::new(other.to_string(), NOTHING_ADOPTED),
        }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Ledger(error) => error.into(),
            other => Self::new(other.to_string(), "Everything committed is kept."),
        }
    }
}
