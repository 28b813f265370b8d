//! The numbers that the checksum's queries give, and when two float columns are equal. Pure.

use super::checksum_sql::FLOAT_NUMBERS;
use super::warehouse::whole;
use crate::world::ports::Cell;
use serde_json::{Value, json};

/// The first query's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Rows.
    pub n: i64,
    /// Rows with a NULL in the key.
    pub null_keys: i64,
    /// Distinct keys.
    pub distinct_keys: i64,
    /// Four key sums.
    pub key: Vec<i64>,
    /// Four row sums.
    pub row: Vec<i64>,
}

/// The second query's numbers.
pub struct Lanes {
    /// One lane per exact column.
    pub columns: Vec<i64>,
    /// Per float column: count, min, max, sum, sum of magnitudes, keyed sum; absent over no values.
    pub floats: Vec<Vec<Option<f64>>>,
}

impl Sums {
    /// From the row that the query gives; `None` when it has another shape.
    pub fn read(cells: &[Cell]) -> Option<Self> {
        let numbers = integers(cells)?;
        let (counts, lanes) = numbers.split_at_checked(3)?;
        let (key, row) = lanes.split_at_checked(4)?;
        match counts {
            [n, null_keys, distinct_keys] if row.len() == 4 => Some(Self {
                n: *n,
                null_keys: *null_keys,
                distinct_keys: *distinct_keys,
                key: key.to_vec(),
                row: row.to_vec(),
            }),
            _ => None,
        }
    }
}

impl Lanes {
    /// From the row that the query gives; `None` when it has another shape.
    pub fn read(cells: &[Cell], exact: usize, floats: usize) -> Option<Self> {
        let split = cells.len().checked_sub(FLOAT_NUMBERS * floats)?;
        let (lanes, floats) = cells.split_at_checked(split)?;
        Some(Self {
            columns: lane_numbers(lanes, exact)?,
            floats: floats
                .chunks(FLOAT_NUMBERS)
                .map(|cells| cells.iter().map(real).collect())
                .collect(),
        })
    }
}

/// All whole numbers of a row; a text may hold several, separated by spaces.
fn integers(cells: &[Cell]) -> Option<Vec<i64>> {
    let mut numbers = Vec::new();
    for cell in cells {
        match cell {
            Cell::Text(text) => {
                for word in text.split_ascii_whitespace() {
                    numbers.push(word.parse().ok()?);
                }
            }
            other => numbers.push(whole(other)?),
        }
    }
    Some(numbers)
}

/// So many lanes; an empty table has NULL for all of them, which is a sum of nothing.
pub fn lane_numbers(cells: &[Cell], count: usize) -> Option<Vec<i64>> {
    if matches!(cells, [Cell::Null]) {
        return Some(vec![0; count]);
    }
    integers(cells).filter(|numbers| numbers.len() == count)
}

fn real(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Real(real) => Some(*real),
        Cell::Integer(number) => Some(*number as f64),
        Cell::Text(text) => text.trim().parse().ok(),
        Cell::Null => None,
    }
}

/// One float column's numbers by name.
pub fn named(numbers: &[Option<f64>]) -> Value {
    let names = ["count", "min", "max", "sum", "magnitude", "keyed"];
    let pairs = names.iter().zip(numbers);
    Value::Object(
        pairs
            .map(|(name, number)| ((*name).to_owned(), json!(number)))
            .collect(),
    )
}

/// Whether two sides of a float column are equal: the counts exactly, each bound relative to itself, and
/// the sums relative to the sum of magnitudes, because a sum near zero has no precision of its own.
pub fn floats_equal(old: &[Option<f64>], new: &[Option<f64>], tolerance: f64) -> bool {
    let ([oc, omin, omax, osum, omag, okey], [nc, nmin, nmax, nsum, nmag, nkey]) = (old, new)
    else {
        return false;
    };
    let scale = omag.unwrap_or(0.0).max(nmag.unwrap_or(0.0));
    let near = |a: &Option<f64>, b: &Option<f64>, scale: Option<f64>| match (a, b) {
        (None, None) => true,
        // Two equal infinities are near; their difference would not be a number.
        (Some(a), Some(b)) if a == b => true,
        (Some(a), Some(b)) => {
            (a - b).abs() <= tolerance * scale.unwrap_or_else(|| a.abs().max(b.abs()))
        }
        _ => false,
    };
    oc == nc
        && near(omin, nmin, None)
        && near(omax, nmax, None)
        && near(osum, nsum, Some(scale))
        && near(omag, nmag, Some(scale))
        && near(okey, nkey, Some(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn six(values: [f64; 6]) -> Vec<Option<f64>> {
        values.into_iter().map(Some).collect()
    }

    #[test]
    fn sums_near_zero_are_judged_by_what_was_added_up() {
        let old = six([3.0, -5.0, 5.0, 1e-16, 10.0, 2.0]);
        let new = six([3.0, -5.0, 5.0, -3e-16, 10.0, 2.0]);
        assert!(floats_equal(&old, &new, 1e-9));
        let moved = six([3.0, -5.0, 5.0, 1e-16, 10.0, 2.1]);
        assert!(!floats_equal(&old, &moved, 1e-9), "values under other keys");
        let fewer = six([2.0, -5.0, 5.0, 1e-16, 10.0, 2.0]);
        assert!(!floats_equal(&old, &fewer, 1e-9));
        assert!(floats_equal(&old, &old, 0.0));
    }

    #[test]
    fn not_a_number_is_never_near() {
        let old = six([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let new = six([1.0, 1.0, 1.0, f64::NAN, 1.0, 1.0]);
        assert!(!floats_equal(&old, &new, 1e-9));
    }

    #[test]
    fn numbers_come_in_one_text_or_in_cells() {
        let cells = [Cell::Integer(1), Cell::Text("2 3".into())];
        assert_eq!(integers(&cells), Some(vec![1, 2, 3]));
        assert_eq!(integers(&[Cell::Text("2 x".into())]), None);
        assert_eq!(lane_numbers(&[Cell::Null], 2), Some(vec![0, 0]));
        assert_eq!(lane_numbers(&cells, 2), None);
    }

    #[test]
    fn an_answer_of_another_shape_is_none() {
        let four = || Cell::Text("1 2 3 4".into());
        let good = [
            Cell::Integer(9),
            Cell::Integer(0),
            Cell::Integer(9),
            four(),
            four(),
        ];
        assert_eq!(Sums::read(&good).unwrap().row, [1, 2, 3, 4]);
        assert_eq!(Sums::read(&good[..4]), None);
        assert_eq!(Sums::read(&[]), None);
        assert!(Lanes::read(&[four(), Cell::Integer(1)], 4, 1).is_none());
        assert!(Lanes::read(&[four()], 4, 0).is_some());
    }
}
