//! The guided tour: a few steps over the real screen, each done by the real key.

use super::Model;
use super::overlay::Overlay;
use super::place::Kind;
use crate::tui::keymap::Action;

/// Where the tour is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tour {
    /// Which step, from 0.
    pub step: usize,
    /// What was pressed since the step began.
    pressed: Option<Action>,
}

/// One step.
pub struct Step {
    /// What to know.
    pub says: &'static str,
    /// What to press.
    pub asks: &'static str,
    done: fn(&Model, Option<Action>) -> bool,
}

/// The steps, in order.
pub const STEPS: &[Step] = &[
    Step {
        says: "Each row is a job: its state, clauses passed, and one sentence why it is not moving.",
        asks: "Move down with j or the arrow.",
        done: |_, pressed| matches!(pressed, Some(Action::Down | Action::PageDown)),
    },
    Step {
        says: "A job holds its attempts, evidence and every effect it had.",
        asks: "Open the one under the cursor: Enter.",
        done: |model, _| model.kind() == Kind::Job,
    },
    Step {
        says: "The first lines say why it is not moving and when it looks again. Panes: what happened, the config, evidence, operations.",
        asks: "Next pane: Tab.",
        done: |_, pressed| pressed == Some(Action::NextPane),
    },
    Step {
        says: "The second row of the screen counts what needs you. A job asks for its cutover when all its clauses have passed; the first ask within a minute.",
        asks: "See the requests: 2.",
        done: |model, _| model.kind() == Kind::Approvals,
    },
    Step {
        says: "Nothing can be approved in a list. As soon as a request is here:",
        asks: "Open it: Enter.",
        done: |model, _| model.kind() == Kind::Card,
    },
    Step {
        says: "The card: what will run, what it sets off, the evidence. Its keys sleep for a moment, so that nothing is approved by accident.",
        asks: "Approve it: A, then y.",
        done: |model, _| model.asked.iter().any(|asked| asked.approval.is_some()),
    },
    Step {
        says: "The card follows its cutover: approved, executing, confirmed. There is more to decide.",
        asks: "To the next thing that needs you: the full stop.",
        done: |_, pressed| pressed == Some(Action::NextNeed),
    },
    Step {
        says: "? helps everywhere. Leaving never stops the work unless you say so: d in the dialog detaches, dogwatch attach comes back.",
        asks: "Leave with q (once or twice), or end the tour with T and stay.",
        done: |model, _| matches!(model.overlays.last(), Some(Overlay::Leave)),
    },
];

impl Tour {
    /// The step that is on.
    pub fn now(&self) -> Option<&'static Step> {
        STEPS.get(self.step)
    }
}

/// Remembers what was pressed.
pub fn pressed(model: &mut Model, action: Action) {
    if let Some(tour) = &mut model.tour {
        tour.pressed = Some(action);
    }
}

/// Goes on when the step is done; ends after the last.
pub fn watch(model: &mut Model) {
    let Some(tour) = model.tour else { return };
    let done = tour
        .now()
        .is_some_and(|step| (step.done)(model, tour.pressed));
    if done {
        let step = tour.step + 1;
        model.tour = (step < STEPS.len()).then_some(Tour {
            step,
            pressed: None,
        });
    }
}
