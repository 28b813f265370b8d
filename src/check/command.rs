//! The `command` checker.

use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::{Digest, digest_bytes};
use crate::world::ports::{Output, PortError, Timed};
use std::path::Path;

/// The `command` checker.
pub struct CommandCheck;

impl Checker for CommandCheck {
    fn name(&self) -> &'static str {
        "command"
    }

    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        digest_bytes(b"command")
    }

    fn problems(&self, _clause: &Clause) -> Vec<String> {
        Vec::new()
    }

    fn queries(&self, _clause: &Clause, _output: Option<&Output>) -> u64 {
        0
    }

    fn check(&self, _input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        Err(PortError::environment("to be written"))
    }
}
