//! `dogwatch adopt FILE`: fix a goal file as contract version 1.

use super::Common;
use super::check::{ReadGoal, read_goal};
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::ledger_path;
use crate::contract::Goal;
use crate::engine::adopt::{Adoption, adopt};
use crate::ledger::Ledger;
use crate::model::{Account, ContractVersion, GoalId, SafeText, TimeMs, time::Clock};
use crate::world::practice;
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The goal file.
    file: PathBuf,
    /// Set a key of the goal's world, such as source.path=FILE.
    #[arg(long = "set", value_name = "PORT.KEY=VALUE")]
    set: Vec<String>,
    /// Answer yes to every question; recorded in your name.
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
///
/// # Errors
/// When the file has problems, a question is not answered, or the ledger refuses.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let me = Account::current();
    let read = read_goal(&args.file, &args.set)?;
    let (goal, version) = adopt_goal(&path, read, &me, args.yes)?;
    if common.json {
        print_json(
            "dogwatch.adopt/1",
            json!({ "goal": goal, "version": version, "ledger": path, "by": me }),
        )?;
    } else {
        print_text(&format!(
            "goal {goal} adopted as version {version} by {me}\nledger {}\nnext: dogwatch run --goal {goal}",
            path.display()
        ))?;
    }
    Ok(ExitCode::Done)
}

/// Asks what is ambiguous, once, and writes version 1.
///
/// # Errors
/// When a question is not answered with yes, or the ledger refuses.
pub fn adopt_goal(
    path: &Path,
    read: ReadGoal,
    me: &Account,
    yes: bool,
) -> Result<(GoalId, ContractVersion), CliError> {
    let ReadGoal {
        mut goal,
        text,
        overrides,
    } = read;
    goal.contract = goal.contract.resolve_me(me);
    let mut ledger = Ledger::open_for_engine(path)?;
    let known = ledger.read().contract(&goal.contract.id)?.is_some();
    let answers = if known {
        Vec::new()
    } else {
        agreed(&goal.questions, me, yes)?
    };
    let id = goal.contract.id.clone();
    let adoption = Adoption {
        goal: &goal,
        text: &text,
        overrides: &overrides,
        me,
        answers,
    };
    let version = adopt(&mut ledger, &adoption, adoption_time(&goal))?;
    Ok((id, version))
}

/// A practice goal begins on its own clock.
fn adoption_time(goal: &Goal) -> TimeMs {
    if goal.contract.world.ports.contains_key("practice") {
        practice::START
    } else {
        Clock::Real.now()
    }
}

/// Asks each question; the answers as they are recorded.
///
/// # Errors
/// When one is not answered with yes.
pub fn agreed(questions: &[String], me: &Account, yes: bool) -> Result<Vec<String>, CliError> {
    let mut answers = Vec::new();
    for question in questions {
        let agreed = yes || asked_on_terminal(question)?;
        if !agreed {
            return Err(CliError::new(
                format!("not agreed to: {question}"),
                "Nothing was written. Make it clear in the goal file, or answer yes (--yes).",
            ));
        }
        answers.push(answer(question, me));
    }
    Ok(answers)
}

/// How an agreement is kept.
pub fn answer(question: &str, me: &Account) -> String {
    format!("{question} {me}: yes")
}

fn asked_on_terminal(question: &str) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut err = std::io::stderr().lock();
    let mut answer = String::new();
    let asked = write!(err, "{} [y/N] ", SafeText::line(question))
        .and_then(|()| err.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    match asked {
        Ok(_) => Ok(matches!(answer.trim(), "y" | "Y" | "yes")),
        Err(error) => Err(CliError::new(
            format!("no answer: {error}"),
            "Nothing was written.",
        )),
    }
}
