//! Putting another contract version in force, in place.

use super::view::preview_from;
use crate::contract::diff::diff;
use crate::contract::{Candidate, Contract, Goal};
use crate::engine::adopt::parse_adopted;
use crate::engine::checkers::{checker_digests, clause_views};
use crate::engine::rig::Sabotage;
use crate::engine::run::{Engine, EngineError};
use crate::engine::waves::Waves;
use crate::ledger::event::{Act, Actor, Event};
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{ContractRow, DecisionRow};
use crate::model::{Account, ClauseId, ContractVersion, Digest, JobId, canon::digest_parts};
use crate::world::ports::Output;

/// An amendment that may be taken over.
struct Accepted {
    goal: Goal,
    row: ContractRow,
    answers: Vec<String>,
    why: String,
}

impl Engine {
    /// Answers a decision that concerns the goal as a whole.
    pub(in crate::engine) fn answer_for_goal(
        &mut self,
        decision: &DecisionRow,
    ) -> Result<(), EngineError> {
        // What this turn wrote so far is part of what the amendment meets.
        self.commit()?;
        let (accepted, why) = match self.judge_amendment(&decision.by, &decision.act)? {
            Ok(amendment) => (true, self.amend(&decision.by, amendment)?),
            Err(why) => (false, why),
        };
        self.emit_goal(Event::DecisionAnswered {
            decision: decision.decision.clone(),
            accepted,
            why,
        });
        Ok(())
    }

    fn judge_amendment(
        &self,
        by: &Account,
        act: &Act,
    ) -> Result<Result<Accepted, String>, EngineError> {
        let Act::Amend {
            from,
            base,
            contract,
            text,
            base_dir,
            overrides,
            answers,
            why,
        } = act
        else {
            return Ok(Err("it concerns a job, not the goal".to_owned()));
        };
        let holds = &self.goal.contract;
        let stranger = *by != holds.owner;
        if stranger && !self.rig.fires(Sabotage::AnyoneAmends, stranger) {
            return Ok(Err(format!(
                "only the owner ({}) amends the contract; {by} is not the owner, and nothing changed",
                holds.owner
            )));
        }
        if why.trim().is_empty() {
            return Ok(Err("an amendment needs its reason".to_owned()));
        }
        let Some(row) = self.ledger.read().contract(&holds.id)? else {
            return Ok(Err("the goal has no contract".to_owned()));
        };
        if *base != row.digest || *from != row.version {
            return Ok(Err(format!(
                "it was previewed against version {from} ({}), but version {} ({}) holds: preview it again",
                base.short(),
                row.version,
                row.digest.short()
            )));
        }
        let text_digest = text;
        let text = self.text(text_digest)?;
        let row = ContractRow {
            text: text_digest.clone(),
            base_dir: base_dir.into(),
            overrides: overrides.clone(),
            ..row
        };
        let goal = match parse_adopted(&text, &row) {
            Ok(goal) => goal,
            Err(error) => return Ok(Err(format!("the new text is not a goal: {error}"))),
        };
        if goal.contract.digest != *contract {
            return Ok(Err(format!(
                "the new text gives contract {} instead of {}: this program reads it otherwise",
                goal.contract.digest.short(),
                contract.short()
            )));
        }
        Ok(refuse(holds, &goal).map_or_else(
            || {
                Ok(Accepted {
                    goal,
                    row,
                    answers: answers.clone(),
                    why: why.clone(),
                })
            },
            Err,
        ))
    }

    /// Writes the new version and puts it in force: clauses, quota, limits, retired jobs. Passes stay valid
    /// by their key, so that only what the new version asks anew is judged.
    fn amend(&mut self, by: &Account, accepted: Accepted) -> Result<String, EngineError> {
        let Accepted {
            goal,
            row,
            answers,
            why,
        } = accepted;
        let impact = preview_from(
            self.ledger.read(),
            &self.goal.contract,
            row.version,
            &goal.contract,
            self.now,
            None,
        )?;
        let version = ContractVersion(row.version.0 + 1);
        let detail = serde_json::to_vec(&impact).unwrap_or_default();
        let impact_detail = self.blob(&detail);
        let contract = &goal.contract;
        let event = Event::GoalAmended {
            version,
            contract_digest: contract.digest.clone(),
            text: row.text.clone(),
            base_dir: row.base_dir.display().to_string(),
            overrides: row.overrides.clone(),
            me: row.me.clone(),
            objective: contract.objective.clone(),
            owner: contract.owner.clone(),
            deadline: contract.deadline,
            answers,
            why,
            changes: impact.diff.lines(),
            impact: impact.summary(),
            impact_detail,
        };
        let hypothesis = match &event {
            Event::GoalAmended { why, .. } => {
                format!("with version {version} of the contract: {why}")
            }
            _ => String::new(),
        };
        self.emit_goal_as(Actor::Person(by.clone()), event);
        if goal.strategies != self.goal.strategies {
            self.note_revision(by, row.text.clone(), &goal.strategies, &hypothesis)?;
        }
        self.take_over(goal, version)?;
        Ok(format!(
            "version {version} is in force: {}",
            impact.summary()
        ))
    }

    /// A wrong engine that does not hear that a job is given up.
    fn overlook_retired(&mut self, id: &JobId) {
        if let Some(job) = self.index.jobs.get_mut(id)
            && self
                .rig
                .fires(Sabotage::RetiredGoesOn, job.retired.is_some())
        {
            job.retired = None;
        }
    }

    /// The running engine under another contract.
    fn take_over(&mut self, goal: Goal, version: ContractVersion) -> Result<(), EngineError> {
        let all = self.ledger.read().all_facts(&goal.contract.id)?;
        self.goal = goal;
        self.checkers = checker_digests(&self.goal);
        self.heart.set_every(self.goal.contract.heartbeat.every_ms);
        if !self.rig.fires(Sabotage::KeepOldWalls, true) {
            self.move_walls();
        }
        let clean = self
            .goal
            .contract
            .cutover
            .waves
            .map_or(0, |waves| waves.clean);
        let history = self
            .ledger
            .read()
            .production_changes(&self.goal.contract.id, clean)?;
        self.waves = Waves::from_history(&history);
        for facts in &all {
            let rescoped = rescoped(&self.goal.contract, facts, version);
            if let Some(event) = rescoped {
                self.emit(&facts.id, event)?;
            }
            let now = self.facts(&facts.id)?;
            let output: Option<Output> = now
                .output
                .clone()
                .and_then(|value| serde_json::from_value(value).ok());
            let clauses = clause_views(&self.goal, &self.checkers, &now, output.as_ref());
            self.index.rescope(&now, clauses, &self.goal.contract.jobs);
            self.overlook_retired(&facts.id);
            self.index.mark_ready(&facts.id);
        }
        if self.rig.fires(Sabotage::RedoOnAmendment, true) {
            for (clause, digest) in &mut self.checkers {
                *digest = digest_parts([clause.as_str(), digest.as_str()]);
            }
            self.index.set_checkers(&self.checkers);
        }
        Ok(())
    }
}

/// Why a contract cannot follow another in place.
fn refuse(holds: &Contract, goal: &Goal) -> Option<String> {
    let new = &goal.contract;
    if new.id != holds.id {
        return Some(format!(
            "it is another goal's: {} instead of {}",
            new.id, holds.id
        ));
    }
    let changes = diff(holds, new);
    if changes.is_empty() {
        return Some("it changes nothing in the contract".to_owned());
    }
    if changes.touches("world") {
        return Some(
            "it changes [world]: what was done and proven belongs to the world that is open; a goal in another \
             world is another goal"
                .to_owned(),
        );
    }
    None
}

/// What the contract says of a job, when that is not what the job's entries say.
fn rescoped(contract: &Contract, facts: &JobFacts, version: ContractVersion) -> Option<Event> {
    let high_risk = contract.jobs.is_high_risk(facts.id.as_str());
    let candidate = Candidate {
        id: facts.id.as_str(),
        tags: &facts.tags,
        high_risk,
        position: facts.position,
    };
    let clauses: Vec<(ClauseId, Digest)> = contract
        .accept
        .iter()
        .filter(|clause| clause.applies(&candidate))
        .map(|clause| (clause.id.clone(), clause.digest.clone()))
        .collect();
    // Before the first amendment a job's entries name clauses without their digests.
    let same = facts.clause_digests.len() == clauses.len()
        && clauses
            .iter()
            .all(|(id, digest)| facts.clause_digests.get(id) == Some(digest))
        && clauses.iter().map(|(id, _)| id).eq(facts.clauses.iter())
        && high_risk == facts.high_risk;
    (!same).then_some(Event::JobRescoped {
        version,
        clauses,
        high_risk,
    })
}
