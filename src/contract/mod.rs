//! The goal file: what the owner fixed.

pub mod parse;
pub mod types;
pub mod workdays;

pub use parse::{GoalError, parse_goal};
pub use types::*;
