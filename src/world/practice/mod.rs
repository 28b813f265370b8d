//! The embedded practice world (docs/practice-world.md): a data platform in its own SQLite file.
//!
//! The file outlives a crash of the process that uses it. Nothing in here asks the machine's clock or a
//! stateful generator of random numbers: time comes with each request, and every random decision is a
//! hash of the seed and of a stable key, so that a restart changes nothing.

pub mod apply;
mod build;
pub mod chance;
pub mod convert;
pub mod definition;
pub mod dialect;
mod effects;
pub mod functions;
pub mod goal;
pub mod golden;
mod lazy;
pub mod legacy;
mod old_runs;
pub mod platform;
mod probe;
mod reports;
mod run;
pub mod scenario;
pub mod schema;
pub mod settings;
pub mod shell;
mod source;
mod target;
mod validate;
mod warehouse;
mod world;

pub use effects::DRILL_PASSES;
pub use run::RERUN_AFTER_DAYS;
pub use settings::{Faults, PracticeSettings};
pub use world::{MAX_MILLION_STEPS, PracticeWorld};

use super::ports::{Side, World};
use crate::model::{LogicalDate, TimeMs};
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use std::path::Path;

/// The logical date of every drill and cutover, as a day number: 2024-03-31, day 0 being 2023-01-01.
pub const RUN_DAY: i64 = 455;

/// The zone of the company.
pub const ZONE: &str = "Europe/Berlin";

/// When the virtual week begins: Monday 2024-04-01 09:00 in Berlin.
pub const START: TimeMs = TimeMs(1_711_954_800_000);

/// When the migration is due: Friday 2024-04-05 18:00 in Berlin.
pub const DEADLINE: TimeMs = TimeMs(1_712_332_800_000);

const EPOCH: Date = date(2023, 1, 1);

/// The date of a day number; numbers beyond the calendar give its edge.
pub fn date_of_day(day: i64) -> Date {
    EPOCH.saturating_add(jiff::Span::new().try_days(day).unwrap_or_default())
}

/// The day number of a date as [`date_of_day`] writes it; none when it is no date.
pub fn day_of_date(date: &LogicalDate) -> Option<i64> {
    let date: Date = date.as_str().parse().ok()?;
    let span = EPOCH.until(date).ok()?;
    Some(i64::from(span.get_days()))
}

/// How a side's tables of a day begin: the run day's are the side's own, each other day has its copies.
fn place(side: Side, day: i64) -> String {
    if day == RUN_DAY {
        side.word().to_owned()
    } else {
        format!("{}_{day}", side.word())
    }
}

/// The day number of an instant on the wall in Berlin.
pub fn wall_day(at: TimeMs) -> i64 {
    let zone = TimeZone::get(ZONE).unwrap_or(TimeZone::UTC);
    let today = at.timestamp().to_zoned_datetime(zone).date();
    EPOCH
        .until(today)
        .map_or(RUN_DAY, |span| i64::from(span.get_days()))
}

/// Opens the practice world of a goal file's `[world.practice]` table.
///
/// # Errors
/// When a setting is wrong, or the world's file can be neither made nor opened.
pub fn open(table: &Map<String, Value>, base_dir: &Path) -> Result<World, String> {
    let settings = PracticeSettings::from_table(table, base_dir)?;
    PracticeWorld::open(settings)
        .map(|world| world.ports())
        .map_err(|error| error.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_week_begins_on_day_456_and_ends_on_day_460() {
        assert_eq!(wall_day(START), 456);
        assert_eq!(wall_day(DEADLINE), 460);
        assert_eq!(date_of_day(RUN_DAY).to_string(), "2024-03-31");
        let zone = TimeZone::get(ZONE).unwrap();
        let start = START.timestamp().to_zoned_datetime(zone.clone());
        assert_eq!(
            start.strftime("%a %F %H:%M").to_string(),
            "Mon 2024-04-01 09:00"
        );
        let end = DEADLINE.timestamp().to_zoned_datetime(zone);
        assert_eq!(
            end.strftime("%a %F %H:%M").to_string(),
            "Fri 2024-04-05 18:00"
        );
    }
}
