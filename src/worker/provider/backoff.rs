//! When a failed turn may be asked for again. Pure: the count, the time and the dice are parameters.

use super::classify::LOADING;
use super::failure::{TurnFailure, TurnFailureClass};
use crate::model::TimeMs;

/// Requests in all for one turn.
pub const MOST_TRIES: u32 = 4;
const BASE_MS: i64 = 1_000;
const CAP_MS: i64 = 30_000;
/// An overloaded service, or a limit without a time: longer.
const SLOW_BASE_MS: i64 = 2_000;
const SLOW_CAP_MS: i64 = 60_000;

/// When the turn may be sent again after `tries` requests, the last of which failed at `now`; `None` when
/// this turn is over. `dice` is a number from 0 to 1.
///
/// A time that the provider gave is a minimum, with up to a tenth on top, so that many callers do not come
/// back at once.
pub fn next_try(failure: &TurnFailure, tries: u32, now: TimeMs, dice: f64) -> Option<TimeMs> {
    let may = matches!(
        failure.class,
        TurnFailureClass::Retry | TurnFailureClass::Wait
    );
    let allowed = u32::from(failure.most_retries).saturating_add(1);
    let allowed = if failure.code == LOADING {
        allowed
    } else {
        allowed.min(MOST_TRIES)
    };
    if !may || tries == 0 || tries >= allowed {
        return None;
    }
    let dice = if dice.is_finite() {
        dice.clamp(0.0, 1.0)
    } else {
        1.0
    };
    if let Some(not_before) = failure.not_before {
        let wait = not_before.since(now).max(0);
        return Some(now.plus_ms(wait).plus_ms((wait as f64 * 0.1 * dice) as i64));
    }
    let (base, cap) = if matches!(failure.status, Some(429 | 529)) || failure.slow_down {
        (SLOW_BASE_MS, SLOW_CAP_MS)
    } else {
        (BASE_MS, CAP_MS)
    };
    let ceiling = base.saturating_mul(1 << (tries - 1).min(16)).min(cap);
    // Three refusals for rate without a time: a minute.
    if failure.status == Some(429) && tries >= 3 {
        return Some(now.plus_ms(SLOW_CAP_MS + (SLOW_CAP_MS as f64 * 0.1 * dice) as i64));
    }
    // A refusal for rate comes back only after its base: at once would be refused again.
    let floor = if base == SLOW_BASE_MS { base } else { 0 };
    let spread = (ceiling.max(floor) - floor).max(0);
    Some(now.plus_ms(floor + (spread as f64 * dice) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: TurnFailureClass, status: Option<u16>) -> TurnFailure {
        TurnFailure {
            class,
            not_before: None,
            status,
            code: "x".to_owned(),
            maybe_billed: false,
            usage: None,
            most_retries: 3,
            fallback: false,
            slow_down: false,
            request_id: None,
            message: String::new(),
        }
    }

    #[test]
    fn only_what_may_be_repeated_is_and_not_for_ever() {
        use TurnFailureClass::{FailStep, Retry, StopBudget, StopConfig, Wait};
        let now = TimeMs(1_000_000);
        for class in [StopBudget, StopConfig, FailStep] {
            assert_eq!(next_try(&failure(class, Some(429)), 1, now, 0.5), None);
        }
        for class in [Retry, Wait] {
            let one = failure(class, Some(500));
            assert!(next_try(&one, 3, now, 0.5).is_some());
            assert_eq!(next_try(&one, MOST_TRIES, now, 0.5), None);
            let once = TurnFailure {
                most_retries: 1,
                ..one
            };
            assert!(next_try(&once, 1, now, 0.5).is_some());
            assert_eq!(next_try(&once, 2, now, 0.5), None);
        }
    }

    #[test]
    fn waits_grow_with_full_jitter_up_to_a_cap() {
        let now = TimeMs(0);
        let at = |status, tries, dice| {
            next_try(&failure(TurnFailureClass::Retry, status), tries, now, dice)
                .unwrap()
                .0
        };
        assert_eq!((at(Some(500), 1, 0.0), at(Some(500), 1, 1.0)), (0, 1_000));
        assert_eq!(at(Some(500), 3, 1.0), 4_000);
        assert_eq!(at(Some(529), 1, 0.0), 2_000);
        assert_eq!(at(Some(529), 3, 1.0), 8_000);
        assert_eq!(
            (at(Some(429), 1, 0.0), at(Some(429), 3, 0.0)),
            (2_000, 60_000)
        );
        assert_eq!(at(None, 1, f64::NAN), 1_000);
    }

    #[test]
    fn a_given_time_is_a_minimum_with_a_tenth_on_top() {
        let mut one = failure(TurnFailureClass::Wait, Some(429));
        one.not_before = Some(TimeMs(61_000));
        let at = |dice| next_try(&one, 1, TimeMs(1_000), dice).unwrap().0;
        assert_eq!((at(0.0), at(1.0)), (61_000, 67_000));
        let past = next_try(&one, 1, TimeMs(90_000), 1.0).unwrap();
        assert_eq!(past, TimeMs(90_000));
    }
}
