//! The files are what the old schedulers really say, and every job is found in them again.

use super::{LegacyFile, OldJob, Row, Surroundings, firing_times, generate, old_jobs, read_rows};
use crate::model::TimeMs;
use crate::world::ports::FiringQuestion;
use std::collections::{BTreeMap, BTreeSet};

const CSV: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/assets/practice/jobs120.csv"
));

fn world() -> (Vec<Row>, Vec<LegacyFile>, BTreeMap<String, OldJob>) {
    let rows = read_rows(CSV).unwrap();
    let files = generate(&rows);
    let around = super::surroundings_rows(&rows);
    let jobs = old_jobs(&files, &around).unwrap();
    let by_id = jobs
        .into_iter()
        .map(|job| (job.id.0.clone(), job))
        .collect();
    (rows, files, by_id)
}

#[test]
fn every_job_of_the_scenario_is_found_again_and_no_other() {
    let (rows, _, jobs) = world();
    assert_eq!(rows.len(), 120);
    let wanted: BTreeSet<&str> = rows.iter().map(|row| row.job.as_str()).collect();
    let found: BTreeSet<&str> = jobs.keys().map(String::as_str).collect();
    assert_eq!(wanted, found);
    for row in &rows {
        assert_eq!(jobs[&row.job].scheduler.word(), row.legacy, "{}", row.job);
    }
}

#[test]
fn dependencies_are_declared_as_the_scenario_says() {
    let (rows, _, jobs) = world();
    for row in rows.iter().filter(|row| row.cls != "retire") {
        let wanted: BTreeSet<&str> = match row.dependency_kind.as_str() {
            "clock only" => BTreeSet::new(),
            _ => row.dep_list().into_iter().collect(),
        };
        let declared = &jobs[&row.job].declared_deps;
        let found: BTreeSet<&str> = declared.iter().map(|id| id.as_str()).collect();
        assert_eq!(wanted, found, "{}", row.job);
    }
}

#[test]
fn tables_and_their_sql_are_found() {
    let (rows, _, jobs) = world();
    for row in &rows {
        let job = &jobs[&row.job];
        let table = (!row.target.is_empty()).then(|| row.target.clone());
        assert_eq!(job.table, table, "{}", row.job);
        if let Some(sql) = &job.sql {
            assert!(!sql.contains("455"), "{}: the run day stayed", row.job);
            assert_eq!(
                sql.contains("today()"),
                row.has_defect("wall-clock"),
                "{}",
                row.job
            );
            assert_eq!(
                sql.contains("insert into"),
                row.has_defect("append"),
                "{}",
                row.job
            );
        }
    }
    let sql = |id: &str| jobs[id].sql.clone().unwrap_or_default();
    assert!(sql("dim_store").contains("nvl(region,'unknown')"));
    assert!(sql("fct_order_lines").contains("/10000"));
    assert!(sql("mart_stock_cover").contains("/d.q"));
    assert!(
        sql("rpt_month_close").contains("ym='2024-03'"),
        "no run day"
    );
    assert!(
        sql("dim_account").contains("then 'asset'"),
        "read as UTF-16"
    );
}

#[test]
fn the_mangled_export_is_mangled_for_a_byte_blind_reader() {
    let (_, files, jobs) = world();
    let job = &jobs["dim_account"];
    let file = files
        .iter()
        .find(|file| file.path == job.origin.split(':').next().unwrap());
    assert_eq!(file.unwrap().bytes[..2], [0xFF, 0xFE]);
    assert!(job.definition.contains('\u{FFFD}') && job.definition.contains('\0'));
    assert!(!job.definition.contains("sp_add_job"));
}

#[test]
fn holds_are_the_fifteen_retirements_with_evidence_and_no_other() {
    let (rows, _, jobs) = world();
    for row in &rows {
        let hold = &jobs[&row.job].hold;
        assert_eq!(hold.is_some(), row.cls == "retire", "{}: {hold:?}", row.job);
        if let Some(hold) = hold {
            assert_eq!(hold.kind, "retire");
            assert!(
                hold.evidence.iter().all(|line| line.contains(": ")),
                "{hold:?}"
            );
            assert!(!hold.evidence.is_empty());
        }
    }
    let said = |id: &str| {
        jobs[id]
            .hold
            .as_ref()
            .map(|hold| hold.evidence.join("\n"))
            .unwrap()
    };
    assert!(said("ret_staging_twin").contains("etl-staging-01"));
    assert!(said("ret_orig_copy").contains("sales.crontab: the packaged"));
    assert!(said("ret_bak_flow").contains("web_load_2019"));
    assert!(said("ret_commented").contains("runs the same"));
    assert!(said("ret_end_passed").contains("2023-01-31, 425 days ago"));
    assert!(said("ret_empty_file").contains("every line is a comment"));
    assert!(said("ret_health_ping").contains("monitor-old"));
    assert!(said("mart_fx_exposure").contains("400 days ago"));
    assert!(said("exp_open_data").contains("210 days ago"));
    assert!(said("exp_bi_extract").contains("cost_centre_cockpit"));
    assert!(said("exp_segment_mail").contains("bounces"));
    assert!(said("dim_campaign").contains("replaced by fct_spend"));
    assert!(said("mart_payment_methods").contains("187 days ago"));
}

#[test]
fn without_records_only_the_files_speak() {
    let (_, files, _) = world();
    let around = Surroundings {
        today: 455,
        ..Surroundings::default()
    };
    let jobs = old_jobs(&files, &around).unwrap();
    let held: BTreeSet<&str> = jobs
        .iter()
        .filter(|job| job.hold.is_some())
        .map(|job| job.id.as_str())
        .collect();
    let wanted = [
        "ret_bak_flow",
        "ret_commented",
        "ret_empty_file",
        "ret_end_passed",
        "ret_orig_copy",
    ];
    assert_eq!(held, wanted.into_iter().collect());
}

#[test]
fn a_hub_is_not_held_for_want_of_readers() {
    let (rows, files, _) = world();
    let mut around = super::surroundings_rows(&rows);
    around.last_read_days.insert("fct_orders".into(), 1);
    let jobs = old_jobs(&files, &around).unwrap();
    let hub = jobs.iter().find(|job| job.id.as_str() == "fct_orders");
    assert_eq!(hub.unwrap().hold, None, "ten jobs read it");
}

#[test]
fn commands_are_what_the_shell_gets() {
    let (_, _, jobs) = world();
    let command = |id: &str| jobs[id].command.as_str();
    assert_eq!(
        command("ops_backup"),
        "cd $ETL_HOME && dump-warehouse --to backup/warehouse-$(date '+%Y-%m-%d').dump \
         >> log/ops_backup.log 2>&1"
    );
    assert_eq!(
        command("exp_price_list"),
        "run-sql --stamp \"$(date +%Y%m%d)\" jobs/exp_price_list.sql"
    );
    let variable = |id: &str, name: &str| jobs[id].environment.get(name).cloned();
    assert_eq!(
        variable("stg_customers", "CRM_DB").as_deref(),
        Some("crm-replica")
    );
    assert_eq!(
        variable("stg_payments", "FX_BIN").as_deref(),
        Some("/opt/etl/bin")
    );
    assert_eq!(
        variable("rpt_reorder_list", "HOME").as_deref(),
        Some("/home/etl")
    );
    assert!(!jobs["stg_customers"].definition.contains("crm-replica"));
    let lock = |id: &str| jobs[id].lock.clone().unwrap();
    assert!(lock("stg_inventory").wait);
    assert_eq!(lock("ops_purge_events").name, "/var/lock/events.lock");
    assert!(!lock("ops_purge_events").wait);
}

fn civil_times(job: &OldJob, from: &str, count: usize) -> Vec<String> {
    let start: jiff::Timestamp = from.parse().unwrap();
    let question = FiringQuestion {
        starts: vec![TimeMs::from_timestamp(start)],
        count,
    };
    let times = firing_times(job, &question).unwrap();
    let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    times.windows[0]
        .iter()
        .map(|at| at.timestamp().to_zoned_datetime(berlin.clone()))
        .map(|at| at.strftime("%a %m-%d %H:%M").to_string())
        .collect()
}

#[test]
fn old_jobs_fire_when_their_schedulers_say() {
    let (_, _, jobs) = world();
    let times = |id: &str| civil_times(&jobs[id], "2024-03-30T12:00:00Z", 3);
    // The spring gap takes 02:00 away; the run comes at the first instant after it.
    assert_eq!(
        times("dim_customer"),
        ["Sun 03-31 03:00", "Mon 04-01 02:00", "Tue 04-02 02:00"]
    );
    assert_eq!(
        times("stg_web_events")[0],
        "Sat 03-30 13:33",
        "India is half an hour off"
    );
    assert_eq!(
        times("rpt_peak_hour"),
        ["Sun 03-31 13:00", "Mon 04-01 13:00", "Tue 04-02 13:00"]
    );
    assert_eq!(
        times("mart_sales_week_region")[..2],
        ["Mon 04-01 04:30", "Mon 04-08 04:30"]
    );
    assert_eq!(times("mart_churn_flag")[0], "Sun 03-31 05:00");
    assert_eq!(
        times("exp_payroll"),
        ["Sun 03-31 06:00", "Tue 04-30 06:00", "Fri 05-31 06:00"]
    );
    assert_eq!(
        times("rpt_board_quarter")[..2],
        ["Mon 04-01 08:00", "Mon 07-01 08:00"]
    );
    assert_eq!(times("mart_hours_dept_week")[0], "Mon 04-01 06:00");
    assert_eq!(
        times("rpt_headcount")[..2],
        ["Mon 04-01 09:00", "Wed 05-01 09:00"]
    );
    assert_eq!(
        times("exp_web_audience")[..2],
        ["Sat 03-30 16:05", "Sat 03-30 20:05"]
    );
    // From six in the morning in India, Monday to Saturday: half past two in Berlin's summer.
    let feed = civil_times(&jobs["exp_stock_feed"], "2024-03-30T12:00:00Z", 7);
    assert_eq!(feed[5..], ["Sat 03-30 16:00", "Mon 04-01 02:30"]);
    assert_eq!(times("imp_not_running")[1], "Mon 04-01 02:00");
    assert_eq!(times("imp_mainframe_pull")[1], "Mon 04-01 02:00");
}

#[test]
fn what_has_no_schedule_says_so() {
    let (_, _, jobs) = world();
    let question = FiringQuestion {
        starts: vec![TimeMs(0)],
        count: 1,
    };
    for id in ["imp_reboot_daemon", "ret_commented", "ret_empty_file"] {
        assert!(firing_times(&jobs[id], &question).is_err(), "{id}");
    }
    let from: jiff::Timestamp = "2024-03-30T12:00:00Z".parse().unwrap();
    let question = FiringQuestion {
        starts: vec![TimeMs::from_timestamp(from)],
        count: 5,
    };
    let ended = firing_times(&jobs["ret_end_passed"], &question).unwrap();
    assert!(ended.windows[0].is_empty(), "its end date has passed");
}

/// A second set of rows with a suffix on jobs and tables, in a folder of its own.
fn replica(row: &Row) -> Row {
    let with = |name: &str| {
        if name.is_empty() {
            String::new()
        } else {
            format!("{name}_0002")
        }
    };
    let deps: Vec<String> = row.dep_list().into_iter().map(with).collect();
    Row {
        job: with(&row.job),
        target: with(&row.target),
        deps: deps.join(" "),
        legacy_file: format!("r0002/{}", row.legacy_file),
        sql: row.sql.replace(&row.target, &with(&row.target)),
        ..row.clone()
    }
}

#[test]
fn replicas_of_the_scenario_stand_beside_it_and_behave_alike() {
    let (mut rows, _, first) = world();
    let more: Vec<Row> = rows.iter().map(replica).collect();
    rows.extend(more);
    let files = generate(&rows);
    let jobs = old_jobs(&files, &super::surroundings_rows(&rows)).unwrap();
    assert_eq!(jobs.len(), 240);
    for job in jobs.iter().filter(|job| job.id.as_str().ends_with("_0002")) {
        let id = job.id.as_str().trim_end_matches("_0002");
        let twin = &first[id];
        assert_eq!(job.schedule, twin.schedule, "{id}");
        assert_eq!(job.zone, twin.zone, "{id}");
        assert_eq!(job.command.replace("_0002", ""), twin.command, "{id}");
        assert_eq!(job.declared_deps.len(), twin.declared_deps.len(), "{id}");
        assert_eq!(job.table.is_some(), twin.table.is_some(), "{id}");
        assert_eq!(
            job.hold.as_ref().map(|hold| &hold.reason),
            twin.hold.as_ref().map(|hold| &hold.reason),
            "{id}"
        );
    }
}

#[test]
fn any_first_part_of_the_scenario_is_a_world() {
    let (rows, _, _) = world();
    for count in [0, 1, 7, 30, 64, 119] {
        let part = &rows[..count];
        let jobs = old_jobs(&generate(part), &super::surroundings_rows(part)).unwrap();
        assert_eq!(jobs.len(), count);
    }
}
