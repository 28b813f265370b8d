//! Numbers of reports: read from a clause or a catalog, and compared.

use crate::world::ports::{Cell, Rows};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most numbers of one clause and job.
pub(super) const MAX_NUMBERS: usize = 50;
const KEYS: [&str; 4] = ["name", "sql", "tolerance", "relative"];

/// One number that a report shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reported {
    /// The report's name for it.
    pub name: String,
    /// A query of one value; `{table}` is the job's table on the side that is asked.
    pub sql: String,
    /// Allowed difference in the number's own unit; 0 is exact.
    pub tolerance: f64,
    /// Allowed difference relative to the old number; 0 is exact.
    pub relative: f64,
}

/// A number on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    name: String,
    old: Value,
    new: Value,
    tolerance: f64,
    relative: f64,
    /// Within the tolerance.
    pub equal: bool,
    /// Zero or absent on both sides: it says nothing.
    pub is_hollow: bool,
}

impl Seen {
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "old": self.old,
            "new": self.new,
            "tolerance": self.tolerance,
            "relative": self.relative,
            "equal": self.equal,
        })
    }

    pub(super) fn sentence(&self) -> String {
        let text = |value: &Value| match value {
            Value::Null => "nothing".to_owned(),
            other => other.to_string(),
        };
        format!(
            "{} was {}, is {}",
            self.name,
            text(&self.old),
            text(&self.new)
        )
    }
}

/// The numbers that a clause names itself; none when it has no such key.
pub(super) fn inline_numbers(params: &Map<String, Value>) -> Result<Vec<Reported>, String> {
    let Some(list) = params.get("numbers") else {
        return Ok(Vec::new());
    };
    let list = list
        .as_array()
        .ok_or("numbers must be a list of tables such as { name = \"…\", sql = \"…\" }")?;
    if list.is_empty() {
        return Err("numbers names no numbers".to_owned());
    }
    let mut numbers = Vec::new();
    for one in list {
        let table = one
            .as_object()
            .ok_or("an entry of numbers must be a table such as { name = \"…\", sql = \"…\" }")?;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!(
                "unknown key {key:?} in numbers; known are {}",
                KEYS.join(", ")
            ));
        }
        let text = |key: &str| {
            let value = table.get(key).and_then(Value::as_str).map(str::trim);
            value
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .ok_or_else(|| format!("an entry of numbers has no {key}"))
        };
        let amount = |key: &str| match table.get(key) {
            None => Ok(0.0),
            Some(value) => value
                .as_f64()
                .ok_or_else(|| format!("{key} must be a number, not {value}")),
        };
        numbers.push(Reported {
            name: text("name")?,
            sql: text("sql")?,
            tolerance: amount("tolerance")?,
            relative: amount("relative")?,
        });
    }
    sound(numbers)
}

/// The numbers that a catalog lists for a job.
pub(super) fn read_numbers(rows: &Rows) -> Result<Vec<Reported>, String> {
    let column = |name: &str| {
        rows.columns
            .iter()
            .position(|own| own.eq_ignore_ascii_case(name))
    };
    let (Some(name), Some(sql)) = (column("name"), column("sql")) else {
        return Err("the catalog of reports gives no columns `name` and `sql`".to_owned());
    };
    let text = |row: &[Cell], index: usize| match row.get(index) {
        Some(Cell::Text(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err("the catalog of reports has a row without a name or sql".to_owned()),
    };
    let amount = |row: &[Cell], index: Option<usize>| match index.and_then(|at| row.get(at)) {
        None | Some(Cell::Null) => Ok(0.0),
        Some(cell) => value_of(cell)
            .and_then(|value| value.as_f64())
            .ok_or("the catalog of reports has a tolerance that is no number".to_owned()),
    };
    let (tolerance, relative) = (column("tolerance"), column("relative"));
    if rows.rows.is_empty() {
        return Err("the catalog of reports lists no number for this job".to_owned());
    }
    let numbers: Result<Vec<Reported>, String> = rows
        .rows
        .iter()
        .map(|row| {
            Ok(Reported {
                name: text(row, name)?,
                sql: text(row, sql)?,
                tolerance: amount(row, tolerance)?,
                relative: amount(row, relative)?,
            })
        })
        .collect();
    sound(numbers?)
}

/// What would make a comparison hollow or ambiguous is refused.
fn sound(numbers: Vec<Reported>) -> Result<Vec<Reported>, String> {
    if numbers.len() > MAX_NUMBERS {
        return Err(format!("{} numbers; at most {MAX_NUMBERS}", numbers.len()));
    }
    let mut names = BTreeSet::new();
    for one in &numbers {
        if !names.insert(one.name.as_str()) {
            return Err(format!("the number {:?} is named twice", one.name));
        }
        if !one.sql.contains("{table}") {
            return Err(format!(
                "the sql of {:?} does not read {{table}}: it would compare a number with itself",
                one.name
            ));
        }
        for (key, amount) in [("tolerance", one.tolerance), ("relative", one.relative)] {
            if !(amount.is_finite() && amount >= 0.0) {
                return Err(format!(
                    "{key} of {:?} must be 0 or more, not {amount}",
                    one.name
                ));
            }
        }
    }
    Ok(numbers)
}

/// A number as it came; `None` for what is no number. NULL is null.
fn value_of(cell: &Cell) -> Option<Value> {
    match cell {
        Cell::Null => Some(Value::Null),
        Cell::Integer(number) => Some(json!(number)),
        Cell::Real(real) if real.is_finite() => Some(json!(real)),
        Cell::Real(_) => None,
        Cell::Text(text) => {
            let text = text.trim();
            if let Ok(whole) = text.parse::<i64>() {
                return Some(json!(whole));
            }
            let real = text.parse::<f64>().ok().filter(|real| real.is_finite())?;
            Some(json!(real))
        }
    }
}

/// Compares the answers of both sides, number by number.
pub(super) fn compare(
    numbers: &[Reported],
    old: &[Cell],
    new: &[Cell],
) -> Result<Vec<Seen>, String> {
    let value = |name: &str, cell: &Cell| {
        value_of(cell).ok_or_else(|| format!("{name} is no number: {cell:?}"))
    };
    numbers
        .iter()
        .zip(old.iter().zip(new))
        .map(|(number, (old, new))| {
            let (old, new) = (value(&number.name, old)?, value(&number.name, new)?);
            let empty = |value: &Value| value.is_null() || value.as_f64() == Some(0.0);
            Ok(Seen {
                name: number.name.clone(),
                tolerance: number.tolerance,
                relative: number.relative,
                equal: agree(number, &old, &new),
                is_hollow: empty(&old) && empty(&new),
                old,
                new,
            })
        })
        .collect()
}

fn agree(number: &Reported, old: &Value, new: &Value) -> bool {
    // Whole numbers are compared as such: a double no longer tells them apart beyond 2^53.
    if let (Some(a), Some(b)) = (old.as_i64(), new.as_i64()) {
        let off = (i128::from(a) - i128::from(b)).unsigned_abs() as f64;
        return a == b || off <= allowed(number, a as f64);
    }
    match (old.as_f64(), new.as_f64()) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= allowed(number, a),
        // Absent on both sides agrees; absent on one does not.
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn allowed(number: &Reported, old: f64) -> f64 {
    number.tolerance.max(number.relative * old.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(tolerance: f64, relative: f64) -> Reported {
        Reported {
            name: "n".into(),
            sql: "select v from {table}".into(),
            tolerance,
            relative,
        }
    }

    #[test]
    fn exact_means_exact_and_a_tolerance_is_what_it_says() {
        let agrees = |number: &Reported, old: Cell, new: Cell| {
            compare(std::slice::from_ref(number), &[old], &[new]).unwrap()[0].equal
        };
        let (exact, cent, share) = (one(0.0, 0.0), one(0.01, 0.0), one(0.0, 0.001));
        use Cell::{Integer, Null, Real, Text};
        assert!(agrees(&exact, Integer(7), Real(7.0)));
        assert!(agrees(&exact, Integer(7), Text("7".into())));
        assert!(!agrees(&exact, Real(7.0), Real(7.000001)));
        let big = 9_007_199_254_740_993;
        assert!(
            !agrees(&exact, Integer(big), Integer(big - 1)),
            "beyond 2^53"
        );
        assert!(agrees(&cent, Real(7.0), Real(7.009)));
        assert!(!agrees(&cent, Real(7.0), Real(7.02)));
        assert!(agrees(&share, Integer(-1_000), Integer(-1_001)));
        assert!(!agrees(&share, Integer(1_000), Integer(1_002)));
        assert!(!agrees(&cent, Null, Integer(0)), "nothing is not zero");
        assert!(agrees(&exact, Null, Null));
        let text = compare(&[exact], &[Text("many".into())], &[Integer(1)]);
        assert!(text.unwrap_err().contains("no number"));
    }

    #[test]
    fn a_catalog_is_read_by_its_columns() {
        let rows = |columns: &[&str], cells: Vec<Vec<Cell>>| Rows {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: cells,
        };
        let text = |text: &str| Cell::Text(text.into());
        let good = rows(
            &["tolerance", "NAME", "sql"],
            vec![vec![
                Cell::Real(0.5),
                text("total"),
                text("select sum(v) from {table}"),
            ]],
        );
        assert_eq!(read_numbers(&good).unwrap()[0].tolerance, 0.5);
        for (bad, why) in [
            (rows(&["name", "sql"], vec![]), "lists no number"),
            (rows(&["name"], vec![vec![text("a")]]), "no columns"),
            (
                rows(&["name", "sql"], vec![vec![text("a"), Cell::Null]]),
                "without a name",
            ),
            (
                rows(&["name", "sql"], vec![vec![text("a"), text("select 1")]]),
                "with itself",
            ),
        ] {
            assert!(read_numbers(&bad).unwrap_err().contains(why), "{why}");
        }
    }
}
