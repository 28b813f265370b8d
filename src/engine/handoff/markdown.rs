//! The package for people who have never seen dogwatch. Every text from outside is made harmless.

use super::{Cut, Package, Word};
use crate::model::{Budget, SafeText, TimeMs};
use jiff::tz::TimeZone;
use std::fmt::Write as _;

/// Most rows of one list; the rest is in the package for programs.
const ROWS: usize = 60;

/// Writes the package as Markdown.
pub fn markdown(package: &Package) -> String {
    let mut out = String::new();
    head(&mut out, package);
    decision(&mut out, package);
    budgets(&mut out, package);
    forecast(&mut out, package);
    handed_over(&mut out, package);
    to_verify(&mut out, package);
    let row = |one: &super::Going| {
        format!(
            "{}: {}, {} of {} checks pass{}",
            code(&one.job.0),
            one.state,
            one.clauses_passed,
            one.clauses,
            because(&one.reason)
        )
    };
    list(&mut out, "In progress", &package.in_progress, row);
    let zone = zone(package);
    list(&mut out, "Open approvals", &package.approvals, |one| {
        format!(
            "{}: asked {}{}",
            code(&one.job.0),
            instant(one.since, &zone),
            because(&one.consequences.join("; "))
        )
    });
    list(&mut out, "Not started", &package.not_started, |one| {
        format!("{}{}", code(&one.job.0), because(&one.title))
    });
    list(&mut out, "Given up", &package.cancelled, row);
    list(&mut out, "Left in staging", &package.staging, |one| {
        format!(
            "{}: {} ({} in all)",
            code(&one.job.0),
            code(&one.reference),
            one.count
        )
    });
    list(&mut out, "Done, with evidence", &package.done, |one| {
        format!(
            "{}: in production as {}; decided by {}; {}",
            code(&one.job.0),
            code(&one.reference),
            text(if one.decided.is_empty() {
                "nobody"
            } else {
                &one.decided
            }),
            words(&one.evidence)
        )
    });
    out
}

fn head(out: &mut String, package: &Package) {
    let zone = zone(package);
    let jobs = &package.jobs;
    let _ = writeln!(
        out,
        "# Handoff: {}\n\n{}\n\nWritten {} because {}. Everything below is from the ledger as of its entry {}; \
         `handoff.json` beside this file holds the same for programs, in full.\n\n\
         | jobs | count |\n|---|---|\n| all | {} |\n| done: in production, every check passed | {} |\n\
         | handed over to people | {} |\n| given up | {} |\n| open | {} |\n",
        text(&package.goal.0),
        text(&package.objective),
        instant(package.at, &zone),
        text(&package.why),
        package.entry,
        jobs.total,
        jobs.cut_over,
        jobs.handed_over,
        jobs.cancelled,
        jobs.open
    );
    if let Some(deadline) = package.deadline {
        let _ = writeln!(
            out,
            "The deadline is {}. {} owns the goal (contract version {}): only this account changes its terms.\n",
            instant(deadline, &zone),
            text(&package.owner.0),
            package.contract_version
        );
    }
    out.push_str(
        "*Done* is a checker's word, never a worker's: a job counts as done when every check that applies to it \
         passed and a named person approved its cutover. *Handed over* means that the program stopped trying and \
         a person has the job. *To verify* means that something was asked of the environment and the answer was \
         lost: look there before doing it again.\n\n",
    );
}

fn decision(out: &mut String, package: &Package) {
    out.push_str("## What is asked of the owner\n\n");
    if package.decision.is_empty() {
        out.push_str("Nothing.\n\n");
    }
    for one in &package.decision {
        let _ = write!(
            out,
            "- **{}**: {}.",
            one.kind.replace('_', " "),
            text(&one.what)
        );
        if let Some(command) = &one.command {
            let _ = write!(out, " `{command}`");
        }
        out.push('\n');
    }
    out.push('\n');
}

fn budgets(out: &mut String, package: &Package) {
    if package.budgets.is_empty() {
        return;
    }
    out.push_str(
        "## Budgets\n\n| budget | spent | set aside | limit | used |\n|---|---|---|---|---|\n",
    );
    for one in &package.budgets {
        let _ = writeln!(
            out,
            "| {}{} | {} | {} | {} | {} |",
            one.budget,
            if one.per_day { ", today" } else { "" },
            one.spent,
            one.reserved,
            if one.limit.is_empty() {
                "none"
            } else {
                &one.limit
            },
            one.percent
                .map_or_else(String::new, |percent| format!("{percent:.0} %"))
        );
    }
    out.push('\n');
}

fn forecast(out: &mut String, package: &Package) {
    let outlook = &package.forecast;
    if outlook.jobs_open == 0 {
        return;
    }
    let zone = zone(package);
    let _ = writeln!(
        out,
        "## What the open jobs still need\n\n{} Ranges hold in eight of ten of {} trials.\n",
        if outlook.measured {
            format!("Measured on {} jobs.", outlook.jobs_measured)
        } else {
            "Too few jobs have finished to measure; the contract's own numbers were used."
                .to_owned()
        },
        outlook.trials
    );
    for one in &outlook.budgets {
        let Some(need) = one.need else { continue };
        let show = |amount: f64| one.budget.show(amount as u64);
        let _ = write!(
            out,
            "- {}: {} to {} are needed",
            one.budget,
            show(need.p10),
            show(need.p90)
        );
        if let Some(left) = one.left {
            let until = if one.per_day {
                " until the deadline"
            } else {
                ""
            };
            let _ = write!(out, ", {} are left{until}", one.budget.show(left));
        }
        if one.short > 0.0 {
            let _ = write!(out, ": about {} short", show(one.short));
        }
        if let Some(at) = one.wall_at.filter(|_| one.budget != Budget::WallClock) {
            let _ = write!(out, "; at this rate used up {}", instant(at, &zone));
        }
        out.push('\n');
    }
    let need = &outlook.approvals.need_minutes;
    let _ = writeln!(
        out,
        "- approvals: {} decisions, {:.0} to {:.0} minutes\n",
        outlook.approvals.requests, need.p10, need.p90
    );
}

fn handed_over(out: &mut String, package: &Package) {
    let list = &package.handed_over;
    if list.count == 0 {
        return;
    }
    let _ = writeln!(out, "## Handed over to people ({})\n", list.count);
    for one in list.rows.iter().take(ROWS) {
        let _ = writeln!(
            out,
            "### {}\n\n{}; its old definition is {}.\n\nWhy: {}\n",
            text(&one.job.0),
            text(&one.title),
            code(&one.origin),
            text(&one.reason)
        );
        if !one.tried.is_empty() {
            out.push_str("What was tried:\n\n");
        }
        for tried in &one.tried {
            let _ = writeln!(
                out,
                "{}. {}: {}{}",
                tried.attempt,
                text(&tried.strategy),
                text(&tried.outcome),
                because(&tried.reason)
            );
        }
        if !one.evidence.is_empty() {
            let _ = writeln!(out, "\nLast evidence: {}", words(&one.evidence));
        }
        out.push('\n');
    }
    more(out, list.count, list.rows.len());
}

fn to_verify(out: &mut String, package: &Package) {
    let zone = zone(package);
    list(
        out,
        "To verify: outcomes that are not known",
        &package.to_verify,
        |one| {
            format!(
                "{}: {} {} since {}{}",
                code(&one.job.0),
                text(&one.action),
                code(&one.operation.0),
                instant(one.since, &zone),
                because(&one.why)
            )
        },
    );
}

fn list<T>(out: &mut String, title: &str, list: &Cut<T>, row: impl Fn(&T) -> String) {
    if list.count == 0 {
        return;
    }
    let _ = writeln!(out, "## {title} ({})\n", list.count);
    for one in list.rows.iter().take(ROWS) {
        let _ = writeln!(out, "- {}", row(one));
    }
    out.push('\n');
    more(out, list.count, list.rows.len());
}

fn more(out: &mut String, count: u64, kept: usize) {
    let shown = kept.min(ROWS) as u64;
    if count > shown {
        let _ = writeln!(out, "… and {} more: see `handoff.json`.\n", count - shown);
    }
}

fn words(evidence: &[Word]) -> String {
    let all: Vec<String> = evidence
        .iter()
        .map(|one| {
            format!(
                "{} {}: {}",
                text(&one.clause),
                one.verdict,
                text(&one.summary)
            )
        })
        .collect();
    all.join("; ")
}

fn because(reason: &str) -> String {
    if reason.trim().is_empty() {
        return String::new();
    }
    format!(": {}", text(reason))
}

fn zone(package: &Package) -> TimeZone {
    TimeZone::get(&package.zone).unwrap_or(TimeZone::UTC)
}

fn instant(at: TimeMs, zone: &TimeZone) -> String {
    let zoned = at.timestamp().to_zoned_datetime(zone.clone());
    zoned.strftime("%a %Y-%m-%d %H:%M %Z").to_string()
}

/// One line that neither a terminal nor a Markdown reader acts upon. An underscore within a word is plain.
fn text(words: &str) -> String {
    let line = SafeText::line(words).into_string();
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let within = before.is_alphanumeric() && rest.peek().is_some_and(|c| c.is_alphanumeric());
        let acts = "\\`*[]<>|&".contains(c) || (c == '_' && !within);
        if acts {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// The same as code; backticks would end it.
fn code(words: &str) -> String {
    format!("`{}`", SafeText::line(words).as_str().replace('`', "'"))
}
