//! A changed goal file: who may put it in force, what it would do, and its lines beside those in force.

use super::goal::changed_lines;
use crate::tui::amend::Proposal;
use crate::tui::app::Model;
use crate::tui::app::act::unavailable;
use crate::tui::app::ask_goal::not_the_owner;
use crate::tui::keymap::Action;
use crate::tui::text::{Line, labelled, paragraph};
use crate::tui::theme::Role;

const LABEL: usize = 11;

/// The page.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    let Some(amendment) = &model.amendment else {
        return vec![Line::dim("no goal file was read; e reads one")];
    };
    let mut lines = labelled("file", &amendment.file, Role::Text, LABEL, width);
    match &amendment.read {
        None => lines.push(Line::dim("reading it, and what it would do…")),
        Some(Err(why)) => {
            lines.push(Line::new());
            for line in why.lines() {
                lines.extend(paragraph(line, Role::Bad, width));
            }
            lines.push(Line::dim("e takes another file; r reads this one again"));
        }
        Some(Ok(proposal)) => proposed(model, proposal, &mut lines, width),
    }
    lines
}

fn proposed(model: &Model, proposal: &Proposal, lines: &mut Vec<Line>, width: usize) {
    let mut add =
        |name: &str, text: &str, role| lines.extend(labelled(name, text, role, LABEL, width));
    let versions = format!(
        "{} of {}, after version {}",
        proposal.to, proposal.goal, proposal.from
    );
    add("version", &versions, Role::Text);
    let (text, role) = standing(model, proposal);
    add("in force", &text, role);
    for question in &proposal.questions {
        add("you agree", question, Role::Warn);
    }
    lines.push(Line::new());
    for line in &proposal.impact {
        if line.starts_with(' ') {
            let text = line.trim_start();
            lines.extend(labelled("", text, Role::Text, 2, width));
        } else {
            lines.push(Line::strong(line.as_str()));
        }
    }
    lines.push(Line::new());
    let title = format!("What it changes in version {}", proposal.from);
    lines.push(Line::strong(title));
    if proposal.old_text == proposal.new_text {
        lines.push(Line::dim("nothing in its text"));
    } else {
        lines.extend(changed_lines(&proposal.old_text, &proposal.new_text, width));
    }
}

/// Whether it is in force, and who can put it there.
fn standing(model: &Model, proposal: &Proposal) -> (String, Role) {
    let holds = model.snapshot.contract.as_ref();
    if holds.is_some_and(|row| row.digest == proposal.contract()) {
        return ("yes: it holds now".to_owned(), Role::Good);
    }
    if proposal.me != proposal.owner {
        return (format!("no; {}", not_the_owner(proposal)), Role::Warn);
    }
    if model.read_only {
        return (
            "no; read-only: nothing can be decided here".to_owned(),
            Role::Dim,
        );
    }
    match unavailable(model, Action::PutInForce) {
        Some(_) if model.arming_left().is_some() => {
            ("not yet; A wakes in a moment".to_owned(), Role::Dim)
        }
        Some(why) => (format!("no; {why}"), Role::Warn),
        None => (
            "not yet; A puts it in force and asks why".to_owned(),
            Role::Info,
        ),
    }
}
