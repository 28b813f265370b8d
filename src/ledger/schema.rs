//! The schema and its versions.

use super::error::LedgerError;
use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};
use std::path::Path;

/// Marks a SQLite file as a ledger: "DWCH".
pub(super) const APPLICATION_ID: i64 = 0x4457_4348;

/// Projections, with the order that makes their rows comparable. `verify` compares exactly these.
pub(super) const PROJECTIONS: &[(&str, &str)] = &[
    ("chains", "goal, job"),
    ("goals", "goal"),
    ("contracts", "goal, version"),
    ("jobs", "goal, job"),
    ("facts", "goal, job"),
    ("lineage", "goal, upstream, job"),
    ("attempts", "goal, job, attempt"),
    ("operations", "operation"),
    ("evidence", "seq"),
    ("approvals", "approval"),
    ("decisions", "decision"),
    ("budgets", "goal, budget, day"),
    ("spends", "goal, spend"),
    ("handoffs", "seq"),
    ("turns", "goal, job, attempt, turn"),
    ("tool_calls", "seq"),
    ("questions", "question"),
    ("proofs", "seq"),
    ("outages", "seq"),
    ("claims", "seq"),
    ("spins", "seq"),
    ("overrules", "seq"),
    ("plans", "goal, revision"),
    ("progress", "goal"),
    ("drift", "goal, item"),
    ("alerts", "seq"),
];

/// One step a schema version, oldest first. A released step is never edited.
const STEPS: &[&str] = &[include_str!("schema.sql")];

/// The schema this program writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

fn migrations() -> Migrations<'static> {
    Migrations::new(STEPS.iter().map(|sql| M::up(sql)).collect())
}

/// Brings a file to [`VERSION`]; refuses a newer one without touching it. An older one is copied to
/// `FILE.schema-N.backup` first.
pub(super) fn prepare(conn: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    let sql = |error| LedgerError::from_sqlite(path, error);
    let found: i64 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(sql)?;
    check(conn, path)?;
    if found == VERSION {
        return Ok(());
    }
    if found > 0 {
        let backup = super::lock::beside(path, &format!("schema-{found}.backup"));
        conn.backup("main", &backup, None).map_err(sql)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(sql)?;
    migrations().to_latest(conn).map_err(|error| match error {
        // A full disk or a failing one is no other program's file.
        rusqlite_migration::Error::RusqliteError { err, .. } => sql(err),
        other => LedgerError::NotALedger {
            path: path.to_path_buf(),
            why: other.to_string(),
        },
    })
}

/// Whether a file is a ledger this program can read; writes nothing.
pub(super) fn check(conn: &Connection, path: &Path) -> Result<(), LedgerError> {
    let sql = |error| LedgerError::from_sqlite(path, error);
    let version: i64 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(sql)?;
    let id: i64 = conn
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(sql)?;
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(sql)?;
    if tables > 0 && id != APPLICATION_ID {
        return Err(LedgerError::NotALedger {
            path: path.to_path_buf(),
            why: "it is another program's SQLite file".to_owned(),
        });
    }
    if version > VERSION {
        return Err(LedgerError::Newer {
            path: path.to_path_buf(),
            found: version,
            known: VERSION,
        });
    }
    Ok(())
}

/// Whether a file that [`check`] lets pass has its tables: a new one has none until its first commit.
pub(super) fn check_begun(conn: &Connection, path: &Path) -> Result<(), LedgerError> {
    let tables: i64 = conn
        .query_row(
            "SELECT count(*) FROM sqlite_master WHERE name = 'events'",
            [],
            |row| row.get(0),
        )
        .map_err(|error| LedgerError::from_sqlite(path, error))?;
    if tables == 0 {
        return Err(LedgerError::Empty(path.to_path_buf()));
    }
    Ok(())
}

/// An empty database with the current schema, for a replay.
pub(super) fn scratch() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    for step in STEPS {
        conn.execute_batch(step)?;
    }
    Ok(conn)
}
