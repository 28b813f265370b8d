//! SQL that a worker wrote: one SELECT over its own job's tables, or a refusal that it can act on.
//!
//! The text is parsed, and what is sent is written anew from the syntax tree, piece by piece: a construct
//! that this room has no words for cannot get through, and neither can a text that two parsers would cut
//! into different tokens, because every quote, comma and bracket of the result is ours. Tables are looked
//! up in a list and replaced by their physical names; functions must stand in a list.

mod expression;
mod statement;
#[cfg(test)]
mod tests;
mod words;

use super::ports::{Cell, PortError, Side, Timed, Warehouse};
use crate::model::{JobId, LogicalDate};
use sqlparser::ast::{ObjectNamePart, Statement};
use sqlparser::dialect::{Dialect, DuckDbDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};
use std::fmt::Write as _;
use thiserror::Error;

/// Longest statement taken, in bytes.
pub const MAX_SQL_BYTES: usize = 16 * 1024;
/// Most tokens of one statement; with this, no walk over the tree can exhaust a stack.
const MAX_TOKENS: usize = 4_000;
/// Most rows that a worker is given; the statement's own LIMIT is lowered to one more.
pub const MAX_WORKER_ROWS: usize = 200;
/// Longest text of one answer, in bytes.
pub const MAX_WORKER_BYTES: usize = 16 * 1024;
/// Longest cell of one answer, in characters.
const MAX_CELL_CHARS: usize = 400;

/// A table that a worker may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTable {
    /// As the worker writes it, such as `legacy.dim_store`.
    pub name: String,
    /// As the warehouse calls it.
    pub physical: String,
}

/// Why a statement was not sent, in one sentence that says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SqlRefused(pub(crate) String);

/// A worker's query that gave no rows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorkerSqlError {
    /// Nothing was sent; it costs no quota.
    #[error("refused: {0}")]
    Refused(#[from] SqlRefused),
    /// It was sent and failed; it counts.
    #[error("{0}")]
    Failed(PortError),
}

/// What a worker is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkerRows {
    /// Column names.
    pub columns: Vec<String>,
    /// At most [`MAX_WORKER_ROWS`].
    pub rows: Vec<Vec<Cell>>,
    /// Whether there were more.
    pub cut: bool,
}

impl WorkerRows {
    /// One line a row, cells separated by tabs, at most [`MAX_WORKER_BYTES`] long; says when it was cut.
    pub fn to_text(&self) -> String {
        // Room for the sentence that says so.
        const ROOM: usize = MAX_WORKER_BYTES - 200;
        let mut out = String::new();
        let head: Vec<String> = self.columns.iter().map(|name| one_line(name)).collect();
        let mut shown = 0;
        let mut fits = push_line(&mut out, &head.join("\t"), ROOM);
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(cell_text).collect();
            fits = fits && push_line(&mut out, &cells.join("\t"), ROOM);
            if !fits {
                break;
            }
            shown += 1;
        }
        if self.cut || !fits {
            let _ = writeln!(
                out,
                "(cut: {shown} rows shown, there are more; count, aggregate or filter in the query)"
            );
        } else {
            let _ = writeln!(out, "({shown} rows)");
        }
        out
    }
}

fn push_line(out: &mut String, line: &str, room: usize) -> bool {
    let fits = out.len() + line.len() < room;
    if fits {
        out.push_str(line);
        out.push('\n');
    }
    fits
}

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => one_line(text),
    }
}

/// A text that cannot end its line or its cell.
fn one_line(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(MAX_CELL_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(MAX_CELL_CHARS).is_some() {
        out.push('…');
    }
    out
}

/// The tables of a job on some sides, named `side.table`.
pub fn job_tables(
    warehouse: &dyn Warehouse,
    job: &JobId,
    tables: &[&str],
    sides: &[Side],
    date: Option<&LogicalDate>,
) -> Vec<JobTable> {
    let mut all = Vec::new();
    for table in tables {
        for side in sides {
            all.push(JobTable {
                name: format!("{}.{table}", side.word()),
                physical: warehouse.table(*side, job, table, date),
            });
        }
    }
    all
}

/// The statement to send for a worker's text. Pure.
///
/// # Errors
/// When the text is anything else than one SELECT over the tables given.
pub fn guard(sql: &str, dialect: &str, tables: &[JobTable]) -> Result<String, SqlRefused> {
    let parsed = parse(sql, dialect)?;
    let tables: Vec<(String, String)> = tables
        .iter()
        .map(|table| {
            let physical = plain_name(&table.physical, dialect)?;
            Ok((table.name.to_lowercase(), physical))
        })
        .collect::<Result<_, SqlRefused>>()?;
    match parsed {
        Statement::Query(query) => statement::write(&query, dialect, &tables),
        other => {
            let text = other.to_string();
            let word = text.split_whitespace().next().unwrap_or_default();
            Err(SqlRefused(format!(
                "only a SELECT is allowed, and this is {word}; nothing here can be changed"
            )))
        }
    }
}

/// Checks a worker's text, runs it and keeps at most [`MAX_WORKER_ROWS`] rows.
///
/// # Errors
/// When the text is refused, or the warehouse does not answer.
pub fn query(
    warehouse: &dyn Warehouse,
    tables: &[JobTable],
    sql: &str,
) -> Result<Timed<WorkerRows>, WorkerSqlError> {
    let sent = guard(sql, warehouse.dialect(), tables)?;
    let answer = warehouse.query(&sent).map_err(WorkerSqlError::Failed)?;
    let mut rows = answer.value.rows;
    let cut = rows.len() > MAX_WORKER_ROWS;
    rows.truncate(MAX_WORKER_ROWS);
    Ok(Timed {
        value: WorkerRows {
            columns: answer.value.columns,
            rows,
            cut,
        },
        took_ms: answer.took_ms,
    })
}

/// The library's rules for a warehouse's dialect.
fn rules(dialect: &str) -> Box<dyn Dialect> {
    match dialect {
        "postgres" => Box::new(PostgreSqlDialect {}),
        "duckdb" => Box::new(DuckDbDialect {}),
        _ => Box::new(SQLiteDialect {}),
    }
}

fn parse(sql: &str, dialect: &str) -> Result<Statement, SqlRefused> {
    let refuse = |why: String| Err(SqlRefused(why));
    if sql.len() > MAX_SQL_BYTES {
        return refuse(format!(
            "the statement has {} bytes; at most {MAX_SQL_BYTES} are taken",
            sql.len()
        ));
    }
    if let Some(c) = sql
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        return refuse(format!(
            "the statement holds the control character U+{:04X}; leave it out",
            c as u32
        ));
    }
    let rules = rules(dialect);
    let tokens = Tokenizer::new(rules.as_ref(), sql)
        .tokenize()
        .map_err(|error| SqlRefused(format!("this is not SQL: {error}")))?;
    if tokens.len() > MAX_TOKENS {
        return refuse(format!(
            "the statement has {} parts; at most {MAX_TOKENS} are taken",
            tokens.len()
        ));
    }
    if tokens.iter().any(is_comment) {
        return refuse("comments are not taken; send the bare SELECT".to_owned());
    }
    let mut statements = Parser::new(rules.as_ref())
        .with_tokens(tokens)
        .parse_statements()
        .map_err(|error| SqlRefused(format!("this is not SQL: {error}")))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => refuse("there is no statement; send one SELECT".to_owned()),
        _ => refuse("send one statement at a time, without a `;` between two".to_owned()),
    }
}

fn is_comment(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_))
    )
}

/// A physical name, taken apart and quoted part by part: it comes from the goal file and from what the
/// source lists, and neither may add SQL.
fn plain_name(name: &str, dialect: &str) -> Result<String, SqlRefused> {
    let rules = rules(dialect);
    let unfit = || {
        SqlRefused(format!(
            "the warehouse calls a table {name:?}, which is no plain name; an operator must mend the goal's \
             [world.warehouse]"
        ))
    };
    let mut parser = Parser::new(rules.as_ref())
        .try_with_sql(name)
        .map_err(|_| unfit())?;
    let parsed = parser.parse_object_name(false).map_err(|_| unfit())?;
    if parser.peek_token().token != Token::EOF {
        return Err(unfit());
    }
    let mut parts = Vec::new();
    for part in &parsed.0 {
        match part {
            ObjectNamePart::Identifier(ident) => parts.push(statement::identifier(ident, dialect)?),
            ObjectNamePart::Function(_) => return Err(unfit()),
        }
    }
    Ok(parts.join("."))
}
