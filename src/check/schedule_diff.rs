//! Two lists of firing times, compared window by window. Pure.

use crate::model::TimeMs;
use jiff::tz::TimeZone;

/// What both sides list from one start; ascending.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The start.
    pub start: TimeMs,
    /// Old firing times.
    pub old: &'a [TimeMs],
    /// New firing times.
    pub new: &'a [TimeMs],
}

/// One window's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowDiff {
    /// The start.
    pub start: TimeMs,
    /// Old firing times within the span that both lists cover.
    pub old: usize,
    /// New ones within it.
    pub new: usize,
    /// Old ones that the new side does not have.
    pub missing: usize,
    /// New ones that the old side does not have.
    pub extra: usize,
}

/// An instant at which only one side fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lone {
    /// The instant.
    pub at: TimeMs,
    /// Whether the old side is the one that fires.
    pub is_old: bool,
}

/// All windows together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Per window.
    pub windows: Vec<WindowDiff>,
    /// Windows that differ.
    pub differing: usize,
    /// Old firing times that were compared.
    pub compared: usize,
    /// Old ones missing on the new side, over all windows.
    pub missing: usize,
    /// New ones extra, over all windows.
    pub extra: usize,
    /// The earliest difference.
    pub first: Option<Lone>,
    /// The whole difference in one sentence, when it is a shift by one constant.
    pub shift: Option<String>,
}

/// Compares; `count` is what was asked for from each start.
///
/// A list of `count` instants says nothing about what comes after its last; a shorter one says that
/// nothing does. Only the span that both lists speak of is compared.
pub fn compare(windows: &[Window<'_>], count: usize, zone: &TimeZone) -> Comparison {
    let mut out = Comparison {
        windows: Vec::with_capacity(windows.len()),
        differing: 0,
        compared: 0,
        missing: 0,
        extra: 0,
        first: None,
        shift: None,
    };
    for window in windows {
        let (diff, first) = compare_window(window, count);
        if diff.missing + diff.extra > 0 {
            out.differing += 1;
        }
        out.compared += diff.old;
        out.missing += diff.missing;
        out.extra += diff.extra;
        out.first = match (out.first, first) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        out.windows.push(diff);
    }
    if out.differing > 0 {
        out.shift = shift(windows, zone);
    }
    out
}

fn compare_window(window: &Window<'_>, count: usize) -> (WindowDiff, Option<Lone>) {
    let end = |list: &[TimeMs]| match list.last() {
        Some(last) if list.len() >= count => *last,
        _ => TimeMs(i64::MAX),
    };
    let end = end(window.old).min(end(window.new));
    let within = |list: &[TimeMs]| list.partition_point(|at| *at <= end);
    let old = window.old.get(..within(window.old)).unwrap_or_default();
    let new = window.new.get(..within(window.new)).unwrap_or_default();
    let (mut missing, mut extra, mut first) = (0, 0, None);
    let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let lone = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(a), Some(b)) if a == b => {
                left.next();
                right.next();
                continue;
            }
            (Some(a), b) if b.is_none_or(|b| *a < *b) => Lone {
                at: **a,
                is_old: true,
            },
            (_, Some(b)) => Lone {
                at: **b,
                is_old: false,
            },
            (Some(_), None) => break,
        };
        if lone.is_old {
            missing += 1;
            left.next();
        } else {
            extra += 1;
            right.next();
        }
        first = first.or(Some(lone));
    }
    let diff = WindowDiff {
        start: window.start,
        old: old.len(),
        new: new.len(),
        missing,
        extra,
    };
    (diff, first)
}

/// The sentence for a constant shift of all firing times, or of those in summer time or in winter time.
fn shift(windows: &[Window<'_>], zone: &TimeZone) -> Option<String> {
    let mut by = None;
    // Firing times of the old side: moved and unmoved, in and out of summer time.
    let (mut moved_summer, mut moved_winter, mut same_summer, mut same_winter) = (0, 0, 0, 0);
    for (old, new) in windows.iter().flat_map(paired) {
        let delta = new.since(old);
        let summer = zone.to_offset_info(old.timestamp()).dst().is_dst();
        match (delta, summer) {
            (0, true) => same_summer += 1,
            (0, false) => same_winter += 1,
            (delta, _) if *by.get_or_insert(delta) != delta => return None,
            (_, true) => moved_summer += 1,
            (_, false) => moved_winter += 1,
        }
    }
    let moved = moved_summer + moved_winter;
    let when = match (moved_summer, moved_winter, same_summer, same_winter) {
        (_, _, 0, 0) => "always".to_owned(),
        (_, 0, 0, _) => "in summer time only".to_owned(),
        (0, _, _, 0) => "in winter time only".to_owned(),
        (_, _, a, b) => format!("in {moved} of {} firing times", moved + a + b),
    };
    Some(format!("the new one fires {} {when}", span(by?)))
}

/// Old and new firing times that belong together. Lists from one start are paired by place; where a
/// shift moved an instant across the start, one list is ahead by one, and the pairing that moves the
/// fewest instants is taken.
fn paired(window: &Window<'_>) -> Vec<(TimeMs, TimeMs)> {
    let pairs = |old: &[TimeMs], new: &[TimeMs]| -> Vec<(TimeMs, TimeMs)> {
        old.iter().copied().zip(new.iter().copied()).collect()
    };
    let distance = |pairs: &Vec<(TimeMs, TimeMs)>| -> i64 {
        pairs.iter().fold(0_i64, |sum, (old, new)| {
            sum.saturating_add(new.since(*old).saturating_abs())
        }) / i64::try_from(pairs.len().max(1)).unwrap_or(i64::MAX)
    };
    let (old, new) = (window.old, window.new);
    let later = |list: &'_ [TimeMs]| list.get(1..).unwrap_or_default().to_vec();
    let candidates = [
        pairs(old, new),
        pairs(&later(old), new),
        pairs(old, &later(new)),
    ];
    candidates
        .into_iter()
        .filter(|pairs| !pairs.is_empty())
        .min_by_key(distance)
        .unwrap_or_default()
}

fn span(ms: i64) -> String {
    let direction = if ms < 0 { "earlier" } else { "later" };
    let seconds = ms.unsigned_abs() / 1000;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut parts = Vec::new();
    for (number, unit) in [(hours, "h"), (minutes, "min"), (rest, "s")] {
        if number > 0 {
            parts.push(format!("{number} {unit}"));
        }
    }
    if parts.is_empty() {
        parts.push(format!("{} ms", ms.unsigned_abs()));
    }
    format!("{} {direction}", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: &[i64]) -> Vec<TimeMs> {
        seconds.iter().map(|s| TimeMs(s * 1000)).collect()
    }

    fn diff(old: &[i64], new: &[i64], count: usize) -> Comparison {
        let (old, new) = (times(old), times(new));
        let window = Window {
            start: TimeMs(0),
            old: &old,
            new: &new,
        };
        compare(&[window], count, &TimeZone::UTC)
    }

    #[test]
    fn what_lies_behind_the_shorter_list_is_not_judged() {
        let dense = diff(&[10, 20, 30], &[10, 15, 20], 3);
        assert_eq!((dense.missing, dense.extra), (0, 1));
        assert_eq!(dense.first.unwrap().at, TimeMs(15_000));
        let ended = diff(&[10, 20, 30], &[10, 20], 3);
        assert_eq!((ended.missing, ended.extra), (1, 0), "the new one ended");
    }

    #[test]
    fn a_constant_shift_is_said_as_one() {
        let later = diff(&[3600, 7200, 10_800], &[3660, 7260, 10_860], 3);
        assert_eq!(
            later.shift.as_deref(),
            Some("the new one fires 1 min later always")
        );
        let irregular = diff(&[3600, 7200], &[3660, 7300], 2);
        assert_eq!(irregular.shift, None);
    }

    #[test]
    fn two_runs_at_one_instant_are_two() {
        let twice = diff(&[10, 20], &[10, 10], 3);
        assert_eq!((twice.missing, twice.extra), (1, 1));
    }

    #[test]
    fn a_side_that_never_fires_misses_everything() {
        let never = diff(&[10, 20], &[], 2);
        assert_eq!((never.missing, never.extra, never.compared), (2, 0, 2));
        assert_eq!(never.shift, None);
    }
}
