//! The goal: its contract as adopted, and the engine's last word on it.

use super::job;
use crate::contract::Goal;
use crate::model::SafeText;
use crate::tui::app::Model;
use crate::tui::app::snapshot::Version;
use crate::tui::text::{self, Line, Span, labelled, time};
use crate::tui::theme::Role;

/// Revisions of the plan shown, the newest first.
const PLANS: usize = 3;
const LABEL: usize = 11;

/// The page.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let Some(goal) = &shot.goal else {
        return vec![Line::dim("there is no goal in this ledger")];
    };
    let mut lines = Vec::new();
    let mut add =
        |name: &str, text: &str, role| lines.extend(labelled(name, text, role, LABEL, width));
    add("objective", &goal.objective, Role::Strong);
    add("owner", &goal.owner.0, Role::Text);
    if let Some(names) = shot.approvers() {
        add("approvers", &names.join(", "), Role::Text);
    }
    let deadline = match goal.deadline {
        Some(at) => time::full(at, &shot.zone),
        None => "none".to_owned(),
    };
    add("deadline", &deadline, Role::Text);
    if let Some(text) = &goal.ended {
        add("ended", text, Role::Strong);
        add("report", "R shows the closing report", Role::Dim);
    }
    let beat = if goal.heartbeat.is_empty() {
        "none yet".to_owned()
    } else {
        let at = goal
            .heartbeat_at
            .map(|at| time::instant(at, shot.now(), &shot.zone));
        format!("{} ({})", goal.heartbeat, at.unwrap_or_default())
    };
    add("heartbeat", &beat, Role::Text);
    if let Some(contract) = &shot.contract {
        let adopted = format!(
            "version {}, {}, adopted {} by {}",
            contract.version,
            contract.digest.short(),
            time::full(contract.adopted_at, &shot.zone),
            contract.adopted_by.trim_start_matches("person:"),
        );
        add("contract", &adopted, Role::Text);
        for answer in &contract.answers {
            add("asked", answer, Role::Text);
        }
        for one in &contract.overrides {
            add("set", one, Role::Text);
        }
    }
    if let Some(plan) = &shot.parsed {
        let steps: Vec<String> = plan
            .strategies
            .iter()
            .map(|strategy| format!("{} ({})", strategy.id, strategy.worker))
            .collect();
        add("plan", &steps.join(" → "), Role::Text);
        for row in shot.plans.iter().rev().take(PLANS) {
            let text = format!(
                "{} by {}, {}: {} ({})",
                row.revision,
                row.by,
                time::instant(row.at, shot.now(), &shot.zone),
                row.hypothesis,
                row.changes.join("; ")
            );
            add("revised", &text, Role::Text);
        }
    }
    let checkpoint = match &shot.checkpoint {
        Some(row) => {
            let job = row.job.as_ref().map_or("", |job| job.as_str());
            let attempt = row.attempt.map_or(String::new(), |one| one.to_string());
            format!(
                "{}, of {job}, attempt {attempt}; its job's transcript has it",
                time::instant(row.at, shot.now(), &shot.zone)
            )
        }
        None => "none lately: only loops of a model write one".to_owned(),
    };
    lines.extend(labelled(
        "checkpoint",
        &checkpoint,
        Role::Text,
        LABEL,
        width,
    ));
    lines.push(Line::new());
    if let Some(plan) = &shot.parsed {
        clauses(plan, &mut lines, width);
    }
    match model.version_shown() {
        Some((at, version)) => versions(model, at, version, &mut lines, width),
        None => file(shot.contract_text.as_deref(), &mut lines),
    }
    lines
}

/// What must hold of a job before it counts, as the contract says it.
fn clauses(plan: &Goal, lines: &mut Vec<Line>, width: usize) {
    let contract = &plan.contract;
    lines.push(Line::strong(format!("Clauses {}", contract.accept.len())));
    let label = |text: &str| format!("  {text}");
    let wide = contract
        .accept
        .iter()
        .map(|clause| clause.id.as_str().len());
    let wide = wide.max().unwrap_or(0).clamp(LABEL, 20) + 3;
    for clause in &contract.accept {
        let params: Vec<String> = clause
            .params
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let mut text = format!("checked by {}", clause.check);
        if !params.is_empty() {
            text.push_str(&format!(" ({})", params.join(", ")));
        }
        match &clause.applies_to {
            Some(scope) => text.push_str(&format!(", for jobs of {scope}")),
            None => text.push_str(", for every job"),
        }
        let name = label(clause.id.as_str());
        lines.extend(labelled(&name, &text, Role::Text, wide, width));
    }
    let limits = &contract.limits;
    let text = format!(
        "{} staging runs of one config, {} repair rounds, {} jobs at once",
        limits.staging_tries, limits.repair_rounds, limits.concurrent_jobs
    );
    lines.extend(labelled("  limits", &text, Role::Text, wide, width));
    lines.push(Line::new());
}

/// One version: who adopted it when, what it changed, and its text.
fn versions(model: &Model, at: usize, shown: &Version, lines: &mut Vec<Line>, width: usize) {
    let shot = &model.snapshot;
    let all = shot.versions.len();
    let by = shown.row.adopted_by.trim_start_matches("person:");
    let when = time::full(shown.row.adopted_at, &shot.zone);
    let head = format!("Contract version {} of {all}", shown.row.version);
    lines.push(Line::strong(head).with(format!("  {when} by {by}"), Role::Dim));
    if !shown.row.why.is_empty() {
        lines.extend(labelled("  why", &shown.row.why, Role::Text, LABEL, width));
    }
    if !shown.row.impact.is_empty() {
        lines.extend(labelled(
            "  meant",
            &shown.row.impact,
            Role::Text,
            LABEL,
            width,
        ));
    }
    for change in &shown.row.changes {
        lines.extend(labelled("  changes", change, Role::Text, LABEL, width));
    }
    let before = at.checked_sub(1).and_then(|at| shot.versions.get(at));
    if let Some(before) = before {
        let title = format!("What it changed in version {}", before.row.version);
        lines.push(Line::strong(title));
        match (before.text.as_deref(), shown.text.as_deref()) {
            (Some(old), Some(new)) if old == new => lines.push(Line::dim("nothing in its text")),
            (Some(old), Some(new)) => lines.extend(changed_lines(old, new, width)),
            _ => lines.push(Line::dim("the ledger does not hold both texts")),
        }
        lines.push(Line::new());
    }
    file(shown.text.as_deref(), lines);
}

/// Lines that stand around a change.
const AROUND: usize = 3;

/// The changes with the lines around them; what lies between is counted.
pub(super) fn changed_lines(old: &str, new: &str, width: usize) -> Vec<Line> {
    let all = job::diff_lines(old, new, width);
    let is_change = |line: &Line| {
        let changed = |span: &Span| matches!(span.role, Role::Added | Role::Removed);
        line.spans.iter().any(changed)
    };
    let changes: Vec<usize> = (0..all.len())
        .filter(|at| all.get(*at).is_some_and(is_change))
        .collect();
    let near = |at: usize| {
        let from = changes.partition_point(|change| change + AROUND < at);
        changes
            .get(from)
            .is_some_and(|change| *change <= at + AROUND)
    };
    let mut lines = Vec::new();
    let mut skipped = 0;
    for (at, line) in all.into_iter().enumerate() {
        if !near(at) {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            lines.push(unchanged(skipped));
            skipped = 0;
        }
        lines.push(line);
    }
    if skipped > 0 {
        lines.push(unchanged(skipped));
    }
    lines
}

fn unchanged(count: usize) -> Line {
    let text = text::count(count as u64, "line", "lines");
    Line::dim(format!("  … {text} as before"))
}

/// The goal file's text.
fn file(text: Option<&str>, lines: &mut Vec<Line>) {
    match text {
        Some(text) => {
            lines.push(Line::strong("Goal file as adopted"));
            let safe = SafeText::block(text);
            lines.extend(safe.as_str().lines().take(5_000).map(|line| {
                let role = if line.starts_with('#') {
                    Role::Dim
                } else if line.starts_with('[') {
                    Role::Info
                } else {
                    Role::Text
                };
                Line::of(line, role)
            }));
        }
        None => lines.push(Line::dim("the ledger does not hold the goal file's text")),
    }
}
