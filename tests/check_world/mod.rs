//! A small world for checkers: a SQLite warehouse in memory, and schedulers that say what they are told.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use dogwatch::check::{CheckInput, Evidence, checker, register_sqlite_functions};
use dogwatch::contract::Clause;
use dogwatch::model::{
    Action, ClauseId, JobId, LogicalDate, OperationId, TimeMs, digest_bytes, digest_json,
};
use dogwatch::world::World;
use dogwatch::world::ports::*;
use rusqlite::types::ValueRef;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A warehouse over SQLite in memory; tables are named `side_table`.
pub struct Sqlite {
    db: Mutex<rusqlite::Connection>,
    /// Queries that ran.
    pub ran: Mutex<Vec<String>>,
}

impl Sqlite {
    pub fn new(sql: &str) -> Self {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        register_sqlite_functions(&db).unwrap();
        db.execute_batch(sql).unwrap();
        Self {
            db: Mutex::new(db),
            ran: Mutex::new(Vec::new()),
        }
    }

    pub fn execute(&self, sql: &str) {
        self.db.lock().unwrap().execute_batch(sql).unwrap();
    }
}

impl Warehouse for Sqlite {
    fn dialect(&self) -> &'static str {
        "sqlite"
    }

    fn table(&self, side: Side, _job: &JobId, table: &str, _: Option<&LogicalDate>) -> String {
        format!("{}_{table}", side.word())
    }

    fn query(&self, sql: &str) -> Result<Timed<Rows>, PortError> {
        self.ran.lock().unwrap().push(sql.to_owned());
        let db = self.db.lock().unwrap();
        let failed = |error: rusqlite::Error| PortError::job(error.to_string());
        let mut statement = db.prepare(sql).map_err(failed)?;
        let columns: Vec<String> = statement
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut found = statement.query([]).map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            let cell = |index| match row.get_ref(index).unwrap() {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(number) => Cell::Integer(number),
                ValueRef::Real(real) => Cell::Real(real),
                ValueRef::Text(text) | ValueRef::Blob(text) => {
                    Cell::Text(String::from_utf8_lossy(text).into_owned())
                }
            };
            rows.push((0..columns.len()).map(cell).collect());
        }
        Ok(Timed {
            value: Rows { columns, rows },
            took_ms: 7,
        })
    }
}

/// A scheduler on either side: given a start, it lists firing times.
pub type Fires = Box<dyn Fn(TimeMs, usize) -> Result<Vec<TimeMs>, PortError> + Send + Sync>;

pub struct Scheduler(pub Fires);

impl Scheduler {
    fn answer(&self, question: &FiringQuestion) -> Result<Timed<FiringTimes>, PortError> {
        let windows: Result<Vec<_>, _> = question
            .starts
            .iter()
            .map(|start| (self.0)(*start, question.count))
            .collect();
        Ok(Timed::now(FiringTimes {
            windows: windows?,
            method: "test".to_owned(),
        }))
    }
}

impl Source for Scheduler {
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
        Ok(Timed::now(Vec::new()))
    }

    fn firing_times(
        &self,
        _job: &JobId,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        self.answer(question)
    }
}

impl Target for Scheduler {
    fn info(&self) -> AdapterInfo {
        AdapterInfo {
            name: "test".to_owned(),
            version: "1".to_owned(),
            can_roll_back: false,
            one_effect_per_id: Default::default(),
        }
    }

    fn effect(&self, _request: &EffectRequest) -> Timed<Effect> {
        panic!("a checker asked for an effect")
    }

    fn look_up(&self, _: Action, _: &OperationId, _: &JobId) -> Timed<Lookup> {
        Timed::now(Lookup::Absent)
    }

    fn run_state(&self, _: &JobId, _: &EffectRef, _: TimeMs) -> Result<Timed<RunState>, PortError> {
        Err(PortError::environment("not asked here"))
    }

    fn firing_times(
        &self,
        _job: &JobId,
        _config: &str,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        self.answer(question)
    }

    fn consequences(
        &self,
        _job: &JobId,
        _config: &str,
        _at: TimeMs,
    ) -> Result<Timed<Vec<String>>, PortError> {
        Ok(Timed::now(Vec::new()))
    }
}

/// Facts of runs as told.
pub struct Facts {
    pub old: Vec<RunFacts>,
    pub new: Vec<RunFacts>,
}

impl Probe for Facts {
    fn run_facts(
        &self,
        side: Side,
        _job: &JobId,
        _: Option<&LogicalDate>,
    ) -> Result<Timed<Vec<RunFacts>>, PortError> {
        Ok(Timed::now(match side {
            Side::Legacy => self.old.clone(),
            _ => self.new.clone(),
        }))
    }
}

pub fn silent() -> Fires {
    Box::new(|_, _| Ok(Vec::new()))
}

pub fn world(old: Fires, new: Fires) -> World {
    World {
        source: Arc::new(Scheduler(old)),
        target: Arc::new(Scheduler(new)),
        warehouse: None,
        probe: None,
    }
}

pub fn warehouse_world(warehouse: Arc<Sqlite>) -> World {
    World {
        warehouse: Some(warehouse),
        ..world(silent(), silent())
    }
}

pub fn clause(check: &str, params: serde_json::Value) -> Clause {
    Clause {
        id: ClauseId::from("c"),
        check: check.to_owned(),
        applies_to: None,
        digest: digest_json(&params),
        params: params.as_object().unwrap().clone(),
    }
}

/// Everything a judgement needs that tests rarely change.
pub fn judge_in(
    world: &World,
    clause: &Clause,
    output: Option<&Output>,
    at: &str,
    base_dir: &Path,
) -> Result<Evidence, PortError> {
    let staged = EffectRef {
        reference: "run-1".to_owned(),
        config_digest: digest_bytes(b"config"),
        observed: String::new(),
    };
    let checker = checker(&clause.check).unwrap();
    assert_eq!(checker.problems(clause), Vec::<String>::new());
    let evidence = checker
        .check(&CheckInput {
            clause,
            job: &JobId::from("job_1"),
            output,
            definition: "0 3 * * * run",
            config: "config",
            staged: &staged,
            side: Side::Staging,
            world,
            logical_date: None,
            at: TimeMs::from_timestamp(at.parse().unwrap()),
            base_dir,
        })?
        .value;
    assert!(evidence.queries.len() as u64 <= checker.queries(clause, output));
    Ok(evidence)
}

pub fn judge(
    world: &World,
    check: &str,
    params: serde_json::Value,
    output: Option<&Output>,
) -> Result<Evidence, PortError> {
    judge_in(
        world,
        &clause(check, params),
        output,
        "2024-03-01T00:00:00Z",
        Path::new("."),
    )
}
