//! The practice owner: a simulated person who approves in working hours, three minutes each.

use crate::contract::Workdays;
use crate::contract::workdays::{is_working, next_working};
use crate::engine::operation::NOT_FOUND_AFTER;
use crate::engine::run::Operator;
use crate::ledger::event::{Act, Entry};
use crate::ledger::read::QuestionRow;
use crate::ledger::{Ledger, LedgerError, decide};
use crate::model::{Account, DriftId, GoalId, JobId, TimeMs};

/// The account of the simulated owner; the ledger shows every decision under this name.
pub const PRACTICE_OWNER: &str = "practice-owner";

/// What it answers to every question of a worker.
const ANSWER: &str = "Nothing is known beside what is written down. Go by the evidence.";

/// Far longer than the practice world ever hides what was created.
const SURELY_VISIBLE_MS: i64 = 4 * 3_600_000;

/// Far longer than anything in the practice world takes.
const NOTHING_COMES_MS: i64 = 30 * 24 * 3_600_000;

/// Answers the oldest question, or approves the oldest request, each time.
#[derive(Debug)]
pub struct PracticeOwner {
    goal: GoalId,
    workdays: Workdays,
    each_ms: i64,
    free_at: TimeMs,
    /// When it last had something to decide.
    decided_at: TimeMs,
}

impl PracticeOwner {
    /// For a goal, with the contract's minutes for each decision.
    pub fn new(goal: GoalId, workdays: Workdays, minutes_each: f64, now: TimeMs) -> Self {
        let each_ms = ((minutes_each * 60_000.0) as i64).max(1_000);
        Self {
            goal,
            workdays,
            each_ms,
            free_at: now.plus_ms(each_ms),
            decided_at: now,
        }
    }
}

/// What was found after an unclean stop; the owner of an invented company takes the world's word.
fn differences(ledger: &Ledger, goal: &GoalId) -> Result<Vec<DriftId>, LedgerError> {
    if ledger.read().drift_open(goal)? == 0 {
        return Ok(Vec::new());
    }
    let rows = ledger.read().drift(goal)?;
    Ok(rows
        .into_iter()
        .filter(|row| row.state == "open")
        .map(|row| row.item)
        .collect())
}

/// The oldest operation that was sent as often as it may be, and that the world has not shown for hours: here it
/// takes many deaths of the engine in a row. The owner of an invented company looks, and says so.
fn never_happened(
    ledger: &Ledger,
    goal: &GoalId,
    now: TimeMs,
) -> Result<Option<(JobId, Act)>, LedgerError> {
    let rows = ledger.read().unsettled(goal)?;
    let lost = rows.into_iter().find(|row| {
        row.to_verify
            && row.why.starts_with(NOT_FOUND_AFTER)
            && now.since(row.intended_at) > SURELY_VISIBLE_MS
    });
    Ok(lost.map(|row| {
        let act = Act::Rule {
            operation: row.operation,
            happened: false,
            reference: String::new(),
            reason: "the target's own list does not have it".to_owned(),
        };
        (row.job, act)
    }))
}

/// Rows that are the same on both sides are right; others are not.
fn look(asked: &QuestionRow) -> Act {
    let wrong = asked
        .text
        .lines()
        .find(|line| line.contains(": DIFFERS ") || line.contains(": NOT ON THE NEW SIDE"));
    Act::Judge {
        sample: asked.question.clone(),
        pass: wrong.is_none(),
        reason: wrong.unwrap_or_default().to_owned(),
    }
}

impl Operator for PracticeOwner {
    fn decisions(&mut self, now: TimeMs, ledger: &Ledger) -> Result<Vec<Entry>, LedgerError> {
        if now < self.free_at || !is_working(&self.workdays, now) {
            return Ok(Vec::new());
        }
        self.free_at = now.plus_ms(self.each_ms);
        let decided = self.decide(now, ledger)?;
        if !decided.is_empty() {
            self.decided_at = now;
        }
        Ok(decided)
    }

    fn next(&self, now: TimeMs) -> Option<TimeMs> {
        let at = self.free_at.max(now.plus_ms(1));
        Some(if is_working(&self.workdays, at) {
            at
        } else {
            next_working(&self.workdays, at)
        })
    }

    fn gives_up(&self, now: TimeMs) -> bool {
        now.since(self.decided_at) > NOTHING_COMES_MS
    }
}

impl PracticeOwner {
    fn decide(&self, now: TimeMs, ledger: &Ledger) -> Result<Vec<Entry>, LedgerError> {
        let account = Account(PRACTICE_OWNER.to_owned());
        if let Some(asked) = ledger.read().open_questions(&self.goal)?.into_iter().next() {
            let act = match asked.is_sample() {
                false => Act::Answer {
                    question: asked.question,
                    text: ANSWER.to_owned(),
                },
                true => look(&asked),
            };
            return Ok(vec![decide::entry(
                &self.goal, &asked.job, act, &account, "", now, now,
            )]);
        }
        let items = differences(ledger, &self.goal)?;
        if !items.is_empty() {
            let act = Act::AcceptDrift { items };
            let none = JobId::from("");
            return Ok(vec![decide::entry(
                &self.goal, &none, act, &account, "", now, now,
            )]);
        }
        let Some(first) = ledger.read().oldest_open_approval(&self.goal)? else {
            let lost = never_happened(ledger, &self.goal, now)?;
            return Ok(lost
                .map(|(job, act)| decide::entry(&self.goal, &job, act, &account, "", now, now))
                .into_iter()
                .collect());
        };
        let act = Act::Approve {
            approval: first.approval.clone(),
            digest: first.digest.clone(),
        };
        // No origin and no process in the id: the same seed gives the same ledger.
        Ok(vec![decide::entry(
            &self.goal, &first.job, act, &account, "", now, now,
        )])
    }
}
