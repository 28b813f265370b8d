//! Two jobs with tables, in a world of their own.

use super::bench::Bench;
use crate::lab::noop::Noop;
use crate::model::{
    Action, Digest, FailureClass, JobId, LogicalDate, OperationId, TimeMs, digest_bytes,
};
use crate::world::ports::{
    AdapterInfo, Cell, Column, ColumnKind, Effect, EffectRef, EffectRequest, FiringQuestion,
    FiringTimes, Lookup, Output, PortError, Rows, RunState, Side, Source, SourceJob, Target, Timed,
    Warehouse,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(super) const START: TimeMs = TimeMs(1_711_954_800_000);
/// A config with this text fails its staging run.
pub(super) const BAD: &str = "bad";

/// Two jobs with tables, a target in which [`BAD`] fails, a warehouse that remembers what it was asked.
pub(super) struct Small {
    pub(super) noop: Arc<Noop>,
    /// Configs that reached it, by digest.
    pub(super) configs: Mutex<BTreeMap<Digest, String>>,
    /// Their ids.
    pub(super) jobs: Vec<String>,
    pub(super) definition: String,
    pub(super) queries: Mutex<Vec<String>>,
}

impl Source for Small {
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
        let job = |id: &str| SourceJob {
            id: JobId::from(id),
            title: format!("job {id}"),
            tags: Vec::new(),
            depends_on: Vec::new(),
            origin: "old.tab:1".to_owned(),
            definition: self.definition.clone(),
            output: Some(Output {
                table: id.to_owned(),
                key: vec!["id".to_owned()],
                columns: vec![Column {
                    name: "id".to_owned(),
                    kind: ColumnKind::Integer,
                }],
            }),
            hold: None,
        };
        Ok(Timed::now(self.jobs.iter().map(|id| job(id)).collect()))
    }
    fn beside(&self, _: &JobId) -> Result<Timed<String>, PortError> {
        Ok(Timed::now("--- profile ---\nX=1\n".to_owned()))
    }
    fn firing_times(&self, _: &JobId, _: &FiringQuestion) -> Result<Timed<FiringTimes>, PortError> {
        Err(PortError::job("no schedule"))
    }
}

impl Target for Small {
    fn info(&self) -> AdapterInfo {
        self.noop.info()
    }
    fn effect(&self, request: &EffectRequest) -> Timed<Effect> {
        let (digest, config) = (request.config_digest.clone(), request.config.clone());
        self.configs.lock().unwrap().insert(digest, config);
        self.noop.effect(request)
    }
    fn look_up(&self, action: Action, operation: &OperationId, job: &JobId) -> Timed<Lookup> {
        self.noop.look_up(action, operation, job)
    }
    fn run_state(
        &self,
        _: &JobId,
        staged: &EffectRef,
        _: TimeMs,
    ) -> Result<Timed<RunState>, PortError> {
        let configs = self.configs.lock().unwrap();
        let text = configs.get(&staged.config_digest);
        let bad = staged.config_digest == digest_bytes(BAD.as_bytes())
            || text.is_some_and(|text| text.contains("BROKEN") || text.contains("WORSE"));
        Ok(Timed::now(if bad {
            RunState::Failed {
                class: FailureClass::Job,
                why: "the folder is missing".to_owned(),
                log: "cd: no such folder".to_owned(),
            }
        } else {
            RunState::Succeeded {
                log: "ok".to_owned(),
            }
        }))
    }
    fn firing_times(
        &self,
        _: &JobId,
        _: &str,
        _: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        Err(PortError::job("no schedule"))
    }
    fn consequences(&self, _: &JobId, _: &str, _: TimeMs) -> Result<Timed<Vec<String>>, PortError> {
        Ok(Timed::now(Vec::new()))
    }
}

impl Warehouse for Small {
    fn dialect(&self) -> &'static str {
        "sqlite"
    }
    fn table(&self, side: Side, _: &JobId, table: &str, _: Option<&LogicalDate>) -> String {
        format!("{}__{table}", side.word())
    }
    fn query(&self, sql: &str) -> Result<Timed<Rows>, PortError> {
        self.queries.lock().unwrap().push(sql.to_owned());
        Ok(Timed::now(Rows {
            columns: vec!["n".to_owned()],
            rows: vec![vec![Cell::Integer(42)]],
        }))
    }
}

#[test]
fn the_scripted_world_really_fails_what_is_bad() {
    let bench = Bench::new(&[]);
    let staged = EffectRef {
        reference: "r".to_owned(),
        config_digest: digest_bytes(BAD.as_bytes()),
        observed: String::new(),
    };
    let state = bench
        .small
        .run_state(&JobId::from("one"), &staged, START)
        .unwrap()
        .value;
    assert!(matches!(state, RunState::Failed { .. }));
    assert!(Path::new(&bench.path).parent().unwrap().exists());
}
