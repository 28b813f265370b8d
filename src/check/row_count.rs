//! The `row_count` checker: as many rows on the new side as on the old one. Two queries.

use super::params::{Params, note};
use super::warehouse::{Answer, Meter, unclear, whole};
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::canon::digest_parts;
use crate::model::{Digest, Verdict};
use crate::world::ports::{Output, PortError, Side, Timed};
use serde_json::json;
use std::path::Path;

/// Changes whenever the meaning of a verdict does.
const VERSION: &str = "1";

/// The `row_count` checker.
///
/// Parameters: `allow_empty` (default false): zero rows on both sides is a pass instead of
/// inconclusive.
pub struct RowCount;

impl Checker for RowCount {
    fn name(&self) -> &'static str {
        "row_count"
    }

    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        digest_parts([self.name(), VERSION, &sql("t")])
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        let params = Params(&clause.params);
        let mut problems = params.unknown(&["allow_empty"]);
        note(&mut problems, params.flag("allow_empty", false));
        problems
    }

    fn queries(&self, _clause: &Clause, output: Option<&Output>) -> u64 {
        if output.is_some() { 2 } else { 0 }
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let Some(output) = input.output else {
            return Ok(unverified("the job declares no table to count"));
        };
        let Some(warehouse) = input.world.warehouse.as_deref() else {
            return Ok(unverified("the goal has no warehouse to count in"));
        };
        let allow_empty = match Params(&input.clause.params).flag("allow_empty", false) {
            Ok(allow_empty) => allow_empty,
            Err(why) => return Ok(unverified(why)),
        };
        let old_table = warehouse.table(Side::Legacy, input.job, &output.table, input.logical_date);
        let new_table = warehouse.table(input.side, input.job, &output.table, input.logical_date);
        let mut meter = Meter::new(warehouse);
        let old = count(&mut meter, &old_table)?;
        let new = match &old {
            Ok(_) => count(&mut meter, &new_table)?,
            Err(_) => Ok(0),
        };
        let (verdict, summary) = judge(&old, &new, input.side, allow_empty);
        let mut evidence = Evidence::bare(verdict, summary);
        let number = |count: &Result<i64, String>| count.as_ref().ok().copied();
        let new = old.is_ok().then(|| number(&new)).flatten();
        evidence
            .numbers
            .insert("rows".into(), json!({"old": number(&old), "new": new}));
        evidence.numbers.insert(
            "tables".into(),
            json!({"old": old_table, "new": new_table, "side": input.side.word()}),
        );
        evidence.queries = meter.queries;
        Ok(Timed {
            value: evidence,
            took_ms: meter.took_ms,
        })
    }
}

fn sql(table: &str) -> String {
    format!("SELECT count(*) AS n FROM {table}")
}

/// The count, or what the side does not have.
fn count(meter: &mut Meter<'_>, table: &str) -> Result<Result<i64, String>, PortError> {
    match meter.one_row(sql(table))? {
        Answer::Missing(what) => Ok(Err(what)),
        Answer::Row(cells) => match cells.first().and_then(whole) {
            Some(count) if count >= 0 => Ok(Ok(count)),
            _ => Err(unclear(format!(
                "the count of {table} came back as no whole number"
            ))),
        },
    }
}

fn judge(
    old: &Result<i64, String>,
    new: &Result<i64, String>,
    side: Side,
    allow_empty: bool,
) -> (Verdict, String) {
    let word = side.word();
    match (old, new) {
        (Err(what), _) => (
            Verdict::Unverified,
            format!("the old side cannot be counted: {what}"),
        ),
        (Ok(_), Err(what)) => (
            Verdict::Fail,
            format!("the new side ({word}) has no such table: {what}"),
        ),
        (Ok(0), Ok(0)) if !allow_empty => (
            Verdict::Inconclusive,
            "0 rows on both sides: nothing was compared; compare another date, or set allow_empty"
                .to_owned(),
        ),
        (Ok(old), Ok(new)) if old == new => {
            (Verdict::Pass, format!("{old} rows on both sides ({word})"))
        }
        (Ok(old), Ok(new)) => (
            Verdict::Fail,
            format!(
                "{old} rows before, {new} now in {word} ({:+})",
                new.saturating_sub(*old)
            ),
        ),
    }
}

fn unverified(why: impl Into<String>) -> Timed<Evidence> {
    Timed::now(Evidence::bare(Verdict::Unverified, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_equal_to_nothing_proves_nothing() {
        let verdict = |old, new, allow| judge(&Ok(old), &Ok(new), Side::Staging, allow).0;
        assert_eq!(verdict(0, 0, false), Verdict::Inconclusive);
        assert_eq!(verdict(0, 0, true), Verdict::Pass);
        assert_eq!(verdict(0, 1, true), Verdict::Fail);
        assert_eq!(verdict(7, 0, false), Verdict::Fail);
        assert_eq!(verdict(7, 7, false), Verdict::Pass);
    }
}
