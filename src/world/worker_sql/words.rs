//! The functions that a worker's SELECT may call. A list of what is allowed: new functions of a warehouse,
//! its extensions and everything that reads files, sleeps or loads code are out until someone adds them.

/// Pure in every dialect, and their result is not much longer than what they are given.
const EVERYWHERE: &[&str] = &[
    "abs",
    "avg",
    "coalesce",
    "count",
    "cume_dist",
    "current_date",
    "current_timestamp",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "length",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "percent_rank",
    "power",
    "rank",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sqrt",
    "substr",
    "substring",
    "sum",
    "trim",
    "upper",
];

const SQLITE: &[&str] = &[
    "date",
    "datetime",
    "ifnull",
    "iif",
    "instr",
    "julianday",
    "strftime",
    "time",
    "total",
    "typeof",
    "unicode",
    "unixepoch",
];

const POSTGRES: &[&str] = &[
    "age",
    "ascii",
    "bit_length",
    "bool_and",
    "bool_or",
    "ceil",
    "char_length",
    "date_part",
    "date_trunc",
    "every",
    "floor",
    "greatest",
    "least",
    "left",
    "md5",
    "octet_length",
    "right",
    "split_part",
    "starts_with",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "strpos",
    "to_char",
    "to_date",
    "to_timestamp",
    "trunc",
    "var_pop",
    "var_samp",
    "variance",
];

/// Whether a function, in lower case, may be called.
pub(super) fn is_allowed(function: &str, dialect: &str) -> bool {
    let own: &[&str] = match dialect {
        "postgres" | "duckdb" => POSTGRES,
        _ => SQLITE,
    };
    EVERYWHERE.contains(&function) || own.contains(&function)
}

/// The list for a message.
pub(super) fn allowed(dialect: &str) -> String {
    let own: &[&str] = match dialect {
        "postgres" | "duckdb" => POSTGRES,
        _ => SQLITE,
    };
    let mut all: Vec<&str> = EVERYWHERE.iter().chain(own).copied().collect();
    all.sort_unstable();
    all.join(" ")
}
