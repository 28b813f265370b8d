//! What the old jobs' last two runs did, for jobs that write no table.

use super::build::{BuildResult, sqlite_failed};
use super::legacy::{OldJob, Row};
use super::platform::Platform;
use super::schema::{EVENTS_LOCK, INVENTORY_LOCK};
use super::shell::Shell;
use super::{RUN_DAY, run};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// Runs every old job's command twice on the old hosts and records what was seen. The SQL itself has
/// run already: its output stands in the warehouse.
pub(super) fn record(
    conn: &Connection,
    rows: &[Row],
    found: &BTreeMap<String, OldJob>,
) -> BuildResult<()> {
    let held = BTreeMap::from([
        (INVENTORY_LOCK.to_owned(), "inventory-load".to_owned()),
        (EVENTS_LOCK.to_owned(), "events-load".to_owned()),
    ]);
    let hosts = run::hosts(conn).map_err(sqlite_failed("hosts"))?;
    let mut insert = conn
        .prepare("insert into legacy_runs values (?1,?2,?3,?4,?5,?6,?7,?8)")
        .map_err(sqlite_failed("old runs"))?;
    for row in rows {
        let Some(old) = found.get(&row.job) else {
            continue;
        };
        for number in 1..=2i64 {
            let nonce = format!("{}-old-{number}", row.job);
            let seen = one(old, &held, &hosts, nonce);
            insert
                .execute(params![
                    row.job,
                    number,
                    RUN_DAY,
                    seen.exit,
                    seen.tasks,
                    seen.effect_digest().0,
                    seen.effects.join("\n"),
                    seen.log
                ])
                .map_err(sqlite_failed("old runs"))?;
        }
    }
    Ok(())
}

fn one(
    old: &OldJob,
    held: &BTreeMap<String, String>,
    hosts: &BTreeMap<String, String>,
    nonce: String,
) -> run::Seen {
    let table = old.table.clone();
    let mut sql = |_: &BTreeSet<String>| match &table {
        Some(table) => Ok(format!("{table}: written")),
        None => Ok("done".to_owned()),
    };
    let mut platform = Platform {
        old: true,
        day: RUN_DAY,
        held,
        taken: BTreeSet::new(),
        hosts,
        nonce,
        run_sql: &mut sql,
        tasks: 0,
        effects: Vec::new(),
        log: String::new(),
    };
    let result = Shell {
        environment: old.environment.clone(),
        folder: old.working_folder.clone(),
        host: &mut platform,
        depth: 0,
    }
    .run(&old.command);
    run::Seen::of(result, platform)
}
