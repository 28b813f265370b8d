//! The `schedule` checker: the new job fires when the old one did. No queries.
//!
//! Both schedulers list their next firing times from several starts, chosen so that a clock change and
//! the end of a month are among them; the two lists are compared instant by instant.

use super::params::{Params, note};
use super::schedule_diff::{Comparison, Window, compare};
use super::warehouse::unclear;
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::canon::digest_parts;
use crate::model::{Digest, FailureClass, TimeMs, Verdict};
use crate::world::ports::{FiringQuestion, FiringTimes, Output, PortError, Timed};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Changes whenever the meaning of a verdict does.
const VERSION: &str = "1";
const KNOWN: &[&str] = &["count", "starts", "zone", "no_schedule"];
const DEFAULT_COUNT: u64 = 200;
const MAX_COUNT: u64 = 2_000;
const MAX_STARTS: usize = 32;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// How far ahead a clock change is looked for; zones that change at all do so twice a year.
const CHANGE_HORIZON_MS: i64 = 400 * DAY_MS;

/// The `schedule` checker.
///
/// Parameters: `count` (firing times from each start, default 200), `starts` (RFC 3339 instants; by
/// default a day and an hour before the next two clock changes of the zone and before the last day of
/// the month, and now), `zone` (IANA name, default UTC: whose clock changes count, and in which zone
/// differences are told), `no_schedule` (`"fail"`, the default, or `"ok"`: a job that neither side
/// schedules passes).
pub struct Schedule;

struct Settings {
    count: usize,
    starts: Option<Vec<TimeMs>>,
    zone: TimeZone,
    zone_name: String,
    may_have_none: bool,
}

fn settings(clause: &Clause) -> Result<Settings, Vec<String>> {
    let params = Params(&clause.params);
    let mut problems = params.unknown(KNOWN);
    let count = note(
        &mut problems,
        params.whole("count", DEFAULT_COUNT, 1, MAX_COUNT),
    );
    let starts = note(&mut problems, starts(params));
    let zone_name = note(&mut problems, params.text("zone", "UTC"));
    let zone = zone_name.and_then(|name| note(&mut problems, zone(name)));
    let none = note(&mut problems, params.text("no_schedule", "fail"));
    if let Some(other) = none.filter(|word| !["fail", "ok"].contains(word)) {
        problems.push(format!(
            "no_schedule must be \"fail\" or \"ok\", not {other:?}"
        ));
    }
    match (count, starts, zone, zone_name, problems.is_empty()) {
        (Some(count), Some(starts), Some(zone), Some(zone_name), true) => Ok(Settings {
            count: usize::try_from(count).unwrap_or(1),
            starts,
            zone,
            zone_name: zone_name.to_owned(),
            may_have_none: none == Some("ok"),
        }),
        _ => Err(problems),
    }
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| format!("zone {name:?} is no IANA time zone"))
}

fn starts(params: Params<'_>) -> Result<Option<Vec<TimeMs>>, String> {
    let Some(texts) = params.texts("starts", MAX_STARTS)? else {
        return Ok(None);
    };
    if texts.is_empty() {
        return Err("starts is empty".to_owned());
    }
    let parsed: Result<Vec<TimeMs>, String> = texts
        .into_iter()
        .map(|text| {
            text.parse::<Timestamp>()
                .map(TimeMs::from_timestamp)
                .map_err(|_| format!("starts: {text:?} is no instant like 2024-03-30T00:00:00Z"))
        })
        .collect();
    parsed.map(Some)
}

/// A day and an hour before the next two clock changes and before the last day of the month, and now;
/// ascending. The hour is for jobs that fire every minute: their list would end before the event.
pub fn default_starts(now: TimeMs, zone: &TimeZone) -> Vec<TimeMs> {
    let mut events: Vec<TimeMs> = clock_changes(now, zone);
    events.extend(last_day_of_month(now, zone));
    let mut starts = vec![now];
    for event in events {
        starts.push(event.plus_ms(-DAY_MS));
        starts.push(event.plus_ms(-HOUR_MS));
    }
    // An eve that is past says the same as now.
    starts.retain(|start| *start >= now);
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The next two instants at which the zone's offset changes, within [`CHANGE_HORIZON_MS`].
fn clock_changes(now: TimeMs, zone: &TimeZone) -> Vec<TimeMs> {
    let mut offset = zone.to_offset(now.timestamp());
    let mut changes = Vec::new();
    // A zone's rules may hold transitions that change its name only; 16 cover the horizon many times.
    for transition in zone.following(now.timestamp()).take(16) {
        let at = TimeMs::from_timestamp(transition.timestamp());
        if changes.len() == 2 || at.since(now) > CHANGE_HORIZON_MS {
            break;
        }
        if transition.offset() != offset {
            changes.push(at);
        }
        offset = transition.offset();
    }
    changes
}

/// Midnight that begins the last day of the month, the next one that is not past.
fn last_day_of_month(now: TimeMs, zone: &TimeZone) -> Option<TimeMs> {
    let today = now.timestamp().to_zoned_datetime(zone.clone()).date();
    for month in 0..2 {
        let day = today
            .first_of_month()
            .checked_add(month.months())
            .ok()?
            .last_of_month();
        let midnight = day.to_zoned_datetime(zone.clone()).ok()?.timestamp();
        let midnight = TimeMs::from_timestamp(midnight);
        if midnight > now {
            return Some(midnight);
        }
    }
    None
}

impl Checker for Schedule {
    fn name(&self) -> &'static str {
        "schedule"
    }

    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        digest_parts([self.name(), VERSION])
    }

    fn looks_at_run(&self) -> bool {
        false
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        settings(clause).err().unwrap_or_default()
    }

    fn queries(&self, _clause: &Clause, _output: Option<&Output>) -> u64 {
        0
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let settings = match settings(input.clause) {
            Ok(settings) => settings,
            Err(problems) => {
                let text = problems.join("; ");
                return Ok(Timed::now(Evidence::bare(Verdict::Unverified, text)));
            }
        };
        let question = FiringQuestion {
            starts: match &settings.starts {
                Some(starts) => starts.clone(),
                None => default_starts(input.at, &settings.zone),
            },
            count: settings.count,
        };
        let may_have_none = settings.may_have_none;
        let old = ask(
            input.world.source.firing_times(input.job, &question),
            &question,
            "the old scheduler",
            may_have_none,
        )?;
        let new = ask(
            input
                .world
                .target
                .firing_times(input.job, input.config, &question),
            &question,
            "the new scheduler",
            may_have_none,
        )?;
        let took_ms = old.took_ms.saturating_add(new.took_ms);
        let value = judge(&settings, &question, &old.value, &new.value);
        Ok(Timed { value, took_ms })
    }
}

/// An answer that fits the question. A scheduler that knows of no schedule is an error, unless the
/// clause allows for it: then it fires never.
fn ask(
    answer: Result<Timed<FiringTimes>, PortError>,
    question: &FiringQuestion,
    who: &str,
    may_have_none: bool,
) -> Result<Timed<FiringTimes>, PortError> {
    let timed = match answer {
        Err(error) if may_have_none && error.class == FailureClass::Job => {
            return Ok(Timed::now(FiringTimes {
                windows: vec![Vec::new(); question.starts.len()],
                method: error.what,
            }));
        }
        other => other?,
    };
    let windows = &timed.value.windows;
    if windows.len() != question.starts.len() {
        return Err(unclear(format!(
            "{who} answered {} windows to {} starts",
            windows.len(),
            question.starts.len()
        )));
    }
    for (start, window) in question.starts.iter().zip(windows) {
        let mut previous = *start;
        if window.len() > question.count {
            return Err(unclear(format!(
                "{who} listed {} firing times from {start} where {} were asked for",
                window.len(),
                question.count
            )));
        }
        for (place, at) in window.iter().enumerate() {
            if *at < previous || (place == 0 && *at == *start) {
                return Err(unclear(format!(
                    "{who} listed {at} after {previous}, out of order"
                )));
            }
            previous = *at;
        }
    }
    Ok(timed)
}

fn judge(
    settings: &Settings,
    question: &FiringQuestion,
    old: &FiringTimes,
    new: &FiringTimes,
) -> Evidence {
    let windows: Vec<Window<'_>> = question
        .starts
        .iter()
        .zip(old.windows.iter().zip(&new.windows))
        .map(|(start, (old, new))| Window {
            start: *start,
            old,
            new,
        })
        .collect();
    let comparison = compare(&windows, question.count, &settings.zone);
    let (verdict, summary) = if comparison.compared == 0 && comparison.differing == 0 {
        none_at_all(settings.may_have_none)
    } else if comparison.differing == 0 {
        let text = format!(
            "{} firing times from {} starts are the same on both sides",
            comparison.compared,
            windows.len()
        );
        (Verdict::Pass, text)
    } else {
        (Verdict::Fail, differs(settings, &windows, &comparison))
    };
    let mut evidence = Evidence::bare(verdict, summary);
    evidence.numbers = numbers(settings, question, &comparison);
    let methods = json!({"old": old.method, "new": new.method});
    evidence.numbers.insert("method".to_owned(), methods);
    evidence
}

fn none_at_all(may_have_none: bool) -> (Verdict, String) {
    if may_have_none {
        let text = "neither side has a schedule, which the contract allows";
        (Verdict::Pass, text.to_owned())
    } else {
        let text = "neither side fires at all in these windows: nothing was compared";
        (Verdict::Inconclusive, text.to_owned())
    }
}

fn differs(settings: &Settings, windows: &[Window<'_>], comparison: &Comparison) -> String {
    let mut text = format!(
        "{} of {} windows differ",
        comparison.differing,
        windows.len()
    );
    if let Some(first) = comparison.first {
        let side = if first.is_old { "old" } else { "new" };
        text.push_str(&format!(
            "; first at {} ({}), where only the {side} one fires",
            first.at,
            local(first.at, settings)
        ));
    }
    match &comparison.shift {
        Some(shift) => text.push_str(&format!("; {shift}")),
        None => text.push_str(&format!(
            "; {} of the old firing times missing, {} new ones extra",
            comparison.missing, comparison.extra
        )),
    }
    text
}

fn local(at: TimeMs, settings: &Settings) -> String {
    let zoned = at.timestamp().to_zoned_datetime(settings.zone.clone());
    format!(
        "{} {}",
        zoned.strftime("%a %Y-%m-%d %H:%M:%S"),
        settings.zone_name
    )
}

fn numbers(
    settings: &Settings,
    question: &FiringQuestion,
    comparison: &Comparison,
) -> Map<String, Value> {
    let first = comparison.first.map(|first| {
        json!({
            "utc": first.at.to_string(),
            "local": local(first.at, settings),
            "only_in": if first.is_old { "old" } else { "new" },
        })
    });
    let windows: Vec<Value> = comparison
        .windows
        .iter()
        .map(|window| {
            json!({
                "start": window.start.to_string(),
                "old": window.old,
                "new": window.new,
                "missing": window.missing,
                "extra": window.extra,
            })
        })
        .collect();
    let entries = [
        ("count", json!(question.count)),
        ("zone", json!(settings.zone_name)),
        ("compared", json!(comparison.compared)),
        ("windows_that_differ", json!(comparison.differing)),
        ("missing", json!(comparison.missing)),
        ("extra", json!(comparison.extra)),
        ("first_difference", json!(first)),
        ("shift", json!(comparison.shift)),
        ("windows", json!(windows)),
    ];
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> TimeMs {
        TimeMs::from_timestamp(text.parse().unwrap())
    }

    fn starts_of(now: &str, zone_name: &str) -> Vec<String> {
        default_starts(at(now), &zone(zone_name).unwrap())
            .iter()
            .map(TimeMs::to_string)
            .collect()
    }

    #[test]
    fn starts_lie_before_both_clock_changes_and_the_months_last_day() {
        assert_eq!(
            starts_of("2024-03-01T00:00:00Z", "Europe/Berlin"),
            [
                "2024-03-01T00:00:00Z",
                "2024-03-29T23:00:00Z",
                "2024-03-30T01:00:00Z",
                "2024-03-30T22:00:00Z",
                "2024-03-31T00:00:00Z",
                "2024-10-26T01:00:00Z",
                "2024-10-27T00:00:00Z",
            ]
        );
    }

    #[test]
    fn a_zone_without_clock_changes_still_has_month_ends() {
        assert_eq!(
            starts_of("2024-01-31T12:00:00Z", "UTC"),
            [
                "2024-01-31T12:00:00Z",
                "2024-02-28T00:00:00Z",
                "2024-02-28T23:00:00Z",
            ]
        );
    }
}
