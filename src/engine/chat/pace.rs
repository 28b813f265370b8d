//! How many turns of a provider are on their way at once, and how many of them repeat a failed one. Pure: the
//! time comes in.

use crate::model::{JobId, TimeMs};
use std::collections::{BTreeMap, VecDeque};

/// Repetitions are counted over so long.
pub const WINDOW_MS: i64 = 60_000;
/// So many repetitions may begin in a window, however few turns there are.
pub const FREE_RETRIES: usize = 3;
/// Beyond that, one turn in so many may be a repetition.
pub const TURNS_A_RETRY: usize = 10;
/// How long a turn waits for a place before it looks again by itself.
const LOOK_AGAIN_MS: i64 = 60_000;
/// Most turns of a window that are remembered.
const MAX_REMEMBERED: usize = 4_096;

/// The pace of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pace {
    /// Turns at once, once the provider asked for fewer calls, and how many there were before that.
    at_once: Option<(usize, usize)>,
    narrowed_at: Option<TimeMs>,
    /// Answers since the number changed.
    answers: usize,
    /// When each turn that is on its way began.
    flying: BTreeMap<JobId, TimeMs>,
    /// Turns of the last window, and whether each was a repetition.
    begun: VecDeque<(TimeMs, bool)>,
}

impl Pace {
    /// A job's turn begins; `again` when it repeats a failed one.
    pub fn begin(&mut self, job: &JobId, again: bool, now: TimeMs) {
        self.flying.insert(job.clone(), now);
        while self.begun.len() >= MAX_REMEMBERED
            || self
                .begun
                .front()
                .is_some_and(|(at, _)| now.since(*at) >= WINDOW_MS)
        {
            self.begun.pop_front();
        }
        self.begun.push_back((now, again));
    }

    /// A job's turn has ended, however it did; returns how many others may begin.
    pub fn end(&mut self, job: &JobId) -> usize {
        self.flying.remove(job);
        self.at_once
            .map_or(usize::MAX, |(own, _)| own.saturating_sub(self.flying.len()))
    }

    /// The provider asks for fewer calls: half of them. Turns that were on their way together are one
    /// refusal. To be called before [`Pace::end`].
    pub fn narrow(&mut self, job: &JobId, now: TimeMs) {
        let known = match (self.flying.get(job), self.narrowed_at) {
            (Some(began), Some(narrowed)) => *began <= narrowed,
            _ => false,
        };
        if known {
            return;
        }
        let flying = self.flying.len().max(1);
        let (own, before) = self.at_once.unwrap_or((flying, flying));
        self.at_once = Some(((own.min(flying) / 2).max(1), before.max(flying)));
        self.narrowed_at = Some(now);
        self.answers = 0;
    }

    /// It answered. After each full round one more turn may be on its way, until there are as many as before.
    pub fn widen(&mut self) {
        let Some((own, before)) = self.at_once else {
            return;
        };
        self.answers += 1;
        if self.answers >= own {
            self.answers = 0;
            self.at_once = (own + 1 < before).then_some((own + 1, before));
        }
    }

    /// Why no turn may begin now, and when to look again at the latest.
    pub fn full(&self, now: TimeMs) -> Option<(String, TimeMs)> {
        let (own, _) = self.at_once?;
        (self.flying.len() >= own).then(|| {
            let why = format!("it asked for fewer calls: at most {own} at once");
            (why, now.plus_ms(LOOK_AGAIN_MS))
        })
    }

    /// Why no failed turn may be repeated now, and until when.
    pub fn storm(&self, now: TimeMs) -> Option<(String, TimeMs)> {
        let window = || {
            self.begun
                .iter()
                .filter(|(at, _)| now.since(*at) < WINDOW_MS)
        };
        let (oldest, _) = window().find(|(_, again)| *again)?;
        let again = window().filter(|(_, again)| *again).count();
        let allowed = FREE_RETRIES.max(window().count() / TURNS_A_RETRY);
        (again >= allowed).then(|| {
            let why = format!("{again} turns were repeated within a minute");
            (why, oldest.plus_ms(WINDOW_MS))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: TimeMs = TimeMs(1_000_000);

    fn job(number: usize) -> JobId {
        JobId(format!("job-{number:02}"))
    }

    fn at(ms: i64) -> TimeMs {
        START.plus_ms(ms)
    }

    #[test]
    fn turns_that_were_refused_together_halve_it_once_and_answers_raise_it_one_by_one() {
        let mut pace = Pace::default();
        for number in 0..8 {
            pace.begin(&job(number), false, START);
        }
        assert_eq!(pace.full(START), None, "nobody asked for less");
        for number in 0..8 {
            pace.narrow(&job(number), at(500));
            pace.end(&job(number));
        }
        let mut allowed = Vec::new();
        for round in 0..40 {
            let now = at(1_000 + round);
            let mut flying = 0;
            while pace.full(now).is_none() && flying < 8 {
                pace.begin(&job(flying), false, now);
                flying += 1;
            }
            allowed.push(flying);
            for number in 0..flying {
                pace.widen();
                pace.end(&job(number));
            }
        }
        assert_eq!(allowed[..6], [4, 5, 6, 7, 8, 8]);
        // Another refusal halves what there is then, and never to nothing.
        for (then, wanted) in [(8, 4), (4, 2), (2, 1), (1, 1)] {
            let now = at(10_000 + 100 * i64::from(8 - then));
            for number in 0..then as usize {
                pace.begin(&job(number), false, now);
            }
            for number in 0..then as usize {
                pace.narrow(&job(number), now.plus_ms(1));
                pace.end(&job(number));
            }
            assert_eq!(pace.at_once, Some((wanted, 8)));
        }
        let why = "it asked for fewer calls: at most 1 at once".to_owned();
        pace.begin(&job(1), false, at(20_000));
        assert_eq!(pace.full(at(20_000)), Some((why, at(80_000))));
        assert_eq!(pace.end(&job(1)), 1);
    }

    #[test]
    fn repetitions_are_one_in_ten_and_three_are_free() {
        let mut pace = Pace::default();
        for number in 0..3 {
            assert_eq!(pace.storm(START), None);
            pace.begin(&job(number), true, at(1_000 * number as i64));
        }
        let held = pace.storm(at(3_000));
        assert_eq!(
            held,
            Some((
                "3 turns were repeated within a minute".to_owned(),
                at(WINDOW_MS)
            ))
        );
        assert_eq!(pace.storm(at(WINDOW_MS)), None, "the first is a minute ago");
        // Where much is asked, more may be asked again.
        for number in 0..50 {
            pace.begin(&job(number), false, at(4_000));
        }
        assert_eq!(pace.storm(at(5_000)), None);
        for number in 0..2 {
            pace.begin(&job(number), true, at(5_000));
        }
        assert!(pace.storm(at(5_000)).is_some());
    }

    #[test]
    fn what_it_remembers_is_bounded() {
        let mut pace = Pace::default();
        for number in 0..3 * MAX_REMEMBERED {
            pace.begin(&job(number % 8), true, at(number as i64 / 1_000));
        }
        assert_eq!(pace.begun.len(), MAX_REMEMBERED);
        pace.begin(&job(1), false, at(10 * WINDOW_MS));
        assert_eq!(pace.begun.len(), 1);
    }
}
