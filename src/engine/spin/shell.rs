//! The engine's side of spinning: an alarm with its evidence, and what follows from it.

use super::{Finding, SpinView, of_goal};
use crate::engine::decide::usable_strategy;
use crate::engine::rig::Sabotage;
use crate::engine::run::{Engine, EngineError};
use crate::ledger::event::Event;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{EventRow, OverruleRow, ProgressRow};
use crate::model::{Digest, JobId, Seq, SpinKind};

/// Entries shown behind one alarm.
const MAX_ENTRIES: usize = 20;

/// What the engine keeps in memory; all of it is read from the ledger.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Spin {
    pub(super) row: ProgressRow,
    pub(super) overrules: Vec<OverruleRow>,
}

impl Spin {
    /// What a job may know; without a job, what holds for the goal.
    pub(in crate::engine) fn view(&self, job: Option<&JobId>) -> SpinView {
        SpinView {
            floor: self.row.floor as usize,
            held: (!self.row.held.is_empty()).then(|| self.row.held.clone()),
            overruled: self
                .overrules
                .iter()
                .filter(|one| one.ended_at.is_none())
                .filter(|one| one.job.is_none() || one.job.as_ref() == job)
                .map(|one| one.rule)
                .collect(),
        }
    }
}

impl Engine {
    /// Reads what is known of progress; raises the goal's own alarm.
    pub(in crate::engine) fn tend_spin(&mut self) -> Result<(), EngineError> {
        let was_held = !self.spin.row.held.is_empty();
        self.reread_spin()?;
        let row = self.spin.row.clone();
        let view = self.spin.view(None);
        if was_held && view.held.is_none() {
            self.emit_goal(Event::AlertCleared {
                rule: "spin".to_owned(),
                why: "the goal gets on again".to_owned(),
            });
            self.wake_everyone();
        }
        if view.held.is_some() {
            return Ok(());
        }
        let Some(finding) = of_goal(&row, &self.goal.contract.spin, &view) else {
            return Ok(());
        };
        if self.rig.fires(Sabotage::SpinAsleep, true) {
            return Ok(());
        }
        let floor = row.floor as usize;
        let next = (row.spins == 0)
            .then(|| usable_strategy(self.rules(), floor + 1))
            .flatten();
        let entries = self.rounds_since(row.since)?;
        let then = match next.and_then(|index| self.goal.strategies.get(index)) {
            Some(strategy) => format!("every job goes on with strategy {}", strategy.id),
            None => "nothing new is attempted until a person decides".to_owned(),
        };
        self.raise_spin(None, &finding, &entries, next, &then)?;
        self.commit()?;
        self.reread_spin()
    }

    /// What is in force now; whether the goal is held is read at the next turn.
    pub(super) fn reread_overrules(&mut self) -> Result<(), EngineError> {
        self.spin.overrules = self.ledger.read().overrules(&self.goal.contract.id)?;
        Ok(())
    }

    pub(in crate::engine) fn reread_spin(&mut self) -> Result<(), EngineError> {
        let view = self.ledger.read();
        self.spin = Spin {
            row: view.progress(&self.goal.contract.id)?,
            overrules: view.overrules(&self.goal.contract.id)?,
        };
        Ok(())
    }

    /// Attempts that ended since an entry.
    fn rounds_since(&self, since: Seq) -> Result<Vec<Seq>, EngineError> {
        let rows = self.ledger.read().log_after(since, 5_000)?;
        Ok(last_of(rows.iter().filter(|row| {
            row.goal == self.goal.contract.id
                && matches!(
                    row.event,
                    Some(Event::AttemptEnded { .. } | Event::BudgetSettled { .. })
                )
        })))
    }

    /// A job goes round in circles: once it changes its strategy, then a person takes it.
    pub(in crate::engine) fn spin_found(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        finding: &Finding,
        next: Option<usize>,
    ) -> Result<(), EngineError> {
        // The last of the entries behind it may be of this very turn, and has no place before its commit.
        self.commit()?;
        let rows = self.ledger.read().job_events(&self.goal.contract.id, id)?;
        let entries = behind(&rows, finding);
        let name = next.and_then(|index| self.goal.strategies.get(index));
        let then = match name {
            Some(strategy) => format!("it goes on with strategy {}", strategy.id),
            None => "a person takes it".to_owned(),
        };
        let why = format!("spinning, {}", finding.sentence());
        self.raise_spin(Some(id), finding, &entries, next, &then)?;
        if facts.attempt_open {
            self.emit(
                id,
                Event::AttemptEnded {
                    outcome: "failed".to_owned(),
                    reason: why.clone(),
                },
            )?;
        }
        match next {
            Some(index) => {
                let facts = self.facts(id)?;
                self.start_attempt(id, &facts, index)
            }
            None => self.hand_over(id, &why),
        }
    }

    fn raise_spin(
        &mut self,
        job: Option<&JobId>,
        finding: &Finding,
        entries: &[Seq],
        next: Option<usize>,
        then: &str,
    ) -> Result<(), EngineError> {
        let places: Vec<String> = entries.iter().map(|seq| seq.0.to_string()).collect();
        let alert = Event::AlertRaised {
            rule: "spin".to_owned(),
            evidence: format!(
                "{}; entries {}; {then}",
                finding.sentence(),
                places.join(", ")
            ),
        };
        let found = Event::SpinFound {
            rule: finding.rule,
            what: finding.what.clone(),
            count: finding.count,
            limit: finding.limit,
            entries: entries.to_vec(),
            next: next.map(|index| index as u32),
        };
        match job {
            Some(id) => {
                self.emit(id, found)?;
                self.emit(id, alert)
            }
            None => {
                self.emit_goal(found);
                self.emit_goal(alert);
                Ok(())
            }
        }
    }
}

/// The entries of a job that a finding counted.
fn behind(rows: &[EventRow], finding: &Finding) -> Vec<Seq> {
    let count = usize::try_from(finding.count).unwrap_or(MAX_ENTRIES);
    let all = match finding.rule {
        SpinKind::SameCheck => last_of(
            rows.iter()
                .filter(|row| matches!(row.event, Some(Event::ConfigFailed { .. }))),
        ),
        SpinKind::SameChange => {
            let last = rows.iter().rev().find_map(proposed).unwrap_or_default();
            last_of(rows.iter().filter(|row| {
                proposed(row).is_some_and(|own| own.iter().any(|one| last.contains(one)))
            }))
        }
        SpinKind::RoundsWithoutPass | SpinKind::TokensWithoutPass => Vec::new(),
    };
    let from = all.len().saturating_sub(count);
    all.get(from..).unwrap_or_default().to_vec()
}

/// What an entry proposed to change.
fn proposed(row: &EventRow) -> Option<&[Digest]> {
    match &row.event {
        Some(Event::ConfigProposed { changes, .. }) => Some(changes),
        _ => None,
    }
}

fn last_of<'a>(rows: impl Iterator<Item = &'a EventRow>) -> Vec<Seq> {
    let all: Vec<Seq> = rows.map(|row| row.seq).collect();
    let from = all.len().saturating_sub(MAX_ENTRIES);
    all.get(from..).unwrap_or_default().to_vec()
}
