//! How an engine dies: at a commit or at a call. What it had in memory is gone; what the world did stays.

use super::scenario::{Crash, DeathPoint};
use crate::engine::call::{Call, Context, Reply};
use crate::engine::executor::{Executor, Inline, Ticket};
use crate::engine::rig::{Boundary, Point};
use crate::model::TimeMs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Shared by the two places where an engine can die, and by who watches.
#[derive(Debug, Clone)]
pub(super) struct Death(Arc<Mutex<Plan>>);

#[derive(Debug)]
struct Plan {
    crash: Option<Crash>,
    seen: u64,
    dead: bool,
}

impl Death {
    pub(super) fn new(crash: Option<Crash>) -> Self {
        Self(Arc::new(Mutex::new(Plan {
            crash,
            seen: 0,
            dead: false,
        })))
    }

    /// Whether it happened.
    pub(super) fn came(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dead
    }

    /// It will not come any more.
    pub(super) fn call_off(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).crash = None;
    }

    /// Passes a point; whether the engine is dead now.
    fn pass(&self, points: &[DeathPoint]) -> bool {
        let mut plan = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(crash) = plan.crash
            && points.contains(&crash.point)
            && !plan.dead
        {
            plan.seen += 1;
            plan.dead = plan.seen >= crash.nth;
        }
        plan.dead
    }
}

impl Boundary for Death {
    fn dies_at(&mut self, point: Point) -> bool {
        self.pass(match point {
            Point::BeforeCommit => &[DeathPoint::BeforeCommit],
            Point::AfterCommit => &[DeathPoint::AfterCommit],
        })
    }
}

/// Makes calls until the engine is dead.
pub(super) struct Mortal {
    inner: Inline,
    death: Death,
}

impl Mortal {
    pub(super) fn new(context: Context, death: Death) -> Self {
        Self {
            inner: Inline::new(context),
            death,
        }
    }
}

impl Executor for Mortal {
    fn submit(&mut self, ticket: Ticket, call: Call, now: TimeMs) {
        let effect = matches!(call, Call::Effect(_));
        let (before, after): (&[DeathPoint], &[DeathPoint]) = if effect {
            (
                &[DeathPoint::BeforeCall, DeathPoint::BeforeEffect],
                &[DeathPoint::AfterCall, DeathPoint::AfterEffect],
            )
        } else {
            (&[DeathPoint::BeforeCall], &[DeathPoint::AfterCall])
        };
        if self.death.pass(before) {
            return;
        }
        self.inner.submit(ticket, call, now);
        self.death.pass(after);
    }

    fn finished(&mut self, now: TimeMs) -> Vec<(Ticket, Reply)> {
        self.inner.finished(now)
    }

    fn next_due(&self) -> Option<TimeMs> {
        self.inner.next_due()
    }

    fn wait(&mut self, _: Duration) {}
}
