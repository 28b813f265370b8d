//! `dogwatch show JOB`: everything the ledger knows of one job.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text, table};
use super::place::{goal, job, reader};
use super::transcript;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{AttemptRow, EvidenceRow, OperationRow, View};
use crate::model::{Digest, SafeText};
use serde_json::{Value, json};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    job: String,
    /// Print the current config as well.
    #[arg(long)]
    config: bool,
    /// Print what the model and its tools said, in every attempt.
    #[arg(long)]
    transcript: bool,
    /// With --transcript: nothing folded.
    #[arg(long, requires = "transcript")]
    whole: bool,
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When the job does not exist or the ledger cannot be read.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let id = job(&reader, &row.goal, &args.job)?;
    let view = reader.view();
    let Some(facts) = view.facts(&row.goal, &id)? else {
        return Err(CliError::new(format!("job {id} is gone"), ""));
    };
    let attempts = view.attempts(&row.goal, &id)?;
    let evidence = view.evidence(&row.goal, &id)?;
    let operations = view.operations(&row.goal, &id)?;
    let config = match (&facts.config, args.config) {
        (Some(digest), true) => Some(text(view, digest)?),
        _ => None,
    };
    let mut transcripts = Vec::new();
    if args.transcript {
        for one in &attempts {
            let turns = view.transcript(&row.goal, &id, one.attempt)?;
            if !turns.is_empty() {
                transcripts.push((one.attempt, turns));
            }
        }
    }
    if common.json {
        let details: Vec<Value> = evidence
            .iter()
            .map(|one| {
                let detail = text(view, &one.detail)
                    .ok()
                    .and_then(|text| serde_json::from_str(&text).ok());
                json!({ "row": one, "detail": detail.unwrap_or(Value::Null) })
            })
            .collect();
        print_json(
            "dogwatch.show/1",
            json!({
                "goal": row.goal, "job": id, "facts": facts, "attempts": attempts, "evidence": details,
                "operations": operations, "config": config, "turns": view.turns(&row.goal, &id)?,
                "tool_calls": view.tool_calls(&row.goal, &id)?,
                "transcript": transcripts.iter().map(|(attempt, turns)| json!({
                    "attempt": attempt, "turns": turns,
                })).collect::<Vec<_>>(),
            }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut out = render(&facts, &attempts, &evidence, &operations, config.as_deref());
    for (attempt, turns) in &transcripts {
        out.push('\n');
        out.push_str(transcript::render(attempt.0, turns, args.whole).trim_end());
    }
    print_text(&out)?;
    Ok(ExitCode::Done)
}

fn text(view: View<'_>, digest: &Digest) -> Result<String, CliError> {
    let bytes = view.blob(digest)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn render(
    facts: &JobFacts,
    attempts: &[AttemptRow],
    evidence: &[EvidenceRow],
    operations: &[OperationRow],
    config: Option<&str>,
) -> String {
    let mut out = format!(
        "{} ({}): {}\n{}\nfrom {}, {} clauses, {} queries, {} staging runs\n",
        facts.id,
        facts.state,
        SafeText::line(&facts.reason),
        SafeText::line(&facts.title),
        SafeText::line(&facts.origin),
        facts.clauses.len(),
        facts.queries,
        facts.tries_total
    );
    if facts.tokens() > 0 {
        out.push_str(&format!("{} tokens spent by models\n", facts.tokens()));
    }
    if let Some(question) = &facts.chat.question {
        out.push_str(&format!(
            "the worker asks since {}: {}\n",
            question.asked_at,
            SafeText::line(&question.text)
        ));
    }
    if let Some(wait) = &facts.wait {
        out.push_str(&format!(
            "waits: {}; next look {}, overdue {}\n",
            SafeText::line(&wait.reason),
            wait.next_check,
            wait.overdue
        ));
    }
    if let Some(approval) = &facts.approval {
        out.push_str(&format!(
            "request {} ({}), digest {}\n",
            approval.id,
            approval.state.word(),
            approval.digest
        ));
    }
    for one in attempts {
        let outcome = if one.outcome.is_empty() {
            "goes on"
        } else {
            &one.outcome
        };
        out.push_str(&format!(
            "attempt {} by {}: {outcome}. {}\n",
            one.attempt,
            one.strategy,
            SafeText::line(&one.reason)
        ));
    }
    let lines: Vec<Vec<String>> = evidence
        .iter()
        .map(|one| {
            vec![
                one.clause.0.clone(),
                match &one.by {
                    Some(by) => format!("{}: {by}", one.kind),
                    None => one.kind.word().to_owned(),
                },
                one.verdict.word().to_owned(),
                one.at.to_string(),
                one.summary.clone(),
            ]
        })
        .collect();
    if !lines.is_empty() {
        out.push_str(&format!(
            "{}\n",
            table(&["clause", "word of", "verdict", "at", "evidence"], &lines)
        ));
    }
    let lines: Vec<Vec<String>> = operations
        .iter()
        .map(|one| {
            vec![
                one.operation.0.clone(),
                one.action.clone(),
                one.state.word().to_owned(),
                if one.why.is_empty() {
                    one.reference.clone()
                } else {
                    one.why.clone()
                },
            ]
        })
        .collect();
    if !lines.is_empty() {
        out.push_str(&format!(
            "{}\n",
            table(&["operation", "action", "state", "what"], &lines)
        ));
    }
    if let Some(config) = config {
        out.push_str(&format!("config:\n{config}"));
    }
    out.trim_end().to_owned()
}
