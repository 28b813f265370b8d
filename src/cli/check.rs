//! `dogwatch check FILE`: what adoption would ask, without adopting.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use crate::check::Known;
use crate::contract::parse::{absolute_overrides, read_goal_file};
use crate::contract::{Goal, GoalError, apply_overrides};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The goal file.
    file: PathBuf,
    /// Set a key of the goal's world, such as source.path=FILE.
    #[arg(long = "set", value_name = "PORT.KEY=VALUE")]
    set: Vec<String>,
}

/// A goal file read for adoption.
pub struct ReadGoal {
    /// The goal; `@me` is not resolved yet.
    pub goal: Goal,
    /// The file's text.
    pub text: String,
    /// The overrides with absolute paths.
    pub overrides: Vec<String>,
}

/// Reads a goal file with overrides; its base directory is absolute.
///
/// # Errors
/// With line, column and a caret for each problem.
pub fn read_goal(file: &Path, set: &[String]) -> Result<ReadGoal, CliError> {
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let overrides = absolute_overrides(set, &cwd);
    let (mut goal, text) = read_goal_file(&cwd.join(file), Some(&Known))
        .map_err(|(error, text)| goal_error(file, &error, &text))?;
    apply_overrides(&mut goal, &overrides)
        .map_err(|why| CliError::new(why, "Nothing was adopted."))?;
    Ok(ReadGoal {
        goal,
        text,
        overrides,
    })
}

fn goal_error(file: &Path, error: &GoalError, text: &str) -> CliError {
    let report = error.report(&file.display().to_string(), text);
    CliError::new(
        format!(
            "the goal file has {} problem(s)\n{report}",
            error.problems.len()
        ),
        "Nothing was adopted. Mend the file and run `dogwatch check` again.",
    )
}

/// Runs the command.
///
/// # Errors
/// When the file has problems.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let ReadGoal { goal, .. } = read_goal(&args.file, &args.set)?;
    let contract = &goal.contract;
    if common.json {
        print_json(
            "dogwatch.check/1",
            json!({
                "goal": contract.id,
                "digest": contract.digest,
                "questions": goal.questions,
                "notes": goal.notes,
                "clauses": contract.accept.iter().map(|one| &one.id).collect::<Vec<_>>(),
                "strategies": goal.strategies.iter().map(|one| &one.id).collect::<Vec<_>>(),
            }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut out = format!(
        "goal {}: sound\ncontract {}\n",
        contract.id,
        contract.digest.short()
    );
    for note in &goal.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    for question in &goal.questions {
        out.push_str(&format!("asked at adoption: {question}\n"));
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}
