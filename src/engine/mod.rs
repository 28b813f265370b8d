//! The engine: short loops from plain code.
//!
//! [`decide()`] is pure and says what to do next for one job; the [`Engine`] commits the intent, lets an
//! [`executor`] do it, commits the outcome and asks again. A restart is the same loop.

pub mod adopt;
mod agents;
pub mod amend;
pub mod approval;
pub mod call;
pub mod chat;
mod checkers;
mod cutover;
mod cycles;
pub mod decide;
pub mod decisions;
pub mod drift;
pub mod estimate;
pub mod executor;
pub mod forecast;
pub mod handoff;
mod heartbeat;
mod index;
mod leave;
mod lost;
pub mod operation;
mod other_date;
pub mod outage;
mod plan;
pub mod prove;
pub mod replan;
pub mod report;
pub(crate) mod rig;
pub mod rollback;
pub mod run;
mod sample;
mod settle;
pub mod spend;
pub mod spin;
mod stop;
pub mod surroundings;
pub mod walls;
mod waves;
mod words;

pub use decide::{Step, decide};
pub use run::{Engine, EngineError, Finish, Settings};
