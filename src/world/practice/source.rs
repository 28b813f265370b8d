//! The source port: the old schedulers, as their files define them.

use super::build::sqlite_failed;
use super::legacy::{self, OldJob, Scheduler};
use super::world::PracticeWorld;
use crate::model::JobId;
use crate::world::ports::{
    FiringQuestion, FiringTimes, Output, PortError, Source, SourceJob, Timed,
};
use rusqlite::{Connection, OptionalExtension as _, Row};

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
