//! The practice world as its users see it: through its ports and its file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets something else than it expects has failed"
)]

use dogwatch::model::{Action, Digest, FailureClass, JobId, LogicalDate, OperationId, TimeMs};
use dogwatch::world::World;
use dogwatch::world::ports::{
    Cell, Effect, EffectRef, EffectRequest, FiringQuestion, Lookup, RunState, Side, Source as _,
    SourceJob, Target as _, Upstream, Warehouse as _,
};
use dogwatch::world::practice::convert::convert;
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
            jobs: jobs
                .into_iter()
                .map(|job| (job.id.0.clone(), job))
                .collect(),
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
            logical_date: None,
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

    /// Rows and checksum of a table. The old side's are the scenario's golden values, which
    /// `old_outputs_are_the_golden_ones` finds in the file.
    fn sums(&self, side: &str, table: &str) -> golden::Golden {
        if side == "legacy" {
            let rows = read_rows(JOBS_CSV).unwrap();
            let row = rows.iter().find(|row| row.target == table).unwrap();
            return golden::Golden {
                rows: row.golden_rows.parse().unwrap(),
                checksum: row.golden_checksum.clone(),
            };
        }
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
        environment: BTreeMap::from([("PATH".to_owned(), "/opt/etl/bin:/usr/bin:/bin".to_owned())]),
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
    for row in read_rows(JOBS_CSV)
        .unwrap()
        .iter()
        .filter(|row| !row.target.is_empty())
    {
        let found = golden::of_table(&file, &format!("legacy__{}", row.target)).unwrap();
        assert_eq!(found.rows.to_string(), row.golden_rows, "{}", row.job);
        assert_eq!(found.checksum, row.golden_checksum, "{}", row.job);
        seen += 1;
    }
    assert_eq!(seen, 99);
}

#[test]
fn a_correct_definition_gives_an_identical_table() {
    let practice = Practice::new(Faults::none());
    for (job, deps) in [
        ("stg_products", vec![]),
        ("fct_orders", vec!["stg_orders", "stg_order_lines"]),
        ("mart_cohort_month", vec!["fct_orders"]),
        (
            "rpt_month_close",
            vec![
                "mart_trial_balance",
                "mart_margin_category",
                "mart_pay_vs_orders",
            ],
        ),
        ("rpt_daily_revenue", vec!["mart_sales_daily_store"]),
    ] {
        assert!(practice.reconciles(&careful(job, &deps)), "{job}");
    }
}

#[test]
fn every_job_with_its_lineage_declared_differs_only_where_the_dialect_does() {
    let practice = Practice::new(Faults::none());
    let mut differing = Vec::new();
    for row in read_rows(JOBS_CSV)
        .unwrap()
        .iter()
        .filter(|row| !row.target.is_empty())
    {
        let mut definition = careful(&row.job, &row.dep_list());
        definition.lock = (row.job == "stg_inventory").then(|| Lock {
            name: "/var/lock/inventory-load.lock".to_owned(),
            wait: true,
        });
        if !practice.reconciles(&definition) {
            differing.push(row.job.clone());
        }
    }
    // The roots of the twelve differences that exact division makes; read from the old side, nothing
    // downstream differs.
    assert_eq!(
        differing,
        [
            "fct_order_lines",
            "mart_returns_rate",
            "mart_stock_cover",
            "mart_sessions_local_hour",
            "exp_loyalty"
        ]
    );
}

#[test]
fn exact_division_spreads_through_the_staged_lineage() {
    let practice = Practice::new(Faults::none());
    assert!(!practice.reconciles(&careful(
        "fct_order_lines",
        &["stg_orders", "stg_order_lines"]
    )));
    let margin = careful("mart_region_margin", &["fct_order_lines", "dim_store"]);
    assert!(practice.reconciles(&margin));
    let mut request = practice.request(Action::Stage, "on-staged", &margin);
    request.upstream = vec![Upstream {
        lineage: None,
        job: JobId::from("fct_order_lines"),
        config_digest: Digest("d".repeat(64)),
        side: Side::Staging,
    }];
    practice.stage_request(&request);
    let (old, new) = (
        practice.sums("legacy", "mart_region_margin"),
        practice.sums("staging", "mart_region_margin"),
    );
    assert_eq!(old.rows, new.rows);
    assert_ne!(old.checksum, new.checksum);
}

#[test]
fn empty_and_null_are_two_things_in_the_new_engine() {
    let practice = Practice::new(Faults::none());
    let mut naive = careful("dim_store", &["stg_stores"]);
    naive.sql = Some(
        "drop table if exists dim_store; create table dim_store as select store_id, name, \
         nvl(region,'unknown') as region, tz_offset_min from stg_stores"
            .to_owned(),
    );
    assert!(!practice.reconciles(&naive));
    assert_eq!(
        practice.count("select count(*) from staging__dim_store where region = ''"),
        8
    );
    assert_eq!(
        practice.count("select count(*) from legacy__dim_store where region = 'unknown'"),
        8
    );
    assert!(practice.reconciles(&careful("dim_store", &["stg_stores"])));
}

#[test]
fn the_drill_doubles_what_is_appended() {
    let practice = Practice::new(Faults::none());
    let mut append = careful("fct_spend", &["stg_campaign_spend"]);
    append.sql = Some(
        "create table if not exists fct_spend as select * from (select campaign_id, spend_day, \
         sum(spend_cents) as spend_cents, count(*) as n from stg_campaign_spend group by 1, 2) q where 1=0; \
         insert into fct_spend select campaign_id, spend_day, sum(spend_cents), count(*) \
         from stg_campaign_spend group by campaign_id, spend_day"
            .to_owned(),
    );
    append.write.as_mut().unwrap().mode = WriteMode::Append;
    assert!(!practice.reconciles(&append));
    let (old, new) = (
        practice.sums("legacy", "fct_spend"),
        practice.sums("staging", "fct_spend"),
    );
    assert_eq!(new.rows, 2 * old.rows);
    for mode in [WriteMode::ReplaceInterval, WriteMode::Replace] {
        append.write.as_mut().unwrap().mode = mode;
        assert!(practice.reconciles(&append), "{mode:?}");
    }
}

#[test]
fn an_undeclared_dependency_is_read_as_it_stood_yesterday() {
    let practice = Practice::new(Faults::none());
    for (job, deps, equal_counts) in [
        ("mart_cac_daily", vec!["fct_spend", "dim_customer"], false),
        ("rpt_daily_revenue", vec!["mart_sales_daily_store"], true),
        ("exp_bank_file", vec!["fct_payments"], false),
        ("mart_open_orders", vec!["fct_orders"], false),
        ("mart_backlog", vec!["fct_orders", "fct_shipments"], false),
    ] {
        assert!(!practice.reconciles(&careful(job, &[])), "{job}");
        let (old, new) = (practice.sums("legacy", job), practice.sums("staging", job));
        if equal_counts {
            assert_eq!(old.rows, new.rows, "{job}");
        }
        assert!(practice.reconciles(&careful(job, &deps)), "{job}");
    }
}

#[test]
fn the_wall_clock_is_another_day() {
    let practice = Practice::new(Faults::none());
    for (job, deps) in [
        ("fct_tickets", vec!["stg_tickets"]),
        ("mart_dead_stock", vec!["dim_product", "fct_order_lines"]),
    ] {
        let mut naive = careful(job, &deps);
        naive.sql = naive.sql.map(|sql| sql.replace("{{ day }}", "today()"));
        assert!(!practice.reconciles(&naive), "{job}");
        assert!(practice.reconciles(&careful(job, &deps)), "{job}");
    }
}

#[test]
fn without_its_lock_only_the_loaded_half_is_read() {
    let practice = Practice::new(Faults::none());
    let mut definition = careful("stg_inventory", &[]);
    assert!(!practice.reconciles(&definition));
    assert_eq!(practice.sums("staging", "stg_inventory").rows, 12_000);
    definition.lock = Some(Lock {
        name: "/var/lock/inventory-load.lock".to_owned(),
        wait: false,
    });
    assert!(!practice.reconciles(&definition));
    assert_eq!(practice.sums("staging", "stg_inventory").rows, 0);
    definition.lock.as_mut().unwrap().wait = true;
    assert!(practice.reconciles(&definition));
    definition.lock = None;
    definition.command =
        "flock /var/lock/inventory-load.lock run-sql jobs/stg_inventory.sql".to_owned();
    assert!(practice.reconciles(&definition));
}

fn why(state: RunState) -> (FailureClass, String) {
    match state {
        RunState::Failed { class, why, .. } => (class, why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_environment_lacks_fails_the_run() {
    let practice = Practice::new(Faults::none());
    let mut definition = careful("stg_customers", &[]);
    definition.command = "cd $ETL_HOME && run-sql jobs/stg_customers.sql".to_owned();
    let (class, text) = why(practice.stage(&definition));
    assert_eq!(class, FailureClass::Job);
    assert!(text.contains("ETL_HOME: parameter not set"), "{text}");
    definition
        .environment
        .insert("ETL_HOME".to_owned(), "/srv/etl".to_owned());
    assert!(practice.reconciles(&definition));
    definition.environment.remove("PATH");
    assert!(
        why(practice.stage(&definition))
            .1
            .contains("command not found")
    );
    definition.working_folder = "/home/etl".to_owned();
    assert!(
        why(practice.stage(&definition))
            .1
            .contains("does not exist")
    );
    // A failed run leaves nothing that could be taken for its output.
    assert_eq!(practice.sums("staging", "stg_customers").rows, 0);
}

#[test]
fn percent_escapes_of_the_old_schedulers_mean_nothing_here() {
    let practice = Practice::new(Faults::none());
    let mut definition = careful("exp_price_list", &["dim_product"]);
    for date in ["$(date +%%Y%%m%%d)", "$(date '+\\%Y\\%m\\%d')"] {
        definition.command = format!("run-sql --stamp \"{date}\" jobs/exp_price_list.sql");
        assert!(why(practice.stage(&definition)).1.contains("--stamp"));
    }
    definition.command = "run-sql --stamp \"$(date +%Y%m%d)\" jobs/exp_price_list.sql".to_owned();
    assert!(practice.reconciles(&definition));
}

#[test]
fn carriage_returns_in_the_text_reach_the_rows() {
    let practice = Practice::new(Faults::none());
    let mut definition = careful("dim_account", &["stg_gl_entries"]);
    definition.sql = definition
        .sql
        .map(|sql| sql.replace("'asset'", "'asset\r'"));
    assert!(!practice.reconciles(&definition));
    let mut mangled = careful("dim_account", &["stg_gl_entries"]);
    mangled.sql = Some("\u{fffd}\u{fffd}d\0r\0o\0p\0".to_owned());
    assert_eq!(why(practice.stage(&mangled)).0, FailureClass::Job);
}

fn refusal(effect: Effect) -> (FailureClass, String) {
    match effect {
        Effect::Refused { class, why, .. } => (class, why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bad_definitions_are_refused_and_leave_nothing() {
    let practice = Practice::new(Faults::none());
    let good = careful("stg_stores", &[]);
    type Change = Box<dyn Fn(&mut EffectRequest)>;
    let cases: Vec<(&str, Change)> = vec![
        (
            "unknown field",
            Box::new(|r| r.config.insert_str(0, "tiemzone = \"x\"\n")),
        ),
        (
            "tighter than every 5 minutes",
            Box::new(|r| r.config = r.config.replace("0 4 * * *", "* * * * *")),
        ),
        (
            "five cron fields",
            Box::new(|r| r.config = r.config.replace("0 4 * * *", "@reboot")),
        ),
        (
            "zone",
            Box::new(|r| r.config = r.config.replace("Europe/Berlin", "Europe/Bonn")),
        ),
        (
            "but the definition is for",
            Box::new(|r| r.job = JobId::from("stg_orders")),
        ),
        (
            "belongs to stg_orders",
            Box::new(|r| {
                r.config = r
                    .config
                    .replace("table = \"stg_stores\"", "table = \"stg_orders\"")
            }),
        ),
        (
            "no job nowhere",
            Box::new(|r| {
                r.config = r.config.replacen(
                    "[environment]",
                    "depends_on = [\"nowhere\"]\n[environment]",
                    1,
                )
            }),
        ),
    ];
    for (place, (part, change)) in cases.into_iter().enumerate() {
        let mut request = practice.request(Action::Stage, &format!("bad-{place}"), &good);
        change(&mut request);
        let (class, text) = refusal(practice.world.effect(&request).value);
        assert_eq!(class, FailureClass::Job, "{part}");
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(practice.count("select count(*) from effects"), 0);
}

#[test]
fn one_effect_an_id_unless_it_is_switched_off() {
    let practice = Practice::new(Faults::none());
    let request = practice.request(Action::Stage, "op-1", &careful("stg_stores", &[]));
    assert_eq!(
        practice
            .world
            .look_up(Action::Stage, &request.operation_id, &request.job)
            .value,
        Lookup::Absent
    );
    let first = practice.world.effect(&request).value;
    let again = practice.world.effect(&request).value;
    let (Effect::Applied(first), Effect::Applied(again)) = (first, again) else {
        panic!("not applied");
    };
    assert_eq!(first.reference, again.reference);
    assert_eq!(practice.count("select count(*) from effects"), 1);
    assert!(practice.world.info().one_effect_per_id["stage"]);
    match practice
        .world
        .look_up(Action::Stage, &request.operation_id, &request.job)
        .value
    {
        Lookup::Found(found) => assert_eq!(found.config_digest, request.config_digest),
        other => panic!("{other:?}"),
    }

    let careless = Practice::new(Faults {
        dedup: false,
        ..Faults::none()
    });
    careless.world.effect(&request);
    let Effect::Applied(second) = careless.world.effect(&request).value else {
        panic!("not applied");
    };
    assert_ne!(second.reference, first.reference);
    careless.end_of(&request.job, &second);
    assert_eq!(careless.count("select count(*) from effects"), 2);
    assert!(!careless.world.info().one_effect_per_id["stage"]);
    let seen = careless
        .world
        .look_up(Action::Stage, &request.operation_id, &request.job)
        .value;
    assert!(matches!(seen, Lookup::CannotTell { .. }), "{seen:?}");
}

#[test]
fn a_cutover_runs_once_and_switches_the_old_job_off() {
    let practice = Practice::new(Faults::none());
    let request = practice.request(Action::CutOver, "cut-1", &careful("stg_stores", &[]));
    for _ in 0..3 {
        assert!(matches!(
            practice.world.effect(&request).value,
            Effect::Applied(_)
        ));
    }
    assert_eq!(
        practice.sums("production", "stg_stores"),
        practice.sums("legacy", "stg_stores")
    );
    assert_eq!(
        practice.count("select count(*) from effects where action = 'cut_over'"),
        1
    );
    assert_eq!(
        practice.count("select count(*) from legacy_jobs where disabled_by = 'cut-1'"),
        1
    );
    // A job downstream now reads the production table.
    practice
        .file()
        .execute("delete from production__stg_stores where store_id > 10", [])
        .unwrap();
    practice.stage(&careful("dim_store", &["stg_stores"]));
    assert_eq!(practice.sums("staging", "dim_store").rows, 10);
    // A definition that fails on its first run is not put into production.
    let mut broken = careful("stg_products", &[]);
    broken.command = "run-sql jobs/stg_products.txt".to_owned();
    let broken = practice.request(Action::CutOver, "cut-2", &broken);
    assert!(
        refusal(practice.world.effect(&broken).value)
            .1
            .contains("first production run")
    );
    assert_eq!(practice.count("select count(*) from production_jobs"), 1);
}

#[test]
fn a_run_shows_its_result_when_its_time_is_over() {
    let practice = Practice::new(Faults::none());
    let request = practice.request(Action::Stage, "op-1", &careful("stg_stores", &[]));
    let Effect::Applied(staged) = practice.world.effect(&request).value else {
        panic!("not applied");
    };
    let state = |ms: i64| {
        practice
            .world
            .run_state(&request.job, &staged, START.plus_ms(ms))
            .unwrap()
            .value
    };
    let RunState::Running { look_again_ms } = state(60_000) else {
        panic!("too early");
    };
    assert!(look_again_ms > 0);
    assert!(matches!(state(13 * 60_000), RunState::Succeeded { .. }));
    assert!(
        practice
            .world
            .run_state(&JobId::from("stg_orders"), &staged, START)
            .is_err()
    );
}

#[test]
fn faults_come_at_their_rates_and_the_same_way_again() {
    let faults = Faults {
        staging_failure: 0.3,
        lost_reply_after_write: 0.2,
        lost_reply_before_write: 0.2,
        rate_limit: 0.2,
        ..Faults::none()
    };
    let play = || {
        let practice = Practice::new(faults.clone());
        let mut seen = Vec::new();
        let (mut unknown, mut written) = (0, 0);
        for n in 0..60 {
            let id = format!("op-{n}");
            let request = practice.request(Action::Stage, &id, &careful("stg_stores", &[]));
            let effect = practice.world.effect(&request).value;
            if matches!(effect, Effect::Unknown { .. }) {
                unknown += 1;
                let found =
                    practice
                        .world
                        .look_up(Action::Stage, &request.operation_id, &request.job);
                written += i64::from(matches!(found.value, Lookup::Found(_)));
            }
            seen.push(format!("{effect:?}"));
        }
        assert!(
            unknown > 10 && written > 2 && written < unknown,
            "{unknown} {written}"
        );
        let failed = practice.count("select count(*) from staging_runs where state = 'failed'");
        assert!((4..25).contains(&failed), "{failed}");
        seen
    };
    let first = play();
    assert!(first.iter().any(|effect| effect.contains("429")));
    assert_eq!(first, play());
}

#[test]
fn an_outage_refuses_and_loses_runs() {
    let practice = Practice::new(Faults {
        outages: vec![(0, 60_000), (5 * 60_000, 6 * 60_000)],
        ..Faults::none()
    });
    let mut request = practice.request(Action::Stage, "op-1", &careful("stg_stores", &[]));
    assert_eq!(
        refusal(practice.world.effect(&request).value).0,
        FailureClass::Environment
    );
    request.at = START.plus_ms(4 * 60_000);
    assert_eq!(
        why(practice.stage_request(&request)).0,
        FailureClass::Environment
    );
}

#[test]
fn slow_visibility_hides_an_effect_for_some_looks() {
    let practice = Practice::new(Faults {
        hidden_lookups: 2,
        ..Faults::none()
    });
    let request = practice.request(Action::Stage, "op-1", &careful("stg_stores", &[]));
    practice.world.effect(&request);
    let look = || {
        practice
            .world
            .look_up(Action::Stage, &request.operation_id, &request.job)
            .value
    };
    assert_eq!(look(), Lookup::Absent);
    assert_eq!(look(), Lookup::Absent);
    assert!(matches!(look(), Lookup::Found(_)));
}

#[test]
fn a_reopened_world_is_as_it_was_left() {
    let practice = Practice::new(Faults::none());
    let request = practice.request(Action::CutOver, "cut-1", &careful("stg_stores", &[]));
    practice.world.effect(&request);
    let path = practice.dir.path().join("w.db");
    let again = PracticeWorld::open(calm(&path)).unwrap();
    let found = again
        .look_up(Action::CutOver, &request.operation_id, &request.job)
        .value;
    assert!(matches!(found, Lookup::Found(_)), "{found:?}");
    let other = PracticeSettings {
        seed: 2,
        ..calm(&path)
    };
    let error = PracticeWorld::open(other).err().unwrap();
    assert!(error.what.contains("seed 1"), "{}", error.what);
}

#[test]
fn effects_cannot_be_rewritten() {
    let practice = Practice::new(Faults::none());
    practice.stage(&careful("stg_stores", &[]));
    assert!(practice.file().execute("delete from effects", []).is_err());
    assert!(
        practice
            .file()
            .execute("update effects set job = 'x'", [])
            .is_err()
    );
}

#[test]
fn the_source_lists_jobs_with_tags_and_types() {
    let practice = Practice::new(Faults::none());
    assert_eq!(practice.jobs.len(), 120);
    let with_table = practice.jobs.values().filter(|job| job.output.is_some());
    assert_eq!(with_table.count(), 99);
    let payments = practice.jobs["fct_payments"].output.as_ref().unwrap();
    let kinds: Vec<String> = payments
        .columns
        .iter()
        .map(|column| format!("{}:{:?}", column.name, column.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            "payment_id:Integer",
            "order_id:Integer",
            "pay_day:Integer",
            "amount_cents:Integer",
            "method:Text",
            "fx_rate:Float"
        ]
    );
    assert!(
        practice.jobs["rpt_funnel"]
            .tags
            .contains(&"has_reports".to_owned())
    );
    assert!(
        practice.jobs["ops_vacuum"]
            .tags
            .contains(&"no_table".to_owned())
    );
    let held = practice
        .jobs
        .values()
        .filter(|job| job.hold.is_some())
        .count();
    assert!(held >= 15, "{held}");
}

#[test]
fn ops_jobs_show_what_they_did() {
    let practice = Practice::new(Faults::none());
    let world: World = practice.world.ports();
    let probe = world.probe.unwrap();
    let facts = |side, job: &str| {
        probe
            .run_facts(side, &JobId::from(job), None)
            .unwrap()
            .value
    };
    let [one, two] = facts(Side::Legacy, "imp_nondeterministic")
        .try_into()
        .unwrap();
    assert_ne!(one.effect_digest, two.effect_digest);
    let gone = facts(Side::Legacy, "imp_source_gone");
    assert!(gone[0].log_tail.contains("HTTP 410"));
    assert_eq!((gone[0].exit, gone[0].tasks), (0, 0));
    assert!(
        facts(Side::Legacy, "ops_purge_events")[0]
            .log_tail
            .contains("skipped: lock held")
    );

    let mut backup = careful("ops_backup", &[]);
    let old = facts(Side::Legacy, "ops_backup");
    assert_eq!(old[0].effect_digest, old[1].effect_digest);
    let to = |date: &str| format!("dump-warehouse --to backup/warehouse-$(date '{date}').dump");
    backup.command = to("+\\%Y-\\%m-\\%d");
    practice.stage(&backup);
    assert_ne!(
        facts(Side::Staging, "ops_backup")[0].effect_digest,
        old[0].effect_digest
    );
    backup.command = to("+%Y-%m-%d");
    practice.stage(&backup);
    assert_eq!(
        facts(Side::Staging, "ops_backup")[0].effect_digest,
        old[0].effect_digest
    );
}

/// `exp_carrier_manifest` lists what is shipped on the logical day, and every sixth day there are shipments.
#[test]
fn a_job_is_staged_and_compared_for_another_date() {
    let practice = Practice::new(Faults::none());
    let job = JobId::from("exp_carrier_manifest");
    assert_eq!(practice.sums("legacy", job.as_str()).rows, 0);
    let dates = practice.world.other_dates(&job).unwrap().value;
    assert_eq!(dates, [LogicalDate::from("2024-03-26")]);
    let none = |job: &str| practice.world.other_dates(&JobId::from(job)).unwrap().value;
    assert_eq!(none("ops_backup"), []);
    let tables = "select count(*) from sqlite_master where name like 'legacy\\_4%' escape '\\'";
    assert_eq!(practice.count(tables), 0, "looking leaves nothing behind");

    let date = dates.first();
    let table = |side| practice.world.table(side, &job, job.as_str(), date);
    let rows = |name: &str| golden::of_table(&practice.file(), name).unwrap();
    let stage = |id: &str, sql: &str| {
        let mut definition = careful(job.as_str(), &["fct_shipments"]);
        definition.sql = definition.sql.map(|old| old.replace("{{ day }}", sql));
        let mut request = practice.request(Action::Stage, id, &definition);
        request.logical_date = date.cloned();
        let state = practice.stage_request(&request);
        let RunState::Succeeded { log } = state else {
            panic!("{state:?}")
        };
        assert!(log.contains("for 2024-03-26"), "{log}");
        rows(&table(Side::Staging))
    };
    let right = stage("right", "{{ day }}");
    assert_eq!(right.rows, 236);
    assert_eq!(right, rows(&table(Side::Legacy)));
    // The run day's own tables are what they were.
    assert_eq!(practice.sums("staging", job.as_str()).rows, 0);
    // What goes by the clock on the wall differs on that date.
    assert_ne!(stage("wrong", "today()"), right);

    // Upstream jobs in production have run for the run day only: their definitions are run for the date.
    let mut upstream = careful("fct_shipments", &["stg_shipments"]);
    upstream.sql = upstream.sql.map(|sql| {
        sql.replace(
            "from stg_shipments s",
            "from stg_shipments s where s.shipment_id % 2 = 0",
        )
    });
    let cut_over = practice.request(Action::CutOver, "cut over", &upstream);
    let effect = practice.world.effect(&cut_over).value;
    assert!(matches!(effect, Effect::Applied(_)), "{effect:?}");
    let half = stage("upon production", "{{ day }}").rows;
    assert!((1..236).contains(&half), "{half}");

    let mut request = practice.request(Action::Stage, "no date", &careful(job.as_str(), &[]));
    request.logical_date = Some(LogicalDate::from("yesterday"));
    let effect = practice.world.effect(&request).value;
    assert!(
        matches!(&effect, Effect::Refused { why, class: FailureClass::Job, .. } if why == "yesterday is no date"),
        "{effect:?}"
    );
}

#[test]
fn the_warehouse_only_reads() {
    let practice = Practice::new(Faults::none());
    let table = practice
        .world
        .table(Side::Legacy, &JobId::from("dim_store"), "dim_store", None);
    let rows = practice
        .world
        .query(&format!("select count(*) as n from {table}"))
        .unwrap();
    assert_eq!(rows.value.rows, [[Cell::Integer(40)]]);
    assert!((2_000..=30_000).contains(&rows.took_ms));
    assert!(
        practice
            .world
            .query("delete from legacy__dim_store")
            .is_err()
    );
    assert!(practice.world.query("select * from src_orders").is_err());
    assert!(practice.world.query("select * from nowhere").is_err());
}

#[test]
fn definitions_fire_in_their_zone_and_on_last_days() {
    let practice = Practice::new(Faults::none());
    let mut definition = careful("exp_payroll", &["fct_timesheets"]);
    definition.schedule = "0 6 28-31 * *".to_owned();
    definition.only_last_day_of_month = true;
    let question = FiringQuestion {
        starts: vec![TimeMs(1_706_000_000_000)],
        count: 3,
    };
    let times = practice
        .world
        .ports()
        .target
        .firing_times(&definition.id, &definition.render().unwrap(), &question)
        .unwrap();
    let texts: Vec<String> = times.value.windows[0]
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        texts,
        [
            "2024-01-31T05:00:00Z",
            "2024-02-29T05:00:00Z",
            "2024-03-31T04:00:00Z"
        ]
    );
    let consequences = practice
        .world
        .consequences(&definition.id, &definition.render().unwrap(), START)
        .unwrap()
        .value;
    assert!(
        consequences
            .iter()
            .any(|line| line.contains("switched off")),
        "{consequences:?}"
    );
}

#[test]
fn more_jobs_are_replicas_over_smaller_tables() {
    let dir = tempfile::tempdir().unwrap();
    let world = PracticeWorld::open(PracticeSettings {
        jobs: 240,
        ..calm(&dir.path().join("w.db"))
    })
    .unwrap();
    let jobs = world.list().unwrap().value;
    assert_eq!(jobs.len(), 240);
    let name = world.table(
        Side::Legacy,
        &JobId::from("fct_orders_0002"),
        "fct_orders_0002",
        None,
    );
    assert_eq!(name, "legacy__fct_orders_0002");
    let file = Connection::open(dir.path().join("w.db")).unwrap();
    let base = golden::of_table(&file, "legacy__fct_orders").unwrap();
    let twin = golden::of_table(&file, "legacy__fct_orders_0002").unwrap();
    assert_eq!(base.rows, 20_000);
    assert_eq!(twin.rows, 10_000);
    let twin = jobs
        .iter()
        .find(|job| job.id.as_str() == "fct_orders_0002")
        .unwrap();
    assert_eq!(
        twin.depends_on,
        [
            JobId::from("stg_orders_0002"),
            JobId::from("stg_order_lines_0002")
        ]
    );
}

#[test]
fn few_jobs_are_the_scenarios_first() {
    let dir = tempfile::tempdir().unwrap();
    let world = PracticeWorld::open(PracticeSettings {
        jobs: 30,
        ..calm(&dir.path().join("w.db"))
    })
    .unwrap();
    assert_eq!(world.list().unwrap().value.len(), 30);
}

/// What plain checks say of the baseline converter's work on one job, or why it did not come so far.
fn baseline(practice: &Practice, job: &SourceJob) -> Result<(), String> {
    let table = job.output.as_ref().map(|output| output.table.as_str());
    let config = convert(
        job.id.as_str(),
        &job.origin,
        &job.definition,
        &job.depends_on,
        table,
    )?;
    let mut request = practice.request(
        Action::Stage,
        &format!("base-{}", job.id),
        &careful(job.id.as_str(), &[]),
    );
    request.config = config;
    let staged = match practice.world.effect(&request).value {
        Effect::Applied(staged) => staged,
        other => return Err(format!("{other:?}")),
    };
    match practice.end_of(&job.id, &staged) {
        RunState::Succeeded { .. } => {}
        other => return Err(format!("{other:?}")),
    }
    let question = FiringQuestion {
        starts: vec![START.plus_ms(-40 * 86_400_000), START],
        count: 200,
    };
    let ports = practice.world.ports();
    let old = ports
        .source
        .firing_times(&job.id, &question)
        .map_err(|e| e.what)?;
    let new = ports
        .target
        .firing_times(&job.id, &request.config, &question)
        .map_err(|e| e.what)?;
    if old.value.windows != new.value.windows {
        return Err("fires at other times".to_owned());
    }
    if let Some(table) = table {
        let (old, new) = (
            practice.sums("legacy", table),
            practice.sums("staging", table),
        );
        return match (old == new, new.rows) {
            (true, 1..) => Ok(()),
            (true, _) => Err("no rows on either side".to_owned()),
            (false, _) => Err(format!("differs: {old:?} {new:?}")),
        };
    }
    let probe = ports.probe.unwrap();
    let facts = |side| probe.run_facts(side, &job.id, None).unwrap().value;
    let (old, new) = (facts(Side::Legacy), facts(Side::Staging));
    let equal = old
        .iter()
        .all(|run| run.effect_digest == new[0].effect_digest);
    match (equal, new[0].tasks) {
        (true, 1..) => Ok(()),
        (true, _) => Err("no task on either side".to_owned()),
        (false, _) => Err(format!("other effects: {old:?} {new:?}")),
    }
}

#[test]
fn plain_checks_find_every_defect_of_a_plain_translation() {
    let practice = Practice::new(Faults::none());
    let mut passed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in read_rows(JOBS_CSV).unwrap() {
        let job = &practice.jobs[&row.job];
        let verdict = if job.hold.is_some() {
            Err("held".to_owned())
        } else {
            baseline(&practice, job)
        };
        println!(
            "{:12} {:28} {:40} {verdict:?}",
            row.cls, row.job, row.defect
        );
        if verdict.is_ok() {
            passed.entry(row.cls).or_default().push(row.job);
        }
    }
    println!("{passed:?}");
    assert_eq!(passed.keys().collect::<Vec<_>>(), ["mechanical"]);
    assert!(
        passed["mechanical"].len() >= 50,
        "{}",
        passed["mechanical"].len()
    );
}

const ENDLESS: &str =
    "with recursive r(i) as (select 1 union all select i + 1 from r) select count(*) from r";

#[test]
fn nothing_runs_for_ever() {
    let practice = Practice::new(Faults::none());
    let error = practice.world.query(ENDLESS).unwrap_err();
    assert!(error.what.contains("interrupted"), "{}", error.what);
    let giant = "select length(hex(zeroblob(100000000)))";
    let error = practice.world.query(giant).unwrap_err();
    assert!(error.what.contains("too big"), "{}", error.what);
    let mut definition = careful("stg_stores", &[]);
    definition.sql = Some(format!(
        "drop table if exists stg_stores; create table stg_stores as {ENDLESS}"
    ));
    let request = practice.request(Action::Stage, "endless", &definition);
    assert!(
        refusal(practice.world.effect(&request).value)
            .1
            .contains("stopped")
    );
    // The world goes on, and nothing of it stays.
    assert_eq!(practice.count("select count(*) from effects"), 0);
    assert_eq!(practice.count("select calls from effect_calls"), 1);
    assert!(practice.reconciles(&careful("stg_stores", &[])));
}

#[test]
fn a_large_world_makes_tables_as_they_are_needed() {
    let dir = tempfile::tempdir().unwrap();
    let world = PracticeWorld::open(PracticeSettings {
        jobs: 1_300,
        ..calm(&dir.path().join("w.db"))
    })
    .unwrap();
    let jobs = world.list().unwrap().value;
    let job = jobs
        .iter()
        .find(|job| job.id.as_str() == "mart_customer_value_0007")
        .unwrap();
    let table = job.output.as_ref().unwrap().table.as_str();
    let config = convert(
        job.id.as_str(),
        &job.origin,
        &job.definition,
        &job.depends_on,
        Some(table),
    );
    let request = EffectRequest {
        operation_id: OperationId::from("op"),
        action: Action::CutOver,
        job: job.id.clone(),
        config: config.unwrap(),
        config_digest: Digest("d".repeat(64)),
        upstream: Vec::new(),
        logical_date: None,
        at: START,
    };
    let effect = world.effect(&request).value;
    assert!(matches!(effect, Effect::Applied(_)), "{effect:?}");
    let sums = |side: Side| {
        let name = world.table(side, &job.id, table, None);
        let sql =
            format!("select count(*), sum(customer_id * orders), sum(gross_cents) from {name}");
        world.query(&sql).unwrap().value.rows
    };
    assert_eq!(sums(Side::Legacy), sums(Side::Production));
    assert!(matches!(sums(Side::Legacy)[0][0], Cell::Integer(1..)));
}

#[test]
fn a_half_built_file_is_built_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.db");
    std::fs::write(dir.path().join("w.db.building"), "half").unwrap();
    let world = PracticeWorld::open(PracticeSettings {
        jobs: 12,
        ..calm(&path)
    })
    .unwrap();
    assert_eq!(world.list().unwrap().value.len(), 12);
    assert!(!dir.path().join("w.db.building").exists());
    std::fs::write(
        dir.path().join("other.db"),
        "no database at all, only text".repeat(100),
    )
    .unwrap();
    let error = PracticeWorld::open(calm(&dir.path().join("other.db")))
        .err()
        .unwrap();
    assert!(
        error.what.contains("not a practice world"),
        "{}",
        error.what
    );
}

/// Where the child of the next test finds its world; the child is this very test program.
const CHILD: &str = "PRACTICE_CHILD_WORLD";

#[test]
fn child_that_is_killed() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let world = PracticeWorld::open(calm(Path::new(&path))).unwrap();
    for n in 0..100_000 {
        world.effect(&numbered(n));
    }
}

fn numbered(n: u32) -> EffectRequest {
    let definition = careful("stg_stores", &[]);
    EffectRequest {
        operation_id: OperationId(format!("op-{n}")),
        action: if n.is_multiple_of(2) {
            Action::Stage
        } else {
            Action::CutOver
        },
        job: definition.id.clone(),
        config: definition.render().unwrap(),
        config_digest: Digest("d".repeat(64)),
        upstream: Vec::new(),
        logical_date: None,
        at: START,
    }
}

#[test]
fn a_killed_process_leaves_whole_effects_and_resending_adds_none() {
    let practice = Practice::new(Faults::none());
    let path = practice.dir.path().join("w.db");
    for wait_ms in [150, 230, 310] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed"])
            .env(CHILD, &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let before = practice.count("select count(*) from effects");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while practice.count("select count(*) from effects") <= before
            && std::time::Instant::now() < end
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let done = practice.count("select count(*) from effects");
    assert!(done > 3, "{done}");
    let world = PracticeWorld::open(calm(&path)).unwrap();
    for n in 0..u32::try_from(done).unwrap() {
        let request = numbered(n);
        let found = world
            .look_up(request.action, &request.operation_id, &request.job)
            .value;
        assert!(matches!(found, Lookup::Found(_)), "{n}: {found:?}");
        world.effect(&request);
    }
    assert_eq!(practice.count("select count(*) from effects"), done);
    for (jobs, runs) in [
        ("staging_jobs", "staging_runs"),
        ("production_jobs", "production_runs"),
    ] {
        let without =
            format!("select count(*) from {jobs} where no not in (select no from {runs})");
        assert_eq!(practice.count(&without), 0);
    }
    let check: String = practice
        .file()
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}
