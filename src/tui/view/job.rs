//! One job: its attempts as a stepper, with panes for what happened, the config, evidence, effects.

use super::{jobs, transcript};
use crate::ledger::read::{AttemptRow, EvidenceRow};
use crate::model::{AttemptNo, SafeText};
use crate::tui::app::Model;
use crate::tui::app::place::Tab;
use crate::tui::app::snapshot::JobData;
use crate::tui::text::diff::{self, Change};
use crate::tui::text::{self, Line, labelled, paragraph, sentence, state, time};
use crate::tui::theme::Role;
use serde_json::Value;

/// Lines of one text shown at most.
const MAX_LINES: usize = 5_000;
/// Columns from which a diff stands side by side.
const SIDE_BY_SIDE: usize = 100;
/// Numbers of one evidence shown at most.
const MAX_NUMBERS: usize = 200;

/// The page.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let Some(data) = &model.snapshot.job else {
        let text = if model.is_current() {
            "there is no such job in this goal"
        } else {
            "reading the ledger…"
        };
        return vec![Line::dim(text)];
    };
    let mut lines = head(model, data, width);
    lines.push(tabs(model, width));
    lines.extend(match model.tab {
        Tab::Timeline => timeline(model, data, width),
        Tab::Diff => config_diff(model, data, width),
        Tab::Evidence => evidence(model, data, width),
        Tab::Operations => operations(model, data, width),
        Tab::Transcript => transcript::lines(model, data, width),
    });
    lines
}

fn head(model: &Model, data: &JobData, width: usize) -> Vec<Line> {
    let standing = jobs::standing(model, &data.row);
    let mut first = Line::of(
        format!("{} {}", standing.glyph, standing.word),
        standing.role,
    );
    first.push(
        format!(
            " · {}/{} clauses · {} · {}",
            data.row.clauses_passed,
            data.row.clauses_total,
            text::count(u64::from(data.row.tries), "staging run", "staging runs"),
            text::count(data.row.queries, "query", "queries")
        ),
        Role::Text,
    );
    if data.row.high_risk {
        first.push(" · high risk", Role::Warn);
    }
    let mut lines = vec![first];
    let (why, role) = jobs::why_here(model, &data.row);
    lines.extend(paragraph(&why, role, width).into_iter().take(3));
    lines.push(match model.attempt_shown() {
        Some((at, attempt)) => {
            let end = if attempt.outcome.is_empty() {
                "goes on".to_owned()
            } else {
                attempt.outcome.clone()
            };
            let steps: Vec<String> = window_of(at, data.attempts.len())
                .filter_map(|index| data.attempts.get(index))
                .map(|one| {
                    if one.attempt == attempt.attempt {
                        format!("[{}]", one.attempt)
                    } else {
                        one.attempt.to_string()
                    }
                })
                .collect();
            Line::strong(format!("attempt {} of {}", at + 1, data.attempts.len()))
                .with(format!(" · {} · {end}  ", attempt.strategy), Role::Text)
                .with(steps.join(" "), Role::Dim)
        }
        None => Line::dim("no attempt yet"),
    });
    lines
}

/// At most nine attempts around the one shown.
fn window_of(at: usize, count: usize) -> std::ops::Range<usize> {
    let start = at.saturating_sub(4).min(count.saturating_sub(9));
    start..(start + 9).min(count)
}

fn tabs(model: &Model, width: usize) -> Line {
    let mut line = Line::new();
    for tab in Tab::ALL {
        if !line.spans.is_empty() {
            line.push(" ", Role::Text);
        }
        let role = if tab == model.tab {
            Role::Selected
        } else {
            Role::Dim
        };
        line.push(format!(" {} ", tab.title()), role);
    }
    if line.width() + 12 < width {
        line.push("  Tab moves", Role::Dim);
    }
    line
}

fn timeline(model: &Model, data: &JobData, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let attempt = model.attempt_shown().map(|(_, one)| one.attempt);
    let first = data.attempts.first().map(|one| one.attempt);
    let mut lines = Vec::new();
    for row in &data.events {
        // What belongs to no attempt (found, paused, asked) is shown with every one: it still holds.
        let own = row.attempt.unwrap_or(AttemptNo(0));
        let before_any = own.0 == 0;
        if !(before_any || Some(own) == attempt || attempt.is_none() || first.is_none()) {
            continue;
        }
        let (text, role) = sentence::of(row, &shot.zone);
        let who = match row.actor.strip_prefix("person:") {
            Some(name) => format!("{name}: {text}"),
            None => text,
        };
        lines.extend(labelled(
            &time::stamp(row.at, &shot.zone),
            &who,
            role,
            if width < 60 { 6 } else { 15 },
            width,
        ));
    }
    if lines.is_empty() {
        lines.push(Line::dim("nothing happened yet"));
    }
    lines
}

/// The text before an attempt's config: the config of the attempt before it, or the old definition.
fn base_of<'a>(data: &'a JobData, attempt: &AttemptRow) -> (String, Option<&'a str>) {
    let earlier = data
        .attempts
        .iter()
        .rev()
        .filter(|one| one.attempt < attempt.attempt)
        .find_map(|one| one.config.as_ref().map(|config| (one.attempt, config)));
    match earlier {
        Some((number, digest)) => (
            format!("config of attempt {number}"),
            data.texts.get(digest).and_then(Option::as_deref),
        ),
        None => (
            format!("old definition, {}", data.facts.origin),
            data.texts
                .get(&data.facts.definition)
                .and_then(Option::as_deref),
        ),
    }
}

fn config_diff(model: &Model, data: &JobData, width: usize) -> Vec<Line> {
    let Some((_, attempt)) = model.attempt_shown() else {
        return definition(data, width);
    };
    let config = attempt
        .config
        .as_ref()
        .and_then(|digest| data.texts.get(digest))
        .and_then(Option::as_deref);
    let (name, base) = base_of(data, attempt);
    let Some(config) = config else {
        let mut lines = vec![Line::dim(
            "this attempt has no config; below is what it had to start from",
        )];
        lines.extend(definition(data, width));
        return lines;
    };
    let mut lines = vec![
        Line::of(format!("− {name}"), Role::Removed),
        Line::of(
            format!(
                "+ config {} of attempt {}",
                attempt.config.as_ref().map_or("", |digest| digest.short()),
                attempt.attempt
            ),
            Role::Added,
        ),
        Line::new(),
    ];
    lines.extend(diff_lines(base.unwrap_or(""), config, width));
    lines
}

/// A diff of two texts: side by side where there is room, else unified.
pub fn diff_lines(old: &str, new: &str, width: usize) -> Vec<Line> {
    let old = SafeText::block(old);
    let new = SafeText::block(new);
    let mut changes = diff::lines(old.as_str(), new.as_str());
    changes.truncate(MAX_LINES);
    if width >= SIDE_BY_SIDE {
        return side_by_side(&changes, width);
    }
    changes
        .iter()
        .flat_map(|change| match change {
            Change::Same(text) => code("  ", text, Role::Text, width),
            Change::Removed(text) => code("− ", text, Role::Removed, width),
            Change::Added(text) => code("+ ", text, Role::Added, width),
        })
        .collect()
}

/// Old at the left, new at the right; what replaces what stands in one row.
fn side_by_side(changes: &[Change], width: usize) -> Vec<Line> {
    let half = (width - 3) / 2;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut lines = Vec::new();
    for change in changes {
        match change {
            Change::Removed(text) => left.extend(code("− ", text, Role::Removed, half)),
            Change::Added(text) => right.extend(code("+ ", text, Role::Added, half)),
            Change::Same(text) => {
                pair(&mut lines, &mut left, &mut right, half);
                left = code("  ", text, Role::Text, half);
                right = left.clone();
                pair(&mut lines, &mut left, &mut right, half);
            }
        }
    }
    pair(&mut lines, &mut left, &mut right, half);
    lines
}

/// Puts what was gathered on both sides into rows.
fn pair(lines: &mut Vec<Line>, left: &mut Vec<Line>, right: &mut Vec<Line>, half: usize) {
    for row in 0..left.len().max(right.len()) {
        let mut line = left.get(row).cloned().unwrap_or_default();
        let pad = half.saturating_sub(line.width());
        line.push(" ".repeat(pad), Role::Text);
        line.push(" │ ", Role::Dim);
        if let Some(other) = right.get(row) {
            line.spans.extend(other.spans.iter().cloned());
        }
        lines.push(line);
    }
    left.clear();
    right.clear();
}

/// A line of code, broken anywhere: its blanks mean something.
fn code(sign: &str, text: &str, role: Role, width: usize) -> Vec<Line> {
    let room = width.saturating_sub(2).max(2);
    let mut rest = text;
    let mut lines = Vec::new();
    loop {
        let head = text::cut(rest, room);
        if head.is_empty() && !rest.is_empty() {
            break;
        }
        let sign = if lines.is_empty() { sign } else { "  " };
        lines.push(Line::of(format!("{sign}{head}"), role));
        rest = rest.get(head.len()..).unwrap_or("");
        if rest.is_empty() {
            break;
        }
    }
    lines
}

fn definition(data: &JobData, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::strong(format!(
        "old definition, {}",
        data.facts.origin
    ))];
    match data
        .texts
        .get(&data.facts.definition)
        .and_then(Option::as_deref)
    {
        Some(text) => {
            let safe = SafeText::block(text);
            lines.extend(
                safe.as_str()
                    .lines()
                    .take(MAX_LINES)
                    .flat_map(|line| code("  ", line, Role::Text, width)),
            );
        }
        None => lines.push(Line::dim("the ledger does not hold its text")),
    }
    lines
}

fn evidence(model: &Model, data: &JobData, width: usize) -> Vec<Line> {
    let attempt = model.attempt_shown().map(|(_, one)| one.attempt);
    let rows: Vec<&EvidenceRow> = data
        .evidence
        .iter()
        .filter(|row| Some(row.attempt) == attempt)
        .collect();
    if rows.is_empty() {
        return vec![Line::dim("no clause was judged in this attempt")];
    }
    rows.iter()
        .flat_map(|row| evidence_lines(model, data, row, width))
        .collect()
}

/// One verdict with its numbers and queries.
pub fn evidence_lines(model: &Model, data: &JobData, row: &EvidenceRow, width: usize) -> Vec<Line> {
    let standing = state::of_verdict(row.verdict);
    let mut lines = vec![
        Line::of(
            format!("{} {}", standing.glyph, standing.word),
            standing.role,
        )
        .with(
            format!(" {}{}", row.clause, state::of_kind(row.kind)),
            Role::Strong,
        )
        .with(
            format!(
                "  {}  checker {}  {} queries",
                time::stamp(row.at, &model.snapshot.zone),
                row.checker.short(),
                row.spent
            ),
            Role::Dim,
        ),
    ];
    lines.extend(paragraph(&row.summary, Role::Text, width));
    let Some(detail) = data.numbers.get(&row.detail) else {
        lines.push(Line::dim("the ledger does not hold its numbers"));
        lines.push(Line::new());
        return lines;
    };
    if let Some(numbers) = detail.get("numbers").and_then(Value::as_object) {
        let wide = numbers
            .keys()
            .map(|key| text::width(key))
            .max()
            .unwrap_or(0);
        for (key, value) in numbers.iter().take(MAX_NUMBERS) {
            let shown = number(value);
            lines.extend(labelled(
                &format!("  {key}"),
                &shown,
                Role::Text,
                wide.min(24) + 4,
                width,
            ));
        }
    }
    if let Some(queries) = detail.get("queries").and_then(Value::as_array) {
        for (index, query) in queries.iter().filter_map(Value::as_str).enumerate() {
            lines.extend(labelled(
                &format!("  query {}", index + 1),
                query,
                Role::Dim,
                11,
                width,
            ));
        }
    }
    lines.push(Line::new());
    lines
}

/// A number as it is read: objects as `name value`, lists with commas.
fn number(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => {
            let all: Vec<String> = map
                .iter()
                .take(MAX_NUMBERS)
                .map(|(key, value)| format!("{key} {}", number(value)))
                .collect();
            all.join(", ")
        }
        Value::Array(items) => {
            let all: Vec<String> = items.iter().take(MAX_NUMBERS).map(number).collect();
            all.join(", ")
        }
        other => other.to_string(),
    }
}

fn operations(model: &Model, data: &JobData, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let attempt = model.attempt_shown().map(|(_, one)| one.attempt);
    let rows: Vec<_> = data
        .operations
        .iter()
        .filter(|row| attempt.is_none() || Some(row.attempt) == attempt)
        .collect();
    if rows.is_empty() {
        return vec![Line::dim("this attempt asked the world for nothing")];
    }
    let mut lines = Vec::new();
    for row in rows {
        let standing = state::of_operation(row.state, row.to_verify);
        lines.push(
            Line::of(
                format!("{} {}", standing.glyph, standing.word),
                standing.role,
            )
            .with(
                format!(
                    " {}, run {}",
                    sentence::action_word(&row.action),
                    row.ordinal
                ),
                Role::Strong,
            )
            .with(
                format!("  {}", time::stamp(row.intended_at, &shot.zone)),
                Role::Dim,
            ),
        );
        let mut add = |label: &str, text: &str, role| {
            if !text.is_empty() {
                lines.extend(labelled(label, text, role, 12, width));
            }
        };
        add("  id", row.operation.as_str(), Role::Text);
        add("  config", row.config.short(), Role::Text);
        add("  reference", &row.reference, Role::Text);
        add("  why", &row.why, Role::Warn);
        add("  set off", &row.observed, Role::Text);
        if let Some(approval) = &row.approval {
            add("  approval", approval.as_str(), Role::Text);
        }
        let sent = format!(
            "sent {}, looked up {}",
            text::times(row.sends),
            text::times(row.look_ups)
        );
        if row.sends > 1 || row.look_ups > 0 {
            add("  so far", &sent, Role::Dim);
        }
        lines.push(Line::new());
    }
    lines
}
