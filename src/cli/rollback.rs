//! `dogwatch rollback JOB --reason R`: asks that a cut-over job goes back to the old side.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::place::{goal, job, reader};
use crate::ledger::Act;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    job: String,
    /// Why; shown to the approver and kept.
    #[arg(long, value_name = "R")]
    reason: String,
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
    let id = job(&reader, &row.goal, &args.job)?;
    let act = Act::RollBack {
        reason: args.reason.clone(),
    };
    decide(common, &reader, &row.goal, &id, act)
}
