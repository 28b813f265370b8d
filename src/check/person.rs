//! The `person` checker: chooses rows, old beside new, for a person who judges them.
//!
//! It gives no verdict. The same job and config give the same rows: they lie evenly over the table in the
//! order of its key, from a start that the digest of the config decides, so that a worker cannot know them
//! before it has proposed.

use super::canonical::quote;
use super::warehouse::{Answer, Meter, unclear, whole};
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::contract::sampling::Sampling;
use crate::model::canon::digest_parts;
use crate::model::{Digest, Verdict};
use crate::world::ports::{Cell, Output, PortError, Rows, Side, Timed};
use serde_json::{Value, json};
use std::path::Path;

/// Changes whenever other rows are chosen.
const VERSION: &str = "1";
/// Rows of the old side, counted and read; the same rows of the new side.
const QUERIES: u64 = 3;
/// Longest text for a person, in characters.
const MAX_TEXT: usize = 3_500;
/// Longest cell shown in it, in characters.
const MAX_CELL: usize = 40;

/// The `person` checker. Its parameters are those of [`Sampling`].
pub struct Person;

impl Checker for Person {
    fn name(&self) -> &'static str {
        crate::contract::sampling::PERSON
    }

    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        digest_parts([self.name(), VERSION])
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        clause.sampling().err().unwrap_or_default()
    }

    fn queries(&self, _clause: &Clause, output: Option<&Output>) -> u64 {
        if output.is_some() { QUERIES } else { 0 }
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let rule = match input.clause.sampling() {
            Ok(rule) => rule,
            Err(problems) => {
                return Ok(Timed::now(Evidence::bare(
                    Verdict::Unverified,
                    problems.join("; "),
                )));
            }
        };
        let nothing = |why: &str| {
            Timed::now(Evidence::bare(
                Verdict::Inconclusive,
                format!("no rows: {why}; the config itself is to be looked at"),
            ))
        };
        match (input.output, input.world.warehouse.as_deref()) {
            (None, _) => Ok(nothing("the job declares no table")),
            (_, None) => Ok(nothing("the goal has no warehouse")),
            (Some(output), Some(warehouse)) => {
                let mut meter = Meter::new(warehouse);
                let old =
                    warehouse.table(Side::Legacy, input.job, &output.table, input.logical_date);
                let new = warehouse.table(input.side, input.job, &output.table, input.logical_date);
                let mut evidence = choose(&mut meter, input, output, &rule, (&old, &new))?;
                evidence.queries = meter.queries;
                Ok(Timed {
                    value: evidence,
                    took_ms: meter.took_ms,
                })
            }
        }
    }
}

fn choose(
    meter: &mut Meter<'_>,
    input: &CheckInput<'_>,
    output: &Output,
    rule: &Sampling,
    (old, new): (&str, &str),
) -> Result<Evidence, PortError> {
    let missing = |what: String| Evidence::bare(Verdict::Inconclusive, format!("no rows: {what}"));
    let count = match meter.one_row(format!("SELECT count(*) AS n FROM {old}"))? {
        Answer::Missing(what) => return Ok(missing(what)),
        Answer::Row(cells) => match cells.first().and_then(whole) {
            Some(count) if count >= 0 => count as u64,
            _ => return Err(unclear(format!("the count of {old} is no whole number"))),
        },
    };
    let seed = digest_parts([input.job.as_str(), input.config]);
    let places = places(count, rule.rows, &seed);
    let old_rows = match places.is_empty() {
        true => Rows::default(),
        false => match meter.rows(by_place(old, output, &places))? {
            Ok(rows) => rows,
            Err(what) => return Ok(missing(what)),
        },
    };
    let new_rows = match old_rows.rows.is_empty() {
        true => Ok(Rows::default()),
        false => meter.rows(match output.key.is_empty() {
            true => by_place(new, output, &places),
            false => by_key(new, output, &old_rows),
        })?,
    };
    let (new_rows, why) = match new_rows {
        Ok(rows) => (rows, None),
        Err(what) => (Rows::default(), Some(what)),
    };
    let chosen = pairs(output, &old_rows, &new_rows);
    let differ = chosen
        .iter()
        .filter(|one| one["differs"] != json!([]))
        .count();
    let mut evidence = Evidence::bare(
        Verdict::Inconclusive,
        format!("{} of {count} rows chosen; {differ} differ", chosen.len()),
    );
    let numbers = &mut evidence.numbers;
    numbers.insert("rows".into(), Value::Array(chosen));
    numbers.insert("of".into(), json!(count));
    numbers.insert(
        "tables".into(),
        json!({"old": old, "new": new, "side": input.side.word()}),
    );
    if let Some(what) = why {
        numbers.insert("missing".into(), json!(what));
    }
    Ok(evidence)
}

/// Places of the rows, from 1, in the order of the key: one in each of as many equal parts.
fn places(count: u64, rows: u64, seed: &Digest) -> Vec<u64> {
    let wanted = rows.min(count);
    (0..wanted)
        .map(|part| {
            let (from, to) = (part * count / wanted, (part + 1) * count / wanted);
            let width = (to - from).max(1);
            let dice = digest_parts([seed.as_str(), &part.to_string()]);
            let number = u64::from_str_radix(dice.as_str().get(..12).unwrap_or("0"), 16);
            from + number.unwrap_or(0) % width + 1
        })
        .collect()
}

fn columns(output: &Output) -> String {
    let names: Vec<String> = output.columns.iter().map(|one| quote(&one.name)).collect();
    names.join(", ")
}

fn order(output: &Output) -> String {
    let by = match output.key.is_empty() {
        true => output.columns.iter().map(|one| quote(&one.name)).collect(),
        false => output.key.iter().map(|one| quote(one)).collect::<Vec<_>>(),
    };
    by.join(", ")
}

fn by_place(table: &str, output: &Output, places: &[u64]) -> String {
    let list: Vec<String> = places.iter().map(u64::to_string).collect();
    let (columns, order) = (columns(output), order(output));
    format!(
        "SELECT {columns} FROM (SELECT {columns}, row_number() OVER (ORDER BY {order}) AS dw_place FROM {table}) \
         AS dw_rows WHERE dw_place IN ({}) ORDER BY dw_place",
        list.join(", ")
    )
}

fn by_key(table: &str, output: &Output, old: &Rows) -> String {
    let one = |row: &Vec<Cell>| {
        let parts: Vec<String> = output
            .key
            .iter()
            .map(|name| match cell(output, row, name) {
                Some(Cell::Null) | None => format!("{} IS NULL", quote(name)),
                Some(value) => format!("{} = {}", quote(name), literal(value)),
            })
            .collect();
        format!("({})", parts.join(" AND "))
    };
    let rows: Vec<String> = old.rows.iter().map(one).collect();
    format!(
        "SELECT {} FROM {table} WHERE {} ORDER BY {}",
        columns(output),
        rows.join(" OR "),
        order(output)
    )
}

fn cell<'a>(output: &Output, row: &'a [Cell], name: &str) -> Option<&'a Cell> {
    let place = output.columns.iter().position(|one| one.name == name)?;
    row.get(place)
}

fn literal(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(real) => format!("{real:?}"),
        Cell::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Each old row beside the new one of the same key; `new` is null where there is none.
fn pairs(output: &Output, old: &Rows, new: &Rows) -> Vec<Value> {
    let key = |row: &[Cell]| -> Vec<String> {
        output
            .key
            .iter()
            .map(|name| cell(output, row, name).map_or(String::new(), literal))
            .collect()
    };
    old.rows
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let other = match output.key.is_empty() {
                true => new.rows.get(place),
                false => new.rows.iter().find(|one| key(one) == key(row)),
            };
            let differs: Vec<&str> = output
                .columns
                .iter()
                .zip(0..)
                .filter(|(_, index)| other.is_none_or(|own| own.get(*index) != row.get(*index)))
                .map(|(column, _)| column.name.as_str())
                .collect();
            json!({
                "key": key(row).join(", "),
                "old": named(output, row),
                "new": other.map(|own| named(output, own)),
                "differs": differs,
            })
        })
        .collect()
}

fn named(output: &Output, row: &[Cell]) -> Value {
    let cells = output.columns.iter().zip(row);
    Value::Object(
        cells
            .map(|(column, cell)| (column.name.clone(), json!(cell)))
            .collect(),
    )
}

/// What a person reads: the question, then each row, old beside new; the whole is in the evidence's body.
/// `of_judge` is what a model said, where its verdict is looked at.
pub fn question(rule: &Sampling, evidence: &Evidence, of_judge: Option<&str>) -> String {
    let mut text = match rule.question.is_empty() {
        true => "Are these rows of the new side right?".to_owned(),
        false => rule.question.clone(),
    };
    text.push_str(&format!("\n{}", evidence.summary));
    if let Some(words) = of_judge {
        text.push_str(&format!("\na model judged: {words}"));
    }
    let rows = evidence.numbers.get("rows").and_then(Value::as_array);
    for row in rows.into_iter().flatten() {
        let line = line(row);
        if text.chars().count() + line.chars().count() > MAX_TEXT {
            text.push_str("\n… `dogwatch sample show` has all of it");
            break;
        }
        text.push('\n');
        text.push_str(&line);
    }
    text
}

fn line(row: &Value) -> String {
    let key = row["key"].as_str().unwrap_or_default();
    let Some(old) = row["old"].as_object() else {
        return key.to_owned();
    };
    if row["new"].is_null() {
        return format!("{key}: NOT ON THE NEW SIDE; old {}", cells(old.iter()));
    }
    let differs: Vec<&str> = row["differs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if differs.is_empty() {
        return format!("{key}: same on both sides: {}", cells(old.iter()));
    }
    let changed: Vec<String> = differs
        .iter()
        .map(|name| {
            format!(
                "{name} {} → {}",
                short(&row["old"][*name]),
                short(&row["new"][*name])
            )
        })
        .collect();
    let same = old
        .iter()
        .filter(|(name, _)| !differs.contains(&name.as_str()));
    format!(
        "{key}: DIFFERS {}; same {}",
        changed.join(", "),
        cells(same)
    )
}

fn cells<'a>(all: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let parts: Vec<String> = all
        .map(|(name, value)| format!("{name} {}", short(value)))
        .collect();
    parts.join(", ")
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut cut: String = text.chars().take(MAX_CELL).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest_bytes;

    #[test]
    fn rows_lie_over_the_whole_table_and_are_the_same_again() {
        let seed = digest_bytes(b"config");
        let chosen = places(1_000, 5, &seed);
        assert_eq!(chosen, places(1_000, 5, &seed));
        assert_ne!(chosen, places(1_000, 5, &digest_bytes(b"another")));
        for (part, place) in chosen.iter().enumerate() {
            let from = part as u64 * 200;
            assert!((from + 1..=from + 200).contains(place), "{chosen:?}");
        }
        assert_eq!(places(3, 5, &seed), [1, 2, 3], "each row of a small table");
        assert!(places(0, 5, &seed).is_empty());
    }

    #[test]
    fn a_text_is_no_way_out_of_its_quotes() {
        assert_eq!(
            literal(&Cell::Text("O'Hara'); drop".into())),
            "'O''Hara''); drop'"
        );
    }
}
