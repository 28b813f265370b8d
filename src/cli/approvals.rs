//! `dogwatch approvals`: what waits for a decision.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{goal, reader};
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Decided ones as well, newest first.
    #[arg(long)]
    all: bool,
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When the ledger cannot be read.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let view = reader.view();
    let requests = if args.all {
        view.approvals(&row.goal, 10_000)?
    } else {
        view.open_approvals(&row.goal)?
    };
    if common.json {
        print_json(
            "dogwatch.approvals/1",
            json!({ "goal": row.goal, "approvals": requests }),
        )?;
        return Ok(ExitCode::Done);
    }
    if requests.is_empty() {
        print_text("nothing waits for a decision")?;
        return Ok(ExitCode::Done);
    }
    let lines: Vec<Vec<String>> = requests
        .iter()
        .map(|one| {
            let what = if one.outcome.is_empty() {
                one.consequences.join("; ")
            } else {
                one.outcome.clone()
            };
            vec![
                one.job.0.clone(),
                one.state.clone(),
                one.digest.0.clone(),
                one.requested_at.to_string(),
                what,
            ]
        })
        .collect();
    print_text(&table(
        &["job", "state", "digest", "asked", "what else"],
        &lines,
    ))?;
    Ok(ExitCode::Done)
}
