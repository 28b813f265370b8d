//! `dogwatch approve JOB --digest D`: yes, to exactly what was seen.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::place::{goal, job, reader};
use crate::ledger::read::ApprovalRow;
use crate::ledger::{Act, Reader};
use crate::model::{Digest, GoalId, JobId};

/// Fewest digits of a digest that can be typed.
const SHORTEST_DIGEST: usize = 12;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    job: String,
    /// Digest of the request as seen (`dogwatch approvals`); at least its first 12 digits.
    #[arg(long, value_name = "D")]
    digest: String,
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
    let digest = full_digest(&args.digest, &request)?;
    let act = Act::Approve {
        approval: request.approval,
        digest,
    };
    decide(common, &reader, &row.goal, &id, act)
}

/// The job's open request.
///
/// # Errors
/// When it has none.
pub fn request(reader: &Reader, goal: &GoalId, job: &JobId) -> Result<ApprovalRow, CliError> {
    reader
        .view()
        .open_approvals(goal)?
        .into_iter()
        .find(|one| one.job == *job)
        .ok_or_else(|| {
            CliError::new(
                format!("job {job} has no open request"),
                "Nothing was decided. `dogwatch approvals` lists what waits.",
            )
        })
}

/// The whole digest when its beginning was typed; anything else is passed on, for the engine to refuse
/// and record.
fn full_digest(typed: &str, request: &ApprovalRow) -> Result<Digest, CliError> {
    if typed.len() < SHORTEST_DIGEST {
        return Err(CliError::new(
            format!("a digest has at least {SHORTEST_DIGEST} digits"),
            "Nothing was decided.",
        ));
    }
    Ok(if request.digest.0.starts_with(typed) {
        request.digest.clone()
    } else {
        Digest(typed.to_owned())
    })
}
