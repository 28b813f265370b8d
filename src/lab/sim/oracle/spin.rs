//! Circles: every real one is seen before the next round begins, and nothing else is called one.

use super::Oracle;
use crate::ledger::event::Event;
use crate::ledger::read::EventRow;
use crate::model::{Budget, ClauseId, Digest, FailureClass, JobId, Seq, SpinKind, TimeMs, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// What repeats on one job.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    passed: BTreeSet<ClauseId>,
    passed_in_attempt: bool,
    /// What failed last.
    trouble: String,
    failed: BTreeMap<String, u32>,
    /// Submissions by config, and by config for one old definition.
    by_config: BTreeMap<Digest, u32>,
    by_both: BTreeMap<(Digest, Digest), u32>,
    /// The config that was handed in last and not acted on yet, and how often it was.
    fresh: Option<(u32, u32)>,
    /// Alarms so far: what was handed in before one is remembered after it.
    alarms: u64,
}

/// What repeats in the goal.
#[derive(Debug, Clone, Default)]
pub(super) struct GoalRounds {
    rounds: u64,
    tokens: u64,
    /// When a threshold was reached: the alarm comes before anything begins after that.
    reached: Option<(TimeMs, SpinKind)>,
    held: bool,
    /// Overrulings in force.
    overrules: BTreeMap<Seq, (SpinKind, Option<JobId>)>,
    /// Rules that were ever overruled: their counts may be past the threshold.
    ever: BTreeSet<SpinKind>,
}

impl GoalRounds {
    fn holds(&self, rule: SpinKind, job: Option<&JobId>) -> bool {
        !self
            .overrules
            .values()
            .any(|(own, of)| *own == rule && (of.is_none() || of.as_ref() == job))
    }

    fn begin_again(&mut self) {
        self.rounds = 0;
        self.tokens = 0;
        self.reached = None;
    }
}

impl Oracle {
    /// Before the entry's own effect on the job is read.
    pub(super) fn read_spin(&mut self, row: &EventRow, event: &Event) {
        match event {
            Event::SpinFound {
                rule,
                count,
                limit,
                next,
                ..
            } => self.alarm(row, *rule, *count, *limit, next.is_none()),
            Event::SpinOverruled { rule, job, .. } => {
                self.circles.ever.insert(*rule);
                self.circles.overrules.insert(row.seq, (*rule, job.clone()));
                if job.is_none() {
                    self.circles.begin_again();
                    self.circles.held = false;
                }
            }
            Event::SpinEnforced { overrule } => {
                self.circles.overrules.remove(overrule);
            }
            Event::BudgetSettled { spent, .. } => {
                self.circles.tokens += spent.get(&Budget::Tokens).copied().unwrap_or(0);
                self.reach(row.at);
            }
            _ => {
                if let Some(id) = row.job.clone() {
                    self.read_rounds(&id, row.at, event);
                }
            }
        }
    }

    fn reach(&mut self, at: TimeMs) {
        let terms = self.terms.spin;
        let own = &mut self.circles;
        let kind = if own.rounds >= u64::from(terms.rounds) {
            SpinKind::RoundsWithoutPass
        } else if own.tokens >= terms.tokens {
            SpinKind::TokensWithoutPass
        } else {
            return;
        };
        own.reached = own.reached.or(Some((at, kind)));
    }

    fn read_rounds(&mut self, id: &JobId, at: TimeMs, event: &Event) {
        if matches!(event, Event::AttemptStarted { .. }) {
            self.check_next_round(id, at);
        }
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        let definition = job.definition.clone();
        let own = &mut job.rounds;
        match event {
            Event::AttemptStarted { .. } => own.passed_in_attempt = false,
            Event::AttemptEnded { outcome, .. }
                if outcome != "passed" && !own.passed_in_attempt =>
            {
                self.circles.rounds += 1;
                self.reach(at);
            }
            Event::ConfigProposed { config, .. } => {
                own.trouble = "the config".to_owned();
                let all = own.by_config.entry(config.clone()).or_default();
                *all += 1;
                let all = *all;
                let both = own.by_both.entry((definition, config.clone())).or_default();
                *both += 1;
                own.fresh = Some((*both, all));
            }
            Event::OpIntended { .. } => {
                let again = own.fresh.take().map_or(0, |(both, _)| both);
                if again >= self.terms.spin.same_change
                    && self.circles.holds(SpinKind::SameChange, Some(id))
                {
                    self.flag(
                        "every circle is seen",
                        format!("{id}: {again} times the same"),
                    );
                }
            }
            Event::EvidenceRecorded {
                clause, verdict, ..
            } => {
                if *verdict != Verdict::Pass {
                    own.trouble = format!("clause {clause}");
                } else if own.passed.insert(clause.clone()) {
                    own.passed_in_attempt = true;
                    own.failed.clear();
                    self.circles.begin_again();
                    self.circles.held = false;
                }
            }
            Event::RunFailed {
                class: FailureClass::Job,
                ..
            } => own.trouble = "the run".to_owned(),
            Event::OpRefused {
                class: FailureClass::Job,
                ..
            } => own.trouble = "the target".to_owned(),
            Event::ConfigFailed { .. } => {
                *own.failed.entry(own.trouble.clone()).or_default() += 1;
            }
            Event::SpinReleased {} | Event::JobRetried {} => {
                own.failed.clear();
                own.by_config.clear();
                own.by_both.clear();
                own.fresh = None;
                own.alarms = 0;
            }
            _ => {}
        }
    }

    /// Nothing begins once a threshold is reached, but after its alarm.
    fn check_next_round(&mut self, id: &JobId, at: TimeMs) {
        let Some(job) = self.jobs.get(id) else { return };
        let most = job.rounds.failed.iter().max_by_key(|(_, count)| **count);
        if let Some((check, count)) = most
            && *count >= self.terms.spin.same_check
            && self.circles.holds(SpinKind::SameCheck, Some(id))
        {
            let seen = format!("{id}: {check} failed {count} times");
            self.flag("every circle is seen", seen);
        }
        // Attempts of one moment begin together.
        if let Some((since, rule)) = self.circles.reached
            && since < at
            && self.circles.holds(rule, None)
            && !self.circles.held
        {
            let seen = format!("{id} begins; {rule} was reached at {since}");
            self.flag("every circle is seen", seen);
        }
        if self.circles.held {
            self.flag("a goal that is held attempts nothing", id.as_str());
        }
    }

    fn alarm(&mut self, row: &EventRow, rule: SpinKind, count: u64, limit: u64, person: bool) {
        let jobs = self.jobs.len() as u64;
        let terms = self.terms.spin;
        let (threshold, real, slack) =
            match (rule, row.job.as_ref().and_then(|id| self.jobs.get(id))) {
                (SpinKind::SameCheck, Some(job)) => {
                    let most = job.rounds.failed.values().max().copied().unwrap_or(0);
                    (u64::from(terms.same_check), u64::from(most), 0)
                }
                (SpinKind::SameChange, Some(job)) => {
                    let again = job.rounds.fresh.map_or(0, |(_, all)| all);
                    (
                        u64::from(terms.same_change),
                        u64::from(again),
                        job.rounds.alarms,
                    )
                }
                (SpinKind::RoundsWithoutPass, None) => {
                    (u64::from(terms.rounds), self.circles.rounds, jobs)
                }
                // Attempts that go on when the threshold is reached spend what they spend.
                (SpinKind::TokensWithoutPass, None) => {
                    (terms.tokens, self.circles.tokens, u64::MAX / 2)
                }
                _ => (0, 0, 0),
            };
        let holds = self.circles.holds(rule, row.job.as_ref());
        if real < threshold || threshold == 0 || limit != threshold || !holds {
            self.flag(
                "an alarm is a circle",
                format!("{rule} of {:?}: {real} of {threshold}", row.job),
            );
        }
        if count > threshold.saturating_add(slack) && !self.circles.ever.contains(&rule) {
            self.flag(
                "a circle is seen within its threshold",
                format!("{rule} of {:?}: {count} of {threshold}", row.job),
            );
        }
        match row.job.as_ref().and_then(|id| self.jobs.get_mut(id)) {
            Some(job) => {
                job.rounds.failed.clear();
                job.rounds.fresh = None;
                job.rounds.alarms += 1;
                job.causes.spins = true;
            }
            None => {
                self.circles.begin_again();
                self.circles.held = person;
            }
        }
        *self.alarms.entry(rule).or_default() += 1;
    }
}
