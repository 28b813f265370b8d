//! Spinning stops: one change of strategy, then a person. Each alarm shows its rule, its numbers and the
//! entries behind it; an operator may overrule it, and that is a rule of the goal from then on.

pub mod change;
mod find;
mod people;
mod shell;

pub use find::{Finding, of_goal, of_job};
pub(super) use shell::Spin;

use super::decide::{Step, Waiting};
use crate::model::{SpinKind, TimeMs, WaitKind, Wake};
use std::collections::BTreeSet;

/// Spinning as one job may know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpinView {
    /// Strategies before this one are not used any more: the goal went round in circles with them.
    pub floor: usize,
    /// Why nothing new is attempted until a person says otherwise.
    pub held: Option<String>,
    /// Rules that an operator overruled for this job or everywhere.
    pub overruled: BTreeSet<SpinKind>,
}

/// A wait upon people this long is overdue.
const OVERDUE_MS: i64 = 24 * 3_600_000;

/// No new attempt while the goal goes round in circles; what is under way is looked at and settled.
pub fn hold(step: Step, view: &SpinView, now: TimeMs) -> Step {
    // A change of strategy begins an attempt too.
    let begins = matches!(
        step,
        Step::StartAttempt(_) | Step::Spin(_, Some(_)) | Step::Prepare
    );
    match &view.held {
        Some(why) if begins => Step::Wait(Waiting {
            kind: WaitKind::Person,
            reason: format!(
                "the goal goes round in circles, and a person decides (dogwatch spin, or another plan): {why}"
            ),
            wakes: vec![
                Wake::Event {
                    name: "spin.overruled".to_owned(),
                },
                Wake::Event {
                    name: "plan.revised".to_owned(),
                },
            ],
            next_check: now.plus_ms(OVERDUE_MS),
            overdue: now.plus_ms(OVERDUE_MS),
        }),
        _ => step,
    }
}
