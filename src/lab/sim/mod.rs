//! Deterministic simulation: a seed decides a scenario, the real engine runs it over the real ledger, dies
//! at commits and calls, and an oracle of its own says what was broken (docs/simulation.md).

mod amend;
mod death;
mod dice;
mod goal;
mod law;
pub mod measure;
mod meddle;
mod mood;
mod oracle;
mod people;
mod ports;
mod run;
mod scenario;
mod shrink;
mod trace;
mod world;

pub use crate::engine::rig::Sabotage;
pub use law::Change;
pub use meddle::{Meddle, MeddleKind};
pub use oracle::Violation;
pub use run::{Options, Outcome, scratch, simulate};
pub use scenario::{
    ActKind, ActPlan, Crash, DeathPoint, Faults, JobPlan, Jump, Mood, Nature, RulePlan, Scenario,
    Shape, SpinPlan,
};
pub use shrink::{Shrunk, shrink};
