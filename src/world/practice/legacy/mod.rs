//! The old schedulers of the practice world: their files, and their own reading of them.
//!
//! [`generate()`] writes the files once, when a world is made. Everything after that knows only the
//! files: [`old_jobs`] finds the jobs in them again, [`firing_times`] says when they really fire, and
//! [`find_hold`] looks for evidence that a job should not move. Only world generation may read the
//! scenario's `defect` and `why` columns.

pub mod row;
pub mod types;

pub use row::{Row, read_rows};
pub use types::{Guard, LegacyFile, OldJob, Scheduler, Surroundings};
