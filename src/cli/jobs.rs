//! `dogwatch jobs`: one line a job.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{goal, reader};
use crate::ledger::filter::Filter;
use crate::ledger::read::{JobQuery, JobRow};
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which: words AND, !word excludes, state:handed_over, tries:>1, clause:checksum=fail.
    #[arg(long, default_value = "")]
    filter: String,
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When the filter is wrong or the ledger cannot be read.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let filter = Filter::parse(&args.filter).map_err(|why| CliError::new(why, ""))?;
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let ids = reader.view().job_ids(
        &row.goal,
        &JobQuery {
            filter,
            ..JobQuery::default()
        },
    )?;
    let rows = reader.view().job_rows(&row.goal, &ids)?;
    if common.json {
        let jobs: Vec<_> = rows
            .iter()
            .map(|one| {
                json!({
                    "id": one.job, "state": one.state, "reason": one.reason, "tries": one.tries,
                    "contract_version": row.version, "attempt": one.attempt,
                    "clauses_passed": one.clauses_passed, "clauses_total": one.clauses_total,
                    "passed_by": {
                        "script": one.clauses_passed.saturating_sub(one.passed_judge + one.passed_person),
                        "judge": one.passed_judge, "person": one.passed_person,
                    },
                    "paused": one.paused, "to_verify": one.to_verify, "queries": one.queries,
                    "waiting": one.wait.as_ref().map(|wait| json!({
                        "for": wait.kind, "reason": wait.reason, "since_ms": wait.since,
                        "next_check_ms": wait.next_check, "overdue_ms": wait.overdue,
                    })),
                    "last_progress_ms": one.last_progress,
                })
            })
            .collect();
        print_json("dogwatch.jobs/1", json!({ "goal": row.goal, "jobs": jobs }))?;
        return Ok(ExitCode::Done);
    }
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|one| {
            vec![
                one.job.0.clone(),
                one.state.word().to_owned(),
                one.tries.to_string(),
                format!("{}/{}", one.clauses_passed, one.clauses_total),
                why(one),
            ]
        })
        .collect();
    print_text(&table(&["job", "state", "tries", "clauses", "why"], &lines))?;
    Ok(ExitCode::Done)
}

/// Why a job is where it is, one sentence.
fn why(row: &JobRow) -> String {
    match &row.wait {
        Some(wait) => wait.reason.clone(),
        None => row.reason.clone(),
    }
}
