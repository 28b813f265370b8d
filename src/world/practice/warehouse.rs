//! The warehouse port: read-only queries on the world's file.

use super::schema::physical;
use super::world::PracticeWorld;
use super::{apply, lazy};
use crate::model::{Digest, JobId, LogicalDate, digest_bytes};
use crate::world::ports::{Cell, MAX_ROWS, PortError, Rows, Side, Timed, Warehouse};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// Most bytes that the texts of one result may have.
const MAX_BYTES: usize = 16 * 1024 * 1024;

impl Warehouse for PracticeWorld {
    fn dialect(&self) -> &'static str {
        "sqlite"
    }

    fn table(&self, side: Side, _job: &JobId, table: &str, date: Option<&LogicalDate>) -> String {
        let place = match date {
            None => side.word().to_owned(),
            Some(date) => match super::day_of_date(date) {
                Some(day) => super::place(side, day),
                None => "no_date".to_owned(),
            },
        };
        let name = physical(&place, table);
        // The reader is given back before the writer is taken: in a large world they are one.
        let there = apply::table_exists(&self.reader(), &name);
        if !there {
            // A replica's table is made now. When it cannot be, the query on it says so.
            let _ = lazy::ensure(&self.writer(), &place, table);
        }
        name
    }

    fn query(&self, sql: &str) -> Result<Timed<Rows>, PortError> {
        let Digest(key) = digest_bytes(sql.as_bytes());
        let value = query(&self.reader(), sql)?;
        Ok(Timed {
            value,
            took_ms: self.chance.between(2_000, 30_000, &["query", &key]),
        })
    }
}

fn query(conn: &Connection, sql: &str) -> Result<Rows, PortError> {
    let failed = |error: rusqlite::Error| PortError::job(format!("warehouse: {error}"));
    let mut statement = conn.prepare(sql).map_err(failed)?;
    if !statement.readonly() {
        return Err(PortError::job("warehouse: only queries are allowed"));
    }
    let columns: Vec<String> = statement
        .column_names()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut rows = Vec::new();
    let mut bytes = 0usize;
    let mut cursor = statement.query([]).map_err(failed)?;
    while let Some(row) = cursor.next().map_err(failed)? {
        if rows.len() == MAX_ROWS {
            return Err(PortError::job(format!(
                "warehouse: more than {MAX_ROWS} rows"
            )));
        }
        let mut cells = Vec::with_capacity(columns.len());
        for index in 0..columns.len() {
            let cell = cell(row.get_ref(index).map_err(failed)?);
            if let Cell::Text(text) = &cell {
                bytes += text.len();
            }
            cells.push(cell);
        }
        if bytes > MAX_BYTES {
            return Err(PortError::job(format!(
                "warehouse: more than {MAX_BYTES} bytes"
            )));
        }
        rows.push(cells);
    }
    Ok(Rows { columns, rows })
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Cell::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}
