//! SQL Server Agent exports: one batch a job, the SQL inside the step.

use super::super::row::Row;
use super::{by_file, declared, fields, sql};

/// All export scripts.
pub(super) fn files(rows: &[Row]) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for (file, group) in by_file(rows, "sql-agent") {
        let stem = file.trim_end_matches(".sql");
        let (odd, plain): (Vec<&Row>, Vec<&Row>) = group
            .into_iter()
            .partition(|row| row.has_defect("file encoding"));
        for row in odd {
            // Saved from the management tool as it saves by default.
            let text = script(&[row]).replace('\n', "\r\n");
            let bytes = std::iter::once(0xFEFF)
                .chain(text.encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect();
            let name = row.job.trim_start_matches("dim_");
            let domain = stem.split('_').next().unwrap_or(stem);
            out.push((format!("{domain}_{name}.sql"), bytes));
        }
        out.push((format!("{stem}.sql"), script(&plain).into_bytes()));
    }
    out
}

fn script(rows: &[&Row]) -> String {
    let mut text = String::from("USE [msdb]\nGO\n");
    for row in rows {
        text.push('\n');
        text.push_str(&batch(row));
        text.push_str("GO\n");
    }
    text
}

fn batch(row: &Row) -> String {
    let job = row.job.as_str();
    let needs = declared(row);
    let requires = if needs.is_empty() {
        String::new()
    } else {
        format!(" requires: {}", needs.join(" "))
    };
    let title = if row.has_defect("file encoding") {
        "Kontenplan für Zürich."
    } else {
        "Nightly load."
    };
    let command = sql::old_sql(row).unwrap_or_default().replace('\'', "''");
    format!(
        "/****** Object: Job [{job}] ******/\nDECLARE @jobId BINARY(16)\n\
         EXEC msdb.dbo.sp_add_job @job_name=N'{job}',\n\t\t@enabled=1,\n\
         \t\t@description=N'{title}{requires}',\n\
         \t\t@category_name=N'Data Collector',\n\t\t@owner_login_name=N'{owner}',\n\
         \t\t@job_id=@jobId OUTPUT\n\
         EXEC msdb.dbo.sp_add_jobstep @job_id=@jobId, @step_name=N'load', @step_id=1,\n\
         \t\t@retry_attempts=0, @subsystem=N'TSQL',\n\t\t@command=N'{command}',\n\
         \t\t@database_name=N'warehouse'\n\
         EXEC msdb.dbo.sp_add_jobschedule @job_id=@jobId, @name=N'{job}', @enabled=1,\n\
         {frequency}\
         EXEC msdb.dbo.sp_add_jobserver @job_id=@jobId, @server_name=N'(local)'\n",
        owner = row.owner,
        frequency = frequency(row),
    )
}

/// The row's five fields as the agent's integers: 4 daily, 8 weekly (interval is a bit a day, Sunday
/// 1), 16 monthly (interval is the day).
fn frequency(row: &Row) -> String {
    let [minute, hour, day, _, weekday] = fields(row);
    let number = |field: &str| field.parse::<u32>().unwrap_or(0);
    let (kind, interval, every) = if weekday != "*" {
        (8, 1 << (number(weekday) % 7), 1)
    } else if day != "*" {
        (16, number(day), 1)
    } else {
        (4, 1, 0)
    };
    let start = number(hour) * 10_000 + number(minute) * 100;
    format!(
        "\t\t@freq_type={kind},\n\t\t@freq_interval={interval},\n\t\t@freq_subday_type=1,\n\
         \t\t@freq_subday_interval=0,\n\t\t@freq_recurrence_factor={every},\n\
         \t\t@active_start_date=20230101,\n\t\t@active_end_date=99991231,\n\
         \t\t@active_start_time={start},\n\t\t@active_end_time=235959\n"
    )
}
