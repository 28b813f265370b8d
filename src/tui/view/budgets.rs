//! Budgets: what was spent and reserved, how fast, and the wall.

use super::forecast;
use crate::ledger::read::BudgetUse;
use crate::model::{Budget, TimeMs};
use crate::tui::app::Model;
use crate::tui::text::{Line, labelled, paragraph, time};
use crate::tui::theme::Role;
use crate::tui::widget::gauge;
use std::collections::BTreeSet;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Further than this nothing is foretold.
const MAX_FORECAST_MS: f64 = 1e12;
/// Days shown of a renewing budget.
const DAYS: usize = 30;

/// The page.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(why) = model
        .snapshot
        .goal
        .as_ref()
        .and_then(|goal| goal.stopped.as_ref())
    {
        lines.extend(paragraph(
            &format!("The work was ended: {why}"),
            Role::Bad,
            width,
        ));
        lines.push(Line::new());
    }
    totals(model, &mut lines, width);
    renewing(model, &mut lines, width);
    if !lines.is_empty() {
        lines.extend(forecast::lines(model, width));
        lines.push(Line::new());
    }
    handoffs(model, &mut lines, width);
    if lines.is_empty() {
        lines.extend(paragraph(
            "Nothing was spent and reserved yet, and no budget could be read from the contract.",
            Role::Dim,
            width,
        ));
    }
    lines
}

/// What a use takes of its limit: reserved money is spoken for.
fn used(one: &BudgetUse) -> u64 {
    one.spent.saturating_add(one.reserved)
}

fn totals(model: &Model, lines: &mut Vec<Line>, width: usize) {
    let shot = &model.snapshot;
    let contract = shot.parsed.as_ref().map(|goal| &goal.contract);
    for budget in Budget::ALL {
        let wall = contract.and_then(|contract| contract.wall(*budget));
        let spent = shot
            .uses
            .iter()
            .find(|one| one.budget == *budget && one.day.is_empty());
        if wall.is_none() && spent.is_none() {
            continue;
        }
        let heading = match wall {
            Some(wall) => format!("{budget}: {} in all", budget.show(wall)),
            None => format!("{budget}: no limit in all"),
        };
        lines.push(Line::strong(heading));
        let none = BudgetUse {
            budget: *budget,
            day: String::new(),
            reserved: 0,
            spent: 0,
            unsure: 0,
        };
        let spent = spent.unwrap_or(&none);
        let handoff = contract
            .zip(wall)
            .map(|(contract, wall)| contract.handoff_at(wall));
        lines.push(total_line(spent, wall, handoff, width));
        for text in total_notes(model, spent, wall, handoff) {
            lines.extend(paragraph(&format!("  {text}"), Role::Dim, width));
        }
        lines.push(Line::new());
    }
}

fn total_line(spent: &BudgetUse, wall: Option<u64>, handoff: Option<u64>, width: usize) -> Line {
    let used = used(spent);
    let mut line = Line::text("  ");
    if let Some(wall) = wall {
        let role = match handoff {
            _ if used >= wall => Role::Bad,
            Some(at) if used >= at => Role::Warn,
            _ => Role::Good,
        };
        let wide = width.saturating_sub(48).clamp(8, 30);
        line.push(gauge(used, wall, wide), role);
        line.push("  ", Role::Text);
    }
    line.push(
        format!("{} spent", spent.budget.show(spent.spent)),
        Role::Text,
    );
    if spent.reserved > 0 {
        let text = format!(", {} reserved", spent.budget.show(spent.reserved));
        line.push(text, Role::Dim);
    }
    line
}

/// What is left, how fast it goes, and what is not certain.
fn total_notes(
    model: &Model,
    spent: &BudgetUse,
    wall: Option<u64>,
    handoff: Option<u64>,
) -> Vec<String> {
    let shot = &model.snapshot;
    let (now, used, budget) = (shot.now(), used(spent), spent.budget);
    let mut notes = Vec::new();
    if let (Some(wall), Some(at)) = (wall, handoff) {
        notes.push(if used >= wall {
            "the wall is reached; nothing more is started".to_owned()
        } else if used >= at {
            format!("past the handoff at {}", budget.show(at))
        } else {
            format!(
                "handed off at {}, {} from here",
                budget.show(at),
                budget.show(at - used)
            )
        });
    }
    let begun = shot.goal.as_ref().map(|goal| goal.adopted_at);
    let passed = begun.map_or(0, |begun| now.since(begun));
    // Working time passes by the calendar: a rate of it says nothing.
    if used > 0 && passed > HOUR_MS && budget != Budget::WallClock {
        let a_day = (used as f64 * DAY_MS as f64 / passed as f64) as u64;
        let mut text = format!("{} a day since the adoption", budget.show(a_day));
        if let Some(wall) = wall.filter(|wall| used < *wall) {
            let left_ms = (wall - used) as f64 / used as f64 * passed as f64;
            let end = now.plus_ms(left_ms.min(MAX_FORECAST_MS) as i64);
            text.push_str(&format!(
                "; at this rate used up {}",
                time::instant(end, now, &shot.zone)
            ));
        }
        notes.push(text);
    }
    if spent.unsure > 0 {
        let text = budget.show(spent.unsure);
        notes.push(format!(
            "{text} of it may have cost less: the reply was lost"
        ));
    }
    notes
}

fn renewing(model: &Model, lines: &mut Vec<Line>, width: usize) {
    let shot = &model.snapshot;
    let contract = shot.parsed.as_ref().map(|goal| &goal.contract.budgets);
    let days: Vec<&BudgetUse> = shot.uses.iter().filter(|one| !one.day.is_empty()).collect();
    let mut budgets: BTreeSet<Budget> = days.iter().map(|one| one.budget).collect();
    if let Some(contract) = contract {
        let named = |budget: &&Budget| contract.a_day(**budget).is_some();
        budgets.extend(Budget::ALL.iter().filter(named));
    }
    for budget in budgets {
        let limit = contract.and_then(|contract| contract.a_day(budget));
        let heading = match limit {
            Some(limit) => format!("{budget}: {limit} a day"),
            None if contract.is_some() => format!("{budget}: no limit a day"),
            None => format!("{budget}: a day's limit is not known here"),
        };
        lines.push(Line::strong(heading));
        let mut any = false;
        for day in days.iter().filter(|day| day.budget == budget).take(DAYS) {
            any = true;
            lines.push(of_day(day, limit, width));
            if let Some(text) = burn(model, day, limit) {
                lines.extend(paragraph(&format!("  {text}"), Role::Dim, width));
            }
        }
        if !any {
            lines.push(Line::dim("  nothing spent yet"));
        }
        lines.push(Line::new());
    }
}

/// One day of one budget.
fn of_day(day: &BudgetUse, limit: Option<u64>, width: usize) -> Line {
    let used = used(day);
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
    line
}

/// For the day that goes on: how fast it is used, whether that lasts, and when it begins anew.
fn burn(model: &Model, day: &BudgetUse, limit: Option<u64>) -> Option<String> {
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
    let used = used(day);
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

/// What was written for the people who take over.
fn handoffs(model: &Model, lines: &mut Vec<Line>, width: usize) {
    let shot = &model.snapshot;
    if shot.handoffs.is_empty() {
        return;
    }
    lines.push(Line::strong("Handoff packages"));
    for one in &shot.handoffs {
        let when = format!("  {}", time::stamp(one.written_at, &shot.zone));
        let text = format!("{} (dogwatch handoff shows it)", one.why);
        lines.extend(labelled(&when, &text, Role::Text, 17, width));
    }
}
