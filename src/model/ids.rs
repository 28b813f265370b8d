//! Newtypes for every id, so that one kind cannot be passed for another.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

text_id!(
    /// A goal, as its contract names it.
    GoalId
);
text_id!(
    /// A job, as its source names it; unique within a goal.
    JobId
);
text_id!(
    /// The date that a run is for, as the world writes it, such as `2024-03-30`; not the day it runs on.
    LogicalDate
);
text_id!(
    /// A clause of the contract.
    ClauseId
);
text_id!(
    /// A strategy of the plan.
    StrategyId
);
text_id!(
    /// A side effect: 16 hex digits, stable over resends.
    OperationId
);
text_id!(
    /// One request for approval; a new request for the same job is another id.
    ApprovalId
);
text_id!(
    /// One difference between the ledger and the world, found after an unclean stop.
    DriftId
);
text_id!(
    /// One decision that some process asked for; answered exactly once.
    DecisionId
);
text_id!(
    /// One reservation of a budget; its spender names it, such as `JOB/ATTEMPT/TURN`.
    SpendId
);
number_id!(
    /// Contract versions count from 1.
    ContractVersion,
    u32
);
number_id!(
    /// Attempts of a job count from 1; 0 means none yet.
    AttemptNo,
    u32
);
number_id!(
    /// Place of an event in the ledger; order is this number, never the clock.
    Seq,
    i64
);
