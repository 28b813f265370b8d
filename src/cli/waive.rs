//! `dogwatch waive JOB CLAUSE --why R`: the owner accepts a job in production that a clause does not pass.

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
    /// The clause.
    clause: String,
    /// Why; kept with the waiver.
    #[arg(long, value_name = "REASON")]
    why: String,
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
    let act = Act::Waive {
        clause: args.clause.as_str().into(),
        reason: args.why.clone(),
    };
    decide(common, &reader, &row.goal, &id, act)
}
