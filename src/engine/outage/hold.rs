//! What an outage does to a step. Pure.

use crate::engine::chat::ChatStep;
use crate::engine::decide::{Step, Waiting};
use crate::engine::surroundings::Surroundings;
use crate::model::{TimeMs, WaitKind, Wake, WorldPart};

/// When a waiting job is looked at in any case; probes come much earlier and are the engine's.
const LOOK_EVERY_MS: i64 = 3_600_000;
/// An outage this long is a person's business.
const OVERDUE_MS: i64 = 24 * 3_600_000;

/// An open outage as one job sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutageView {
    /// When the first failure of it was seen.
    pub from: TimeMs,
    /// When it was declared.
    pub began: TimeMs,
    /// Whether this job is the canary that probes now.
    pub canary: bool,
}

/// The part of the world that a step needs; `None` when it needs none that can be out.
pub fn part_of(step: &Step, around: &Surroundings) -> Option<WorldPart> {
    match step {
        Step::Stage(_) | Step::CutOver(_) => Some(WorldPart::Target),
        Step::Prepare => Some(WorldPart::Worker),
        Step::Chat(ChatStep::Turn { provider }) => Some(WorldPart::Provider(provider.clone())),
        // A check without queries asks others than the warehouse.
        Step::Check(id, _) => around
            .clauses
            .iter()
            .any(|clause| clause.id == *id && clause.queries > 0)
            .then_some(WorldPart::Warehouse),
        _ => None,
    }
}

/// The step, or a wait while what it needs is out. The canary goes on.
pub fn hold(step: Step, around: &Surroundings, now: TimeMs) -> Step {
    let Some(part) = part_of(&step, around) else {
        return step;
    };
    let Some(outage) = around.outages.get(&part).filter(|one| !one.canary) else {
        return step;
    };
    let hours = now.since(outage.began).max(0) / LOOK_EVERY_MS + 1;
    let next_check = outage.began.plus_ms(hours * LOOK_EVERY_MS);
    Step::Wait(Waiting {
        kind: WaitKind::Outage,
        reason: format!(
            "outage of the {part} since {}; one job probes, and this one goes on when the probe works",
            outage.from
        ),
        wakes: vec![
            Wake::Event {
                name: format!("outage.ended:{}", part.word()),
            },
            Wake::At { at: next_check },
        ],
        next_check,
        // A wait that begins late in a long outage is not overdue before it was looked at once.
        overdue: outage.from.plus_ms(OVERDUE_MS).max(next_check),
    })
}
