//! Ids, units, states: the vocabulary every other module shares.
//!
//! Depends on nothing of ours. All of it is plain data; time comes in as a parameter.

pub mod account;
pub mod budget;
pub mod canon;
pub mod ids;
pub mod money;
pub mod safe_text;
pub mod state;
pub mod time;

pub use account::Account;
pub use budget::{Amounts, Budget, WAREHOUSE_QUERIES};
pub use canon::{Digest, digest_bytes, digest_json};
pub use ids::{
    ApprovalId, AttemptNo, ClauseId, ContractVersion, DecisionId, DriftId, GoalId, JobId,
    LogicalDate, OperationId, Seq, SpendId, StrategyId,
};
pub use money::PicoDollars;
pub use safe_text::SafeText;
pub use state::{
    Action, DriftKind, EvidenceKind, FailureClass, JobState, OperationState, SpinKind, Verdict,
    WaitKind, Wake, WorldPart,
};
pub use time::{Clock, TimeMs};
