//! How any process asks for something in a person's name.

use super::error::LedgerError;
use super::event::{Act, Actor, Entry, Event};
use super::read::View;
use super::store::{Batch, Ledger};
use crate::model::{Account, DecisionId, GoalId, JobId, TimeMs, canon::digest_parts};
use std::path::Path;

/// Clocks further apart than this are not the same clock.
const SAME_CLOCK_MS: i64 = 120_000;

/// Appends a decision in a short transaction of its own; the engine answers it, now or when it runs
/// again. `from` says where the person sits (see [`origin`]). An act about the goal names no job: its
/// `job` is left out.
///
/// # Errors
/// When the ledger is missing or cannot be written; nothing was asked for then.
pub fn submit(
    path: &Path,
    goal: &GoalId,
    job: &JobId,
    act: Act,
    account: &Account,
    from: &str,
    wall: TimeMs,
) -> Result<DecisionId, LedgerError> {
    submit_with(path, goal, job, act, account, from, wall, &[])
}

/// [`submit`], with bodies that the act names, in the same transaction.
///
/// # Errors
/// As [`submit`].
#[expect(
    clippy::too_many_arguments,
    reason = "one more than submit, which everyone calls"
)]
pub fn submit_with(
    path: &Path,
    goal: &GoalId,
    job: &JobId,
    act: Act,
    account: &Account,
    from: &str,
    wall: TimeMs,
    bodies: &[&[u8]],
) -> Result<DecisionId, LedgerError> {
    let mut ledger = Ledger::open_for_decisions(path)?;
    let at = engine_time(ledger.read(), wall)?;
    let entry = entry(goal, job, act, account, from, at, wall);
    let Event::DecisionSubmitted { decision, .. } = &entry.event else {
        return Err(LedgerError::Refused("a decision is a decision".to_owned()));
    };
    let id = decision.clone();
    let mut batch = Batch::default();
    for body in bodies {
        batch.blob(body);
    }
    batch.entries.push(entry);
    ledger.append(&batch)?;
    Ok(id)
}

/// Longest text of a person that is kept, in characters.
const MAX_WORDS: usize = 4_000;
/// Longest words about a whole goal, in characters: each job's attempt repeats them.
const MAX_GOAL_WORDS: usize = 1_000;
/// Most differences accepted by one decision.
const MAX_ITEMS: usize = 1_000;

/// The act with its texts cut to a length that every entry can hold.
fn cut(act: Act) -> Act {
    let short = |text: String| text.chars().take(MAX_WORDS).collect::<String>();
    match act {
        Act::Reject {
            approval,
            digest,
            reason,
        } => Act::Reject {
            approval,
            digest,
            reason: short(reason),
        },
        Act::HandOver { reason } => Act::HandOver {
            reason: short(reason),
        },
        Act::RollBack { reason } => Act::RollBack {
            reason: short(reason),
        },
        Act::Comment { text } => Act::Comment { text: short(text) },
        Act::CommentGoal { text } => Act::CommentGoal {
            text: text.chars().take(MAX_GOAL_WORDS).collect(),
        },
        Act::Answer { question, text } => Act::Answer {
            question,
            text: short(text),
        },
        Act::Judge {
            sample,
            pass,
            reason,
        } => Act::Judge {
            sample,
            pass,
            reason: short(reason),
        },
        Act::Rule {
            operation,
            happened,
            reference,
            reason,
        } => Act::Rule {
            operation,
            happened,
            reference: short(reference),
            reason: short(reason),
        },
        Act::Waive { clause, reason } => Act::Waive {
            clause,
            reason: short(reason),
        },
        Act::Amend {
            from,
            base,
            contract,
            text,
            base_dir,
            overrides,
            answers,
            why,
        } => Act::Amend {
            from,
            base,
            contract,
            text,
            base_dir,
            overrides,
            answers,
            why: short(why),
        },
        Act::RevisePlan {
            from,
            text,
            hypothesis,
        } => Act::RevisePlan {
            from,
            text,
            hypothesis: short(hypothesis),
        },
        Act::OverruleSpin {
            spin,
            everywhere,
            reason,
        } => Act::OverruleSpin {
            spin,
            everywhere,
            reason: short(reason),
        },
        Act::Compensate { operation, reason } => Act::Compensate {
            operation,
            reason: short(reason),
        },
        Act::AcceptDrift { mut items } => {
            items.truncate(MAX_ITEMS);
            Act::AcceptDrift { items }
        }
        Act::Approve { .. }
        | Act::Pause
        | Act::Resume
        | Act::Retry
        | Act::CompareAgain
        | Act::LookAgain { .. }
        | Act::EnforceSpin { .. } => act,
    }
}

/// A decision as an entry; `salt` keeps two of the same content apart.
pub fn entry(
    goal: &GoalId,
    job: &JobId,
    act: Act,
    account: &Account,
    from: &str,
    at: TimeMs,
    salt: TimeMs,
) -> Entry {
    let act = cut(act);
    let content = serde_json::to_string(&act).unwrap_or_default();
    let process = std::process::id().to_string();
    let id = digest_parts([
        goal.as_str(),
        job.as_str(),
        &content,
        &account.0,
        &salt.0.to_string(),
        if from.is_empty() { "" } else { &process },
    ]);
    Entry {
        at,
        goal: goal.clone(),
        job: (!act.is_for_goal()).then(|| job.clone()),
        attempt: None,
        actor: Actor::Person(account.clone()),
        event: Event::DecisionSubmitted {
            decision: DecisionId(format!("d-{}", id.short())),
            act,
            from: from.to_owned(),
        },
    }
}

/// The time to write on a decision: the engine's own where its clock is not the wall's (practice).
///
/// # Errors
/// When the ledger cannot be read.
pub fn engine_time(view: View<'_>, wall: TimeMs) -> Result<TimeMs, LedgerError> {
    let Some(beat) = view.engine()? else {
        return Ok(wall);
    };
    if beat.engine_at.since(beat.beat_at).abs() < SAME_CLOCK_MS {
        return Ok(wall);
    }
    Ok(view
        .last_event_at()?
        .map_or(beat.engine_at, |last| last.max(beat.engine_at)))
}

/// Where this process's person sits: the SSH connection if there is one, else `local`.
pub fn origin() -> String {
    match std::env::var("SSH_CONNECTION") {
        Ok(text) if !text.is_empty() => {
            format!("ssh {}", text.chars().take(120).collect::<String>())
        }
        _ => "local".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{LedgerError, Reader};

    fn ask(path: &Path, at: i64) -> Result<DecisionId, LedgerError> {
        let (goal, job) = (GoalId::from("g"), JobId::from("a"));
        submit(
            path,
            &goal,
            &job,
            Act::Pause,
            &Account("ann".into()),
            "pts/1",
            TimeMs(at),
        )
    }

    #[test]
    fn a_decision_reaches_the_ledger_whether_or_not_an_engine_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        assert!(matches!(ask(&path, 1), Err(LedgerError::Missing(_))));
        let engine = Ledger::open_for_engine(&path).unwrap();
        let first = ask(&path, 2).unwrap();
        drop(engine);
        let second = ask(&path, 3).unwrap();
        let pending = Reader::open(&path)
            .unwrap()
            .view()
            .pending_decisions(&GoalId::from("g"))
            .unwrap();
        let ids: Vec<DecisionId> = pending.iter().map(|row| row.decision.clone()).collect();
        assert_eq!(ids, [first, second]);
        assert_eq!(pending[0].by.0, "ann");
    }

    #[test]
    fn the_engine_s_time_is_the_machine_s_only_when_they_agree() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let engine = Ledger::open_for_engine(&path).unwrap();
        let wall = TimeMs(2_000_000_000_000);
        let time = |at| engine_time(engine.read(), at).unwrap();
        assert_eq!(time(wall), wall, "nothing is known");
        engine.beat(wall, wall.plus_ms(-5), 1_000, "running");
        let later = wall.plus_ms(700);
        assert_eq!(time(later), later);
        engine.beat(wall, TimeMs(1_711_962_000_000), 1_000, "running");
        assert_eq!(time(later), TimeMs(1_711_962_000_000));
    }
}
