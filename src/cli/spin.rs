//! `dogwatch spin …`: alarms of work that goes round in circles, and what operators say to them.

use super::Common;
use super::decision::decide;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{goal, reader};
use crate::ledger::read::{GoalRow, JobQuery, OverruleRow, SpinRow};
use crate::ledger::{Act, Reader};
use crate::model::{JobId, Seq};
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
    /// Alarms with rule, numbers and the entries behind them; what was overruled; how the goal gets on.
    List,
    /// Say that an alarm is no spinning: a rule of this goal from now on.
    Overrule {
        /// The alarm's number, as listed.
        alarm: i64,
        /// Everywhere in the goal, not for the alarm's job alone.
        #[arg(long)]
        everywhere: bool,
        /// How you know; kept with the rule.
        #[arg(long, value_name = "R")]
        reason: String,
    },
    /// Take an overruling back.
    Enforce {
        /// Its number, as listed.
        overruling: i64,
    },
}

/// Runs the command.
///
/// # Errors
/// When there is no such alarm, or the ledger cannot be read or written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let spins = reader.view().spins(&row.goal)?;
    let overrules = reader.view().overrules(&row.goal)?;
    match &args.what {
        What::List => list(&reader, &row, &spins, &overrules, common),
        What::Overrule {
            alarm,
            everywhere,
            reason,
        } => {
            let Some(found) = spins.iter().find(|one| one.seq.0 == *alarm) else {
                return Err(missing("alarm", *alarm));
            };
            let act = Act::OverruleSpin {
                spin: found.seq,
                everywhere: *everywhere,
                reason: reason.clone(),
            };
            let job = carrier(&reader, &row, found.job.as_ref())?;
            decide(common, &reader, &row.goal, &job, act)
        }
        What::Enforce { overruling } => {
            let open = overrules
                .iter()
                .find(|one| one.seq.0 == *overruling && one.ended_at.is_none());
            let Some(found) = open else {
                return Err(missing("overruling in force", *overruling));
            };
            let act = Act::EnforceSpin {
                overrule: Seq(*overruling),
            };
            let job = carrier(&reader, &row, found.job.as_ref())?;
            decide(common, &reader, &row.goal, &job, act)
        }
    }
}

fn missing(what: &str, number: i64) -> CliError {
    CliError::new(
        format!("there is no {what} {number}"),
        "Nothing was asked for. `dogwatch spin list` names them.",
    )
}

/// A decision is a job's entry; one about the goal as a whole lies with its first job.
fn carrier(reader: &Reader, row: &GoalRow, job: Option<&JobId>) -> Result<JobId, CliError> {
    if let Some(job) = job {
        return Ok(job.clone());
    }
    let ids = reader.view().job_ids(&row.goal, &JobQuery::default())?;
    ids.into_iter().next().ok_or_else(|| {
        CliError::new(
            format!("goal {} has no job yet", row.goal),
            "Nothing was asked for.",
        )
    })
}

fn list(
    reader: &Reader,
    row: &GoalRow,
    spins: &[SpinRow],
    overrules: &[OverruleRow],
    common: &Common,
) -> Result<ExitCode, CliError> {
    let progress = reader.view().progress(&row.goal)?;
    if common.json {
        print_json(
            "dogwatch.spins/1",
            json!({ "goal": row.goal, "progress": progress, "alarms": spins, "overruled": overrules }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut out = format!(
        "{} clauses passed for the first time; since the last one {} attempts ended and {} tokens were spent",
        progress.passes, progress.rounds, progress.tokens
    );
    if !progress.held.is_empty() {
        out.push_str(&format!("\nheld, a person decides: {}", progress.held));
    }
    let whose = |job: &Option<JobId>| {
        job.as_ref()
            .map_or("the goal", |job| job.as_str())
            .to_owned()
    };
    if !spins.is_empty() {
        let lines: Vec<Vec<String>> = spins
            .iter()
            .map(|one| {
                let entries: Vec<String> =
                    one.entries.iter().map(|seq| seq.0.to_string()).collect();
                vec![
                    one.seq.0.to_string(),
                    whose(&one.job),
                    one.rule.to_string(),
                    format!("{} of {}", one.count, one.limit),
                    one.next.map_or_else(
                        || "a person".to_owned(),
                        |next| format!("strategy {}", next + 1),
                    ),
                    entries.join(","),
                    one.what.clone(),
                ]
            })
            .collect();
        out.push_str("\n\n");
        out.push_str(&table(
            &["alarm", "of", "rule", "seen", "then", "entries", "what"],
            &lines,
        ));
    }
    let open: Vec<Vec<String>> = overrules
        .iter()
        .filter(|one| one.ended_at.is_none())
        .map(|one| {
            vec![
                one.seq.0.to_string(),
                whose(&one.job),
                one.rule.to_string(),
                one.by.to_string(),
                one.reason.clone(),
            ]
        })
        .collect();
    if !open.is_empty() {
        out.push_str("\n\n");
        out.push_str(&table(
            &["overruling", "for", "rule", "by", "reason"],
            &open,
        ));
    }
    print_text(&out)?;
    Ok(ExitCode::Done)
}
