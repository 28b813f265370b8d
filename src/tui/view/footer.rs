//! The last two rows: what was just said or asked, and the keys of this view.

use super::header;
use crate::ledger::filter::{FILTER_KEYS, Filter};
use crate::model::JobId;
use crate::tui::app::act::{last_asked, unavailable};
use crate::tui::app::overlay::Overlay;
use crate::tui::app::place::Kind;
use crate::tui::app::{Answer, Model};
use crate::tui::keymap::Action;
use crate::tui::text::{self, Line, sentence};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use ratatui::layout::Rect;

/// How long an answer stays on the status line.
const ANSWER_MS: u64 = 15_000;

/// Draws both; returns where the cursor of a filter being typed stands.
pub fn draw(
    model: &Model,
    painter: &mut Painter<'_>,
    status: Rect,
    footer: Rect,
) -> Option<(u16, u16)> {
    painter.line(footer.x, footer.y, footer.width, &keys(model, footer.width));
    if let Some(Overlay::Filter { kind, text }) = model.overlays.last() {
        let mut line = Line::of("/", Role::Key).with(text.as_str(), Role::Text);
        if *kind == Kind::Jobs
            && let Err(why) = Filter::parse(text)
        {
            line.push(format!("   {why}"), Role::Bad);
        }
        if text.is_empty() {
            line.push(hint(*kind), Role::Dim);
        }
        painter.line(status.x, status.y, status.width, &line);
        let at = (1 + text::width(text) as u16).min(status.width.saturating_sub(1));
        return Some((status.x + at, status.y));
    }
    painter.line(status.x, status.y, status.width, &said(model));
    None
}

/// What can be typed, before anything is.
fn hint(kind: Kind) -> String {
    let words = " words, !word";
    if kind == Kind::Jobs {
        let keys: Vec<String> = FILTER_KEYS.iter().map(|key| format!("{key}:")).collect();
        format!("{words}, {} as in tries:>1", keys.join(" "))
    } else {
        words.to_owned()
    }
}

fn said(model: &Model) -> Line {
    if let Some(note) = &model.note {
        let role = if note.bad { Role::Warn } else { Role::Text };
        return Line::of(note.text.as_str(), role);
    }
    if let Some(why) = &model.load_error {
        return Line::of(format!("the ledger cannot be read: {why}"), Role::Bad);
    }
    if model.list().gone && model.kind().is_list() && model.is_current() {
        let what = model.list().selected.unwrap_or_default();
        return Line::of(
            format!("{what} is no longer in this list; nothing is selected until you move"),
            Role::Warn,
        );
    }
    if let Some(asked) = last_asked(model) {
        let recent = model.now.ms.saturating_sub(asked.at_ms) < ANSWER_MS;
        let (word, role) = match &asked.answer {
            Answer::Pending => (pending(model), Role::Info),
            Answer::Accepted(why) if why.is_empty() => ("done".to_owned(), Role::Good),
            Answer::Accepted(why) => (format!("done, {why}"), Role::Good),
            Answer::Refused(why) => (format!("REFUSED, {why}"), Role::Bad),
        };
        if recent || asked.answer == Answer::Pending {
            return Line::text(format!("{}: ", asked.what)).with(word, role);
        }
    }
    if let Some(Err(why)) = &model.engine_ended {
        return Line::of(
            format!("the engine of this process ended: {why}"),
            Role::Bad,
        );
    }
    Line::dim(sentence_of_row(model))
}

/// Who still has to answer; a decision that nobody will answer says so.
fn pending(model: &Model) -> String {
    let count = model
        .asked
        .iter()
        .filter(|asked| asked.answer == Answer::Pending)
        .count();
    let more = if count > 1 {
        format!(" ({count} decisions)")
    } else {
        String::new()
    };
    if header::engine_answers(model) {
        format!("pending…{more}")
    } else {
        format!("pending{more}; written, but no engine is running to answer")
    }
}

/// The row under the cursor in full, since columns cut it.
fn sentence_of_row(model: &Model) -> String {
    let shot = &model.snapshot;
    let list = model.list();
    let Some(target) = list.target() else {
        return String::new();
    };
    let found = match model.kind() {
        Kind::Waits => wakes(model, target),
        Kind::Jobs => shot
            .jobs
            .as_ref()
            .and_then(|jobs| jobs.rows.get(&JobId::from(target)))
            .map(|row| super::jobs::why_here(model, row).0),
        Kind::Approvals => shot
            .approvals
            .iter()
            .find(|row| row.approval.as_str() == target)
            .map(super::approvals::outcome),
        Kind::ToVerify => shot
            .unsettled
            .iter()
            .find(|row| row.operation.as_str() == target)
            .map(|row| row.why.clone()),
        Kind::Drift => model.difference().map(|row| match row.state.as_str() {
            "open" => format!("{}; accepting: {}", row.world_says, row.accepting),
            _ => row.how.clone(),
        }),
        Kind::Alerts => shot
            .alerts
            .iter()
            .find(|row| row.seq.to_string() == target)
            .map(|row| row.evidence.clone()),
        Kind::Log => shot
            .log
            .lines
            .iter()
            .find(|line| line.seq.to_string() == target)
            .map(|line| line.text.clone()),
        Kind::Goals => shot
            .goals
            .iter()
            .find(|row| row.goal.as_str() == target)
            .map(|row| row.ended.clone().unwrap_or_else(|| row.objective.clone())),
        _ => None,
    };
    found.unwrap_or_default()
}

/// What would end a wait, before why it waits: the row has that.
fn wakes(model: &Model, job: &str) -> Option<String> {
    let shot = &model.snapshot;
    let data = shot
        .job
        .as_ref()
        .filter(|data| data.row.job.as_str() == job)?;
    let wait = data.facts.wait.as_ref()?;
    let now = shot.now();
    let mut all: Vec<String> = wait
        .wakes
        .iter()
        .map(|wake| sentence::of_wake(wake, now, &shot.zone))
        .collect();
    if all.is_empty() {
        all.push("its next check".to_owned());
    }
    Some(format!("wakes by {}; {}", all.join(", or "), wait.reason))
}

/// Keys from the action table, as many as fit; what cannot be done now stays in place, dimmed.
fn keys(model: &Model, width: u16) -> Line {
    let mut line = Line::new();
    let mut used = 0;
    let help = "? help";
    for entry in model.keymap.entries(model.kind()) {
        let Some(key) = model.keymap.keys_of(entry).first() else {
            continue;
        };
        if entry.short.is_empty() || entry.short == "help" {
            continue;
        }
        // A label that begins with its keys brings them along.
        let (label, word) = match entry.short.strip_prefix("[ ] ") {
            Some(word) => ("[ ]".to_owned(), word),
            // Not at the root it goes one step back, and says so.
            None if entry.action == Action::Quit && model.stack.len() > 1 => (key.label(), "back"),
            None => (key.label(), entry.short),
        };
        let wide = text::width(&label) + 1 + text::width(word) + 2;
        if used + wide + help.len() > usize::from(width) {
            continue;
        }
        let dead = unavailable(model, entry.action).is_some();
        line.push(label, if dead { Role::Dim } else { Role::Key });
        line.push(
            format!(" {word}  "),
            if dead { Role::Dim } else { Role::Text },
        );
        used += wide;
    }
    line.with("?", Role::Key).with(" help", Role::Text)
}
