//! The log against the world: what was done was intended, once, and what is said of it is true.

use super::{Oracle, Outcome};
use crate::lab::sim::world::{Made, SimWorld, Truth};
use crate::model::{Action, JobId, OperationId};
use std::collections::BTreeMap;

impl Oracle {
    /// Holds at any time: also after a crash, before anything is looked up.
    pub(in crate::lab::sim) fn check_effects(&mut self, world: &SimWorld) {
        let made = world.state().made.clone();
        let mut by_id: BTreeMap<&OperationId, u32> = BTreeMap::new();
        let mut cut_over: BTreeMap<&JobId, u32> = BTreeMap::new();
        for one in &made {
            *by_id.entry(&one.operation).or_default() += u32::from(!one.gone);
            self.check_one(one);
            if one.action == Action::CutOver && !one.gone {
                *cut_over.entry(&one.job).or_default() += 1;
                if world.truth(&one.job, &one.config) != Truth::Good {
                    self.flag("no defective job is cut over", one.job.as_str());
                }
            }
        }
        for (id, count) in by_id {
            if count > 1 {
                self.flag("no effect twice", format!("{id} was done {count} times"));
            }
        }
        for (job, count) in cut_over {
            if count > 1 {
                self.flag(
                    "no effect twice",
                    format!("{job} was cut over {count} times"),
                );
            }
        }
        self.check_asked(world);
        if let Some(job) = world.state().mixed.first() {
            self.flag("what is compared is of one date", job.as_str());
        }
        let queries = world.state().queries;
        if queries > self.paid() {
            let seen = format!("{queries} ran, {} are paid for", self.paid());
            self.flag("every query is paid for", seen);
        }
        let by_job = world.state().queries_of.clone();
        let unpaid = self.jobs.iter().find_map(|(id, job)| {
            let ran = by_job.get(id).copied().unwrap_or(0);
            let paid = job.paid.0 + job.paid.1;
            (ran > paid).then(|| format!("{id}: {ran} ran, {paid} are paid for"))
        });
        if let Some(seen) = unpaid {
            self.flag("every query is paid for", seen);
        }
    }

    /// What a cutover sets off is asked for the request and again before the cutover.
    fn check_asked(&mut self, world: &SimWorld) {
        let asked = world.state().asked.clone();
        let mut found = Vec::new();
        for (id, job) in &self.jobs {
            let cut_over = job
                .operations
                .values()
                .filter(|one| one.action == Action::CutOver && one.approval.is_some());
            let must = (job.requests.len() + cut_over.count()) as u64;
            let count = asked.get(id).copied().unwrap_or(0);
            if count < must {
                found.push(format!("{id}: asked {count} times of {must}"));
            }
        }
        for seen in found {
            self.flag("what a cutover sets off is asked again before it", seen);
        }
    }

    /// A cutover sets off what its approver saw, and no more.
    fn check_told(&mut self, made: &Made) {
        let Some(job) = self.jobs.get(&made.job) else {
            return;
        };
        let request = job
            .operations
            .get(&made.operation)
            .and_then(|own| own.approval.as_ref())
            .and_then(|approval| job.requests.get(approval));
        let Some(request) = request else { return };
        let unseen = made
            .told
            .iter()
            .find(|line| !request.consequences.contains(line));
        // A target that could not tell was approved as such.
        let silent = request
            .consequences
            .iter()
            .any(|line| line.contains("cannot tell"));
        if let Some(line) = unseen.filter(|_| !silent) {
            let seen = format!("{}: {line}", made.job);
            self.flag("a cutover sets off what its approver saw", seen);
        }
    }

    fn check_one(&mut self, made: &Made) {
        if made.action == Action::CutOver {
            self.check_told(made);
        }
        let intent = self
            .jobs
            .get(&made.job)
            .and_then(|job| job.operations.get(&made.operation));
        match intent {
            None => self.flag(
                "no effect without an intent",
                format!("{} of {}", made.operation, made.job),
            ),
            Some(own) if own.action != made.action || own.config != made.config_digest => self
                .flag(
                    "an effect is what was intended",
                    format!("{} of {}", made.operation, made.job),
                ),
            Some(own) if own.outcome == Outcome::Refused && !made.gone => self.flag(
                "refused means that it did not happen",
                format!("{} of {} happened", made.operation, made.job),
            ),
            Some(_) => {}
        }
    }

    /// Holds when the world is calm and the engine rests: every operation has its outcome or a person
    /// is asked, and applied means that it happened.
    pub(in crate::lab::sim) fn check_outcomes(&mut self, world: &SimWorld, all_settled: bool) {
        let made = world.state().made.clone();
        let mut found = Vec::new();
        // A held engine only reads: what it may send again it sends when people have accepted.
        let held = self.only_reads && !self.drift.is_empty();
        for (id, job) in &self.jobs {
            for (operation, own) in &job.operations {
                let happened = made.iter().any(|one| one.operation == *operation);
                let seen = format!("{operation} of {id}");
                match own.outcome {
                    Outcome::Open if all_settled || !(own.to_verify || held) => {
                        found.push(("no operation stays open unseen", seen));
                    }
                    Outcome::Applied if !happened => {
                        found.push(("applied means that it happened", seen));
                    }
                    _ => {}
                }
            }
        }
        for (rule, what) in found {
            self.flag(rule, what);
        }
    }
}
