//! The checksum of the scenario's golden values, computed apart from dogwatch's own checkers.
//!
//! Form: columns sorted by name; each value as `LENGTH:TAGTEXT;` where LENGTH counts the bytes of tag
//! and text, tag `i` for integers, `s` for text, `f` for doubles (nine significant digits; a double
//! without a fraction is written as an integer), and NULL as `N;`. Each row is hashed with MD5, the
//! digest cut into four 32-bit lanes, and each lane summed over the rows. The four sums in hex, joined
//! by `-`, are the checksum; it does not depend on row order and counts duplicates.

use md5::{Digest, Md5};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::fmt::Write as _;

/// Row count and checksum of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// Rows.
    pub rows: u64,
    /// Four lane sums in hex, joined by `-`.
    pub checksum: String,
}

/// Row count and checksum of a table, in the form of the scenario's golden values.
///
/// # Errors
/// When the table does not exist or cannot be read.
pub fn of_table(conn: &Connection, table: &str) -> rusqlite::Result<Golden> {
    let mut statement =
        conn.prepare(&format!("select * from \"{}\"", table.replace('"', "\"\"")))?;
    let names: Vec<String> = statement
        .column_names()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| names.get(*a).cmp(&names.get(*b)));
    let mut lanes = [0u64; 4];
    let mut count = 0u64;
    let mut text = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        text.clear();
        for index in &order {
            write_value(row.get_ref(*index)?, &mut text);
        }
        let digest = Md5::digest(&text);
        for (lane, bytes) in lanes.iter_mut().zip(digest.as_slice().chunks_exact(4)) {
            let part = bytes
                .iter()
                .fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
            *lane = lane.wrapping_add(part);
        }
        count += 1;
    }
    let [a, b, c, d] = lanes;
    Ok(Golden {
        rows: count,
        checksum: format!("{a:x}-{b:x}-{c:x}-{d:x}"),
    })
}

/// The checksum alone.
///
/// # Errors
/// When the table does not exist or cannot be read.
pub fn checksum(conn: &Connection, table: &str) -> rusqlite::Result<String> {
    of_table(conn, table).map(|golden| golden.checksum)
}

fn write_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => out.extend_from_slice(b"N;"),
        ValueRef::Integer(number) => field(b'i', number.to_string().as_bytes(), out),
        ValueRef::Real(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
            field(b'i', (number as i64).to_string().as_bytes(), out);
        }
        ValueRef::Real(number) => field(b'f', nine_digits(number).as_bytes(), out),
        ValueRef::Text(text) | ValueRef::Blob(text) => field(b's', text, out),
    }
}

fn field(tag: u8, text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice((text.len() + 1).to_string().as_bytes());
    out.push(b':');
    out.push(tag);
    out.extend_from_slice(text);
    out.push(b';');
}

/// What C's `%.9g` prints.
fn nine_digits(number: f64) -> String {
    let scientific = format!("{number:.8e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..9).contains(&exponent) {
        let decimals = usize::try_from(8 - exponent).unwrap_or(0);
        trim(&format!("{number:.decimals$}"))
    } else {
        let mut text = trim(mantissa);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(text, "e{sign}{:02}", exponent.abs());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_like_c() {
        for (number, text) in [
            (0.8, "0.8"),
            (1.149_333_333_333, "1.14933333"),
            (0.000_012_345, "1.2345e-05"),
            (123_456_789_012.5, "1.23456789e+11"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(nine_digits(number), text);
        }
    }

    #[test]
    fn a_known_table_has_the_scenarios_checksum() {
        let conn = Connection::open_in_memory().unwrap();
        // rpt_peak_hour of the scenario.
        conn.execute_batch(
            "create table t(metric text, v integer); insert into t values('peak_hour', 1)",
        )
        .unwrap();
        let golden = of_table(&conn, "t").unwrap();
        assert_eq!(golden.rows, 1);
        assert_eq!(golden.checksum, "750c46f4-14811534-37fef363-bf71da1d");
    }
}
