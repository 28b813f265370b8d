//! The old schedulers of the practice world: their files, and their own reading of them.
//!
//! [`generate()`] writes the files once, when a world is made. Everything after that knows only the
//! files and the [`Surroundings`]: [`old_jobs`] finds the jobs in them again, with evidence for
//! those that should not move, and [`firing_times`] says when they really fire. Only world generation
//! may read the scenario's `defect` and `why` columns.
//!
//! # The shop's conventions
//! - The hosts run on Europe/Berlin. A crontab's `CRON_TZ=` governs the lines under it; a calendar event
//!   may end with a zone of its own.
//! - A comment `# requires: a b` over a crontab line, `X-Requires=` in a unit, `dependencies=` in a job
//!   file, `requires:` in an agent job's description, and a coordinator's datasets declare what must
//!   have run. Five jobs declare nothing: only the minutes order them.
//! - `run-sql [--db NAME] [--stamp YYYYMMDD] [--mail-to ADDRESS] FILE` lives in `/opt/etl/bin`, reads
//!   `FILE` from the folder that it is started in, refuses an empty `--db` and a `--stamp` that is not
//!   eight digits, and puts the run day's number in place of `{{ day }}`. `today()` in the SQL is the
//!   engine's own clock. Other commands: `vacuum-warehouse`, `dump-warehouse`, `purge-events`,
//!   `count-rows`, `rotate-logs`, `check-disk`, `sample-events`, all in the same folder.
//! - `/etc/environment` of the old host (here `etc/environment`) gives every session `CRM_DB` and
//!   `FX_BIN`; `/home/etl/etl` links to `/srv/etl`.

pub mod autosys;
pub mod azkaban;
pub mod control_m;
pub mod crontab;
pub mod found;
pub mod generate;
pub mod hold;
pub mod instants;
pub mod oozie;
pub mod row;
pub mod sections;
pub mod sql_agent;
pub mod systemd;
#[cfg(test)]
mod tests;
pub mod types;
pub mod xml;

pub use generate::{generate, surroundings_rows};
pub use hold::day_date;
pub use instants::{DayFields, Plan, instants};
pub use row::{Row, read_rows};
pub use types::{Guard, LegacyFile, OldJob, Scheduler, Surroundings};

use crate::world::ports::{FiringQuestion, FiringTimes, PortError};
use found::{Found, Shelf};
use hold::Ground;
use std::collections::BTreeSet;

/// One scheduler's reader: all jobs of its files, or what is wrong with one of them.
type Reader = fn(&Shelf<'_>) -> Result<Vec<Found>, String>;

/// Finds every job in the old side's files, ordered by scheduler, then file, then place in it.
///
/// # Errors
/// When a file is not what its scheduler reads, or two jobs have one name; the message names the file.
pub fn old_jobs(files: &[LegacyFile], around: &Surroundings) -> Result<Vec<OldJob>, PortError> {
    let shelf = Shelf::new(files);
    let readers: [Reader; 7] = [
        crontab::read,
        systemd::read,
        azkaban::read,
        sql_agent::read,
        oozie::read,
        control_m::read,
        autosys::read,
    ];
    let mut found = Vec::new();
    for read in readers {
        found.extend(read(&shelf).map_err(PortError::environment)?);
    }
    let mut names = BTreeSet::new();
    for one in &found {
        if !names.insert(&one.job.id) {
            return Err(PortError::environment(format!(
                "{}: the name {} is taken already",
                one.job.origin, one.job.id
            )));
        }
    }
    let ground = Ground::new(&found, &shelf, around);
    let holds: Vec<_> = found.iter().map(|one| hold::find(one, &ground)).collect();
    Ok(found
        .into_iter()
        .zip(holds)
        .map(|(one, hold)| OldJob { hold, ..one.job })
        .collect())
}

/// What an old job's schedule means, in terms that can be computed.
///
/// # Errors
/// When it has no schedule, is switched off, or its schedule is not what its scheduler reads.
pub fn plan(job: &OldJob) -> Result<Plan, PortError> {
    if !job.enabled {
        return Err(PortError::job(format!(
            "{}: {} is switched off and never fires",
            job.origin, job.id
        )));
    }
    let mut plan = match job.scheduler {
        Scheduler::Cron => crontab::plan(job),
        Scheduler::Systemd => systemd::plan(job),
        Scheduler::Azkaban => azkaban::plan(job),
        Scheduler::SqlAgent => sql_agent::plan(job),
        Scheduler::Oozie => oozie::plan(job),
        Scheduler::ControlM => control_m::plan(job),
        Scheduler::Autosys => autosys::plan(job),
    }
    .map_err(PortError::job)?;
    plan.last_day_only = job.guard == Some(Guard::LastDayOfMonth);
    Ok(plan)
}

/// When an old job really fires.
///
/// # Errors
/// As [`plan`] and [`instants()`].
pub fn firing_times(job: &OldJob, question: &FiringQuestion) -> Result<FiringTimes, PortError> {
    let plan = plan(job)?;
    let mut times = instants(&plan, question)?;
    times.method = format!(
        "{} `{}`: {}",
        job.scheduler.word(),
        job.schedule,
        times.method
    );
    Ok(times)
}
