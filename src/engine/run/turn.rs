//! One turn: answers in, decisions answered, jobs advanced, one commit, then the calls.

use super::{BEAT_EVERY, Engine, EngineError, Errand, Finish, LONGEST_SLEEP, MAX_BATCH, wall};
use crate::engine::checkers::checker_digests;
use crate::engine::rig::Sabotage;
use crate::engine::stop::StopLevel;
use crate::ledger::event::Event;
use crate::model::JobId;
use std::time::{Duration, Instant};

impl Engine {
    /// Works until the goal ends, only people can move it on, or it is asked to stop.
    ///
    /// # Errors
    /// When a commit fails: nothing after the last commit was done.
    pub fn run(&mut self) -> Result<Finish, EngineError> {
        let finish = loop {
            if let Some(finish) = self.turn()? {
                break finish;
            }
        };
        self.say_goodbye(finish)?;
        Ok(finish)
    }

    /// One turn; `Some` when the run is over.
    pub(crate) fn turn(&mut self) -> Result<Option<Finish>, EngineError> {
        self.tick();
        self.walls.roll(self.now);
        let draining = self.is_draining();
        for (ticket, reply) in self.executor.finished(self.now) {
            if let Some((job, errand)) = self.in_flight.remove(&ticket) {
                self.take_reply(&job, errand, reply)?;
            }
        }
        if !draining {
            self.refresh_checkers();
            if self.settle_first.is_empty() && !self.restart.is_comparing() {
                self.take_decisions()?;
            }
            self.index.fire_timers(self.now);
            self.watch_walls()?;
            if self.settle_first.is_empty() {
                self.tend_outages()?;
                self.tend_spin()?;
            }
            self.look_at_world()?;
            self.advance_ready()?;
        }
        let worked = !self.batch.is_empty() || !self.calls.is_empty();
        let effects = self
            .calls
            .iter()
            .any(|(_, errand, _)| matches!(errand, Errand::Effect(_)));
        if self.rig.fires(Sabotage::ActBeforeCommit, effects) {
            self.dispatch();
        }
        self.commit()?;
        self.dispatch();
        if let Some(finish) = self.over(draining)? {
            return Ok(Some(finish));
        }
        if !worked {
            self.rest();
        }
        self.beat("running");
        Ok(None)
    }

    /// Moves the engine's time by what the clock moved. A clock that goes back stands still for it, so
    /// that every timer still fires after the pause it was set for.
    pub(super) fn tick(&mut self) {
        let read = self.clock.now();
        self.now = self.now.plus_ms(read.since(self.last_read).max(0));
        self.last_read = read;
    }

    pub(super) fn advance_ready(&mut self) -> Result<(), EngineError> {
        if !self.settle_first.is_empty() {
            return self.settle_what_was_left();
        }
        if self.restart_goes_on()? {
            return Ok(());
        }
        self.index
            .offer_turns(self.waves.at_once(&self.goal.contract.cutover));
        let slots = self.goal.contract.limits.concurrent_jobs as usize;
        while self.batch.entries.len() < MAX_BATCH {
            let Some(id) = self.index.take_ready(slots) else {
                break;
            };
            self.advance(&id)?;
        }
        Ok(())
    }

    /// Looks up every operation that the engine before left without an outcome; until each was answered
    /// once, nothing else happens.
    pub(super) fn settle_what_was_left(&mut self) -> Result<(), EngineError> {
        while self.calls.len() < MAX_BATCH {
            let Some(id) = self.index.take_of(&self.settle_first) else {
                break;
            };
            let facts = self.facts(&id)?;
            match facts.unsettled().next().map(|one| one.id.clone()) {
                Some(operation) => self.look_up(&id, &facts, &operation),
                None => self.settled_once(&id),
            }
        }
        Ok(())
    }

    /// A job's first look-up after the start was answered.
    pub(in crate::engine) fn settled_once(&mut self, id: &JobId) {
        if self.settle_first.remove(id) && self.settle_first.is_empty() {
            self.wake_everyone();
        }
    }

    /// Notices a checker that was edited while the engine runs: its passes mean nothing under the new one.
    pub(super) fn refresh_checkers(&mut self) {
        let due = self
            .last_refresh
            .is_none_or(|at| at.elapsed() >= BEAT_EVERY);
        if !due {
            return;
        }
        self.last_refresh = Some(Instant::now());
        let digests = checker_digests(&self.goal);
        if digests == self.checkers {
            return;
        }
        for id in self.index.set_checkers(&digests) {
            self.index.mark_ready(&id);
        }
        self.checkers = digests;
    }

    pub(super) fn look_at_world(&mut self) -> Result<(), EngineError> {
        if !self.heart.is_due(self.now) {
            return Ok(());
        }
        let mut overview = self.ledger.read().overview(&self.goal.contract.id)?;
        // The overview goes by the last beat, which on a fast clock is long ago.
        overview.stalled = self
            .ledger
            .read()
            .stalled(&self.goal.contract.id, self.now)?;
        let alerts = self.ledger.read().alerts(&self.goal.contract.id)?;
        self.look_ahead(&alerts)?;
        // While outcomes are looked up after a start, the others stand still on purpose.
        let stuck = match self.settle_first.is_empty() && !self.restart.only_reads() {
            true => self.index.stuck(),
            false => 0,
        };
        let active = (self.index.active_count(), stuck);
        for event in self.heart.beat(
            self.now,
            &overview,
            &alerts,
            active,
            self.goal.contract.deadline,
            self.now.since(self.last_read),
        ) {
            self.emit_goal(event);
        }
        Ok(())
    }

    pub(super) fn over(&mut self, draining: bool) -> Result<Option<Finish>, EngineError> {
        if draining {
            let effects_open = self
                .in_flight
                .values()
                .any(|(_, errand)| matches!(errand, Errand::Effect(_)));
            let wait_for_all =
                self.stop.level() == Some(StopLevel::AfterSteps) && !self.in_flight.is_empty();
            return Ok((!effects_open && !wait_for_all).then_some(Finish::Stopped));
        }
        if !self.in_flight.is_empty() || !self.calls.is_empty() {
            return Ok(None);
        }
        if self.restart.only_reads() {
            let only_people = self.settings.exit_when_waiting
                && self.operator.is_none()
                && self.restart.waits_for_people();
            return Ok(only_people.then_some(Finish::OnlyPeople));
        }
        // What was drained in this turn is told before the run may end for it.
        self.watch_walls()?;
        if !self.batch.is_empty() {
            self.commit()?;
        }
        if self.index.all_ended() {
            self.end_goal()?;
            return Ok((!self.settings.stay_after_end).then_some(Finish::Ended));
        }
        let slots = self.goal.contract.limits.concurrent_jobs as usize;
        let nobody = match &self.operator {
            None => self.settings.exit_when_waiting,
            // On a virtual clock the years would go by.
            Some(operator) => !self.settings.stay_after_end && operator.gives_up(self.now),
        };
        let only_people = nobody && !self.index.has_ready(slots) && self.index.only_people();
        Ok(match only_people || self.is_stopped_for_good() {
            true if self.stopped => Some(Finish::Budget),
            true => Some(Finish::OnlyPeople),
            false => None,
        })
    }

    /// Whether every operation that an engine before left open was looked up once.
    pub(in crate::engine) fn settle_first_is_done(&self) -> bool {
        self.settle_first.is_empty()
    }

    /// Whether only a simulated owner decides here, and would never make room in a budget.
    pub(in crate::engine) fn nobody_comes(&self) -> bool {
        let raises = self.operator.as_ref().map(|one| one.raises());
        raises == Some(false) && !self.settings.stay_after_end
    }

    pub(super) fn end_goal(&mut self) -> Result<(), EngineError> {
        let goals = self.ledger.read().goals()?;
        let ended = goals
            .iter()
            .any(|row| row.goal == self.goal.contract.id && row.ended.is_some());
        if !ended {
            let overview = self.ledger.read().overview(&self.goal.contract.id)?;
            self.emit_goal(Event::GoalEnded {
                summary: crate::engine::report::end_sentence(&overview),
            });
            self.commit()?;
        }
        Ok(())
    }

    pub(super) fn rest(&mut self) {
        let for_people = self.clock.is_virtual()
            && self.in_flight.is_empty()
            && self.operator.is_none()
            && !self.restart.is_comparing()
            && (self.index.only_people() || self.index.all_ended() || self.restart.is_held());
        if for_people {
            // A person's time is real: a virtual clock that ran on meanwhile would only fill the ledger.
            self.executor.wait(LONGEST_SLEEP);
            return;
        }
        let heart = Some(self.heart.next());
        let operator = self.operator.as_ref().and_then(|one| one.next(self.now));
        // While look-ups of the start are open nobody probes, so nothing is due.
        let probe = self
            .outages
            .next_probe()
            .filter(|_| self.settle_first.is_empty());
        let next = [
            self.executor.next_due(),
            self.index.next_timer(),
            self.walls.next_change(self.now),
            probe,
            self.restart.next_due(),
            heart,
            operator,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(self.now);
        // The clock may be behind the engine's time; only the difference counts.
        let pause = next.since(self.now).max(1);
        let until = self.clock.now().plus_ms(pause);
        if self.clock.is_virtual() {
            self.clock.advance_to(until);
        } else {
            self.executor
                .wait(self.clock.real_delay_until(until).min(LONGEST_SLEEP));
        }
    }

    pub(super) fn beat(&mut self, state: &str) {
        if self.last_beat.is_none_or(|at| at.elapsed() >= BEAT_EVERY) {
            self.last_beat = Some(Instant::now());
            self.ledger
                .beat(wall(), self.now, BEAT_EVERY.as_millis() as i64, state);
        }
    }

    pub(super) fn take_decisions(&mut self) -> Result<(), EngineError> {
        if let Some(operator) = &mut self.operator {
            let entries = operator.decisions(self.now, &self.ledger)?;
            if !entries.is_empty() {
                self.batch.entries.extend(entries);
                self.commit()?;
                self.last_decision_check = None;
            }
        }
        // Other processes' decisions arrive at a person's pace; ten looks a second are enough.
        // On a virtual clock every turn looks, so that the same acts give the same ledger.
        let due = self.clock.is_virtual()
            || self
                .last_decision_check
                .is_none_or(|at| at.elapsed() >= Duration::from_millis(100));
        if !due {
            return Ok(());
        }
        self.last_decision_check = Some(Instant::now());
        for decision in self
            .ledger
            .read()
            .pending_decisions(&self.goal.contract.id)?
        {
            self.answer(&decision)?;
        }
        self.restart.people_were_heard();
        Ok(())
    }
}
