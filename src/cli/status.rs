//! `dogwatch status`: where the goal stands, and what needs a person.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{adopted, goal, ledger_path, reader};
use crate::engine::forecast::{Outlook, forecast};
use crate::engine::report::JobCounts;
use crate::ledger::engine_runs;
use crate::model::time::Clock;
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
    let row = goal(&reader, args.goal.as_deref())?;
    let overview = reader.view().overview(&row.goal)?;
    let running = engine_runs(&ledger_path(common)?);
    let counts = JobCounts::of(&overview);
    let age_s = overview
        .engine
        .as_ref()
        .map(|beat| Clock::Real.now().since(beat.beat_at) / 1000);
    // An old text that this program does not read any more has no outlook, but it has counts.
    let outlook = match adopted(&reader, &row.goal) {
        Ok(found) => Some(forecast(reader.view(), &found.goal.contract, found.now)?),
        Err(_) => None,
    };
    if common.json {
        print_json(
            "dogwatch.status/1",
            json!({
                "goal": row, "jobs": counts, "overview": overview, "forecast": outlook,
                "budgets": reader.view().budget_uses(&row.goal)?,
                "engine": { "running": running, "beat_age_s": age_s },
            }),
        )?;
        return Ok(ExitCode::Done);
    }
    let engine = match (&overview.engine, running) {
        (Some(beat), true) if beat.state == "no space" => format!(
            "no space on the disk: nothing new is started until there is some; process {} on {}",
            beat.pid, beat.host
        ),
        (Some(beat), true) => format!(
            "running, process {} on {}, beat {}s ago",
            beat.pid,
            beat.host,
            age_s.unwrap_or(0)
        ),
        (_, true) => "starting".to_owned(),
        (Some(_), false) => "not running; `dogwatch run` goes on where it stopped".to_owned(),
        (None, false) => "never ran".to_owned(),
    };
    let states: Vec<String> = overview
        .by_state
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let waits: Vec<String> = overview
        .by_wait
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let mut out = format!(
        "{} (contract {})\n{}\nengine: {engine}\njobs: {} in all: {}\n",
        row.goal,
        row.version,
        row.objective,
        overview.jobs,
        if states.is_empty() {
            "not listed yet".to_owned()
        } else {
            states.join(", ")
        },
    );
    if !waits.is_empty() {
        out.push_str(&format!("waiting for: {}\n", waits.join(", ")));
    }
    if overview.held > 0 {
        out.push_str(&format!(
            "held: {} differences between ledger and world to accept (dogwatch drift list); nothing is started\n",
            overview.held
        ));
    }
    out.push_str(&format!(
        "needs a person: {} approvals, {} to verify, {} alerts, {} paused\n",
        overview.approvals_open, overview.to_verify, overview.alerts_open, overview.paused
    ));
    if overview.decisions_pending > 0 {
        out.push_str(&format!(
            "decisions not answered yet: {}\n",
            overview.decisions_pending
        ));
    }
    if let Some(day) = overview.queries.first() {
        out.push_str(&format!(
            "{} on {}: {} spent, {} reserved\n",
            day.budget, day.day, day.spent, day.reserved
        ));
    }
    if let Some(why) = &row.stopped {
        out.push_str(&format!(
            "STOPPED: {why} (dogwatch handoff says what is asked)\n"
        ));
    }
    if let Some(outlook) = outlook.as_ref().filter(|one| one.jobs_open > 0) {
        out.push_str(&outlook_lines(outlook));
    }
    if !row.heartbeat.is_empty() {
        out.push_str(&format!("last heartbeat: {}\n", row.heartbeat));
    }
    if let Some(ended) = &row.ended {
        out.push_str(&format!("ended: {ended}\n"));
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}

/// Need against what is left, one line a budget, and what does not fit.
fn outlook_lines(outlook: &Outlook) -> String {
    let mut out = String::new();
    for one in &outlook.budgets {
        let Some(need) = one.need else { continue };
        let until = if one.per_day {
            " until the deadline"
        } else {
            ""
        };
        let left = one.left.map_or_else(String::new, |left| {
            format!(", {} left{until}", one.budget.show(left))
        });
        out.push_str(&format!(
            "forecast {}: {} to {} needed{left}\n",
            one.budget,
            one.budget.show(need.p10 as u64),
            one.budget.show(need.p90 as u64)
        ));
    }
    for misfit in outlook.misfits(false) {
        out.push_str(&format!("does not fit: {misfit}\n"));
    }
    out
}
