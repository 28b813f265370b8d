//! Firing times of cron expressions, computed by a library that is not ours, with the rules of the classic
//! daemon.

use crate::model::TimeMs;
use crate::world::ports::{FiringQuestion, FiringTimes};
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::time::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, ZonedDateTime};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Most instants one question may ask for, over all windows.
pub const MAX_INSTANTS: usize = 100_000;
/// Months and days as the classic daemon names them.
const NAMES: [&str; 19] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "sun",
    "mon", "tue", "wed", "thu", "fri", "sat",
];

/// A schedule as a source adapter lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CronSchedule {
    /// Five fields, or `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`.
    pub cron: String,
    /// IANA name of the zone the old scheduler's host keeps.
    pub zone: String,
}

/// Lists the instants of a schedule after each start.
///
/// Day of month and day of week combine as in the classic daemon: when neither begins with `*`, either is
/// enough; otherwise both must hold. Around a clock change, a job at fixed times that fall into the gap
/// runs once right after it and once in a repeated hour; a job with `*` in minute or hour follows the clock.
///
/// # Errors
/// One sentence: an expression that the classic daemon would not take, an unknown zone, too many instants.
pub fn firing_times(
    schedule: &CronSchedule,
    question: &FiringQuestion,
) -> Result<FiringTimes, String> {
    if question.count.saturating_mul(question.starts.len()) > MAX_INSTANTS {
        return Err(format!("more than {MAX_INSTANTS} firing times asked"));
    }
    let fields = five_fields(&schedule.cron)?;
    let zone = TimeZone::get(&schedule.zone)
        .map_err(|_| format!("unknown time zone \"{}\"", schedule.zone))?;
    let [_, _, day, _, weekday] = &fields;
    let cron = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .dom_and_dow(day.starts_with('*') || weekday.starts_with('*'))
        .build()
        .parse(&fields.join(" "))
        .map_err(|error| format!("cron expression \"{}\": {error}", schedule.cron))?;
    refuse_impossible_date(&cron, &schedule.cron)?;
    let mut windows = Vec::with_capacity(question.starts.len());
    for start in &question.starts {
        let mut instants = Vec::with_capacity(question.count);
        let mut at = Local(start.timestamp().to_zoned_datetime(zone.clone()));
        while instants.len() < question.count {
            at = cron
                .find_next_occurrence(&at, false)
                .map_err(|error| format!("cron expression \"{}\": {error}", schedule.cron))?;
            instants.push(TimeMs::from_timestamp(at.0.timestamp()));
        }
        windows.push(instants);
    }
    Ok(FiringTimes {
        windows,
        method: format!(
            "cron expression \"{}\" in {}, computed by croner 4",
            fields.join(" "),
            schedule.zone
        ),
    })
}

/// The five fields, with nicknames written out; refuses what only newer dialects know.
fn five_fields(cron: &str) -> Result<[String; 5], String> {
    let text = match cron.trim() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        "@reboot" => return Err("\"@reboot\" has no firing times: it runs at boot".to_owned()),
        other => other,
    };
    let fields: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
    let fields: [String; 5] = fields
        .try_into()
        .map_err(|_| format!("cron expression \"{cron}\" does not have five fields"))?;
    for field in &fields {
        let known = |part: &str| {
            part.is_empty()
                || part.bytes().all(|byte| byte.is_ascii_digit())
                || NAMES.contains(&part.to_ascii_lowercase().as_str())
        };
        if field.len() > 200 || !field.split([',', '-', '/', '*']).all(known) {
            return Err(format!(
                "cron expression \"{cron}\": \"{field}\" is not a cron field"
            ));
        }
    }
    Ok(fields)
}

/// A date such as 30 February never comes, and searching for it would take very long.
fn refuse_impossible_date(cron: &croner::Cron, text: &str) -> Result<(), String> {
    let pattern = &cron.pattern;
    let days = pattern.days.values();
    let months = pattern.months.values();
    let weekday_alone = !pattern.matches_dom_and_dow() && !pattern.is_dow_wildcard();
    let possible = weekday_alone
        || months.iter().any(|month| {
            let last = match month {
                2 => 29,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            days.iter().any(|day| *day <= last)
        });
    if possible {
        Ok(())
    } else {
        Err(format!(
            "cron expression \"{text}\" names a date that never comes"
        ))
    }
}

/// A zoned instant the library can search with.
#[derive(Clone)]
struct Local(ZonedDateTime);

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        let wall = self.0.datetime();
        let part = |number: i8| u32::try_from(number).unwrap_or(0);
        // The parts are a valid date and time already.
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(
                i32::from(wall.year()),
                part(wall.month()),
                part(wall.day()),
            ),
            CivilTime::from_parts_unchecked(
                part(wall.hour()),
                part(wall.minute()),
                part(wall.second()),
            ),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        let days = self.0.weekday().to_sunday_zero_offset();
        Weekday::from_days_from_sunday(u32::try_from(days).unwrap_or(0))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let part = |number: u32| i8::try_from(number).map_err(|_| CronError::InvalidDate);
        let wall = jiff::civil::DateTime::new(
            i16::try_from(civil.year()).map_err(|_| CronError::InvalidDate)?,
            part(civil.month())?,
            part(civil.day())?,
            part(civil.hour())?,
            part(civil.minute())?,
            part(civil.second())?,
            0,
        )
        .map_err(|_| CronError::InvalidDate)?;
        let zone = self.0.time_zone();
        let at = |offset: jiff::tz::Offset| {
            offset
                .to_timestamp(wall)
                .map(|at| Self(at.to_zoned_datetime(zone.clone())))
                .map_err(|_| CronError::InvalidTime)
        };
        Ok(match zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => Resolution::Single(at(offset)?),
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
            AmbiguousOffset::Fold { before, after } => {
                Resolution::Ambiguous(at(before)?, at(after)?)
            }
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()
            .map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn fire(cron: &str, zone: &str, start: &str, count: usize) -> Result<Vec<String>, String> {
        let schedule = CronSchedule {
            cron: cron.to_owned(),
            zone: zone.to_owned(),
        };
        let question = FiringQuestion {
            starts: vec![TimeMs::from_timestamp(start.parse().unwrap())],
            count,
        };
        let times = firing_times(&schedule, &question)?;
        Ok(times.windows[0].iter().map(ToString::to_string).collect())
    }

    #[test]
    fn day_fields_combine_as_in_the_classic_daemon() {
        // Neither begins with a star: the 13th or any Friday.
        let either = fire("0 0 13 * 5", "UTC", "2026-03-01T00:00:00Z", 4).unwrap();
        assert_eq!(
            either[..3],
            [
                "2026-03-06T00:00:00Z",
                "2026-03-13T00:00:00Z",
                "2026-03-20T00:00:00Z"
            ]
        );
        let either = fire("0 0 14 * 5", "UTC", "2026-03-12T00:00:00Z", 3).unwrap();
        assert_eq!(
            either,
            [
                "2026-03-13T00:00:00Z",
                "2026-03-14T00:00:00Z",
                "2026-03-20T00:00:00Z"
            ]
        );
        // `*/2` begins with a star: odd days that are Fridays.
        let both = fire("0 0 */2 * 5", "UTC", "2026-03-01T00:00:00Z", 2).unwrap();
        assert_eq!(both, ["2026-03-13T00:00:00Z", "2026-03-27T00:00:00Z"]);
        let sunday = fire("0 0 * * 7", "UTC", "2026-03-02T00:00:00Z", 1).unwrap();
        assert_eq!(sunday, ["2026-03-08T00:00:00Z"]);
    }

    #[test]
    fn clock_changes_are_treated_as_the_daemon_treats_them() {
        let zone = "America/New_York";
        // 02:30 does not exist on 8 March: it runs right after the gap, at 03:00 EDT.
        let gap = fire("30 2 * * *", zone, "2026-03-08T05:00:00Z", 2).unwrap();
        assert_eq!(gap, ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]);
        // 01:30 exists twice on 1 November: a fixed time runs once, an hourly job both times.
        let once = fire("30 1 * * *", zone, "2026-11-01T04:00:00Z", 2).unwrap();
        assert_eq!(once, ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]);
        let hourly = fire("30 * * * *", zone, "2026-11-01T04:40:00Z", 3).unwrap();
        assert_eq!(
            hourly,
            [
                "2026-11-01T05:30:00Z",
                "2026-11-01T06:30:00Z",
                "2026-11-01T07:30:00Z"
            ]
        );
    }

    #[test]
    fn what_the_daemon_does_not_know_is_refused_at_once() {
        let started = Instant::now();
        for (cron, part) in [
            ("0 0 L * *", "not a cron field"),
            ("0 0 * * 5#2", "not a cron field"),
            ("0 0 * *", "five fields"),
            ("0 0 0 * * *", "five fields"),
            ("@reboot", "at boot"),
            ("61 0 * * *", "61"),
            ("0 0 30 2 *", "never comes"),
            ("0 0 31 4,6 *", "never comes"),
        ] {
            let error = fire(cron, "UTC", "2026-01-01T00:00:00Z", 1).unwrap_err();
            assert!(error.contains(part), "{cron}: {error}");
        }
        assert!(fire("0 0 * * *", "Mars/Base", "2026-01-01T00:00:00Z", 1).is_err());
        assert!(fire("0 0 30 2 1", "UTC", "2026-01-01T00:00:00Z", 1).is_ok());
        assert!(fire("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 2).is_ok());
        assert!(fire("@daily", "UTC", "2026-01-01T00:00:00Z", 1).is_ok());
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}
