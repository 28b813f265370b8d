//! Budgets: what was spent and reserved, and the wall.

use crate::ledger::read::BudgetDay;
use crate::model::TimeMs;
use crate::tui::app::Model;
use crate::tui::text::{Line, paragraph, time};
use crate::tui::theme::Role;
use crate::tui::widget::gauge;
use std::collections::BTreeSet;

const HOUR_MS: i64 = 3_600_000;
/// Further than this nothing is foretold.
const MAX_FORECAST_MS: f64 = 1e12;

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
            if let Some(text) = burn(model, day, limit) {
                lines.extend(paragraph(&format!("  {text}"), Role::Dim, width));
            }
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

/// For the day that goes on: how fast it is used, whether that lasts, and when it begins anew.
fn burn(model: &Model, day: &BudgetDay, limit: Option<u64>) -> Option<String> {
    let shot = &model.snapshot;
    let (now, zone) = (shot.now(), &shot.zone);
    let local = now.timestamp().to_zoned_datetime(zone.clone());
    if local.date().to_string() != day.day {
        return None;
    }
    let tomorrow = local.date().tomorrow().ok()?.at(0, 0, 0, 0);
    let midnight = zone
        .to_ambiguous_zoned_datetime(tomorrow)
        .compatible()
        .ok()?;
    let reset = TimeMs::from_timestamp(midnight.timestamp());
    let begun = TimeMs::from_timestamp(local.start_of_day().ok()?.timestamp());
    let passed = now.since(begun).max(1);
    let used = day.spent + day.reserved;
    let hour = used as f64 * HOUR_MS as f64 / passed as f64;
    let mut text = format!(
        "{hour:.1} an hour since midnight; begins anew {}, in {}",
        time::instant(reset, now, zone),
        time::span(reset.since(now))
    );
    if let Some(limit) = limit.filter(|limit| used > 0 && used < *limit) {
        let left_ms = (limit - used) as f64 / used as f64 * passed as f64;
        let end = now.plus_ms(left_ms.min(MAX_FORECAST_MS) as i64);
        text.push_str(&if end < reset {
            format!("; at this rate used up {}", time::instant(end, now, zone))
        } else {
            "; at this rate it lasts the day".to_owned()
        });
    }
    Some(text)
}

/// A limit as it is written: whole numbers with separators.
fn amount(limit: f64) -> String {
    if limit.fract() == 0.0 && (0.0..1e15).contains(&limit) {
        super::log::thousands(limit as u64)
    } else {
        limit.to_string()
    }
}
