//! `dogwatch drift …`: what differs between the ledger and the world after an unclean stop. While anything
//! does, the engine is held: it starts nothing.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{goal, reader};
use crate::ledger::read::{DriftRow, GoalRow};
use crate::ledger::{Act, Reader};
use crate::model::{DriftId, JobId};
use serde_json::json;

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
    /// What differs, and what accepting it does.
    List {
        /// Also what was accepted or is not seen any more.
        #[arg(long)]
        all: bool,
    },
    /// Accept differences: the world wins, and new entries correct the ledger.
    #[command(group = clap::ArgGroup::new("which").required(true).args(["items", "all"]))]
    Accept {
        /// Their ids.
        #[arg(value_name = "ITEM")]
        items: Vec<String>,
        /// All that are listed now.
        #[arg(long)]
        all: bool,
    },
    /// Compare again now: what was mended in the world needs no acceptance.
    Again,
}

/// Runs the command.
///
/// # Errors
/// When there is no such difference, or the ledger cannot be read or written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let none = JobId::from("");
    match &args.what {
        What::List { all } => list(&reader, &row, *all, common),
        What::Accept { items, all } => {
            let items = chosen(&reader, &row, items, *all)?;
            decide(
                common,
                &reader,
                &row.goal,
                &none,
                Act::AcceptDrift { items },
            )
        }
        What::Again => decide(common, &reader, &row.goal, &none, Act::CompareAgain),
    }
}

fn open(reader: &Reader, row: &GoalRow) -> Result<Vec<DriftRow>, CliError> {
    let mut rows = reader.view().drift(&row.goal)?;
    rows.retain(|one| one.state == "open");
    Ok(rows)
}

fn chosen(
    reader: &Reader,
    row: &GoalRow,
    items: &[String],
    all: bool,
) -> Result<Vec<DriftId>, CliError> {
    let known: Vec<DriftId> = open(reader, row)?.into_iter().map(|one| one.item).collect();
    let named = if all {
        known.clone()
    } else {
        items.iter().map(|id| DriftId(id.clone())).collect()
    };
    let hint = "`dogwatch drift list` names them.";
    if named.is_empty() {
        return Err(CliError::new("there is nothing to accept", hint));
    }
    match named.iter().find(|id| !known.contains(id)) {
        Some(id) => Err(CliError::new(
            format!("there is no open difference {id}"),
            hint,
        )),
        None => Ok(named),
    }
}

fn list(reader: &Reader, row: &GoalRow, all: bool, common: &Common) -> Result<ExitCode, CliError> {
    let mut rows = reader.view().drift(&row.goal)?;
    let held = rows.iter().filter(|one| one.state == "open").count();
    rows.retain(|one| all || one.state == "open");
    if common.json {
        print_json(
            "dogwatch.drift/1",
            json!({ "goal": row.goal, "held": held > 0, "differences": rows }),
        )?;
        return Ok(ExitCode::Done);
    }
    if rows.is_empty() {
        print_text("the ledger and the world agree, as far as they were compared")?;
        return Ok(ExitCode::Done);
    }
    let mut out = match held {
        0 => String::new(),
        count => format!("held: nothing is started until {count} differences are accepted\n"),
    };
    for one in &rows {
        let about = one.job.as_ref().map_or("the goal", |job| job.as_str());
        out.push_str(&format!(
            "{} {about} ({})\n  the ledger says: {}\n  the world says:  {}\n",
            one.item, one.kind, one.ledger_says, one.world_says
        ));
        out.push_str(&match one.state.as_str() {
            "open" => format!("  accepting it:    {}\n", one.accepting),
            state => format!("  {state}: {}\n", one.how),
        });
    }
    if held > 0 {
        out.push_str(
            "accept: dogwatch drift accept ITEM… or --all; compare again: dogwatch drift again\n",
        );
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}
