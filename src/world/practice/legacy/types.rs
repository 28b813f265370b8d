//! What the old schedulers' files hold, once they have been read.

use crate::model::JobId;
use crate::world::ports::Hold;
use crate::world::practice::definition::Lock;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One file of the old side: a scheduler's file or an SQL text of the old repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyFile {
    /// Its path in the old repository, such as `sales.crontab` or `jobs/dim_store.sql`.
    pub path: String,
    /// Its bytes; not always UTF-8.
    pub bytes: Vec<u8>,
}

/// The old schedulers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Vixie cron.
    Cron,
    /// systemd timers and their services.
    Systemd,
    /// Azkaban job files with a flow's triggers.
    Azkaban,
    /// SQL Server Agent job scripts.
    SqlAgent,
    /// Oozie coordinators and workflows.
    Oozie,
    /// A Control-M folder export.
    ControlM,
    /// An AutoSys JIL file.
    Autosys,
}

impl Scheduler {
    /// The word in titles and evidence.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Systemd => "systemd",
            Self::Azkaban => "azkaban",
            Self::SqlAgent => "sql-agent",
            Self::Oozie => "oozie",
            Self::ControlM => "control-m",
            Self::Autosys => "autosys",
        }
    }
}

/// A condition in a command or unit that makes a job do something on some of its ticks only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Only on a day whose morrow is the first of a month, in the schedule's zone.
    LastDayOfMonth,
}

/// A job as the old schedulers' files define it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldJob {
    /// Its id, as the old side names it (log file, unit, job or action name).
    pub id: JobId,
    /// Where it stands, such as `sales.crontab:14`.
    pub origin: String,
    /// Which scheduler runs it.
    pub scheduler: Scheduler,
    /// The job's own old text as a byte-blind reader gets it: sections, each begun by a line
    /// `--- path ---`: the scheduler's text with the lines that govern it, then its SQL file.
    pub definition: String,
    /// Whether the scheduler knows it at all; a commented line is found, but never fires.
    pub enabled: bool,
    /// The schedule as written: five cron fields, an `OnCalendar=` value, Quartz fields, the
    /// frequency integers, a coordinator's frequency; empty when it has none.
    pub schedule: String,
    /// IANA zone that the schedule is read in.
    pub zone: String,
    /// What narrows the schedule further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// Jobs upstream as far as the files declare them, in the order written.
    pub declared_deps: Vec<JobId>,
    /// The command that the scheduler runs, after its own unescaping: what the shell really gets.
    pub command: String,
    /// The environment that the command really gets, with what the account's profile adds.
    pub environment: BTreeMap<String, String>,
    /// Account it runs as.
    pub user: String,
    /// Folder that it starts in.
    pub working_folder: String,
    /// The lock that its command takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// Its SQL in the old engine's dialect, decoded as its file really is encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The table that the SQL writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Evidence that it should not move as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// What the world beside the old schedulers' files knows. Days count like the warehouse's, day 0 is
/// 2023-01-01; the owners of those records answer for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The day on which the world is looked at.
    pub today: u32,
    /// Last day on which a table was queried, or the file made from it downloaded, by anyone but the
    /// schedulers' own jobs.
    pub last_read_days: BTreeMap<String, u32>,
    /// Who reads a table beside the schedulers' jobs: names of reports and of other teams' tables.
    pub readers: BTreeMap<String, BTreeSet<String>>,
    /// Reports switched off in the old reporting tool, and since when.
    pub retired_reports: BTreeMap<String, u32>,
    /// Tables that the catalogue calls replaced, and by which.
    pub replaced_tables: BTreeMap<String, String>,
    /// Tables that have held the same rows as another on each of this many days, and the other.
    pub equal_tables: BTreeMap<String, (String, u32)>,
    /// Mail addresses that bounce because the mailbox is closed, and since when.
    pub closed_mailboxes: BTreeMap<String, u32>,
    /// Host names that no longer resolve or are switched off, and since when.
    pub dead_hosts: BTreeMap<String, u32>,
    /// Accounts of people who have left, and when.
    pub departed_owners: BTreeMap<String, u32>,
    /// Programmes of the business that have ended, and when.
    pub ended_programmes: BTreeMap<String, u32>,
}
