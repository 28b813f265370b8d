//! Amendments: what a new contract version would do, and doing it.
//!
//! The preview is pure: all jobs' facts, both contracts, what was measured and the hours of the people who
//! approve go in; what is cancelled, what runs again, what it needs and whether that still fits come out.

mod choices;
mod fit;
mod impact;
mod lines;
mod measure;
mod take;
#[cfg(test)]
mod tests;
mod view;

pub use choices::Choice;
pub use fit::{ApprovalFit, QuotaFit};
pub use impact::{
    Cancelled, ClauseRun, Impact, NotDone, Reruns, Situation, Void, preview, will_run_again,
};
pub use measure::{DEFAULT_RERUN_RATE, MIN_MEASURED_QUERIES, Measured};
pub use view::{measured, preview_from};
