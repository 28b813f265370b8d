//! Executables that speak one JSON request on stdin and one JSON reply on stdout (docs/adapters.md).
//!
//! Each call starts the executable anew, in the goal file's directory, with a stripped environment, a time
//! limit and an output cap. Whatever goes wrong is classed: an effect that was started and did not answer
//! properly is *unknown*, a look-up that did not is *cannot tell*, a question that did not is an error.

mod call;
pub mod cron;
mod probe;
mod source;
mod target;
mod warehouse;

pub use call::{Adapter, CallFailure, PROTOCOL};
pub use cron::CronSchedule;
pub use probe::CommandProbe;
pub use source::CommandSource;
pub use target::CommandTarget;
pub use warehouse::CommandWarehouse;

#[cfg(test)]
mod tests;
