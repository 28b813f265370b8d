//! Checkers: what says *done*. One file a checker.
//!
//! A checker is given a job, a config and ports that only read; it returns a verdict with its raw
//! numbers and the exact queries it ran. No worker can write here.

pub mod canonical;
pub mod checksum;
pub mod checksum_numbers;
pub mod checksum_sql;
pub mod command;
pub mod diagnosis;
pub mod http_status;
pub mod params;
pub mod person;
pub mod report;
mod report_numbers;
pub mod row_count;
pub mod run_log;
pub mod schedule;
pub mod schedule_diff;
pub mod warehouse;

pub use crate::world::sqlite_functions::register_sqlite_functions;

use crate::contract::{Checkers, Clause};
use crate::model::{Digest, JobId, LogicalDate, TimeMs, Verdict};
use crate::world::World;
use crate::world::ports::{EffectRef, Output, PortError, Side, Timed};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything a checker may look at.
pub struct CheckInput<'a> {
    /// The clause to judge.
    pub clause: &'a Clause,
    /// The job.
    pub job: &'a JobId,
    /// The table it writes, if any.
    pub output: Option<&'a Output>,
    /// The old definition.
    pub definition: &'a str,
    /// The new config.
    pub config: &'a str,
    /// The staging run whose output is judged.
    pub staged: &'a EffectRef,
    /// The side judged against `Side::Legacy`: staging before a cutover, production after it.
    pub side: Side,
    /// The world; a checker only reads.
    pub world: &'a World,
    /// The logical date that is compared; absent for the one that the target chose itself.
    pub logical_date: Option<&'a LogicalDate>,
    /// The engine's time.
    pub at: TimeMs,
    /// Where relative paths of the goal file start.
    pub base_dir: &'a Path,
}

/// A checker's word, with everything needed to doubt it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence for people: what was compared and what came out.
    pub summary: String,
    /// Raw numbers, old beside new, as the checker names them.
    pub numbers: serde_json::Map<String, serde_json::Value>,
    /// The queries that ran, in order; each cost one unit of `warehouse_queries`.
    pub queries: Vec<String>,
}

/// One checker.
pub trait Checker: Send + Sync {
    /// The name used in `check = "…"`.
    fn name(&self) -> &'static str;

    /// Digest of everything that decides its verdict; part of each pass's validity key. A change of a
    /// checker's meaning changes this.
    fn digest(&self, clause: &Clause, base_dir: &Path) -> Digest;

    /// Whether it looks at what a run did, and so at one logical date.
    fn looks_at_run(&self) -> bool {
        true
    }

    /// What is wrong with a clause's parameters, for `dogwatch check`; empty when nothing is.
    fn problems(&self, clause: &Clause) -> Vec<String>;

    /// The most queries one judgement may cost; reserved before it starts.
    fn queries(&self, clause: &Clause, output: Option<&Output>) -> u64;

    /// Judges. Queries that ran before a failure are in the error's evidence-free count: the engine
    /// settles the whole reservation as spent when this returns an error.
    ///
    /// # Errors
    /// When the world did not answer; that is no verdict at all.
    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError>;
}

/// The checker of a name.
pub fn checker(name: &str) -> Option<&'static dyn Checker> {
    CHECKERS
        .iter()
        .copied()
        .find(|checker| checker.name() == name)
}

/// The list, as the goal file's reader asks for it.
pub struct Known;

impl Checkers for Known {
    fn names(&self) -> Vec<&'static str> {
        CHECKERS.iter().map(|checker| checker.name()).collect()
    }

    fn problems(&self, clause: &Clause) -> Option<Vec<String>> {
        checker(&clause.check).map(|checker| checker.problems(clause))
    }
}

/// All checkers; the one list that help, docs and validation use.
pub static CHECKERS: &[&dyn Checker] = &[
    &row_count::RowCount,
    &checksum::Checksum,
    &schedule::Schedule,
    &report::Report,
    &run_log::RunLog,
    &command::CommandCheck,
    &person::Person,
];
