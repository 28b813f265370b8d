//! An operator's words about the whole goal.

use super::run::Engine;
use crate::ledger::event::{Actor, Event, GoalWords};
use crate::ledger::read::DecisionRow;

impl Engine {
    /// Keeps words for the next attempt of each job; later words take the place of earlier ones.
    pub(super) fn comment_on_goal(&mut self, decision: &DecisionRow, text: &str) {
        let empty = text.trim().is_empty();
        if !empty {
            let words = GoalWords {
                decision: decision.decision.clone(),
                text: text.trim().to_owned(),
            };
            self.goal_words = Some(words.clone());
            let who = Actor::Person(decision.by.clone());
            self.emit_goal_as(who, Event::GoalCommented(words));
        }
        self.emit_goal(Event::DecisionAnswered {
            decision: decision.decision.clone(),
            accepted: !empty,
            why: if empty {
                "the comment is empty".to_owned()
            } else {
                "kept for the next attempt of each job".to_owned()
            },
        });
    }
}
