//! Instants of a cron expression in a zone: croner's search over jiff's calendar.
//!
//! Across a clock change both schedulers of this world do as Vixie cron does: a fixed time that the
//! change skips runs at the first instant after it, a fixed time that occurs twice runs once, and a
//! repeating one runs at each of its real instants.

use crate::model::TimeMs;
use crate::world::ports::{FiringQuestion, FiringTimes, PortError};
use core::cmp::Ordering;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::time::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, ZonedDateTime};

/// Most instants one question may ask for, over all its windows.
pub const MAX_INSTANTS: usize = 20_000;
/// Most ticks of a schedule that one window looks at; a guard drops most of them.
const MAX_TICKS: usize = 200_000;

/// How two restricted day fields combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayFields {
    /// Either day field suffices, as in cron.
    Either,
    /// Both must match, as in systemd.
    Both,
}

/// A schedule in terms that can be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Five cron fields; day of week 0 or 7 is Sunday.
    pub cron: String,
    /// How the day fields combine.
    pub days: DayFields,
    /// IANA zone.
    pub zone: String,
    /// Keep only ticks on the last day of a month.
    pub last_day_only: bool,
    /// No instants before this.
    pub from: Option<TimeMs>,
    /// No instants after this.
    pub until: Option<TimeMs>,
}

impl Plan {
    /// A plan without bounds or guard.
    pub fn new(cron: impl Into<String>, days: DayFields, zone: impl Into<String>) -> Self {
        Self {
            cron: cron.into(),
            days,
            zone: zone.into(),
            last_day_only: false,
            from: None,
            until: None,
        }
    }
}

/// Lists a plan's instants. A window is shorter than asked when the plan ends within it, or when no
/// more instants are found.
///
/// # Errors
/// When the expression or the zone is not one, or more than [`MAX_INSTANTS`] are asked for.
pub fn instants(plan: &Plan, question: &FiringQuestion) -> Result<FiringTimes, PortError> {
    if question.starts.len().saturating_mul(question.count) > MAX_INSTANTS {
        return Err(PortError::job(format!(
            "more than {MAX_INSTANTS} firing times asked for at once"
        )));
    }
    let zone = TimeZone::get(&plan.zone)
        .map_err(|error| PortError::job(format!("zone {:?}: {error}", plan.zone)))?;
    let pattern = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .dom_and_dow(plan.days == DayFields::Both)
        .build()
        .parse(&plan.cron)
        .map_err(|error| PortError::job(format!("schedule {:?}: {error}", plan.cron)))?;
    let mut windows = Vec::with_capacity(question.starts.len());
    for start in &question.starts {
        windows.push(window(plan, &pattern, &zone, *start, question.count)?);
    }
    let guard = if plan.last_day_only {
        ", last day of the month only"
    } else {
        ""
    };
    Ok(FiringTimes {
        windows,
        method: format!("croner on `{}` in {}{guard}", plan.cron, plan.zone),
    })
}

fn window(
    plan: &Plan,
    pattern: &croner::Cron,
    zone: &TimeZone,
    start: TimeMs,
    count: usize,
) -> Result<Vec<TimeMs>, PortError> {
    let mut found = Vec::with_capacity(count);
    // One millisecond before the first allowed instant, so that it is itself found.
    let after = plan.from.map_or(start, |from| start.max(from.plus_ms(-1)));
    let mut cursor = InZone(after.timestamp().to_zoned_datetime(zone.clone()));
    // A guard drops most ticks, so ticks are bounded apart from what is kept.
    let mut ticks = 0;
    while found.len() < count {
        ticks += 1;
        if ticks > MAX_TICKS {
            return Err(PortError::job(format!(
                "{:?}: fewer than {count} firing times in {MAX_TICKS} ticks",
                plan.cron
            )));
        }
        let Ok(next) = pattern.find_next_occurrence(&cursor, false) else {
            break;
        };
        let at = TimeMs::from_timestamp(next.0.timestamp());
        cursor = next;
        if plan.until.is_some_and(|until| at > until) {
            break;
        }
        if at > after && (!plan.last_day_only || is_last_day(&cursor.0)?) {
            found.push(at);
        }
    }
    Ok(found)
}

fn is_last_day(at: &ZonedDateTime) -> Result<bool, PortError> {
    let tomorrow = at
        .date()
        .tomorrow()
        .map_err(|error| PortError::job(error.to_string()))?;
    Ok(tomorrow.day() == 1)
}

/// jiff's zoned time behind croner's trait; croner's own bridge is for an older jiff.
#[derive(Debug, Clone)]
struct InZone(ZonedDateTime);

impl CronDateTime for InZone {
    fn to_civil(&self) -> CivilDateTime {
        let at = self.0.datetime();
        let part = |value: i8| u32::from(value.unsigned_abs());
        // jiff keeps every part in range, which is what these constructors ask for.
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(i32::from(at.year()), part(at.month()), part(at.day())),
            CivilTime::from_parts_unchecked(part(at.hour()), part(at.minute()), part(at.second())),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        let days = self.0.weekday().to_sunday_zero_offset();
        Weekday::from_days_from_sunday(u32::from(days.unsigned_abs()))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let part = |value: u32| i8::try_from(value).map_err(|_| CronError::InvalidDate);
        let at = DateTime::new(
            i16::try_from(civil.year()).map_err(|_| CronError::InvalidDate)?,
            part(civil.month())?,
            part(civil.day())?,
            part(civil.hour())?,
            part(civil.minute())?,
            part(civil.second())?,
            0,
        )
        .map_err(|_| CronError::InvalidDate)?;
        let ambiguous = self.0.time_zone().to_ambiguous_zoned_datetime(at);
        let wrap = |zoned: Result<ZonedDateTime, jiff::Error>| {
            zoned.map(InZone).map_err(|_| CronError::InvalidTime)
        };
        Ok(match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => {
                Resolution::Single(wrap(ambiguous.unambiguous())?)
            }
            AmbiguousOffset::Fold { .. } => {
                let earlier = wrap(ambiguous.clone().earlier())?;
                Resolution::Ambiguous(earlier, wrap(ambiguous.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()
            .map(InZone)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::{DayFields, Plan, instants};
    use crate::model::TimeMs;
    use crate::world::ports::FiringQuestion;

    fn times(plan: &Plan, from: &str, count: usize) -> Vec<String> {
        let start = TimeMs::from_timestamp(from.parse().unwrap());
        let question = FiringQuestion {
            starts: vec![start],
            count,
        };
        let found = instants(plan, &question).unwrap();
        found.windows[0].iter().map(TimeMs::to_string).collect()
    }

    fn berlin(cron: &str) -> Plan {
        Plan::new(cron, DayFields::Either, "Europe/Berlin")
    }

    #[test]
    fn an_hour_that_comes_twice_runs_a_fixed_time_once_and_a_repeating_one_twice() {
        let eve = "2024-10-26T22:30:00Z";
        assert_eq!(
            times(&berlin("30 2 * * *"), eve, 2),
            ["2024-10-27T00:30:00Z", "2024-10-28T01:30:00Z"]
        );
        assert_eq!(
            times(&berlin("15 * * * *"), eve, 4),
            [
                "2024-10-26T23:15:00Z",
                "2024-10-27T00:15:00Z",
                "2024-10-27T01:15:00Z",
                "2024-10-27T02:15:00Z"
            ]
        );
    }

    #[test]
    fn a_skipped_hour_moves_a_fixed_time_and_leaves_a_repeating_one_out() {
        let eve = "2024-03-30T23:30:00Z";
        assert_eq!(
            times(&berlin("30 2 * * *"), eve, 2),
            ["2024-03-31T01:00:00Z", "2024-04-01T00:30:00Z"]
        );
        assert_eq!(
            times(&berlin("15 * * * *"), eve, 2),
            ["2024-03-31T00:15:00Z", "2024-03-31T01:15:00Z"]
        );
    }

    #[test]
    fn two_day_fields_combine_as_the_scheduler_combines_them() {
        let mut plan = Plan::new("0 12 13 * Fri", DayFields::Both, "UTC");
        let from = "2024-08-30T12:00:00Z";
        assert_eq!(times(&plan, from, 1), ["2024-09-13T12:00:00Z"]);
        plan.days = DayFields::Either;
        assert_eq!(times(&plan, from, 1), ["2024-09-06T12:00:00Z"]);
    }

    #[test]
    fn bounds_and_starts_are_kept() {
        let mut plan = Plan::new("0 12 * * *", DayFields::Either, "UTC");
        // A start is not itself listed.
        assert_eq!(
            times(&plan, "2024-05-01T12:00:00Z", 1),
            ["2024-05-02T12:00:00Z"]
        );
        plan.from = Some(TimeMs::from_timestamp(
            "2024-05-04T12:00:00Z".parse().unwrap(),
        ));
        plan.until = Some(TimeMs::from_timestamp(
            "2024-05-05T12:00:00Z".parse().unwrap(),
        ));
        assert_eq!(
            times(&plan, "2024-05-01T12:00:00Z", 9),
            ["2024-05-04T12:00:00Z", "2024-05-05T12:00:00Z"]
        );
    }

    #[test]
    fn nonsense_and_excess_are_refused() {
        let question = FiringQuestion {
            starts: vec![TimeMs(0)],
            count: 3,
        };
        for (cron, zone) in [
            ("61 * * * *", "UTC"),
            ("* * * *", "UTC"),
            ("0 0 * * * *", "UTC"),
            ("0 0 * * *", "Mars/Olympus"),
            ("{{ minute }} 0 * * *", "UTC"),
        ] {
            let plan = Plan::new(cron, DayFields::Either, zone);
            assert!(instants(&plan, &question).is_err(), "{cron} {zone}");
        }
        let much = FiringQuestion {
            count: usize::MAX,
            ..question
        };
        assert!(instants(&berlin("* * * * *"), &much).is_err());
    }
}
