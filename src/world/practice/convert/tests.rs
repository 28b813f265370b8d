//! Right where no judgement is needed, wrong in the stated ways elsewhere, and honest about the rest.

use super::convert;
use crate::model::TimeMs;
use crate::world::ports::FiringQuestion;
use crate::world::practice::definition::{Definition, WriteMode};
use crate::world::practice::legacy::{
    DayFields, OldJob, Plan, Row, firing_times, generate, instants, old_jobs, read_rows,
    surroundings_rows,
};
use std::collections::BTreeMap;

const CSV: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/assets/practice/jobs120.csv"
));

struct Case {
    row: Row,
    old: OldJob,
    converted: Result<Definition, String>,
}

fn cases() -> BTreeMap<String, Case> {
    let rows = read_rows(CSV).unwrap();
    let jobs = old_jobs(&generate(&rows), &surroundings_rows(&rows)).unwrap();
    rows.into_iter()
        .map(|row| {
            let old = jobs.iter().find(|job| job.id.0 == row.job).unwrap().clone();
            let converted = convert(
                old.id.as_str(),
                &old.origin,
                &old.definition,
                &old.declared_deps,
                old.table.as_deref(),
            )
            .map(|text| Definition::parse(&text).unwrap());
            (
                row.job.clone(),
                Case {
                    row,
                    old,
                    converted,
                },
            )
        })
        .collect()
}

fn both_changes(count: usize) -> FiringQuestion {
    let eve = |text: &str| TimeMs::from_timestamp(text.parse().unwrap());
    FiringQuestion {
        starts: vec![eve("2024-03-29T23:00:00Z"), eve("2024-10-25T22:00:00Z")],
        count,
    }
}

fn new_times(definition: &Definition, question: &FiringQuestion) -> Vec<Vec<TimeMs>> {
    let mut plan = Plan::new(&definition.schedule, DayFields::Either, &definition.zone);
    plan.last_day_only = definition.only_last_day_of_month;
    instants(&plan, question).unwrap().windows
}

#[test]
fn each_class_converts_as_far_as_its_formats_are_known() {
    let cases = cases();
    let count = |class: &str| {
        let of_class = cases.values().filter(|case| case.row.cls == class);
        let (good, all): (Vec<_>, Vec<_>) =
            of_class.map(|case| (case.converted.is_ok(), 1)).unzip();
        (good.iter().filter(|ok| **ok).count(), all.len())
    };
    assert_eq!(count("mechanical"), (52, 66), "all but fourteen of Oozie");
    // Three of Oozie and the mangled export are refused.
    assert_eq!(count("repair"), (27, 31));
    // The source that is gone, the sampler and the poller convert; runs must find them out.
    assert_eq!(count("impossible"), (3, 8));
    for (id, case) in &cases {
        if let Err(why) = &case.converted {
            assert!(why.len() > 20 && !why.contains('\n'), "{id}: {why}");
        }
    }
    let why = |id: &str| cases[id].converted.as_ref().unwrap_err().clone();
    assert!(why("dim_supplier").contains("Oozie"));
    assert!(why("imp_operator_confirm").contains("Control-M"));
    assert!(why("imp_not_running").contains("AutoSys"));
    assert!(why("imp_reboot_daemon").contains("@reboot"));
    assert!(why("ret_empty_file").contains("comments only"));
    assert!(why("dim_account").contains("not UTF-8"));
}

#[test]
fn mechanical_jobs_fire_as_before_and_carry_the_same_sql() {
    let cases = cases();
    let question = both_changes(200);
    let mut seen = 0;
    for (id, case) in cases
        .iter()
        .filter(|(_, case)| case.row.cls == "mechanical")
    {
        let Ok(new) = &case.converted else { continue };
        let old = firing_times(&case.old, &question).unwrap().windows;
        assert_eq!(old, new_times(new, &question), "{id}");
        assert_eq!(old[0].len(), 200, "{id}");
        assert_eq!(new.sql, case.old.sql, "{id}");
        assert_eq!(new.depends_on, case.old.declared_deps, "{id}");
        assert_eq!(
            new.command.trim_start_matches("/opt/etl/bin/"),
            case.old.command.trim_start_matches("/opt/etl/bin/"),
            "{id}"
        );
        assert!(new.environment["PATH"].contains("/opt/etl/bin"), "{id}");
        assert!(case.old.lock.is_none() && case.old.guard.is_none(), "{id}");
        let mode = new.write.as_ref().map(|write| write.mode);
        let wanted = case.old.table.is_some().then_some(WriteMode::Replace);
        assert_eq!(mode, wanted, "{id}");
        seen += 1;
    }
    assert_eq!(seen, 52);
}

#[test]
fn mechanical_schedules_mean_what_the_scenario_says() {
    // Independent of every reader here: the scenario's own five fields.
    let question = both_changes(50);
    for (id, case) in cases() {
        if case.row.cls != "mechanical" {
            continue;
        }
        let fields = case.row.schedule.replace("@daily", "0 0 * * *");
        let plan = Plan::new(fields, DayFields::Either, "Europe/Berlin");
        let wanted = instants(&plan, &question).unwrap().windows;
        let old = firing_times(&case.old, &question).unwrap().windows;
        assert_eq!(old, wanted, "{id}");
    }
}

#[test]
fn each_schedule_defect_changes_the_firing_times() {
    let cases = cases();
    let question = both_changes(200);
    let differs = |id: &str| {
        let case = &cases[id];
        let old = firing_times(&case.old, &question).unwrap().windows;
        old != new_times(case.converted.as_ref().unwrap(), &question)
    };
    for id in [
        "stg_web_events",
        "mart_sessions_local_hour",
        "rpt_peak_hour",
        "exp_stock_feed",
        "mart_sales_week_region",
        "exp_payroll",
    ] {
        assert!(differs(id), "{id}");
    }
    // All others that have a schedule fire as before: their defects are elsewhere.
    for (id, case) in &cases {
        let schedule_defect =
            case.row.has_defect("local time") || case.row.has_defect("calendar rule");
        if case.row.cls == "repair" && !schedule_defect && case.converted.is_ok() {
            assert!(!differs(id), "{id}");
        }
    }
}

#[test]
fn what_it_gets_wrong_stays_visible() {
    let cases = cases();
    let new = |id: &str| cases[id].converted.as_ref().unwrap();
    assert!(new("stg_gl_entries").command.contains(r"'+\%Y\%m\%d'"));
    assert!(new("exp_price_list").command.contains("%%Y%%m%%d"));
    assert!(new("ops_backup").command.contains(r"\%m"));
    for id in ["stg_inventory", "ops_purge_events"] {
        assert!(
            new(id).lock.is_none() && !new(id).command.contains("flock"),
            "{id}"
        );
        assert!(cases[id].old.lock.is_some(), "{id}");
    }
    for (id, name) in [
        ("stg_customers", "CRM_DB"),
        ("stg_payments", "FX_BIN"),
        ("rpt_reorder_list", "HOME"),
    ] {
        assert!(new(id).command.contains(&format!("${name}")), "{id}");
        assert!(!new(id).environment.contains_key(name), "{id}");
    }
    for id in ["dim_customer_hist", "fct_spend", "mart_trial_balance"] {
        assert_eq!(
            new(id).write.as_ref().unwrap().mode,
            WriteMode::Append,
            "{id}"
        );
    }
    for id in [
        "mart_open_orders",
        "mart_backlog",
        "mart_cac_daily",
        "rpt_daily_revenue",
        "exp_bank_file",
    ] {
        assert!(new(id).depends_on.is_empty(), "{id}");
        assert!(!cases[id].row.deps.is_empty(), "{id}");
    }
    for id in ["fct_tickets", "mart_churn_flag", "exp_carrier_manifest"] {
        assert!(new(id).sql.as_ref().unwrap().contains("today()"), "{id}");
    }
    assert!(!new("exp_payroll").only_last_day_of_month);
    assert!(new("dim_store").sql.as_ref().unwrap().contains("nvl("));
    assert!(
        new("fct_order_lines")
            .sql
            .as_ref()
            .unwrap()
            .contains("/10000")
    );
}

#[test]
fn unknown_text_is_refused_with_a_reason() {
    let refused = |origin: &str, text: &str| convert("a", origin, text, &[], None).unwrap_err();
    assert!(refused("x.yaml:1", "a: b").contains("not a kind of file"));
    assert!(refused("x.crontab:1", "# nothing\n").contains("comments only"));
    assert!(refused("x.crontab:1", "").contains("comments only"));
    assert!(refused("x.crontab:1", "0 1 * * * a\n0 2 * * * a\n").contains("more than one"));
    assert!(refused("x.crontab:1", "{{ template }}\n").contains("line 1"));
    assert!(refused("x.crontab:1", &"#".repeat(2_000_000)).contains("longer than"));
    let timer = "--- a.timer ---\n[Timer]\nOnUnitActiveSec=10m\n--- a.service ---\n[Service]\nExecStart=/b\n";
    assert!(refused("a.timer", timer).contains("OnUnitActiveSec"));
    let both = timer.replace("OnUnitActiveSec=10m", "OnCalendar=Fri *-*-13 00:00:00");
    assert!(refused("a.timer", &both).contains("both match"));
    let job = "--- p/a.job ---\ntype=hadoopJava\n";
    assert!(refused("p/a.job", job).contains("hadoopJava"));
}

#[test]
fn damaged_text_is_converted_or_refused_but_never_worse() {
    use proptest::prelude::*;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    let texts: Vec<(String, String, String)> = cases()
        .into_values()
        .map(|case| (case.row.job, case.old.origin, case.old.definition))
        .collect();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(512)
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let damage = (
        0..texts.len(),
        any::<prop::sample::Index>(),
        0_usize..40,
        "[ -~\n]{0,12}",
    );
    runner
        .run(&damage, |(which, at, length, put)| {
            let (job, origin, text) = &texts[which];
            let mut chars: Vec<char> = text.chars().collect();
            let from = at.index(chars.len());
            let to = (from + length).min(chars.len());
            chars.splice(from..to, put.chars());
            let text: String = chars.into_iter().collect();
            if let Ok(toml) = convert(job, origin, &text, &[], None) {
                prop_assert!(Definition::parse(&toml).is_ok(), "{toml}");
            }
            Ok(())
        })
        .unwrap();
}
