//! The checksum's contract of columns and the SQL made from it. Pure: the same contract gives the same
//! text, and the text stands in the evidence.

use super::canonical::{Dialect, MAX_SCALE, column, field, lane, tag, text};
use crate::model::{Digest, digest_json};
use crate::world::ports::{Column, ColumnKind, Output};
use serde_json::json;

/// Version of the definition in docs/reconciliation.md.
pub const DEFINITION_VERSION: u32 = 1;

/// Most columns of one contract; SQLite functions take a bounded number of arguments.
pub const MAX_COLUMNS: usize = 120;

/// Numbers per float column in the second query: count, min, max, sum, sum of magnitudes, sum weighted
/// by key.
pub const FLOAT_NUMBERS: usize = 6;

/// What is compared: the contract of one target table.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Columns of the exact hash, in the contract's order; key columns are among them.
    pub exact: Vec<Column>,
    /// Places of the key columns in `exact`, in key order.
    pub key: Vec<usize>,
    /// Float columns, compared by aggregates.
    pub floats: Vec<String>,
    /// Columns left out, as far as the table has them.
    pub excluded: Vec<String>,
    /// Relative tolerance of float comparisons.
    pub float_tolerance: f64,
}

impl Columns {
    /// The contract of an output. `whole_row_is_key` distrusts the declared key.
    ///
    /// # Errors
    /// One sentence saying why no comparison can be made.
    pub fn new(
        output: &Output,
        exclude: &[&str],
        whole_row_is_key: bool,
        float_tolerance: f64,
    ) -> Result<Self, String> {
        if output.columns.len() > MAX_COLUMNS {
            return Err(format!(
                "{} columns are declared; at most {MAX_COLUMNS} can be compared",
                output.columns.len()
            ));
        }
        let (mut exact, mut floats, mut excluded) = (Vec::new(), Vec::new(), Vec::new());
        for (place, column) in output.columns.iter().enumerate() {
            let earlier = output.columns.iter().take(place);
            if earlier.into_iter().any(|other| other.name == column.name) {
                return Err(format!("column {:?} is declared twice", column.name));
            }
            if column.name.is_empty() || column.name.chars().any(char::is_control) {
                return Err(format!("{:?} is no column name", column.name));
            }
            match column.kind {
                _ if exclude.contains(&column.name.as_str()) => excluded.push(column.name.clone()),
                ColumnKind::Float => floats.push(column.name.clone()),
                ColumnKind::Decimal { scale } if scale > MAX_SCALE => {
                    return Err(format!(
                        "column {:?} has scale {scale}; at most {MAX_SCALE}",
                        column.name
                    ));
                }
                _ => exact.push(column.clone()),
            }
        }
        if exact.is_empty() {
            return Err("no column is left that can be compared exactly".to_owned());
        }
        let key = if whole_row_is_key || output.key.is_empty() {
            (0..exact.len()).collect()
        } else {
            places(&output.key, &exact)?
        };
        Ok(Self {
            exact,
            key,
            floats,
            excluded,
            float_tolerance,
        })
    }

    /// The contract as it stands in the evidence.
    pub fn to_json(&self) -> serde_json::Value {
        let key: Vec<&str> = self.key_columns().map(|c| c.name.as_str()).collect();
        json!({
            "definition": DEFINITION_VERSION,
            "hash": "md5",
            "key": key,
            "columns": self.exact,
            "floats": self.floats,
            "excluded": self.excluded,
            "float_tolerance": self.float_tolerance,
            "timestamps": "UTC, microseconds",
        })
    }

    /// Its digest.
    pub fn digest(&self) -> Digest {
        digest_json(&self.to_json())
    }

    /// Key columns, in key order.
    pub fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key.iter().filter_map(|place| self.exact.get(*place))
    }

    /// First query of a side: rows, rows with a NULL in the key, distinct keys, four key sums, four row
    /// sums.
    pub fn sums_sql(&self, dialect: Dialect, table: &str) -> String {
        let key = self.key_exprs();
        let row = self.row_exprs();
        let any_null: Vec<String> = key.iter().map(|(_, c)| format!("{c} IS NULL")).collect();
        let any_null = any_null.join(" OR ");
        let canonical = self.canonical_select(dialect, table, &[]);
        if dialect == Dialect::Sqlite {
            let (key, row) = (arguments(&key), arguments(&row));
            return format!(
                "SELECT count(*) AS n, \
                 coalesce(sum({any_null}), 0) AS n_null_key, \
                 count(DISTINCT dw_fields({key})) AS n_distinct_key, \
                 dw_row_sums({key}) AS key_sums, \
                 dw_row_sums({row}) AS row_sums \
                 FROM ({canonical}) AS c"
            );
        }
        let fence = fence(dialect);
        let mut sums = Vec::new();
        for hash in ["key_hash", "row_hash"] {
            for index in 0..4 {
                let sum = total(&lane(dialect, hash, index));
                sums.push(format!("{sum} AS {hash}_{index}"));
            }
        }
        format!(
            "SELECT count(*) AS n, {} AS n_null_key, \
             count(DISTINCT key_fields) AS n_distinct_key, {} \
             FROM (SELECT any_null, key_fields, md5(key_fields) AS key_hash, md5(row_fields) AS row_hash \
             FROM (SELECT CASE WHEN {any_null} THEN 1 ELSE 0 END AS any_null, {} AS key_fields, {} AS row_fields \
             FROM ({canonical}{fence}) AS c{fence}) AS f{fence}) AS h",
            total("any_null"),
            sums.join(", "),
            fields(dialect, &key),
            fields(dialect, &row),
        )
    }

    /// Second query of a side: one lane per exact column, keyed; then per float column
    /// [`FLOAT_NUMBERS`] numbers.
    pub fn columns_sql(&self, dialect: Dialect, table: &str) -> String {
        let lanes = self.lanes_select(dialect, &self.row_exprs());
        let mut parts = vec![lanes];
        for place in 0..self.floats.len() {
            parts.push(self.float_select(dialect, place));
        }
        let canonical = self.canonical_select(dialect, table, &[]);
        format!(
            "SELECT {} FROM ({canonical}{}) AS c",
            parts.join(", "),
            fence(dialect)
        )
    }

    /// A query for one keyed lane per given expression over the columns of `t`: (tag, expression).
    pub fn forms_sql(&self, dialect: Dialect, table: &str, forms: &[(char, String)]) -> String {
        let named: Vec<(char, String)> = forms
            .iter()
            .enumerate()
            .map(|(place, (tag, _))| (*tag, format!("c.x{place}")))
            .collect();
        let lanes = self.lanes_select(dialect, &named);
        let canonical = self.canonical_select(dialect, table, forms);
        format!("SELECT {lanes} FROM ({canonical}{}) AS c", fence(dialect))
    }

    /// `SELECT … FROM table AS t` with canonical texts `c0…`, floats `f0…` and further forms `x0…`.
    fn canonical_select(&self, dialect: Dialect, table: &str, forms: &[(char, String)]) -> String {
        let mut parts = Vec::new();
        for (place, exact) in self.exact.iter().enumerate() {
            // A contract holds no float among its exact columns, so there always is a text.
            let text = text(dialect, exact.kind, &column(&exact.name));
            parts.push(format!("{} AS c{place}", text.unwrap_or("NULL".to_owned())));
        }
        for (place, float) in self.floats.iter().enumerate() {
            parts.push(format!("{} AS f{place}", column(float)));
        }
        for (place, (_, form)) in forms.iter().enumerate() {
            parts.push(format!("{form} AS x{place}"));
        }
        format!("SELECT {} FROM {table} AS t", parts.join(", "))
    }

    fn lanes_select(&self, dialect: Dialect, exprs: &[(char, String)]) -> String {
        let key = self.key_exprs();
        if dialect == Dialect::Sqlite {
            let names = |exprs: &[(char, String)]| -> String {
                exprs.iter().map(|(_, c)| format!(", {c}")).collect()
            };
            return format!(
                "dw_column_sums('{}', '{}'{}{}) AS column_sums",
                tags(&key),
                tags(exprs),
                names(&key),
                names(exprs)
            );
        }
        let key = fields(dialect, &key);
        let lanes: Vec<String> = exprs
            .iter()
            .enumerate()
            .map(|(place, (tag, c))| {
                let hash = format!("md5({key} || {})", field(dialect, *tag, c));
                format!("{} AS lane_{place}", total(&lane(dialect, &hash, 0)))
            })
            .collect();
        lanes.join(", ")
    }

    fn float_select(&self, dialect: Dialect, place: usize) -> String {
        let f = format!("c.f{place}");
        let (real, weight) = match dialect {
            Dialect::Sqlite => (
                format!("CAST({f} AS REAL)"),
                format!("dw_key_weight({})", arguments(&self.key_exprs())),
            ),
            Dialect::Postgres | Dialect::DuckDb => {
                let hash = format!("md5({})", fields(dialect, &self.key_exprs()));
                (
                    format!("CAST({f} AS double precision)"),
                    format!(
                        "CAST({} AS double precision) / 4294967296",
                        lane(dialect, &hash, 0)
                    ),
                )
            }
        };
        format!(
            "count({f}) AS count_{place}, min({real}) AS min_{place}, max({real}) AS max_{place}, \
             sum({real}) AS sum_{place}, sum(abs({real})) AS magnitude_{place}, \
             sum({real} * ({weight})) AS keyed_{place}"
        )
    }

    fn key_exprs(&self) -> Vec<(char, String)> {
        self.key
            .iter()
            .filter_map(|place| {
                let column = self.exact.get(*place)?;
                Some((tag(column.kind), format!("c.c{place}")))
            })
            .collect()
    }

    fn row_exprs(&self) -> Vec<(char, String)> {
        self.exact
            .iter()
            .enumerate()
            .map(|(place, column)| (tag(column.kind), format!("c.c{place}")))
            .collect()
    }
}

fn places(key: &[String], exact: &[Column]) -> Result<Vec<usize>, String> {
    key.iter()
        .map(|name| {
            exact
                .iter()
                .position(|column| &column.name == name)
                .ok_or_else(|| {
                    format!("key column {name:?} is not among the columns compared exactly")
                })
        })
        .collect()
}

fn tags(exprs: &[(char, String)]) -> String {
    exprs.iter().map(|(tag, _)| *tag).collect()
}

/// `'tags', c…` for the registered functions.
fn arguments(exprs: &[(char, String)]) -> String {
    let names: String = exprs.iter().map(|(_, c)| format!(", {c}")).collect();
    format!("'{}'{names}", tags(exprs))
}

/// All fields, one after the other.
fn fields(dialect: Dialect, exprs: &[(char, String)]) -> String {
    let fields: Vec<String> = exprs
        .iter()
        .map(|(tag, c)| field(dialect, *tag, c))
        .collect();
    fields.join(" || ")
}

/// An exact sum that is 0 over no rows.
fn total(x: &str) -> String {
    format!("CAST(coalesce(sum({x}), 0) AS bigint)")
}

/// Keeps PostgreSQL from pulling a subquery up, which would compute each hash once per lane.
fn fence(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => " OFFSET 0",
        Dialect::Sqlite | Dialect::DuckDb => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn output(columns: &[(&str, ColumnKind)], key: &[&str]) -> Output {
        Output {
            table: "x".to_owned(),
            key: key.iter().map(|name| (*name).to_owned()).collect(),
            columns: columns
                .iter()
                .map(|(name, kind)| Column {
                    name: (*name).to_owned(),
                    kind: *kind,
                })
                .collect(),
        }
    }

    fn small() -> Columns {
        let output = output(
            &[
                ("id", ColumnKind::Integer),
                ("note", ColumnKind::Text),
                ("rate", ColumnKind::Float),
                ("loaded_at", ColumnKind::Timestamp),
            ],
            &["id"],
        );
        Columns::new(&output, &["loaded_at"], false, 1e-9).unwrap()
    }

    #[test]
    fn the_sqlite_text_of_a_small_table() {
        assert_eq!(
            small().sums_sql(Dialect::Sqlite, "legacy.x"),
            "SELECT count(*) AS n, coalesce(sum(c.c0 IS NULL), 0) AS n_null_key, \
             count(DISTINCT dw_fields('i', c.c0)) AS n_distinct_key, \
             dw_row_sums('i', c.c0) AS key_sums, dw_row_sums('it', c.c0, c.c1) AS row_sums \
             FROM (SELECT CAST(t.\"id\" AS TEXT) AS c0, CAST(t.\"note\" AS TEXT) AS c1, \
             t.\"rate\" AS f0 FROM legacy.x AS t) AS c"
        );
        let second = small().columns_sql(Dialect::Sqlite, "legacy.x");
        assert!(
            second.starts_with(
                "SELECT dw_column_sums('i', 'it', c.c0, c.c0, c.c1) AS column_sums, \
                 count(c.f0) AS count_0, min(CAST(c.f0 AS REAL)) AS min_0"
            ),
            "{second}"
        );
    }

    #[test]
    fn postgres_hashes_once_behind_fences() {
        let sql = small().sums_sql(Dialect::Postgres, "legacy.x");
        assert!(sql.contains(
            "CAST(coalesce(sum((('x' || substr(row_hash, 25, 8))::bit(32)::bigint & 4294967295)), 0) \
             AS bigint) AS row_hash_3"
        ), "{sql}");
        assert_eq!(sql.matches("OFFSET 0").count(), 3, "{sql}");
        assert_eq!(sql.matches("md5(").count(), 2, "{sql}");
        let second = small().columns_sql(Dialect::Postgres, "legacy.x");
        assert!(second.contains("AS lane_1, count(c.f0)"), "{second}");
    }

    #[test]
    fn duckdb_text_has_its_own_lanes_and_lengths() {
        let sql = small().sums_sql(Dialect::DuckDb, "x");
        assert!(
            sql.contains("sum(CAST('0x' || substr(key_hash, 1, 8) AS BIGINT))"),
            "{sql}"
        );
        assert!(sql.contains("strlen(c.c1)"), "{sql}");
        assert!(!sql.contains("OFFSET"), "{sql}");
    }

    #[test]
    fn a_contract_that_compares_nothing_is_refused() {
        let floats = output(&[("x", ColumnKind::Float)], &[]);
        assert!(Columns::new(&floats, &[], false, 1e-9).is_err());
        let keyed = output(
            &[("id", ColumnKind::Integer), ("v", ColumnKind::Text)],
            &["id"],
        );
        assert!(Columns::new(&keyed, &["id"], false, 1e-9).is_err());
        let twice = output(&[("v", ColumnKind::Text), ("v", ColumnKind::Text)], &[]);
        assert!(Columns::new(&twice, &[], false, 1e-9).is_err());
    }

    #[test]
    fn the_digest_is_the_contracts() {
        assert_eq!(small().digest(), small().digest());
        let mut other = small();
        other.float_tolerance = 1e-6;
        assert_ne!(small().digest(), other.digest());
        other = small();
        other.exact.reverse();
        assert_ne!(small().digest(), other.digest());
    }
}
