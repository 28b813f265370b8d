//! `[cutover]`: freeze windows and waves.

use super::section::Section;
use super::units;
use crate::contract::cutover::{CutoverRule, FreezeSpan, FreezeWindow, Waves};
use jiff::civil::{Date, DateTime};

const MAX_WINDOWS: usize = 100;
const MAX_AT_ONCE: u32 = 256;
const FORMS: &str = "expected two instants, such as \"2026-12-24 18:00 .. 2027-01-02 08:00\", two days, such as \
                     \"2026-12-24 .. 2027-01-01\" (the last one is frozen too), or a part of every week, such as \
                     \"fri 15:00 - mon 08:00\"";

/// `[cutover]`.
pub(super) fn cutover(top: &Section<'_>) -> CutoverRule {
    let mut rule = CutoverRule::default();
    let Some(section) = top.table("cutover") else {
        return rule;
    };
    for (text, span) in section.texts("freeze", MAX_WINDOWS).unwrap_or_default() {
        match parse_window(&text) {
            Ok(window) => rule.freeze.push(FreezeWindow { text, span: window }),
            Err(why) => section
                .context
                .problem(&span, format!("`freeze`: {why}"), None),
        }
    }
    if let Some(waves) = section.table("waves") {
        let clean = waves.integer_u32("clean", 1, 100_000);
        let then = waves.integer_u32("then", 1, MAX_AT_ONCE);
        for (key, value) in [("clean", clean), ("then", then)] {
            if value.is_none()
                && waves
                    .get(if key == "clean" { "clean" } else { "then" })
                    .is_none()
            {
                let why = format!("{} has no `{key}`", waves.name());
                waves.context.problem(&waves.span(), why, None);
            }
        }
        if let (Some(clean), Some(then)) = (clean, then) {
            rule.waves = Some(Waves { clean, then });
        }
        waves.refuse_unknown();
    }
    section.refuse_unknown();
    rule
}

fn parse_window(text: &str) -> Result<FreezeSpan, String> {
    let shown: String = text.chars().take(60).collect();
    let wrong = |why: &str| format!("\"{shown}\" {why}; {FORMS}");
    if let Some((from, to)) = text.split_once("..") {
        let from = instant(from, false).ok_or_else(|| wrong("has no first instant"))?;
        let to = instant(to, true).ok_or_else(|| wrong("has no last instant"))?;
        return if from < to {
            Ok(FreezeSpan::Once { from, to })
        } else {
            Err(wrong("ends before it begins"))
        };
    }
    let (from, to) = text
        .split_once(" - ")
        .ok_or_else(|| wrong("is not a window"))?;
    let from = units::minute_of_week(from).map_err(|why| wrong(&why))?;
    let to = units::minute_of_week(to).map_err(|why| wrong(&why))?;
    if from == to {
        return Err(wrong("is empty"));
    }
    Ok(FreezeSpan::Weekly { from, to })
}

/// A day or a day with a time. A last day is frozen whole, so it ends where the next begins.
fn instant(text: &str, last: bool) -> Option<DateTime> {
    let text = text.trim();
    if let Some((date, time)) = text.split_once([' ', 'T']) {
        let date: Date = date.parse().ok()?;
        let minute = units::minute_of_day(time)?;
        let (date, minute) = if minute == 24 * 60 {
            (date.tomorrow().ok()?, 0)
        } else {
            (date, minute)
        };
        let hour = i8::try_from(minute / 60).ok()?;
        return Some(date.at(hour, i8::try_from(minute % 60).ok()?, 0, 0));
    }
    let date: Date = text.parse().ok()?;
    let date = if last { date.tomorrow().ok()? } else { date };
    Some(date.at(0, 0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_read() {
        assert_eq!(
            parse_window("2026-12-24 .. 2027-01-01"),
            Ok(FreezeSpan::Once {
                from: "2026-12-24T00:00".parse().unwrap(),
                to: "2027-01-02T00:00".parse().unwrap(),
            })
        );
        assert_eq!(
            parse_window("2026-12-24 18:00..2026-12-24 24:00"),
            Ok(FreezeSpan::Once {
                from: "2026-12-24T18:00".parse().unwrap(),
                to: "2026-12-25T00:00".parse().unwrap(),
            })
        );
        assert_eq!(
            parse_window("fri 15:00 - mon 08:00"),
            Ok(FreezeSpan::Weekly {
                from: 4 * 1440 + 900,
                to: 480
            })
        );
    }

    #[test]
    fn nonsense_says_what_was_expected() {
        for text in [
            "",
            "christmas",
            "2026-12-24",
            "2027-01-01 .. 2026-12-24",
            "2026-02-30 .. 2026-03-01",
            "fry 15:00 - mon 08:00",
            "fri 25:00 - mon 08:00",
            "fri 15:00 - fri 15:00",
        ] {
            let why = parse_window(text).unwrap_err();
            assert!(why.contains("fri 15:00 - mon 08:00"), "{text}: {why}");
        }
    }
}
