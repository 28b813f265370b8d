//! Instants and spans as an operator reads them: coarse, so that they change seldom.

use crate::model::TimeMs;
use jiff::tz::TimeZone;

/// A span in one unit: `12s`, `5m`, `3h`, `2d`; negative spans are `0s`.
pub fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m", seconds / 60),
        3_600..=172_799 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A span for the header: seconds in steps of five, so that it is not a clock.
pub fn coarse(ms: i64) -> String {
    if (10_000..60_000).contains(&ms) {
        span(ms / 5_000 * 5_000)
    } else {
        span(ms)
    }
}

/// `14:05` on the same day as `now`, `04-02 14:05` on another.
pub fn instant(at: TimeMs, now: TimeMs, zone: &TimeZone) -> String {
    let at = at.timestamp().to_zoned_datetime(zone.clone());
    let now = now.timestamp().to_zoned_datetime(zone.clone());
    let format = if at.date() == now.date() {
        "%H:%M"
    } else {
        "%m-%d %H:%M"
    };
    at.strftime(format).to_string()
}

/// `04-02 14:05:09`, for logs.
pub fn stamp(at: TimeMs, zone: &TimeZone) -> String {
    at.timestamp()
        .to_zoned_datetime(zone.clone())
        .strftime("%m-%d %H:%M:%S")
        .to_string()
}

/// `14:05:09` on the same day as `now`, `04-02 14:05` on another.
pub fn short_stamp(at: TimeMs, now: TimeMs, zone: &TimeZone) -> String {
    let full = stamp(at, zone);
    match full.split_once(' ') {
        Some((day, clock)) if stamp(now, zone).starts_with(day) => clock.to_owned(),
        _ => instant(at, now, zone),
    }
}

/// `2024-04-02 14:05 CST`, for cards.
pub fn full(at: TimeMs, zone: &TimeZone) -> String {
    at.timestamp()
        .to_zoned_datetime(zone.clone())
        .strftime("%Y-%m-%d %H:%M %Z")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_unit() {
        assert_eq!(span(59_999), "59s");
        assert_eq!(span(3_600_000), "1h");
        assert_eq!(span(200_000_000), "2d");
        assert_eq!(span(-5), "0s");
        assert_eq!(coarse(14_000), "10s");
    }

    #[test]
    fn another_day_is_named() {
        let zone = TimeZone::UTC;
        let now = TimeMs(1_711_929_600_000); // 2024-04-01T00:00Z
        assert_eq!(instant(now.plus_ms(3_600_000), now, &zone), "01:00");
        assert_eq!(instant(now.plus_ms(90_000_000), now, &zone), "04-02 01:00");
    }
}
