//! Goal file to [`Goal`], with errors that point at line and column.
//!
//! All problems of a file are collected (up to [`MAX_PROBLEMS`]), so that a person mends it once. What is
//! ambiguous but lawful becomes a question, asked once at adoption; what is accepted although nothing acts
//! on it yet becomes a note.

mod agents;
mod canonical;
mod clauses;
mod cutover;
mod free;
mod overrides;
mod problem;
mod providers;
mod retire;
mod section;
mod sections;
mod units;
mod world;

pub use canonical::{contract_digest, contract_json};
pub use free::is_secret_key;
pub use overrides::{absolute_overrides, apply_overrides};
pub use problem::{GoalError, MAX_PROBLEMS, Problem};
pub use providers::parse_providers;
pub use units::parse_duration_ms;
pub(super) use units::parse_workday_count;

use super::types::{Checkers, Contract, Goal};
use crate::model::{Digest, EvidenceKind};
use section::{Context, Section};
use std::io::Read as _;
use std::path::Path;
use toml_edit::Document;

/// Largest goal file, in bytes.
pub const MAX_GOAL_BYTES: usize = 1024 * 1024;

/// Parses and validates a goal file's text. Relative paths of the file start at `base_dir`. `checkers`
/// judge the clauses' parameters; without them (a text that was adopted before) they are taken as they
/// stand.
///
/// # Errors
/// All problems found, with line, column and what was expected; a text above [`MAX_GOAL_BYTES`] is
/// refused before it is parsed.
pub fn parse_goal(
    text: &str,
    base_dir: &Path,
    checkers: Option<&dyn Checkers>,
) -> Result<Goal, GoalError> {
    if text.len() > MAX_GOAL_BYTES {
        return Err(too_large(text.len() as u64));
    }
    if let Some(offset) = text.find('\0') {
        return Err(GoalError::at(
            text,
            offset,
            "a NUL byte: this is not a text file".to_owned(),
            None,
        ));
    }
    let document = Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        GoalError::at(text, offset, problem::syntax_message(&error), None)
    })?;
    let context = Context::new(text, checkers);
    let goal = read_goal(&context, document.as_table(), base_dir);
    let problems = context.into_problems();
    if problems.is_empty() {
        Ok(goal)
    } else {
        Err(GoalError { problems })
    }
}

/// [`parse_goal`] for bytes of unknown encoding.
///
/// # Errors
/// As [`parse_goal`], and for bytes that are not UTF-8, at the first of them.
pub fn parse_goal_bytes(
    bytes: &[u8],
    base_dir: &Path,
    checkers: Option<&dyn Checkers>,
) -> Result<Goal, GoalError> {
    if bytes.len() > MAX_GOAL_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_goal(text, base_dir, checkers),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or(&[]);
            let text = String::from_utf8_lossy(good);
            Err(GoalError::at(
                &text,
                good.len(),
                "bytes that are not UTF-8; a goal file is UTF-8 text".to_owned(),
                None,
            ))
        }
    }
}

/// Reads a goal file, never more than [`MAX_GOAL_BYTES`] and one byte of it. Returns the goal and the
/// file's text.
///
/// # Errors
/// As [`parse_goal_bytes`], and when the file cannot be read. The error comes with the text read so far,
/// for [`GoalError::report`].
pub fn read_goal_file(
    path: &Path,
    checkers: Option<&dyn Checkers>,
) -> Result<(Goal, String), (GoalError, String)> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| {
        let size = file.metadata().map_or(0, |meta| meta.len());
        file.take(MAX_GOAL_BYTES as u64 + 1)
            .read_to_end(&mut bytes)?;
        Ok(size)
    });
    match read {
        Err(error) => Err((
            GoalError::whole(format!("cannot be read: {error}"), None),
            String::new(),
        )),
        Ok(size) if bytes.len() > MAX_GOAL_BYTES => {
            Err((too_large(size.max(bytes.len() as u64)), String::new()))
        }
        Ok(_) => {
            let base_dir = match path.parent() {
                Some(dir) if !dir.as_os_str().is_empty() => dir,
                _ => Path::new("."),
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match parse_goal_bytes(&bytes, base_dir, checkers) {
                Ok(goal) => Ok((goal, text)),
                Err(error) => Err((error, text)),
            }
        }
    }
}

fn too_large(bytes: u64) -> GoalError {
    GoalError::whole(
        format!("{bytes} bytes; a goal file has at most {MAX_GOAL_BYTES}"),
        Some("Is this the right file?".to_owned()),
    )
}

/// A person's clause that nobody may judge keeps its jobs from ever being done.
fn nobody_looks(context: &Context<'_>, contract: &Contract) {
    for clause in &contract.accept {
        if clause.kind() == EvidenceKind::Person && contract.judges_of(clause).is_empty() {
            context.question(format!(
                "Clause \"{}\" asks a person, but names nobody in `by`, and neither does [approval.cutover]: its \
                 jobs wait for ever. Is that meant?",
                clause.id
            ));
        }
    }
}

/// Reads every section; problems end up in the context, and the goal is only used when there are none.
fn read_goal(context: &Context<'_>, root: &toml_edit::Table, base_dir: &Path) -> Goal {
    let top = Section::root(context, root);
    let head = sections::head(&top);
    let mut contract = Contract {
        id: head.id,
        objective: head.objective,
        owner: head.owner,
        deadline: head.deadline,
        workdays: head.workdays,
        jobs: sections::jobs(&top),
        accept: clauses::accept(&top),
        approval: sections::approval(&top),
        cutover: cutover::cutover(&top),
        soak: sections::soak(&top),
        budgets: sections::budgets(&top),
        limits: sections::limits(&top),
        spin: sections::spin(&top),
        heartbeat: sections::heartbeat(&top),
        world: world::world(&top),
        digest: Digest(String::new()),
    };
    nobody_looks(context, &contract);
    let strategies = clauses::strategies(&top);
    let providers = providers::providers(&top);
    let money_is_walled = contract.budgets.total.contains_key("money");
    providers::cross_check(&top, &strategies, &providers, money_is_walled);
    top.refuse_unknown();
    contract.digest = contract_digest(&contract);
    let (questions, notes) = context.take_remarks();
    Goal {
        contract,
        strategies,
        providers,
        base_dir: base_dir.to_owned(),
        questions,
        notes,
    }
}
