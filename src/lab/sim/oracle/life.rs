//! A job's life: its states, its waits, why it becomes a person's, and that it ends.

use super::{Causes, Oracle, WaitLog, at_clock, lineage_of};
use crate::ledger::event::{Act, Event};
use crate::model::{
    Action, FailureClass, JobId, JobState, OperationId, TimeMs, Verdict, WaitKind, Wake,
};

/// Refusals in a row, and checks in a row without a verdict, after which a person is asked.
const MANY_REFUSALS: u32 = 20;
const MANY_CHECKS: u32 = 6;
/// A timer may be this late: the turn in which it fires, and one more.
const SLACK_MS: i64 = 60_000;

impl Oracle {
    pub(super) fn read_life(&mut self, id: &JobId, event: &Event) {
        self.read_causes(id, event);
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        match event {
            Event::ConfigProposed { config, .. } => {
                job.config = Some(config.clone());
                job.run_stands = false;
            }
            Event::AttemptStarted { .. } => {
                job.config = None;
                job.run_stands = false;
            }
            Event::JobOutdated { .. } => job.outdated = true,
            Event::ClauseWaived {
                clause,
                clause_digest,
                config,
                ..
            } => {
                let key = (clause_digest.clone(), config.clone());
                job.waived.insert(clause.clone(), key);
                if job.state != JobState::Reverify {
                    self.flag(
                        "only what is in production and fails is waived",
                        id.as_str(),
                    );
                }
            }
            Event::TriesGivenBack { staging, .. } if *staging > 0 => {
                self.relieved.insert(id.clone());
            }
            Event::JobPaused {} => job.paused = true,
            Event::JobResumed {} => job.paused = false,
            Event::JobRetried {} => {
                job.dates = 0;
                job.config = None;
                job.causes = Causes::default();
                job.held = false;
                if job.state != JobState::HandedOver {
                    self.flag("only a person's job is tried again", id.as_str());
                }
            }
            Event::DecisionAnswered {
                decision,
                accepted: true,
                ..
            } => {
                let act = self.decisions.get(decision).map(|one| &one.act);
                let takes = matches!(act, Some(Act::HandOver { .. }));
                if takes && let Some(job) = self.jobs.get_mut(id) {
                    job.causes.person = true;
                }
            }
            Event::JobMoved { state, reason } => self.moved(id, *state, reason),
            _ => {}
        }
    }

    fn moved(&mut self, id: &JobId, state: JobState, reason: &str) {
        let Some(job) = self.jobs.get(id).cloned() else {
            return;
        };
        let again = (job.state == JobState::HandedOver
            && matches!(state, JobState::Pending | JobState::HandedOver))
            || (job.state == JobState::CutOver && state == JobState::Reverify)
            || (job.state == JobState::HandedOver
                && state == JobState::Cancelled
                && self.terms.retired.contains(id));
        if state == JobState::Cancelled && !job.corrected && !self.terms.retired.contains(id) {
            self.flag(
                "a job is cancelled for a cause",
                format!("{id}: {reason:?}"),
            );
        }
        if job.state.has_ended() && !again && !job.corrected {
            self.flag(
                "what has ended stays ended",
                format!("{id}: {} to {state}", job.state),
            );
        }
        match state {
            JobState::CutOver => {
                self.check_done(id);
                if job.state == JobState::Reverify {
                    self.check_passes(id, state);
                }
            }
            JobState::Reconciled | JobState::AwaitingApproval => self.check_passes(id, state),
            JobState::HandedOver => {
                if let Some(what) = self.no_cause(id, &job.causes, job.held) {
                    self.flag(
                        "a job is handed over for a cause",
                        format!("{id}: {reason:?}, but {what}"),
                    );
                }
            }
            _ => {}
        }
        if let Some(job) = self.jobs.get_mut(id) {
            job.state = state;
            job.outdated &= state != JobState::CutOver;
        }
    }

    fn check_passes(&mut self, id: &JobId, state: JobState) {
        let Some(job) = self.jobs.get(id) else { return };
        let (Some(config), Ok(ground)) = (&job.config, self.ground(job)) else {
            // Upstream is changing: the job will be looked at again.
            return;
        };
        // Back from a request that an upstream change has just made stale, to be asked again.
        let back = job.state == JobState::AwaitingApproval && state == JobState::Reconciled;
        if let Some(why) = job.not_passed(&self.terms, config, &lineage_of(&ground))
            && !back
        {
            self.flag("no pass without evidence", format!("{id}: {why}"));
        }
    }

    fn read_causes(&mut self, id: &JobId, event: &Event) {
        let action = |operation: &OperationId| {
            let own = self.jobs.get(id)?.operations.get(operation)?;
            Some((own.action, own.config.clone()))
        };
        let of = match event {
            Event::OpRefused { operation, .. } | Event::RunFailed { operation, .. } => {
                action(operation)
            }
            _ => None,
        };
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        let causes = &mut job.causes;
        match event {
            Event::OpRefused { class, why, .. } => {
                causes.refusals += 1;
                causes.job_fault |= *class == FailureClass::Job;
                let cut_over = of.is_some_and(|(action, _)| action == Action::CutOver);
                causes.cut_over_refused |= cut_over && why.starts_with("ruled by");
            }
            // A person undid a cutover, and has the job now.
            Event::OpUndone { operation, .. } => {
                causes.cut_over_refused |= job
                    .operations
                    .get(operation)
                    .is_some_and(|one| one.action == Action::CutOver);
            }
            Event::OpApplied { .. } => causes.refusals = 0,
            Event::RunFailed { class, .. } => {
                causes.job_fault |= *class == FailureClass::Job;
                if let Some((_, config)) = of {
                    *causes.failed_runs.entry(config).or_default() += 1;
                }
            }
            Event::EvidenceRecorded { verdict, .. } => {
                causes.unanswered_checks = 0;
                causes.job_fault |= *verdict != Verdict::Pass;
            }
            Event::CheckFailed { .. } => causes.unanswered_checks += 1,
            Event::AlertRaised { rule, .. } if rule == "lost run" => {
                causes.lost_run = true;
                if !self.taken.contains(id) {
                    self.flag("a run that is there is not lost", id.as_str());
                }
            }
            Event::PrepareFailed { class, .. } => {
                causes.failed_workers += 1;
                causes.job_fault |= *class == FailureClass::Job;
            }
            Event::ConfigProposed { .. } => causes.failed_workers = 0,
            _ => {}
        }
    }

    /// Why nothing in the log explains that the job is a person's now.
    fn no_cause(&self, id: &JobId, causes: &Causes, held: bool) -> Option<String> {
        let tries = self.terms.staging_tries;
        let runs = causes.failed_runs.values().copied().max().unwrap_or(0);
        let dear = self.terms.queries_a_day.is_some_and(|limit| limit < 2);
        let explained = causes.person
            || causes.job_fault
            || causes.cut_over_refused
            || causes.lost_run
            || causes.spins
            || held
            || dear
            || self.terms.cyclic.contains(id)
            || runs >= tries
            || causes.failed_workers >= tries
            || causes.refusals >= MANY_REFUSALS
            || causes.unanswered_checks >= MANY_CHECKS;
        (!explained).then(|| {
            format!(
                "{runs} failed runs of {tries}, {} refusals, {} checks without an answer",
                causes.refusals, causes.unanswered_checks
            )
        })
    }

    pub(super) fn read_wait(&mut self, id: &JobId, at: TimeMs, event: &Event) {
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        match event {
            Event::WaitStarted {
                wait,
                reason,
                wakes,
                next_check,
                overdue,
            } => {
                // A wait that goes on may be overdue, and then it is shown; it may not put its end off.
                let same = job
                    .wait
                    .as_ref()
                    .filter(|own| own.kind == *wait && own.reason == *reason);
                let put_off =
                    *wait == WaitKind::World && same.is_some_and(|own| *overdue > own.overdue);
                let since = same.map_or(at, |own| own.since);
                let goes_on = same.is_some() || *wait == WaitKind::ToVerify;
                job.wait = Some(WaitLog {
                    kind: *wait,
                    reason: reason.clone(),
                    since,
                    next_check: *next_check,
                    overdue: *overdue,
                });
                let by_clock = wakes
                    .iter()
                    .filter_map(at_clock)
                    .any(|one| one == *next_check);
                let live = match wait {
                    WaitKind::World
                    | WaitKind::Quota
                    | WaitKind::ToVerify
                    | WaitKind::Freeze
                    | WaitKind::Soak
                    | WaitKind::Outage => by_clock,
                    WaitKind::Turn => !wakes.is_empty(),
                    WaitKind::Person => wakes
                        .iter()
                        .any(|one| matches!(one, Wake::Approval | Wake::Event { .. })),
                    WaitKind::Upstream => wakes.iter().any(|one| matches!(one, Wake::Job { .. })),
                    WaitKind::Paused | WaitKind::Budget => !wakes.is_empty(),
                };
                let over = *overdue <= at && !goes_on && !reason.starts_with("outcome of");
                if !live || *next_check <= at || over {
                    self.flag("no wait without a live wake", format!("{id}: {reason}"));
                }
                if put_off {
                    self.flag(
                        "a wait does not put its own end off",
                        format!("{id}: {reason}"),
                    );
                }
            }
            // Words and looks do not end a wait.
            Event::DecisionSubmitted { .. }
            | Event::DecisionAnswered { .. }
            | Event::JobCommented { .. }
            | Event::JobRescoped { .. }
            | Event::AlertRaised { .. }
            | Event::AlertCleared { .. }
            | Event::OpLookedUp { .. } => {}
            _ => job.wait = None,
        }
    }

    /// Nobody does anything any more and the world is calm: every job has ended or waits for a person.
    pub(in crate::lab::sim) fn check_rest(&mut self, now: TimeMs) {
        let mut found = Vec::new();
        if self.only_reads {
            // Held: nothing moves before people accept, and what they are to accept is shown.
            if self.drift.is_empty() {
                self.flag("a held engine shows why", "nothing is to be accepted");
            }
            return;
        }
        for (id, job) in &self.jobs {
            if job.state.has_ended() {
                continue;
            }
            let Some(wait) = &job.wait else {
                found.push((
                    "every job ends or waits",
                    format!("{id} is {} and waits for nothing", job.state),
                ));
                continue;
            };
            let seen = format!("{id}: {}", wait.reason);
            let late = |at: TimeMs, by: i64| at.plus_ms(by) < now;
            let person = matches!(
                wait.kind,
                WaitKind::Person | WaitKind::Paused | WaitKind::ToVerify | WaitKind::Budget
            );
            let upstream =
                wait.kind == WaitKind::Upstream && (self.ground(job).is_err() || self.follows(job));
            if late(wait.next_check, SLACK_MS) {
                found.push(("no wait without a live wake", seen));
            } else if !person && !upstream {
                found.push(("every job ends or waits for a person", seen));
            } else if late(wait.overdue.max(wait.since), 2 * self.terms.heartbeat_ms)
                && !self.stall_alert
            {
                found.push(("a wait that is overdue is shown", seen));
            }
        }
        for (rule, what) in found {
            self.flag(rule, what);
        }
    }

    /// People did what was theirs: every job has ended, every decision is answered.
    pub(in crate::lab::sim) fn check_end(&mut self) {
        let open: Vec<String> = self
            .jobs
            .iter()
            .filter(|(_, job)| !job.state.has_ended())
            .map(|(id, job)| {
                let wait = job
                    .wait
                    .as_ref()
                    .map_or("nothing", |wait| wait.reason.as_str());
                format!("{id} is {} and waits for {wait}", job.state)
            })
            .collect();
        if let Some(first) = open.first() {
            self.flag("every job ends", format!("{first}; {} in all", open.len()));
        }
        self.check_retired();
        let unanswered = self.decisions.values().filter(|one| !one.answered).count();
        if unanswered > 0 {
            self.flag(
                "every decision is answered",
                format!("{unanswered} are not"),
            );
        }
    }
}
