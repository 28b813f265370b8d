//! Tables that are made when they are first asked for: yesterday's outputs, those of other days (a side's
//! word with the day's number), and everything of the scenario's replicas.

use super::build::old_output;
use super::schema::{physical, quoted};
use super::{RUN_DAY, apply, run};
use rusqlite::{Connection, OptionalExtension as _};

/// Deepest chain of old jobs computed for one table.
pub(super) const MAX_CHAIN: u32 = 64;

/// Makes a job's table on a side when it is not there, and gives its physical name.
///
/// # Errors
/// When there is no such table, or its old SQL fails.
pub(super) fn ensure(conn: &Connection, side: &str, table: &str) -> Result<String, String> {
    let name = physical(side, table);
    if apply::table_exists(conn, &name) {
        return Ok(name);
    }
    // All or nothing: an append job's table must not stay created and empty.
    conn.execute_batch("savepoint lazy")
        .map_err(|error| error.to_string())?;
    let made = make(conn, side, table);
    let end = if made.is_ok() {
        "release lazy"
    } else {
        "rollback to lazy; release lazy"
    };
    conn.execute_batch(end).map_err(|error| error.to_string())?;
    made.map(|()| name)
}

fn make(conn: &Connection, side: &str, table: &str) -> Result<(), String> {
    let dated = side
        .rsplit_once('_')
        .and_then(|(word, day)| Some((word, day.parse().ok()?)));
    let (word, day) = dated.unwrap_or((side, RUN_DAY));
    match word {
        "legacy" => old_table(conn, side, table, day, 0),
        "yesterday" => old_table(conn, side, table, day - 1, 0),
        _ => {
            old_table(conn, "legacy", table, RUN_DAY, 0)?;
            conn.execute(&empty_copy(side, table), [])
                .map(|_| ())
                .map_err(|error| error.to_string())
        }
    }
}

/// The statement that makes a side's table in the shape of the old one.
pub(super) fn empty_copy(side: &str, table: &str) -> String {
    format!(
        "create table {} as select * from {} where 0",
        quoted(&physical(side, table)),
        quoted(&physical("legacy", table))
    )
}

/// What the old pipeline writes for a day, with everything upstream of it.
fn old_table(
    conn: &Connection,
    side: &str,
    table: &str,
    day: i64,
    depth: u32,
) -> Result<(), String> {
    if apply::table_exists(conn, &physical(side, table)) {
        return Ok(());
    }
    if depth > MAX_CHAIN {
        return Err(format!("{table}: more than {MAX_CHAIN} jobs deep"));
    }
    let sql: Option<String> = conn
        .prepare_cached("select sql from legacy_jobs where target = ?1")
        .and_then(|mut statement| statement.query_row([table], |row| row.get(0)).optional())
        .map_err(|error| error.to_string())?
        .flatten();
    let sql = sql.ok_or_else(|| format!("no such table: {table}"))?;
    old_output(conn, &sql, table, day, side, |read| {
        if run::is_source(conn, read) {
            // A source table that looked otherwise that day has a view that says how.
            let then = physical(side, read);
            return Ok(if apply::table_exists(conn, &then) {
                then
            } else {
                read.to_owned()
            });
        }
        old_table(conn, side, read, day, depth + 1)?;
        Ok(physical(side, read))
    })
    .map_err(|error| error.what)
}
