//! Which job is looked at next: ready jobs in order, timers, and the slots that limit concurrency.

use super::cycles::cyclic;
use super::surroundings::{ClauseView, UpstreamView, upstream_view};
use super::waves::is_on_its_way;
use crate::contract::JobsRule;
use crate::ledger::facts::JobFacts;
use crate::model::{ClauseId, Digest, JobId, JobState, TimeMs, WaitKind};
use crate::world::ports::Output;
use std::collections::{BTreeMap, BTreeSet};

/// What the engine keeps in memory of one job; everything else is read from the ledger.
#[derive(Debug)]
pub(super) struct JobIndex {
    pub upstream: Vec<JobId>,
    pub dependents: Vec<JobId>,
    pub in_cycle: bool,
    /// Refused: its chain does not fit.
    pub damaged: bool,
    pub view: UpstreamView,
    pub clauses: Vec<ClauseView>,
    pub output: Option<Output>,
    pub wait: Option<WaitKind>,
    /// An operation has no known outcome.
    pub unsettled: bool,
    /// A person wants it back on the old side, and that is not decided and done.
    returning: bool,
    /// A cutover of it is on its way.
    cutting_over: bool,
    /// A person is asked to look at its rows.
    pub sampled: bool,
    pub in_flight: bool,
    /// Why the contract gives the job up, if it does.
    pub retired: Option<String>,
    /// Ended, and to be looked at all the same.
    pub look: bool,
    level: u32,
    position: u64,
    timer: Option<TimeMs>,
}

impl JobIndex {
    /// Ended, and with every outcome known: a job that a person took keeps the goal open while it is not
    /// known what its last operation did.
    fn is_over(&self) -> bool {
        self.view.state.has_ended() && !self.unsettled && !self.returning
    }

    /// Whether a step can be due: also of a job that a person has, whose last operation is in doubt or which the
    /// contract gives up.
    pub(super) fn has_more_to_do(&self) -> bool {
        let to_cancel = self.retired.is_some() && self.view.state != JobState::Cancelled;
        !self.is_over() || self.look || to_cancel
    }
}

/// Further along first, then upstream first, then the source's order.
type Place = (u8, u32, u64, JobId);

/// All jobs of the goal.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub jobs: BTreeMap<JobId, JobIndex>,
    ready: BTreeSet<Place>,
    timers: BTreeSet<(TimeMs, JobId)>,
    active: BTreeSet<JobId>,
    /// Jobs with a cutover on its way.
    cutting_over: BTreeSet<JobId>,
    /// Jobs that wait for their turn to be cut over.
    in_turn: BTreeSet<JobId>,
}

impl Index {
    /// From the facts of all jobs.
    pub(super) fn new(
        all: &[JobFacts],
        clauses_of: impl Fn(&JobFacts, Option<&Output>) -> Vec<ClauseView>,
    ) -> Self {
        let known: BTreeSet<&JobId> = all.iter().map(|facts| &facts.id).collect();
        let mut jobs: BTreeMap<JobId, JobIndex> = BTreeMap::new();
        for facts in all {
            let output = facts
                .output
                .clone()
                .and_then(|value| serde_json::from_value(value).ok());
            // An upstream job outside the goal is the world's; it stays where it is.
            let upstream: Vec<JobId> = facts
                .depends_on
                .iter()
                .filter(|id| known.contains(id))
                .cloned()
                .collect();
            jobs.insert(
                facts.id.clone(),
                JobIndex {
                    upstream,
                    dependents: Vec::new(),
                    in_cycle: false,
                    damaged: false,
                    view: upstream_view(facts),
                    clauses: clauses_of(facts, output.as_ref()),
                    output,
                    wait: facts.wait.as_ref().map(|wait| wait.kind),
                    unsettled: facts.unsettled().next().is_some(),
                    returning: is_returning(facts),
                    cutting_over: is_on_its_way(facts),
                    sampled: facts.sample.is_some(),
                    in_flight: false,
                    retired: None,
                    look: false,
                    level: 0,
                    position: facts.position,
                    timer: None,
                },
            );
        }
        let those = |test: fn(&JobIndex) -> bool| -> BTreeSet<JobId> {
            let found = jobs.iter().filter(|(_, job)| test(job));
            found.map(|(id, _)| id.clone()).collect()
        };
        let mut index = Self {
            cutting_over: those(|job| job.cutting_over),
            in_turn: those(|job| job.wait == Some(WaitKind::Turn)),
            jobs,
            ..Self::default()
        };
        index.link();
        index
    }

    /// Dependents, levels and cycles (Kahn's order; what is never freed is in a cycle or below one).
    fn link(&mut self) {
        let mut open: BTreeMap<JobId, usize> = BTreeMap::new();
        let edges: Vec<(JobId, JobId)> = self
            .jobs
            .iter()
            .flat_map(|(id, job)| job.upstream.iter().map(move |up| (up.clone(), id.clone())))
            .collect();
        for (id, job) in &self.jobs {
            open.insert(id.clone(), job.upstream.len());
        }
        for (up, down) in edges {
            if let Some(job) = self.jobs.get_mut(&up) {
                job.dependents.push(down);
            }
        }
        let mut free: Vec<JobId> = open
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(id, _)| id.clone())
            .collect();
        while let Some(id) = free.pop() {
            open.remove(&id);
            let Some((level, dependents)) = self
                .jobs
                .get(&id)
                .map(|job| (job.level, job.dependents.clone()))
            else {
                continue;
            };
            for down in dependents {
                if let Some(job) = self.jobs.get_mut(&down) {
                    job.level = job.level.max(level + 1);
                }
                if let Some(count) = open.get_mut(&down) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(down);
                    }
                }
            }
        }
        let left: BTreeSet<JobId> = open.into_keys().collect();
        let in_cycle = cyclic(&left, |id| {
            self.jobs
                .get(id)
                .map_or(&[][..], |job| job.upstream.as_slice())
        });
        for id in &in_cycle {
            if let Some(job) = self.jobs.get_mut(id) {
                job.in_cycle = true;
            }
        }
    }

    fn place(&self, id: &JobId) -> Option<Place> {
        let job = self.jobs.get(id)?;
        let rank = match job.view.state {
            JobState::AwaitingApproval => 0,
            JobState::Reconciled => 1,
            JobState::Staged | JobState::Reverify => 2,
            JobState::Working => 3,
            _ => 4,
        };
        Some((rank, job.level, job.position, id.clone()))
    }

    /// A job shall be looked at.
    pub(super) fn mark_ready(&mut self, id: &JobId) {
        let Some(place) = self.place(id) else { return };
        if self
            .jobs
            .get(id)
            .is_some_and(|job| !job.damaged && !job.in_flight)
        {
            self.clear_timer(id);
            self.ready.insert(place);
        }
    }

    /// Keeps what other jobs and the order depend on; returns whether jobs below must look again.
    pub(super) fn note(&mut self, facts: &JobFacts) -> bool {
        let Some(old_place) = self.place(&facts.id) else {
            return false;
        };
        let was_ready = self.ready.remove(&old_place);
        let Some(job) = self.jobs.get_mut(&facts.id) else {
            return false;
        };
        let view = upstream_view(facts);
        let changed = job.view.settled() != view.settled();
        job.view = view;
        job.wait = facts.wait.as_ref().map(|wait| wait.kind);
        job.unsettled = facts.unsettled().next().is_some();
        job.returning = is_returning(facts);
        job.cutting_over = is_on_its_way(facts);
        job.sampled = facts.sample.is_some();
        keep(&mut self.cutting_over, &facts.id, job.cutting_over);
        keep(
            &mut self.in_turn,
            &facts.id,
            job.wait == Some(WaitKind::Turn),
        );
        if was_ready && let Some(place) = self.place(&facts.id) {
            self.ready.insert(place);
        }
        changed
    }

    /// Takes the next ready job that has a slot or gets one.
    pub(super) fn take_ready(&mut self, slots: usize) -> Option<JobId> {
        let next = if self.active.len() < slots {
            self.ready.first().cloned()
        } else {
            self.active
                .iter()
                .filter_map(|id| self.place(id))
                .filter(|place| self.ready.contains(place))
                .min()
        }?;
        self.ready.remove(&next);
        self.active.insert(next.3.clone());
        Some(next.3)
    }

    /// Takes a ready job of a set, whether a slot is free or not: a look-up is no work.
    pub(super) fn take_of(&mut self, among: &BTreeSet<JobId>) -> Option<JobId> {
        let next = among
            .iter()
            .filter_map(|id| self.place(id))
            .find(|place| self.ready.contains(place))?;
        self.ready.remove(&next);
        Some(next.3)
    }

    /// Whether any job could be taken now.
    pub(super) fn has_ready(&self, slots: usize) -> bool {
        if self.active.len() < slots {
            !self.ready.is_empty()
        } else {
            self.active
                .iter()
                .filter_map(|id| self.place(id))
                .any(|place| self.ready.contains(&place))
        }
    }

    /// Gives the job's slot back.
    pub(super) fn release(&mut self, id: &JobId) {
        self.active.remove(id);
    }

    /// Looks at the job again at an instant.
    pub(super) fn set_timer(&mut self, id: &JobId, at: TimeMs) {
        self.clear_timer(id);
        if let Some(job) = self.jobs.get_mut(id) {
            job.timer = Some(at);
            self.timers.insert((at, id.clone()));
        }
    }

    fn clear_timer(&mut self, id: &JobId) {
        if let Some(job) = self.jobs.get_mut(id)
            && let Some(at) = job.timer.take()
        {
            self.timers.remove(&(at, id.clone()));
        }
    }

    /// The next timer.
    pub(super) fn next_timer(&self) -> Option<TimeMs> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Marks every job whose timer is due.
    pub(super) fn fire_timers(&mut self, now: TimeMs) {
        while let Some((at, id)) = self.timers.first().cloned() {
            if at > now {
                return;
            }
            self.mark_ready(&id);
            // A job in flight is looked at when its answer comes.
            self.clear_timer(&id);
        }
    }

    /// Puts other checkers under the clauses; returns the jobs that must look again.
    pub(super) fn set_checkers(&mut self, digests: &BTreeMap<ClauseId, Digest>) -> Vec<JobId> {
        let mut changed = Vec::new();
        for (id, job) in &mut self.jobs {
            let mut touched = false;
            for clause in &mut job.clauses {
                if let Some(digest) = digests
                    .get(&clause.id)
                    .filter(|one| **one != clause.checker)
                {
                    clause.checker = digest.clone();
                    touched = true;
                }
            }
            // What is in production was accepted by the old one: it is looked at again.
            if touched && (!job.view.state.has_ended() || job.view.state == JobState::CutOver) {
                changed.push(id.clone());
            }
        }
        changed
    }

    /// Jobs directly below one that are in a state.
    pub(super) fn dependents_in(
        &self,
        id: &JobId,
        state: JobState,
    ) -> impl Iterator<Item = &JobId> {
        let below = self.jobs.get(id).map_or(&[][..], |job| &job.dependents);
        below.iter().filter(move |down| {
            self.jobs
                .get(*down)
                .is_some_and(|job| job.view.state == state)
        })
    }

    /// How many cutovers are on their way.
    pub(super) fn cutovers_on_their_way(&self) -> usize {
        self.cutting_over.len()
    }

    /// Lets as many jobs look again as may now be cut over, in order.
    pub(super) fn offer_turns(&mut self, at_once: usize) {
        let free = at_once.saturating_sub(self.cutting_over.len());
        if free == 0 || self.in_turn.is_empty() {
            return;
        }
        let mut places: Vec<Place> = self
            .in_turn
            .iter()
            .filter_map(|id| self.place(id))
            .collect();
        places.sort();
        for place in places.iter().take(free) {
            self.mark_ready(&place.3);
        }
    }

    /// Jobs that wait for this, in order.
    pub(super) fn waiting(&self, kind: WaitKind) -> Vec<JobId> {
        let mut places: Vec<Place> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.wait == Some(kind) && !job.damaged && !job.in_flight)
            .filter_map(|(id, _)| self.place(id))
            .collect();
        places.sort();
        places.into_iter().map(|place| place.3).collect()
    }

    /// What the contract says of a job now: the clauses that apply and whether it is given up.
    pub(super) fn rescope(&mut self, facts: &JobFacts, clauses: Vec<ClauseView>, jobs: &JobsRule) {
        if let Some(job) = self.jobs.get_mut(&facts.id) {
            job.clauses = clauses;
        }
        self.set_retired(facts, jobs);
    }

    /// Whether the contract gives a job up.
    pub(super) fn set_retired(&mut self, facts: &JobFacts, jobs: &JobsRule) {
        if let Some(job) = self.jobs.get_mut(&facts.id) {
            let reason = jobs.retired(facts.id.as_str(), &facts.tags);
            job.retired = reason.map(str::to_owned);
        }
    }

    /// Jobs that neither work nor wait: nothing would ever look at them again.
    pub(super) fn stuck(&self) -> u64 {
        let stuck = self.jobs.iter().filter(|(id, job)| {
            !job.is_over()
                && !job.damaged
                && !job.in_flight
                && job.wait.is_none()
                && job.timer.is_none()
                && self
                    .place(id)
                    .is_none_or(|place| !self.ready.contains(&place))
        });
        stuck.count() as u64
    }

    /// Jobs with a slot.
    pub(super) fn active_count(&self) -> usize {
        self.active.len()
    }

    /// Whether every job has ended. One that is refused for damage has not.
    pub(super) fn all_ended(&self) -> bool {
        self.jobs.values().all(JobIndex::is_over)
    }

    /// Whether nothing goes on any more and something waits for a budget.
    pub(super) fn is_drained(&self) -> bool {
        let waits = |kind| self.jobs.values().any(|job| job.wait == Some(kind));
        self.active.is_empty()
            && self.ready.is_empty()
            && waits(WaitKind::Budget)
            && !waits(WaitKind::Quota)
            && !waits(WaitKind::World)
            && !waits(WaitKind::Outage)
            && !waits(WaitKind::Turn)
    }

    /// Whether only more budget can move any job on.
    pub(super) fn only_budgets(&self) -> bool {
        self.only_people()
            && self
                .jobs
                .values()
                .all(|job| job.is_over() || job.damaged || job.wait != Some(WaitKind::Person))
    }

    /// Whether nothing but people can move any job on.
    pub(super) fn only_people(&self) -> bool {
        self.jobs.values().all(|job| {
            job.is_over()
                || job.damaged
                || matches!(
                    job.wait,
                    Some(
                        WaitKind::Person
                            | WaitKind::Paused
                            | WaitKind::Budget
                            | WaitKind::ToVerify
                            | WaitKind::Upstream
                            | WaitKind::Turn
                    )
                )
        })
    }
}

pub(super) fn is_returning(facts: &JobFacts) -> bool {
    facts.rollback.as_ref().is_some_and(|one| !one.done)
}

fn keep(set: &mut BTreeSet<JobId>, id: &JobId, member: bool) {
    if !member {
        set.remove(id);
    } else if !set.contains(id) {
        set.insert(id.clone());
    }
}
