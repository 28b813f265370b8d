//! Writes the old schedulers' files from the scenario's rows, each defect as it is found in the wild.
//!
//! This is world generation, the only place that may read the scenario's `defect` and `why`.

mod azkaban;
mod crontab;
mod oozie;
mod others;
mod sql;
mod sql_agent;
mod surroundings;
mod systemd;

pub use surroundings::surroundings_rows;

use super::row::Row;
use super::types::LegacyFile;
use std::collections::BTreeMap;

/// The path that every job of the shop is given where its scheduler lets a file say so.
const PATH: &str = "/opt/etl/bin:/usr/bin:/bin";
/// The account whose owner has left the company.
const FORMER_OWNER: &str = "k.brandt";
/// The host that the staging crontab was installed on.
const STAGING_HOST: &str = "etl-staging-01";
/// The monitoring host that no longer resolves.
const OLD_MONITOR: &str = "monitor-old.retail.example";
/// The mailbox that was closed.
const CLOSED_MAILBOX: &str = "segments@mailhouse.example";
/// The programme that ended.
const ENDED_PROGRAMME: &str = "loyalty-points";

/// All files of the old side, ordered by path: the schedulers' files, the SQL texts of the repository
/// (`jobs/JOB.sql`), and the host's environment file.
pub fn generate(rows: &[Row]) -> Vec<LegacyFile> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.legacy != "sql-agent") {
        if let Some(text) = sql::old_sql(row) {
            files.insert(format!("jobs/{}.sql", row.job), text.into_bytes());
        }
    }
    let written = crontab::files(rows)
        .into_iter()
        .chain(systemd::files(rows))
        .chain(azkaban::files(rows))
        .chain(sql_agent::files(rows))
        .chain(oozie::files(rows))
        .chain(others::files(rows));
    for (path, bytes) in written {
        files.insert(path, bytes);
    }
    files
        .into_iter()
        .map(|(path, bytes)| LegacyFile { path, bytes })
        .collect()
}

/// Rows of one scheduler, grouped by file, in the scenario's order within a file.
fn by_file<'a>(rows: &'a [Row], legacy: &str) -> BTreeMap<&'a str, Vec<&'a Row>> {
    let mut groups: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.legacy == legacy) {
        groups.entry(&row.legacy_file).or_default().push(row);
    }
    groups
}

/// Dependencies that the old text declares: none when only the clock orders the jobs.
fn declared(row: &Row) -> Vec<&str> {
    if row.dependency_kind == "clock only" {
        Vec::new()
    } else {
        row.dep_list()
    }
}

/// The five fields of a row's schedule.
fn fields(row: &Row) -> [&str; 5] {
    let mut out = ["*"; 5];
    for (slot, field) in out.iter_mut().zip(row.schedule.split_whitespace()) {
        *slot = field;
    }
    out
}
