//! When a cutover may happen and how many at once: freeze windows and waves.
//!
//! Pure: time and zone are parameters. Windows are wall-clock times in the goal's zone; a wall-clock time
//! that a clock change swallowed counts from the first instant after the gap.

use super::workdays::wall_instant;
use crate::model::TimeMs;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Steps after which a search for the end of touching windows gives up; each step passes one window.
const MAX_STEPS: usize = 1_000;
/// Minutes of a week.
const WEEK_MINUTES: u32 = 7 * 24 * 60;

/// The contract's rules for production changes beside the approval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CutoverRule {
    /// Windows in which no cutover is started.
    pub freeze: Vec<FreezeWindow>,
    /// How many cutovers may be on their way at once; `None` means one.
    pub waves: Option<Waves>,
}

/// A window in which no cutover is started, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeWindow {
    /// As written, for people.
    pub text: String,
    /// When it holds.
    pub span: FreezeSpan,
}

/// When a freeze holds; wall-clock times in the goal's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreezeSpan {
    /// Once, from the first instant to the second (exclusive).
    Once {
        /// First frozen instant.
        from: DateTime,
        /// First instant after it.
        to: DateTime,
    },
    /// Every week; minutes since Monday 00:00. `to` may lie before `from`: then it passes the week's end.
    Weekly {
        /// First frozen minute.
        from: u32,
        /// First minute after it.
        to: u32,
    },
}

/// One cutover at a time until enough were clean, then more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waves {
    /// Cutovers in a row that must have been clean.
    pub clean: u32,
    /// Cutovers on their way at once after that.
    pub then: u32,
}

impl CutoverRule {
    /// How many cutovers may be on their way at once after so many clean ones in a row.
    pub fn at_once(&self, clean_in_a_row: u32) -> u32 {
        match self.waves {
            Some(waves) if clean_in_a_row >= waves.clean => waves.then,
            _ => 1,
        }
    }

    /// The end of the freeze that holds now, windows that touch taken together, and the first of them as
    /// written; `None` when cutovers may start. A freeze without an end (windows that cover every week)
    /// ends, for this answer, where the search gave up.
    pub fn frozen_until(&self, zone: &str, now: TimeMs) -> Option<(TimeMs, &str)> {
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let holding = |at: TimeMs| {
            self.freeze
                .iter()
                .filter_map(|window| Some((window.end(&zone, at)?, window.text.as_str())))
                .max()
        };
        let (mut until, text) = holding(now)?;
        for _ in 0..MAX_STEPS {
            match holding(until) {
                Some((later, _)) if later > until => until = later,
                _ => break,
            }
        }
        Some((until, text))
    }
}

impl FreezeWindow {
    /// When the window that holds at an instant ends; `None` when it does not hold.
    fn end(&self, zone: &TimeZone, at: TimeMs) -> Option<TimeMs> {
        match self.span {
            FreezeSpan::Once { from, to } => {
                let (from, to) = (wall_instant(zone, from)?, wall_instant(zone, to)?);
                (from <= at && at < to).then_some(to)
            }
            FreezeSpan::Weekly { from, to } => {
                let local = at.timestamp().to_zoned_datetime(zone.clone());
                let monday = local
                    .date()
                    .checked_sub(
                        jiff::Span::new().days(i64::from(local.weekday().to_monday_zero_offset())),
                    )
                    .ok()?;
                let length = if to > from {
                    to - from
                } else {
                    to + WEEK_MINUTES - from
                };
                // A window that began last week may still hold.
                [-1_i64, 0].into_iter().find_map(|week| {
                    let start = monday
                        .checked_add(jiff::Span::new().weeks(week))
                        .ok()?
                        .at(0, 0, 0, 0)
                        .checked_add(jiff::Span::new().minutes(i64::from(from)))
                        .ok()?;
                    let end = start
                        .checked_add(jiff::Span::new().minutes(i64::from(length)))
                        .ok()?;
                    let (start, end) = (wall_instant(zone, start)?, wall_instant(zone, end)?);
                    (start <= at && at < end).then_some(end)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> TimeMs {
        TimeMs::from_timestamp(text.parse().unwrap())
    }

    fn weekly(text: &str, from: u32, to: u32) -> FreezeWindow {
        FreezeWindow {
            text: text.to_owned(),
            span: FreezeSpan::Weekly { from, to },
        }
    }

    const DAY: u32 = 24 * 60;

    fn rule() -> CutoverRule {
        CutoverRule {
            freeze: vec![
                weekly("fri 15:00 - mon 08:00", 4 * DAY + 900, 480),
                FreezeWindow {
                    text: "2026-12-24 .. 2027-01-02".to_owned(),
                    span: FreezeSpan::Once {
                        from: "2026-12-24T00:00".parse().unwrap(),
                        to: "2027-01-03T00:00".parse().unwrap(),
                    },
                },
            ],
            waves: None,
        }
    }

    #[test]
    fn a_weekly_freeze_passes_the_weeks_end() {
        let rule = rule();
        let zone = "Asia/Shanghai";
        let monday = at("2026-12-07T08:00:00+08:00");
        assert_eq!(
            rule.frozen_until(zone, at("2026-12-04T14:59:59+08:00")),
            None
        );
        for text in [
            "2026-12-04T15:00:00+08:00",
            "2026-12-06T23:59:00+08:00",
            "2026-12-07T07:59:59+08:00",
        ] {
            assert_eq!(
                rule.frozen_until(zone, at(text)),
                Some((monday, "fri 15:00 - mon 08:00"))
            );
        }
        assert_eq!(rule.frozen_until(zone, monday), None);
    }

    #[test]
    fn windows_that_touch_are_one_freeze() {
        // The dates end on Sunday, in the middle of the weekly window that goes on until Monday.
        let rule = rule();
        let (until, text) = rule
            .frozen_until("UTC", at("2026-12-29T12:00:00Z"))
            .unwrap();
        assert_eq!(until, at("2027-01-04T08:00:00Z"));
        assert_eq!(text, "2026-12-24 .. 2027-01-02");
    }

    #[test]
    fn waves_grow_after_clean_cutovers_and_start_at_one() {
        let mut rule = rule();
        assert_eq!(rule.at_once(99), 1);
        rule.waves = Some(Waves { clean: 3, then: 5 });
        assert_eq!([0, 2, 3, 9].map(|clean| rule.at_once(clean)), [1, 1, 5, 5]);
    }

    #[test]
    fn a_freeze_that_never_ends_gives_an_answer() {
        let rule = CutoverRule {
            freeze: vec![weekly("a", 0, 4 * DAY), weekly("b", 4 * DAY, 0)],
            waves: None,
        };
        let now = at("2026-12-04T15:00:00Z");
        assert!(rule.frozen_until("UTC", now).unwrap().0 > now);
    }
}
