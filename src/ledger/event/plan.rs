//! Revisions of the plan.

use crate::model::{Digest, StrategyId};
use serde::{Deserialize, Serialize};

/// Other strategies, or another order, from now on, for jobs that are not done. The contract stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRevised {
    /// From 1; what was adopted is 0.
    pub revision: u32,
    /// Blob of the goal file's text whose strategies hold.
    pub text: Digest,
    /// The strategies before, in order.
    pub before: Vec<StrategyId>,
    /// The strategies from now on, in order.
    pub strategies: Vec<StrategyId>,
    /// Strategies before this place are not used any more, because the goal went round in circles.
    pub floor: u32,
    /// What it is hoped to change, in the author's words.
    pub hypothesis: String,
    /// What changed, one line each.
    pub changes: Vec<String>,
}

/// A job's place in a revised plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobReplanned {
    /// The revision.
    pub plan: u32,
    /// Where it stands in it; none: it begins with the first strategy.
    pub strategy_index: Option<u32>,
}
