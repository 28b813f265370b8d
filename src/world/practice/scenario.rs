//! The scenario's rows for a number of jobs, and the source tables they read.
//!
//! 120 jobs are the scenario as it is. Fewer are its first rows. More are the scenario and replicas of
//! it with a suffix (`_0002`, ...) on jobs and tables, over smaller source tables of their own.

use super::legacy::{Row, read_rows};
use std::collections::BTreeSet;

/// The scenario's table.
pub const JOBS_CSV: &str = include_str!("../../../assets/practice/jobs120.csv");
/// The source tables and the calendar.
pub const WAREHOUSE_SQL: &str = include_str!("../../../assets/practice/warehouse.sql");

/// Fewest rows of a replica's source table, where the scenario's has as many.
const MIN_SOURCE_ROWS: usize = 480;

/// One replica of the scenario's source tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Suffix of its tables and jobs, such as `_0002`.
    pub suffix: String,
    /// Its source tables hold every row up to one in this many of the scenario's.
    pub scale: usize,
}

impl Replica {
    /// How many rows of a source table of `rows` rows it holds.
    pub fn source_rows(&self, rows: usize) -> usize {
        (rows / self.scale.max(1)).max(rows.min(MIN_SOURCE_ROWS))
    }
}

/// Rows and replicas for a number of jobs.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// One row a job, in order.
    pub rows: Vec<Row>,
    /// Replicas beside the scenario itself.
    pub replicas: Vec<Replica>,
}

impl Scenario {
    /// The scenario of `jobs` jobs.
    ///
    /// # Errors
    /// When the scenario's table cannot be read.
    pub fn of(jobs: usize) -> Result<Self, String> {
        let base = read_rows(JOBS_CSV)?;
        let copies = jobs.div_ceil(base.len().max(1));
        let names: BTreeSet<String> = base
            .iter()
            .flat_map(|row| [row.job.clone(), row.target.clone()])
            .filter(|name| !name.is_empty())
            .chain(source_tables().into_iter().filter(|t| t != "dim_calendar"))
            .collect();
        let mut rows = base.clone();
        let mut replicas = Vec::new();
        for number in 2..=copies {
            let replica = Replica {
                suffix: format!("_{number:04}"),
                scale: copies,
            };
            rows.extend(base.iter().map(|row| copy(row, &replica.suffix, &names)));
            replicas.push(replica);
        }
        rows.truncate(jobs);
        let present: BTreeSet<String> = rows.iter().map(|row| row.job.clone()).collect();
        for row in &mut rows {
            let kept: Vec<&str> = row
                .deps
                .split_whitespace()
                .filter(|dep| present.contains(*dep))
                .collect();
            row.deps = kept.join(" ");
        }
        Ok(Self { rows, replicas })
    }
}

/// Names of the scenario's source tables, the calendar included, in the order of their making.
pub fn source_tables() -> Vec<String> {
    WAREHOUSE_SQL
        .lines()
        .filter_map(|line| line.strip_prefix("create table "))
        .filter_map(|rest| rest.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn copy(row: &Row, suffix: &str, names: &BTreeSet<String>) -> Row {
    let with = |name: &str| {
        if name.is_empty() {
            String::new()
        } else {
            format!("{name}{suffix}")
        }
    };
    Row {
        job: with(&row.job),
        target: with(&row.target),
        deps: row
            .dep_list()
            .into_iter()
            .map(with)
            .collect::<Vec<_>>()
            .join(" "),
        report: with(&row.report),
        legacy_file: format!("r{}/{}", suffix.trim_start_matches('_'), row.legacy_file),
        sql: rename(&row.sql, suffix, names),
        golden_rows: String::new(),
        golden_checksum: String::new(),
        ..row.clone()
    }
}

/// Appends the suffix to every word that is one of the names.
fn rename(text: &str, suffix: &str, names: &BTreeSet<String>) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut word = String::new();
    for c in text.chars().chain(std::iter::once('\n')) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        out.push_str(&word);
        if names.contains(&word) {
            out.push_str(suffix);
        }
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::practice::dialect::tables_read;

    #[test]
    fn any_number_of_jobs_reads_only_what_is_there() {
        for jobs in [1, 17, 40, 100, 120, 121, 200, 240, 500] {
            let scenario = Scenario::of(jobs).unwrap();
            assert_eq!(scenario.rows.len(), jobs);
            let mut there: BTreeSet<String> = source_tables().into_iter().collect();
            for replica in &scenario.replicas {
                there.extend(
                    source_tables()
                        .into_iter()
                        .map(|t| format!("{t}{}", replica.suffix)),
                );
            }
            for row in scenario.rows.iter().filter(|row| !row.target.is_empty()) {
                for table in tables_read(&row.sql).unwrap() {
                    assert!(there.contains(&table), "{jobs}: {} reads {table}", row.job);
                }
                there.insert(row.target.clone());
            }
        }
    }

    #[test]
    fn replicas_have_names_of_their_own() {
        let scenario = Scenario::of(240).unwrap();
        let names: BTreeSet<&str> = scenario.rows.iter().map(|row| row.job.as_str()).collect();
        assert_eq!(names.len(), 240);
        let twin = &scenario.rows[120 + 27];
        assert_eq!(twin.job, "fct_orders_0002");
        assert!(
            twin.sql
                .contains("from stg_orders_0002 o left join stg_order_lines_0002 l")
        );
    }
}
