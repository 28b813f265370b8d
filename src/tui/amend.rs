//! Amendments as the interface knows them: somebody else reads goal files and says what they would mean.

use crate::ledger::Act;
use crate::model::{Account, ContractVersion, Digest, GoalId};
use std::path::PathBuf;

/// A changed goal file, beside the contract that it would follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The goal it amends.
    pub goal: GoalId,
    /// The version it was read against.
    pub from: ContractVersion,
    /// That version's contract.
    pub base: Digest,
    /// The version it would be.
    pub to: ContractVersion,
    /// Who may amend.
    pub owner: Account,
    /// Who sits here.
    pub me: Account,
    /// What the file leaves open and the contract in force did not; whoever amends agrees to it.
    pub questions: Vec<String>,
    /// What it would do, one line each; headings are not indented.
    pub impact: Vec<String>,
    /// The goal file in force.
    pub old_text: String,
    /// The changed one.
    pub new_text: String,
    /// What asks for it; its reason is not given yet.
    pub act: Act,
}

impl Proposal {
    /// The contract that it would be.
    pub fn contract(&self) -> Digest {
        match &self.act {
            Act::Amend { contract, .. } => contract.clone(),
            _ => self.base.clone(),
        }
    }
}

/// Reads changed goal files.
pub trait Amender: Send {
    /// What a file would do.
    ///
    /// # Errors
    /// One sentence for the operator; nothing was changed.
    fn propose(&mut self, file: &str) -> Result<Proposal, String>;
}

/// A changed goal file that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amendment {
    /// Its path, as typed.
    pub file: String,
    /// What became of it; `None` while it is read.
    pub read: Option<Result<Box<Proposal>, String>>,
}

/// The folder where a goal's files are looked for first, as a path to go on typing from.
pub fn folder(base_dir: &std::path::Path) -> String {
    let mut folder: PathBuf = base_dir.to_path_buf();
    // A trailing slash.
    folder.push("");
    folder.display().to_string()
}
