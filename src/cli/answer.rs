//! `dogwatch answer`: a worker's question answered.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::place::{goal, job, reader};
use crate::ledger::Act;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job whose worker asks.
    job: String,
    /// The answer; it becomes the tool's answer in the worker's loop.
    text: String,
    /// The question, when it may have changed since you read it (see `questions --json`).
    #[arg(long, value_name = "ID")]
    question: Option<String>,
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When the job asks nothing, or the ledger cannot be written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let id = job(&reader, &row.goal, &args.job)?;
    let open = reader
        .view()
        .open_questions(&row.goal)?
        .into_iter()
        .find(|one| one.job == id);
    let Some(open) = open else {
        return Err(CliError::new(
            format!("the worker of {id} asks nothing now"),
            "Nothing was sent. `dogwatch questions` lists what is asked.",
        ));
    };
    let question = args.question.clone().unwrap_or(open.question);
    let act = Act::Answer {
        question,
        text: args.text.clone(),
    };
    decide(common, &reader, &row.goal, &id, act)
}
