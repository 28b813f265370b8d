//! Runs a job's translated statements against physical tables.

use super::dialect::Step;
use super::schema::quoted;
use rusqlite::{Connection, OptionalExtension as _};

/// Whether a table exists in the file.
///
/// # Errors
/// When the file cannot be read.
pub fn table_exists(conn: &Connection, table: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("select 1 from sqlite_master where type in ('table','view') and name = ?1")?
        .query_row([table], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Builds a table from nothing, as the old engine does: `drop`, `create`, `insert` and `delete` are
/// what they say. `physical` is the table that stands for the one the job names.
///
/// # Errors
/// When a statement fails.
pub fn build(conn: &Connection, steps: &[Step], physical: &str) -> rusqlite::Result<()> {
    let name = quoted(physical);
    for step in steps {
        let sql = match step {
            Step::Drop { .. } => format!("drop table if exists {name}"),
            Step::Create {
                if_missing: true,
                select,
                ..
            } => format!("create table if not exists {name} as {select}"),
            Step::Create { select, .. } => format!("create table {name} as {select}"),
            Step::Insert {
                columns, select, ..
            } => insert(&name, columns, select),
            Step::Delete { condition, .. } => format!("delete from {name} where {condition}"),
        };
        conn.execute(&sql, [])?;
    }
    Ok(())
}

/// Runs a job's statements in the new scheduler, where the table stands already (the scheduler made it
/// in the shape of the old one): `drop` empties it, `create` fills it and gives it a new shape only when
/// the query's columns differ, so that most runs leave the file's schema alone.
///
/// # Errors
/// When a statement fails, or a table is created that was not dropped and holds rows.
pub fn run(conn: &Connection, steps: &[Step], physical: &str) -> Result<(), String> {
    let text = |error: rusqlite::Error| format!("run-sql: {error}");
    let name = quoted(physical);
    let mut dropped = false;
    for step in steps {
        match step {
            Step::Drop { .. } => {
                conn.execute(&format!("delete from {name}"), [])
                    .map_err(text)?;
                dropped = true;
            }
            Step::Create {
                if_missing: true, ..
            } => {}
            Step::Create { select, table, .. } => {
                if !dropped {
                    return Err(format!("run-sql: table {table} already exists"));
                }
                create(conn, &name, select).map_err(text)?;
            }
            Step::Insert {
                columns, select, ..
            } => {
                conn.execute(&insert(&name, columns, select), [])
                    .map_err(text)?;
            }
            Step::Delete { condition, .. } => {
                conn.execute(&format!("delete from {name} where {condition}"), [])
                    .map_err(text)?;
            }
        }
    }
    Ok(())
}

fn create(conn: &Connection, name: &str, select: &str) -> rusqlite::Result<()> {
    let columns = |sql: &str| -> rusqlite::Result<Vec<String>> {
        Ok(conn
            .prepare(sql)?
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect())
    };
    if columns(select)? == columns(&format!("select * from {name}"))? {
        conn.execute(&format!("insert into {name} {select}"), [])?;
    } else {
        conn.execute(&format!("drop table {name}"), [])?;
        conn.execute(&format!("create table {name} as {select}"), [])?;
    }
    Ok(())
}

fn insert(name: &str, columns: &[String], select: &str) -> String {
    if columns.is_empty() {
        return format!("insert into {name} {select}");
    }
    let list: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    format!("insert into {name} ({}) {select}", list.join(", "))
}
