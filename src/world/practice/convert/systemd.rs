//! systemd timers with their services.

use super::{Draft, FOLDER, USER};
use crate::world::practice::legacy::sections::Section;
use crate::world::practice::legacy::systemd::{
    Setting, calendar_event, environment, inner_command, settings, value,
};

pub(super) fn read(parts: &[Section<'_>]) -> Result<Draft, String> {
    let unit = |suffix: &str| -> Result<Vec<Setting>, String> {
        let part = parts.iter().find(|part| part.path.ends_with(suffix));
        part.map(|part| settings(part.text))
            .ok_or_else(|| format!("its {suffix} is missing"))
    };
    let (timer, service) = (unit(".timer")?, unit(".service")?);
    let calendar = timer
        .iter()
        .filter(|setting| setting.key.starts_with("On"))
        .collect::<Vec<_>>();
    let [only] = calendar.as_slice() else {
        return Err("a timer with other than one trigger".to_owned());
    };
    if only.key != "OnCalendar" {
        return Err(format!("{}= is no time of the calendar", only.key));
    }
    let event = calendar_event(&only.value)?;
    let fields: Vec<&str> = event.cron.split(' ').collect();
    if fields.get(2) != Some(&"*") && fields.get(4) != Some(&"*") {
        return Err("a day of the month and a day of the week that must both match".to_owned());
    }
    let exec = value(&service, "ExecStart").ok_or("its service starts nothing")?;
    Ok(Draft {
        schedule: event.cron,
        user: value(&service, "User").unwrap_or(USER).to_owned(),
        working_folder: value(&service, "WorkingDirectory")
            .unwrap_or(FOLDER)
            .to_owned(),
        environment: environment(&service).into_iter().collect(),
        command: inner_command(exec).to_owned(),
        sql: None,
    })
}
