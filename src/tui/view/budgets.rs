//! Budgets: what was spent and reserved, and the wall.

use crate::tui::app::Model;
use crate::tui::text::{Line, paragraph};
use crate::tui::theme::Role;
use crate::tui::widget::gauge;
use std::collections::BTreeSet;

/// The page.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let days = &shot.overview.queries;
    let mut lines = Vec::new();
    let contract = shot.parsed.as_ref().map(|goal| &goal.contract.budgets);
    let mut names: BTreeSet<&str> = days.iter().map(|day| day.budget.as_str()).collect();
    if let Some(budgets) = contract {
        names.extend(budgets.per_day.keys().map(String::as_str));
    }
    for name in names {
        let limit = contract
            .and_then(|budgets| budgets.per_day.get(name))
            .map(|budget| budget.limit);
        let heading = match limit {
            Some(limit) => format!("{name}: {limit} a day"),
            None => format!("{name}: a day's limit is not known here"),
        };
        lines.push(Line::strong(heading));
        let mut any = false;
        for day in days.iter().filter(|day| day.budget == name) {
            any = true;
            let used = day.spent + day.reserved;
            let mut line = Line::text(format!("  {}  ", day.day));
            if let Some(limit) = limit {
                let role = if used >= limit { Role::Bad } else { Role::Good };
                line.push(
                    gauge(used, limit, width.saturating_sub(48).clamp(8, 30)),
                    role,
                );
                line.push("  ", Role::Text);
            }
            line.push(format!("{} spent", day.spent), Role::Text);
            if day.reserved > 0 {
                line.push(format!(", {} reserved", day.reserved), Role::Dim);
            }
            if limit.is_some_and(|limit| used >= limit) {
                line.push(", used up", Role::Bad);
            }
            lines.push(line);
        }
        if !any {
            lines.push(Line::dim("  nothing spent yet"));
        }
        lines.push(Line::new());
    }
    if let Some(budgets) = contract
        && !budgets.total.is_empty()
    {
        lines.push(Line::strong("Totals named in the contract"));
        for (name, budget) in &budgets.total {
            lines.push(Line::text(format!(
                "  {name}: limit {}",
                amount(budget.limit)
            )));
        }
        lines.extend(paragraph(
            "Spending of totals is not recorded yet; only renewing budgets are metered.",
            Role::Dim,
            width,
        ));
    }
    if lines.is_empty() {
        lines.extend(paragraph(
            "Nothing was spent and reserved yet, and no budget could be read from the contract.",
            Role::Dim,
            width,
        ));
    }
    lines
}

/// A limit as it is written: whole numbers with separators.
fn amount(limit: f64) -> String {
    if limit.fract() == 0.0 && (0.0..1e15).contains(&limit) {
        super::log::thousands(limit as u64)
    } else {
        limit.to_string()
    }
}
