//! The goal: its contract as adopted, and the engine's last word on it.

use crate::model::SafeText;
use crate::tui::app::Model;
use crate::tui::text::{Line, labelled, time};
use crate::tui::theme::Role;

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
    }
    lines.push(Line::new());
    file(shot.contract_text.as_deref(), &mut lines);
    lines
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
