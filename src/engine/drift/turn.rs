//! A restart's turns: ask, judge, hold or go on.

use super::compare::differences;
use super::{
    ASK_AGAIN_MS, Answers, COMPARE_AGAIN_MS, Correction, Difference, Known, MAX_LOOKED_AT,
    MAX_SHOWN, MAX_TRIES, Phase, Question, Resume,
};
use crate::engine::call::{Call, Reply};
use crate::engine::operation::back_off_ms;
use crate::engine::rig::Sabotage;
use crate::engine::run::{Engine, EngineError, Errand};
use crate::ledger::event::Event;
use crate::model::{Action, DriftId, DriftKind, JobId, TimeMs};
use crate::world::ports::{Lookup, RunState};
use std::collections::BTreeMap;

/// Questions asked in one turn at most.
const MAX_ASKED: usize = 64;

impl Engine {
    /// Takes a restart on; true while nothing may be started.
    pub(in crate::engine) fn restart_goes_on(&mut self) -> Result<bool, EngineError> {
        match self.restart.phase {
            Phase::Open => return Ok(false),
            Phase::Settling => self.begin_round()?,
            Phase::Held if self.now >= self.restart.next_round => self.begin_round()?,
            Phase::Held => return Ok(true),
            Phase::Comparing => {}
        }
        let now = self.now;
        let restart = &mut self.restart;
        let (due, later) = std::mem::take(&mut restart.later)
            .into_iter()
            .partition::<Vec<_>, _>(|(at, ..)| *at <= now);
        restart.later = later;
        restart.ask.extend(
            due.into_iter()
                .map(|(_, question, tries)| (question, tries)),
        );
        for _ in 0..MAX_ASKED {
            let Some((question, tries)) = self.restart.ask.pop_front() else {
                break;
            };
            self.restart.open += 1;
            let (job, call) = self.call_of(&question);
            self.call_after_commit(&job, Errand::Compare(question, tries), call);
        }
        if self.restart.open > 0 || !self.restart.ask.is_empty() || !self.restart.later.is_empty() {
            return Ok(true);
        }
        self.judge_round()?;
        Ok(self.restart.only_reads())
    }

    fn call_of(&self, question: &Question) -> (JobId, Call) {
        match question {
            Question::Source => (JobId::from(""), Call::ListSource),
            Question::Production => (JobId::from(""), Call::ListProduction),
            Question::Effect(job, operation, action, _) => (
                job.clone(),
                Call::LookUp {
                    action: *action,
                    operation: operation.clone(),
                    job: job.clone(),
                },
            ),
            Question::RunEnd(job, operation, staged) => (
                job.clone(),
                Call::RunState {
                    job: job.clone(),
                    staged: staged.clone(),
                    operation: operation.clone(),
                    at: self.now,
                },
            ),
        }
    }

    /// Begins a comparison with what the ledger says now.
    fn begin_round(&mut self) -> Result<(), EngineError> {
        // What was settled meanwhile, or corrected, is known by its facts.
        let touched: Vec<JobId> = self.restart.touched.iter().cloned().collect();
        for id in touched {
            let facts = self.facts(&id)?;
            self.restart.known.insert(id, Known::of(&facts));
        }
        self.restart.touched.clear();
        if self.restart.known.is_empty() {
            let all = self.ledger.read().all_facts(&self.goal.contract.id)?;
            self.restart.known = all
                .iter()
                .map(|facts| (facts.id.clone(), Known::of(facts)))
                .collect();
        }
        let restart = &mut self.restart;
        restart.phase = Phase::Comparing;
        restart.answers = Answers::default();
        restart.ask.clear();
        restart.ask.push_back((Question::Source, 1));
        restart.ask.push_back((Question::Production, 1));
        let mut runs: Vec<(TimeMs, Question, Option<Question>)> = restart
            .known
            .iter()
            .filter(|(_, own)| !own.ended)
            .filter_map(|(job, own)| {
                let (operation, staged, succeeded) = own.run.clone()?;
                let there = Question::Effect(
                    job.clone(),
                    operation.clone(),
                    Action::Stage,
                    staged.config_digest.clone(),
                );
                let end = succeeded.then(|| Question::RunEnd(job.clone(), operation, staged));
                Some((own.last_progress, there, end))
            })
            .collect();
        runs.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        for (_, there, end) in runs.into_iter().take(MAX_LOOKED_AT) {
            restart.ask.push_back((there, 1));
            restart.ask.extend(end.map(|end| (end, 1)));
        }
        Ok(())
    }

    /// An answer of the comparison.
    pub(in crate::engine) fn compared(&mut self, question: Question, tries: u32, reply: Reply) {
        self.restart.open = self.restart.open.saturating_sub(1);
        if self.restart.phase != Phase::Comparing {
            return;
        }
        let heard = self.heard(&question, reply, tries >= MAX_TRIES);
        let answers = &mut self.restart.answers;
        match heard {
            true => answers.compared += 1,
            false if tries >= MAX_TRIES => answers.unanswered += 1,
            false => {
                let at = self.now.plus_ms(back_off_ms(ASK_AGAIN_MS, tries - 1));
                self.restart.later.push((at, question, tries + 1));
            }
        }
    }

    /// Whether the world answered. What is not there may only not be visible yet: that counts when it was
    /// asked for the last time.
    fn heard(&mut self, question: &Question, reply: Reply, last: bool) -> bool {
        match (question, reply) {
            (Question::Source, Reply::Source(Ok(list))) => {
                self.restart.answers.source = Some(list);
                true
            }
            (Question::Production, Reply::Production(Ok(Some(list)))) => {
                self.restart.answers.production = Some(list);
                true
            }
            (Question::Production, Reply::Production(Ok(None))) => {
                self.ask_cutovers();
                true
            }
            (Question::Effect(_, _, _, config), Reply::LookUp(Lookup::Found(found)))
                if found.config_digest == *config =>
            {
                true
            }
            (Question::Effect(job, operation, action, _), Reply::LookUp(lookup)) if last => {
                let what = match lookup {
                    Lookup::Absent => "it is not found under its id".to_owned(),
                    Lookup::Found(other) => format!(
                        "under its id there is another config ({})",
                        other.config_digest.short()
                    ),
                    Lookup::CannotTell { .. } => return false,
                };
                self.restart
                    .answers
                    .missing
                    .push((job.clone(), operation.clone(), *action, what));
                true
            }
            (Question::RunEnd(job, operation, _), Reply::RunState(Ok(state))) => {
                if let RunState::Failed { why, .. } = state {
                    let what = why.chars().take(500).collect();
                    self.restart
                        .answers
                        .ended
                        .push((job.clone(), operation.clone(), what));
                }
                true
            }
            _ => false,
        }
    }

    /// A target that cannot list production is asked for the cutovers that moved last, one by one.
    fn ask_cutovers(&mut self) {
        let restart = &mut self.restart;
        let mut cut: Vec<(TimeMs, Question)> = restart
            .known
            .iter()
            .filter(|(_, own)| own.cut_over)
            .filter_map(|(job, own)| {
                let (_, config) = own.production.clone()?;
                let operation = own.cut_by.clone()?;
                Some((
                    own.last_progress,
                    Question::Effect(job.clone(), operation, Action::CutOver, config),
                ))
            })
            .collect();
        cut.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        restart
            .ask
            .extend(cut.into_iter().take(MAX_LOOKED_AT).map(|(_, one)| (one, 1)));
    }

    /// Everything was asked: hold, or go on.
    fn judge_round(&mut self) -> Result<(), EngineError> {
        let goal = self.goal.contract.id.clone();
        let restart = &mut self.restart;
        let mut all = differences(&restart.known, &restart.answers, &restart.contradictions);
        if restart.mode == Resume::Ask {
            all.push(asks(restart.begun));
        }
        let view = self.ledger.read();
        let mut found: BTreeMap<DriftId, Difference> = BTreeMap::new();
        let mut more = 0;
        for one in all {
            let id = one.id(&goal);
            if view.drift_accepted(&goal, &id)? {
                continue;
            }
            if found.len() < MAX_SHOWN {
                found.insert(id, one);
            } else {
                more += 1;
            }
        }
        let open: Vec<DriftId> = view
            .drift(&goal)?
            .into_iter()
            .filter(|row| row.state == "open")
            .map(|row| row.item)
            .collect();
        self.restart.more = more;
        self.restart.rounds += 1;
        let pause = back_off_ms(COMPARE_AGAIN_MS, self.restart.rounds - 1);
        self.restart.next_round = self.now.plus_ms(pause);
        for id in &open {
            if !found.contains_key(id) {
                self.emit_goal(Event::DriftGone { item: id.clone() });
            }
        }
        for (id, one) in found.iter().filter(|(id, _)| !open.contains(id)) {
            self.emit_goal(one.entry(id));
        }
        let same = open.len() == found.len() && open.iter().all(|id| found.contains_key(id));
        self.restart.found = found;
        if self.restart.found.is_empty() {
            return self.go_on("the ledger and the world agree");
        }
        if self.rig.fires(Sabotage::IgnoreDrift, true) {
            self.restart.found.clear();
            return self.go_on("differences do not matter");
        }
        if self.restart.mode == Resume::Auto {
            let ids: Vec<DriftId> = self.restart.found.keys().cloned().collect();
            return self.accept_items(&ids, None);
        }
        self.restart.phase = Phase::Held;
        self.restart.heard_people = false;
        if !same || self.restart.rounds == 1 {
            self.say_held()?;
        }
        Ok(())
    }

    fn say_held(&mut self) -> Result<(), EngineError> {
        let count = self.restart.found.len();
        let evidence = format!(
            "held after an unclean stop: {} to accept (dogwatch drift list)",
            differences_in_words(count + self.restart.more)
        );
        self.emit_checked(&format!(
            "held: {} to accept",
            differences_in_words(count + self.restart.more)
        ));
        self.set_held_alert(Some(evidence))
    }

    /// The restart is over.
    pub(super) fn go_on(&mut self, why: &str) -> Result<(), EngineError> {
        self.emit_checked(&format!("goes on: {why}"));
        self.set_held_alert(None)?;
        let restart = &mut self.restart;
        restart.phase = Phase::Open;
        restart.known.clear();
        restart.found.clear();
        restart.answers = Answers::default();
        restart.contradictions.clear();
        if std::mem::take(&mut restart.added) > 0 {
            self.commit()?;
            self.index_again()?;
        }
        self.wake_everyone();
        Ok(())
    }

    fn emit_checked(&mut self, outcome: &str) {
        let event = Event::DriftChecked {
            compared: self.restart.answers.compared,
            unanswered: self.restart.answers.unanswered,
            differences: (self.restart.found.len() + self.restart.more) as u64,
            outcome: outcome.to_owned(),
        };
        self.emit_goal(event);
    }

    fn set_held_alert(&mut self, evidence: Option<String>) -> Result<(), EngineError> {
        let open = self
            .ledger
            .read()
            .alerts(&self.goal.contract.id)?
            .iter()
            .any(|one| one.rule == HELD && one.cleared_at.is_none());
        if open {
            self.emit_goal(Event::AlertCleared {
                rule: HELD.to_owned(),
                why: match &evidence {
                    None => "the restart is over".to_owned(),
                    Some(_) => "compared again".to_owned(),
                },
            });
        }
        if let Some(evidence) = evidence {
            self.emit_goal(Event::AlertRaised {
                rule: HELD.to_owned(),
                evidence,
            });
        }
        Ok(())
    }
}

/// The alert's rule.
const HELD: &str = "held";

fn differences_in_words(count: usize) -> String {
    match count {
        1 => "1 difference".to_owned(),
        more => format!("{more} differences"),
    }
}

/// For those who want to be asked in any case.
fn asks(begun: TimeMs) -> Difference {
    Difference {
        kind: DriftKind::Restart,
        job: None,
        ledger_says: "the engine before did not say goodbye".to_owned(),
        world_says: format!("asked at the restart of {begun}, because run.resume is \"ask\""),
        accepting: "work goes on",
        correction: Correction::Nothing,
    }
}

impl Difference {
    fn entry(&self, id: &DriftId) -> Event {
        let short = |text: &str| text.chars().take(1_000).collect::<String>();
        Event::DriftFound {
            item: id.clone(),
            differs: self.kind,
            about: self.job.as_ref().map_or(String::new(), |job| job.0.clone()),
            ledger_says: short(&self.ledger_says),
            world_says: short(&self.world_says),
            accepting: self.accepting.to_owned(),
        }
    }
}
