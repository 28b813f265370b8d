//! Measures of the mechanism itself.

pub mod noop;
