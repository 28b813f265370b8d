//! One run of a new definition: its command is interpreted, its SQL really runs.

use super::definition::{Definition, WriteMode};
use super::dialect::{Days, Engine, Step, translate};
use super::platform::{Platform, RunSql};
use super::schema::{INVENTORY_LOCK, is_behind_inventory_lock, physical, quoted};
use super::shell::{Host as _, Shell, ShellError};
use super::{RUN_DAY, apply, lazy, place};
use crate::model::canon::digest_parts;
use crate::model::{Digest, JobId};
use crate::world::ports::Side;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::{BTreeMap, BTreeSet};

/// How many days later the drill's second pass runs, by the clock on the wall: what depends on that clock
/// and not on the logical date gives other rows then.
pub const RERUN_AFTER_DAYS: i64 = 30;

/// What to run.
pub(super) struct Spec<'a> {
    /// The definition.
    pub definition: &'a Definition,
    /// The logical day.
    pub day: i64,
    /// How the tables that it writes begin, such as `staging`.
    pub place: String,
    /// `today()`.
    pub wall_day: i64,
    /// Where declared upstream jobs are read.
    pub upstream: &'a BTreeMap<JobId, Side>,
    /// How often the command runs for the one logical date.
    pub passes: u32,
    /// Differs for every run.
    pub nonce: &'a str,
    /// How many jobs downstream wait for its rows, where it runs for theirs.
    pub depth: u32,
}

/// What a run showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Exit status of the last command.
    pub exit: i32,
    /// Programs that did work, in the last pass.
    pub tasks: u32,
    /// What they did, in the last pass.
    pub effects: Vec<String>,
    /// The log of all passes.
    pub log: String,
    /// Why it failed; empty when it did not.
    pub why: String,
}

impl Seen {
    /// From a shell's end and the platform it ran on.
    pub fn of(result: Result<(i32, String), ShellError>, mut platform: Platform<'_>) -> Self {
        let (exit, why) = match result {
            Ok((0, _)) => (0, String::new()),
            Ok((status, _)) => {
                let last = platform.log.lines().last().unwrap_or("").to_owned();
                let why = format!("the command ended with status {status}: {last}");
                (status, why)
            }
            Err(error) => {
                platform.log(&error.0);
                (1, error.0)
            }
        };
        Self {
            exit,
            tasks: platform.tasks,
            effects: platform.effects,
            log: platform.log,
            why,
        }
    }

    /// Equal digests mean equal effects.
    pub fn effect_digest(&self) -> Digest {
        digest_parts(self.effects.iter().map(String::as_str))
    }
}

/// Hosts that do not answer as they should: name to what is seen.
pub(super) fn hosts(conn: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    pairs(conn, "select name, seen from hosts")
}

fn pairs(conn: &Connection, sql: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    conn.prepare_cached(sql)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Runs a definition. What it changed stays only when it succeeded; a staging table is empty before
/// each staging run, whatever becomes of it, so that no earlier run's rows are taken for this one's.
pub(super) fn execute(conn: &Connection, spec: &Spec<'_>) -> rusqlite::Result<Seen> {
    let held = pairs(conn, "select name, holder from locks")?;
    let hosts = hosts(conn)?;
    if spec.place != Side::Production.word() {
        empty(conn, &spec.place, spec.definition)?;
    }
    if let Some(skipped) = skipped(spec.definition, &held) {
        return Ok(skipped);
    }
    conn.execute_batch("savepoint run")?;
    let mut log = String::new();
    let mut last = None;
    for pass in 1..=spec.passes {
        if spec.passes > 1 {
            log.push_str(&format!(
                "drill {pass} of {} for {}, run on {}\n",
                spec.passes,
                super::date_of_day(spec.day),
                super::date_of_day(wall_day(spec, pass)),
            ));
        }
        let seen = pass_once(conn, spec, &held, &hosts, pass);
        log.push_str(&seen.log);
        let failed = !seen.why.is_empty();
        last = Some(seen);
        if failed {
            break;
        }
    }
    let mut seen = last.unwrap_or_else(|| nothing("no pass was asked for"));
    seen.log = log;
    if conn.is_autocommit() {
        // A stopped statement took the whole transaction with it.
        return Err(stopped());
    }
    conn.execute_batch(if seen.why.is_empty() {
        "release run"
    } else {
        "rollback to run; release run"
    })?;
    Ok(seen)
}

/// The error of a run whose SQL went past the world's limit.
fn stopped() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT),
        None,
    )
}

/// The wall clock of a pass: later passes are reruns of the same logical date, long after.
fn wall_day(spec: &Spec<'_>, pass: u32) -> i64 {
    spec.wall_day + i64::from(pass.saturating_sub(1)) * RERUN_AFTER_DAYS
}

fn nothing(line: &str) -> Seen {
    Seen {
        exit: 0,
        tasks: 0,
        effects: Vec::new(),
        log: format!("{line}\n"),
        why: String::new(),
    }
}

/// A definition that does not wait for its lock does not start while another holds it.
fn skipped(definition: &Definition, held: &BTreeMap<String, String>) -> Option<Seen> {
    let lock = definition.lock.as_ref().filter(|lock| !lock.wait)?;
    let holder = held.get(&lock.name)?;
    Some(nothing(&format!(
        "{} is held by {holder}; skipped: lock held",
        lock.name
    )))
}

/// Empties the table that a definition writes in a place.
pub(super) fn empty(
    conn: &Connection,
    place: &str,
    definition: &Definition,
) -> rusqlite::Result<()> {
    let Some(write) = &definition.write else {
        return Ok(());
    };
    let table = physical(place, &write.table);
    if apply::table_exists(conn, &table) {
        conn.execute(&format!("delete from {}", quoted(&table)), [])?;
    }
    conn.execute("delete from written_rows where table_name = ?1", [&table])?;
    Ok(())
}

fn pass_once(
    conn: &Connection,
    spec: &Spec<'_>,
    held: &BTreeMap<String, String>,
    hosts: &BTreeMap<String, String>,
    pass: u32,
) -> Seen {
    let definition = spec.definition;
    let mut taken = BTreeSet::new();
    if let Some(lock) = &definition.lock {
        taken.insert(lock.name.clone());
    }
    let mut run_sql = |locks: &BTreeSet<String>| sql_once(conn, spec, locks, pass);
    let run_sql: &mut RunSql<'_> = &mut run_sql;
    let mut platform = Platform {
        old: false,
        day: spec.day,
        held,
        taken,
        hosts,
        nonce: format!("{}-{pass}", spec.nonce),
        run_sql,
        tasks: 0,
        effects: Vec::new(),
        log: String::new(),
    };
    if !platform.has_folder(&definition.working_folder) {
        let error = format!(
            "working folder {} does not exist",
            definition.working_folder
        );
        return Seen::of(Err(ShellError(error)), platform);
    }
    let result = Shell {
        environment: definition.environment.clone(),
        folder: definition.working_folder.clone(),
        host: &mut platform,
        depth: 0,
    }
    .run(&definition.command);
    Seen::of(result, platform)
}

/// What `run-sql` does in the new scheduler: the definition's SQL, in the new engine's dialect.
fn sql_once(
    conn: &Connection,
    spec: &Spec<'_>,
    locks: &BTreeSet<String>,
    pass: u32,
) -> Result<String, String> {
    let definition = spec.definition;
    let sql = definition
        .sql
        .as_deref()
        .ok_or("run-sql: the definition brings no SQL")?;
    let write = definition
        .write
        .as_ref()
        .ok_or("run-sql: the definition declares no table")?;
    let table = lazy::ensure(conn, &spec.place, &write.table)?;
    let days = Days {
        logical: spec.day,
        wall: wall_day(spec, pass),
    };
    let steps = translate(sql, Engine::New, days, &mut |name| {
        resolve(conn, spec, locks, &write.table, name)
    })
    .map_err(|error| format!("run-sql: {error}"))?;
    if let Some(other) = steps.iter().find(|step| step.table() != write.table) {
        return Err(format!(
            "run-sql: writes {}, which the definition does not declare",
            other.table()
        ));
    }
    let text = |error: rusqlite::Error| format!("run-sql: {error}");
    prepare(conn, write.mode, &table, spec.day).map_err(text)?;
    let before = last_rowid(conn, &table).map_err(text)?;
    apply::run(conn, &steps, &table)?;
    let recreated = steps.iter().any(|step| matches!(step, Step::Drop { .. }));
    let first = if recreated { 0 } else { before };
    conn.execute(
        "insert into written_rows select ?1, ?2, ?3, ?4 where ?4 > ?3",
        params![
            table,
            spec.day,
            first,
            last_rowid(conn, &table).map_err(text)?
        ],
    )
    .map_err(text)?;
    let rows: i64 = conn
        .query_row(
            &format!("select count(*) from {}", quoted(&table)),
            [],
            |row| row.get(0),
        )
        .map_err(text)?;
    Ok(format!("run-sql: {table}: {rows} rows"))
}

fn last_rowid(conn: &Connection, table: &str) -> rusqlite::Result<i64> {
    conn.query_row(
        &format!("select coalesce(max(rowid), 0) from {}", quoted(table)),
        [],
        |row| row.get(0),
    )
}

/// The write mode: what happens to the rows that are there.
fn prepare(conn: &Connection, mode: WriteMode, table: &str, day: i64) -> rusqlite::Result<()> {
    match mode {
        WriteMode::Append => return Ok(()),
        WriteMode::Replace => {
            conn.execute(&format!("delete from {}", quoted(table)), [])?;
        }
        WriteMode::ReplaceInterval => {
            conn.execute(
                &format!(
                    "delete from {0} where exists (select 1 from written_rows w where w.table_name = ?1 \
                     and w.day = ?2 and {0}.rowid > w.first_rowid and {0}.rowid <= w.last_rowid)",
                    quoted(table)
                ),
                params![table, day],
            )?;
        }
    }
    conn.execute(
        "delete from written_rows where table_name = ?1 and (?2 or day = ?3)",
        params![table, mode == WriteMode::Replace, day],
    )?;
    Ok(())
}

/// The physical table behind a name that the job reads.
fn resolve(
    conn: &Connection,
    spec: &Spec<'_>,
    locks: &BTreeSet<String>,
    own: &str,
    name: &str,
) -> Result<String, String> {
    if name == own {
        return Ok(physical(&spec.place, name));
    }
    let text = |error: rusqlite::Error| error.to_string();
    let owner: Option<String> = conn
        .prepare_cached("select job from legacy_jobs where target = ?1")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .map_err(text)?;
    let Some(owner) = owner else {
        if !is_source(conn, name) {
            return Err(format!("no such table: {name}"));
        }
        let half = is_behind_inventory_lock(name) && !locks.contains(INVENTORY_LOCK);
        return Ok(if half {
            physical("loading", name)
        } else {
            name.to_owned()
        });
    };
    let owner = JobId(owner);
    if !spec.definition.depends_on.contains(&owner) {
        let yesterday = if spec.day == RUN_DAY {
            "yesterday".to_owned()
        } else {
            format!("yesterday_{}", spec.day)
        };
        return lazy::ensure(conn, &yesterday, name);
    }
    let side = match spec.upstream.get(&owner) {
        Some(side) => *side,
        None if is_cut_over(conn, &owner).map_err(text)? => Side::Production,
        None => Side::Legacy,
    };
    match side {
        Side::Legacy => lazy::ensure(conn, &place(side, spec.day), name),
        _ if ran_for(conn, &owner, side).map_err(text)? == Some(spec.day) => {
            lazy::ensure(conn, side.word(), name)
        }
        _ => backfilled(conn, spec, &owner, side, name),
    }
}

/// The day of a job's last run on a new side.
fn ran_for(conn: &Connection, job: &JobId, side: Side) -> rusqlite::Result<Option<i64>> {
    let (jobs, runs) = new_side(side);
    conn.prepare_cached(&format!(
        "select r.day from {jobs} j join {runs} r on r.no = j.no where j.job = ?1 order by j.no desc limit 1"
    ))?
    .query_row([job.as_str()], |row| row.get(0))
    .optional()
}

/// Jobs and runs of a new side.
const fn new_side(side: Side) -> (&'static str, &'static str) {
    match side {
        Side::Production => ("production_jobs", "production_runs"),
        Side::Staging | Side::Legacy => ("staging_jobs", "staging_runs"),
    }
}

/// What an upstream job's new definition writes for a day that it did not run for, in a table of its own
/// that is made anew for each reader.
fn backfilled(
    conn: &Connection,
    spec: &Spec<'_>,
    job: &JobId,
    side: Side,
    table: &str,
) -> Result<String, String> {
    if spec.depth >= lazy::MAX_CHAIN {
        return Err(format!("{job}: more than {} jobs deep", lazy::MAX_CHAIN));
    }
    let text = |error: rusqlite::Error| error.to_string();
    let (jobs, _) = new_side(side);
    let config: Option<String> = conn
        .prepare_cached(&format!(
            "select config from {jobs} where job = ?1 order by no desc limit 1"
        ))
        .and_then(|mut statement| {
            statement
                .query_row([job.as_str()], |row| row.get(0))
                .optional()
        })
        .map_err(text)?;
    let config = config.ok_or_else(|| format!("{job} has no definition in {}", side.word()))?;
    let definition = Definition::parse(&config)?;
    let inner = Spec {
        definition: &definition,
        day: spec.day,
        place: format!("backfill_{}", place(side, spec.day)),
        wall_day: spec.wall_day,
        upstream: &BTreeMap::new(),
        passes: 1,
        nonce: spec.nonce,
        depth: spec.depth + 1,
    };
    let locks = definition
        .lock
        .iter()
        .map(|lock| lock.name.clone())
        .collect();
    let written = physical(&inner.place, table);
    empty(conn, &inner.place, &definition).map_err(text)?;
    sql_once(conn, &inner, &locks, 1)?;
    Ok(written)
}

/// Source tables are the warehouse's own; bookkeeping is not for jobs to read.
pub(super) fn is_source(conn: &Connection, name: &str) -> bool {
    (name.starts_with("src_") || name == "dim_calendar") && apply::table_exists(conn, name)
}

/// Whether a job runs in production.
pub(super) fn is_cut_over(conn: &Connection, job: &JobId) -> rusqlite::Result<bool> {
    conn.prepare_cached("select 1 from production_jobs where job = ?1 and removed_by is null")?
        .exists([job.as_str()])
}
