//! `dogwatch estimate`: the arithmetic of a plan before anything runs, and from measurements after.

use super::Common;
use super::check::read_goal;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{adopted, goal, ledger_path};
use crate::contract::Contract;
use crate::engine::estimate::{
    Assumptions, CORRELATED, Origin, assumption_rows, declare, figures, measure, render,
};
use crate::ledger::Reader;
use crate::model::{GoalId, TimeMs, time::Clock};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A goal file, or the id of an adopted goal; without it, the built-in plan.
    #[arg(value_name = "GOAL")]
    goal: Option<String>,
    /// A TOML of assumptions (the built-in ones: --defaults).
    #[arg(long, value_name = "FILE")]
    assume: Option<PathBuf>,
    /// Replace what was measured, and show what had been assumed beside it.
    #[arg(long, requires = "goal")]
    measured: bool,
    /// Print the built-in assumptions as a file to start from.
    #[arg(long, conflicts_with_all = ["goal", "assume", "measured"])]
    defaults: bool,
}

/// The goal as far as it is known.
struct Plan {
    contract: Contract,
    /// The reader of a ledger in which it is adopted, and its id there.
    adopted: Option<(Reader, GoalId)>,
    now: TimeMs,
}

/// Runs the command.
///
/// # Errors
/// When the goal or the assumptions cannot be read.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    if args.defaults {
        print_text(crate::engine::estimate::DEFAULTS.trim_end())?;
        return Ok(ExitCode::Done);
    }
    let wrong = |error: crate::engine::estimate::AssumeError| {
        CliError::new(
            error.to_string(),
            "Nothing was computed. `dogwatch estimate --defaults` prints every key.",
        )
    };
    let mut assumed = Assumptions::defaults().map_err(wrong)?;
    let plan = match &args.goal {
        Some(name) => Some(plan(name, common)?),
        None => None,
    };
    if let Some(plan) = &plan {
        let view = plan.adopted.as_ref().map(|(reader, _)| reader.view());
        declare(&mut assumed, &plan.contract, view, plan.now)?;
    }
    if let Some(path) = &args.assume {
        let text = read_text(path)?;
        assumed.read(&text, Origin::File).map_err(wrong)?;
    }
    if args.measured {
        let Some((reader, id)) = plan.as_ref().and_then(|plan| plan.adopted.as_ref()) else {
            return Err(CliError::new(
                "nothing was measured: this goal was never adopted in this ledger",
                "Leave --measured out, or name its ledger with --ledger FILE.",
            ));
        };
        if let Some(plan) = &plan {
            measure(&mut assumed, &plan.contract, reader.view(), id, plan.now)?;
        }
    }
    print(args, common, &assumed)?;
    Ok(ExitCode::Done)
}

fn print(args: &Args, common: &Common, assumed: &Assumptions) -> Result<(), CliError> {
    let all = figures(assumed);
    if common.json {
        let assumptions: serde_json::Map<String, Value> = assumed
            .all()
            .map(|(key, value)| (key.path().to_owned(), json!(value)))
            .collect();
        return print_json(
            "dogwatch.estimate/1",
            json!({
                "goal": args.goal, "assumptions": assumptions, "figures": all, "holds_only_if": CORRELATED,
            }),
        );
    }
    let mut head = vec!["assumption", "value", "from"];
    let mut rows = assumption_rows(assumed);
    if args.measured {
        head.extend(["assumed", "basis"]);
    } else {
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    print_text(&format!(
        "{}\n\n{}",
        table(&head, &rows),
        render(assumed, &all)
    ))
}

/// A file that exists is a goal file; anything else is the id of an adopted goal.
fn plan(name: &str, common: &Common) -> Result<Plan, CliError> {
    let path = ledger_path(common)?;
    if Path::new(name).is_file() {
        let contract = read_goal(Path::new(name), &[])?.goal.contract;
        let known = path
            .exists()
            .then(|| Reader::open(&path))
            .and_then(Result::ok)
            .filter(|reader| matches!(reader.view().contract(&contract.id), Ok(Some(_))));
        let now = Clock::Real.now();
        let id = contract.id.clone();
        return Ok(Plan {
            contract,
            adopted: known.map(|reader| (reader, id)),
            now,
        });
    }
    let looks_like_a_file = name.contains('/') || name.ends_with(".toml");
    if looks_like_a_file || !path.exists() {
        return Err(CliError::new(
            format!("{name}: there is no such goal file, and no adopted goal of that name"),
            "Nothing was computed. Name a goal file, or a goal of --ledger FILE.",
        ));
    }
    let reader = Reader::open(&path)?;
    let id = goal(&reader, Some(name))?.goal;
    let found = adopted(&reader, &id)?;
    Ok(Plan {
        contract: found.goal.contract,
        now: found.now,
        adopted: Some((reader, id)),
    })
}

/// A text that is not read further than it may be long.
fn read_text(path: &Path) -> Result<String, CliError> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| {
        CliError::new(
            format!("{}: {error}", path.display()),
            "Nothing was computed. `dogwatch estimate --defaults` prints a file to start from.",
        )
    };
    let most = crate::engine::estimate::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| {
        CliError::new(
            format!("{}: not UTF-8 text", path.display()),
            "Nothing was computed.",
        )
    })
}
