//! Amendments: the owner's alone, they reach every job, and nothing is done again that they did not touch.

use super::{JobLog, Oracle, Outcome, Terms, lineage_of, stored_lineage};
use crate::ledger::event::{Act, Event};
use crate::ledger::read::EventRow;
use crate::model::{Action, ClauseId, Digest, JobId, JobState};

impl Oracle {
    /// A version that may come into force.
    pub(in crate::lab::sim) fn expect_version(&mut self, terms: Terms) {
        self.versions.insert(terms.digest.clone(), terms);
    }

    pub(super) fn read_amendment(&mut self, row: &EventRow, event: &Event) {
        match event {
            Event::GoalAmended {
                contract_digest, ..
            } => self.amended(row, contract_digest),
            Event::JobRescoped { clauses, .. } => {
                if let Some(job) = row.job.as_ref().and_then(|id| self.jobs.get_mut(id)) {
                    job.clauses = clauses.iter().map(|(id, _)| id.clone()).collect();
                }
            }
            Event::AttemptStarted { .. }
            | Event::CheckStarted { .. }
            | Event::OpIntended { .. }
            | Event::ApprovalRequested { .. } => {
                if let Some(id) = &row.job {
                    self.check_touched(id, event);
                    self.check_again(id, event);
                }
            }
            _ => {}
        }
    }

    fn amended(&mut self, row: &EventRow, digest: &Digest) {
        let by = row.actor.trim_start_matches("person:");
        let asked = self.decisions.values().any(|one| {
            one.by == by
                && matches!(&one.act, Act::Amend { contract, base, .. }
                    if contract == digest && *base == self.terms.digest)
        });
        if !asked || by != self.terms.owner {
            self.flag("only the owner amends what is in force", row.actor.clone());
        }
        match self.versions.get(digest) {
            Some(terms) => self.terms = terms.clone(),
            None => self.flag("a version was asked for", digest.short()),
        }
    }

    /// What begins is under the version in force.
    fn check_touched(&mut self, id: &JobId, event: &Event) {
        let Some(job) = self.jobs.get(id) else { return };
        let expected: Vec<&ClauseId> = self
            .terms
            .applies
            .iter()
            .filter(|(_, tables)| !**tables || job.table)
            .map(|(id, _)| id)
            .collect();
        let mut own: Vec<&ClauseId> = job.clauses.iter().collect();
        own.sort();
        let differs = own != expected;
        let given_up = self.terms.retired.contains(id) && job.production.is_none();
        if differs {
            let seen = format!("{id} is judged by {own:?}");
            self.flag("an amendment reaches every job", seen);
        }
        if given_up && !matches!(event, Event::ApprovalRequested { .. }) {
            self.flag("nothing begins for a job that is given up", id.as_str());
        }
    }

    /// What is valid is neither judged nor staged again.
    fn check_again(&mut self, id: &JobId, event: &Event) {
        let Some(job) = self.jobs.get(id) else { return };
        let again = match event {
            Event::CheckStarted { clause, .. } => job.is_judged(&self.terms, clause),
            Event::OpIntended {
                action: Action::Stage,
                config,
                upstream,
                ..
            } => {
                let lineage = lineage_of(&stored_lineage(upstream).unwrap_or_default());
                job.is_staged(config, &lineage)
            }
            _ => false,
        };
        if again {
            let seen = match event {
                Event::CheckStarted { clause, .. } => format!("{id}: {clause}"),
                _ => format!("{id} is staged"),
            };
            self.flag("nothing valid is done again", seen);
        }
    }

    /// What the contract gave up is cancelled, unless it went into production before.
    pub(super) fn check_retired(&mut self) {
        let left: Vec<JobId> = self
            .terms
            .retired
            .iter()
            .filter(|id| {
                self.jobs
                    .get(*id)
                    .is_some_and(|job| job.production.is_none() && job.state != JobState::Cancelled)
            })
            .cloned()
            .collect();
        if let Some(first) = left.first() {
            self.flag("what is given up is cancelled", first.as_str());
        }
    }
}

impl JobLog {
    /// The current run, if it still stands.
    fn current_run(&self) -> Option<&super::OperationLog> {
        let id = self.last_run.as_ref().filter(|_| self.run_stands)?;
        self.operations
            .get(id)
            .filter(|own| own.outcome == Outcome::Applied)
    }

    fn is_staged(&self, config: &Digest, lineage: &Digest) -> bool {
        self.current_run()
            .is_some_and(|own| own.config == *config && own.lineage == *lineage)
    }

    /// Whether the current run has a verdict on a clause under its current key.
    fn is_judged(&self, terms: &Terms, clause: &ClauseId) -> bool {
        let (Some(own), Some(run)) = (self.evidence.get(clause), self.current_run()) else {
            return false;
        };
        self.last_run.as_ref() == Some(&own.operation)
            && own.config == run.config
            && own.lineage == run.lineage
            && terms
                .clauses
                .get(clause)
                .is_some_and(|(digest, checker)| own.clause == *digest && own.checker == *checker)
    }
}
