//! What checkers over the warehouse share: a meter of the queries that ran, and the difference between
//! a table that is not there and a warehouse that does not answer.

use super::Evidence;
use crate::model::Verdict;
use crate::world::ports::{Cell, PortError, Rows, Warehouse};

impl Evidence {
    /// A verdict without numbers or queries.
    pub fn bare(verdict: Verdict, summary: impl Into<String>) -> Self {
        Self {
            verdict,
            summary: summary.into(),
            numbers: serde_json::Map::new(),
            queries: Vec::new(),
        }
    }
}

/// Runs queries and keeps what ran and how long the world took for it.
pub struct Meter<'a> {
    warehouse: &'a dyn Warehouse,
    /// The queries that ran, also those that failed.
    pub queries: Vec<String>,
    /// Virtual milliseconds so far.
    pub took_ms: i64,
}

/// One side's answer.
pub enum Answer {
    /// The single row that was asked for.
    Row(Vec<Cell>),
    /// The statement names a table or column that the side does not have; in the warehouse's words.
    Missing(String),
}

impl<'a> Meter<'a> {
    /// A meter at zero.
    pub fn new(warehouse: &'a dyn Warehouse) -> Self {
        Self {
            warehouse,
            queries: Vec::new(),
            took_ms: 0,
        }
    }

    /// Runs a query that gives one row.
    ///
    /// # Errors
    /// When the warehouse does not answer, or answers something else than one row.
    pub fn one_row(&mut self, sql: String) -> Result<Answer, PortError> {
        let answer = self.warehouse.query(&sql);
        self.queries.push(sql);
        match answer {
            Ok(timed) => {
                self.took_ms = self.took_ms.saturating_add(timed.took_ms);
                single(timed.value).map(Answer::Row)
            }
            Err(error) if says_missing(&error.what) => Ok(Answer::Missing(error.what)),
            Err(error) => Err(error),
        }
    }
}

impl Meter<'_> {
    /// Runs a query that gives any number of rows; or says what the warehouse does not have.
    ///
    /// # Errors
    /// When the warehouse does not answer.
    pub fn rows(&mut self, sql: String) -> Result<Result<Rows, String>, PortError> {
        let answer = self.warehouse.query(&sql);
        self.queries.push(sql);
        match answer {
            Ok(timed) => {
                self.took_ms = self.took_ms.saturating_add(timed.took_ms);
                Ok(Ok(timed.value))
            }
            Err(error) if says_missing(&error.what) => Ok(Err(error.what)),
            Err(error) => Err(error),
        }
    }
}

fn single(rows: Rows) -> Result<Vec<Cell>, PortError> {
    let count = rows.rows.len();
    let mut rows = rows.rows.into_iter();
    match (rows.next(), rows.next()) {
        (Some(row), None) => Ok(row),
        _ => Err(unclear(format!(
            "the warehouse answered {count} rows to a query that gives one"
        ))),
    }
}

/// An answer that cannot be made sense of.
pub fn unclear(what: String) -> PortError {
    PortError {
        what,
        class: crate::model::FailureClass::Unclear,
        retry_after_ms: None,
    }
}

/// Whether an error says that a table, its schema or a column does not exist. The port has no code for
/// it, so this reads the words of the three dialects' engines; anything else stays an error of the
/// world, which is no verdict.
pub fn says_missing(what: &str) -> bool {
    let what = what.to_lowercase();
    let absent = what.contains("does not exist") || what.contains("not found");
    what.contains("no such table")
        || what.contains("no such column")
        || (absent
            && ["relation ", "table ", "column ", "schema "]
                .iter()
                .any(|thing| what.contains(thing)))
}

/// A whole number, however the adapter carried it.
pub fn whole(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Integer(number) => Some(*number),
        Cell::Text(text) => text.parse().ok(),
        // Beyond 2^53 a double no longer says which whole number it was.
        Cell::Real(real) if real.fract() == 0.0 && real.abs() < 9_007_199_254_740_992.0 => {
            Some(*real as i64)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_told_from_failing() {
        for what in [
            "no such table: staging.x",
            "ERROR: relation \"staging.x\" does not exist",
            "Catalog Error: Table with name x does not exist!",
            "no such column: t.note",
            "ERROR: column t.note does not exist",
        ] {
            assert!(says_missing(what), "{what}");
        }
        for what in [
            "database is locked",
            "host db-1 not found",
            "role \"etl\" does not exist",
            "no such function: dw_row_sums",
        ] {
            assert!(!says_missing(what), "{what}");
        }
    }

    #[test]
    fn whole_numbers_are_never_guessed() {
        assert_eq!(whole(&Cell::Text("12".into())), Some(12));
        assert_eq!(whole(&Cell::Real(12.0)), Some(12));
        assert_eq!(whole(&Cell::Real(12.5)), None);
        assert_eq!(whole(&Cell::Real(1e17)), None);
        assert_eq!(whole(&Cell::Null), None);
    }
}
