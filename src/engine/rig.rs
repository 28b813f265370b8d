//! What only the laboratory can put into an engine: places where it dies, and defects that the
//! simulation must find. Nothing outside this crate can build a [`Rig`], and only `lab` does.

use crate::model::OperationId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a turn can be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Everything is decided and nothing is on the disk.
    BeforeCommit,
    /// The entries are on the disk and no call was made.
    AfterCommit,
}

/// Says where an engine dies.
pub(crate) trait Boundary: Send {
    /// Whether it dies here.
    fn dies_at(&mut self, point: Point) -> bool;
}

/// A deliberately wrong engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sabotage {
    /// Sends an operation that was not found again, without a proof.
    ResendWithoutProof,
    /// Does not look up at the start what was left without an outcome.
    SkipSettle,
    /// Takes a yes that was given to something else.
    StaleApproval,
    /// Counts a refusal of the environment as a failed try of the job.
    RefusalIsTry,
    /// Reads "not found" as "did not happen".
    AbsentIsRefused,
    /// Calls before the intent is on the disk.
    ActBeforeCommit,
    /// Waits without a timer.
    ForgetWake,
    /// Goes on after an unclean stop without comparing the ledger with the world.
    SkipCompare,
    /// Compares, and goes on whatever differs.
    IgnoreDrift,
    /// Does not ask again what a cutover would set off.
    SkipConsequences,
    /// Asks, and cuts over whatever the answer is.
    IgnoreConsequences,
    /// Cuts over in a freeze.
    IgnoreFreeze,
    /// Cuts over whatever is on its way already.
    IgnoreWaves,
    /// Asks for a side effect though none is left today.
    CrossWall,
    /// Spends queries though none are left today.
    CrossQuota,
    /// Goes on under the limits of the version before.
    KeepOldWalls,
    /// Judges everything again after an amendment.
    RedoOnAmendment,
    /// Lets anyone amend the contract.
    AnyoneAmends,
    /// Goes on with jobs that an amendment gave up.
    RetiredGoesOn,
    /// Sees no circles.
    SpinAsleep,
    /// Takes the first look that fails for a lost run.
    LoseTooSoon,
    /// Takes "nothing could be compared" for a pass.
    EmptyPasses,
    /// Compares for another date and stages for the old one.
    StageOldDate,
}

impl Sabotage {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::ResendWithoutProof,
        Self::SkipSettle,
        Self::StaleApproval,
        Self::RefusalIsTry,
        Self::AbsentIsRefused,
        Self::ActBeforeCommit,
        Self::ForgetWake,
        Self::SkipCompare,
        Self::IgnoreDrift,
        Self::SkipConsequences,
        Self::IgnoreConsequences,
        Self::IgnoreFreeze,
        Self::IgnoreWaves,
        Self::CrossWall,
        Self::CrossQuota,
        Self::KeepOldWalls,
        Self::RedoOnAmendment,
        Self::AnyoneAmends,
        Self::RetiredGoesOn,
        Self::SpinAsleep,
        Self::LoseTooSoon,
        Self::EmptyPasses,
        Self::StageOldDate,
    ];
}

/// The laboratory's part of an engine; empty in the product.
#[derive(Default)]
pub(crate) struct Rig {
    /// Where it dies.
    pub(crate) boundary: Option<Box<dyn Boundary>>,
    /// How it is wrong.
    pub(crate) sabotage: Option<Sabotage>,
    /// How often it really was.
    pub(crate) fired: Arc<AtomicU64>,
    /// Operations that [`Sabotage::SkipSettle`] does not look at.
    pub(crate) ignored: BTreeSet<OperationId>,
}

impl Rig {
    /// Whether the engine is wrong in this way.
    pub(super) fn is(&self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage)
    }

    /// Whether the engine is wrong in this way here and now; counted.
    pub(super) fn fires(&self, sabotage: Sabotage, here: bool) -> bool {
        let fires = here && self.is(sabotage);
        if fires {
            self.fired.fetch_add(1, Ordering::Relaxed);
        }
        fires
    }

    /// Whether the engine dies here.
    pub(super) fn dies_at(&mut self, point: Point) -> bool {
        self.boundary
            .as_mut()
            .is_some_and(|boundary| boundary.dies_at(point))
    }
}
