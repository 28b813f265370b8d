//! A story's goal file: the practice migration with a few words changed, and its calendar.

use super::StoryError;
use crate::model::TimeMs;
use crate::world::practice::{START, ZONE};
use jiff::civil::{Time, date};
use jiff::tz::TimeZone;

/// An instant of the story's calendar: working day 1 is Monday 2024-04-01, in the company's zone.
///
/// # Errors
/// When there is no such instant.
pub fn at(day: i8, hour: i8, minute: i8) -> Result<TimeMs, StoryError> {
    let bad =
        |error: jiff::Error| StoryError::Script(format!("day {day} {hour}:{minute}: {error}"));
    let days = jiff::Span::new()
        .try_days(i64::from(day) - 1)
        .map_err(bad)?;
    let time = Time::new(hour, minute, 0, 0).map_err(bad)?;
    let day_of = date(2024, 4, 1).checked_add(days).map_err(bad)?;
    let when = day_of.to_datetime(time).in_tz(ZONE).map_err(bad)?;
    Ok(TimeMs::from_timestamp(when.timestamp()))
}

/// An instant as a story's reader sees it: weekday and wall clock of the company.
pub(super) fn wall(at: TimeMs) -> String {
    let zone = TimeZone::get(ZONE).unwrap_or(TimeZone::UTC);
    at.timestamp()
        .to_zoned_datetime(zone)
        .strftime("%a %H:%M")
        .to_string()
}

/// Milliseconds from the week's start to an instant: how outage windows are given.
pub fn offset_ms(at: TimeMs) -> i64 {
    at.since(START)
}

/// A goal's text with one passage replaced. A passage that is not there, or there twice, is an error: a
/// story must not silently play without its point.
///
/// # Errors
/// When the passage is not there exactly once.
pub fn replaced(text: &str, from: &str, to: &str) -> Result<String, StoryError> {
    match text.matches(from).count() {
        1 => Ok(text.replacen(from, to, 1)),
        count => Err(StoryError::Script(format!(
            "the goal file has {count} passages {from:?} instead of one"
        ))),
    }
}

/// A practice goal's text with settings of `[world.practice.faults]`, one TOML line each.
pub fn faults(text: &str, lines: &[&str]) -> String {
    format!("{text}\n[world.practice.faults]\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_begins_on_monday_at_nine() {
        assert_eq!(at(1, 9, 0).unwrap(), START);
        assert_eq!(wall(at(3, 14, 30).unwrap()), "Wed 14:30");
        assert!(at(1, 25, 0).is_err());
    }

    #[test]
    fn a_passage_is_replaced_only_when_it_is_there_once() {
        assert_eq!(replaced("a b c", "b", "x").unwrap(), "a x c");
        assert!(replaced("a b b", "b", "x").is_err());
        assert!(replaced("a b", "z", "x").is_err());
    }
}
