//! The baseline converter: an old definition's text in, the new scheduler's TOML out.
//!
//! It translates mechanically and without judgement, and it knows crontab lines, systemd timers with
//! their services, Azkaban jobs with their triggers, and SQL Server Agent scripts. Of anything else it
//! says that it does not know it. It sees one job's text, nothing of the host or the world.
//!
//! # What it gets wrong, knowingly
//! These are limits of a translation that looks at words and not at meaning. None is hidden: the text
//! stays as it was, so what is wrong shows when it runs or when its firing times are compared.
//! - The zone is always Europe/Berlin; a `CRON_TZ=` line becomes one more variable and the zone at the
//!   end of a calendar event is dropped.
//! - Dependencies are those that it is given; an order kept by the clock alone is lost.
//! - `\%` of crontabs and `%%` of units stay as they stand, though a shell reads them otherwise.
//! - `flock` in front of a command is dropped, with its difference between waiting and skipping.
//! - Numbers of week days stay as they stand; cron's Tuesday is another scheduler's Monday.
//! - `ExecCondition=` is dropped, so what it held back runs.
//! - Only environment lines of the job's own file are taken; what a host's profile set is missing.
//! - SQL stays as it is: the old engine's division, its empty text and its clock do not come along.
//! - An `insert` without a delete becomes a write that appends.
//! - Bytes are taken for UTF-8; what is not is refused.

mod azkaban;
mod crontab;
mod sql_agent;
mod systemd;
#[cfg(test)]
mod tests;

use super::definition::{Definition, Overlap, Write, WriteMode};
use super::legacy::sections::{self, MAX_DEFINITION, Section};
use crate::model::JobId;
use std::collections::BTreeMap;

/// The zone of everything that is converted.
const ZONE: &str = "Europe/Berlin";
/// The jobs' folder where the old text names none.
const FOLDER: &str = "/srv/etl";
/// The account where the old text names none.
const USER: &str = "etl";
/// Where `run-sql` is found, for schedulers whose jobs have no search path of their own.
const PATH: &str = "/opt/etl/bin:/usr/bin:/bin";

/// What one format's reader makes of a job's text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Draft {
    /// Five cron fields.
    schedule: String,
    user: String,
    working_folder: String,
    environment: BTreeMap<String, String>,
    command: String,
    /// SQL that stands in the scheduler's own text.
    sql: Option<String>,
}

/// Converts one job.
///
/// `definition` is made of sections, each begun by `--- path ---`; text without any is taken as the
/// file that `origin` (`path:line`) names. The result parses as a [`Definition`].
///
/// # Errors
/// One sentence for the owner, when the text is not UTF-8, is of a kind that it does not know, has no
/// schedule, or says something that five cron fields cannot say.
pub fn convert(
    job: &str,
    origin: &str,
    definition: &str,
    depends_on: &[JobId],
    output_table: Option<&str>,
) -> Result<String, String> {
    if definition.len() > MAX_DEFINITION {
        return Err(format!(
            "the definition is longer than {MAX_DEFINITION} bytes"
        ));
    }
    if definition.contains(['\0', '\u{FFFD}']) {
        return Err(
            "the text is not UTF-8: it has NUL bytes or bytes that are no characters".to_owned(),
        );
    }
    let mut parts = sections::split(definition);
    if parts.is_empty() {
        let path = origin.split(':').next().unwrap_or(origin);
        parts.push(Section {
            path,
            text: definition,
        });
    }
    let draft = draft(job, &parts)?;
    let sql_path = format!("jobs/{job}.sql");
    let beside = parts.iter().find(|part| part.path == sql_path);
    let sql = draft
        .sql
        .or_else(|| beside.map(|part| part.text.to_owned()));
    let write = output_table.map(|table| Write {
        table: table.to_owned(),
        mode: sql.as_deref().map_or(WriteMode::Replace, write_mode),
    });
    let converted = Definition {
        id: JobId::from(job),
        schedule: draft.schedule,
        zone: ZONE.to_owned(),
        user: draft.user,
        working_folder: draft.working_folder,
        depends_on: depends_on.to_vec(),
        overlap: Overlap::default(),
        lock: None,
        only_last_day_of_month: false,
        environment: draft.environment,
        write,
        command: draft.command,
        sql,
    };
    converted.render()
}

fn draft(job: &str, parts: &[Section<'_>]) -> Result<Draft, String> {
    let main = parts.first().ok_or("there is no text")?;
    let file = main.path.rsplit('/').next().unwrap_or(main.path);
    let text = main.text;
    if file.ends_with(".timer") || file.ends_with(".service") {
        systemd::read(parts)
    } else if file.ends_with(".job") {
        azkaban::read(job, parts)
    } else if text.contains("sp_add_job") {
        sql_agent::read(job, text)
    } else if text.contains("<coordinator-app") || text.contains("<workflow-app") {
        Err("an Oozie application: workflows and datasets are not known here".to_owned())
    } else if text.contains("<DEFTABLE") || text.contains("<FOLDER") {
        Err("a Control-M folder: its agents and conditions are not known here".to_owned())
    } else if text.contains("insert_job:") {
        Err("an AutoSys job: its conditions on other jobs are not known here".to_owned())
    } else if file.contains("cron") {
        crontab::read(text)
    } else {
        Err(format!("{file}: not a kind of file that is known here"))
    }
}

/// How SQL treats rows that are there: adding without deleting anything appends.
fn write_mode(sql: &str) -> WriteMode {
    let text = sql.to_ascii_lowercase();
    let adds = text.contains("insert into ");
    let clears = ["drop table", "delete from", "truncate "];
    if adds && !clears.iter().any(|word| text.contains(word)) {
        WriteMode::Append
    } else {
        WriteMode::Replace
    }
}
