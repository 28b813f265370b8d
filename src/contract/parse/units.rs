//! Durations, working days, deadlines: text with a unit to a number.

use crate::contract::types::{Soak, Workdays};
use crate::model::TimeMs;
use jiff::{Timestamp, ZonedDateTime, tz::TimeZone};

/// Longest duration a goal file may name: ten years.
const MAX_DURATION_MS: i64 = 10 * 366 * 86_400_000;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Milliseconds of a duration such as `90s`, `15m`, `12h`, `3d`, `2w` or `1h30m`. A day is 24 hours.
///
/// # Errors
/// One sentence that quotes the text and says what was expected.
pub fn parse_duration_ms(text: &str) -> Result<i64, String> {
    let expected = "expected whole numbers with s, m, h, d or w, such as \"15m\" or \"1h30m\"";
    let wrong = || format!("\"{}\" is not a duration; {expected}", shown(text));
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0_i64;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let number: i64 = number.parse().map_err(|_| wrong())?;
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = after.split_at(letters);
        let unit_ms = match unit {
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            "" => return Err(format!("\"{}\" has no unit; {expected}", shown(text))),
            unit => {
                return Err(format!(
                    "\"{}\" has the unknown unit \"{}\"; {expected}",
                    shown(text),
                    shown(unit)
                ));
            }
        };
        total = number
            .checked_mul(unit_ms)
            .and_then(|ms| total.checked_add(ms))
            .filter(|ms| *ms <= MAX_DURATION_MS)
            .ok_or_else(|| format!("\"{}\" is more than ten years", shown(text)))?;
        rest = after.trim_start();
    }
    Ok(total)
}

/// Working days of `5 workdays`; a half is allowed.
pub(in crate::contract) fn parse_workday_count(text: &str) -> Result<f64, String> {
    let expected = "expected a number of working days, such as \"5 workdays\"";
    let count = text
        .trim()
        .strip_suffix("workdays")
        .or_else(|| text.trim().strip_suffix("workday"))
        .map(str::trim)
        .and_then(|number| number.parse::<f64>().ok())
        .ok_or_else(|| format!("\"{}\": {expected}", shown(text)))?;
    if count.is_finite() && count > 0.0 && count <= 10_000.0 {
        Ok(count)
    } else {
        Err(format!(
            "\"{}\": {expected}, above 0 and at most 10000",
            shown(text)
        ))
    }
}

/// `2 runs` or a duration.
pub(super) fn parse_soak(text: &str) -> Result<Soak, String> {
    let trimmed = text.trim();
    if let Some(number) = trimmed
        .strip_suffix("runs")
        .or_else(|| trimmed.strip_suffix("run"))
    {
        return match number.trim().parse::<u32>() {
            Ok(runs) if (1..=10_000).contains(&runs) => Ok(Soak::Runs(runs)),
            _ => Err(format!(
                "\"{}\": expected 1 to 10000 runs, such as \"2 runs\"",
                shown(text)
            )),
        };
    }
    match parse_duration_ms(trimmed) {
        Ok(ms) if ms > 0 => Ok(Soak::Time(ms)),
        _ => Err(format!(
            "\"{}\": expected a number of runs or a duration, such as \"2 runs\" or \"3d\"",
            shown(text)
        )),
    }
}

/// A deadline: RFC 3339, with an IANA zone in brackets or without. Returns the instant and the zone's
/// name when one was written.
pub(super) fn parse_deadline(text: &str) -> Result<(TimeMs, Option<String>), String> {
    let text = text.trim();
    let example = "such as \"2026-12-04T18:00:00+08:00[Asia/Shanghai]\"";
    if text.len() > 100 {
        return Err(format!("expected an instant, {example}"));
    }
    if let Some((instant, zone)) = text.split_once('[') {
        let zone = zone.strip_suffix(']').unwrap_or(zone);
        if let Err(why) = check_zone(zone) {
            return Err(format!("\"{}\": {why}", shown(text)));
        }
        if instant.parse::<Timestamp>().is_err() {
            return Err(format!(
                "\"{}\" has no offset such as +08:00 before its zone; expected an instant, {example}",
                shown(text)
            ));
        }
        return match text.parse::<ZonedDateTime>() {
            Ok(zoned) => Ok((
                TimeMs::from_timestamp(zoned.timestamp()),
                Some(zone.to_owned()),
            )),
            Err(_) => Err(contradiction(instant, zone)),
        };
    }
    match text.parse::<Timestamp>() {
        Ok(at) => Ok((TimeMs::from_timestamp(at), None)),
        Err(_) => Err(format!(
            "\"{}\" is not an instant; expected date, time and offset, {example}",
            shown(text)
        )),
    }
}

/// What the zone would have said, when an offset contradicts it.
fn contradiction(instant: &str, zone: &str) -> String {
    let offset = instant.parse::<Timestamp>().ok().and_then(|at| {
        Some(
            at.to_zoned_datetime(TimeZone::get(zone).ok()?)
                .offset()
                .to_string(),
        )
    });
    match offset {
        Some(offset) => format!(
            "the offset of \"{instant}\" contradicts the zone {zone}, which is at {offset} then"
        ),
        None => format!("\"{instant}\" is not an instant of the zone {zone}"),
    }
}

/// Whether a zone is known.
pub(super) fn check_zone(zone: &str) -> Result<(), String> {
    // The library also takes fixed offsets and POSIX strings here; only names have rules that people know.
    let named = !zone.is_empty()
        && zone.len() <= 64
        && zone
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte));
    if named && TimeZone::get(zone).is_ok() {
        Ok(())
    } else {
        Err(format!(
            "unknown time zone \"{}\"; expected an IANA name such as Europe/Berlin",
            shown(zone)
        ))
    }
}

/// Working hours such as `mon-fri 09:00-18:00`, `sun-thu 08:30-17:00`, `mon,wed,fri 10:00-24:00`. The
/// zone is left for the caller to fill.
pub(super) fn parse_workdays(text: &str) -> Result<Workdays, String> {
    let example = "expected days and hours, such as \"mon-fri 09:00-18:00\"";
    let Some((days, hours)) = text.trim().split_once(' ') else {
        return Err(format!("\"{}\": {example}", shown(text)));
    };
    let days = parse_days(days).map_err(|why| format!("{why}; {example}"))?;
    let (from_minute, to_minute) = hours
        .trim()
        .split_once('-')
        .and_then(|(from, to)| Some((minute_of_day(from)?, minute_of_day(to)?)))
        .ok_or_else(|| format!("\"{}\" is not a range of hours; {example}", shown(hours)))?;
    if from_minute >= to_minute {
        return Err(format!(
            "\"{}\" ends before it begins; {example}",
            shown(hours)
        ));
    }
    Ok(Workdays {
        zone: String::new(),
        days,
        from_minute,
        to_minute,
    })
}

fn parse_days(text: &str) -> Result<[bool; 7], String> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day_index(first)?, day_index(last)?);
        // A range may pass the week's end: `sun-thu`.
        let length = (last + 7 - first) % 7;
        for step in 0..=length {
            if let Some(day) = days.get_mut((first + step) % 7) {
                *day = true;
            }
        }
    }
    Ok(days)
}

fn day_index(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    DAYS.iter().position(|day| *day == lower).ok_or_else(|| {
        format!(
            "\"{}\" is not a day (mon, tue, wed, thu, fri, sat, sun)",
            shown(text)
        )
    })
}

/// Minutes since Monday 00:00 of `fri 15:00`; `sun 24:00` is the week's end and so its beginning.
pub(super) fn minute_of_week(text: &str) -> Result<u32, String> {
    let (day, time) = text
        .trim()
        .split_once(' ')
        .ok_or_else(|| format!("has no day and time in \"{}\"", shown(text)))?;
    let day = day_index(day).map_err(|why| format!("is no window: {why}"))?;
    let minute = minute_of_day(time)
        .ok_or_else(|| format!("has \"{}\", which is no time of day", shown(time)))?;
    let total = u32::try_from(day).unwrap_or(0) * 24 * 60 + u32::from(minute);
    Ok(total % (7 * 24 * 60))
}

/// Minutes since midnight of `HH:MM`; `24:00` is the end of the day.
pub(super) fn minute_of_day(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    if hour.len() != 2 || minute.len() != 2 {
        return None;
    }
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let total = hour * 60 + minute;
    (minute < 60 && total <= 24 * 60).then_some(total)
}

/// At most 60 characters of a text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_we_know() {
        assert_eq!(parse_duration_ms("15m"), Ok(900_000));
        assert_eq!(parse_duration_ms("1h30m"), Ok(5_400_000));
        assert_eq!(parse_duration_ms("3d"), Ok(259_200_000));
        for (text, part) in [
            ("15", "no unit"),
            ("15 mins", "unit"),
            ("15mins", "unknown unit \"mins\""),
            ("-3d", "not a duration"),
            ("1.5h", "unit"),
            ("", "not a duration"),
            ("99999999999d", "ten years"),
            ("99999999999999999999d", "not a duration"),
        ] {
            let error = parse_duration_ms(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn soak_is_runs_or_time() {
        assert_eq!(parse_soak("2 runs"), Ok(Soak::Runs(2)));
        assert_eq!(parse_soak("1 run"), Ok(Soak::Runs(1)));
        assert_eq!(parse_soak("3d"), Ok(Soak::Time(259_200_000)));
        assert!(parse_soak("0 runs").is_err());
        assert!(parse_soak("soon").is_err());
    }

    #[test]
    fn a_deadline_whose_offset_contradicts_its_zone_is_refused() {
        let (at, zone) = parse_deadline("2026-12-04T18:00:00+08:00[Asia/Shanghai]").unwrap();
        assert_eq!(at.to_string(), "2026-12-04T10:00:00Z");
        assert_eq!(zone.as_deref(), Some("Asia/Shanghai"));
        let error = parse_deadline("2026-12-04T18:00:00+07:00[Asia/Shanghai]").unwrap_err();
        assert!(
            error.contains("contradicts") && error.contains("+08"),
            "{error}"
        );
        assert!(parse_deadline("2026-12-04T18:00:00[Asia/Shanghai]").is_err());
        assert!(parse_deadline("2026-12-04T18:00:00+08:00[Mars/Base]").is_err());
        assert!(parse_deadline("2026-12-04 18:00").is_err());
        let (at, zone) = parse_deadline("2026-12-04T18:00:00+08:00").unwrap();
        assert_eq!(
            (at.to_string().as_str(), zone),
            ("2026-12-04T10:00:00Z", None)
        );
    }

    #[test]
    fn working_hours_read_ranges_lists_and_wraps() {
        let week = parse_workdays("mon-fri 09:00-18:00").unwrap();
        assert_eq!(week.days, [true, true, true, true, true, false, false]);
        assert_eq!((week.from_minute, week.to_minute), (540, 1080));
        let gulf = parse_workdays("sun-thu 08:30-24:00").unwrap();
        assert_eq!(gulf.days, [true, true, true, true, false, false, true]);
        assert!(parse_workdays("mon-fri 18:00-09:00").is_err());
        assert!(
            parse_workdays("mon-fry 09:00-18:00")
                .unwrap_err()
                .contains("fry")
        );
        assert!(parse_workdays("mon-fri 9-18").is_err());
        assert!(parse_workdays("mon-fri").is_err());
    }
}
