//! Adopting a goal file, and taking it up again from the ledger.

use crate::contract::{Candidate, Goal, GoalError, apply_overrides, parse_goal};
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::read::ContractRow;
use crate::ledger::{Batch, Ledger, LedgerError};
use crate::model::{Account, ClauseId, ContractVersion, GoalId, JobId, TimeMs};
use crate::world::ports::{PortError, SourceJob};
use std::collections::BTreeSet;
use thiserror::Error;

/// Most jobs of one goal.
pub const MAX_JOBS: usize = 1_000_000;
/// Jobs added in one commit.
const JOBS_A_COMMIT: usize = 1_000;

/// Why a goal was not adopted or cannot be taken up.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// The goal file.
    #[error("{0}")]
    Goal(#[from] GoalError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The source.
    #[error("the source cannot be listed: {0}")]
    Source(#[from] PortError),
    /// A question of adoption was not answered, or the list is not usable.
    #[error("{0}")]
    Refused(String),
}

/// What is adopted, by whom.
pub struct Adoption<'a> {
    /// The parsed goal, `@me` resolved.
    pub goal: &'a Goal,
    /// The file's text.
    pub text: &'a str,
    /// `--set` overrides.
    pub overrides: &'a [String],
    /// Who adopts it.
    pub me: &'a Account,
    /// What was asked and who agreed, one sentence each.
    pub answers: Vec<String>,
}

/// Writes version 1. The same contract again changes nothing; another one is refused.
///
/// # Errors
/// When the ledger has another contract under this id, or cannot be written.
pub fn adopt(
    ledger: &mut Ledger,
    adoption: &Adoption<'_>,
    now: TimeMs,
) -> Result<ContractVersion, AdoptError> {
    let contract = &adoption.goal.contract;
    if let Some(row) = ledger.read().contract(&contract.id)? {
        if row.digest == contract.digest {
            return same_plan(ledger, adoption, &row, now);
        }
        return Err(AdoptError::Refused(format!(
            "goal {} was adopted with another contract (version {}, {}); a changed contract is an amendment: see \
             what it would do with `dogwatch amend FILE --preview`, then `dogwatch amend FILE --why \"...\"`",
            contract.id,
            row.version,
            row.digest.short()
        )));
    }
    let mut batch = Batch::default();
    let text = batch.blob(adoption.text.as_bytes());
    batch.entries.push(Entry {
        at: now,
        goal: contract.id.clone(),
        job: None,
        attempt: None,
        actor: Actor::Person(adoption.me.clone()),
        event: Event::GoalAdopted {
            version: ContractVersion(1),
            contract_digest: contract.digest.clone(),
            text,
            base_dir: adoption.goal.base_dir.display().to_string(),
            overrides: adoption.overrides.to_vec(),
            me: adoption.me.clone(),
            objective: contract.objective.clone(),
            owner: contract.owner.clone(),
            deadline: contract.deadline,
            answers: adoption.answers.clone(),
        },
    });
    ledger.append(&batch)?;
    Ok(ContractVersion(1))
}

/// The strategies are no contract: others than those in force are a revision of the plan, written down as one.
fn same_plan(
    ledger: &mut Ledger,
    adoption: &Adoption<'_>,
    row: &ContractRow,
    now: TimeMs,
) -> Result<ContractVersion, AdoptError> {
    let text = String::from_utf8_lossy(&ledger.blob(&row.text)?).into_owned();
    let adopted = parse_goal(&text, &row.base_dir, None)?;
    if adopted.strategies != adoption.goal.strategies {
        let hypothesis = "the goal file was given again with other strategies";
        super::replan::revise(ledger, adoption, hypothesis, now)?;
    }
    Ok(row.version)
}

/// Writes the source's list down, once. A list that was cut off by a crash is completed.
///
/// # Errors
/// When the list has no jobs, too many, or one id twice; nothing is written then.
pub fn list_jobs(
    ledger: &mut Ledger,
    goal: &Goal,
    jobs: &[SourceJob],
    now: TimeMs,
) -> Result<(), AdoptError> {
    let id = &goal.contract.id;
    let listed = ledger
        .read()
        .goals()?
        .into_iter()
        .any(|row| row.goal == *id && row.jobs_listed.is_some());
    if listed {
        return Ok(());
    }
    check_list(jobs)?;
    let known: BTreeSet<JobId> = ledger
        .read()
        .all_facts(id)?
        .into_iter()
        .map(|facts| facts.id)
        .collect();
    let all: Vec<(usize, &SourceJob)> = jobs
        .iter()
        .enumerate()
        .filter(|(_, job)| !known.contains(&job.id))
        .collect();
    for part in all.chunks(JOBS_A_COMMIT) {
        let mut batch = Batch::default();
        for (position, job) in part {
            let definition = batch.blob(job.definition.as_bytes());
            batch
                .entries
                .push(job_entry(goal, *position, job, definition, now));
        }
        ledger.append(&batch)?;
    }
    let done = Batch {
        entries: vec![Entry {
            at: now,
            goal: id.clone(),
            job: None,
            attempt: None,
            actor: Actor::Engine,
            event: Event::GoalListed {
                jobs: jobs.len() as u64,
            },
        }],
        blobs: Vec::new(),
    };
    ledger.append(&done)?;
    Ok(())
}

fn check_list(jobs: &[SourceJob]) -> Result<(), AdoptError> {
    if jobs.is_empty() {
        return Err(AdoptError::Refused("the source lists no jobs".to_owned()));
    }
    if jobs.len() > MAX_JOBS {
        return Err(AdoptError::Refused(format!(
            "the source lists {} jobs; at most {MAX_JOBS} fit",
            jobs.len()
        )));
    }
    let mut seen = BTreeSet::new();
    for job in jobs {
        if !seen.insert(&job.id) {
            return Err(AdoptError::Refused(format!(
                "the source lists job {} twice",
                job.id
            )));
        }
        let sound = !job.id.0.is_empty()
            && job.id.0.len() <= 200
            && job
                .id
                .0
                .chars()
                .all(|c| !c.is_control() && !c.is_whitespace());
        if !sound {
            return Err(AdoptError::Refused(format!(
                "the source lists a job with the id {:?}; ids have 1 to 200 characters and no spaces",
                job.id.0.chars().take(80).collect::<String>()
            )));
        }
    }
    Ok(())
}

/// The entry that adds a job of the source.
pub(super) fn job_entry(
    goal: &Goal,
    position: usize,
    job: &SourceJob,
    definition: crate::model::Digest,
    now: TimeMs,
) -> Entry {
    let high_risk = goal.contract.jobs.is_high_risk(job.id.as_str());
    let candidate = Candidate {
        id: job.id.as_str(),
        tags: &job.tags,
        high_risk,
        position: position as u64,
    };
    let clauses: Vec<ClauseId> = goal
        .contract
        .accept
        .iter()
        .filter(|clause| clause.applies(&candidate))
        .map(|clause| clause.id.clone())
        .collect();
    Entry {
        at: now,
        goal: goal.contract.id.clone(),
        job: Some(job.id.clone()),
        attempt: None,
        actor: Actor::Engine,
        event: Event::JobAdded {
            position: position as u64,
            title: job.title.clone(),
            tags: job.tags.clone(),
            depends_on: job.depends_on.clone(),
            origin: job.origin.clone(),
            definition,
            output: job
                .output
                .as_ref()
                .and_then(|output| serde_json::to_value(output).ok()),
            hold: job
                .hold
                .as_ref()
                .and_then(|hold| serde_json::to_value(hold).ok()),
            high_risk,
            clauses,
        },
    }
}

/// Parses an adopted text as it was adopted: with its overrides, and `@me` as the account that adopted it.
///
/// # Errors
/// When the text does not parse any more.
pub fn parse_adopted(text: &str, row: &ContractRow) -> Result<Goal, GoalError> {
    let mut goal = parse_goal(text, &row.base_dir, None)?;
    apply_overrides(&mut goal, &row.overrides).map_err(|why| GoalError::whole(why, None))?;
    goal.contract = goal.contract.resolve_me(&row.me);
    Ok(goal)
}

/// Parses an adopted goal again, exactly as it was adopted.
///
/// # Errors
/// When the text is missing, does not parse any more, or has another digest than the one adopted.
pub fn take_up(
    ledger: &Ledger,
    id: &GoalId,
    parse: impl FnOnce(&str, &ContractRow) -> Result<Goal, GoalError>,
) -> Result<(Goal, ContractRow), AdoptError> {
    let row = ledger
        .read()
        .contract(id)?
        .ok_or_else(|| AdoptError::Refused(format!("goal {id} was never adopted here")))?;
    let text = String::from_utf8_lossy(&ledger.blob(&row.text)?).into_owned();
    let goal = parse(&text, &row)?;
    if goal.contract.digest != row.digest {
        return Err(AdoptError::Refused(format!(
            "the adopted text of goal {id} gives contract {} instead of {}; this program reads it otherwise \
             than the one that adopted it",
            goal.contract.digest.short(),
            row.digest.short()
        )));
    }
    Ok((goal, row))
}
