//! The embedded practice world (docs/practice-world.md).

pub mod convert;
pub mod definition;
pub mod legacy;
