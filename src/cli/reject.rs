//! `dogwatch reject JOB --reason R`: no, with a reason.

use super::Common;
use super::approve::request;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::place::{goal, job, reader};
use crate::ledger::Act;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    job: String,
    /// Why; kept with the decision.
    #[arg(long, value_name = "R")]
    reason: String,
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When there is no such request, or the ledger cannot be written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let id = job(&reader, &row.goal, &args.job)?;
    let request = request(&reader, &row.goal, &id)?;
    let act = Act::Reject {
        approval: request.approval,
        digest: request.digest,
        reason: args.reason.clone(),
    };
    decide(common, &reader, &row.goal, &id, act)
}
