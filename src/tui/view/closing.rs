//! The closing report: what became of every job.

use crate::model::{JobId, JobState};
use crate::tui::app::Model;
use crate::tui::app::snapshot::Closing;
use crate::tui::text::{Line, labelled, paragraph, state};
use crate::tui::theme::Role;
use std::collections::BTreeMap;

/// The report's lines.
pub fn lines(model: &Model, closing: &Closing, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let mut lines = Vec::new();
    if let Some(goal) = &shot.goal {
        let text = match &goal.ended {
            Some(summary) => format!("{} has ended. {summary}", goal.goal),
            None => format!("{} goes on; this is how it stands.", goal.goal),
        };
        lines.extend(paragraph(&text, Role::Strong, width));
        lines.push(Line::new());
    }
    let total: u64 = closing.by_state.values().sum();
    lines.push(Line::strong(format!("Jobs {total}")));
    for state in JobState::ALL {
        if let Some(count) = closing.by_state.get(state) {
            let standing = state::of_state(*state);
            lines.push(Line::text(format!("{count:>6}  ")).with(
                format!("{} {}", standing.glyph, standing.word),
                standing.role,
            ));
        }
    }
    lines.push(Line::new());
    lines.extend(labelled(
        "requests",
        &counts(&closing.approvals),
        Role::Text,
        12,
        width,
    ));
    lines.extend(labelled(
        "operations",
        &counts(&closing.operations),
        Role::Text,
        12,
        width,
    ));
    let days = shot.overview.queries.len();
    let queries = format!(
        "{} on {days} {}",
        closing.queries,
        if days == 1 { "day" } else { "days" }
    );
    lines.extend(labelled("queries", &queries, Role::Text, 12, width));
    list(
        &mut lines,
        "Handed over",
        &closing.handed_over,
        Role::Bad,
        width,
    );
    list(
        &mut lines,
        "Cancelled",
        &closing.cancelled,
        Role::Dim,
        width,
    );
    lines
}

fn counts(map: &BTreeMap<String, u64>) -> String {
    let all: Vec<String> = map
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    if all.is_empty() {
        "none".to_owned()
    } else {
        all.join(", ")
    }
}

fn list(lines: &mut Vec<Line>, title: &str, jobs: &[(JobId, String)], role: Role, width: usize) {
    if jobs.is_empty() {
        return;
    }
    lines.push(Line::new());
    lines.push(Line::of(format!("{title} {}", jobs.len()), role));
    let wide = jobs
        .iter()
        .map(|(job, _)| crate::tui::text::width(job.as_str()))
        .max()
        .unwrap_or(0)
        .min(30);
    for (job, reason) in jobs {
        lines.extend(labelled(job.as_str(), reason, Role::Text, wide + 2, width));
    }
}
