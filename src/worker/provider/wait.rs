//! Time limits of one call, and the times that a server names.

use super::TurnLimits;
use crate::model::TimeMs;
use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

/// How often a call in progress looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);
/// A server that names a later time than a month is not believed.
const MOST_WAIT_MS: i64 = 31 * 24 * 60 * 60_000;

/// Why something was not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its own limit.
    Late,
    /// The limit of the whole call.
    Deadline,
    /// Somebody told it to end.
    Cancelled,
}

/// When a call must be over.
pub(super) struct Deadline {
    limits: TurnLimits,
    began: Instant,
}

impl Deadline {
    pub(super) fn new(limits: &TurnLimits) -> Self {
        Self {
            limits: limits.clone(),
            began: Instant::now(),
        }
    }

    /// The engine's time: what it was at the start, and what passed since.
    pub(super) fn now(&self) -> TimeMs {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.limits.now.plus_ms(passed)
    }

    /// Waits for something at most `ms` milliseconds, and not beyond the call's deadline.
    pub(super) async fn within<F: Future>(&self, ms: i64, work: F) -> Result<F::Output, Stop> {
        let mut work = pin!(work);
        let late = Instant::now() + duration(ms);
        let deadline = self.began + duration(self.limits.within_ms);
        loop {
            if self.limits.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(Stop::Deadline);
            }
            if now >= late {
                return Err(Stop::Late);
            }
            let nap = LOOK.min(late - now).min(deadline - now);
            if let Ok(output) = tokio::time::timeout(nap, work.as_mut()).await {
                return Ok(output);
            }
        }
    }
}

/// The wait that a server asks for, in milliseconds: `retry-after-ms`, else `retry-after` as seconds or as a
/// date.
pub(super) fn retry_after_ms(ms: Option<&str>, after: Option<&str>, now: TimeMs) -> Option<i64> {
    let number = |text: &str| {
        let number: f64 = text.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let wait = match (ms.and_then(number), after) {
        (Some(ms), _) => ms.ceil() as i64,
        (None, Some(text)) => match number(text) {
            Some(seconds) => (seconds * 1_000.0).ceil() as i64,
            None => {
                let at = httpdate::parse_http_date(text.trim()).ok()?;
                let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
                let at = TimeMs(i64::try_from(since.as_millis()).ok()?);
                at.since(now).max(0)
            }
        },
        (None, None) => return None,
    };
    Some(wait.min(MOST_WAIT_MS))
}

/// Milliseconds as the runtime takes them.
fn duration(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_wait_is_read() {
        let now = TimeMs(1_795_954_000_000);
        for (ms, after, wanted) in [
            (None, Some("2"), Some(2_000)),
            (None, Some("0.25"), Some(250)),
            (Some("1500"), Some("9"), Some(1_500)),
            (None, Some("Sun, 29 Nov 2026 12:06:50 GMT"), Some(10_000)),
            (None, Some("Sun, 29 Nov 2020 12:06:50 GMT"), Some(0)),
            (None, Some("99999999999"), Some(MOST_WAIT_MS)),
            (None, Some("-5"), None),
            (None, Some("soon"), None),
            (Some("NaN"), None, None),
            (None, None, None),
        ] {
            assert_eq!(retry_after_ms(ms, after, now), wanted, "{ms:?} {after:?}");
        }
    }
}
