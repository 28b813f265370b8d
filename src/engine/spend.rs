//! Budgets at work: reservations, and what follows when a total nears its end.

use super::forecast::forecast;
use super::handoff::{markdown, package};
use super::run::{Engine, EngineError};
use super::walls::{Reached, Refused};
use crate::ledger::event::Event;
use crate::ledger::read::AlertRow;
use crate::model::{Amounts, JobId, SpendId, WaitKind};
use std::path::{Path, PathBuf};

/// The rule of alerts about totals that are used up, or nearly.
pub const ALERT: &str = "budget";
/// The rule of alerts about what will not fit.
pub const FORECAST: &str = "forecast";
/// With more jobs than this, an outlook is made once an hour: it reads every job.
const MOST_JOBS_EACH_BEAT: usize = 2_000;

impl Engine {
    /// Sets amounts aside for something that is about to be asked for; the entry is committed before the
    /// call. `id` is the spender's own name for it, unique in the goal.
    pub(super) fn reserve(
        &mut self,
        job: &JobId,
        id: SpendId,
        amounts: Amounts,
    ) -> Result<Result<(), Refused>, EngineError> {
        if self.walls.is_open(&id) {
            return Err(EngineError::Setup(format!(
                "{id} is reserved already; this is a defect"
            )));
        }
        if let Err(refused) = self.walls.room_for(&amounts) {
            return Ok(Err(refused));
        }
        self.walls.reserve(job, &id, &amounts);
        let day = self.walls.day().to_owned();
        self.emit(job, Event::BudgetReserved { id, amounts, day })?;
        Ok(Ok(()))
    }

    /// Replaces a reservation by what was spent. `sure` is false when it may have cost less.
    pub(super) fn settle_spend(
        &mut self,
        job: &JobId,
        id: &SpendId,
        spent: Amounts,
        sure: bool,
    ) -> Result<(), EngineError> {
        let Some(open) = self.walls.settle(id, &spent) else {
            // A second answer for the same reservation spends nothing again.
            return Ok(());
        };
        let given_back = open
            .amounts
            .iter()
            .any(|(budget, held)| spent.get(budget).is_none_or(|spent| spent < held));
        let id = id.clone();
        self.emit(job, Event::BudgetSettled { id, spent, sure })?;
        if given_back {
            self.wake_waiting(&[WaitKind::Budget]);
        }
        Ok(())
    }

    /// Reservations that an engine before left without an end: nobody knows what they cost, so they cost
    /// all that was set aside. A damaged job's stay reserved, which counts the same.
    pub(super) fn settle_what_was_cut_off(&mut self) -> Result<(), EngineError> {
        let open: Vec<_> = self.walls.open().cloned().collect();
        for one in open {
            let damaged = self.index.jobs.get(&one.job).is_none_or(|job| job.damaged);
            if !damaged {
                self.settle_spend(&one.job, &one.id, one.amounts, false)?;
            }
        }
        Ok(())
    }

    /// Jobs with such a wait look again.
    pub(super) fn wake_waiting(&mut self, kinds: &[WaitKind]) {
        let waiting: Vec<JobId> = self
            .index
            .jobs
            .iter()
            .filter(|(_, job)| job.wait.is_some_and(|kind| kinds.contains(&kind)))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &waiting {
            self.index.mark_ready(id);
        }
    }

    /// Puts the walls of a new contract version in force; work that waited for them looks again.
    pub(super) fn move_walls(&mut self) {
        self.walls.set_contract(&self.goal.contract, self.now);
        self.wake_waiting(&[WaitKind::Budget, WaitKind::Quota]);
    }

    /// Tells when a total reaches its handoff or its wall, when what was going on is over, and when there
    /// is room again.
    pub(super) fn watch_walls(&mut self) -> Result<(), EngineError> {
        let reached = self.walls.reached(self.now);
        // A limit that was raised while no engine ran leaves nothing reached and the work still stopped.
        let resumes = reached.is_empty() && self.stopped;
        if reached != self.reached || resumes {
            let fresh = reached
                .iter()
                .any(|one| self.reached.iter().all(|own| own.budget != one.budget));
            if self.tell_reached(&reached)? && fresh {
                self.write_package(&told(&reached))?;
            }
            self.reached = reached;
        }
        let drained = !self.reached.is_empty()
            && !self.stopped
            && self.settle_first_is_done()
            && self.in_flight.is_empty()
            && self.index.is_drained();
        if drained {
            self.stopped = true;
            self.write_package(&format!("work stopped: {}", told(&self.reached)))?;
            let why = format!("budget {}; what was going on is over", told(&self.reached));
            self.emit_goal(Event::WorkStopped { why });
        }
        Ok(())
    }

    /// Raises, changes or clears the alert; returns whether it said something new.
    fn tell_reached(&mut self, reached: &[Reached]) -> Result<bool, EngineError> {
        let view = self.ledger.read();
        let open = view
            .alerts(&self.goal.contract.id)?
            .into_iter()
            .find(|one| one.job.is_none() && one.rule == ALERT && one.cleared_at.is_none());
        let evidence = told(reached);
        if open.as_ref().is_some_and(|one| one.evidence == evidence) {
            return Ok(false);
        }
        if open.is_some() {
            self.emit_goal(Event::AlertCleared {
                rule: ALERT.to_owned(),
                why: if reached.is_empty() {
                    "there is room again".to_owned()
                } else {
                    "it has moved on".to_owned()
                },
            });
        }
        if !reached.is_empty() {
            let rule = ALERT.to_owned();
            self.emit_goal(Event::AlertRaised { rule, evidence });
            return Ok(true);
        }
        if std::mem::take(&mut self.stopped) {
            self.emit_goal(Event::WorkResumed {
                why: "there is room in every budget again".to_owned(),
            });
        }
        self.wake_waiting(&[WaitKind::Budget]);
        Ok(true)
    }

    /// Writes the package into the ledger, and a copy beside it for people.
    fn write_package(&mut self, why: &str) -> Result<(), EngineError> {
        let goal = &self.goal.contract;
        let package = package(self.ledger.read(), goal, why, self.now)?;
        let json = serde_json::to_string_pretty(&package).unwrap_or_default();
        let text = markdown(&package);
        let dir = handoff_dir(self.ledger.path(), goal.id.as_str());
        let files = [("handoff.md", &text), ("handoff.json", &json)];
        let copied = std::fs::create_dir_all(&dir).and_then(|()| {
            files
                .iter()
                .try_for_each(|(name, text)| std::fs::write(dir.join(name), text))
        });
        let why = match copied {
            Ok(()) => why.to_owned(),
            // The ledger has it all the same; a full disk beside it is no reason to stop.
            Err(error) => format!("{why}; no copy beside the ledger: {error}"),
        };
        let event = Event::HandoffWritten {
            why,
            json: self.blob(json.as_bytes()),
            markdown: self.blob(text.as_bytes()),
        };
        self.emit_goal(event);
        Ok(())
    }

    /// Looks ahead: writes the outlook down when it has changed, raises an alert the moment it stops
    /// fitting, and clears it when it fits again.
    pub(super) fn look_ahead(&mut self, alerts: &[AlertRow]) -> Result<(), EngineError> {
        if self.index.jobs.len() > MOST_JOBS_EACH_BEAT
            && self
                .outlook
                .as_ref()
                .is_some_and(|last| self.now.since(last.at) < 3_600_000)
        {
            return Ok(());
        }
        let outlook = forecast(self.ledger.read(), &self.goal.contract, self.now)?;
        let open = alerts
            .iter()
            .any(|one| one.job.is_none() && one.rule == FORECAST && one.cleared_at.is_none());
        let misfits = if outlook.jobs_open == 0 {
            Vec::new()
        } else {
            outlook.misfits(open)
        };
        let rule = FORECAST.to_owned();
        if open && misfits.is_empty() {
            let why = "it fits again".to_owned();
            self.emit_goal(Event::AlertCleared { rule, why });
        } else if !open && !misfits.is_empty() {
            let evidence = misfits.join("; ");
            self.emit_goal(Event::AlertRaised { rule, evidence });
        }
        let told = open != misfits.is_empty();
        let moved = self
            .outlook
            .as_ref()
            .is_none_or(|last| outlook.has_moved(last));
        if moved || !told {
            self.emit_goal(Event::ForecastMade {
                outlook: serde_json::to_value(&outlook).unwrap_or_default(),
            });
            self.outlook = Some(outlook);
        }
        Ok(())
    }

    /// Whether a budget ended the work and nobody here will make room: a run without an interface ends
    /// then, unless it was told to stay for people.
    pub(super) fn is_stopped_for_good(&self) -> bool {
        self.stopped && self.nobody_comes() && self.index.only_budgets()
    }
}

/// Where the copy of a goal's package lies.
pub fn handoff_dir(ledger: &Path, goal: &str) -> PathBuf {
    ledger.with_file_name(format!("handoff-{goal}"))
}

/// All that is reached, in one sentence.
fn told(reached: &[Reached]) -> String {
    let all: Vec<String> = reached.iter().map(Reached::sentence).collect();
    all.join("; ")
}
