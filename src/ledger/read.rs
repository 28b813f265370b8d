//! The read model: typed answers about the ledger, for the interface, the commands and the engine.
//!
//! A [`Reader`] has its own read-only connection and never blocks a writer. Rows are owned values.

mod budgets;
mod chat;
mod drift;
mod goals;
mod jobs;
mod measures;
mod outages;
mod people;
mod plans;
mod rows;
mod spin;
mod transcript;
mod versions;

pub use chat::{QuestionRow, TokenTotals, ToolCallRow, TurnRow};
pub use drift::DriftRow;
pub use outages::OutageRow;
pub use plans::PlanRow;
pub use rows::*;
pub use spin::{OverruleRow, ProgressRow, SpinRow};
pub use transcript::{Line, Speaker, TranscriptTurn};
pub use versions::{ClaimRow, ClauseCost, RerunMeasure, StagingResource};

use super::error::LedgerError;
use super::schema;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most entries one question returns.
pub const MAX_EVENTS: usize = 5_000;

/// A read-only connection of its own.
#[derive(Debug)]
pub struct Reader {
    conn: Connection,
    path: PathBuf,
}

impl Reader {
    /// Opens an existing ledger for reading.
    ///
    /// # Errors
    /// Missing, not a ledger, newer, not readable.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        if !path.exists() {
            return Err(LedgerError::Missing(path.to_path_buf()));
        }
        let sql = |error| LedgerError::from_sqlite(path, error);
        let open = |mode| -> Result<Connection, LedgerError> {
            let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
            conn.busy_timeout(Duration::from_secs(2)).map_err(sql)?;
            schema::check(&conn, path)?;
            schema::check_begun(&conn, path)?;
            Ok(conn)
        };
        let conn = match open(OpenFlags::SQLITE_OPEN_READ_ONLY) {
            // An engine was killed while it changed the file's mode, before its first commit. SQLite has to take
            // that back first, and a connection that only reads may not.
            Err(LedgerError::Sqlite { source, .. }) if is_half_changed(&source) => {
                drop(open(OpenFlags::SQLITE_OPEN_READ_WRITE)?);
                open(OpenFlags::SQLITE_OPEN_READ_ONLY)
            }
            opened => opened,
        }?;
        conn.set_prepared_statement_cache_capacity(64);
        Ok(Self {
            conn,
            path: path.to_path_buf(),
        })
    }

    /// The questions that can be asked.
    pub fn view(&self) -> View<'_> {
        View::new(&self.conn, &self.path)
    }

    /// Changes when another connection commits; cheap enough to ask ten times a second.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn data_version(&self) -> Result<i64, LedgerError> {
        self.conn
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|error| LedgerError::from_sqlite(&self.path, error))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.conn
    }
}

/// Whether a read failed because an interrupted change must be taken back by one who may write.
fn is_half_changed(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi;
    matches!(
        error,
        rusqlite::Error::SqliteFailure(failure, _)
            if [ffi::SQLITE_READONLY_ROLLBACK, ffi::SQLITE_READONLY_RECOVERY].contains(&failure.extended_code)
    )
}

/// Questions over a connection.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    conn: &'a Connection,
    path: &'a Path,
}

type Answer<T> = Result<T, LedgerError>;

impl<'a> View<'a> {
    pub(super) fn new(conn: &'a Connection, path: &'a Path) -> Self {
        Self { conn, path }
    }

    fn err(&self, error: rusqlite::Error) -> LedgerError {
        LedgerError::from_sqlite(self.path, error)
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        of_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Answer<Vec<T>> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, of_row)?.collect())
            .map_err(|error| self.err(error))
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        of_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Answer<Option<T>> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, of_row).optional())
            .map_err(|error| self.err(error))
    }

    fn count(&self, sql: &str, params: impl rusqlite::Params) -> Answer<u64> {
        let found = self.one(sql, params, |row| row.get::<_, i64>(0))?;
        Ok(found.unwrap_or(0).max(0) as u64)
    }
}

const OPERATION_COLUMNS: &str = "SELECT operation, job, attempt, action, config, ordinal, state, reference, why,
   approval, sends, look_ups, to_verify, intended_ms, changed_ms, next_look_ms, observed FROM operations";

/// Requests of one moment stand in the source's order of their jobs.
const BY_POSITION: &str =
    "(SELECT position FROM jobs WHERE jobs.goal = approvals.goal AND jobs.job = approvals.job)";

const APPROVAL_COLUMNS: &str =
    "SELECT approval, job, digest, parts, consequences, requested_ms, expires_ms, state,
   decided_by, reason, decided_ms, outcome, action FROM approvals";

const DECISION_COLUMNS: &str =
    "SELECT decision, seq, goal, job, by, act, submitted_ms, state, why FROM decisions";

fn list(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

fn sort_sql(sort: JobSort) -> &'static str {
    match sort {
        JobSort::Position => "position",
        JobSort::Id => "job",
        JobSort::State => {
            "CASE state WHEN 'awaiting_approval' THEN 0 WHEN 'handed_over' THEN 1 WHEN 'working' THEN 2
             WHEN 'staged' THEN 3 WHEN 'reconciled' THEN 4 WHEN 'pending' THEN 5 WHEN 'cut_over' THEN 6 ELSE 7 END"
        }
        JobSort::Tries => "tries",
        JobSort::Progress => "last_progress_ms",
        JobSort::Queries => "queries",
    }
}
