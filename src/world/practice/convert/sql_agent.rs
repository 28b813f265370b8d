//! SQL Server Agent scripts.

use super::{Draft, FOLDER, PATH, USER};
use crate::world::practice::legacy::sql_agent::{Call, calls, cron_fields};
use std::collections::BTreeMap;

pub(super) fn read(job: &str, text: &str) -> Result<Draft, String> {
    let calls = calls(text);
    let only = |name: &str| -> Result<&Call, String> {
        let mut found = calls.iter().filter(|call| call.procedure == name);
        match (found.next(), found.next()) {
            (Some(call), None) => Ok(call),
            (None, _) => Err(format!("no {name}")),
            (Some(_), Some(_)) => Err(format!("more than one {name}")),
        }
    };
    let add = only("sp_add_job")?;
    if add.argument("job_name") != job {
        return Err(format!("it is job {:?}", add.argument("job_name")));
    }
    if add.argument("enabled") == "0" {
        return Err("the job is disabled".to_owned());
    }
    let step = only("sp_add_jobstep")?;
    if step.argument("subsystem") != "TSQL" {
        return Err(format!("a step for {:?}", step.argument("subsystem")));
    }
    let schedule = only("sp_add_jobschedule")?;
    let fields = cron_fields(
        schedule.number("freq_type"),
        schedule.number("freq_interval"),
        schedule.number("freq_recurrence_factor"),
        schedule.number("freq_subday_type"),
        schedule.number("active_start_time"),
    )?;
    Ok(Draft {
        schedule: fields,
        user: USER.to_owned(),
        working_folder: FOLDER.to_owned(),
        environment: BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]),
        command: format!("run-sql jobs/{job}.sql"),
        sql: Some(step.argument("command").to_owned()),
    })
}
