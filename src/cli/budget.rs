//! `dogwatch budget`: what is spent of what.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{Adopted, adopted, goal, reader};
use crate::engine::forecast::{Outlook, forecast};
use crate::ledger::Reader;
use crate::model::GoalId;
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
    let id = goal(&reader, args.goal.as_deref())?.goal;
    let found = adopted(&reader, &id)?;
    show(&reader, &id, &found, common)
}

fn show(
    reader: &Reader,
    id: &GoalId,
    found: &Adopted,
    common: &Common,
) -> Result<ExitCode, CliError> {
    let outlook = forecast(reader.view(), &found.goal.contract, found.now)?;
    let uses = reader.view().budget_uses(id)?;
    if common.json {
        print_json(
            "dogwatch.budget/1",
            json!({ "goal": id, "budgets": uses, "forecast": outlook }),
        )?;
        return Ok(ExitCode::Done);
    }
    print_text(&table(
        &[
            "budget",
            "spent",
            "set aside",
            "limit",
            "still needed",
            "left",
        ],
        &rows(&outlook),
    ))?;
    Ok(ExitCode::Done)
}

fn rows(outlook: &Outlook) -> Vec<Vec<String>> {
    let of = |one: &crate::engine::forecast::BudgetOutlook| {
        let show = |amount: u64| one.budget.show(amount);
        let (day, until) = match one.per_day {
            true => (" today", " until the deadline"),
            false => ("", ""),
        };
        vec![
            format!("{}{}", one.budget, if one.per_day { ", a day" } else { "" }),
            format!("{}{day}", show(one.spent)),
            show(one.reserved),
            show(one.limit),
            one.need.map_or_else(
                || "not measured yet".to_owned(),
                |need| format!("{} to {}", show(need.p10 as u64), show(need.p90 as u64)),
            ),
            one.left
                .map_or_else(String::new, |left| format!("{}{until}", show(left))),
        ]
    };
    outlook.budgets.iter().map(of).collect()
}
