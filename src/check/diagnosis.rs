//! After a mismatch: which relaxed form of a guilty column would make both sides equal.
//!
//! That is the explanation its owner needs; accepting it is the owner's decision. NFC is tried only
//! where the database has it: SQLite does not.

use super::canonical::{Dialect, column, sqlite_micros, tag};
use crate::world::ports::{Column, ColumnKind};
use serde_json::{Map, Value, json};

/// Most columns looked at in one diagnosis.
pub const MAX_COLUMNS: usize = 8;

/// How a form is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    /// The relaxed form of both sides.
    Both,
    /// The moved form of one side with the plain text of the other.
    Plain,
}

/// One relaxed form of one column.
#[derive(Debug, Clone)]
pub struct Form {
    /// The column's place among the exact columns.
    place: usize,
    tag: char,
    expr: String,
    name: &'static str,
    against: Against,
}

/// What to ask.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Forms, in the order of the query's lanes.
    pub forms: Vec<Form>,
    /// Guilty columns that are not looked at, because there are more than [`MAX_COLUMNS`].
    pub left_out: usize,
}

/// Relaxations by column that make the sides equal; a column without any is in it with an empty list.
pub type Found = Vec<(usize, Vec<&'static str>)>;

/// The forms to try for the guilty columns.
pub fn plan(dialect: Dialect, exact: &[Column], guilty: &[usize]) -> Plan {
    let mut forms = Vec::new();
    for place in guilty.iter().take(MAX_COLUMNS) {
        let Some(guilty) = exact.get(*place) else {
            continue;
        };
        let x = column(&guilty.name);
        for (name, expr, against) in relaxed(dialect, guilty.kind, &x) {
            forms.push(Form {
                place: *place,
                tag: tag(guilty.kind),
                expr,
                name,
                against,
            });
        }
    }
    Plan {
        forms,
        left_out: guilty.len().saturating_sub(MAX_COLUMNS),
    }
}

const HOUR: &str = "one hour moved";

fn relaxed(dialect: Dialect, kind: ColumnKind, x: &str) -> Vec<(&'static str, String, Against)> {
    let both = |name, expr: String| (name, expr, Against::Both);
    match (kind, dialect) {
        (ColumnKind::Text, _) => {
            let mut forms = vec![
                both("trailing spaces ignored", format!("rtrim({x})")),
                both("'' taken as NULL", format!("nullif({x}, '')")),
            ];
            match dialect {
                Dialect::Postgres => {
                    forms.push(both("Unicode NFC", format!("normalize({x}, NFC)")));
                }
                Dialect::DuckDb => forms.push(both("Unicode NFC", format!("nfc_normalize({x})"))),
                Dialect::Sqlite => {}
            }
            forms
        }
        (ColumnKind::Timestamp, Dialect::Sqlite) => vec![
            both(
                "whole seconds",
                format!("dw_micros(substr(CAST({x} AS TEXT), 1, 19), 0)"),
            ),
            (HOUR, sqlite_micros(x, 3600), Against::Plain),
        ],
        (ColumnKind::Timestamp, Dialect::Postgres) => vec![
            both(
                "whole seconds",
                format!("floor(extract(epoch from {x}))::bigint::text"),
            ),
            (
                HOUR,
                format!("(extract(epoch from {x}) * 1000000 + 3600000000)::bigint::text"),
                Against::Plain,
            ),
        ],
        (ColumnKind::Timestamp, Dialect::DuckDb) => vec![
            both(
                "whole seconds",
                format!("CAST(epoch_us({x}) // 1000000 AS VARCHAR)"),
            ),
            (
                HOUR,
                format!("CAST(epoch_us({x}) + 3600000000 AS VARCHAR)"),
                Against::Plain,
            ),
        ],
        // Only SQLite keeps a double in a column of whole numbers.
        (ColumnKind::Integer, Dialect::Sqlite) => vec![both(
            "same number stored as a double",
            format!(
                "CASE WHEN {x} = CAST({x} AS INTEGER) THEN CAST(CAST({x} AS INTEGER) AS TEXT) \
                 ELSE CAST({x} AS TEXT) END"
            ),
        )],
        _ => Vec::new(),
    }
}

impl Plan {
    /// Tag and expression per form, for the query.
    pub fn sql(&self) -> Vec<(char, String)> {
        self.forms
            .iter()
            .map(|form| (form.tag, form.expr.clone()))
            .collect()
    }

    /// What makes the sides equal. Each side is (plain lanes of all exact columns, lanes of the forms).
    pub fn explain(&self, old: (&[i64], &[i64]), new: (&[i64], &[i64])) -> Found {
        let mut found: Found = Vec::new();
        for (index, form) in self.forms.iter().enumerate() {
            let place = match found.iter().position(|(place, _)| *place == form.place) {
                Some(place) => place,
                None => {
                    found.push((form.place, Vec::new()));
                    found.len() - 1
                }
            };
            let plain = |side: (&[i64], &[i64])| side.0.get(form.place).copied();
            let relaxed = |side: (&[i64], &[i64])| side.1.get(index).copied();
            let name = match form.against {
                Against::Both => (relaxed(old) == relaxed(new)).then_some(form.name),
                Against::Plain if relaxed(old) == plain(new) => Some("the new one an hour later"),
                Against::Plain if relaxed(new) == plain(old) => Some("the new one an hour earlier"),
                Against::Plain => None,
            };
            if let (Some(name), Some((_, names))) = (name, found.get_mut(place)) {
                names.push(name);
            }
        }
        found
    }
}

/// The finding for the evidence and for people.
pub fn report(exact: &[Column], found: &Found, left_out: usize) -> (Value, String) {
    let mut entries = Map::new();
    let mut sentences = Vec::new();
    for (place, names) in found {
        let Some(column) = exact.get(*place) else {
            continue;
        };
        entries.insert(column.name.clone(), json!(names));
        sentences.push(match names.as_slice() {
            [] => format!("{}: no relaxed form makes it equal", column.name),
            names => format!(
                "{} would be equal with: {}",
                column.name,
                names.join(", or ")
            ),
        });
    }
    if left_out > 0 {
        sentences.push(format!("{left_out} further column(s) were not looked at"));
    }
    (Value::Object(entries), sentences.join("; "))
}
