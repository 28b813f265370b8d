//! The practice world as its users see it: through its ports and its file.

use dogwatch::model::{Action, Digest, FailureClass, JobId, OperationId, TimeMs};
use dogwatch::world::World;
use dogwatch::world::ports::{
    Cell, Effect, EffectRef, EffectRequest, FiringQuestion, Lookup, RunState, Side, Source as _,
    SourceJob, Target as _, Upstream, Warehouse as _,
};
use dogwatch::world::practice::definition::{Definition, Lock, Write, WriteMode};
use dogwatch::world::practice::legacy::read_rows;
use dogwatch::world::practice::scenario::JOBS_CSV;
use dogwatch::world::practice::{Faults, PracticeSettings, PracticeWorld, START, golden};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A world of 120 jobs made once and copied: building it is tested by the copies' contents.
fn template() -> &'static tempfile::TempDir {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        drop(PracticeWorld::open(calm(&dir.path().join("w.db"))).unwrap());
        dir
    })
}

fn calm(path: &Path) -> PracticeSettings {
    PracticeSettings {
        faults: Faults::none(),
        ..PracticeSettings::new(path, 1)
    }
}

struct Practice {
    dir: tempfile::TempDir,
    world: Arc<PracticeWorld>,
    jobs: BTreeMap<String, SourceJob>,
}

impl Practice {
    fn new(faults: Faults) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.db");
        std::fs::copy(template().path().join("w.db"), &path).unwrap();
        let world = PracticeWorld::open(PracticeSettings {
            faults,
            ..PracticeSettings::new(path, 1)
        })
        .unwrap();
        let jobs = world.list().unwrap().value;
        Self {
            dir,
            world,
            jobs: jobs.into_iter().map(|job| (job.id.0.clone(), job)).collect(),
        }
    }

    fn file(&self) -> Connection {
        Connection::open(self.dir.path().join("w.db")).unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        self.file().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn request(&self, action: Action, id: &str, definition: &Definition) -> EffectRequest {
        EffectRequest {
            operation_id: OperationId::from(id),
            action,
            job: definition.id.clone(),
            config: definition.render().unwrap(),
            config_digest: Digest("d".repeat(64)),
            upstream: Vec::new(),
            at: START,
        }
    }

    fn stage(&self, definition: &Definition) -> RunState {
        let id = format!("stage-{}", self.count("select count(*) from effects"));
        self.stage_request(&self.request(Action::Stage, &id, definition))
    }

    fn stage_request(&self, request: &EffectRequest) -> RunState {
        match self.world.effect(request).value {
            Effect::Applied(staged) => self.end_of(&request.job, &staged),
            other => panic!("{other:?}"),
        }
    }

    fn end_of(&self, job: &JobId, staged: &EffectRef) -> RunState {
        let later = START.plus_ms(3_600_000);
        self.world.run_state(job, staged, later).unwrap().value
    }

    fn sums(&self, side: &str, table: &str) -> golden::Golden {
        golden::of_table(&self.file(), &format!("{side}__{table}")).unwrap()
    }

    /// Stages and says whether the output is the old one's.
    fn reconciles(&self, definition: &Definition) -> bool {
        let state = self.stage(definition);
        assert!(matches!(state, RunState::Succeeded { .. }), "{state:?}");
        let table = &definition.write.as_ref().unwrap().table;
        self.sums("staging", table) == self.sums("legacy", table)
    }
}

/// A definition as a careful person would write it.
fn careful(job: &str, deps: &[&str]) -> Definition {
    let row = read_rows(JOBS_CSV)
        .unwrap()
        .into_iter()
        .find(|row| row.job == job)
        .unwrap();
    Definition {
        id: JobId::from(job),
        schedule: "0 4 * * *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        user: "etl".to_owned(),
        working_folder: "/srv/etl".to_owned(),
        depends_on: deps.iter().map(|dep| JobId::from(*dep)).collect(),
        overlap: Default::default(),
        lock: None,
        only_last_day_of_month: false,
        environment: BTreeMap::from([(
            "PATH".to_owned(),
            "/opt/etl/bin:/usr/bin:/bin".to_owned(),
        )]),
        write: (!row.target.is_empty()).then(|| Write {
            table: row.target.clone(),
            mode: WriteMode::Replace,
        }),
        command: format!("run-sql jobs/{job}.sql"),
        sql: (!row.sql.is_empty()).then(|| row.sql.replace("455", "{{ day }}")),
    }
}

#[test]
fn old_outputs_are_the_golden_ones() {
    let practice = Practice::new(Faults::none());
    let file = practice.file();
    let mut seen = 0;
    for row in read_rows(JOBS_CSV).unwrap().iter().filter(|row| !row.target.is_empty()) {
        let found = golden::of_table(&file, &format!("legacy__{}", row.target)).unwrap();
        assert_eq!(found.rows.to_string(), row.golden_rows, "{}", row.job);
        assert_eq!(found.checksum, row.golden_checksum, "{}", row.job);
        seen += 1;
    }
    assert_eq!(seen, 99);
}
