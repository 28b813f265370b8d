//! Measures of the mechanism itself.

pub mod noop;
pub mod sim;
