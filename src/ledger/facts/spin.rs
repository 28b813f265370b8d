//! What a job's circles are seen by.

use super::JobFacts;
use crate::ledger::event::{Entry, Event};
use crate::model::{ClauseId, Digest, FailureClass, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Changes of one job that are remembered; more than any plan proposes.
const MAX_CHANGES: usize = 256;

/// Counts of what repeats. Waits, looks, refusals of the environment and outages leave nothing here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpinFacts {
    /// Clauses that ever passed on this job.
    pub passed: BTreeSet<ClauseId>,
    /// Failures by check since a clause passed for the first time, or the strategy was changed for spinning.
    pub failed_checks: BTreeMap<String, u32>,
    /// How often each change was submitted.
    pub changes: BTreeMap<Digest, u32>,
    /// How often the change proposed last was.
    pub same_change: u32,
    /// Alarms on this job since it began.
    pub found: u32,
    /// Whether the last entry was a clause that passed for the first time.
    pub passed_now: bool,
    /// Whether the attempt had one.
    pub passed_in_attempt: bool,
    /// Whether the attempt had any verdict.
    pub evidence_in_attempt: bool,
}

impl JobFacts {
    pub(super) fn apply_spin(&mut self, entry: &Entry) {
        self.spin.passed_now = false;
        match &entry.event {
            Event::AttemptStarted { .. } => {
                self.spin.passed_in_attempt = false;
                self.spin.evidence_in_attempt = false;
            }
            Event::ConfigProposed { changes, .. } => {
                self.spin.same_change = 0;
                for change in changes {
                    if self.spin.changes.len() >= MAX_CHANGES {
                        self.spin.changes.pop_first();
                    }
                    let count = self.spin.changes.entry(change.clone()).or_default();
                    *count += 1;
                    self.spin.same_change = self.spin.same_change.max(*count);
                }
            }
            Event::EvidenceRecorded {
                clause, verdict, ..
            } => {
                self.spin.evidence_in_attempt = true;
                if *verdict == Verdict::Pass && self.spin.passed.insert(clause.clone()) {
                    self.spin.passed_now = true;
                    self.spin.passed_in_attempt = true;
                    self.spin.failed_checks.clear();
                }
            }
            Event::ConfigFailed { .. } => {
                let check = self.failing_check();
                *self.spin.failed_checks.entry(check).or_default() += 1;
            }
            Event::SpinFound { .. } => {
                self.spin.found += 1;
                self.spin.failed_checks.clear();
                self.spin.same_change = 0;
            }
            Event::SpinReleased {} | Event::JobRetried {} => {
                self.spin.found = 0;
                self.spin.failed_checks.clear();
                self.spin.changes.clear();
                self.spin.same_change = 0;
            }
            _ => {}
        }
    }

    /// What the current config failed at.
    fn failing_check(&self) -> String {
        let clause = self.evidence.iter().find(|(_, one)| {
            one.verdict != Verdict::Pass && Some(&one.config) == self.config.as_ref()
        });
        match (&self.run, clause) {
            _ if self.config_refused.is_some() => "the target's own check".to_owned(),
            (
                Some(super::RunFacts::Failed {
                    class: FailureClass::Job,
                    ..
                }),
                _,
            ) => "the staging run".to_owned(),
            (_, Some((id, _))) => format!("clause {id}"),
            _ => "the config".to_owned(),
        }
    }
}
