//! One alert: its rule, the numbers behind it, and the entries that raised it.

use crate::ledger::read::{AlertRow, OutageRow, SpinRow};
use crate::model::Seq;
use crate::tui::app::Model;
use crate::tui::keymap::Action;
use crate::tui::text::{Line, labelled, paragraph, sentence, time};
use crate::tui::theme::Role;

const LABEL: usize = 12;
/// Columns before an entry: `  04-02 16:05  `.
const WHEN: usize = 15;

/// The page.
pub fn lines(model: &Model, seq: Seq, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let Some(row) = shot.alerts.iter().find(|row| row.seq == seq) else {
        let text = if model.is_current() {
            "this alert is not in the ledger any more"
        } else {
            "reading the ledger…"
        };
        return vec![Line::dim(text)];
    };
    let mut lines = head(model, row, width);
    if row.rule == "outage"
        && let Some(outage) = outage_of(&shot.outages, row)
    {
        lines.push(Line::new());
        numbers(model, outage, &mut lines, width);
    }
    if let Some(found) = model.spin_of(seq) {
        lines.push(Line::new());
        spinning(model, found, &mut lines, width);
    }
    if row.rule == "held" && row.cleared_at.is_none() {
        let key = model.keymap.label(Action::Drift);
        lines.push(Line::of(key, Role::Key).with(" lists them, and accepts", Role::Text));
    }
    lines.push(Line::new());
    lines.push(Line::strong("Entries before it"));
    if shot.before_alert.is_empty() {
        lines.push(Line::dim("  none is kept"));
    }
    for entry in &shot.before_alert {
        let (text, role) = sentence::of(entry, &shot.zone);
        let who = entry.job.as_ref().map_or("the goal", |job| job.as_str());
        let when = time::short_stamp(entry.at, shot.now(), &shot.zone);
        let text = format!("{who}: {text}");
        lines.extend(labelled(&format!("  {when}"), &text, role, WHEN, width));
    }
    lines
}

fn head(model: &Model, row: &AlertRow, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let (word, role) = match row.cleared_at {
        None => ("! open", Role::Bad),
        Some(_) => ("over", Role::Dim),
    };
    let age = time::span(shot.now().since(row.raised_at));
    let first = Line::of(word, role)
        .with(format!(" {}", row.rule), Role::Strong)
        .with(format!(" · raised {age} ago"), Role::Text);
    let mut lines = vec![first];
    lines.extend(paragraph(&row.evidence, Role::Text, width));
    let mut add =
        |name: &str, text: &str| lines.extend(labelled(name, text, Role::Text, LABEL, width));
    add(
        "concerns",
        row.job
            .as_ref()
            .map_or("the whole goal", |job| job.as_str()),
    );
    if let Some(job) = &row.job
        && let Some(count @ 1..) = shot.held.get(job)
    {
        add("holds up", &format!("{count} other jobs"));
    }
    add("raised", &time::full(row.raised_at, &shot.zone));
    if let Some(at) = row.cleared_at {
        let text = format!("{}: {}", time::full(at, &shot.zone), row.cleared_why);
        add("over", &text);
    }
    lines
}

/// The outage that an alert is about: the one declared last before it was raised.
fn outage_of<'a>(outages: &'a [OutageRow], alert: &AlertRow) -> Option<&'a OutageRow> {
    outages
        .iter()
        .filter(|one| one.began_at <= alert.raised_at)
        .max_by_key(|one| one.seq)
}

/// The alarm's numbers, and what people said to it.
fn spinning(model: &Model, found: &SpinRow, lines: &mut Vec<Line>, width: usize) {
    let shot = &model.snapshot;
    lines.push(Line::strong(format!(
        "Alarm {}: {}",
        found.seq.0, found.rule
    )));
    let mut add =
        |name: &str, text: &str, role| lines.extend(labelled(name, text, role, LABEL, width));
    add("goes round", &found.what, Role::Text);
    let seen = format!("{}, the contract allows {}", found.count, found.limit);
    add("seen", &seen, Role::Text);
    let then = match found.next {
        Some(_) => format!("went on with {}", shot.strategy(found.next)),
        None => "a person decides; no attempt is begun".to_owned(),
    };
    add("then", &then, Role::Text);
    match model.overrule_of(found) {
        Some(one) => {
            let whose = one.job.as_ref().map_or_else(
                || "everywhere in this goal".to_owned(),
                |job| format!("for {job}"),
            );
            let at = time::full(one.made_at, &shot.zone);
            let text = format!(
                "not spinning, {whose}, says {} {at}: {}",
                one.by, one.reason
            );
            add("ruled", &text, Role::Good);
            add("", "V takes that back", Role::Dim);
        }
        None => add(
            "ruled",
            "nothing; V says that it is not spinning",
            Role::Dim,
        ),
    }
}

fn numbers(model: &Model, outage: &OutageRow, lines: &mut Vec<Line>, width: usize) {
    let shot = &model.snapshot;
    lines.push(Line::strong(format!("Outage of the {}", outage.part)));
    let mut add =
        |name: &str, text: &str| lines.extend(labelled(name, text, Role::Text, LABEL, width));
    let seen = format!(
        "{} of {} calls failed, of {} different jobs",
        outage.failures, outage.trials, outage.jobs
    );
    add("seen", &seen);
    let usual = format!(
        "{:.1} % fail otherwise; so many by chance: one in {}",
        f64::from(outage.rate_ppm) / 10_000.0,
        outage.one_in
    );
    add("usually", &usual);
    add("since", &time::full(outage.from, &shot.zone));
    let probes = match &outage.last_probe {
        Some(job) => format!("{} failed, the last by {job}", outage.probes),
        None => "none yet".to_owned(),
    };
    add("probes", &probes);
    match outage.ended_at {
        Some(at) => add(
            "ended",
            &format!("{}: {}", time::full(at, &shot.zone), outage.why),
        ),
        None => add(
            "next probe",
            &time::instant(outage.next_probe, shot.now(), &shot.zone),
        ),
    }
    add(
        "meanwhile",
        "nothing else is asked of it; tries in vain are given back",
    );
}
