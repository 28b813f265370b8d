//! `dogwatch plan`: the strategies in order, their revisions, and revising them.

use super::Common;
use super::check::read_goal;
use super::decision::await_answer;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{adopted, goal, ledger_path, reader};
use crate::engine::adopt::Adoption;
use crate::engine::replan::revise;
use crate::ledger::decide::{origin, submit_with};
use crate::ledger::read::{PlanRow, SpinRow};
use crate::ledger::{Act, Ledger, engine_runs};
use crate::model::{Account, JobId, SafeText, digest_bytes, time::Clock};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// The goal.
    #[arg(long, value_name = "ID", global = true)]
    goal: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Take the strategies of a goal file whose contract is the one in force.
    Revise {
        /// The goal file.
        file: PathBuf,
        /// What is hoped to change; kept with the revision.
        #[arg(long, value_name = "WORDS")]
        hypothesis: String,
    },
}

/// Runs the command.
///
/// # Errors
/// When the file is no goal, its contract is another one, or the ledger cannot be read or written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    match &args.what {
        None => show(args, common),
        Some(What::Revise { file, hypothesis }) => revise_from(file, hypothesis, args, common),
    }
}

fn show(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let plan = adopted(&reader, &row.goal)?.goal.strategies;
    let revisions = reader.view().plans(&row.goal)?;
    let switches: Vec<SpinRow> = reader
        .view()
        .spins(&row.goal)?
        .into_iter()
        .filter(|one| one.next.is_some())
        .collect();
    if common.json {
        let strategies: Vec<_> = plan
            .iter()
            .map(|one| json!({ "id": one.id, "worker": one.worker }))
            .collect();
        print_json(
            "dogwatch.plan/1",
            json!({
                "goal": row.goal, "strategies": strategies, "revisions": revisions, "switches": switches,
            }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut lines: Vec<String> = plan
        .iter()
        .enumerate()
        .map(|(place, one)| format!("{}. {} ({})", place + 1, one.id, one.worker))
        .collect();
    lines.extend(revisions.iter().map(line));
    lines.extend(switches.iter().map(|one| {
        let job = one
            .job
            .as_ref()
            .map_or("the whole goal", |job| job.as_str());
        let next = one.next.unwrap_or_default() + 1;
        format!(
            "alarm {}: {job} went on with strategy {next}: {}",
            one.seq.0,
            SafeText::line(&one.what)
        )
    }));
    print_text(&lines.join("\n"))?;
    Ok(ExitCode::Done)
}

fn line(row: &PlanRow) -> String {
    format!(
        "revision {} by {} at {}: {}\n  {}",
        row.revision,
        row.by,
        row.at,
        SafeText::line(&row.hypothesis),
        SafeText::line(&row.changes.join("; "))
    )
}

fn revise_from(
    file: &std::path::Path,
    hypothesis: &str,
    args: &Args,
    common: &Common,
) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let me = Account::current();
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let contract = reader
        .view()
        .contract(&row.goal)?
        .ok_or_else(|| CliError::new(format!("goal {} has no contract here", row.goal), ""))?;
    let mut read = read_goal(file, &contract.overrides)?;
    read.goal.contract = read.goal.contract.resolve_me(&contract.me);
    if read.goal.contract.id != row.goal {
        return Err(CliError::new(
            format!(
                "the file is goal {}, not {}",
                read.goal.contract.id, row.goal
            ),
            "Nothing was changed.",
        ));
    }
    if !engine_runs(&path) {
        let adoption = Adoption {
            goal: &read.goal,
            text: &read.text,
            overrides: &read.overrides,
            me: &me,
            answers: Vec::new(),
        };
        let mut ledger = Ledger::open_for_engine(&path)?;
        let now = if read.goal.contract.world.ports.contains_key("practice") {
            contract.adopted_at
        } else {
            Clock::Real.now()
        };
        let revision = revise(&mut ledger, &adoption, hypothesis, now)?;
        return told(
            common,
            "accepted",
            &format!("revision {revision} of the plan is in force"),
        );
    }
    let from = reader
        .view()
        .plans(&row.goal)?
        .last()
        .map_or(0, |one| one.revision);
    let act = Act::RevisePlan {
        from,
        text: digest_bytes(read.text.as_bytes()),
        hypothesis: hypothesis.to_owned(),
    };
    let decision = submit_with(
        &path,
        &row.goal,
        &JobId::from(""),
        act,
        &me,
        &origin(),
        Clock::Real.now(),
        &[read.text.as_bytes()],
    )?;
    let (state, why) = await_answer(&reader, &decision, true)?;
    told(common, &state, &why)
}

fn told(common: &Common, state: &str, why: &str) -> Result<ExitCode, CliError> {
    if common.json {
        print_json("dogwatch.revision/1", json!({ "state": state, "why": why }))?;
    } else {
        print_text(&format!("{state}: {why}"))?;
    }
    Ok(if state == "refused" {
        ExitCode::Refused
    } else {
        ExitCode::Done
    })
}
