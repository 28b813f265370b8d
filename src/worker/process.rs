//! One run of an executable: see [`crate::world::process`], which adapters and checkers share with workers.

pub use crate::world::process::{
    DEFAULT_STDERR_CAP, DEFAULT_STDOUT_CAP, ProcessOutcome, ProcessSpec, resolve_words, run,
};
