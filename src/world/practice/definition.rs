//! The new scheduler's job definition: one documented TOML shape.

use crate::model::JobId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A job of the new scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its id; one definition a job.
    pub id: JobId,
    /// When it fires: five cron fields (numbers, `*`, lists, ranges, steps, English day and month
    /// names; day of week 0 or 7 is Sunday).
    pub schedule: String,
    /// IANA zone of the schedule.
    pub zone: String,
    /// Account it runs as.
    pub user: String,
    /// Folder its commands start in.
    pub working_folder: String,
    /// Jobs whose output of the same logical date must exist before it starts. A table that it reads
    /// without declaring its job here is read as it stood a day earlier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<JobId>,
    /// What happens to overlapping starts.
    #[serde(default)]
    pub overlap: Overlap,
    /// A lock shared with other work on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// Whether it runs only on the last day of the month, whatever its day fields say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_last_day_of_month: bool,
    /// Environment of its commands. Nothing else is inherited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The table it writes, when it writes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Write>,
    /// The shell command, as a POSIX shell reads it.
    pub command: String,
    /// The SQL that `run-sql` in the command runs, in the new engine's dialect. `{{ day }}` is the
    /// logical day number, `today()` the day number of the clock on the wall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
}

/// Overlapping starts of one job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The second waits for the first; the scheduler's default.
    #[default]
    Queue,
    /// The second does not start.
    Skip,
    /// Both run.
    Allow,
}

/// A named lock taken before the command starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The lock's name, such as `/var/lock/inventory.lock`.
    pub name: String,
    /// True: start later, when it is free. False: do not start this time.
    pub wait: bool,
}

/// How a table is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The table.
    pub table: String,
    /// How a run of the same logical date treats rows that are there.
    pub mode: WriteMode,
}

/// How rows that are there are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// The SQL drops and creates the table, or the scheduler empties it first.
    Replace,
    /// Rows of the same logical date are deleted first.
    ReplaceInterval,
    /// Rows are added.
    Append,
}

impl Definition {
    /// Parses the TOML shape.
    ///
    /// # Errors
    /// When it is not TOML, a key is unknown or missing, or a type is wrong; the message points at it.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Renders the TOML shape.
    ///
    /// # Errors
    /// When a value has no TOML form (never for a parsed definition).
    pub fn render(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }
}
