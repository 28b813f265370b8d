//! `dogwatch amend FILE`: what another contract version would do, and putting it in force.

use super::Common;
use super::adopt::{agreed, answer};
use super::check::{ReadGoal, read_goal};
use super::decision::await_answer;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{ledger_path, reader};
use crate::contract::Goal;
use crate::contract::diff::unified;
use crate::engine::adopt::parse_adopted;
use crate::engine::amend::{Impact, preview_from};
use crate::ledger::decide::{engine_time, origin, submit_with};
use crate::ledger::read::ContractRow;
use crate::ledger::{Act, LedgerError, Reader, engine_runs};
use crate::model::{Account, DecisionId, Digest, JobId, digest_bytes, time::Clock};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The changed goal file.
    file: PathBuf,
    /// Only say what it would do.
    #[arg(long)]
    preview: bool,
    /// Why it is amended; kept with the version.
    #[arg(long, value_name = "REASON", required_unless_present = "preview")]
    why: Option<String>,
    /// Agree without being asked; recorded in your name.
    #[arg(long)]
    yes: bool,
    /// Queries left today, where others draw on the same quota and the ledger cannot know.
    #[arg(long, value_name = "N")]
    left_today: Option<u64>,
    /// Set a key of the goal's world, such as source.path=FILE; as at adoption when left out.
    #[arg(long = "set", value_name = "PORT.KEY=VALUE")]
    set: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When the file has problems, is no amendment of an adopted goal, or the ledger cannot be written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let reader = reader(common)?;
    let proposal = propose(&reader, &args.file, &args.set)?;
    let now = engine_time(reader.view(), Clock::Real.now())?;
    let impact = preview_from(
        reader.view(),
        &proposal.old.contract,
        proposal.row.version,
        &proposal.read.goal.contract,
        now,
        args.left_today,
    )?;
    if !common.json {
        print_text(&text_of(&proposal, &impact))?;
    }
    let why = match (&args.why, args.preview) {
        (Some(why), false) => why,
        _ => {
            if common.json {
                print_json("dogwatch.amend/1", body(&impact, None))?;
            }
            return Ok(ExitCode::Done);
        }
    };
    let me = Account::current();
    let owner = &proposal.old.contract.owner;
    let mut answers = Vec::new();
    if me != *owner && !common.json {
        print_text(&format!(
            "{me} is not the owner ({owner}): the engine will refuse this, and the refusal is kept"
        ))?;
    } else {
        answers = agreed(&new_questions(&proposal), &me, args.yes)?;
        let question = format!("Put version {} in force?", impact.to_version);
        agreed(&[question], &me, args.yes)?;
    }
    let decision = submit_amendment(&path, &proposal, why, &me, answers)?;
    let (state, reply) = await_answer(&reader, &decision, engine_runs(&path))?;
    let reply = match state.as_str() {
        "pending" => {
            format!("{reply}; the version takes force then, if it still follows the one in force")
        }
        _ => reply,
    };
    if common.json {
        let answer = json!({ "decision": decision, "by": me, "state": state, "why": reply });
        print_json("dogwatch.amend/1", body(&impact, Some(answer)))?;
    } else {
        print_text(&format!("amendment: {state}: {reply}"))?;
    }
    Ok(if state == "refused" {
        ExitCode::Refused
    } else {
        ExitCode::Done
    })
}

/// Puts a text that was made from the one in force into force, without a question: whoever raises a limit
/// has said what, and why. `change` says it in words.
///
/// # Errors
/// As [`propose`], and when the ledger cannot be written.
pub fn put_in_force(
    reader: &Reader,
    common: &Common,
    text: &str,
    why: &str,
    change: &str,
) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let id = crate::contract::parse_goal(text, Path::new("/"), None)
        .map(|goal| goal.contract.id)
        .map_err(|error| CliError::new(error.to_string(), "Nothing was changed."))?;
    let base_dir = reader.view().contract(&id)?.map(|row| row.base_dir);
    let proposal = propose_text(reader, text, &base_dir.unwrap_or_default())?;
    let me = Account::current();
    let decision = submit_amendment(&path, &proposal, why, &me, Vec::new())?;
    let (state, reply) = await_answer(reader, &decision, engine_runs(&path))?;
    if common.json {
        print_json(
            "dogwatch.raise/1",
            json!({
                "goal": proposal.old.contract.id, "change": change, "decision": decision, "by": me,
                "state": state, "why": reply,
            }),
        )?;
    } else {
        print_text(&format!("{change}: {state}: {reply}"))?;
    }
    Ok(if state == "refused" {
        ExitCode::Refused
    } else {
        ExitCode::Done
    })
}

/// A changed goal file beside the contract in force.
pub struct Proposal {
    /// The contract in force, as it was adopted.
    pub old: Goal,
    /// Its row.
    pub row: ContractRow,
    /// Its text.
    pub old_text: String,
    /// The changed file; `@me` means what it meant at adoption.
    pub read: ReadGoal,
}

/// Reads a changed goal file and the contract that it would follow.
///
/// # Errors
/// When the file has problems, its goal was never adopted here, or it changes nothing.
pub fn propose(reader: &Reader, file: &Path, set: &[String]) -> Result<Proposal, CliError> {
    let read = read_goal(file, set)?;
    follow(reader, read, set.is_empty())
}

/// [`propose`] for a text that was made from the one in force; its relative paths start where those did.
///
/// # Errors
/// As [`propose`].
pub fn propose_text(reader: &Reader, text: &str, base_dir: &Path) -> Result<Proposal, CliError> {
    let goal = crate::contract::parse_goal(text, base_dir, Some(&crate::check::Known))
        .map_err(|error| CliError::new(error.to_string(), "Nothing was changed."))?;
    let read = ReadGoal {
        goal,
        text: text.to_owned(),
        overrides: Vec::new(),
    };
    follow(reader, read, true)
}

fn follow(reader: &Reader, mut read: ReadGoal, as_adopted: bool) -> Result<Proposal, CliError> {
    let view = reader.view();
    let id = read.goal.contract.id.clone();
    let row = view.contract(&id)?.ok_or_else(|| {
        CliError::new(
            format!("goal {id} was never adopted here"),
            "Nothing was changed. `dogwatch adopt FILE` makes it version 1.",
        )
    })?;
    if as_adopted && !row.overrides.is_empty() {
        // What was set at adoption holds until somebody says otherwise.
        crate::contract::apply_overrides(&mut read.goal, &row.overrides)
            .map_err(|why| CliError::new(why, "Nothing was changed."))?;
        read.overrides.clone_from(&row.overrides);
    }
    read.goal.contract = read.goal.contract.resolve_me(&row.me);
    let old_text = text_in(reader, &row.text)?;
    let old = parse_adopted(&old_text, &row)
        .map_err(|error| CliError::new(error.to_string(), "Nothing was changed."))?;
    if old.contract.digest == read.goal.contract.digest {
        let what = if old.strategies == read.goal.strategies {
            "the file says what is in force already"
        } else {
            "the contract is the one in force; only strategies differ, and those are the plan's"
        };
        return Err(CliError::new(
            format!("{what} (version {})", row.version),
            "Nothing was changed.",
        ));
    }
    Ok(Proposal {
        old,
        row,
        old_text,
        read,
    })
}

fn text_in(reader: &Reader, digest: &Digest) -> Result<String, CliError> {
    let bytes = reader.view().blob(digest)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Asks for an amendment in an account's name; the engine answers it, now or when it runs again. It is
/// bound to the version that `proposal` was read against.
///
/// # Errors
/// When the ledger cannot be written; nothing was asked for then.
pub fn submit_amendment(
    path: &Path,
    proposal: &Proposal,
    why: &str,
    me: &Account,
    answers: Vec<String>,
) -> Result<DecisionId, LedgerError> {
    let act = act_of(proposal, why, answers);
    let ReadGoal { goal, text, .. } = &proposal.read;
    let nobody = JobId::from("");
    submit_with(
        path,
        &goal.contract.id,
        &nobody,
        act,
        me,
        &origin(),
        Clock::Real.now(),
        &[text.as_bytes()],
    )
}

/// What asks for an amendment; it names the text by its digest.
fn act_of(proposal: &Proposal, why: &str, answers: Vec<String>) -> Act {
    let ReadGoal {
        goal,
        text,
        overrides,
    } = &proposal.read;
    Act::Amend {
        from: proposal.row.version,
        base: proposal.row.digest.clone(),
        contract: goal.contract.digest.clone(),
        text: digest_bytes(text.as_bytes()),
        base_dir: goal.base_dir.display().to_string(),
        overrides: overrides.clone(),
        answers,
        why: why.to_owned(),
    }
}

/// Reads changed goal files for the interface, which knows none.
pub struct FileAmender {
    ledger: PathBuf,
}

impl FileAmender {
    /// Over a ledger's file.
    pub fn new(ledger: &Path) -> Self {
        Self {
            ledger: ledger.to_path_buf(),
        }
    }

    fn read(&self, file: &str) -> Result<crate::tui::amend::Proposal, CliError> {
        let reader = Reader::open(&self.ledger)?;
        let proposal = propose(&reader, &from_home(file), &[])?;
        let now = engine_time(reader.view(), Clock::Real.now())?;
        let impact = preview_from(
            reader.view(),
            &proposal.old.contract,
            proposal.row.version,
            &proposal.read.goal.contract,
            now,
            None,
        )?;
        let me = Account::current();
        let questions = new_questions(&proposal);
        let answers = questions.iter().map(|one| answer(one, &me)).collect();
        Ok(crate::tui::amend::Proposal {
            goal: proposal.read.goal.contract.id.clone(),
            from: impact.from_version,
            base: proposal.row.digest.clone(),
            to: impact.to_version,
            owner: proposal.old.contract.owner.clone(),
            act: act_of(&proposal, "", answers),
            me,
            questions,
            impact: impact.lines(),
            old_text: proposal.old_text,
            new_text: proposal.read.text,
        })
    }
}

impl crate::tui::amend::Amender for FileAmender {
    fn propose(&mut self, file: &str) -> Result<crate::tui::amend::Proposal, String> {
        self.read(file).map_err(|error| {
            let words = [error.what.as_str(), error.hint.as_str()];
            words.join("\n").trim_end().to_owned()
        })
    }
}

/// No shell stands between the operator and this: `~/` is the account's own folder.
fn from_home(file: &str) -> PathBuf {
    match (file.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(file),
    }
}

/// What is ambiguous in the new file and was not in the old one.
fn new_questions(proposal: &Proposal) -> Vec<String> {
    let asked = &proposal.old.questions;
    let all = proposal.read.goal.questions.iter();
    all.filter(|question| !asked.contains(question))
        .cloned()
        .collect()
}

fn text_of(proposal: &Proposal, impact: &Impact) -> String {
    let file = unified(
        &proposal.old_text,
        &proposal.read.text,
        &format!("version {}", impact.from_version),
        &format!("version {}", impact.to_version),
    );
    format!("{file}\n{}", impact.lines().join("\n"))
}

fn body(impact: &Impact, answer: Option<serde_json::Value>) -> serde_json::Value {
    json!({
        "impact": impact,
        "changes": impact.diff.lines(),
        "summary": impact.summary(),
        "fits": impact.fits(),
        "answer": answer,
    })
}
