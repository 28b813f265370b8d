//! The `schedule` checker with two schedulers that say what they are told.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers may fail it"
)]

use crate::check_world;

use check_world::{Fires, judge, silent, world};
use dogwatch::check::Evidence;
use dogwatch::model::{FailureClass, TimeMs, Verdict};
use dogwatch::world::ports::PortError;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::json;

/// Every day at a time of the clock on a zone's wall.
fn daily(zone: &'static str, hour: i8, minute: i8) -> Fires {
    Box::new(move |start, count| {
        let zone = TimeZone::get(zone).unwrap();
        let first = start
            .timestamp()
            .to_zoned_datetime(zone.clone())
            .date()
            .yesterday()
            .unwrap();
        Ok((0..)
            .map(|day| {
                let date = first.checked_add(day.days()).unwrap();
                let at = date.at(hour, minute, 0, 0).to_zoned_datetime(zone.clone());
                TimeMs::from_timestamp(at.unwrap().timestamp())
            })
            .filter(|at| *at > start)
            .take(count)
            .collect())
    })
}

fn every(step_ms: i64, shift_ms: i64) -> Fires {
    Box::new(move |start, count| {
        let first = start.0.div_euclid(step_ms) * step_ms - step_ms;
        Ok((0..)
            .map(|tick| TimeMs(first + tick * step_ms + shift_ms))
            .filter(|at| *at > start)
            .take(count)
            .collect())
    })
}

fn check(old: Fires, new: Fires, params: serde_json::Value) -> Result<Evidence, PortError> {
    judge(&world(old, new), "schedule", params, None)
}

#[test]
fn the_same_times_pass_and_say_how_many() {
    let berlin = || daily("Europe/Berlin", 4, 30);
    let evidence = check(berlin(), berlin(), json!({"zone": "Europe/Berlin"})).unwrap();
    assert_eq!(evidence.verdict, Verdict::Pass, "{}", evidence.summary);
    assert_eq!(evidence.numbers["compared"], json!(1400));
    assert!(evidence.queries.is_empty());
}

#[test]
fn a_zone_forgotten_shows_as_one_hour_in_summer_only() {
    // Translated in winter: 04:30 in Berlin is 03:30 UTC then, and an hour late from April on.
    let evidence = check(
        daily("Europe/Berlin", 4, 30),
        daily("UTC", 3, 30),
        json!({"zone": "Europe/Berlin"}),
    )
    .unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
    assert_eq!(
        evidence.numbers["shift"],
        json!("the new one fires 1 h later in summer time only")
    );
    assert_eq!(
        evidence.numbers["first_difference"]["utc"],
        json!("2024-03-31T02:30:00Z")
    );
    assert!(
        evidence
            .summary
            .contains("Sun 2024-03-31 04:30:00 Europe/Berlin"),
        "{}",
        evidence.summary
    );
}

#[test]
fn a_shift_across_a_start_is_still_one_shift() {
    let evidence = check(every(3_600_000, 0), every(3_600_000, 60_000), json!({})).unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
    assert_eq!(
        evidence.numbers["shift"],
        json!("the new one fires 1 min later always")
    );
}

#[test]
fn lost_and_added_ticks_are_counted() {
    let evidence = check(
        every(3_600_000, 0),
        every(7_200_000, 0),
        json!({"count": 10, "starts": ["2024-03-01T00:30:00Z"]}),
    )
    .unwrap();
    assert_eq!(evidence.verdict, Verdict::Fail);
    assert_eq!(evidence.numbers["missing"], json!(5));
    assert_eq!(evidence.numbers["extra"], json!(0));
    assert_eq!(
        evidence.numbers["first_difference"]["utc"],
        json!("2024-03-01T01:00:00Z")
    );
}

#[test]
fn two_sides_that_never_fire_prove_nothing() {
    let evidence = check(silent(), silent(), json!({})).unwrap();
    assert_eq!(evidence.verdict, Verdict::Inconclusive);
    let one = check(every(3_600_000, 0), silent(), json!({})).unwrap();
    assert_eq!(one.verdict, Verdict::Fail);
    let other = check(silent(), every(3_600_000, 0), json!({})).unwrap();
    assert_eq!(other.verdict, Verdict::Fail);
}

fn without_schedule() -> Fires {
    Box::new(|_, _| Err(PortError::job("no schedule")))
}

#[test]
fn a_job_without_a_schedule_is_an_error_unless_the_contract_allows_it() {
    let error = check(without_schedule(), without_schedule(), json!({})).unwrap_err();
    assert_eq!(error.class, FailureClass::Job);
    let ok = json!({"no_schedule": "ok"});
    let both = check(without_schedule(), without_schedule(), ok.clone()).unwrap();
    assert_eq!(both.verdict, Verdict::Pass);
    let new_fires = check(without_schedule(), every(3_600_000, 0), ok.clone()).unwrap();
    assert_eq!(new_fires.verdict, Verdict::Fail);
    let outage: Fires = Box::new(|_, _| Err(PortError::environment("down")));
    assert!(check(outage, without_schedule(), ok).is_err());
}

#[test]
fn an_answer_that_does_not_fit_the_question_is_no_verdict() {
    let too_many: Fires = Box::new(|start, count| {
        let ticks = 1..=count as i64 + 1;
        Ok(ticks.map(|tick| start.plus_ms(tick * 60_000)).collect())
    });
    let before: Fires = Box::new(|start, _| Ok(vec![start]));
    let unordered: Fires = Box::new(|start, _| Ok(vec![start.plus_ms(9), start.plus_ms(5)]));
    for odd in [too_many, before, unordered] {
        let error = check(odd, every(60_000, 0), json!({})).unwrap_err();
        assert_eq!(error.class, FailureClass::Unclear);
    }
}

#[test]
fn starts_of_the_clause_are_used() {
    let start: Timestamp = "2024-03-30T00:00:00Z".parse().unwrap();
    let asked: Fires = Box::new(move |at, _| {
        assert_eq!(at.timestamp(), start);
        Ok(vec![at.plus_ms(1)])
    });
    let same: Fires = Box::new(|at, _| Ok(vec![at.plus_ms(1)]));
    let params = json!({"starts": ["2024-03-30T00:00:00Z"], "count": 1});
    let evidence = check(asked, same, params).unwrap();
    assert_eq!(evidence.verdict, Verdict::Pass);
}
