//! The `report` checker: named numbers that downstream reports draw from a job's table, old beside new.

use super::params::{Params, note};
use super::report_numbers::{MAX_NUMBERS, Reported, Seen, compare, inline_numbers, read_numbers};
use super::warehouse::{Answer, Meter, unclear};
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::canon::digest_parts;
use crate::model::{Digest, JobId, Verdict};
use crate::world::ports::{Cell, Output, PortError, Side, Timed};
use serde_json::{Value, json};
use std::path::Path;

/// Changes whenever the meaning of a verdict does.
const VERSION: &str = "1";
const KNOWN: [&str; 4] = ["numbers", "catalog", "queries", "allow_empty"];
/// Differences named in a summary at most.
const MAX_NAMED: usize = 5;

/// The `report` checker.
///
/// Parameters: `numbers`, a list of `{ name, sql, tolerance, relative }`; or `catalog`, a query that lists
/// them (columns `name`, `sql`, and if there are any `tolerance` and `relative`); `queries`, the most that one
/// judgement may take; `allow_empty` (default false). One query a side, one more for the catalog.
pub struct Report;

impl Checker for Report {
    fn name(&self) -> &'static str {
        "report"
    }

    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        digest_parts([
            self.name(),
            VERSION,
            "(select) AS n0",
            &MAX_NUMBERS.to_string(),
        ])
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        let params = Params(&clause.params);
        let mut problems = params.unknown(&KNOWN);
        note(&mut problems, params.flag("allow_empty", false));
        note(&mut problems, inline_numbers(&clause.params));
        let catalog = note(&mut problems, params.text("catalog", "")).unwrap_or("");
        let has_numbers = clause.params.contains_key("numbers");
        match (has_numbers, catalog.is_empty()) {
            (false, true) => problems.push(
                "no `numbers` and no `catalog`: nothing would be compared; name numbers with their sql, or a \
                 query that lists them"
                    .to_owned(),
            ),
            (true, false) => {
                problems.push("both `numbers` and `catalog`; expected one of them".to_owned());
            }
            _ => {}
        }
        let least = least_queries(clause);
        note(&mut problems, params.whole("queries", least, least, 1_000));
        problems
    }

    fn queries(&self, clause: &Clause, output: Option<&Output>) -> u64 {
        let least = least_queries(clause);
        if output.is_none() {
            return 0;
        }
        Params(&clause.params)
            .whole("queries", least, least, 1_000)
            .unwrap_or(least)
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let Some(output) = input.output else {
            return Ok(unverified(
                "the job declares no table that a report could read",
            ));
        };
        let Some(warehouse) = input.world.warehouse.as_deref() else {
            return Ok(unverified("the goal has no warehouse to ask"));
        };
        let params = Params(&input.clause.params);
        let allow_empty = match params.flag("allow_empty", false) {
            Ok(allow_empty) => allow_empty,
            Err(why) => return Ok(unverified(why)),
        };
        let mut meter = Meter::new(warehouse);
        let numbers = match listed(input, output, &mut meter)? {
            Ok(numbers) => numbers,
            Err(why) => return Ok(done(Evidence::bare(Verdict::Unverified, why), meter)),
        };
        let old_table = warehouse.table(Side::Legacy, input.job, &output.table, input.logical_date);
        let new_table = warehouse.table(input.side, input.job, &output.table, input.logical_date);
        let old = match ask(&mut meter, &numbers, &old_table, input.job)? {
            Ok(cells) => cells,
            Err(what) => {
                let why = format!("the old side does not give these numbers: {what}");
                return Ok(done(Evidence::bare(Verdict::Unverified, why), meter));
            }
        };
        let new = match ask(&mut meter, &numbers, &new_table, input.job)? {
            Ok(cells) => cells,
            Err(what) => {
                let word = input.side.word();
                let why = format!("the new side ({word}) does not give these numbers: {what}");
                return Ok(done(Evidence::bare(Verdict::Fail, why), meter));
            }
        };
        let seen = match compare(&numbers, &old, &new) {
            Ok(seen) => seen,
            Err(why) => return Ok(done(Evidence::bare(Verdict::Unverified, why), meter)),
        };
        let (verdict, summary) = judge(&seen, input.side, allow_empty);
        let mut evidence = Evidence::bare(verdict, summary);
        let tables = json!({"old": old_table, "new": new_table, "side": input.side.word()});
        evidence.numbers.insert(
            "reports".into(),
            Value::from_iter(seen.iter().map(Seen::json)),
        );
        evidence.numbers.insert("tables".into(), tables);
        Ok(done(evidence, meter))
    }
}

/// One query a side, and one for the catalog.
fn least_queries(clause: &Clause) -> u64 {
    2 + u64::from(clause.params.contains_key("catalog"))
}

fn done(mut evidence: Evidence, meter: Meter<'_>) -> Timed<Evidence> {
    evidence.queries = meter.queries;
    Timed {
        value: evidence,
        took_ms: meter.took_ms,
    }
}

fn unverified(why: impl Into<String>) -> Timed<Evidence> {
    Timed::now(Evidence::bare(Verdict::Unverified, why))
}

/// The numbers to compare, from the clause or from the catalog; or why there are none.
fn listed(
    input: &CheckInput<'_>,
    output: &Output,
    meter: &mut Meter<'_>,
) -> Result<Result<Vec<Reported>, String>, PortError> {
    let params = &input.clause.params;
    let catalog = match Params(params).text("catalog", "") {
        Ok(catalog) => catalog,
        Err(why) => return Ok(Err(why)),
    };
    if catalog.is_empty() {
        return Ok(
            inline_numbers(params).and_then(|list| match list.is_empty() {
                true => Err("the clause names no numbers".to_owned()),
                false => Ok(list),
            }),
        );
    }
    // Names come from the source; a quote in one must not end the text it stands in.
    let quoted = |text: &str| text.replace('\'', "''");
    let sql = catalog
        .replace("{table}", &quoted(&output.table))
        .replace("{job}", &quoted(input.job.as_str()));
    Ok(match meter.rows(sql)? {
        Ok(rows) => read_numbers(&rows),
        Err(what) => Err(format!("the catalog of reports cannot be read: {what}")),
    })
}

/// All numbers of one side in one query.
fn ask(
    meter: &mut Meter<'_>,
    numbers: &[Reported],
    table: &str,
    job: &JobId,
) -> Result<Result<Vec<Cell>, String>, PortError> {
    let parts: Vec<String> = numbers
        .iter()
        .enumerate()
        .map(|(index, number)| format!("({}) AS n{index}", number.sql.replace("{table}", table)))
        .collect();
    match meter.one_row(format!("SELECT {}", parts.join(", ")))? {
        Answer::Missing(what) => Ok(Err(what)),
        Answer::Row(cells) if cells.len() == numbers.len() => Ok(Ok(cells)),
        Answer::Row(cells) => Err(unclear(format!(
            "{} numbers came back for {} asked of job {job}",
            cells.len(),
            numbers.len()
        ))),
    }
}

fn judge(seen: &[Seen], side: Side, allow_empty: bool) -> (Verdict, String) {
    let wrong: Vec<String> = seen
        .iter()
        .filter(|one| !one.equal)
        .map(Seen::sentence)
        .collect();
    if !wrong.is_empty() {
        let more = wrong.len().saturating_sub(MAX_NAMED);
        let named = wrong
            .into_iter()
            .take(MAX_NAMED)
            .collect::<Vec<_>>()
            .join("; ");
        let rest = if more == 0 {
            String::new()
        } else {
            format!("; and {more} more")
        };
        return (Verdict::Fail, format!("{named}{rest} ({})", side.word()));
    }
    if seen.iter().all(|one| one.is_hollow) && !allow_empty {
        return (
            Verdict::Inconclusive,
            "every number is zero or absent on both sides: nothing was compared; compare another date, or set \
             allow_empty"
                .to_owned(),
        );
    }
    let word = side.word();
    (
        Verdict::Pass,
        format!("{} report numbers agree ({word})", seen.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clause(text: &str) -> Clause {
        let params: toml::Table = text.parse().unwrap();
        let params = serde_json::to_value(params).unwrap();
        Clause {
            id: "reports".into(),
            check: "report".into(),
            applies_to: None,
            params: params.as_object().unwrap().clone(),
            digest: crate::model::digest_bytes(b"c"),
        }
    }

    #[test]
    fn a_clause_that_would_compare_nothing_is_refused() {
        for (text, why) in [
            ("", "nothing would be compared"),
            ("numbers = []", "names no numbers"),
            ("numbers = [{ name = 'a', sql = 'select 1' }]", "{table}"),
            ("numbers = [{ sql = 'select v from {table}' }]", "name"),
            (
                "numbers = [{ name = 'a', sql = 'select v from {table}', tolerance = -1 }]",
                "tolerance",
            ),
            (
                "numbers = [{ name = 'a', sql = 'select v from {table}', tol = 1 }]",
                "tol",
            ),
            (
                "numbers = [{ name = 'a', sql = 'select v from {table}' }, { name = 'a', sql = 'select w from {table}' }]",
                "twice",
            ),
            ("catalog = 'select 1'\nqueries = 2", "from 3"),
            (
                "catalog = 'x'\nnumbers = [{ name = 'a', sql = 'select v from {table}' }]",
                "both",
            ),
            ("catalog = 'x'\nother = 1", "other"),
        ] {
            let problems = Report.problems(&clause(text));
            assert!(
                problems.iter().any(|one| one.contains(why)),
                "{text}: {problems:?}"
            );
        }
        let sound =
            clause("queries = 3\ncatalog = \"select name, sql from r where t = '{table}'\"");
        assert_eq!(Report.problems(&sound), Vec::<String>::new());
    }

    #[test]
    fn the_reservation_is_what_the_clause_says() {
        let output = Output {
            table: "t".into(),
            key: vec![],
            columns: vec![],
        };
        let queries = |text: &str| Report.queries(&clause(text), Some(&output));
        assert_eq!(
            queries("numbers = [{ name = 'a', sql = 'select v from {table}' }]"),
            2
        );
        assert_eq!(queries("catalog = 'x'"), 3);
        assert_eq!(queries("catalog = 'x'\nqueries = 5"), 5);
        assert_eq!(Report.queries(&clause("catalog = 'x'"), None), 0);
    }
}
