//! `dogwatch comment TEXT`: words of an operator for the next attempt, of one job or of each.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::place::{goal, job, reader};
use crate::ledger::Act;
use crate::model::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The words. Workers are given them once, marked as the operator's.
    text: String,
    /// For this job alone; without it, for the next attempt of each job of the goal.
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When there is no such job, or the ledger cannot be written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let text = args.text.clone();
    match &args.job {
        Some(name) => {
            let id = job(&reader, &row.goal, name)?;
            decide(common, &reader, &row.goal, &id, Act::Comment { text })
        }
        None => {
            let act = Act::CommentGoal { text };
            decide(common, &reader, &row.goal, &JobId::from(""), act)
        }
    }
}
