//! Canonical text: one value, the same text in every database (docs/reconciliation.md).
//!
//! All functions here are pure and give SQL text.

use crate::world::ports::ColumnKind;

/// SQL dialects that the canonical expressions exist for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite with the functions of [`crate::world::sqlite_functions`].
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// DuckDB.
    DuckDb,
}

impl Dialect {
    /// All dialects.
    pub const ALL: &'static [Self] = &[Self::Sqlite, Self::Postgres, Self::DuckDb];

    /// The dialect of a warehouse's word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "sqlite" => Some(Self::Sqlite),
            "postgres" => Some(Self::Postgres),
            "duckdb" => Some(Self::DuckDb),
            _ => None,
        }
    }

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::DuckDb => "duckdb",
        }
    }
}

/// Most digits after the point: the sum of lanes is exact at any scale, the decimals of the three
/// databases are not.
pub const MAX_SCALE: u8 = 18;

/// The letter that starts a field, so that equal texts of different types differ.
pub const fn tag(kind: ColumnKind) -> char {
    match kind {
        ColumnKind::Integer => 'i',
        ColumnKind::Decimal { .. } => 'n',
        ColumnKind::Text => 't',
        ColumnKind::Timestamp => 's',
        ColumnKind::Date => 'd',
        ColumnKind::Boolean => 'b',
        ColumnKind::Float => 'f',
    }
}

/// A column of the compared table, which is always called `t`. Qualified on purpose: SQLite takes a
/// bare quoted name that is no column for a text, and then both sides would be equal.
pub fn column(name: &str) -> String {
    format!("t.{}", quote(name))
}

/// A quoted identifier.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The canonical text of `x`, NULL exactly where `x` is NULL; `None` for floats, which have none.
///
/// In SQLite any column may hold any value, so a value that is not of the declared kind becomes `!`
/// and its own text instead of whatever a conversion would make of it.
pub fn text(dialect: Dialect, kind: ColumnKind, x: &str) -> Option<String> {
    match dialect {
        Dialect::Sqlite => sqlite(kind, x),
        Dialect::Postgres => postgres(kind, x),
        Dialect::DuckDb => duckdb(kind, x),
    }
}

/// 10^s as a literal.
fn power(scale: u8) -> String {
    format!("1{}", "0".repeat(usize::from(scale.min(MAX_SCALE))))
}

fn sqlite(kind: ColumnKind, x: &str) -> Option<String> {
    Some(match kind {
        ColumnKind::Integer | ColumnKind::Boolean | ColumnKind::Text | ColumnKind::Date => {
            format!("CAST({x} AS TEXT)")
        }
        ColumnKind::Decimal { scale } => format!(
            "CASE WHEN typeof({x}) = 'text' AND ({x} = '' OR trim({x}, '0123456789.+-') <> '') \
             THEN '!' || {x} \
             ELSE CAST(CAST(round({x} * {}) AS INTEGER) AS TEXT) END",
            power(scale)
        ),
        ColumnKind::Timestamp => sqlite_micros(x, 0),
        ColumnKind::Float => return None,
    })
}

/// Microseconds since the epoch of a timestamp, moved by `shift_s` seconds. A registered function, because
/// SQLite's own `strftime('%s')` rounds up to the next second from a fraction of .9995 on.
pub fn sqlite_micros(x: &str, shift_s: i64) -> String {
    format!("dw_micros(CAST({x} AS TEXT), {shift_s})")
}

fn postgres(kind: ColumnKind, x: &str) -> Option<String> {
    Some(match kind {
        ColumnKind::Integer => format!("{x}::text"),
        ColumnKind::Decimal { scale } => format!(
            "(round({x}, {scale}) * {})::numeric(38,0)::text",
            power(scale)
        ),
        ColumnKind::Text => x.to_owned(),
        ColumnKind::Timestamp => {
            format!("(extract(epoch from {x}) * 1000000)::bigint::text")
        }
        ColumnKind::Date => format!("to_char({x}, 'YYYY-MM-DD')"),
        ColumnKind::Boolean => format!("({x}::int)::text"),
        ColumnKind::Float => return None,
    })
}

fn duckdb(kind: ColumnKind, x: &str) -> Option<String> {
    Some(match kind {
        ColumnKind::Integer => format!("CAST({x} AS VARCHAR)"),
        ColumnKind::Decimal { scale } => {
            // 38 digits in all: a scale above 6 takes its digits from before the point.
            let kept = scale.max(6);
            format!(
                "CAST(CAST(round(CAST({x} AS DECIMAL(38,{kept})), {scale}) * {} AS DECIMAL(38,0)) AS VARCHAR)",
                power(scale)
            )
        }
        ColumnKind::Text => x.to_owned(),
        ColumnKind::Timestamp => format!("CAST(epoch_us({x}) AS VARCHAR)"),
        ColumnKind::Date => format!("strftime({x}, '%Y-%m-%d')"),
        ColumnKind::Boolean => format!("CAST(CAST({x} AS INT) AS VARCHAR)"),
        ColumnKind::Float => return None,
    })
}

/// One field of a canonical text that stands in column `c`, spelt out: tag, byte length, text. SQLite
/// builds its fields inside the registered functions.
pub fn field(dialect: Dialect, tag: char, c: &str) -> String {
    let (length, cast) = match dialect {
        Dialect::Sqlite => (format!("length(CAST({c} AS BLOB))"), ""),
        Dialect::Postgres => (format!("octet_length({c})"), "::text"),
        Dialect::DuckDb => (format!("CAST(strlen({c}) AS VARCHAR)"), ""),
    };
    format!(
        "CASE WHEN {c} IS NULL THEN '{tag}N;' ELSE '{tag}' || {length}{cast} || ':' || {c} || ';' END"
    )
}

/// Lane `index` (0 to 3) of the hex digest in column `h`.
pub fn lane(dialect: Dialect, h: &str, index: usize) -> String {
    let from = 8 * index + 1;
    match dialect {
        Dialect::Sqlite => format!("dw_md5_lane({h}, {index})"),
        Dialect::Postgres => {
            format!("(('x' || substr({h}, {from}, 8))::bit(32)::bigint & 4294967295)")
        }
        Dialect::DuckDb => format!("CAST('0x' || substr({h}, {from}, 8) AS BIGINT)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::sqlite_functions::register_sqlite_functions;

    fn all(kind: ColumnKind) -> [Option<String>; 3] {
        [Dialect::Sqlite, Dialect::Postgres, Dialect::DuckDb].map(|d| text(d, kind, "x"))
    }

    #[test]
    fn the_other_dialects_say_exactly_the_measured_expressions() {
        let expect = |kind, postgres: &str, duckdb: &str| {
            let [_, p, d] = all(kind);
            assert_eq!(p.as_deref(), Some(postgres));
            assert_eq!(d.as_deref(), Some(duckdb));
        };
        expect(ColumnKind::Integer, "x::text", "CAST(x AS VARCHAR)");
        expect(
            ColumnKind::Decimal { scale: 2 },
            "(round(x, 2) * 100)::numeric(38,0)::text",
            "CAST(CAST(round(CAST(x AS DECIMAL(38,6)), 2) * 100 AS DECIMAL(38,0)) AS VARCHAR)",
        );
        expect(ColumnKind::Text, "x", "x");
        expect(
            ColumnKind::Timestamp,
            "(extract(epoch from x) * 1000000)::bigint::text",
            "CAST(epoch_us(x) AS VARCHAR)",
        );
        expect(
            ColumnKind::Date,
            "to_char(x, 'YYYY-MM-DD')",
            "strftime(x, '%Y-%m-%d')",
        );
        expect(
            ColumnKind::Boolean,
            "(x::int)::text",
            "CAST(CAST(x AS INT) AS VARCHAR)",
        );
        assert_eq!(all(ColumnKind::Float), [None, None, None]);
    }

    #[test]
    fn fields_and_lanes_by_dialect() {
        assert_eq!(
            field(Dialect::Postgres, 't', "c"),
            "CASE WHEN c IS NULL THEN 'tN;' ELSE 't' || octet_length(c)::text || ':' || c || ';' END"
        );
        assert_eq!(
            lane(Dialect::Postgres, "h", 1),
            "(('x' || substr(h, 9, 8))::bit(32)::bigint & 4294967295)"
        );
        assert_eq!(
            lane(Dialect::DuckDb, "h", 3),
            "CAST('0x' || substr(h, 25, 8) AS BIGINT)"
        );
    }

    /// What SQLite makes of one literal.
    fn sqlite_text(kind: ColumnKind, literal: &str) -> Option<String> {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        register_sqlite_functions(&db).unwrap();
        let sql = format!(
            "SELECT {} FROM (SELECT {literal} AS x)",
            text(Dialect::Sqlite, kind, "x").unwrap()
        );
        db.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn sqlite_values_become_the_text_of_their_kind() {
        let some = |text: &str| Some(text.to_owned());
        let decimal = ColumnKind::Decimal { scale: 2 };
        assert_eq!(sqlite_text(ColumnKind::Integer, "5000"), some("5000"));
        assert_eq!(sqlite_text(ColumnKind::Integer, "5000.0"), some("5000.0"));
        assert_eq!(sqlite_text(decimal, "12.5"), some("1250"));
        assert_eq!(sqlite_text(decimal, "'12.50'"), some("1250"));
        assert_eq!(sqlite_text(decimal, "-0.004"), some("0"));
        assert_eq!(
            sqlite_text(ColumnKind::Timestamp, "'1970-01-01 00:00:01.5'"),
            some("1500000")
        );
        assert_eq!(
            sqlite_text(ColumnKind::Timestamp, "'1970-01-01 00:00:00.999999'"),
            some("999999"),
            "the fraction must not round the second up as well"
        );
        for kind in [ColumnKind::Integer, decimal, ColumnKind::Timestamp] {
            assert_eq!(sqlite_text(kind, "NULL"), None);
        }
    }

    #[test]
    fn a_value_of_another_kind_never_equals_zero_or_null() {
        let decimal = ColumnKind::Decimal { scale: 2 };
        for (kind, literal) in [
            (decimal, "''"),
            (decimal, "'abc'"),
            (ColumnKind::Timestamp, "'soon'"),
            (ColumnKind::Timestamp, "'2024-13-45 00:00:00'"),
            (ColumnKind::Timestamp, "'2024-01-01 00:00:00+02:00'"),
        ] {
            let text = sqlite_text(kind, literal).unwrap();
            assert!(text.starts_with('!'), "{literal} became {text}");
        }
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(column("a\"b"), "t.\"a\"\"b\"");
    }

    #[test]
    fn fields_spelt_out_are_the_functions_fields() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        register_sqlite_functions(&db).unwrap();
        let spelt = field(Dialect::Sqlite, 't', "x");
        let same: bool = db
            .query_row(
                &format!(
                    "SELECT min({spelt} = dw_fields('t', x)) FROM \
                     (SELECT 'é;' AS x UNION ALL SELECT '' UNION ALL SELECT NULL)"
                ),
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert!(same);
    }
}
