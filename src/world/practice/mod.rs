//! The embedded practice world (docs/practice-world.md).
