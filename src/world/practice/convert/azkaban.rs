//! Azkaban jobs with their triggers.

use super::{Draft, FOLDER, USER};
use crate::world::practice::legacy::azkaban::{environment, properties, triggers};
use crate::world::practice::legacy::sections::Section;

pub(super) fn read(job: &str, parts: &[Section<'_>]) -> Result<Draft, String> {
    let part = |suffix: &str| parts.iter().find(|part| part.path.ends_with(suffix));
    let text = part(".job").map_or("", |part| part.text);
    let properties = properties(text);
    let get = |key: &str| properties.get(key).map(String::as_str);
    match get("type") {
        Some("command") => {}
        other => return Err(format!("a job of type {}", other.unwrap_or("unknown"))),
    }
    let flow = part(".flow").map_or("", |part| part.text);
    let trigger = triggers(flow)
        .into_iter()
        .find(|trigger| trigger.job == job)
        .ok_or("no trigger starts it")?;
    Ok(Draft {
        schedule: five_of(&trigger.value)?,
        user: get("user.to.proxy").unwrap_or(USER).to_owned(),
        working_folder: get("working.dir").unwrap_or(FOLDER).to_owned(),
        environment: environment(&properties),
        command: get("command").ok_or("it has no command")?.to_owned(),
        sql: None,
    })
}

/// The fields without the seconds; `?` is `*`.
fn five_of(fields: &str) -> Result<String, String> {
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ["0", five @ ..] = fields.as_slice() else {
        return Err("a trigger within the minute".to_owned());
    };
    if five.len() != 5 {
        return Err(format!("a trigger of {} fields", fields.len()));
    }
    Ok(five.join(" ").replace('?', "*"))
}
