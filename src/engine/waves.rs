//! How many cutovers may be on their way, by what became of those before.

use crate::contract::cutover::CutoverRule;
use crate::ledger::event::Event;
use crate::ledger::facts::JobFacts;
use crate::model::{Action, OperationState};

/// Cutovers in a row that were clean; any mismatch begins the count again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Waves {
    clean_in_a_row: u32,
}

impl Waves {
    /// From what became of the last production changes, newest first: `true` for a clean cutover.
    pub(super) fn from_history(newest_first: &[bool]) -> Self {
        let clean = newest_first.iter().take_while(|clean| **clean).count();
        Self {
            clean_in_a_row: u32::try_from(clean).unwrap_or(u32::MAX),
        }
    }

    /// How many may be on their way at once.
    pub(super) fn at_once(self, rule: &CutoverRule) -> usize {
        rule.at_once(self.clean_in_a_row) as usize
    }

    /// Counts an entry of a job, given its facts before it.
    pub(super) fn note(&mut self, event: &Event, before: &JobFacts) {
        let action = |id| before.operations.get(id).map(|one| one.action);
        match event {
            Event::OpApplied { operation, .. } => match action(operation) {
                Some(Action::CutOver) => {
                    self.clean_in_a_row = self.clean_in_a_row.saturating_add(1)
                }
                Some(Action::RollBack) => self.clean_in_a_row = 0,
                _ => {}
            },
            Event::OpRefused { operation, .. }
            | Event::OpUndone { operation, .. }
            | Event::OpOverturned { operation, .. }
            | Event::OpLookedUp {
                operation,
                to_verify: true,
                ..
            } if action(operation) == Some(Action::CutOver) => self.clean_in_a_row = 0,
            _ => {}
        }
    }
}

/// Whether a cutover of the job is on its way: asked for, and its outcome neither known nor a person's to
/// find out.
pub(super) fn is_on_its_way(facts: &JobFacts) -> bool {
    facts.operations.values().any(|one| {
        one.action == Action::CutOver
            && !one.to_verify
            && matches!(
                one.state,
                OperationState::Intended | OperationState::Unknown
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::cutover::Waves as Rule;

    #[test]
    fn the_count_goes_back_to_the_last_mismatch() {
        let rule = CutoverRule {
            freeze: Vec::new(),
            waves: Some(Rule { clean: 2, then: 5 }),
        };
        let at_once = |history: &[bool]| Waves::from_history(history).at_once(&rule);
        assert_eq!(at_once(&[]), 1);
        assert_eq!(at_once(&[true, false, true, true]), 1);
        assert_eq!(at_once(&[true, true, false]), 5);
        assert_eq!(at_once(&[false, true, true]), 1);
    }
}
