//! A decision from the command line: submitted in this account's name, answered by the engine.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::ledger_path;
use crate::ledger::decide::{origin, submit};
use crate::ledger::{Act, Reader, engine_runs};
use crate::model::{Account, DecisionId, GoalId, JobId, time::Clock};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long an answer of a running engine is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

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
        let about = if job.as_str().is_empty() {
            goal.as_str()
        } else {
            job.as_str()
        };
        print_text(&format!("{about}: {state}: {why}"))?;
    }
    Ok(if state == "refused" {
        ExitCode::Refused
    } else {
        ExitCode::Done
    })
}

/// The engine's answer, if it comes soon: state and reason.
///
/// # Errors
/// When the ledger cannot be read.
pub fn await_answer(
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
