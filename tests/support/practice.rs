//! The headless practice migration, and what must be true of its files whatever happened on the way.
//!
//! Nothing here asks dogwatch's checkers: tables are compared in the world's own file, row by row and with
//! the scenario's golden values, and effects are counted where they happened.

use super::{Ended, dogwatch, json, look, number_of, repository, run};
use dogwatch::world::practice::golden;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A demo in a directory of its own.
pub struct Demo {
    pub dir: PathBuf,
    pub seed: u64,
    pub jobs: u32,
}

impl Demo {
    /// Of the size that `DOGWATCH_JOBS` names: all 120 on a release binary, fewer in a development build.
    pub fn new(dir: &Path, seed: u64) -> Self {
        let jobs = number_of("DOGWATCH_JOBS", 24);
        Self::small(dir, seed, u32::try_from(jobs).unwrap())
    }

    /// With fewer jobs.
    pub fn small(dir: &Path, seed: u64, jobs: u32) -> Self {
        Self {
            dir: dir.to_path_buf(),
            seed,
            jobs,
        }
    }

    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    pub fn world(&self) -> PathBuf {
        self.dir.join("world.db")
    }

    /// The command of the issue.
    pub fn command(&self) -> Command {
        let mut command = dogwatch(&self.ledger());
        command
            .args(["demo", "--headless", "--seed", &self.seed.to_string()])
            .args(["--speed", "max", "--approve", "practice-owner", "--json"])
            .args(["--jobs", &self.jobs.to_string()])
            .arg("--dir")
            .arg(&self.dir);
        command
    }

    /// The whole migration in one go.
    pub fn run(&self) -> Ended {
        run(&mut self.command())
    }

    /// `jobs --json`.
    pub fn jobs(&self) -> Value {
        json(&self.ledger(), &["jobs", "--json"])
    }

    /// Jobs by id with state and reason, as `jobs --json` tells them.
    pub fn ends(&self) -> BTreeMap<String, (String, String)> {
        let jobs = self.jobs();
        let text = |job: &Value, key: &str| job[key].as_str().unwrap().to_owned();
        jobs["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| (text(job, "id"), (text(job, "state"), text(job, "reason"))))
            .collect()
    }
}

/// A row of the scenario; what the tests score against.
#[derive(Debug)]
pub struct Row {
    pub job: String,
    pub class: String,
    pub table: String,
    pub golden_rows: u64,
    pub golden_checksum: String,
}

/// The first `jobs` of the 120.
pub fn scenario(jobs: u32) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(repository("assets/practice/jobs120.csv")).unwrap();
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|one| one == name).unwrap();
    let [job, class, table, rows, checksum] =
        ["job", "cls", "target", "golden_rows", "golden_checksum"].map(column);
    reader
        .records()
        .take(jobs as usize)
        .map(|record| {
            let record = record.unwrap();
            Row {
                job: record[job].to_owned(),
                class: record[class].to_owned(),
                table: record[table].to_owned(),
                golden_rows: record[rows].parse().unwrap_or(0),
                golden_checksum: record[checksum].to_owned(),
            }
        })
        .collect()
}

/// Jobs of a class.
pub fn of_class(rows: &[Row], class: &str) -> BTreeSet<String> {
    rows.iter()
        .filter(|row| row.class == class)
        .map(|row| row.job.clone())
        .collect()
}

/// Everything that must hold when a whole run has ended, however often it was cut off.
#[track_caller]
pub fn assert_kept_its_promises(demo: &Demo, report: &Value) {
    let rows = scenario(demo.jobs);
    let ends = demo.ends();
    let world = look(&demo.world());
    let ledger = look(&demo.ledger());

    assert_eq!(report["chain"], "ok");
    assert_eq!(ends.len(), demo.jobs as usize);
    for (job, (state, reason)) in &ends {
        assert!(
            ["cut_over", "handed_over", "cancelled"].contains(&state.as_str()),
            "{job} is {state}"
        );
        assert!(!reason.is_empty(), "{job} ended without a reason");
    }
    let done: BTreeSet<String> = ends
        .iter()
        .filter(|(_, (state, _))| state == "cut_over")
        .map(|(job, _)| job.clone())
        .collect();
    assert!(
        done.len() * 120 >= 50 * ends.len(),
        "only {} jobs cut over",
        done.len()
    );
    for class in ["impossible", "retire"] {
        let wrong: Vec<_> = of_class(&rows, class)
            .intersection(&done)
            .cloned()
            .collect();
        assert!(wrong.is_empty(), "{class} jobs were cut over: {wrong:?}");
    }
    assert_retirements(&rows, &ends, &ledger);
    assert_eq!(
        different_outputs(&world, &rows, &done),
        Vec::<String>::new()
    );
    assert_eq!(wrong_effects(&world, &ledger), Vec::<String>::new());
    let moved = strings(&world, "select job from production_jobs");
    assert_eq!(BTreeSet::from_iter(moved), done);
    assert_approved(&ledger, &done);
    assert_counts(report, &ends, &world, &ledger);
}

/// Cut-over jobs whose production output is not the old job's, and why.
pub fn different_outputs(world: &Connection, rows: &[Row], done: &BTreeSet<String>) -> Vec<String> {
    let mut different = Vec::new();
    for row in rows.iter().filter(|row| done.contains(&row.job)) {
        let found = if row.table.is_empty() {
            different_run(world, &row.job)
        } else {
            different_table(world, row)
        };
        if let Some(why) = found {
            different.push(format!("{}: {why}", row.job));
        }
    }
    different
}

fn different_table(world: &Connection, row: &Row) -> Option<String> {
    let (old, new) = (
        format!("legacy__{}", row.table),
        format!("production__{}", row.table),
    );
    let columns = |table: &str| -> BTreeSet<String> {
        let mut found = world
            .prepare("select name from pragma_table_info(?1)")
            .unwrap();
        let names = found.query_map([table], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let names = columns(&old);
    if names.is_empty() || names != columns(&new) {
        return Some("other columns".to_owned());
    }
    let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    // Grouped, so that a row that stands twice on one side only is seen as well.
    let rows_of = |table: &str| {
        let list = list.join(",");
        format!("select {list}, count(*) from \"{table}\" group by {list}")
    };
    for (from, without) in [(&old, &new), (&new, &old)] {
        let sql = format!(
            "select count(*) from ({} except {})",
            rows_of(from),
            rows_of(without)
        );
        let count: i64 = world.query_row(&sql, [], |row| row.get(0)).unwrap();
        if count > 0 {
            return Some(format!("{count} rows of {from} are not in {without}"));
        }
    }
    let found = golden::of_table(world, &new).unwrap();
    if (found.rows, &found.checksum) != (row.golden_rows, &row.golden_checksum) {
        return Some(format!("{found:?} is not the golden value"));
    }
    None
}

/// A job without a table is compared by what its run did.
fn different_run(world: &Connection, job: &str) -> Option<String> {
    let old: BTreeSet<String> = strings(
        world,
        &format!("select effect_digest from legacy_runs where job = '{job}' and exit = 0"),
    )
    .into_iter()
    .collect();
    let new = strings(
        world,
        &format!(
            "select effect_digest from production_runs join production_jobs using (no) \
             where job = '{job}' and exit = 0 and tasks > 0"
        ),
    );
    let same = old.len() == 1 && new.len() == 1 && old.contains(&new[0]);
    (!same).then(|| format!("old {old:?}, new {new:?}"))
}

/// Those to retire are proposed with evidence, and no other job is.
fn assert_retirements(
    rows: &[Row],
    ends: &BTreeMap<String, (String, String)>,
    ledger: &Connection,
) {
    let mut proposed = BTreeSet::new();
    for body in strings(
        ledger,
        "select body from events where kind = 'job.added' order by seq",
    ) {
        let body: Value = serde_json::from_str(&body).unwrap();
        if body["hold"]["kind"] == "retire" {
            let evidence = body["hold"]["evidence"].as_array().unwrap();
            assert!(!evidence.is_empty(), "{body}");
            proposed.insert(body["origin"].as_str().unwrap().to_owned());
        }
    }
    let told: BTreeSet<String> = ends
        .iter()
        .filter(|(_, (_, reason))| reason.starts_with("proposed to retire"))
        .map(|(job, _)| job.clone())
        .collect();
    assert_eq!(told, of_class(rows, "retire"));
    assert_eq!(proposed.len(), told.len());
    if rows.len() == 120 {
        assert_eq!(told.len(), 15);
    }
}

/// What happened twice, and what only the world or only the ledger tells of.
pub fn wrong_effects(world: &Connection, ledger: &Connection) -> Vec<String> {
    let mut wrong = Vec::new();
    for (what, sql) in [
        (
            "effects",
            "select operation_id || ' ' || action from effects group by operation_id, action having count(*) > 1",
        ),
        (
            "staging jobs",
            "select operation_id from staging_jobs group by operation_id having count(*) > 1",
        ),
        (
            "cutovers",
            "select job from production_jobs group by job having count(*) > 1",
        ),
        (
            "jobs that both schedulers run",
            "select job from production_jobs join legacy_jobs using (job) where disabled_by is null",
        ),
        (
            "tries of one config beyond the limit",
            "select job from staging_jobs group by job, config_digest having count(*) > 5",
        ),
    ] {
        wrong.extend(
            strings(world, sql)
                .iter()
                .map(|one| format!("{what}: {one}")),
        );
    }
    let happened: BTreeSet<String> = strings(
        world,
        "select operation_id || ' ' || action || ' ' || job || ' ' || reference from effects",
    )
    .into_iter()
    .collect();
    let applied = strings(
        ledger,
        "select body ->> 'operation' || ' ' || (select i.body ->> 'action' from events i where i.kind = 'op.intended' \
           and i.body ->> 'operation' = e.body ->> 'operation') || ' ' || job || ' ' || (body ->> 'reference') \
         from events e where kind = 'op.applied'",
    );
    let known: BTreeSet<String> = applied.iter().cloned().collect();
    if known.len() != applied.len() {
        wrong.push("recorded as applied twice".to_owned());
    }
    let differing = known.symmetric_difference(&happened);
    wrong.extend(differing.map(|one| format!("only one side knows: {one}")));
    wrong
}

/// Each cutover uses a request that the owner approved before.
fn assert_approved(ledger: &Connection, done: &BTreeSet<String>) {
    let approved: BTreeSet<String> = strings(
        ledger,
        "select i.job from events i join events d on d.kind = 'approval.decided' \
           and d.body ->> 'approval' = i.body ->> 'approval' and d.job = i.job and d.seq < i.seq \
         where i.kind = 'op.intended' and i.body ->> 'action' = 'cut_over' and d.body ->> 'approved' = 1 \
           and d.body ->> 'by' = 'practice-owner'",
    )
    .into_iter()
    .collect();
    assert!(done.is_subset(&approved), "{:?}", done - &approved);
}

/// The report's numbers are those of the files.
fn assert_counts(
    report: &Value,
    ends: &BTreeMap<String, (String, String)>,
    world: &Connection,
    ledger: &Connection,
) {
    let ended = |state: &str| ends.values().filter(|(one, _)| one == state).count() as u64;
    let jobs = &report["jobs"];
    assert_eq!(jobs["total"], ends.len());
    assert_eq!(jobs["open"], 0);
    for state in ["cut_over", "handed_over", "cancelled"] {
        assert_eq!(jobs[state], ended(state), "{state}");
    }
    let count = |conn: &Connection, sql: &str| -> i64 {
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let effects = count(world, "select count(*) from effects");
    assert_eq!(report["operations"]["applied"], effects);
    assert_eq!(report["operations"]["to_verify"], 0);
    let queries = count(
        ledger,
        "select sum(body ->> 'spent') from events where kind = 'evidence.recorded'",
    );
    assert!(report["queries"]["used"].as_i64().unwrap() >= queries);
    assert!(queries > 0);
    let approved = count(
        ledger,
        "select count(*) from events where kind = 'approval.decided' and body ->> 'approved' = 1",
    );
    assert_eq!(report["approvals"]["approved"], approved);
}

/// The first column of every row.
pub fn strings(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
