//! SQL functions that SQLite lacks and the checksum of docs/reconciliation.md needs.
//!
//! A warehouse over SQLite registers them on its own connection; the `checksum` checker only writes
//! SQL that calls them. They stand here, and not with the checker, because worlds must not depend on
//! checkers.
//!
//! | function | result |
//! |---|---|
//! | `dw_md5(text)` | MD5 as 32 lower-case hex digits; NULL for NULL |
//! | `dw_md5_lane(text, i)` | 32-bit lane `i` (0 to 3) of that digest, as an integer |
//! | `dw_micros(text, shift_s)` | microseconds since the epoch of a `YYYY-MM-DD HH:MM:SS[.ffffff]` in UTC, moved by seconds, as text; `!` and the text itself when it is none; NULL for NULL |
//! | `dw_fields(tags, v…)` | the fields `tag length:text;` of the values, one tag letter a value |
//! | `dw_key_weight(tags, v…)` | lane 0 of the fields' MD5 over 2^32: a real in 0 ≤ w < 1 |
//! | `dw_row_sums(tags, v…)` | aggregate: sums of the four lanes of the fields' MD5, as `a b c d` |
//! | `dw_column_sums(key_tags, tags, key…, v…)` | aggregate: per value, the sum of lane 0 of the MD5 of the key fields and that one field, separated by spaces |

use md5::{Digest as _, Md5};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

/// Most bytes of one row's fields; a longer row is an error, never a cut.
pub const MAX_FIELDS_BYTES: usize = 64 << 20;

/// Registers all functions on a connection.
///
/// # Errors
/// When SQLite refuses the registration.
pub fn register_sqlite_functions(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("dw_md5", 1, flags, |ctx| match ctx.get_raw(0) {
        ValueRef::Null => Ok(None),
        value => Ok(Some(hex(&Md5::digest(bytes(value)?)))),
    })?;
    connection.create_scalar_function("dw_md5_lane", 2, flags, |ctx| {
        let index = usize::try_from(ctx.get::<i64>(1)?).unwrap_or(usize::MAX);
        match ctx.get_raw(0) {
            ValueRef::Null => Ok(None),
            value => match lanes(&Md5::digest(bytes(value)?)).get(index) {
                Some(lane) => Ok(Some(*lane)),
                None => Err(wrong("a lane is a number from 0 to 3")),
            },
        }
    })?;
    connection.create_scalar_function("dw_micros", 2, flags, |ctx| match ctx.get_raw(0) {
        ValueRef::Null => Ok(None),
        value => {
            let text = bytes(value)?;
            let shift_s = ctx.get::<i64>(1)?;
            Ok(Some(match micros(text, shift_s) {
                Some(micros) => micros.to_string(),
                None => format!("!{}", String::from_utf8_lossy(text)),
            }))
        }
    })?;
    connection.create_scalar_function("dw_fields", -1, flags, |ctx| {
        let mut buffer = Vec::new();
        let tags = tags(ctx, 0)?;
        push_fields(ctx, &tags, 1, &mut buffer)?;
        expect_arguments(ctx, 1 + tags.len())?;
        String::from_utf8(buffer).map_err(|error| Error::UserFunctionError(Box::new(error)))
    })?;
    connection.create_scalar_function("dw_key_weight", -1, flags, |ctx| {
        let mut buffer = Vec::new();
        let tags = tags(ctx, 0)?;
        push_fields(ctx, &tags, 1, &mut buffer)?;
        expect_arguments(ctx, 1 + tags.len())?;
        let [first, ..] = lanes(&Md5::digest(&buffer));
        Ok(first as f64 / 4_294_967_296.0)
    })?;
    connection.create_aggregate_function("dw_row_sums", -1, flags, RowSums)?;
    connection.create_aggregate_function("dw_column_sums", -1, flags, ColumnSums)
}

/// The four 32-bit lanes of a digest, most significant byte first.
fn lanes(digest: &[u8]) -> [i64; 4] {
    let mut out = [0_i64; 4];
    for (lane, chunk) in out.iter_mut().zip(digest.chunks_exact(4)) {
        *lane = chunk
            .iter()
            .fold(0, |number, byte| (number << 8) | i64::from(*byte));
    }
    out
}

/// Microseconds since the epoch of a timestamp's text, moved by `shift_s` seconds. Digits beyond the
/// sixth decimal are dropped. `None` when the text has another shape or names no real instant.
fn micros(text: &[u8], shift_s: i64) -> Option<i64> {
    let (whole, fraction) = text.split_at_checked(19)?;
    let number = |from: usize, to: usize| -> Option<i64> {
        whole.get(from..to)?.iter().try_fold(0, |number, byte| {
            byte.is_ascii_digit()
                .then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let mark = |at: usize, marks: &[u8]| whole.get(at).filter(|byte| marks.contains(byte));
    for (at, marks) in [(4, b"-"), (7, b"-"), (13, b":"), (16, b":")] {
        mark(at, marks)?;
    }
    mark(10, b" T")?;
    let date = jiff::civil::Date::new(
        i16::try_from(number(0, 4)?).ok()?,
        i8::try_from(number(5, 7)?).ok()?,
        i8::try_from(number(8, 10)?).ok()?,
    )
    .ok()?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = match fraction {
        [] => 0,
        [b'.', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            let padded = digits.iter().chain(std::iter::repeat(&b'0')).take(6);
            padded.fold(0, |number, byte| number * 10 + i64::from(byte - b'0'))
        }
        _ => return None,
    };
    let days = i64::from(days_since_epoch(date));
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    seconds
        .checked_add(shift_s)?
        .checked_mul(1_000_000)?
        .checked_add(fraction)
}

/// Days from 1970-01-01 in the Gregorian calendar. A year is counted from March, so that the leap day
/// is its last.
fn days_since_epoch(date: jiff::civil::Date) -> i32 {
    let (year, month) = (i32::from(date.year()), i32::from(date.month()));
    let year = if month <= 2 { year - 1 } else { year };
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + i32::from(date.day()) - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

fn hex(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(32);
    for byte in digest {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(
                DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'?'),
            ));
        }
    }
    text
}

fn wrong(why: &'static str) -> Error {
    Error::UserFunctionError(why.into())
}

/// The bytes of a canonical text. Numbers are refused: how they become text is the SQL's to say.
fn bytes(value: ValueRef<'_>) -> Result<&[u8]> {
    match value {
        ValueRef::Text(text) => Ok(text),
        ValueRef::Blob(blob) => Ok(blob),
        _ => Err(wrong("canonical text expected: cast the value to text")),
    }
}

fn tags(ctx: &Context<'_>, index: usize) -> Result<Vec<u8>> {
    if index >= ctx.len() {
        return Err(wrong("tags are missing"));
    }
    Ok(bytes(ctx.get_raw(index))?.to_vec())
}

fn expect_arguments(ctx: &Context<'_>, count: usize) -> Result<()> {
    if ctx.len() == count {
        Ok(())
    } else {
        Err(wrong("one tag letter per value expected"))
    }
}

fn push_field(ctx: &Context<'_>, tag: u8, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
    if index >= ctx.len() {
        return Err(wrong("one tag letter per value expected"));
    }
    buffer.push(tag);
    match ctx.get_raw(index) {
        ValueRef::Null => buffer.extend_from_slice(b"N;"),
        value => {
            let text = bytes(value)?;
            if buffer.len().saturating_add(text.len()) > MAX_FIELDS_BYTES {
                return Err(wrong("a row is longer than 64 MiB"));
            }
            push_number(text.len(), buffer);
            buffer.push(b':');
            buffer.extend_from_slice(text);
            buffer.push(b';');
        }
    }
    Ok(())
}

fn push_fields(ctx: &Context<'_>, tags: &[u8], from: usize, buffer: &mut Vec<u8>) -> Result<()> {
    for (offset, tag) in tags.iter().enumerate() {
        push_field(ctx, *tag, from + offset, buffer)?;
    }
    Ok(())
}

/// A length in decimal, without the formatting machinery: this runs once a value.
fn push_number(mut number: usize, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    loop {
        // The remainder is below 10.
        buffer.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = buffer.get_mut(start..) {
        digits.reverse();
    }
}

fn add(sum: &mut i64, lane: i64) -> Result<()> {
    *sum = sum
        .checked_add(lane)
        .ok_or_else(|| wrong("a lane sum passed 64 bits"))?;
    Ok(())
}

fn join(sums: &[i64]) -> String {
    let words: Vec<String> = sums.iter().map(i64::to_string).collect();
    words.join(" ")
}

struct RowSums;

/// Sums so far; the buffers are reused from row to row.
struct RowState {
    tags: Vec<u8>,
    sums: [i64; 4],
    buffer: Vec<u8>,
}

impl Aggregate<RowState, String> for RowSums {
    fn init(&self, ctx: &mut Context<'_>) -> Result<RowState> {
        let tags = tags(ctx, 0)?;
        expect_arguments(ctx, 1 + tags.len())?;
        Ok(RowState {
            tags,
            sums: [0; 4],
            buffer: Vec::with_capacity(256),
        })
    }

    fn step(&self, ctx: &mut Context<'_>, state: &mut RowState) -> Result<()> {
        state.buffer.clear();
        push_fields(ctx, &state.tags, 1, &mut state.buffer)?;
        let row = lanes(&Md5::digest(&state.buffer));
        for (sum, lane) in state.sums.iter_mut().zip(row) {
            add(sum, lane)?;
        }
        Ok(())
    }

    fn finalize(&self, _ctx: &mut Context<'_>, state: Option<RowState>) -> Result<String> {
        Ok(join(&state.map_or([0; 4], |state| state.sums)))
    }
}

struct ColumnSums;

struct ColumnState {
    key_tags: Vec<u8>,
    tags: Vec<u8>,
    sums: Vec<i64>,
    buffer: Vec<u8>,
}

impl Aggregate<ColumnState, Option<String>> for ColumnSums {
    fn init(&self, ctx: &mut Context<'_>) -> Result<ColumnState> {
        let (key_tags, tags) = (tags(ctx, 0)?, tags(ctx, 1)?);
        expect_arguments(ctx, 2 + key_tags.len() + tags.len())?;
        Ok(ColumnState {
            sums: vec![0; tags.len()],
            key_tags,
            tags,
            buffer: Vec::with_capacity(256),
        })
    }

    fn step(&self, ctx: &mut Context<'_>, state: &mut ColumnState) -> Result<()> {
        let ColumnState {
            key_tags,
            tags,
            sums,
            buffer,
        } = state;
        buffer.clear();
        push_fields(ctx, key_tags, 2, buffer)?;
        let key_bytes = buffer.len();
        let first = 2 + key_tags.len();
        for (offset, (tag, sum)) in tags.iter().zip(sums.iter_mut()).enumerate() {
            buffer.truncate(key_bytes);
            push_field(ctx, *tag, first + offset, buffer)?;
            let [lane, ..] = lanes(&Md5::digest(&*buffer));
            add(sum, lane)?;
        }
        Ok(())
    }

    /// NULL over no rows: the number of columns is not known then.
    fn finalize(&self, _: &mut Context<'_>, state: Option<ColumnState>) -> Result<Option<String>> {
        Ok(state.map(|state| join(&state.sums)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        register_sqlite_functions(&connection).unwrap();
        connection
    }

    fn text(connection: &Connection, sql: &str) -> String {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn md5_and_lanes_are_the_well_known_ones() {
        let db = connection();
        assert_eq!(
            text(&db, "select dw_md5('abc')"),
            "900150983cd24fb0d6963f7d28e17f72"
        );
        let lane: i64 = db
            .query_row("select dw_md5_lane('abc', 3)", [], |row| row.get(0))
            .unwrap();
        assert_eq!(lane, 0x28e1_7f72);
        assert!(db.execute_batch("select dw_md5_lane('abc', 4)").is_err());
    }

    #[test]
    fn fields_carry_byte_lengths_and_null_is_no_text() {
        let db = connection();
        assert_eq!(
            text(&db, "select dw_fields('ittt', '12', 'é|', NULL, '')"),
            "i2:12;t3:é|;tN;t0:;"
        );
        assert!(db.execute_batch("select dw_fields('it', '12')").is_err());
        assert!(db.execute_batch("select dw_fields('i', 12)").is_err());
    }

    /// The same numbers as SQLite's own date functions give, over 60 years and 12,000 odd instants.
    #[test]
    fn micros_are_the_calendars() {
        let db = connection();
        let wrong: i64 = db
            .query_row(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 12000),
                 x AS (SELECT datetime('1960-01-01', '+' || (i * 157771) || ' seconds') AS at,
                   printf('%06d', i * 7919 % 1000000) AS f FROM n)
                 SELECT count(*) FROM x WHERE dw_micros(at || '.' || f, 0) IS NOT
                   CAST(CAST(strftime('%s', at) AS INTEGER) * 1000000 + CAST(f AS INTEGER) AS TEXT)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(wrong, 0);
        assert_eq!(
            text(&db, "select dw_micros('2024-02-29T00:00:00.5', 3600)"),
            "1709168400500000"
        );
        for odd in [
            "2023-02-29 00:00:00",
            "2024-01-01",
            "2024-01-01 00:00:00Z",
            "",
        ] {
            assert_eq!(
                text(&db, &format!("select dw_micros('{odd}', 0)")),
                format!("!{odd}")
            );
        }
    }

    #[test]
    fn the_aggregates_are_the_definition_spelt_out() {
        let db = connection();
        db.execute_batch(
            "create table x(k text, v text); insert into x values ('1','a'),('2',NULL),('2',NULL);",
        )
        .unwrap();
        let rows = "dw_fields('it', k, v)";
        let by_hand = format!(
            "select sum(dw_md5_lane({rows},0))||' '||sum(dw_md5_lane({rows},1))||' '||\
             sum(dw_md5_lane({rows},2))||' '||sum(dw_md5_lane({rows},3)) from x"
        );
        assert_eq!(
            text(&db, "select dw_row_sums('it', k, v) from x"),
            text(&db, &by_hand)
        );
        assert_eq!(
            text(&db, "select dw_column_sums('i', 'it', k, k, v) from x"),
            text(
                &db,
                "select sum(dw_md5_lane(dw_fields('ii',k,k),0))||' '||\
                 sum(dw_md5_lane(dw_fields('it',k,v),0)) from x"
            )
        );
        assert_eq!(
            text(&db, "select dw_row_sums('it', k, v) from x where 0"),
            "0 0 0 0"
        );
    }
}
