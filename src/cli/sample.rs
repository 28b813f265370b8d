//! `dogwatch sample …`: rows that people are asked to look at, and their verdicts.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{goal, job, reader};
use crate::ledger::read::{QuestionRow, View};
use crate::ledger::{Act, Reader};
use crate::model::{GoalId, SafeText};
use serde_json::{Value, json};

/// Most samples listed.
const LISTED: usize = 500;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// The goal.
    #[arg(long, value_name = "ID", global = true)]
    goal: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Rows that wait for somebody to look at them, oldest first.
    List {
        /// Judged and lapsed ones as well.
        #[arg(long)]
        all: bool,
    },
    /// The rows of a job, old beside new, with the queries that read them.
    Show {
        /// The job.
        job: String,
    },
    /// Judge the rows of a job, in this account's name.
    Judge {
        /// The job.
        job: String,
        /// They are right.
        #[arg(long, conflicts_with = "fail", required_unless_present = "fail")]
        pass: bool,
        /// They are wrong: why. The job's next attempt is given this.
        #[arg(long, value_name = "WHY")]
        fail: Option<String>,
        /// What you saw, with a pass.
        #[arg(long, value_name = "WORDS", conflicts_with = "fail")]
        note: Option<String>,
        /// The sample that you looked at, when it may have changed since (see `sample list --json`).
        #[arg(long, value_name = "ID")]
        sample: Option<String>,
    },
}

/// Runs the command.
///
/// # Errors
/// When nothing is asked about the job, or the ledger cannot be read or written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    match &args.what {
        What::List { all } => list(&reader, &row.goal, *all, common),
        What::Show { job: id } => {
            let id = job(&reader, &row.goal, id)?;
            let asked = open(&reader, &row.goal, id.as_str())?;
            show(reader.view(), &row.goal, &asked, common)
        }
        What::Judge {
            job: id,
            pass,
            fail,
            note,
            sample,
        } => {
            let id = job(&reader, &row.goal, id)?;
            let asked = open(&reader, &row.goal, id.as_str())?;
            let act = Act::Judge {
                sample: sample.clone().unwrap_or(asked.question),
                pass: *pass,
                reason: fail.clone().or_else(|| note.clone()).unwrap_or_default(),
            };
            decide(common, &reader, &row.goal, &id, act)
        }
    }
}

/// What is asked about a job now.
fn open(reader: &Reader, goal: &GoalId, job: &str) -> Result<QuestionRow, CliError> {
    let all = reader.view().open_questions(goal)?;
    all.into_iter()
        .find(|one| one.is_sample() && one.job.as_str() == job)
        .ok_or_else(|| {
            CliError::new(
                format!("nobody is asked to look at rows of {job} now"),
                "Nothing was sent. `dogwatch sample list` says of which jobs somebody is.",
            )
        })
}

fn list(reader: &Reader, goal: &GoalId, all: bool, common: &Common) -> Result<ExitCode, CliError> {
    let rows = if all {
        reader.view().questions(goal, LISTED)?
    } else {
        reader.view().open_questions(goal)?
    };
    let samples: Vec<QuestionRow> = rows.into_iter().filter(QuestionRow::is_sample).collect();
    if common.json {
        print_json(
            "dogwatch.samples/1",
            json!({ "goal": goal, "samples": samples, "detail": Value::Null }),
        )?;
        return Ok(ExitCode::Done);
    }
    if samples.is_empty() {
        print_text("nobody is asked to look at rows")?;
        return Ok(ExitCode::Done);
    }
    let lines: Vec<String> = samples.iter().map(line).collect();
    print_text(&lines.join("\n"))?;
    Ok(ExitCode::Done)
}

fn line(one: &QuestionRow) -> String {
    let clause = one.clause.as_ref().map_or("", |own| own.as_str());
    let first = one.text.lines().next().unwrap_or_default();
    let stands = match (&one.by, one.answered_at) {
        (Some(by), Some(at)) => format!("judged by {by} at {at}: {}", one.answer),
        (None, Some(_)) => format!("lapsed: {}", one.answer),
        _ => format!("`dogwatch sample show {}` has the rows", one.job),
    };
    format!(
        "{} clause {clause}, asked {}: {}\n  {}",
        one.job,
        one.asked_at,
        SafeText::line(first),
        SafeText::line(&stands)
    )
}

fn show(
    view: View<'_>,
    goal: &GoalId,
    one: &QuestionRow,
    common: &Common,
) -> Result<ExitCode, CliError> {
    let detail: Value = match &one.detail {
        Some(digest) => {
            let bytes = view.blob(digest)?.unwrap_or_default();
            serde_json::from_slice(&bytes).unwrap_or(Value::Null)
        }
        None => Value::Null,
    };
    if common.json {
        print_json(
            "dogwatch.samples/1",
            json!({ "goal": goal, "samples": [one], "detail": detail }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut out: Vec<String> = one
        .text
        .lines()
        .map(|text| SafeText::line(text).to_string())
        .collect();
    let queries = detail.get("queries").and_then(Value::as_array);
    for query in queries.into_iter().flatten().filter_map(Value::as_str) {
        out.push(format!("query: {}", SafeText::line(query)));
    }
    out.push(format!(
        "judge it: dogwatch sample judge {} --pass, or --fail \"…\"",
        one.job
    ));
    print_text(&out.join("\n"))?;
    Ok(ExitCode::Done)
}
