//! How the interface asks for something: an entry in the ledger, never a call into the engine.

use crate::ledger::Act;
use crate::ledger::decide::{origin, submit};
use crate::model::{Account, DecisionId, GoalId, JobId, TimeMs};
use std::path::PathBuf;

/// Takes decisions and makes them durable.
pub trait Decisions: Send {
    /// Writes one; its id finds the engine's answer.
    ///
    /// # Errors
    /// One sentence for the operator; nothing was written.
    fn submit(&mut self, goal: &GoalId, job: &JobId, act: Act) -> Result<DecisionId, String>;
}

/// Decisions into a ledger file.
#[derive(Debug)]
pub struct LedgerDecisions {
    path: PathBuf,
    account: Account,
    from: String,
}

impl LedgerDecisions {
    /// In the name of the account that runs this process, from where it is logged in.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            account: Account::current(),
            from: origin(),
        }
    }
}

impl Decisions for LedgerDecisions {
    fn submit(&mut self, goal: &GoalId, job: &JobId, act: Act) -> Result<DecisionId, String> {
        let wall = TimeMs::from_timestamp(jiff::Timestamp::now());
        submit(&self.path, goal, job, act, &self.account, &self.from, wall)
            .map_err(|error| format!("{error}. {}", error.hint()))
    }
}
