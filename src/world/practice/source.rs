//! The source port: the old schedulers, as their files define them.

use super::build::sqlite_failed;
use super::legacy::{self, OldJob, Scheduler};
use super::schema::quoted;
use super::world::PracticeWorld;
use super::{RUN_DAY, lazy, place};
use crate::model::{JobId, LogicalDate};
use crate::world::ports::{
    FiringQuestion, FiringTimes, Output, PortError, Side, Source, SourceJob, Timed,
};
use rusqlite::{Connection, OptionalExtension as _, Row};

/// How many days before the run day can be compared.
const KEPT_DAYS: i64 = 7;

const LIST: &str = "select job, title, domain, layer, target, key_columns, columns, report, old_job, scheduler \
                    from legacy_jobs order by seq";

impl Source for PracticeWorld {
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
        let conn = self.reader();
        let mut statement = conn.prepare(LIST).map_err(sqlite_failed("list"))?;
        let mut rows = statement.query([]).map_err(sqlite_failed("list"))?;
        let mut value = Vec::new();
        while let Some(row) = rows.next().map_err(sqlite_failed("list"))? {
            let scheduler: String = row.get(9).map_err(sqlite_failed("list"))?;
            if self.settings.without.contains(&scheduler) {
                continue;
            }
            let job = source_job(row)?;
            if !self.settings.tables_only || (job.output.is_some() && job.hold.is_none()) {
                value.push(job);
            }
        }
        value.truncate(self.settings.first.unwrap_or(value.len()));
        Ok(Timed {
            value,
            took_ms: self.chance.between(2_000, 6_000, &["list"]),
        })
    }

    fn beside(&self, job: &JobId) -> Result<Timed<String>, PortError> {
        let conn = self.reader();
        let old = old_job(&conn, job)?;
        let file: Option<Vec<u8>> = match old.scheduler {
            // The other schedulers start their jobs without a session of that host.
            Scheduler::Cron => conn
                .query_row(
                    "select bytes from legacy_files where path = 'etc/environment'",
                    [],
                    |row| row.get(0),
                )
                .optional()
                .map_err(sqlite_failed("old host"))?,
            _ => None,
        };
        Ok(Timed {
            value: file.map_or_else(String::new, |bytes| {
                format!(
                    "--- etc/environment ---\n{}",
                    String::from_utf8_lossy(&bytes)
                )
            }),
            took_ms: self.chance.between(200, 900, &["old host", job.as_str()]),
        })
    }

    /// The old platform keeps a week of its outputs.
    fn other_dates(&self, job: &JobId) -> Result<Timed<Vec<LogicalDate>>, PortError> {
        let conn = self.writer();
        let old = old_job(&conn, job)?;
        let mut value = Vec::new();
        if let Some(table) = &old.table {
            // Only the date that is chosen keeps its copies.
            conn.execute_batch("savepoint looking")
                .map_err(sqlite_failed("other dates"))?;
            for day in (RUN_DAY - KEPT_DAYS..RUN_DAY).rev() {
                if has_rows(&conn, table, day)? {
                    value.push(LogicalDate(super::date_of_day(day).to_string()));
                }
            }
            conn.execute_batch("rollback to looking; release looking")
                .map_err(sqlite_failed("other dates"))?;
        }
        Ok(Timed {
            value,
            took_ms: self
                .chance
                .between(2_000, 9_000, &["other dates", job.as_str()]),
        })
    }

    fn firing_times(
        &self,
        job: &JobId,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        let old = old_job(&self.reader(), job)?;
        Ok(Timed {
            value: legacy::firing_times(&old, question)?,
            took_ms: self.chance.between(200, 900, &["old times", job.as_str()]),
        })
    }
}

/// Whether the old job wrote rows for a day; a day that the old SQL fails for has none.
fn has_rows(conn: &Connection, table: &str, day: i64) -> Result<bool, PortError> {
    match lazy::ensure(conn, &place(Side::Legacy, day), table) {
        Ok(name) => conn
            .query_row(
                &format!("select exists (select 1 from {})", quoted(&name)),
                [],
                |row| row.get(0),
            )
            .map_err(sqlite_failed("other dates")),
        Err(_) => Ok(false),
    }
}

/// An old job of the world's file.
pub(super) fn old_job(conn: &Connection, job: &JobId) -> Result<OldJob, PortError> {
    let text: Option<String> = conn
        .query_row(
            "select old_job from legacy_jobs where job = ?1",
            [job.as_str()],
            |row| row.get(0),
        )
        .optional()
        .map_err(sqlite_failed("old job"))?;
    let text =
        text.ok_or_else(|| PortError::job(format!("the old schedulers know no job {job}")))?;
    parsed(&text)
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, PortError> {
    serde_json::from_str(text)
        .map_err(|error| PortError::environment(format!("practice world: damaged record: {error}")))
}

fn source_job(row: &Row<'_>) -> Result<SourceJob, PortError> {
    let text = |index: usize| -> Result<String, PortError> {
        row.get::<_, Option<String>>(index)
            .map(Option::unwrap_or_default)
            .map_err(sqlite_failed("list"))
    };
    let (domain, layer, table, report) = (text(2)?, text(3)?, text(4)?, text(7)?);
    let old: OldJob = parsed(&text(8)?)?;
    let mut tags = vec![
        if table.is_empty() {
            "no_table"
        } else {
            "has_table"
        }
        .to_owned(),
        format!("domain:{domain}"),
        format!("layer:{layer}"),
    ];
    if !report.is_empty() {
        tags.push("is_report".to_owned());
    }
    if !table.is_empty() {
        // Every table has its lines in the catalog of report numbers.
        tags.push("has_reports".to_owned());
    }
    let output = if table.is_empty() {
        None
    } else {
        Some(Output {
            table,
            key: text(5)?.split(',').map(str::to_owned).collect(),
            columns: parsed(&text(6)?)?,
        })
    };
    Ok(SourceJob {
        id: JobId(text(0)?),
        title: text(1)?,
        tags,
        depends_on: old.declared_deps,
        origin: old.origin,
        definition: old.definition,
        output,
        hold: old.hold,
    })
}
