//! Numbers that the company's reports draw from each table, with the queries they are drawn by.
//!
//! A report of the scenario shows its metrics. Every other table has its line in its domain's morning
//! control: how many rows, and the totals of its first columns of numbers. Who reads the table further down
//! is named in front of the number, so that a difference says which report it would reach.

use super::build::{BuildResult, output_columns, sqlite_failed};
use super::legacy::Row;
use super::scenario::Scenario;
use super::schema::{physical, quoted};
use crate::world::ports::ColumnKind;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// Totals of a table's control line at most.
const MAX_TOTALS: usize = 2;
/// Totals of doubles are compared with this tolerance, relative: their last digits depend on the order.
const RELATIVE: f64 = 1e-9;

/// Jobs by the job that they read.
type Below<'r> = BTreeMap<&'r str, Vec<&'r Row>>;

/// Fills the catalog.
pub(super) fn record(conn: &Connection, scenario: &Scenario) -> BuildResult<()> {
    let base = scenario.base();
    let mut insert = conn
        .prepare("insert or ignore into report_numbers values (?1, ?2, ?3, ?4, ?5)")
        .map_err(sqlite_failed("report numbers"))?;
    let mut below: Below<'_> = BTreeMap::new();
    for row in &scenario.rows {
        for dep in row.dep_list() {
            below.entry(dep).or_default().push(row);
        }
    }
    for (index, row) in scenario.rows.iter().enumerate() {
        if row.target.is_empty() {
            continue;
        }
        // A replica's table has the scenario's columns, and no content yet.
        let Some(shape) = base.get(index % base.len().max(1)) else {
            continue;
        };
        let report = reader_of(row, &below);
        for (name, sql, relative) in numbers(conn, shape, &report)? {
            insert
                .execute(params![row.target, report, name, sql, relative])
                .map_err(sqlite_failed(&row.job))?;
        }
    }
    Ok(())
}

/// The report that the table reaches: its own, the nearest one down the lineage, else its domain's control.
fn reader_of(row: &Row, below: &Below<'_>) -> String {
    let mut front = vec![row];
    // Deeper than any lineage of the scenario.
    for _ in 0..32 {
        if let Some(found) = front.iter().find(|one| !one.report.is_empty()) {
            return found.report.clone();
        }
        front = front
            .iter()
            .filter_map(|one| below.get(one.job.as_str()))
            .flatten()
            .copied()
            .collect();
        if front.is_empty() {
            break;
        }
    }
    format!("{}_control", row.domain)
}

fn numbers(conn: &Connection, row: &Row, report: &str) -> BuildResult<Vec<(String, String, f64)>> {
    let failed = sqlite_failed;
    if !row.report.is_empty() {
        let sql = format!(
            "select distinct metric from {}",
            quoted(&physical("legacy", &row.target))
        );
        let metrics: Vec<String> = conn
            .prepare(&sql)
            .and_then(|mut statement| {
                statement
                    .query_map([], |line| line.get::<_, Option<String>>(0))?
                    .collect::<rusqlite::Result<Vec<_>>>()
            })
            .map_err(failed(&row.job))?
            .into_iter()
            .flatten()
            .collect();
        let line = |metric: &String| {
            let text = metric.replace('\'', "''");
            let sql = format!("select sum(v) from {{table}} where metric = '{text}'");
            (format!("{report}.{metric}"), sql, RELATIVE)
        };
        return Ok(metrics.iter().take(20).map(line).collect());
    }
    let columns = output_columns(conn, row).map_err(failed(&row.job))?;
    let is_key = |name: &str| row.key.split(',').any(|key| key == name);
    let totals = columns
        .iter()
        .filter(|column| !is_key(&column.name))
        .filter(|column| matches!(column.kind, ColumnKind::Integer | ColumnKind::Float))
        .take(MAX_TOTALS)
        .map(|column| {
            let relative = if column.kind == ColumnKind::Float {
                RELATIVE
            } else {
                0.0
            };
            let sql = format!("select sum({}) from {{table}}", quoted(&column.name));
            (format!("{report}.{}_total", column.name), sql, relative)
        });
    let rows = (
        format!("{report}.rows"),
        "select count(*) from {table}".to_owned(),
        0.0,
    );
    Ok(std::iter::once(rows).chain(totals).collect())
}
