//! Answering what people ask for: each exactly once, accepted or refused with a reason.

use super::approval::bundle;
use super::index::is_returning;
use super::rig::Sabotage;
use super::rollback::rollback_bundle;
use super::run::{Engine, EngineError};
use super::surroundings::lineage_digest;
use crate::ledger::event::{Act, Actor, Event, QuestionAnswered};
use crate::ledger::facts::{ApprovalState, JobFacts};
use crate::ledger::read::DecisionRow;
use crate::model::{
    Account, Action, ApprovalId, ClauseId, Digest, FailureClass, JobId, JobState, OperationId,
    OperationState,
};

/// What an act leads to: entries in the person's name, or why not.
pub(super) type Verdict = Result<(Vec<Event>, String), String>;

impl Engine {
    /// Answers one decision.
    pub(super) fn answer(&mut self, decision: &DecisionRow) -> Result<(), EngineError> {
        match &decision.act {
            Act::AcceptDrift { .. } | Act::CompareAgain => {
                return self.answer_about_drift(decision);
            }
            Act::CommentGoal { text } => {
                self.comment_on_goal(decision, text);
                return Ok(());
            }
            Act::RevisePlan { .. } => return self.answer_about_plan(decision),
            act if act.is_for_goal() => return self.answer_for_goal(decision),
            _ => {}
        }
        let id = &decision.job;
        let damaged = self.index.jobs.get(id).map(|job| job.damaged);
        let verdict = match damaged {
            None => Err(format!("there is no job {id}")),
            Some(true) => Err("its entries are damaged; nothing of it is started".to_owned()),
            Some(false)
                if matches!(
                    decision.act,
                    Act::OverruleSpin { .. } | Act::EnforceSpin { .. }
                ) =>
            {
                self.answer_spin(decision)?.map(|why| (Vec::new(), why))
            }
            Some(false) => {
                let facts = self.facts(id)?;
                match self.overtaken(decision)? {
                    Some(why) => Err(why),
                    None => self.judge(&facts, &decision.by, &decision.act),
                }
            }
        };
        if damaged.is_none() {
            return self.answer_without_job(decision, &verdict.err().unwrap_or_default());
        }
        let asked = self.facts(id)?.chat.question.map(|open| open.call);
        let (accepted, why) = match verdict {
            Ok((events, why)) => {
                for event in events {
                    self.emit_as(id, Actor::Person(decision.by.clone()), event)?;
                }
                (true, why)
            }
            Err(why) => (false, why),
        };
        self.emit(
            id,
            Event::DecisionAnswered {
                decision: decision.decision.clone(),
                accepted,
                why,
            },
        )?;
        if accepted {
            match &decision.act {
                Act::HandOver { reason } => {
                    self.hand_over(id, &format!("handed over by {}: {reason}", decision.by))?;
                }
                Act::Answer { text, .. } => {
                    if let Some(call) = asked {
                        self.question_answered(id, call, &decision.by.0, text)?;
                    }
                }
                Act::Retry => {
                    self.move_to(
                        id,
                        JobState::Pending,
                        &format!("tried again for {}", decision.by),
                    )?;
                }
                Act::Compensate { operation, reason } => {
                    self.after_undone(id, operation, &decision.by, reason)?;
                }
                _ => {}
            }
        }
        if accepted && matches!(decision.act, Act::Retry) {
            let why = format!("{} tries it again", decision.by);
            self.clear_alert(id, "spin", &why)?;
            self.clear_alert(id, super::lost::LOST, &why)?;
        }
        self.index.mark_ready(id);
        Ok(())
    }

    /// Production was touched and put back: whether and how to go on is a person's. A staging run that was
    /// undone is made again as a new operation.
    fn after_undone(
        &mut self,
        id: &JobId,
        operation: &OperationId,
        by: &Account,
        reason: &str,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let staged = facts
            .operations
            .get(operation)
            .is_none_or(|one| one.action == Action::Stage);
        if staged || facts.state.has_ended() {
            return Ok(());
        }
        self.hand_over(
            id,
            &format!("its cutover was undone by hand by {by}: {reason}"),
        )
    }

    /// A "did not happen", and a "was undone", speak of what was sent before it was said. If the same id was sent again
    /// meanwhile, it says nothing of that send.
    fn overtaken(&self, decision: &DecisionRow) -> Result<Option<String>, EngineError> {
        let (Act::Rule {
            operation,
            happened: false,
            ..
        }
        | Act::Compensate { operation, .. }) = &decision.act
        else {
            return Ok(None);
        };
        let view = self.ledger.read();
        let sent = view.last_sent_again(&decision.goal, &decision.job, operation)?;
        Ok(sent
            .filter(|seq| *seq > decision.seq)
            .map(|_| "it was sent again after that was said; look at it again".to_owned()))
    }

    fn judge(&mut self, facts: &JobFacts, by: &Account, act: &Act) -> Verdict {
        let in_doubt = facts.unsettled().any(|one| one.action == Action::CutOver);
        if in_doubt && matches!(act, Act::HandOver { .. } | Act::Retry) {
            return Err("its cutover's outcome is not known yet; that is settled first".to_owned());
        }
        match act {
            Act::Approve { approval, digest } => self.judge_gate(facts, by, approval, digest, None),
            Act::Reject {
                approval,
                digest,
                reason,
            } => self.judge_gate(facts, by, approval, digest, Some(reason)),
            Act::Pause if facts.state.has_ended() => Err("the job has ended".to_owned()),
            Act::Pause if facts.paused => Err("it is paused already".to_owned()),
            Act::Pause => Ok((
                vec![Event::JobPaused {}],
                "nothing new is started for it".to_owned(),
            )),
            Act::Resume if !facts.paused => Err("it is not paused".to_owned()),
            Act::Resume => Ok((vec![Event::JobResumed {}], "it goes on".to_owned())),
            Act::Retry => match facts.state {
                JobState::HandedOver => Ok((
                    vec![Event::JobRetried {}],
                    "it begins again from the first strategy".to_owned(),
                )),
                other => Err(format!(
                    "only a job that was handed over is tried again; it is {other}"
                )),
            },
            Act::HandOver { .. } if facts.state.has_ended() => Err("the job has ended".to_owned()),
            Act::HandOver { .. } if facts.production.is_some() && !facts.confirmed => {
                Err("it has just been cut over; roll it back if it should not be".to_owned())
            }
            Act::HandOver { reason } if reason.trim().is_empty() => {
                Err("a reason is needed".to_owned())
            }
            Act::HandOver { .. } => Ok((vec![], "a person has it".to_owned())),
            Act::RollBack { reason } => self.judge_rollback(facts, by, reason),
            Act::Comment { text } if text.trim().is_empty() => {
                Err("the comment is empty".to_owned())
            }
            Act::Comment { text } => Ok((
                vec![Event::JobCommented {
                    text: text.chars().take(4_000).collect(),
                }],
                "kept for the next attempt".to_owned(),
            )),
            Act::Answer { question, text }
                if facts.sample.as_ref().is_some_and(|own| own.id == *question) =>
            {
                self.judge_by_answer(facts, by, text)
            }
            Act::Judge {
                sample,
                pass,
                reason,
            } => self.judge_sample(facts, by, sample, *pass, reason),
            Act::Answer { question, text } => judge_answer(facts, by, question, text),
            Act::AcceptDrift { .. } | Act::CompareAgain | Act::CommentGoal { .. } => {
                Err("that is about the goal, not about a job".to_owned())
            }
            Act::Rule {
                operation,
                happened,
                reference,
                reason,
            } => {
                let rule = &self.goal.contract.approval;
                let may = !rule.required || rule.by.contains(by);
                judge_rule(facts, by, may, operation, *happened, (reference, reason))
            }
            Act::Waive { clause, reason } => self.judge_waiver(facts, by, clause, reason),
            Act::Amend { .. } | Act::RevisePlan { .. } => {
                Err("it concerns the goal, not a job".to_owned())
            }
            Act::OverruleSpin { .. } | Act::EnforceSpin { .. } => {
                Err("an alarm is the goal's, not the job's".to_owned())
            }
            Act::Compensate { operation, reason } => {
                let rule = &self.goal.contract.approval;
                let may = !rule.required || rule.by.contains(by);
                judge_undone(facts, by, may, operation, reason)
            }
            Act::LookAgain { operation } => match facts.operations.get(operation) {
                Some(one) if one.state == OperationState::Unknown => Ok((
                    vec![Event::OpUnknown {
                        operation: operation.clone(),
                        why: one.why.clone(),
                        next_look: self.now,
                    }],
                    "it is looked up now".to_owned(),
                )),
                _ => Err("its outcome is known".to_owned()),
            },
        }
    }

    fn judge_gate(
        &mut self,
        facts: &JobFacts,
        by: &Account,
        approval: &ApprovalId,
        digest: &Digest,
        rejected: Option<&String>,
    ) -> Verdict {
        let rule = &self.goal.contract.approval;
        if !rule.by.contains(by) {
            let names: Vec<&str> = rule.by.iter().map(|one| one.0.as_str()).collect();
            return Err(format!(
                "{by} is not an approver; the contract names {}",
                names.join(", ")
            ));
        }
        let Some(own) = facts.approval.as_ref().filter(|own| own.id == *approval) else {
            return Err("that request is not the job's current one".to_owned());
        };
        if own.state != ApprovalState::Open {
            return Err(format!("the request is {}, not open", own.state.word()));
        }
        if own.expires_at.is_some_and(|at| at <= self.now) {
            return Err("the request expired".to_owned());
        }
        let other = own.digest != *digest;
        if other && !self.rig.fires(Sabotage::StaleApproval, other) {
            return Err(format!(
                "what you saw ({}) is not what is asked now ({})",
                digest.short(),
                own.digest.short()
            ));
        }
        let around = self.surroundings(&facts.id);
        let contract = &self.goal.contract;
        let current = match (own.action, &facts.rollback) {
            (Action::RollBack, Some(rollback)) => rollback_bundle(facts, rollback, contract).digest,
            (Action::RollBack, None) => return Err("nobody asks for it any more".to_owned()),
            _ => around
                .lineage()
                .map(|lineage| bundle(facts, contract, &around.clauses, &lineage).digest)
                .map_err(|up| format!("upstream job {} is changing", up.job))?,
        };
        if current != own.digest {
            return Err("what it was bound to has changed; it is asked again".to_owned());
        }
        if rejected.is_some_and(|reason| reason.trim().is_empty()) {
            return Err("a reason is needed".to_owned());
        }
        Ok((
            vec![Event::ApprovalDecided {
                approval: approval.clone(),
                approved: rejected.is_none(),
                by: by.clone(),
                reason: rejected
                    .map(|text| text.chars().take(2_000).collect())
                    .unwrap_or_default(),
            }],
            if rejected.is_none() {
                "approved".to_owned()
            } else {
                "rejected".to_owned()
            },
        ))
    }

    fn judge_rollback(&self, facts: &JobFacts, by: &Account, reason: &str) -> Verdict {
        let contract = &self.goal.contract;
        let stands = matches!(facts.state, JobState::CutOver | JobState::Reverify);
        if !stands || facts.production.is_none() {
            return Err(format!(
                "only a job in production is rolled back; it is {}",
                facts.state
            ));
        }
        if is_returning(facts) {
            return Err("that is asked already".to_owned());
        }
        if reason.trim().is_empty() {
            return Err("a reason is needed".to_owned());
        }
        if !contract.approval.required && *by != contract.owner {
            return Err(format!(
                "the contract names no approver; only its owner {} may ask for this",
                contract.owner
            ));
        }
        let info = self.context.world.target.info();
        if !info.can_roll_back {
            return Err(format!(
                "the target's adapter ({} {}) cannot roll back; do it by hand at the target",
                info.name, info.version
            ));
        }
        let next = if contract.approval.required {
            "an approver decides it"
        } else {
            "it is taken out of production"
        };
        Ok((
            vec![Event::RollbackAsked {
                reason: reason.chars().take(2_000).collect(),
            }],
            next.to_owned(),
        ))
    }

    /// The owner accepts what fails, in writing; bound to the clause as it stands and to the config.
    fn judge_waiver(
        &self,
        facts: &JobFacts,
        by: &Account,
        clause: &ClauseId,
        reason: &str,
    ) -> Verdict {
        let owner = &self.goal.contract.owner;
        if by != owner {
            return Err(format!(
                "only the owner ({owner}) accepts a job with a waiver"
            ));
        }
        if facts.state != JobState::Reverify {
            return Err(format!(
                "only a job in production that needs re-verification is waived; it is {}",
                facts.state
            ));
        }
        if reason.trim().is_empty() {
            return Err("a waiver needs its reason in writing".to_owned());
        }
        let around = self.surroundings(&facts.id);
        let Some(view) = around.clauses.iter().find(|one| one.id == *clause) else {
            return Err(format!("clause {clause} does not apply to it"));
        };
        let lineage = around
            .lineage()
            .map_err(|up| format!("upstream job {} is changing", up.job))?;
        let judged = facts.evidence.get(clause).filter(|own| {
            own.clause_digest == view.clause_digest
                && Some(&own.config) == facts.config.as_ref()
                && own.lineage == lineage_digest(&lineage)
        });
        match judged.map(|own| own.verdict) {
            None => return Err(format!("clause {clause} is not judged yet")),
            Some(crate::model::Verdict::Pass) => {
                return Err(format!("clause {clause} passes; there is nothing to waive"));
            }
            Some(_) => {}
        }
        let Some(config) = facts.production_config.clone() else {
            return Err("it is not known which config is in production".to_owned());
        };
        Ok((
            vec![Event::ClauseWaived {
                clause: clause.clone(),
                clause_digest: view.clause_digest.clone(),
                config,
                by: by.clone(),
                reason: reason.to_owned(),
            }],
            format!("clause {clause} is waived for this config"),
        ))
    }

    /// A decision about a job that does not exist is answered in the goal's chain.
    fn answer_without_job(&mut self, decision: &DecisionRow, why: &str) -> Result<(), EngineError> {
        self.emit_goal(Event::DecisionAnswered {
            decision: decision.decision.clone(),
            accepted: false,
            why: why.to_owned(),
        });
        Ok(())
    }
}

/// A question is answered once, by whoever knows.
fn judge_answer(facts: &JobFacts, by: &Account, question: &str, text: &str) -> Verdict {
    let open = facts.chat.question.as_ref();
    if open.is_none_or(|own| own.id != question) {
        return Err("that question is not open".to_owned());
    }
    if text.trim().is_empty() {
        return Err("the answer is empty".to_owned());
    }
    let answered = Event::QuestionAnswered(QuestionAnswered {
        question: question.to_owned(),
        by: Some(by.clone()),
        text: text.chars().take(4_000).collect(),
    });
    Ok((vec![answered], "the worker goes on with it".to_owned()))
}

/// `may_cut_over`: whether this account decides cutovers; only such a one rules on them.
fn judge_rule(
    facts: &JobFacts,
    by: &Account,
    may_cut_over: bool,
    operation: &OperationId,
    happened: bool,
    (reference, reason): (&str, &str),
) -> Verdict {
    let Some(own) = facts
        .operations
        .get(operation)
        .filter(|one| one.state == OperationState::Unknown)
    else {
        return Err("its outcome is known".to_owned());
    };
    if own.action == Action::CutOver && !may_cut_over {
        return Err(format!("{by} is not an approver, and rules on no cutover"));
    }
    if reason.trim().is_empty() || (happened && reference.trim().is_empty()) {
        return Err("a ruling needs its reason, and the reference when it happened".to_owned());
    }
    if happened {
        let applied = Event::OpApplied {
            operation: operation.clone(),
            reference: reference.to_owned(),
            observed: format!("ruled by {by}: {reason}"),
            how: "ruling".to_owned(),
        };
        return Ok((vec![applied], "ruled".to_owned()));
    }
    let mut events = vec![Event::OpRefused {
        operation: operation.clone(),
        why: format!("ruled by {by}: it did not happen: {reason}"),
        class: FailureClass::Unclear,
        retry_at: None,
    }];
    // The old yes fires nothing again: whoever decides sees first that it was in doubt.
    events.extend(own.approval.clone().map(|approval| Event::ApprovalVoided {
        approval,
        why: format!("its cutover was ruled not to have happened by {by}"),
    }));
    Ok((events, "ruled".to_owned()))
}

fn judge_undone(
    facts: &JobFacts,
    by: &Account,
    may_cut_over: bool,
    operation: &OperationId,
    reason: &str,
) -> Verdict {
    let Some(own) = facts
        .operations
        .get(operation)
        .filter(|one| one.state == OperationState::Unknown)
    else {
        return Err("its outcome is known".to_owned());
    };
    if own.action != Action::Stage && !may_cut_over {
        return Err(format!("{by} is not an approver, and rules on no cutover"));
    }
    if reason.trim().is_empty() {
        return Err("a ruling needs its reason: what was undone, and how".to_owned());
    }
    let mut events = vec![Event::OpUndone {
        operation: operation.clone(),
        why: format!("ruled by {by}: it happened and was undone by hand: {reason}"),
    }];
    events.extend(own.approval.clone().map(|approval| Event::ApprovalVoided {
        approval,
        why: format!("its cutover was undone by hand by {by}"),
    }));
    Ok((events, "ruled: undone by hand".to_owned()))
}
