//! Revised plans: other strategies, or another order, for the jobs that are not done.
//!
//! A job's place in the plan is an index, so each revision keeps the ids that an index of it means. A job
//! is moved to the new plan when it is looked at next and nothing of it is under way; until then the
//! strategies that it was asked with are kept.

use super::adopt::{AdoptError, Adoption, parse_adopted};
use super::run::{Engine, EngineError};
use crate::contract::{Goal, Strategy};
use crate::ledger::event::{Act, Actor, Entry, Event, JobReplanned, PlanRevised};
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{DecisionRow, PlanRow, View};
use crate::ledger::{Batch, Ledger, LedgerError};
use crate::model::{Account, Digest, GoalId, JobId, StrategyId, TimeMs};
use crate::worker::chat::settings::{ChatSettings, is_chat};
use std::collections::BTreeMap;

/// What the indexes of each revision mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Plans {
    /// The one in force; 0 is what was adopted.
    pub(super) revision: u32,
    ids: BTreeMap<u32, Vec<StrategyId>>,
    /// Strategies that were replaced while this engine runs.
    old: BTreeMap<u32, Vec<Strategy>>,
}

/// Where a job stands in another plan.
#[derive(Debug, PartialEq, Eq)]
struct Moved {
    index: Option<u32>,
    removed: bool,
}

impl Plans {
    pub(super) fn new(rows: &[PlanRow], strategies: &[Strategy]) -> Self {
        let adopted = rows
            .first()
            .map_or_else(|| ids_of(strategies), |row| row.before.clone());
        let mut ids = BTreeMap::from([(0, adopted)]);
        ids.extend(
            rows.iter()
                .map(|row| (row.revision, row.strategies.clone())),
        );
        Self {
            revision: rows.last().map_or(0, |row| row.revision),
            ids,
            old: BTreeMap::new(),
        }
    }

    /// Another plan is in force.
    fn revise(&mut self, old: Vec<Strategy>, new: &[Strategy]) {
        self.old.insert(self.revision, old);
        self.revision += 1;
        self.ids.insert(self.revision, ids_of(new));
    }

    /// The strategy that an index of an earlier plan meant, while this engine knows it.
    pub(super) fn replaced(&self, plan: u32, index: usize) -> Option<&Strategy> {
        self.old.get(&plan)?.get(index)
    }

    fn moved(&self, plan: u32, index: u32) -> Moved {
        let none = Vec::new();
        let of = |plan| self.ids.get(&plan).unwrap_or(&none);
        moved(of(plan), index, of(self.revision))
    }
}

fn ids_of(strategies: &[Strategy]) -> Vec<StrategyId> {
    strategies.iter().map(|one| one.id.clone()).collect()
}

/// The same strategy in the new plan; of one that is gone, the nearest before it that is not.
fn moved(old: &[StrategyId], index: u32, new: &[StrategyId]) -> Moved {
    let place = |id: &StrategyId| new.iter().position(|one| one == id).map(|at| at as u32);
    let own = old.get(index as usize).and_then(place);
    let earlier = old.iter().take(index as usize).rev().find_map(place);
    Moved {
        index: own.or(earlier),
        removed: own.is_none(),
    }
}

/// What changes from one plan to another, one line each; empty when nothing does.
pub fn changes(old: &[Strategy], new: &[Strategy]) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, one) in new.iter().enumerate() {
        let before = old.iter().position(|own| own.id == one.id);
        match before.map(|at| (at, old.get(at))) {
            None => lines.push(format!("{} added at place {}", one.id, place + 1)),
            Some((at, own)) => {
                if at != place {
                    lines.push(format!(
                        "{} moved from place {} to {}",
                        one.id,
                        at + 1,
                        place + 1
                    ));
                }
                if own != Some(one) {
                    lines.push(format!("{} says something else", one.id));
                }
            }
        }
    }
    for one in old
        .iter()
        .filter(|one| new.iter().all(|own| own.id != one.id))
    {
        lines.push(format!("{} taken out", one.id));
    }
    lines
}

/// The entry of a revision.
///
/// # Errors
/// When the ledger cannot be read.
fn event(
    view: View<'_>,
    goal: &GoalId,
    (old, new): (&[Strategy], &[Strategy]),
    text: Digest,
    hypothesis: &str,
) -> Result<Event, LedgerError> {
    let revision = view.plans(goal)?.last().map_or(0, |row| row.revision) + 1;
    let (before, strategies) = (ids_of(old), ids_of(new));
    let floor = match view.progress(goal)?.floor {
        0 => 0,
        floor => moved(&before, floor, &strategies).index.unwrap_or(0),
    };
    Ok(Event::PlanRevised(PlanRevised {
        revision,
        text,
        floor,
        changes: changes(old, new),
        before,
        strategies,
        hypothesis: hypothesis.to_owned(),
    }))
}

/// Revises the plan of an adopted goal while no engine runs: `ledger` holds the lock.
///
/// # Errors
/// When the goal was not adopted, the contract is another one, nothing changes, or the ledger refuses.
pub fn revise(
    ledger: &mut Ledger,
    adoption: &Adoption<'_>,
    hypothesis: &str,
    now: TimeMs,
) -> Result<u32, AdoptError> {
    let refused = |why: &str| AdoptError::Refused(why.to_owned());
    let contract = &adoption.goal.contract;
    let row = ledger.read().contract(&contract.id)?.ok_or_else(|| {
        AdoptError::Refused(format!("goal {} was never adopted here", contract.id))
    })?;
    if row.digest != contract.digest {
        return Err(refused(OTHER_CONTRACT));
    }
    let text = String::from_utf8_lossy(&ledger.blob(&row.text)?).into_owned();
    let old = parse_adopted(&text, &row)?;
    if let Some(why) = refuse(&old.strategies, &adoption.goal.strategies, hypothesis) {
        return Err(refused(&why));
    }
    let mut batch = Batch::default();
    let text = batch.blob(adoption.text.as_bytes());
    let event = event(
        ledger.read(),
        &contract.id,
        (&old.strategies, &adoption.goal.strategies),
        text,
        hypothesis,
    )?;
    let revision = match &event {
        Event::PlanRevised(one) => one.revision,
        _ => 0,
    };
    let at = ledger
        .read()
        .last_engine_time()?
        .map_or(now, |last| last.max(now));
    batch.entries.push(Entry {
        at,
        goal: contract.id.clone(),
        job: None,
        attempt: None,
        actor: Actor::Person(adoption.me.clone()),
        event,
    });
    ledger.append(&batch)?;
    Ok(revision)
}

const OTHER_CONTRACT: &str = "its contract is another one than the one in force: that is an amendment \
     (`dogwatch amend`); a revision of the plan changes strategies alone";

/// Why a plan cannot follow another.
fn refuse(old: &[Strategy], new: &[Strategy], hypothesis: &str) -> Option<String> {
    if new.is_empty() {
        return Some("it has no strategy".to_owned());
    }
    if changes(old, new).is_empty() {
        return Some("it has the strategies that are in force already".to_owned());
    }
    hypothesis
        .trim()
        .is_empty()
        .then(|| "a revision needs its hypothesis: what is hoped to change".to_owned())
}

/// Whether something of the job is under way, or its outcome is not known.
fn is_busy(facts: &JobFacts) -> bool {
    facts.chat.open.is_some()
        || facts.chat.query.is_some()
        || facts.open_check.is_some()
        || facts.unsettled().next().is_some()
}

impl Engine {
    /// Answers a decision about the plan.
    pub(super) fn answer_about_plan(&mut self, decision: &DecisionRow) -> Result<(), EngineError> {
        self.commit()?;
        let (accepted, why) = match self.judge_revision(&decision.act)? {
            Ok((goal, text, hypothesis)) => {
                self.note_revision(&decision.by, text, &goal.strategies, &hypothesis)?;
                self.goal.strategies = goal.strategies;
                self.wake_everyone();
                let revision = self.plans.revision;
                (true, format!("revision {revision} of the plan is in force"))
            }
            Err(why) => (false, why),
        };
        self.emit_goal(Event::DecisionAnswered {
            decision: decision.decision.clone(),
            accepted,
            why,
        });
        Ok(())
    }

    fn judge_revision(
        &self,
        act: &Act,
    ) -> Result<Result<(Goal, Digest, String), String>, EngineError> {
        let Act::RevisePlan {
            from,
            text,
            hypothesis,
        } = act
        else {
            return Ok(Err("it is not about the plan".to_owned()));
        };
        let Some(row) = self.ledger.read().contract(&self.goal.contract.id)? else {
            return Ok(Err("the goal has no contract".to_owned()));
        };
        if *from != self.plans.revision {
            return Ok(Err(format!(
                "it was made from revision {from}, but revision {} holds: look at it again",
                self.plans.revision
            )));
        }
        let goal = match parse_adopted(&self.text(text)?, &row) {
            Ok(goal) => goal,
            Err(error) => return Ok(Err(format!("the text is not a goal: {error}"))),
        };
        if goal.contract.digest != row.digest {
            return Ok(Err(OTHER_CONTRACT.to_owned()));
        }
        if let Some(why) = refuse(&self.goal.strategies, &goal.strategies, hypothesis) {
            return Ok(Err(why));
        }
        let new: Vec<Strategy> = goal
            .strategies
            .iter()
            .filter(|one| !self.goal.strategies.contains(one))
            .cloned()
            .collect();
        if let Some(name) = self.closed_provider(&new) {
            return Ok(Err(format!(
                "this engine has not opened the provider {name}: stop it, revise the plan, and start it again"
            )));
        }
        Ok(Ok((goal, text.clone(), hypothesis.clone())))
    }

    /// A provider that strategies name and that this engine did not open at its start.
    fn closed_provider(&self, strategies: &[Strategy]) -> Option<String> {
        let chats = strategies.iter().filter(|one| is_chat(one));
        chats
            .filter_map(|one| Some(ChatSettings::of(one).ok()?.provider))
            .find(|name| !self.context.providers.contains_key(name))
    }

    /// Writes a revision and keeps what the indexes before it meant. The caller puts the strategies in force.
    pub(super) fn note_revision(
        &mut self,
        by: &Account,
        text: Digest,
        new: &[Strategy],
        hypothesis: &str,
    ) -> Result<(), EngineError> {
        let old = self.goal.strategies.clone();
        let event = event(
            self.ledger.read(),
            &self.goal.contract.id,
            (&old, new),
            text,
            hypothesis,
        )?;
        self.emit_goal_as(Actor::Person(by.clone()), event);
        self.plans.revise(old, new);
        Ok(())
    }

    /// Moves a job to the plan in force, if it stands in an earlier one and nothing of it is under way.
    pub(super) fn replan(&mut self, id: &JobId, facts: &JobFacts) -> Result<bool, EngineError> {
        let revision = self.plans.revision;
        let Some(index) = facts.strategy.filter(|_| facts.plan != revision) else {
            return Ok(false);
        };
        if facts.state.has_ended() || is_busy(facts) {
            return Ok(false);
        }
        let moved = self.plans.moved(facts.plan, index);
        if moved.removed && facts.attempt_open && facts.config.is_none() {
            let why = format!("its strategy is not in revision {revision} of the plan");
            self.end_attempt(id, "failed", &why)?;
        }
        // A config that is being judged goes on being judged; what follows it is the new plan's.
        let kept = facts.attempt_open && facts.config.is_some();
        self.emit(
            id,
            Event::JobReplanned(JobReplanned {
                plan: revision,
                strategy_index: moved.index.or(kept.then_some(0)),
            }),
        )?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(all: &[&str]) -> Vec<StrategyId> {
        all.iter()
            .map(|one| StrategyId((*one).to_owned()))
            .collect()
    }

    #[test]
    fn a_job_keeps_its_strategy_wherever_that_stands_and_else_the_one_before() {
        let old = ids(&["a", "b", "c"]);
        let place = |index, new: &[&str]| {
            let moved = moved(&old, index, &ids(new));
            (moved.index, moved.removed)
        };
        assert_eq!(place(1, &["x", "a", "b", "c"]), (Some(2), false));
        assert_eq!(place(2, &["c", "a"]), (Some(0), false));
        assert_eq!(place(2, &["x", "b"]), (Some(1), true));
        assert_eq!(place(0, &["x", "b"]), (None, true), "it begins anew");
    }
}
