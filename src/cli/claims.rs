//! `dogwatch claims`: what workers hold against clauses. A claim changes nothing; amending is the owner's.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{goal, reader};
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
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
    let claims = reader.view().claims(&row.goal)?;
    if common.json {
        print_json(
            "dogwatch.claims/1",
            json!({ "goal": row.goal, "owner": row.owner, "claims": claims }),
        )?;
        return Ok(ExitCode::Done);
    }
    if claims.is_empty() {
        print_text("no worker holds anything against a clause")?;
        return Ok(ExitCode::Done);
    }
    let mut lines: Vec<String> = claims
        .iter()
        .map(|one| {
            format!(
                "{} (attempt {}) against {}: {}",
                one.job, one.attempt, one.clause, one.why
            )
        })
        .collect();
    lines.push(format!(
        "claims change nothing; {} may amend the contract",
        row.owner
    ));
    print_text(&lines.join("\n"))?;
    Ok(ExitCode::Done)
}
