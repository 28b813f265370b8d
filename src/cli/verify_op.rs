//! `dogwatch verify-op …`: operations whose outcome nobody knows yet, and a person's ruling on them.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{goal, reader};
use crate::ledger::read::{EventRow, GoalRow, OperationRow};
use crate::ledger::{Act, Event, Reader};
use crate::model::OperationId;
use serde_json::{Value, json};

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
    /// All operations of unknown or unrecorded outcome, oldest first.
    List,
    /// One operation: what was sent, and every look-up with its answer.
    Show {
        /// Its id.
        operation: String,
    },
    /// Look it up now. Never an effect.
    Look {
        /// Its id.
        operation: String,
    },
    /// Rule on it, when you have looked for yourself.
    #[command(group = clap::ArgGroup::new("ruling").required(true).args(["happened", "did_not", "undone"]))]
    Rule {
        /// Its id.
        operation: String,
        /// It happened; the target's reference for it.
        #[arg(long, value_name = "REFERENCE")]
        happened: Option<String>,
        /// It did not happen. A new operation may then be intended.
        #[arg(long)]
        did_not: bool,
        /// It happened, and you undid its effect by hand. A cutover's job goes to a person; a staging run is
        /// made again as a new operation.
        #[arg(long)]
        undone: bool,
        /// How you know; kept with the ruling.
        #[arg(long, value_name = "R")]
        reason: String,
    },
}

/// Runs the command.
///
/// # Errors
/// When there is no such operation, or the ledger cannot be read or written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    match &args.what {
        What::List => list(&reader, &row, common),
        What::Show { operation } => show(&reader, &row, &find(&reader, &row, operation)?, common),
        What::Look { operation } => {
            let found = find(&reader, &row, operation)?;
            let act = Act::LookAgain {
                operation: found.operation,
            };
            decide(common, &reader, &row.goal, &found.job, act)
        }
        What::Rule {
            operation,
            happened,
            undone,
            reason,
            ..
        } => {
            let found = find(&reader, &row, operation)?;
            let act = if *undone {
                Act::Compensate {
                    operation: found.operation,
                    reason: reason.clone(),
                }
            } else {
                Act::Rule {
                    operation: found.operation,
                    happened: happened.is_some(),
                    reference: happened.clone().unwrap_or_default(),
                    reason: reason.clone(),
                }
            };
            decide(common, &reader, &row.goal, &found.job, act)
        }
    }
}

fn find(reader: &Reader, row: &GoalRow, id: &str) -> Result<OperationRow, CliError> {
    reader.view().operation(&row.goal, &OperationId::from(id))?.ok_or_else(|| {
        CliError::new(
            format!("there is no operation {id} in goal {}", row.goal),
            "`dogwatch verify-op list` names those of unknown outcome; `dogwatch show JOB` all of a job.",
        )
    })
}

fn list(reader: &Reader, row: &GoalRow, common: &Common) -> Result<ExitCode, CliError> {
    let open = reader.view().unsettled(&row.goal)?;
    if common.json {
        print_json(
            "dogwatch.operations/1",
            json!({ "goal": row.goal, "operations": open }),
        )?;
        return Ok(ExitCode::Done);
    }
    if open.is_empty() {
        print_text("every operation's outcome is known")?;
        return Ok(ExitCode::Done);
    }
    let lines: Vec<Vec<String>> = open
        .iter()
        .map(|one| {
            let whose = if one.to_verify {
                "needs a person"
            } else {
                "looked up by itself"
            };
            vec![
                one.operation.0.clone(),
                one.job.0.clone(),
                one.action.clone(),
                one.intended_at.to_string(),
                one.look_ups.to_string(),
                whose.to_owned(),
                one.why.clone(),
            ]
        })
        .collect();
    print_text(&table(
        &[
            "operation",
            "job",
            "action",
            "intended",
            "looks",
            "next",
            "why",
        ],
        &lines,
    ))?;
    Ok(ExitCode::Done)
}

fn show(
    reader: &Reader,
    row: &GoalRow,
    found: &OperationRow,
    common: &Common,
) -> Result<ExitCode, CliError> {
    let history: Vec<EventRow> = reader
        .view()
        .job_events(&row.goal, &found.job)?
        .into_iter()
        .filter(|entry| concerns(entry, &found.operation))
        .collect();
    if common.json {
        let entries: Vec<Value> = history
            .iter()
            .map(|one| json!({ "seq": one.seq, "at_ms": one.at, "actor": one.actor, "entry": one.event }))
            .collect();
        print_json(
            "dogwatch.operation/1",
            json!({ "goal": row.goal, "operation": found, "history": entries }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut out = format!(
        "{} of {}: {}\n{} of config {}, run {}, sent {} times, looked up {} times\n",
        found.operation,
        found.job,
        found.state,
        found.action,
        found.config,
        found.ordinal,
        found.sends,
        found.look_ups
    );
    if !found.why.is_empty() {
        out.push_str(&format!("why: {}\n", found.why));
    }
    if !found.reference.is_empty() {
        out.push_str(&format!("reference: {}\n", found.reference));
    }
    if let Some(at) = found.next_look {
        out.push_str(&format!("looked up again: {at}\n"));
    }
    for one in &history {
        out.push_str(&format!("{} {} {}\n", one.at, one.kind, what_was_said(one)));
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}

fn concerns(entry: &EventRow, id: &OperationId) -> bool {
    match &entry.event {
        Some(
            Event::OpIntended { operation, .. }
            | Event::OpSentAgain { operation, .. }
            | Event::OpApplied { operation, .. }
            | Event::OpRefused { operation, .. }
            | Event::OpUnknown { operation, .. }
            | Event::OpOverturned { operation, .. }
            | Event::OpUndone { operation, .. }
            | Event::OpLookedUp { operation, .. },
        ) => operation == id,
        _ => false,
    }
}

fn what_was_said(entry: &EventRow) -> String {
    match &entry.event {
        Some(Event::OpApplied { reference, how, .. }) => format!("{reference} (by {how})"),
        Some(
            Event::OpRefused { why, .. }
            | Event::OpUnknown { why, .. }
            | Event::OpOverturned { why, .. }
            | Event::OpUndone { why, .. },
        ) => why.clone(),
        Some(Event::OpLookedUp { answer, why, .. }) => format!("{answer}: {why}"),
        Some(Event::OpSentAgain { proof, .. }) => proof.clone(),
        _ => String::new(),
    }
}
