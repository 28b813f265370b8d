//! What the world beside the schedulers knows, so that every retirement can be found.

use super::super::row::Row;
use super::super::types::Surroundings;
use super::{CLOSED_MAILBOX, ENDED_PROGRAMME, FORMER_OWNER, OLD_MONITOR, STAGING_HOST};
use std::collections::BTreeSet;

/// The day that the scenario is set on.
const TODAY: u32 = 455;

/// The records of the world's own tables at the scenario's run day.
pub fn surroundings_rows(rows: &[Row]) -> Surroundings {
    let mut world = Surroundings {
        today: TODAY,
        ..Surroundings::default()
    };
    let ago = |days: u32| TODAY.saturating_sub(days);
    let one = |name: &str| BTreeSet::from([name.to_owned()]);
    for (place, row) in rows.iter().enumerate() {
        let table = row.target.clone();
        if !table.is_empty() {
            let days = u32::try_from(place % 6).unwrap_or(0);
            world.last_read_days.insert(table.clone(), ago(days));
        }
        if !row.report.is_empty() {
            world.readers.insert(table.clone(), one(&row.report));
        }
        if row.cls != "retire" {
            continue;
        }
        let why = row.why.as_str();
        if why.starts_with("feeds only mart replaced") {
            world.readers.insert(table, one("mart_campaign_cost"));
            world
                .replaced_tables
                .insert("mart_campaign_cost".into(), "fct_spend".into());
        } else if why.starts_with("same numbers") {
            world
                .equal_tables
                .insert(table, ("quality.returns_by_product".into(), 90));
        } else if why.starts_with("owner left") {
            world.last_read_days.insert(table, ago(400));
            world.departed_owners.insert(FORMER_OWNER.into(), ago(410));
        } else if why.starts_with("no query") {
            world.last_read_days.insert(table, ago(187));
        } else if why.starts_with("no download") {
            world.last_read_days.insert(table, ago(210));
        } else if why.starts_with("loyalty") {
            world
                .ended_programmes
                .insert(ENDED_PROGRAMME.into(), ago(120));
        } else if why.starts_with("read only by a report") {
            world.readers.insert(table, one("cost_centre_cockpit"));
            world
                .retired_reports
                .insert("cost_centre_cockpit".into(), ago(96));
        } else if why.starts_with("mailbox") {
            world
                .closed_mailboxes
                .insert(CLOSED_MAILBOX.into(), ago(64));
        } else if why.contains("staging host") {
            world.dead_hosts.insert(STAGING_HOST.into(), ago(300));
        } else if why.starts_with("pings") {
            world.dead_hosts.insert(OLD_MONITOR.into(), ago(250));
        }
    }
    world
}
