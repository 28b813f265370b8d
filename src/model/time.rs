//! Time as a parameter.
//!
//! Everything that decides takes a [`TimeMs`]; only a [`Clock`] at the edge knows where it comes from.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Milliseconds since the Unix epoch, UTC.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TimeMs(pub i64);

impl TimeMs {
    /// Later by `ms` milliseconds, saturating.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to `self`; negative when the clock went back.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// As a calendar instant; an unrepresentable number is the epoch.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// From a calendar instant, cut to milliseconds.
    pub fn from_timestamp(at: Timestamp) -> Self {
        Self(at.as_millisecond())
    }
}

impl fmt::Display for TimeMs {
    /// RFC 3339 in UTC, to the second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        f.pad(&text)
    }
}

/// Where the engine's time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    Real,
    /// A clock that started at `start` when the machine's monotonic clock read `origin`, and runs
    /// `speed` times as fast.
    Scaled {
        /// First instant.
        start: TimeMs,
        /// The monotonic reading that belongs to `start`.
        origin: Instant,
        /// Virtual milliseconds per real millisecond.
        speed: f64,
    },
    /// A clock that moves only when told to.
    Virtual {
        /// The current instant.
        now: TimeMs,
    },
    /// The same, with others who tell it too.
    Steered(Arc<Steering>),
}

/// A virtual clock in several hands: it can be set, also back, and stops where something is due.
#[derive(Debug, Default)]
pub struct Steering {
    now: AtomicI64,
    /// Milliseconds that really passed, whatever the clock was set to meanwhile.
    passed: AtomicI64,
    /// It does not pass this many on its own.
    limit: AtomicI64,
}

impl Steering {
    /// A clock at an instant, without a limit.
    pub fn new(now: TimeMs) -> Self {
        Self {
            now: AtomicI64::new(now.0),
            passed: AtomicI64::new(0),
            limit: AtomicI64::new(i64::MAX),
        }
    }

    /// What it shows.
    pub fn now(&self) -> TimeMs {
        TimeMs(self.now.load(Ordering::Relaxed))
    }

    /// Milliseconds that passed since it was made.
    pub fn passed_ms(&self) -> i64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Lets `ms` pass, at most up to the limit.
    pub fn pass_ms(&self, ms: i64) {
        let room = self.limit.load(Ordering::Relaxed) - self.passed_ms();
        let ms = ms.min(room).max(0);
        self.now.fetch_add(ms, Ordering::Relaxed);
        self.passed.fetch_add(ms, Ordering::Relaxed);
    }

    /// Stops by itself when so much has passed in all.
    pub fn stop_at_ms(&self, passed_ms: i64) {
        self.limit.store(passed_ms, Ordering::Relaxed);
    }

    /// Sets it by a difference; no time passes.
    pub fn jump_ms(&self, ms: i64) {
        self.now.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock {
    /// A scaled clock that starts now.
    pub fn scaled(start: TimeMs, speed: f64) -> Self {
        Self::Scaled {
            start,
            origin: Instant::now(),
            speed: speed.max(0.001),
        }
    }

    /// The current instant.
    pub fn now(&self) -> TimeMs {
        match self {
            Self::Real => TimeMs::from_timestamp(Timestamp::now()),
            Self::Scaled {
                start,
                origin,
                speed,
            } => start.plus_ms((origin.elapsed().as_secs_f64() * 1000.0 * speed) as i64),
            Self::Virtual { now } => *now,
            Self::Steered(steering) => steering.now(),
        }
    }

    /// How long to really wait until `at`; zero on a virtual clock, which the caller moves instead.
    pub fn real_delay_until(&self, at: TimeMs) -> Duration {
        let ms = at.since(self.now()).max(0) as f64;
        match self {
            Self::Real => Duration::from_millis(ms as u64),
            Self::Scaled { speed, .. } => Duration::from_secs_f64(ms / 1000.0 / speed),
            Self::Virtual { .. } | Self::Steered(_) => Duration::ZERO,
        }
    }

    /// Moves a virtual clock forward to `at`; the others move by themselves.
    pub fn advance_to(&mut self, at: TimeMs) {
        match self {
            Self::Virtual { now } => *now = (*now).max(at),
            Self::Steered(steering) => steering.pass_ms(at.since(steering.now())),
            Self::Real | Self::Scaled { .. } => {}
        }
    }

    /// True for a clock that only moves when told to.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual { .. } | Self::Steered(_))
    }
}
