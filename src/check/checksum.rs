//! The `checksum` checker: the same rows on both sides, whatever their order. Four queries, two a side.
//!
//! The definition is in docs/reconciliation.md. The first query of a side gives counts, key sums and row
//! sums; the second gives one lane a column, which names the guilty column, and aggregates of floats.

use super::canonical::Dialect;
use super::checksum_numbers::{Lanes, Sums, floats_equal, lane_numbers, named};
use super::checksum_sql::Columns;
use super::diagnosis;
use super::params::{Params, note};
use super::warehouse::{Answer, Meter, unclear};
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::canon::digest_parts;
use crate::model::{Digest, Verdict};
use crate::world::ports::{Column, ColumnKind, Output, PortError, Side, Timed};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Changes whenever the meaning of a verdict does and the SQL does not show it.
const VERSION: &str = "1";
const KNOWN: &[&str] = &[
    "columns",
    "exclude",
    "hash",
    "float_tolerance",
    "allow_empty",
    "diagnose",
];
const MAX_EXCLUDED: usize = 64;

/// The `checksum` checker.
///
/// Parameters: `columns` (`"key"`, the default: row sums, and column lanes keyed by the declared key;
/// `"all"`: the declared key is distrusted and the whole row stands for it), `exclude` (column names),
/// `hash` (`"md5"`), `float_tolerance` (relative, default 1e-9), `allow_empty` (default false),
/// `diagnose` (default false: two more queries on a mismatch, to name the relaxation that would make
/// the guilty columns equal).
pub struct Checksum;

struct Settings<'a> {
    whole_row_is_key: bool,
    exclude: Vec<&'a str>,
    float_tolerance: f64,
    allow_empty: bool,
    diagnose: bool,
}

fn settings(clause: &Clause) -> Result<Settings<'_>, Vec<String>> {
    let params = Params(&clause.params);
    let mut problems = params.unknown(KNOWN);
    let columns = note(&mut problems, params.text("columns", "key"));
    if let Some(other) = columns.filter(|word| !["key", "all"].contains(word)) {
        problems.push(format!("columns must be \"key\" or \"all\", not {other:?}"));
    }
    if let Some(hash) = note(&mut problems, params.text("hash", "md5")).filter(|h| *h != "md5") {
        problems.push(format!("hash must be \"md5\", not {hash:?}"));
    }
    let exclude = note(&mut problems, params.texts("exclude", MAX_EXCLUDED));
    let tolerance = note(
        &mut problems,
        params.number("float_tolerance", 1e-9, 0.0, 0.1),
    );
    let allow_empty = note(&mut problems, params.flag("allow_empty", false));
    let diagnose = note(&mut problems, params.flag("diagnose", false));
    match (tolerance, allow_empty, diagnose, problems.is_empty()) {
        (Some(float_tolerance), Some(allow_empty), Some(diagnose), true) => Ok(Settings {
            whole_row_is_key: columns == Some("all"),
            exclude: exclude.flatten().unwrap_or_default(),
            float_tolerance,
            allow_empty,
            diagnose,
        }),
        _ => Err(problems),
    }
}

impl Checker for Checksum {
    fn name(&self) -> &'static str {
        "checksum"
    }

    /// Covers the SQL of a sample with every kind of column, so that no change of it goes unnoticed.
    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        let mut parts = vec![self.name().to_owned(), VERSION.to_owned()];
        if let Ok(columns) = Columns::new(&sample(), &[], false, 1e-9) {
            for dialect in Dialect::ALL {
                parts.push(columns.sums_sql(*dialect, "x"));
                parts.push(columns.columns_sql(*dialect, "x"));
            }
        }
        digest_parts(parts.iter().map(String::as_str))
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        settings(clause).err().unwrap_or_default()
    }

    fn queries(&self, clause: &Clause, output: Option<&Output>) -> u64 {
        match output {
            None => 0,
            Some(_) if clause.params.get("diagnose") == Some(&Value::Bool(true)) => 6,
            Some(_) => 4,
        }
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let settings = match settings(input.clause) {
            Ok(settings) => settings,
            Err(problems) => return Ok(unverified(problems.join("; "))),
        };
        let Some(output) = input.output else {
            return Ok(unverified("the job declares no table to compare"));
        };
        let Some(warehouse) = input.world.warehouse.as_deref() else {
            return Ok(unverified("the goal has no warehouse to compare in"));
        };
        let Some(dialect) = Dialect::from_word(warehouse.dialect()) else {
            return Ok(unverified(format!(
                "the canonical text is not defined for the dialect {:?}",
                warehouse.dialect()
            )));
        };
        let columns = match Columns::new(
            output,
            &settings.exclude,
            settings.whole_row_is_key,
            settings.float_tolerance,
        ) {
            Ok(columns) => columns,
            Err(why) => return Ok(unverified(why)),
        };
        let mut run = Run {
            columns,
            dialect,
            old_table: warehouse.table(Side::Legacy, input.job, &output.table, input.logical_date),
            new_table: warehouse.table(input.side, input.job, &output.table, input.logical_date),
            side: input.side,
            settings,
            meter: Meter::new(warehouse),
            numbers: Map::new(),
        };
        let (verdict, summary) = run.judge()?;
        Ok(Timed {
            value: Evidence {
                verdict,
                summary,
                numbers: run.numbers,
                queries: run.meter.queries,
            },
            took_ms: run.meter.took_ms,
        })
    }
}

/// One judgement.
struct Run<'a> {
    columns: Columns,
    dialect: Dialect,
    old_table: String,
    new_table: String,
    side: Side,
    settings: Settings<'a>,
    meter: Meter<'a>,
    numbers: Map<String, Value>,
}

impl Run<'_> {
    fn judge(&mut self) -> Result<(Verdict, String), PortError> {
        self.note_contract();
        let old = match self.sums(true)? {
            Ok(sums) => sums,
            Err(what) => return Ok(cannot_read_old(&what)),
        };
        let new = match self.sums(false)? {
            Ok(sums) => sums,
            Err(what) => return Ok(lacks(self.side, &what)),
        };
        self.note_sums(&old, &new);
        if old.n == 0 && new.n == 0 {
            return Ok(if self.settings.allow_empty {
                let text = "0 rows on both sides, which the contract allows";
                (Verdict::Pass, text.to_owned())
            } else {
                let text = "0 rows on both sides: nothing was compared; compare another date, or set allow_empty";
                (Verdict::Inconclusive, text.to_owned())
            });
        }
        let old_lanes = match self.lanes(true)? {
            Ok(lanes) => lanes,
            Err(what) => return Ok(cannot_read_old(&what)),
        };
        let new_lanes = match self.lanes(false)? {
            Ok(lanes) => lanes,
            Err(what) => return Ok(lacks(self.side, &what)),
        };
        let differing = self.note_columns(&old_lanes, &new_lanes);
        let wrong_floats = self.note_floats(&old_lanes, &new_lanes);
        if old == new && !differing.is_empty() {
            return Err(PortError::environment(format!(
                "{} or {} changed between two queries of one check",
                self.old_table, self.new_table
            )));
        }
        let guilty = self.guilty(&old, &new, &differing, &wrong_floats);
        self.numbers.insert("guilty_columns".into(), json!(guilty));
        if old == new && wrong_floats.is_empty() {
            return Ok((Verdict::Pass, self.passed(&old)));
        }
        let mut summary = self.failed(&old, &new, &guilty);
        if self.settings.diagnose && old.n == new.n && old.key == new.key && !differing.is_empty() {
            summary.push_str("; ");
            summary.push_str(&self.diagnose(&differing, &old_lanes, &new_lanes)?);
        }
        Ok((Verdict::Fail, summary))
    }

    fn table(&self, is_old: bool) -> &str {
        if is_old {
            &self.old_table
        } else {
            &self.new_table
        }
    }

    fn sums(&mut self, is_old: bool) -> Result<Result<Sums, String>, PortError> {
        let sql = self.columns.sums_sql(self.dialect, self.table(is_old));
        let cells = match self.meter.one_row(sql)? {
            Answer::Missing(what) => return Ok(Err(what)),
            Answer::Row(cells) => cells,
        };
        Sums::read(&cells)
            .map(Ok)
            .ok_or_else(|| self.garbage(is_old))
    }

    fn lanes(&mut self, is_old: bool) -> Result<Result<Lanes, String>, PortError> {
        let sql = self.columns.columns_sql(self.dialect, self.table(is_old));
        let cells = match self.meter.one_row(sql)? {
            Answer::Missing(what) => return Ok(Err(what)),
            Answer::Row(cells) => cells,
        };
        Lanes::read(&cells, self.columns.exact.len(), self.columns.floats.len())
            .map(Ok)
            .ok_or_else(|| self.garbage(is_old))
    }

    fn garbage(&self, is_old: bool) -> PortError {
        unclear(format!(
            "the checksum of {} came back in another shape than its query gives",
            self.table(is_old)
        ))
    }

    fn note_contract(&mut self) {
        let entries = [
            ("contract", self.columns.to_json()),
            ("contract_digest", json!(self.columns.digest())),
            ("dialect", json!(self.dialect.word())),
            (
                "tables",
                json!({"old": self.old_table, "new": self.new_table, "side": self.side.word()}),
            ),
        ];
        for (name, value) in entries {
            self.numbers.insert(name.to_owned(), value);
        }
    }

    fn note_sums(&mut self, old: &Sums, new: &Sums) {
        let entries = [
            ("rows", json!({"old": old.n, "new": new.n})),
            (
                "null_keys",
                json!({"old": old.null_keys, "new": new.null_keys}),
            ),
            (
                "distinct_keys",
                json!({"old": old.distinct_keys, "new": new.distinct_keys}),
            ),
            ("key_sums", json!({"old": old.key, "new": new.key})),
            ("row_sums", json!({"old": old.row, "new": new.row})),
        ];
        for (name, value) in entries {
            self.numbers.insert(name.to_owned(), value);
        }
    }

    /// Places of the exact columns whose lanes differ.
    fn note_columns(&mut self, old: &Lanes, new: &Lanes) -> Vec<usize> {
        let mut lanes = Map::new();
        let mut differing = Vec::new();
        let pairs = old.columns.iter().zip(&new.columns);
        for (place, (column, (old, new))) in self.columns.exact.iter().zip(pairs).enumerate() {
            lanes.insert(column.name.clone(), json!({"old": old, "new": new}));
            if old != new {
                differing.push(place);
            }
        }
        self.numbers.insert("column_lanes".into(), lanes.into());
        differing
    }

    /// Names of the float columns that are not equal within the tolerance.
    fn note_floats(&mut self, old: &Lanes, new: &Lanes) -> Vec<String> {
        let mut floats = Map::new();
        let mut wrong = Vec::new();
        let pairs = old.floats.iter().zip(&new.floats);
        for (name, (old, new)) in self.columns.floats.iter().zip(pairs) {
            let equal = floats_equal(old, new, self.settings.float_tolerance);
            floats.insert(
                name.clone(),
                json!({"old": named(old), "new": named(new), "within_tolerance": equal}),
            );
            if !equal {
                wrong.push(name.clone());
            }
        }
        self.numbers.insert("floats".into(), floats.into());
        wrong
    }

    /// Columns to blame, by name. Lanes are keyed, so once keys differ every lane does: then only the
    /// key columns can be blamed, and with another number of rows none.
    fn guilty(
        &self,
        old: &Sums,
        new: &Sums,
        differing: &[usize],
        floats: &[String],
    ) -> Vec<String> {
        if old.n != new.n {
            return Vec::new();
        }
        if old.key != new.key {
            return self.columns.key_columns().map(|c| c.name.clone()).collect();
        }
        let exact = differing
            .iter()
            .filter_map(|place| Some(self.columns.exact.get(*place)?.name.clone()));
        exact.chain(floats.iter().cloned()).collect()
    }

    fn passed(&self, old: &Sums) -> String {
        let floats = match self.columns.floats.len() {
            0 => String::new(),
            count => format!(
                "; {count} float column(s) within {}",
                self.settings.float_tolerance
            ),
        };
        let repeated = if old.distinct_keys < old.n {
            format!(
                "; the key is not unique ({} of {})",
                old.distinct_keys, old.n
            )
        } else {
            String::new()
        };
        format!(
            "{} rows and {} columns are equal on both sides ({}){floats}{repeated}",
            old.n,
            self.columns.exact.len(),
            self.side.word()
        )
    }

    fn failed(&self, old: &Sums, new: &Sums, guilty: &[String]) -> String {
        let side = self.side.word();
        if old.n != new.n {
            return format!(
                "{} rows before, {} now in {side} ({:+})",
                old.n,
                new.n,
                new.n.saturating_sub(old.n)
            );
        }
        let n = old.n;
        if old.key != new.key {
            return format!(
                "{n} rows on both sides, but under other keys in {side}: {}",
                guilty.join(", ")
            );
        }
        if guilty.is_empty() {
            return format!(
                "{n} rows on both sides and no single column differs, but rows do in {side}: \
                 values are combined otherwise under keys that are not unique"
            );
        }
        format!(
            "{n} rows and the same keys on both sides, but other values in {side}: {}",
            guilty.join(", ")
        )
    }

    /// Which relaxed form would make the guilty columns equal. Two queries.
    fn diagnose(
        &mut self,
        differing: &[usize],
        old: &Lanes,
        new: &Lanes,
    ) -> Result<String, PortError> {
        let plan = diagnosis::plan(self.dialect, &self.columns.exact, differing);
        if plan.forms.is_empty() {
            return Ok("no relaxed form is known for them".to_owned());
        }
        let mut sides = Vec::new();
        for is_old in [true, false] {
            let table = self.table(is_old);
            let sql = self.columns.forms_sql(self.dialect, table, &plan.sql());
            let lanes = match self.meter.one_row(sql)? {
                Answer::Row(cells) => lane_numbers(&cells, plan.forms.len()),
                Answer::Missing(_) => None,
            };
            sides.push(lanes.ok_or_else(|| self.garbage(is_old))?);
        }
        let (Some(old_forms), Some(new_forms)) = (sides.first(), sides.get(1)) else {
            return Err(self.garbage(true));
        };
        let found = plan.explain((&old.columns, old_forms), (&new.columns, new_forms));
        let (value, text) = diagnosis::report(&self.columns.exact, &found, plan.left_out);
        self.numbers.insert("diagnosis".into(), value);
        Ok(text)
    }
}

fn cannot_read_old(what: &str) -> (Verdict, String) {
    (
        Verdict::Unverified,
        format!("the old side cannot be read: {what}"),
    )
}

fn lacks(side: Side, what: &str) -> (Verdict, String) {
    (
        Verdict::Fail,
        format!(
            "the new side ({}) lacks the table or a column of it: {what}",
            side.word()
        ),
    )
}

/// One column of every kind, for the checker's digest.
fn sample() -> Output {
    let kinds = [
        ("i", ColumnKind::Integer),
        ("n", ColumnKind::Decimal { scale: 2 }),
        ("t", ColumnKind::Text),
        ("s", ColumnKind::Timestamp),
        ("d", ColumnKind::Date),
        ("b", ColumnKind::Boolean),
        ("f", ColumnKind::Float),
    ];
    Output {
        table: "x".to_owned(),
        key: vec!["i".to_owned()],
        columns: kinds
            .into_iter()
            .map(|(name, kind)| Column {
                name: name.to_owned(),
                kind,
            })
            .collect(),
    }
}

fn unverified(why: impl Into<String>) -> Timed<Evidence> {
    Timed::now(Evidence::bare(Verdict::Unverified, why))
}
