//! Looking at the goal as a whole, and often deciding to wait.

use crate::ledger::event::Event;
use crate::ledger::read::{AlertRow, Overview};
use crate::model::{TimeMs, WaitKind};

/// When the engine looks, and what it says.
#[derive(Debug)]
pub(super) struct Heart {
    every_ms: i64,
    next: TimeMs,
}

impl Heart {
    /// Goes on where the last engine's heart stopped, so that what became overdue while none ran is
    /// shown at once.
    pub(super) fn new(every_ms: i64, last: Option<TimeMs>, now: TimeMs) -> Self {
        let every_ms = every_ms.max(1_000);
        Self {
            every_ms,
            next: last.unwrap_or(now).plus_ms(every_ms),
        }
    }

    /// Another pace; the beat that is due next stays due.
    pub(super) fn set_every(&mut self, every_ms: i64) {
        self.every_ms = every_ms.max(1_000);
    }

    pub(super) fn is_due(&self, now: TimeMs) -> bool {
        now >= self.next
    }

    pub(super) fn next(&self) -> TimeMs {
        self.next
    }

    /// One heartbeat: a line with its reason, and alerts raised or cleared.
    pub(super) fn beat(
        &mut self,
        now: TimeMs,
        overview: &Overview,
        alerts: &[AlertRow],
        (active, stuck): (usize, u64),
        deadline: Option<TimeMs>,
        ahead_ms: i64,
    ) -> Vec<Event> {
        self.next = now.plus_ms(self.every_ms);
        let decided = if active > 0 { "act" } else { "wait" };
        let mut events = vec![Event::Heartbeat {
            decided: decided.to_owned(),
            reason: reason(overview, active),
        }];
        let ended: u64 = overview
            .by_state
            .iter()
            .filter(|(state, _)| state.has_ended())
            .map(|(_, count)| count)
            .sum();
        let late = deadline.is_some_and(|at| now > at) && ended < overview.jobs;
        let is_open = |rule: &str| {
            alerts
                .iter()
                .any(|one| one.job.is_none() && one.rule == rule && one.cleared_at.is_none())
        };
        alarm(&mut events, "deadline", late, is_open("deadline"), || {
            format!(
                "the deadline passed with {} jobs not ended",
                overview.jobs - ended
            )
        });
        alarm(
            &mut events,
            "stall",
            overview.stalled > 0 || stuck > 0,
            is_open("stall"),
            || stalled(overview.stalled, stuck),
        );
        alarm(
            &mut events,
            "clock",
            ahead_ms > CLOCK_AHEAD_MS,
            is_open("clock"),
            || {
                format!(
                    "the engine's time is {} minutes ahead of this machine's clock: the ledger has entries \
                     from then, and time never goes back in it. Was the clock set?",
                    ahead_ms / 60_000
                )
            },
        );
        events
    }
}

/// What stands still: a wait that nothing ended in time, or a job that waits for nothing.
fn stalled(overdue: u64, stuck: u64) -> String {
    let waits = format!("{overdue} waits are past their overdue time");
    match (overdue, stuck) {
        (_, 0) => waits,
        (0, _) => format!("{stuck} jobs neither work nor wait for anything"),
        _ => format!("{waits}, and {stuck} jobs neither work nor wait for anything"),
    }
}

/// So far the engine's time may be ahead of the clock before somebody is told.
const CLOCK_AHEAD_MS: i64 = 10 * 60_000;

fn alarm(
    events: &mut Vec<Event>,
    rule: &str,
    holds: bool,
    open: bool,
    evidence: impl FnOnce() -> String,
) {
    if holds && !open {
        events.push(Event::AlertRaised {
            rule: rule.to_owned(),
            evidence: evidence(),
        });
    } else if !holds && open {
        events.push(Event::AlertCleared {
            rule: rule.to_owned(),
            why: "it does not hold any more".to_owned(),
        });
    }
}

fn reason(overview: &Overview, active: usize) -> String {
    let mut parts = Vec::new();
    if overview.held > 0 {
        parts.push(format!(
            "held: {} differences between ledger and world to accept",
            overview.held
        ));
    }
    if active > 0 {
        parts.push(format!("{active} jobs in work"));
    }
    for (kind, words) in [
        (WaitKind::Person, "wait for a person"),
        (WaitKind::Quota, "wait for the quota"),
        (WaitKind::Upstream, "wait for jobs upstream"),
        (WaitKind::ToVerify, "have an outcome to verify"),
        (WaitKind::Outage, "wait for the end of an outage"),
        (WaitKind::Paused, "are paused"),
        (WaitKind::Turn, "wait for their turn to be cut over"),
        (WaitKind::Freeze, "wait for the end of a freeze"),
        (WaitKind::Soak, "soak in production"),
        (WaitKind::Budget, "wait for a budget"),
    ] {
        if let Some(count) = overview.by_wait.get(&kind).filter(|count| **count > 0) {
            parts.push(format!("{count} {words}"));
        }
    }
    if parts.is_empty() {
        "nothing is open".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Seq;

    const NOW: TimeMs = TimeMs(1_700_000_000_000);

    fn stall_alerts(overdue: u64, stuck: u64, open: bool) -> Vec<Event> {
        let overview = Overview {
            jobs: 3,
            stalled: overdue,
            ..Overview::default()
        };
        let alerts: Vec<AlertRow> = open
            .then(|| AlertRow {
                seq: Seq(1),
                job: None,
                rule: "stall".to_owned(),
                evidence: String::new(),
                raised_at: NOW,
                cleared_at: None,
                cleared_why: String::new(),
            })
            .into_iter()
            .collect();
        let mut heart = Heart::new(1_000, None, NOW);
        let mut said = heart.beat(NOW, &overview, &alerts, (0, stuck), None, 0);
        assert!(
            matches!(said.remove(0), Event::Heartbeat { .. }),
            "a beat says why it decided so"
        );
        said
    }

    #[test]
    fn a_stall_is_told_once_and_taken_back() {
        for (overdue, stuck) in [(1, 0), (0, 1), (2, 3)] {
            let said = stall_alerts(overdue, stuck, false);
            assert!(
                matches!(&said[..], [Event::AlertRaised { rule, .. }] if rule == "stall"),
                "{overdue} {stuck}: {said:?}"
            );
            assert_eq!(stall_alerts(overdue, stuck, true), [], "it is told already");
        }
        let over = stall_alerts(0, 0, true);
        assert!(matches!(&over[..], [Event::AlertCleared { rule, .. }] if rule == "stall"));
    }

    #[test]
    fn a_healthy_wait_is_no_stall() {
        assert_eq!(stall_alerts(0, 0, false), []);
    }
}
