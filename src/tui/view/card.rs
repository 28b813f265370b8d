//! The evidence card: what a person decides on, and what came of the decision.

use super::job;
use crate::ledger::read::ApprovalRow;
use crate::model::{Action, Digest, Verdict, WaitKind, Wake};
use crate::tui::app::snapshot::JobData;
use crate::tui::app::{Answer, Model};
use crate::tui::text::{Line, labelled, paragraph, state, time};
use crate::tui::theme::Role;
use serde_json::Value;

const LABEL: usize = 11;

/// The page.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let Some(request) = model.request() else {
        let text = if model.is_current() {
            "this request is not in the ledger any more"
        } else {
            "reading the ledger…"
        };
        return vec![Line::dim(text)];
    };
    let mut lines = decision(model, request, width);
    lines.push(Line::new());
    let label = if width < 50 { 9 } else { LABEL };
    what(model, request, &mut lines, label, width);
    let Some(data) = &model.snapshot.job else {
        return lines;
    };
    lines.push(Line::new());
    verdicts(data, &mut lines, width);
    lines.push(Line::new());
    history(data, &mut lines, label, width);
    lines.push(Line::new());
    bound(model, request, &mut lines, label, width);
    lines.push(Line::new());
    lines.push(Line::strong("Numbers and queries"));
    let current = data.facts.config.as_ref();
    for row in data
        .evidence
        .iter()
        .filter(|row| Some(&row.config) == current)
    {
        lines.extend(job::evidence_lines(model, data, row, width));
    }
    if let (Some(config), Some(attempt)) = (current, data.attempts.last()) {
        let new = data.texts.get(config).and_then(Option::as_deref);
        let old = data
            .texts
            .get(&data.facts.definition)
            .and_then(Option::as_deref);
        lines.push(Line::strong(format!(
            "Old definition (−) and config of attempt {} (+)",
            attempt.attempt
        )));
        lines.extend(job::diff_lines(old.unwrap_or(""), new.unwrap_or(""), width));
    }
    lines
}

/// The first lines: where the decision stands, requested to confirmed.
fn decision(model: &Model, request: &ApprovalRow, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let standing = state::of_request(&request.state);
    let mut first = Line::of(
        format!("{} {}", standing.glyph, standing.word),
        standing.role,
    );
    let age = time::span(shot.now().since(request.requested_at));
    first.push(format!(" · asked {age} ago"), Role::Text);
    if let Some(at) = request.expires_at.filter(|_| request.state == "open") {
        first.push(
            format!(" · expires {}", time::instant(at, shot.now(), &shot.zone)),
            Role::Text,
        );
    }
    let mut lines = vec![first, path(model, request)];
    if let Some(asked) = model.asked_about(&request.approval) {
        let text = match &asked.answer {
            Answer::Pending => format!("{}: sent, the engine has not answered yet", asked.what),
            Answer::Accepted(why) if why.is_empty() => format!("{}: accepted", asked.what),
            Answer::Accepted(why) => format!("{}: accepted, {why}", asked.what),
            Answer::Refused(why) => format!("{}: refused, {why}", asked.what),
        };
        lines.extend(paragraph(&text, Role::Info, width));
    } else if request.state == "open" {
        lines.push(if model.read_only {
            Line::dim("read-only: nothing can be decided here")
        } else if model.arming_left().is_some() {
            Line::dim("A and X wake in a moment")
        } else {
            Line::of("A", Role::Key)
                .with(" approve   ", Role::Text)
                .with("X", Role::Key)
                .with(" reject with a reason   ", Role::Text)
                .with("]", Role::Key)
                .with(" next", Role::Text)
        });
    }
    if let Some(by) = &request.decided_by {
        let verb = if request.state == "rejected" {
            "rejected"
        } else {
            "approved"
        };
        let why = if request.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", request.reason)
        };
        lines.extend(paragraph(
            &format!("{verb} by {by}{why}"),
            Role::Text,
            width,
        ));
    }
    if !request.outcome.is_empty() {
        lines.extend(paragraph(&request.outcome, outcome_role(request), width));
    }
    lines
}

fn outcome_role(request: &ApprovalRow) -> Role {
    if request.outcome.starts_with("applied") {
        Role::Good
    } else if request.state == "void" {
        Role::Dim
    } else {
        Role::Warn
    }
}

/// `requested → approved → executing → confirmed`, as far as it came.
fn path(model: &Model, request: &ApprovalRow) -> Line {
    let mut line = Line::of("requested", Role::Text);
    let mut step = |text: &str, role| {
        line.push(" → ", Role::Dim);
        line.push(text, role);
    };
    match request.state.as_str() {
        "open" if model.asked_about(&request.approval).is_some() => step("deciding", Role::Info),
        "open" => step("waits for you", Role::Person),
        "rejected" => step("rejected", Role::Bad),
        "void" => step("void", Role::Dim),
        _ => {
            step("approved", Role::Good);
            let outcome = request.outcome.as_str();
            if outcome.is_empty() {
                match goes_first(model, request) {
                    Some(text) => step(&text, Role::Wait),
                    None => step("not begun", Role::Dim),
                }
            } else if outcome == "executing" {
                step("executing", Role::Info);
            } else if outcome.starts_with("applied") {
                step("executed", Role::Good);
                step("confirmed", Role::Good);
            } else if outcome.starts_with("refused") {
                step("refused by the target", Role::Bad);
            } else {
                step("outcome unknown", Role::Warn);
            }
        }
    }
    line
}

/// Whom an approved job waits for before it is cut over.
fn goes_first(model: &Model, request: &ApprovalRow) -> Option<String> {
    let data = model.snapshot.job.as_ref()?;
    let wait = data.facts.wait.as_ref()?;
    if data.row.job != request.job || wait.kind != WaitKind::Upstream {
        return None;
    }
    wait.wakes.iter().find_map(|wake| match wake {
        Wake::Job { id } => Some(format!("waits for {id}, which goes first")),
        _ => None,
    })
}

fn what(model: &Model, request: &ApprovalRow, lines: &mut Vec<Line>, label: usize, width: usize) {
    let shot = &model.snapshot;
    let mut add =
        |name: &str, text: &str, role| lines.extend(labelled(name, text, role, label, width));
    if let Some(data) = &shot.job {
        let risk = if data.row.high_risk {
            " (high risk: its name must be typed)"
        } else {
            ""
        };
        add("job", &format!("{}{risk}", data.row.title), Role::Text);
        let config = data
            .facts
            .config
            .as_ref()
            .map_or("", |digest| digest.short());
        let origin = &data.facts.origin;
        if request.action == Action::RollBack {
            let text = format!("taken out of production; the old job at {origin} runs again");
            add("ROLL BACK", &text, Role::Warn);
        } else {
            let text =
                format!("config {config} in production; the old job at {origin} is switched off");
            add("will run", &text, Role::Text);
        }
        if let Some(asked) = data
            .facts
            .rollback
            .as_ref()
            .filter(|_| request.action == Action::RollBack)
        {
            add(
                "asked by",
                &format!("{}: {}", asked.by, asked.reason),
                Role::Text,
            );
        }
    }
    if request.consequences.is_empty() {
        add(
            "sets off",
            "nothing else is known to be set off by it",
            Role::Dim,
        );
    }
    for one in &request.consequences {
        add("sets off", one, Role::Warn);
    }
    if let Some(data) = &shot.job
        && !data.facts.depends_on.is_empty()
    {
        let names: Vec<&str> = data
            .facts
            .depends_on
            .iter()
            .map(|job| job.as_str())
            .collect();
        add("needs", &names.join(", "), Role::Text);
    }
}

fn verdicts(data: &JobData, lines: &mut Vec<Line>, width: usize) {
    lines.push(Line::strong(format!(
        "Evidence, {} of {} clauses{}",
        data.row.clauses_passed,
        data.row.clauses_total,
        whose(data)
    )));
    let wide = data
        .facts
        .clauses
        .iter()
        .map(|clause| clause.as_str().len())
        .max()
        .unwrap_or(0)
        .min(16);
    for clause in &data.facts.clauses {
        let one = data
            .facts
            .evidence
            .get(clause)
            .filter(|one| Some(&one.config) == data.facts.config.as_ref());
        let (text, role) = match one {
            Some(one) => {
                let standing = state::of_verdict(one.verdict);
                // A pass is the ordinary case; its words need no colour.
                let role = if one.verdict == Verdict::Pass {
                    Role::Text
                } else {
                    standing.role
                };
                (
                    format!(
                        "{} {}{}: {}",
                        standing.glyph,
                        standing.word,
                        state::of_kind(one.by),
                        one.summary
                    ),
                    role,
                )
            }
            None => ("○ no verdict for this config".to_owned(), Role::Warn),
        };
        lines.extend(labelled(clause.as_str(), &text, role, wide + 2, width));
    }
}

/// How many of the passes are no script's word.
fn whose(data: &JobData) -> String {
    let (judge, person) = (data.row.passed_judge, data.row.passed_person);
    let mut parts = Vec::new();
    if judge > 0 {
        parts.push(format!("{judge} judged by a model"));
    }
    if person > 0 {
        parts.push(format!("{person} by a person"));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    }
}

fn history(data: &JobData, lines: &mut Vec<Line>, label: usize, width: usize) {
    lines.push(Line::strong(format!(
        "Attempts {}, staging runs {}",
        data.attempts.len(),
        data.row.tries
    )));
    for attempt in &data.attempts {
        let role = match attempt.outcome.as_str() {
            "" | "passed" => Role::Text,
            _ => Role::Bad,
        };
        let text = if attempt.outcome.is_empty() {
            format!("{}: not ended yet", attempt.strategy)
        } else {
            format!(
                "{}: {}, {}",
                attempt.strategy, attempt.outcome, attempt.reason
            )
        };
        lines.extend(labelled(
            &format!("attempt {}", attempt.attempt),
            &text,
            role,
            label,
            width,
        ));
    }
    for failure in data.events.iter().filter_map(|row| match &row.event {
        Some(crate::ledger::Event::RunFailed { why, class, .. }) => {
            Some(format!("{why} ({class})"))
        }
        _ => None,
    }) {
        lines.extend(labelled("run failed", &failure, Role::Dim, label, width));
    }
}

fn bound(model: &Model, request: &ApprovalRow, lines: &mut Vec<Line>, label: usize, width: usize) {
    let shot = &model.snapshot;
    lines.push(Line::strong("Bound to"));
    let mut add =
        |name: &str, text: &str| lines.extend(labelled(name, text, Role::Text, label, width));
    if let Some(contract) = &shot.contract {
        add(
            "contract",
            &format!("version {}, {}", contract.version, contract.digest.short()),
        );
    }
    add("digest", request.digest.as_str());
    if let Value::Object(parts) = &request.parts {
        for (name, value) in parts {
            // The contract's terms for this job: another contract of the same terms leaves the yes in force.
            let name = if name == "contract" { "terms" } else { name };
            add(name, &part(value));
        }
    }
    let who = match shot.approvers() {
        Some(names) if names.is_empty() => "nobody is named in the contract".to_owned(),
        Some(names) => names.join(", "),
        None => "the approvers named in the contract".to_owned(),
    };
    add("decided by", &who);
    add("request", request.approval.as_str());
}

/// A part of what a request is bound to: digests are cut, lists are said one after the other.
fn part(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() == 64 => Digest(text.clone()).short().to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(part).collect::<Vec<_>>().join(", "),
        Value::Object(all) => all.values().map(part).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
