//! Working hours and days of a goal's calendar.
//!
//! Pure: time and zone are parameters. A working day's hours are wall-clock times; around a clock change
//! a wall-clock time that does not exist counts from the first instant after the gap, and one that exists
//! twice means the earlier.

use super::types::Workdays;
use crate::model::TimeMs;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Days looked at before a search gives up: more than any goal lasts.
const MAX_DAYS: usize = 20_000;

/// Whether an instant lies in working hours.
pub fn is_working(workdays: &Workdays, at: TimeMs) -> bool {
    let zone = zone(&workdays.zone);
    hours_of(workdays, &zone, local_date(&zone, at)).is_some_and(|(from, to)| from <= at && at < to)
}

/// The first instant at or after `at` that lies in working hours. A calendar without working days has
/// none; then the end of the search (some 50 years on) is returned.
pub fn next_working(workdays: &Workdays, at: TimeMs) -> TimeMs {
    match spans(workdays, at).next() {
        Some((from, _)) => from.max(at),
        None => never(at),
    }
}

/// Working milliseconds from `from` to `to`; 0 when `to` is not later. Counts some 50 years at most.
pub fn working_ms_between(workdays: &Workdays, from: TimeMs, to: TimeMs) -> i64 {
    spans(workdays, from)
        .take_while(|(start, _)| *start < to)
        .map(|(start, end)| end.min(to).since(start.max(from)).max(0))
        .sum()
}

/// The instant at which `ms` working milliseconds from `from` have passed. Zero or less gives the next
/// working instant. The end of a working day counts as reached within that day.
pub fn add_working_ms(workdays: &Workdays, from: TimeMs, ms: i64) -> TimeMs {
    if ms <= 0 {
        return next_working(workdays, from);
    }
    let mut left = ms;
    for (start, end) in spans(workdays, from) {
        let start = start.max(from);
        let length = end.since(start);
        if left <= length {
            return start.plus_ms(left);
        }
        left -= length;
    }
    never(from)
}

/// The first instant of the local day that `at` lies in. An unknown zone is UTC.
pub fn day_start(zone_name: &str, at: TimeMs) -> TimeMs {
    let zone = zone(zone_name);
    instant(&zone, local_date(&zone, at), 0).unwrap_or(at)
}

/// The first instant of the next local day, when daily quotas renew. An unknown zone is UTC.
pub fn next_midnight(zone_name: &str, at: TimeMs) -> TimeMs {
    let zone = zone(zone_name);
    local_date(&zone, at)
        .tomorrow()
        .ok()
        .and_then(|date| instant(&zone, date, 0))
        .unwrap_or_else(|| at.plus_ms(86_400_000))
}

/// The local date of an instant as `YYYY-MM-DD`: the name of its day in a daily budget.
pub fn day_name(zone_name: &str, at: TimeMs) -> String {
    local_date(&zone(zone_name), at).to_string()
}

/// Length of a whole working day in milliseconds, by the wall clock.
pub fn day_length_ms(workdays: &Workdays) -> i64 {
    i64::from(workdays.to_minute.saturating_sub(workdays.from_minute)) * 60_000
}

/// Zones were checked when the goal was parsed; a database that lost one since falls back to UTC.
fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

fn local_date(zone: &TimeZone, at: TimeMs) -> Date {
    at.timestamp().to_zoned_datetime(zone.clone()).date()
}

/// The instant of a wall-clock minute; minute 1440 is the next midnight.
fn instant(zone: &TimeZone, date: Date, minute: u16) -> Option<TimeMs> {
    let (date, minute) = if minute >= 24 * 60 {
        (date.tomorrow().ok()?, 0)
    } else {
        (date, minute)
    };
    let hour = i8::try_from(minute / 60).ok()?;
    let minute = i8::try_from(minute % 60).ok()?;
    wall_instant(zone, date.at(hour, minute, 0, 0))
}

/// The instant of a wall-clock time: after the gap that swallowed it, or the earlier of two.
pub(super) fn wall_instant(zone: &TimeZone, wall: jiff::civil::DateTime) -> Option<TimeMs> {
    let ambiguous = zone.to_ambiguous_zoned_datetime(wall);
    // In a gap, `later` and `earlier` name instants an hour apart; the gap's end lies between them.
    let zoned = if ambiguous.is_ambiguous() {
        match zone.to_ambiguous_timestamp(wall).offset() {
            jiff::tz::AmbiguousOffset::Gap { .. } => return gap_end(zone, wall),
            _ => ambiguous.earlier().ok()?,
        }
    } else {
        ambiguous.unambiguous().ok()?
    };
    Some(TimeMs::from_timestamp(zoned.timestamp()))
}

/// The first instant after the gap that swallowed a wall-clock time.
fn gap_end(zone: &TimeZone, wall: jiff::civil::DateTime) -> Option<TimeMs> {
    let before = zone.to_ambiguous_zoned_datetime(wall).earlier().ok()?;
    let change = zone.following(before.timestamp()).next()?;
    Some(TimeMs::from_timestamp(change.timestamp()))
}

/// First and last (exclusive) working instant of a local day; `None` on a day off, or when a clock change
/// swallowed all of its hours.
fn hours_of(workdays: &Workdays, zone: &TimeZone, date: Date) -> Option<(TimeMs, TimeMs)> {
    let weekday = usize::try_from(date.weekday().to_monday_zero_offset()).ok()?;
    if !workdays.days.get(weekday).copied().unwrap_or(false) {
        return None;
    }
    let from = instant(zone, date, workdays.from_minute)?;
    let to = instant(zone, date, workdays.to_minute)?;
    (from < to).then_some((from, to))
}

/// Working spans that end after `at`, in order.
fn spans(workdays: &Workdays, at: TimeMs) -> impl Iterator<Item = (TimeMs, TimeMs)> {
    let zone = zone(&workdays.zone);
    let first = local_date(&zone, at);
    std::iter::successors(Some(first), |date| date.tomorrow().ok())
        .take(MAX_DAYS)
        .filter_map(move |date| hours_of(workdays, &zone, date))
        .filter(move |(_, to)| *to > at)
}

fn never(at: TimeMs) -> TimeMs {
    let days = i64::try_from(MAX_DAYS).unwrap_or(i64::MAX);
    at.plus_ms(days.saturating_mul(86_400_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn week(zone: &str, from_hour: u16, to_hour: u16) -> Workdays {
        Workdays {
            zone: zone.to_owned(),
            days: [true, true, true, true, true, false, false],
            from_minute: from_hour * 60,
            to_minute: to_hour * 60,
        }
    }

    fn at(text: &str) -> TimeMs {
        TimeMs::from_timestamp(text.parse().unwrap())
    }

    const HOUR: i64 = 3_600_000;

    #[test]
    fn friday_evening_goes_on_on_monday() {
        let week = week("Asia/Shanghai", 9, 18);
        let friday = at("2024-04-05T17:30:00+08:00");
        assert!(is_working(&week, friday));
        assert!(!is_working(&week, at("2024-04-05T18:00:00+08:00")));
        let monday = at("2024-04-08T09:00:00+08:00");
        assert_eq!(next_working(&week, at("2024-04-05T18:00:00+08:00")), monday);
        assert_eq!(next_working(&week, friday), friday);
        assert_eq!(
            add_working_ms(&week, friday, HOUR),
            monday.plus_ms(HOUR / 2)
        );
        assert_eq!(
            add_working_ms(&week, friday, HOUR / 2),
            at("2024-04-05T18:00:00+08:00")
        );
        assert_eq!(
            working_ms_between(&week, friday, monday.plus_ms(HOUR)),
            HOUR + HOUR / 2
        );
        assert_eq!(working_ms_between(&week, monday, friday), 0);
    }

    #[test]
    fn a_day_across_a_clock_change_has_the_hours_it_really_has() {
        let mut nights = week("America/New_York", 0, 24);
        nights.days = [true; 7];
        let spring = at("2026-03-08T00:00:00-05:00");
        let autumn = at("2026-11-01T00:00:00-04:00");
        assert_eq!(
            next_midnight("America/New_York", spring).since(spring),
            23 * HOUR
        );
        assert_eq!(
            next_midnight("America/New_York", autumn).since(autumn),
            25 * HOUR
        );
        assert_eq!(
            working_ms_between(&nights, spring, next_midnight("America/New_York", spring)),
            23 * HOUR
        );
        // 02:00 does not exist on that day: the shift from 02:00 to 04:00 is one hour long.
        nights.from_minute = 120;
        nights.to_minute = 240;
        let opens = next_working(&nights, spring);
        assert_eq!(opens, at("2026-03-08T03:00:00-04:00"));
        assert_eq!(
            working_ms_between(&nights, spring, spring.plus_ms(20 * HOUR)),
            HOUR
        );
    }

    #[test]
    fn midnight_that_does_not_exist_is_the_first_instant_of_the_day() {
        // In Beirut the clock went from 00:00 to 01:00 on that day.
        let renewed = next_midnight("Asia/Beirut", at("2024-03-30T12:00:00+02:00"));
        assert_eq!(renewed, at("2024-03-31T01:00:00+03:00"));
        assert_eq!(day_start("Asia/Beirut", renewed), renewed);
        assert_eq!(day_name("Asia/Beirut", renewed), "2024-03-31");
    }

    #[test]
    fn a_calendar_without_days_never_works_and_never_hangs() {
        let mut none = week("UTC", 9, 18);
        none.days = [false; 7];
        assert!(next_working(&none, TimeMs(0)) > at("2020-01-01T00:00:00Z"));
        assert_eq!(
            working_ms_between(&none, TimeMs(0), at("2030-01-01T00:00:00Z")),
            0
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_four_questions_agree(
            start in 1_700_000_000_000_i64..1_900_000_000_000,
            ms in 1_i64..30 * 9 * HOUR,
            zone in prop::sample::select(vec!["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"]),
            from in 0_u16..23, length in 1_u16..24,
        ) {
            let week = week(zone, from, (from + length).min(24));
            let start = TimeMs(start);
            let end = add_working_ms(&week, start, ms);
            prop_assert_eq!(working_ms_between(&week, start, end), ms);
            // One millisecond earlier is not enough.
            prop_assert_eq!(working_ms_between(&week, start, end.plus_ms(-1)), ms - 1);
            let next = next_working(&week, start);
            prop_assert!(next >= start && is_working(&week, next));
            prop_assert!(next == start || !is_working(&week, next.plus_ms(-1)));
            prop_assert_eq!(is_working(&week, start), next == start);
            let midnight = next_midnight(zone, start);
            prop_assert!(midnight > start && midnight.since(start) <= 26 * HOUR);
            prop_assert_eq!(day_start(zone, midnight), midnight);
            prop_assert!(day_start(zone, start) <= start);
            prop_assert_eq!(next_midnight(zone, day_start(zone, start)), midnight);
        }
    }
}
