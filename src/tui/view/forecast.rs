//! What the engine foretold when it last looked: whether budgets, the approver's hours and the deadline suffice.
//!
//! Read from the ledger's own words: the engine computes, this only shows.

use crate::model::{Budget, TimeMs};
use crate::tui::app::Model;
use crate::tui::text::{Line, paragraph, time};
use crate::tui::theme::Role;
use serde_json::Value;

/// Below this share of outcomes something is said not to suffice.
const LIKELY: f64 = 0.5;

/// The section; nothing when no forecast was made.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let Some((at, outlook)) = &shot.forecast else {
        return vec![Line::dim("No forecast was made yet.")];
    };
    let number = |name: &str| outlook.get(name).and_then(Value::as_u64).unwrap_or(0);
    let measured = outlook.get("measured").and_then(Value::as_bool);
    let when = time::instant(*at, shot.now(), &shot.zone);
    let rests = match measured {
        Some(true) => format!("on {} finished jobs", number("jobs_measured")),
        _ => "on the contract's numbers: too little is measured".to_owned(),
    };
    let head = format!("Forecast of {when}, for {} open jobs", number("jobs_open"));
    let mut lines = vec![Line::strong(head)];
    lines.extend(paragraph(&format!("  It rests {rests}."), Role::Dim, width));
    let budgets = outlook.get("budgets").and_then(Value::as_array);
    for one in budgets.into_iter().flatten() {
        lines.extend(budget(model, one, width));
    }
    if let Some(one) = outlook.get("approvals") {
        lines.extend(approvals(one, width));
    }
    lines.extend(finish(model, outlook, width));
    lines
}

fn share(one: &Value, name: &str) -> Option<f64> {
    one.get(name).and_then(Value::as_f64)
}

/// Which share of the outcomes ends well, and how that looks.
fn fits(share: Option<f64>) -> (String, Role) {
    match share {
        Some(share) if share < LIKELY => (
            format!("; suffices in {:.0} % of the outcomes", share * 100.0),
            Role::Bad,
        ),
        Some(share) => (
            format!("; suffices in {:.0} % of the outcomes", share * 100.0),
            Role::Text,
        ),
        None => (String::new(), Role::Text),
    }
}

fn budget(model: &Model, one: &Value, width: usize) -> Vec<Line> {
    let word = one.get("budget").and_then(Value::as_str).unwrap_or("");
    let Some(budget) = Budget::from_word(word) else {
        return Vec::new();
    };
    let amount = |value: f64| budget.show(value.max(0.0).ceil() as u64);
    let need = one.get("need").filter(|need| !need.is_null());
    let mut text = match need {
        Some(need) => format!(
            "{budget}: {} to {} still needed",
            amount(share(need, "p10").unwrap_or(0.0)),
            amount(share(need, "p90").unwrap_or(0.0))
        ),
        None => format!("{budget}: what is still needed is not measured yet"),
    };
    if let Some(left) = one.get("left").and_then(Value::as_u64) {
        let until = match one.get("per_day").and_then(Value::as_bool) {
            Some(true) => " until the deadline",
            _ => "",
        };
        text.push_str(&format!(", {} left{until}", budget.show(left)));
    }
    let (said, role) = fits(share(one, "fits"));
    text.push_str(&said);
    if let Some(short @ 1.0..) = share(one, "short") {
        text.push_str(&format!("; about {} short", amount(short)));
    }
    for (name, what) in [("handoff_at", "handed off"), ("wall_at", "used up")] {
        if let Some(at) = one.get(name).and_then(Value::as_i64) {
            let shot = &model.snapshot;
            let when = time::instant(TimeMs(at), shot.now(), &shot.zone);
            text.push_str(&format!("; {what} about {when}"));
        }
    }
    paragraph(&format!("  {text}"), role, width)
}

fn approvals(one: &Value, width: usize) -> Vec<Line> {
    let requests = one.get("requests").and_then(Value::as_u64).unwrap_or(0);
    if requests == 0 {
        return Vec::new();
    }
    let need = one.get("need_minutes").and_then(|need| share(need, "p50"));
    let mut text = format!(
        "approvals: {requests} decisions, about {:.0} minutes",
        need.unwrap_or(0.0)
    );
    if let Some(left) = share(one, "left_minutes") {
        text.push_str(&format!(", {left:.0} working minutes left"));
    }
    let (said, role) = fits(share(one, "fits"));
    text.push_str(&said);
    paragraph(&format!("  {text}"), role, width)
}

fn finish(model: &Model, outlook: &Value, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let Some(finish) = outlook.get("finish").filter(|finish| !finish.is_null()) else {
        return Vec::new();
    };
    let at = |name: &str| {
        let ms = share(finish, name).unwrap_or(0.0);
        time::instant(TimeMs(ms as i64), shot.now(), &shot.zone)
    };
    let mut text = format!("the last job ends between {} and {}", at("p10"), at("p90"));
    let share = share(outlook, "finish_fits");
    let role = match share {
        Some(share) if share < LIKELY => Role::Bad,
        _ => Role::Text,
    };
    if let Some(share) = share {
        text.push_str(&format!(
            "; before the deadline in {:.0} % of the outcomes",
            share * 100.0
        ));
    }
    paragraph(&format!("  {text}"), role, width)
}
