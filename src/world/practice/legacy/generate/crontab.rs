//! Crontabs of the batch hosts.

use super::super::row::Row;
use super::{FORMER_OWNER, OLD_MONITOR, PATH, STAGING_HOST, by_file, declared};

/// All crontabs, and the host's environment file that their commands lean on.
pub(super) fn files(rows: &[Row]) -> Vec<(String, Vec<u8>)> {
    let mut out = vec![(
        "etc/environment".to_owned(),
        b"# read by pam_env for every session of this host, cron's included\n\
          CRM_DB=crm-replica\n\
          FX_BIN=/opt/etl/bin\n"
            .to_vec(),
    )];
    for (file, group) in by_file(rows, "cron") {
        let (left_behind, living): (Vec<&Row>, Vec<&Row>) = group
            .into_iter()
            .partition(|row| row.why.starts_with("crontab with comments only"));
        if !left_behind.is_empty() {
            out.push((
                format!("etl02/{file}"),
                comments_only(&left_behind).into_bytes(),
            ));
        }
        out.push((file.to_owned(), crontab(file, &living).into_bytes()));
    }
    out
}

fn crontab(file: &str, rows: &[&Row]) -> String {
    let staging = file.contains("staging");
    let host = if staging { STAGING_HOST } else { "etl01" };
    let owner = rows.first().map_or("etl", |row| row.owner.as_str());
    let mut text = format!(
        "# {file}: user etl\n# host: {host}\nSHELL=/bin/sh\nPATH={PATH}\nETL_HOME=/srv/etl\n\
         MAILTO={owner}@retail.example\n\n"
    );
    // A line that was switched off stays where its newer twin was written under it.
    let (off, on): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .partition(|row| row.why.starts_with("commented-out"));
    for row in off {
        text.push_str(&format!(
            "# old rates feed, see below\n#{} cd $ETL_HOME && run-sql jobs/stg_fx_rates{}.sql >> {} 2>&1\n\n",
            row.schedule,
            base_and_suffix(&row.job).1,
            log(row)
        ));
    }
    for row in on {
        push_entry(&mut text, row);
    }
    text
}

fn push_entry(text: &mut String, row: &Row) {
    if row.why.starts_with("owner left") {
        text.push_str(&format!("# owner: {FORMER_OWNER}\n"));
    }
    let needs = declared(row);
    if !needs.is_empty() {
        text.push_str(&format!("# requires: {}\n", needs.join(" ")));
    }
    let zone = row.has_defect("local time").then(|| {
        // Half an hour off shows on an hourly job; a whole one would not.
        if row.schedule.contains("* * * *") {
            "Asia/Kolkata"
        } else {
            "America/New_York"
        }
    });
    if let Some(zone) = zone {
        text.push_str(&format!("CRON_TZ={zone}\n"));
    }
    text.push_str(&format!(
        "{} {} >> {} 2>&1{}\n",
        row.schedule,
        command(row),
        log(row),
        if row.why.contains("exit 0") {
            " || true"
        } else {
            ""
        },
    ));
    if zone.is_some() {
        text.push_str("CRON_TZ=Europe/Berlin\n");
    }
}

fn log(row: &Row) -> String {
    format!("log/{}.log", row.job)
}

fn command(row: &Row) -> String {
    let job = row.job.as_str();
    if row.target.is_empty() {
        return format!("cd $ETL_HOME && {}", ops_command(row));
    }
    if row.has_defect("lock semantics") {
        return format!(
            "cd $ETL_HOME && flock /var/lock/inventory-load.lock run-sql jobs/{job}.sql"
        );
    }
    if row.has_defect("shell text") {
        return format!(
            "cd $ETL_HOME && run-sql --stamp \"$(date '+\\%Y\\%m\\%d')\" jobs/{job}.sql"
        );
    }
    if row.has_defect("environment") {
        return match row.domain.as_str() {
            "crm" => format!("cd $ETL_HOME && run-sql --db \"$CRM_DB\" jobs/{job}.sql"),
            "finance" => format!("cd $ETL_HOME && $FX_BIN/run-sql jobs/{job}.sql"),
            // Where `etl` is a link to the jobs' folder in the account's home.
            _ => format!("cd $HOME/etl && run-sql jobs/{job}.sql"),
        };
    }
    format!("cd $ETL_HOME && run-sql jobs/{job}.sql")
}

/// A row's job without the suffix of a replica, and the suffix.
fn base_and_suffix(job: &str) -> (&str, &str) {
    let digits = job.rsplit_once('_').map_or("", |(_, last)| last);
    let numbered = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let at = if numbered {
        job.len() - digits.len() - 1
    } else {
        job.len()
    };
    job.split_at(at)
}

fn ops_command(row: &Row) -> String {
    let (base, suffix) = base_and_suffix(&row.job);
    let fixed = match base {
        "ops_vacuum" => "vacuum-warehouse --analyze",
        "ops_backup" => "dump-warehouse --to backup/warehouse-$(date '+\\%Y-\\%m-\\%d').dump",
        "ops_purge_events" => "flock -n /var/lock/events.lock purge-events --older-than-days 400",
        "ops_rowcount_audit" => "count-rows --of marts",
        "ops_rotate_logs" => "rotate-logs --keep 14 log",
        "ops_disk_alarm" => "check-disk --max-percent 90 /srv",
        "imp_reboot_daemon" => "etl-listener --port 7070",
        "imp_source_gone" => "curl -fsS https://api.oldads.example/v1/spend -o in/oldads.json",
        "imp_minute_poller" => "flock -n /var/lock/order-poll.lock poll-orders --wait-seconds 240",
        "ret_health_ping" => return format!("curl -fsS http://{OLD_MONITOR}/ping/etl"),
        "ret_staging_twin" => return format!("run-sql jobs/stg_orders{suffix}.sql"),
        // The copy beside the packaged file still calls what that file calls today.
        "ret_orig_copy" => return format!("run-sql jobs/stg_products{suffix}.sql"),
        other => return format!("run-ops {other}"),
    };
    fixed.to_owned()
}

fn comments_only(rows: &[&Row]) -> String {
    let mut text = String::from(
        "# hr.crontab: user etl\n# host: etl02\n# everything here went to etl01 in the autumn of 2022;\n\
         # nothing is installed from this file any more\n",
    );
    for row in rows {
        text.push_str(&format!(
            "#{} cd $ETL_HOME && run-sql jobs/stg_employees{}.sql >> {} 2>&1\n",
            row.schedule,
            base_and_suffix(&row.job).1,
            log(row)
        ));
    }
    text
}
