//! `dogwatch questions`: what workers ask people, and rows that people are asked to look at.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{goal, reader};
use crate::model::SafeText;
use serde_json::json;

/// Most questions listed.
const LISTED: usize = 200;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answered ones as well.
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
    let questions = if args.all {
        reader.view().questions(&row.goal, LISTED)?
    } else {
        reader.view().open_questions(&row.goal)?
    };
    if common.json {
        print_json(
            "dogwatch.questions/1",
            json!({ "goal": row.goal, "questions": questions }),
        )?;
        return Ok(ExitCode::Done);
    }
    if questions.is_empty() {
        print_text("No worker asks anything.")?;
        return Ok(ExitCode::Done);
    }
    let mut out = String::new();
    for one in &questions {
        let asks = match &one.clause {
            Some(clause) => format!("clause {clause} asks"),
            None => "asks".to_owned(),
        };
        out.push_str(&format!(
            "{} {asks} since {}: {}\n",
            one.job,
            one.asked_at,
            SafeText::line(&one.text)
        ));
        match (&one.by, one.answered_at) {
            (Some(by), Some(at)) => {
                out.push_str(&format!(
                    "  {by} at {at}: {}\n",
                    SafeText::line(&one.answer)
                ));
            }
            (None, Some(_)) => {
                out.push_str(&format!("  lapsed: {}\n", SafeText::line(&one.answer)))
            }
            _ if one.is_sample() => out.push_str(&format!(
                "  judge it: dogwatch sample judge {} --pass, or --fail \"…\"\n",
                one.job
            )),
            _ => out.push_str(&format!("  answer it: dogwatch answer {} \"…\"\n", one.job)),
        }
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}
