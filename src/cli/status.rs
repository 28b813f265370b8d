//! `dogwatch status`: where the goal stands, and what needs a person.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{adopted, goal, ledger_path, reader};
use crate::contract::Contract;
use crate::engine::forecast::{Outlook, forecast};
use crate::engine::report::JobCounts;
use crate::ledger::engine_runs;
use crate::ledger::read::QuestionRow;
use crate::model::{Account, ClauseId, JobId, SafeText, TimeMs, time::Clock};
use serde::Serialize;
use serde_json::json;

/// Samples that the text names; the others are counted.
const NAMED: usize = 10;

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
    let found = adopted(&reader, &row.goal).ok();
    let outlook = match &found {
        Some(found) => Some(forecast(reader.view(), &found.goal.contract, found.now)?),
        None => None,
    };
    let contract = found.as_ref().map(|found| &found.goal.contract);
    let samples = samples(&reader.view().open_questions(&row.goal)?, contract);
    if common.json {
        print_json(
            "dogwatch.status/1",
            json!({
                "goal": row, "jobs": counts, "overview": overview, "samples": samples,
                "forecast": outlook,
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
        "needs a person: {} approvals, {} samples, {} questions, {} to verify, {} alerts, {} paused\n",
        overview.approvals_open,
        overview.samples_open,
        overview.questions_open,
        overview.to_verify,
        overview.alerts_open,
        overview.paused
    ));
    out.push_str(&sample_lines(&samples));
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

/// Rows that wait for somebody to look at them.
#[derive(Debug, Serialize)]
struct Sample {
    sample: String,
    job: JobId,
    clause: Option<ClauseId>,
    /// Who may judge; empty when the contract cannot be read.
    by: Vec<Account>,
    asked_at: TimeMs,
}

/// The samples among what is asked, with whom the contract in force names for each.
fn samples(open: &[QuestionRow], contract: Option<&Contract>) -> Vec<Sample> {
    let judges = |id: &ClauseId| {
        let contract = contract?;
        Some(contract.judges_of(contract.clause(id)?))
    };
    open.iter()
        .filter(|one| one.is_sample())
        .map(|one| Sample {
            sample: one.question.clone(),
            job: one.job.clone(),
            clause: one.clause.clone(),
            by: one.clause.as_ref().and_then(judges).unwrap_or_default(),
            asked_at: one.asked_at,
        })
        .collect()
}

/// Whom each sample waits for, oldest first.
fn sample_lines(samples: &[Sample]) -> String {
    let mut out = String::new();
    for one in samples.iter().take(NAMED) {
        let by: Vec<&str> = one.by.iter().map(|who| who.0.as_str()).collect();
        let who = if by.is_empty() {
            "somebody".to_owned()
        } else {
            by.join(" or ")
        };
        let clause = one.clause.as_ref().map_or("", |id| id.as_str());
        let text = format!(
            "  sample of {} waits for {who}, clause {clause} (dogwatch sample show {})",
            one.job, one.job
        );
        out.push_str(&format!("{}\n", SafeText::line(&text)));
    }
    if samples.len() > NAMED {
        out.push_str(&format!(
            "  and {} samples more (dogwatch sample list)\n",
            samples.len() - NAMED
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(number: usize, kind: &str) -> QuestionRow {
        QuestionRow {
            question: format!("s-{number}"),
            job: JobId(format!("job-{number}")),
            attempt: crate::model::AttemptNo(1),
            kind: kind.to_owned(),
            clause: (kind == "sample").then(|| "looked".into()),
            detail: None,
            text: "rows".to_owned(),
            asked_at: TimeMs(number as i64),
            answered_at: None,
            by: None,
            answer: String::new(),
        }
    }

    #[test]
    fn a_sample_is_named_with_whom_it_waits_for_and_a_question_is_none() {
        let text = crate::world::practice::goal::goal_text(3, 8).replace(
            "[approval.cutover]",
            "[[accept]]\nid = \"looked\"\ncheck = \"person\"\nevery = 2\nby = [\"ada\", \"bob\"]\n\
             question = \"Right?\"\n[approval.cutover]",
        );
        let contract = crate::contract::parse_goal(&text, std::path::Path::new("/"), None)
            .unwrap()
            .contract;
        let open = [asked(1, "sample"), asked(2, "question")];
        let own = samples(&open, Some(&contract));
        assert_eq!(
            sample_lines(&own),
            "  sample of job-1 waits for ada or bob, clause looked (dogwatch sample show job-1)\n"
        );
        // An old text that cannot be read any more names nobody, and the sample is still told.
        let text = sample_lines(&samples(&open, None));
        assert!(text.contains("job-1 waits for somebody"), "{text}");
    }

    #[test]
    fn of_many_samples_the_oldest_are_named_and_the_rest_counted() {
        let open: Vec<QuestionRow> = (0..13).map(|number| asked(number, "sample")).collect();
        let text = sample_lines(&samples(&open, None));
        assert_eq!(text.lines().count(), NAMED + 1, "{text}");
        assert!(
            text.contains("sample of job-0 ") && !text.contains("job-10 "),
            "{text}"
        );
        assert!(text.contains("and 3 samples more"), "{text}");
    }
}
