//! SQL functions that the practice engines have beside SQLite's own.
//!
//! The old engine is SQLite with `nvl`, in which `''` is NULL. The new engine divides exactly, keeps
//! `''` and NULL apart and rounds half to even; [`super::dialect`] puts these functions in place.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

/// The old engine's `nvl`: the second value when the first is NULL or `''`.
pub const OLD_NVL: &str = "nvl_old";
/// The new engine's `nvl`: the second value when the first is NULL.
pub const NEW_NVL: &str = "nvl_new";
/// The new engine's `/`.
pub const EXACT_DIV: &str = "exact_div";
/// The new engine's `%`.
pub const EXACT_MOD: &str = "exact_mod";
/// The new engine's `round`.
pub const ROUND_EVEN: &str = "round_even";

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);

/// Registers both engines' functions.
///
/// # Errors
/// When SQLite refuses.
pub fn register_engines(conn: &Connection) -> Result<()> {
    conn.create_scalar_function(OLD_NVL, 2, FLAGS, |ctx| nvl(ctx, true))?;
    conn.create_scalar_function(NEW_NVL, 2, FLAGS, |ctx| nvl(ctx, false))?;
    conn.create_scalar_function(EXACT_DIV, 2, FLAGS, |ctx| {
        Ok(exact_div(ctx.get_raw(0), ctx.get_raw(1)))
    })?;
    conn.create_scalar_function(EXACT_MOD, 2, FLAGS, |ctx| {
        Ok(exact_mod(ctx.get_raw(0), ctx.get_raw(1)))
    })?;
    conn.create_scalar_function(ROUND_EVEN, 1, FLAGS, |ctx| {
        Ok(round_even(ctx.get_raw(0), 0))
    })?;
    conn.create_scalar_function(ROUND_EVEN, 2, FLAGS, |ctx| {
        Ok(round_even(ctx.get_raw(0), ctx.get::<i64>(1)?))
    })
}

fn nvl(ctx: &Context<'_>, empty_is_null: bool) -> Result<Value> {
    let first = ctx.get_raw(0);
    let missing = match first {
        ValueRef::Null => true,
        ValueRef::Text(text) => empty_is_null && text.is_empty(),
        _ => false,
    };
    Value::try_from(if missing { ctx.get_raw(1) } else { first })
        .map_err(|error| rusqlite::Error::UserFunctionError(Box::new(error)))
}

fn number(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(n) => Some(n as f64),
        ValueRef::Real(n) => Some(n),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Integers that divide without a rest give an integer, everything else a double; NULL for a division
/// by zero.
fn exact_div(left: ValueRef<'_>, right: ValueRef<'_>) -> Value {
    if let (ValueRef::Integer(a), ValueRef::Integer(b)) = (left, right)
        && let (Some(rest), Some(quotient)) = (a.checked_rem(b), a.checked_div(b))
        && rest == 0
    {
        return Value::Integer(quotient);
    }
    match (number(left), number(right)) {
        (Some(a), Some(b)) if b != 0.0 => Value::Real(a / b),
        _ => Value::Null,
    }
}

fn exact_mod(left: ValueRef<'_>, right: ValueRef<'_>) -> Value {
    if let (ValueRef::Integer(a), ValueRef::Integer(b)) = (left, right) {
        return a.checked_rem(b).map_or(Value::Null, Value::Integer);
    }
    match (number(left), number(right)) {
        (Some(a), Some(b)) if b != 0.0 => Value::Real(a % b),
        _ => Value::Null,
    }
}

fn round_even(value: ValueRef<'_>, places: i64) -> Value {
    let Some(number) = number(value) else {
        return Value::Null;
    };
    let scale = 10f64.powi(i32::try_from(places.clamp(0, 15)).unwrap_or(0));
    Value::Real((number * scale).round_ties_even() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(sql: &str) -> Value {
        let conn = Connection::open_in_memory().unwrap();
        register_engines(&conn).unwrap();
        conn.query_row(&format!("select {sql}"), [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn the_new_engine_divides_exactly() {
        assert_eq!(one("exact_div(10, 5)"), Value::Integer(2));
        assert_eq!(one("exact_div(1, 4)"), Value::Real(0.25));
        assert_eq!(one("exact_div(1, 0)"), Value::Null);
        assert_eq!(one("exact_mod(exact_div(7, 2), 2)"), Value::Real(1.5));
        assert_eq!(one("round_even(2.5)"), Value::Real(2.0));
        assert_eq!(one("round_even(3.5)"), Value::Real(4.0));
    }

    #[test]
    fn empty_text_is_null_only_in_the_old_engine() {
        assert_eq!(one("nvl_old('', 'x')"), Value::Text("x".into()));
        assert_eq!(one("nvl_new('', 'x')"), Value::Text(String::new()));
        assert_eq!(one("nvl_new(null, 'x')"), Value::Text("x".into()));
    }
}
