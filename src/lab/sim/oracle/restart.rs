//! Restarts: after an unclean stop nothing is started before the ledger was compared with the world and
//! every difference was accepted by one who may.

use super::{Oracle, Outcome};
use crate::lab::sim::meddle::MeddleKind;
use crate::ledger::event::{Act, Event};
use crate::ledger::read::EventRow;
use crate::model::{Action, JobId, JobState};

impl Oracle {
    /// Something that the next comparison must find.
    pub(in crate::lab::sim) fn expect_difference(&mut self, kind: MeddleKind, job: &JobId) {
        if kind == MeddleKind::TakeRun {
            self.taken.insert(job.clone());
        }
        if !self.engine_was_there {
            return;
        }
        let listed = self.terms.lists_production;
        let Some(own) = self.jobs.get(job) else {
            return;
        };
        let in_doubt = own
            .operations
            .values()
            .any(|one| one.action == Action::CutOver && one.outcome == Outcome::Open);
        let applied = own
            .operations
            .values()
            .any(|one| one.action == Action::CutOver && one.outcome == Outcome::Applied);
        let must = match kind {
            MeddleKind::Redefine => !own.state.has_ended(),
            MeddleKind::ByHand => listed && !own.state.has_ended() && !in_doubt && !applied,
            MeddleKind::TakeCutOver => listed && own.state == JobState::CutOver,
            MeddleKind::Remove => !own.state.has_ended(),
            MeddleKind::TakeRun | MeddleKind::Add => false,
        };
        if must {
            self.expected.insert(job.clone());
        }
    }

    pub(super) fn read_restart(&mut self, row: &EventRow, event: &Event) {
        match event {
            Event::EngineStarted {
                after_clean_stop, ..
            } => {
                self.engine_was_there = true;
                self.only_reads |= !after_clean_stop;
            }
            Event::DriftFound { item, about, .. } => {
                let about = JobId::from(about.as_str());
                self.expected.remove(&about);
                self.drift.insert(item.clone(), about);
            }
            Event::DriftGone { item } => {
                self.drift.remove(item);
            }
            Event::DriftAccepted { item, .. } => {
                let Some(about) = self.drift.remove(item) else {
                    self.flag("what is accepted was found", item.as_str());
                    return;
                };
                self.check_accepted(row, item);
                if let Some(job) = self.jobs.get_mut(&about) {
                    job.causes.person = true;
                    job.corrected = true;
                }
            }
            Event::DriftChecked {
                differences,
                unanswered,
                ..
            } => {
                if let Some(job) = self.expected.pop_first()
                    && *unanswered == 0
                {
                    self.flag("a difference is found", job.as_str());
                }
                self.expected.clear();
                if *differences == 0 && self.drift.is_empty() {
                    self.only_reads = false;
                } else if *differences == 0 {
                    let seen = format!("{} are open", self.drift.len());
                    self.flag("a held engine goes on when all is accepted", seen);
                }
            }
            Event::OpIntended { .. }
            | Event::OpSentAgain { .. }
            | Event::AttemptStarted { .. }
            | Event::ConfigProposed { .. }
            | Event::CheckStarted { .. }
                if self.only_reads =>
            {
                self.flag(
                    "after an unclean stop nothing is started before world and ledger were compared",
                    format!("{} of {:?}", row.kind, row.job),
                );
            }
            Event::OpOverturned { operation, .. } | Event::OpUndone { operation, .. } => {
                let by_drift = matches!(event, Event::OpOverturned { .. });
                let Some(job) = row.job.as_ref().and_then(|id| self.jobs.get_mut(id)) else {
                    return;
                };
                let corrected = job.corrected;
                job.succeeded.remove(operation);
                job.run_stands &= job.last_run.as_ref() != Some(operation);
                if let Some(own) = job.operations.get_mut(operation) {
                    if by_drift && own.action == Action::CutOver {
                        job.production = None;
                    }
                    own.outcome = Outcome::Overturned;
                }
                if by_drift && !corrected {
                    self.flag("only an accepted difference overturns", operation.as_str());
                }
            }
            Event::JobRedefined { definition } => {
                if let Some(job) = row.job.as_ref().and_then(|id| self.jobs.get_mut(id)) {
                    job.definition = definition.clone();
                    if !job.state.has_ended() {
                        job.dates = 0;
                        job.config = None;
                    }
                }
            }
            _ => {}
        }
    }

    fn check_accepted(&mut self, row: &EventRow, item: &crate::model::DriftId) {
        let Some(by) = row.actor.strip_prefix("person:") else {
            if !self.terms.accepts_by_itself {
                self.flag("a person accepts differences", item.as_str());
            }
            return;
        };
        let asked = self.decisions.values().any(|one| {
            one.by == by && matches!(&one.act, Act::AcceptDrift { items } if items.contains(item))
        });
        let may = !self.terms.approval || self.terms.approvers.contains(by);
        if !asked || !may {
            self.flag(
                "a difference is accepted by one who may",
                format!("{item} by {by}"),
            );
        }
    }
}
