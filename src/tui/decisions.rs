//! How the interface asks for something: an entry in the ledger, never a call into the engine.

use crate::ledger::Act;
use crate::ledger::decide::{origin, submit_with};
use crate::model::{Account, DecisionId, GoalId, JobId, TimeMs};
use std::path::PathBuf;

/// Takes decisions and makes them durable.
pub trait Decisions: Send {
    /// Writes one, with the text that it names, if it names one; its id finds the engine's answer.
    ///
    /// # Errors
    /// One sentence for the operator; nothing was written.
    fn submit(
        &mut self,
        goal: &GoalId,
        job: &JobId,
        act: Act,
        text: Option<&str>,
    ) -> Result<DecisionId, String>;
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
    fn submit(
        &mut self,
        goal: &GoalId,
        job: &JobId,
        act: Act,
        text: Option<&str>,
    ) -> Result<DecisionId, String> {
        let wall = TimeMs::from_timestamp(jiff::Timestamp::now());
        let (path, by, from) = (&self.path, &self.account, &self.from);
        let bodies: Vec<&[u8]> = text.into_iter().map(str::as_bytes).collect();
        submit_with(path, goal, job, act, by, from, wall, &bodies)
            .map_err(|error| format!("{error}. {}", error.hint()))
    }
}
