//! Makes a world's file: source tables, old files, old outputs, and the records beside them.

use super::apply;
use super::dialect::{Days, Engine, tables_read, translate};
use super::legacy::{LegacyFile, OldJob, Row, Surroundings, generate, old_jobs, surroundings_rows};
use super::scenario::{Scenario, WAREHOUSE_SQL, source_tables};
use super::schema::{EVENTS_LOCK, FORMAT, INVENTORY_LOCK, SCHEMA, physical, quoted};
use super::settings::PracticeSettings;
use super::{RUN_DAY, START, functions, lazy, old_runs, reports};
use crate::world::ports::{Column, ColumnKind, PortError};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// Why a world's file could not be made.
pub(super) type BuildResult<T> = Result<T, PortError>;

/// A failure of SQLite, in the world's words.
pub(super) fn sqlite_failed(what: &str) -> impl FnOnce(rusqlite::Error) -> PortError + '_ {
    move |error| PortError::environment(format!("practice world: {what}: {error}"))
}

/// Fills an empty file.
pub(super) fn fill(conn: &mut Connection, settings: &PracticeSettings) -> BuildResult<()> {
    let scenario = Scenario::of(settings.jobs).map_err(PortError::environment)?;
    let files = generate(&scenario.rows);
    let around = surroundings_rows(&scenario.rows);
    let found: BTreeMap<String, OldJob> = old_jobs(&files, &around)?
        .into_iter()
        .map(|job| (job.id.0.clone(), job))
        .collect();
    functions::register_engines(conn).map_err(sqlite_failed("functions"))?;
    let tx = conn.transaction().map_err(sqlite_failed("begin"))?;
    tx.execute_batch(SCHEMA).map_err(sqlite_failed("schema"))?;
    meta(&tx, settings).map_err(sqlite_failed("meta"))?;
    sources(&tx, &scenario).map_err(sqlite_failed("source tables"))?;
    outputs(&tx, scenario.base(), &found)?;
    jobs(&tx, &scenario, &found)?;
    reports::record(&tx, &scenario)?;
    records(&tx, &files, &around).map_err(sqlite_failed("records"))?;
    old_runs::record(&tx, &scenario.rows, &found)?;
    tx.commit().map_err(sqlite_failed("commit"))
}

fn meta(conn: &Connection, settings: &PracticeSettings) -> rusqlite::Result<()> {
    let mut insert = conn.prepare("insert into meta values (?1, ?2)")?;
    for (key, value) in [
        ("format", FORMAT.to_string()),
        ("seed", settings.seed.to_string()),
        ("jobs", settings.jobs.to_string()),
        ("run_day", RUN_DAY.to_string()),
        ("start_ms", START.0.to_string()),
    ] {
        insert.execute([key, value.as_str()])?;
    }
    Ok(())
}

fn sources(conn: &Connection, scenario: &Scenario) -> rusqlite::Result<()> {
    conn.execute_batch(WAREHOUSE_SQL)?;
    let tables = source_tables();
    for table in tables.iter().filter(|table| *table != "dim_calendar") {
        let rows: u32 = conn.query_row(&format!("select count(*) from {table}"), [], |row| {
            row.get(0)
        })?;
        for replica in &scenario.replicas {
            let suffix = &replica.suffix;
            let kept = replica.source_rows(rows as usize);
            conn.execute(
                &format!(
                    "create table {table}{suffix} as select * from {table} where rowid <= {kept}"
                ),
                [],
            )?;
        }
    }
    views(conn, scenario)
}

/// Views of source tables as they stand at another moment.
fn views(conn: &Connection, scenario: &Scenario) -> rusqlite::Result<()> {
    // What a reader sees while the external loader is half way.
    let suffixes = scenario
        .replicas
        .iter()
        .map(|replica| replica.suffix.as_str());
    for suffix in std::iter::once("").chain(suffixes) {
        conn.execute(
            &format!(
                "create view loading__src_inventory{suffix} as select * from src_inventory{suffix} \
                 where snap_id <= (select max(snap_id) / 2 from src_inventory{suffix})"
            ),
            [],
        )?;
        // An order of the last three days that is done by now was still open the evening before.
        let before = RUN_DAY - 1;
        let recent = RUN_DAY - 3;
        conn.execute(
            &format!(
                "create view yesterday__src_orders{suffix} as select order_id, customer_id, store_id, \
                 order_sec, order_day, case when status = 'done' and order_day >= {recent} then 'open' \
                 else status end as status, note from src_orders{suffix} where order_day <= {before}"
            ),
            [],
        )?;
    }
    Ok(())
}

/// Old outputs in the order of their tables' lineage, and the empty tables of the new sides. Replicas'
/// tables are made when they are first asked for.
fn outputs(conn: &Connection, rows: &[Row], found: &BTreeMap<String, OldJob>) -> BuildResult<()> {
    let mut pending: Vec<(&str, &str, BTreeSet<String>)> = Vec::new();
    for row in rows.iter().filter(|row| !row.target.is_empty()) {
        let sql = old_sql(row, found)?;
        let reads = tables_read(sql)
            .map_err(|error| PortError::environment(format!("old job {}: {error}", row.job)))?;
        pending.push((&row.target, sql, reads));
    }
    let own: BTreeSet<&str> = pending.iter().map(|(target, ..)| *target).collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while !pending.is_empty() {
        let (ready, blocked): (Vec<_>, Vec<_>) = pending.into_iter().partition(|(_, _, reads)| {
            reads
                .iter()
                .all(|table| !own.contains(table.as_str()) || done.contains(table.as_str()))
        });
        if ready.is_empty() {
            return Err(PortError::environment(
                "old jobs read each other in a circle",
            ));
        }
        for (target, sql, _) in &ready {
            old_output(conn, sql, target, RUN_DAY, "legacy", |table| {
                Ok(if own.contains(table) {
                    physical("legacy", table)
                } else {
                    table.to_owned()
                })
            })?;
            for side in ["staging", "production"] {
                conn.execute(&lazy::empty_copy(side, target), [])
                    .map_err(sqlite_failed(target))?;
            }
        }
        done.extend(ready.iter().map(|(target, ..)| *target));
        pending = blocked;
    }
    Ok(())
}

fn old_sql<'a>(row: &Row, found: &'a BTreeMap<String, OldJob>) -> BuildResult<&'a str> {
    found
        .get(&row.job)
        .and_then(|job| job.sql.as_deref())
        .ok_or_else(|| PortError::environment(format!("the old files hold no SQL for {}", row.job)))
}

/// Runs an old job's SQL in the old engine for one day, into `side__target`.
pub(super) fn old_output(
    conn: &Connection,
    sql: &str,
    target: &str,
    day: i64,
    side: &str,
    mut resolve: impl FnMut(&str) -> Result<String, String>,
) -> BuildResult<()> {
    let days = Days {
        logical: day,
        wall: day,
    };
    let steps = translate(sql, Engine::Old, days, &mut resolve)
        .map_err(|error| PortError::environment(format!("old job of {target}: {error}")))?;
    apply::build(conn, &steps, &physical(side, target)).map_err(sqlite_failed(target))
}

fn jobs(
    conn: &Connection,
    scenario: &Scenario,
    found: &BTreeMap<String, OldJob>,
) -> BuildResult<()> {
    let mut kinds: Vec<Vec<Column>> = Vec::new();
    for row in scenario.base() {
        kinds.push(output_columns(conn, row).map_err(sqlite_failed(&row.job))?);
    }
    let mut insert = conn
        .prepare(
            "insert into legacy_jobs (seq, job, title, domain, layer, scheduler, origin, schedule, zone, \
             depends_on, target, key_columns, columns, report, owner, command, sql, old_job) \
             values (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)",
        )
        .map_err(sqlite_failed("jobs"))?;
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    for (seq, row) in scenario.rows.iter().enumerate() {
        let old = found.get(&row.job).ok_or_else(|| {
            PortError::environment(format!("the old files do not hold {}", row.job))
        })?;
        // A replica's columns are the scenario's.
        let columns = kinds.get(seq % kinds.len().max(1));
        let needs: Vec<&str> = old.declared_deps.iter().map(|job| job.as_str()).collect();
        let title = format!("{} {} ({})", row.domain, row.layer, old.scheduler.word());
        insert
            .execute(params![
                i64::try_from(seq).unwrap_or(i64::MAX),
                row.job,
                title,
                row.domain,
                row.layer,
                old.scheduler.word(),
                old.origin,
                old.schedule,
                old.zone,
                needs.join(" "),
                some(&row.target),
                row.key,
                json(&columns.map_or(&[][..], Vec::as_slice))?,
                some(&row.report),
                row.owner,
                old.command,
                old.sql,
                json(old)?,
            ])
            .map_err(sqlite_failed(&row.job))?;
    }
    Ok(())
}

fn json<T: serde::Serialize>(value: &T) -> BuildResult<String> {
    serde_json::to_string(value).map_err(|error| PortError::environment(error.to_string()))
}

/// Logical types from what the old output really holds: double where the scenario says so or a value
/// is one, text where one is text or the column is declared so, else integer.
pub(super) fn output_columns(conn: &Connection, row: &Row) -> rusqlite::Result<Vec<Column>> {
    if row.target.is_empty() {
        return Ok(Vec::new());
    }
    let table = physical("legacy", &row.target);
    let declared: Vec<(String, String)> = conn
        .prepare_cached("select name, type from pragma_table_info(?1) order by cid")?
        .query_map([&table], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let asked: Vec<String> = declared
        .iter()
        .map(|(name, _)| {
            let name = quoted(name);
            format!("max((typeof({name}) = 'text') + 2 * (typeof({name}) = 'real'))")
        })
        .collect();
    let sql = format!("select {} from {}", asked.join(", "), quoted(&table));
    let seen: Vec<Option<i64>> = conn.query_row(&sql, [], |row| {
        (0..declared.len()).map(|index| row.get(index)).collect()
    })?;
    Ok(declared
        .into_iter()
        .zip(seen)
        .map(|((name, declared), seen)| {
            let float = row.float_columns.split(',').any(|column| column == name);
            let kind = match seen {
                _ if float => ColumnKind::Float,
                Some(2) => ColumnKind::Float,
                Some(1) => ColumnKind::Text,
                None if declared.eq_ignore_ascii_case("text") => ColumnKind::Text,
                None if declared.eq_ignore_ascii_case("real") => ColumnKind::Float,
                _ if declared.eq_ignore_ascii_case("text") => ColumnKind::Text,
                _ => ColumnKind::Integer,
            };
            Column { name, kind }
        })
        .collect())
}

fn records(conn: &Connection, files: &[LegacyFile], around: &Surroundings) -> rusqlite::Result<()> {
    for file in files {
        conn.execute(
            "insert into legacy_files values (?1, ?2)",
            params![file.path, file.bytes],
        )?;
    }
    for (name, holder, note) in [
        (
            INVENTORY_LOCK,
            "inventory-load",
            "held while src_inventory is being loaded; without it only the loaded half is read",
        ),
        (
            EVENTS_LOCK,
            "events-load",
            "held while raw events are being loaded",
        ),
    ] {
        conn.execute(
            "insert into locks values (?1, ?2, ?3)",
            [name, holder, note],
        )?;
    }
    conn.execute(
        "insert into hosts values ('api.oldads.example', 'HTTP 410', ?1)",
        [RUN_DAY - 400],
    )?;
    let numbers = [
        ("access_log", &around.last_read_days),
        ("retired_reports", &around.retired_reports),
        ("closed_mailboxes", &around.closed_mailboxes),
        ("departed_people", &around.departed_owners),
        ("ended_programmes", &around.ended_programmes),
    ];
    for (table, days) in numbers {
        let mut insert = conn.prepare(&format!("insert into {table} values (?1, ?2)"))?;
        for (name, day) in days {
            insert.execute(params![name, day])?;
        }
    }
    for (host, day) in &around.dead_hosts {
        conn.execute(
            "insert or ignore into hosts values (?1, 'does not resolve', ?2)",
            params![host, day],
        )?;
    }
    for (table, names) in &around.readers {
        for name in names {
            conn.execute("insert into readers values (?1, ?2)", [table, name])?;
        }
    }
    for (table, by) in &around.replaced_tables {
        conn.execute("insert into replaced_tables values (?1, ?2)", [table, by])?;
    }
    for (table, (other, days)) in &around.equal_tables {
        conn.execute(
            "insert into equal_tables values (?1, ?2, ?3)",
            params![table, other, days],
        )?;
    }
    Ok(())
}
