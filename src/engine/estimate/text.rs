//! The estimate for people: each figure with the arithmetic that gives it.

use super::{Assumptions, CORRELATED, Change, Escalated, Figures, Key, LongSession};
use crate::model::budget::thousands;

/// Assumptions as rows: what, value with unit, where from, what had been assumed, basis.
pub fn assumption_rows(assumed: &Assumptions) -> Vec<Vec<String>> {
    assumed
        .all()
        .map(|(key, value)| {
            let unit = key.unit();
            let show = |number: f64| match unit {
                "" => plain(number),
                "%" => format!("{} %", plain(number)),
                unit => format!("{} {unit}", plain(number)),
            };
            vec![
                key.what().to_owned(),
                show(value.value),
                value.origin.word().to_owned(),
                value.assumed.map(show).unwrap_or_default(),
                value.basis.clone(),
            ]
        })
        .collect()
}

/// All figures as text.
pub fn render(assumed: &Assumptions, figures: &Figures) -> String {
    let of = |key| plain(assumed.get(key));
    let short = &figures.short_loops;
    let mut out = Vec::new();
    let mut line = |what: &str, value: String| out.push(format!("{what}: {value}"));
    line("turns", plain(short.turns));
    line("short loops, input", tokens(short.input_tokens));
    line("short loops, output", tokens(short.output_tokens));
    line("of the input, cached prefix", tokens(short.cached_tokens));
    line("not served from cache", tokens(short.uncached_tokens));
    match &figures.long_session {
        Some(long) => long_session(long, &mut line),
        None => line(
            "one long session",
            "its assumptions leave no room for a turn".to_owned(),
        ),
    }
    line(
        &format!("innocent jobs escalated, {}", tries(&figures.escalated)),
        expected(&figures.escalated),
    );
    line(
        "queries from nothing",
        format!(
            "{} for {} jobs, at least {} days at {} a day",
            plain(figures.queries.queries),
            plain(figures.queries.jobs),
            plain(figures.queries.days),
            of(Key::QuotaPerDay)
        ),
    );
    line(
        "queries from nothing, with the new clause",
        format!(
            "{} for {} jobs, at least {} days",
            plain(figures.queries_changed.queries),
            plain(figures.queries_changed.jobs),
            plain(figures.queries_changed.days)
        ),
    );
    match &figures.change {
        Some(own) => change(own, assumed, &mut line),
        None => line(
            "at the change",
            "left out: the change speaks of another number of jobs or of a day after the deadline"
                .to_owned(),
        ),
    }
    line(
        "approvals",
        format!(
            "{} minutes, {} hours",
            plain(figures.approval_minutes),
            plain(figures.approval_minutes / 60.0)
        ),
    );
    let days = figures.deadline_days;
    line(
        "deadline",
        format!(
            "{} working days: the quota {}",
            plain(days),
            if figures.queries.days <= days {
                "fits, without reruns"
            } else {
                "does not fit"
            }
        ),
    );
    let other = &figures.sensitivity;
    line(
        &format!(
            "if staging fails {} % of the time",
            plain(other.staging_failure_percent)
        ),
        format!(
            "innocent jobs escalated, {}: {}",
            tries(&other.escalated),
            expected(&other.escalated)
        ),
    );
    line(
        &format!("if a job takes {} turns", plain(other.turns_per_job)),
        format!("short loops, input: {}", tokens(other.input_tokens)),
    );
    out.push(CORRELATED.to_owned());
    out.join("\n")
}

fn long_session(long: &LongSession, line: &mut impl FnMut(&str, String)) {
    line(
        "long session: turns a compaction cycle",
        plain(long.turns_per_cycle),
    );
    line("long session: compactions", plain(long.compactions));
    line(
        "long session: input",
        format!(
            "{} ({} + {})",
            tokens(long.input_tokens),
            plain(long.turn_input_tokens / 1e6),
            plain(long.compaction_input_tokens / 1e6)
        ),
    );
    line(
        "long session ÷ short loops, input",
        format!("{:.1}", long.times_short_loops),
    );
}

fn change(own: &Change, assumed: &Assumptions, line: &mut impl FnMut(&str, String)) {
    line(
        "at the change: kept jobs, new clause only",
        plain(own.kept_queries),
    );
    line("at the change: not done", plain(own.open_queries));
    line(
        "at the change: sunk in retired jobs",
        format!(
            "{}, not counted against what is left",
            plain(own.sunk_queries)
        ),
    );
    line(
        "at the change: reruns",
        format!(
            "{} ({} + {})",
            about(own.rerun_queries),
            plain(own.rerun_open_queries),
            plain(own.rerun_kept_queries)
        ),
    );
    line("at the change: need", about(own.need_queries));
    line(
        &format!(
            "left on days {}–{}, whole",
            plain(own.days.0),
            plain(own.days.1)
        ),
        format!("{}: {}", plain(own.left_queries), spare(own.spare_queries)),
    );
    line(
        &format!(
            "left if only {} remain on day {}",
            plain(assumed.get(Key::LeftOnTheDay)),
            plain(own.days.0)
        ),
        format!(
            "{}: {}",
            plain(own.left_reduced_queries),
            spare(own.spare_reduced_queries)
        ),
    );
    line(
        "approvals after the change",
        format!(
            "{} jobs, {} minutes, {} hours",
            plain(own.approvals),
            plain(own.approval_minutes),
            plain(own.approval_minutes / 60.0)
        ),
    );
}

fn spare(queries: f64) -> String {
    if queries < 0.0 {
        format!("short by {:.0}", -queries)
    } else {
        format!("{queries:.0} to spare")
    }
}

fn tries(all: &[Escalated]) -> String {
    let words: Vec<String> = all
        .iter()
        .map(|one| format!("{} tries", one.tries))
        .collect();
    words.join(" / ")
}

fn expected(all: &[Escalated]) -> String {
    let words: Vec<String> = all.iter().map(|one| plain(one.jobs)).collect();
    words.join(" / ")
}

/// The exact number, and a whole one where they differ.
fn about(number: f64) -> String {
    if number.fract() == 0.0 {
        return plain(number);
    }
    format!("{}, about {number:.0}", plain(number))
}

fn tokens(number: f64) -> String {
    if number < 1e6 {
        return format!("{} tokens", plain(number));
    }
    format!("{} M tokens", plain(number / 1e6))
}

/// A number with at most four significant decimals and separators, without trailing zeros.
fn plain(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", thousands(number.abs() as u64));
    }
    let digits = if number.abs() >= 0.01 { 4 } else { 8 };
    let text = format!("{number:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
