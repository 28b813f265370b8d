//! Pace: no cutover in a freeze, no more on their way than the contract allows, no more side effects a day.

use super::{Oracle, Outcome};
use crate::ledger::event::Event;
use crate::model::{Action, JobId, OperationId, TimeMs};

impl Oracle {
    /// Before the operation's own rules are read, so that it is not counted itself.
    pub(super) fn read_pace(&mut self, id: &JobId, at: TimeMs, event: &Event) {
        match event {
            Event::AttemptStarted { .. } => {
                // A whole unit past the four fifths: how they are rounded is the contract's.
                let all: u64 = self.actions.values().sum();
                let near = |limit: u64| all.saturating_sub(1) * 5 >= limit * 4;
                if all > 0 && self.terms.actions_in_all.is_some_and(near) {
                    let seen = format!("{id}: {all} side effects in all");
                    self.flag("no attempt begins near a wall", seen);
                }
            }
            Event::OpIntended {
                operation,
                action,
                day,
                ..
            } => {
                self.check_actions(operation, at, day);
                if *action == Action::CutOver {
                    self.check_turn(operation);
                    self.check_freeze(operation, at);
                }
            }
            Event::OpApplied { operation, .. } => self.came_to(id, operation, at, Some(true)),
            Event::OpRefused { operation, .. }
            | Event::OpUndone { operation, .. }
            | Event::OpOverturned { operation, .. }
            | Event::OpLookedUp {
                operation,
                to_verify: true,
                ..
            } => self.came_to(id, operation, at, Some(false)),
            _ => {}
        }
    }

    /// What became of a cutover so far: clean or not.
    fn came_to(&mut self, id: &JobId, operation: &OperationId, at: TimeMs, clean: Option<bool>) {
        let cut_over = self
            .jobs
            .get(id)
            .and_then(|job| job.operations.get(operation))
            .is_some_and(|one| one.action == Action::CutOver);
        if let Some(clean) = clean.filter(|_| cut_over) {
            self.cutovers.insert(operation.clone(), (at, clean));
        }
    }

    /// The most clean cutovers in a row that anybody could count: of one instant, the clean ones first.
    fn clean_in_a_row(&self) -> u32 {
        let mut all: Vec<(TimeMs, bool)> = self.cutovers.values().copied().collect();
        all.sort_by_key(|(at, clean)| (std::cmp::Reverse(*at), !clean));
        all.iter().take_while(|(_, clean)| *clean).count() as u32
    }

    fn check_turn(&mut self, operation: &OperationId) {
        let on_their_way = self
            .jobs
            .values()
            .flat_map(|job| job.operations.values())
            .filter(|one| one.action == Action::CutOver)
            .filter(|one| one.outcome == Outcome::Open && !one.to_verify)
            .count();
        let allowed = match self.terms.waves {
            Some((clean, then)) if self.clean_in_a_row() >= clean => then,
            _ => 1,
        };
        if on_their_way >= allowed as usize {
            self.flag(
                "no more cutovers on their way than allowed",
                format!("{operation}: {on_their_way} of {allowed} already"),
            );
        }
    }

    fn check_freeze(&mut self, operation: &OperationId, at: TimeMs) {
        let frozen = self
            .terms
            .freeze
            .is_some_and(|(from, to)| from <= at && at < to);
        if frozen {
            self.flag("no cutover in a freeze", format!("{operation} at {at}"));
        }
    }

    fn check_actions(&mut self, operation: &OperationId, at: TimeMs, day: &str) {
        let date = at
            .timestamp()
            .to_zoned_datetime(jiff::tz::TimeZone::UTC)
            .date()
            .to_string();
        if date != day {
            self.flag(
                "a side effect counts for its day",
                format!("{operation}: {day}, at {at}"),
            );
        }
        let count = self.actions.entry(day.to_owned()).or_default();
        *count += 1;
        let count = *count;
        if self.terms.actions_a_day.is_some_and(|limit| count > limit) {
            self.flag(
                "no budget wall is crossed",
                format!("{count} side effects on {day}"),
            );
        }
        let all: u64 = self.actions.values().sum();
        if self.terms.actions_in_all.is_some_and(|limit| all > limit) {
            let seen = format!("{all} side effects in all");
            self.flag("no budget wall is crossed", seen);
        }
    }
}
