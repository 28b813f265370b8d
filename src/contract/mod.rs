//! The goal file: what the owner fixed.

pub mod budget_edit;
pub mod cutover;
pub mod diff;
mod limits;
pub mod parse;
pub mod provider;
pub mod sampling;
pub mod types;
pub mod workdays;

pub use parse::{
    GoalError, Problem, absolute_overrides, apply_overrides, is_secret_key, parse_goal,
    parse_goal_bytes, read_goal_file,
};
pub use provider::{AuthStyle, Price, Protocol, ProviderSettings, ProxyRule};
pub use types::*;
