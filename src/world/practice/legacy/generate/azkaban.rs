//! Azkaban projects: one `.job` file a job, and the flow's triggers in one `.flow` file.

use super::super::row::Row;
use super::{PATH, by_file, declared, fields};

/// All job and flow files.
pub(super) fn files(rows: &[Row]) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for (file, group) in by_file(rows, "azkaban") {
        let project = file.trim_end_matches(".flow");
        let mut flow = format!(
            "# what starts when in project {project}; Quartz fields, server time\ntriggers:\n"
        );
        for row in group {
            flow.push_str(&format!(
                "  - job: {}\n    type: cron\n    value: {}\n",
                row.job,
                quartz(row)
            ));
            out.push((format!("{project}/{}.job", row.job), job(row).into_bytes()));
        }
        out.push((file.to_owned(), flow.into_bytes()));
    }
    out
}

/// The row's five fields as Quartz writes them. Most of the shop's triggers name the day; the one with
/// the calendar defect counts it, and Quartz counts from Sunday as 1.
fn quartz(row: &Row) -> String {
    let [minute, hour, day, month, weekday] = fields(row);
    let counted = row.has_defect("calendar rule");
    let (day, weekday) = match weekday {
        "*" => (day, "?"),
        "0" => ("?", if counted { "1" } else { "SUN" }),
        "1" => ("?", if counted { "2" } else { "MON" }),
        other => ("?", other),
    };
    format!("0 {minute} {hour} {day} {month} {weekday}")
}

fn job(row: &Row) -> String {
    let job = row.job.as_str();
    let command = match (row.target.as_str(), row.cls.as_str()) {
        ("", "impossible") => {
            "sample-events --random 0.1 --stamp-now --out out/sample.csv".to_owned()
        }
        ("", _) => "run-ops web_old".to_owned(),
        _ => format!("run-sql jobs/{job}.sql"),
    };
    let mut text = format!(
        "# {job}\ntype=command\ncommand={command}\nworking.dir=/srv/etl\nenv.PATH={PATH}\n\
         env.ETL_HOME=/srv/etl\nuser.to.proxy=etl\nfailure.emails={}@retail.example\n",
        row.owner
    );
    let mut needs = declared(row);
    if row.why.contains("dependency no longer exists") {
        needs.push("web_load_2019");
    }
    if !needs.is_empty() {
        text.push_str(&format!("dependencies={}\n", needs.join(",")));
    }
    text
}
