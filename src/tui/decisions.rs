//! How the interface asks for something: an entry in the ledger, never a call into the engine.

use crate::ledger::Act;
use crate::ledger::decide::{Decision, engine_time, submit};
use crate::model::{Account, DecisionId, GoalId, JobId, TimeMs, digest_bytes};
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
    count: u64,
}

impl LedgerDecisions {
    /// In the name of the account that runs this process, from where it is logged in.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            account: Account::current(),
            from: origin(),
            count: 0,
        }
    }
}

impl Decisions for LedgerDecisions {
    fn submit(&mut self, goal: &GoalId, job: &JobId, act: Act) -> Result<DecisionId, String> {
        let wall = TimeMs::from_timestamp(jiff::Timestamp::now());
        let said = |error: crate::ledger::LedgerError| format!("{error}. {}", error.hint());
        let at = engine_time(&self.path, wall).map_err(said)?;
        self.count += 1;
        let nanos = jiff::Timestamp::now().as_nanosecond();
        let seed = format!(
            "{}:{}:{nanos}:{}:{goal}:{job}",
            self.account,
            std::process::id(),
            self.count
        );
        let digest = digest_bytes(seed.as_bytes());
        let id = DecisionId(digest.0.chars().take(16).collect());
        submit(
            &self.path,
            Decision {
                id: id.clone(),
                goal: goal.clone(),
                job: job.clone(),
                act,
                account: self.account.clone(),
                from: self.from.clone(),
                at,
            },
        )
        .map_err(said)?;
        Ok(id)
    }
}

/// `SSH_CONNECTION` if there is one, else the terminal's name.
fn origin() -> String {
    if let Ok(ssh) = std::env::var("SSH_CONNECTION")
        && !ssh.is_empty()
    {
        return ssh;
    }
    nix::unistd::ttyname(std::io::stdin()).map_or_else(
        |_| "no terminal".to_owned(),
        |path| path.display().to_string(),
    )
}
