//! systemd timers with their services, one pair a job.

use super::super::row::Row;
use super::{CLOSED_MAILBOX, ENDED_PROGRAMME, PATH, by_file, declared, fields};

/// All unit files.
pub(super) fn files(rows: &[Row]) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for (file, group) in by_file(rows, "systemd") {
        for row in group {
            // A unit is named after its job, `exp-price_list`, in the folder of its row's file.
            let folder = file
                .rsplit_once('/')
                .map_or(String::new(), |(folder, _)| format!("{folder}/"));
            let stem = format!("{folder}{}", row.job.replacen('_', "-", 1));
            out.push((format!("{stem}.timer"), timer(row).into_bytes()));
            out.push((format!("{stem}.service"), service(row).into_bytes()));
        }
    }
    out
}

fn timer(row: &Row) -> String {
    format!(
        "[Unit]\nDescription=When to run {}\n\n[Timer]\nOnCalendar={}\nAccuracySec=1s\n\n\
         [Install]\nWantedBy=timers.target\n",
        row.job,
        on_calendar(row)
    )
}

/// The row's five fields as a calendar event.
fn on_calendar(row: &Row) -> String {
    let [minute, hour, day, _, weekday] = fields(row);
    let weekday = match weekday {
        "*" => String::new(),
        "1-6" => "Mon..Sat ".to_owned(),
        name => format!("{name} "),
    };
    let day = if day == "*" {
        day.to_owned()
    } else {
        padded(day)
    };
    let zone = if row.has_defect("local time") {
        " Asia/Kolkata"
    } else {
        ""
    };
    format!(
        "{weekday}*-*-{day} {}:{}:00{zone}",
        padded(hour),
        padded(minute)
    )
}

/// A cron field in systemd's words: `*/30` is `00/30`, `6-20` is `06..20`, `5` is `05`.
fn padded(field: &str) -> String {
    if let Some(step) = field.strip_prefix("*/") {
        return format!("00/{step}");
    }
    if let Some((from, to)) = field.split_once('-') {
        return format!("{from:0>2}..{to:0>2}");
    }
    format!("{field:0>2}")
}

fn service(row: &Row) -> String {
    let job = row.job.as_str();
    let mut text = format!(
        "[Unit]\nDescription=Export {}\n",
        job.trim_start_matches("exp_")
    );
    let needs = declared(row);
    if !needs.is_empty() {
        text.push_str(&format!("X-Requires={}\n", needs.join(" ")));
    }
    if row.why.contains("programme ended") {
        text.push_str(&format!("X-Programme={ENDED_PROGRAMME}\n"));
    }
    text.push_str("\n[Service]\nType=oneshot\nUser=etl\nWorkingDirectory=/srv/etl\n");
    text.push_str(&format!("Environment=PATH={PATH} ETL_HOME=/srv/etl\n"));
    if row.has_defect("calendar rule") {
        text.push_str("ExecCondition=/bin/sh -c '[ \"$(date -d tomorrow +%%d)\" = 01 ]'\n");
    }
    let run = if row.has_defect("shell text") {
        format!("/bin/sh -c 'run-sql --stamp \"$(date +%%Y%%m%%d)\" jobs/{job}.sql'")
    } else if row.why.starts_with("mailbox") {
        format!("/opt/etl/bin/run-sql --mail-to {CLOSED_MAILBOX} jobs/{job}.sql")
    } else {
        format!("/opt/etl/bin/run-sql jobs/{job}.sql")
    };
    text.push_str(&format!("ExecStart={run}\n"));
    text.push_str(&format!("StandardOutput=append:/srv/etl/log/{job}.log\n"));
    text
}
