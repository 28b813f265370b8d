//! Asking a running engine to stop, and how soon.

use std::sync::{Arc, Mutex, PoisonError};

/// Asks a running engine to stop; shared between threads.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<Option<(StopLevel, String)>>>);

/// How soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopLevel {
    AfterSteps,
    SafePoint,
}

impl Stop {
    /// Start nothing new; end when every call in progress is answered. The reason is written down.
    pub fn after_current_steps(&self, why: &str) {
        self.ask(StopLevel::AfterSteps, why);
    }

    /// Start nothing new; end when every side effect in progress is answered. The reason is written
    /// down.
    pub fn at_safe_point(&self, why: &str) {
        self.ask(StopLevel::SafePoint, why);
    }

    /// A later request can only bring the end nearer.
    fn ask(&self, level: StopLevel, why: &str) {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.as_ref().is_none_or(|(own, _)| *own < level) {
            *asked = Some((level, why.to_owned()));
        }
    }

    pub(super) fn asked(&self) -> Option<(StopLevel, String)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn level(&self) -> Option<StopLevel> {
        self.asked().map(|(level, _)| level)
    }
}
