//! `dogwatch approve JOB --digest D`: yes, to exactly what was seen.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{goal, job, ledger_path, reader};
use crate::ledger::decide::{origin, submit};
use crate::ledger::read::ApprovalRow;
use crate::ledger::{Act, Reader, engine_runs};
use crate::model::{Account, DecisionId, Digest, GoalId, JobId, time::Clock};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long an answer of a running engine is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
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

/// Submits an act in the name of this process's account and reports the engine's answer.
///
/// # Errors
/// When the ledger cannot be written.
pub fn decide(
    common: &Common,
    reader: &Reader,
    goal: &GoalId,
    job: &JobId,
    act: Act,
) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let me = Account::current();
    let decision = submit(&path, goal, job, act, &me, &origin(), Clock::Real.now())?;
    let (state, why) = await_answer(reader, &decision, engine_runs(&path))?;
    if common.json {
        print_json(
            "dogwatch.decision/1",
            json!({ "decision": decision, "goal": goal, "job": job, "by": me, "state": state, "why": why }),
        )?;
    } else {
        print_text(&format!("{job}: {state}: {why}"))?;
    }
    Ok(if state == "refused" {
        ExitCode::Refused
    } else {
        ExitCode::Done
    })
}

fn await_answer(
    reader: &Reader,
    decision: &DecisionId,
    engine_runs: bool,
) -> Result<(String, String), CliError> {
    let pending = |why: &str| ("pending".to_owned(), why.to_owned());
    if !engine_runs {
        return Ok(pending(
            "recorded; no engine runs now, the next one answers it",
        ));
    }
    let begun = Instant::now();
    while begun.elapsed() < ANSWER_WITHIN {
        if let Some(row) = reader.view().decision(decision)?
            && row.state != "pending"
        {
            return Ok((row.state, row.why));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(pending("recorded; the engine has not answered yet"))
}
