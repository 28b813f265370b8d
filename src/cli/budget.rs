//! `dogwatch budget`: what is spent of what, and raising a limit in place.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{Adopted, adopted, goal, reader};
use crate::contract::budget_edit::{Limit, with_limit};
use crate::engine::forecast::{Outlook, forecast};
use crate::ledger::Reader;
use crate::model::{Budget, GoalId};
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// The goal.
    #[arg(long, global = true, value_name = "ID")]
    goal: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Raise one limit of the contract in place; work that it stopped goes on by itself.
    Raise {
        /// tokens, money, wall_clock, external_actions or warehouse_queries.
        #[arg(value_name = "NAME")]
        name: String,
        /// As the goal file writes it: 40000000, 250, "8 workdays".
        #[arg(value_name = "LIMIT")]
        limit: String,
        /// Why; kept with the contract's new version.
        #[arg(long, value_name = "REASON")]
        why: String,
        /// The limit of a day, for external_actions.
        #[arg(long)]
        per_day: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// When the ledger cannot be read, or the limit is none or no higher one.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let id = goal(&reader, args.goal.as_deref())?.goal;
    let found = adopted(&reader, &id)?;
    match &args.what {
        None => show(&reader, &id, &found, common),
        Some(What::Raise {
            name,
            limit,
            why,
            per_day,
        }) => {
            let (text, limit) = raised(&found, name, limit, *per_day)?;
            super::amend::put_in_force(&reader, common, &text, why, &limit)
        }
    }
}

/// The goal file's text with the higher limit, and the change in words.
fn raised(
    found: &Adopted,
    name: &str,
    limit: &str,
    per_day: bool,
) -> Result<(String, String), CliError> {
    let nothing = "Nothing was changed.";
    let Some(budget) = Budget::from_word(name) else {
        let names: Vec<&str> = Budget::ALL.iter().map(|one| one.word()).collect();
        return Err(CliError::new(
            format!("there is no budget {name}"),
            format!("{nothing} There are {}.", names.join(", ")),
        ));
    };
    let daily = per_day || budget == Budget::WarehouseQueries;
    let contract = &found.goal.contract;
    let before = if daily {
        contract.budgets.a_day(budget)
    } else {
        contract.wall(budget)
    };
    let wrong = |why: String| CliError::new(why, nothing);
    let limit = Limit::parse(budget, limit).map_err(wrong)?;
    let text = with_limit(&found.text, budget, &limit, daily).map_err(wrong)?;
    let after = limit.units(&contract.workdays);
    match (before, after) {
        (None, _) => Err(CliError::new(
            format!("the contract sets no limit for {name}"),
            format!("{nothing} A new limit is an amendment: dogwatch amend FILE."),
        )),
        (Some(before), Some(after)) if after <= before => Err(CliError::new(
            format!(
                "{} is no more than the limit in force, {}",
                budget.show(after),
                budget.show(before)
            ),
            format!("{nothing} A lower limit is an amendment: dogwatch amend FILE."),
        )),
        (Some(before), after) => Ok((
            text,
            format!(
                "{name}: {} becomes {}",
                budget.show(before),
                after.map_or_else(|| "no limit".to_owned(), |after| budget.show(after))
            ),
        )),
    }
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
