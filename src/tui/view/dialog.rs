//! What lies on top of the view.

use super::{closing, help};
use crate::tui::app::Model;
use crate::tui::app::overlay::{Ask, Focus, Overlay, Purpose};
use crate::tui::app::{overlay_rows, place::Kind};
use crate::tui::text::{self, Line, paragraph};
use crate::tui::theme::Role;
use crate::tui::widget::{Painter, centred};
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;

/// Rows that say what a text is for, with its targets by name.
const HINT_ROWS: usize = 4;
/// Targets listed by name at most; the rest is counted.
const NAMES: usize = 10;

/// Draws the overlay on top; returns where the cursor stands, when it takes text.
pub fn draw(model: &Model, painter: &mut Painter<'_>) -> Option<(u16, u16)> {
    match model.overlays.last()? {
        // Drawn on the status line.
        Overlay::Filter { .. } => None,
        Overlay::Leave => {
            leave(painter);
            None
        }
        Overlay::Confirm { effect, .. } => {
            let mut lines = paragraph(effect, Role::Text, inner_width(painter));
            lines.push(Line::new());
            lines.push(
                choice("y", "do it")
                    .with("   ", Role::Text)
                    .with("n", Role::Key)
                    .with(" no", Role::Text),
            );
            boxed(painter, "Sure?", &lines);
            None
        }
        Overlay::Targets {
            effect, names, yes, ..
        } => {
            targets(painter, names, effect, *yes);
            None
        }
        Overlay::TypeName {
            effect,
            name,
            typed,
            ..
        } => Some(type_name(painter, effect, name, typed)),
        Overlay::Text {
            purpose,
            ask,
            area,
            focus,
        } => {
            text_area(painter, purpose, ask, area, *focus);
            None
        }
        Overlay::Rule { reference, .. } => rule(painter, reference.as_deref()),
        Overlay::Spin { said, .. } => {
            spin(painter, said);
            None
        }
        Overlay::AmendFile { typed } => Some(amend_file(painter, typed)),
        Overlay::Help {
            kind,
            query,
            selected,
        } => {
            let rows = overlay_rows::help(model, *kind, query);
            help::draw(
                model,
                painter,
                &help_title(*kind),
                "?",
                query,
                &rows,
                *selected,
            )
        }
        Overlay::Palette { text, selected } => {
            let rows = overlay_rows::palette(model, text);
            help::draw(model, painter, "Actions", ":", text, &rows, *selected)
        }
        Overlay::Closing { scroll } => {
            report(model, painter, *scroll);
            None
        }
    }
}

fn help_title(kind: Kind) -> String {
    format!("Help: {}", kind.title())
}

fn inner_width(painter: &Painter<'_>) -> usize {
    usize::from(painter.area().width.saturating_sub(8).min(64))
}

fn choice(key: &'static str, text: &'static str) -> Line {
    Line::of(key, Role::Key)
        .with(" ", Role::Text)
        .with(text, Role::Text)
}

/// A box just large enough, in the middle.
fn boxed(painter: &mut Painter<'_>, title: &str, lines: &[Line]) -> Rect {
    let width = lines
        .iter()
        .map(Line::width)
        .max()
        .unwrap_or(0)
        .max(text::width(title) + 6);
    let outer = centred(painter.area(), width as u16 + 4, lines.len() as u16 + 2);
    let inner = painter.frame(outer, title);
    painter.lines(inner, lines);
    inner
}

fn leave(painter: &mut Painter<'_>) {
    let lines = [
        choice("d", "detach: work goes on without a terminal (Enter)"),
        choice("w", "stop after the current steps"),
        choice("S", "stop at the next safe point"),
        Line::of("Esc", Role::Key).with(" stay", Role::Text),
    ];
    boxed(painter, "Leave; the engine runs here", &lines);
}

fn named(names: &[String], width: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = names
        .iter()
        .take(NAMES)
        .map(|name| {
            Line::text(format!(
                "  {}",
                text::shorten(name, width.saturating_sub(2))
            ))
        })
        .collect();
    let more = names.len().saturating_sub(NAMES);
    if more > 0 {
        lines.push(Line::dim(format!("  and {more} more")));
    }
    lines
}

fn button(label: &str, focused: bool) -> (String, Role) {
    let role = if focused { Role::Selected } else { Role::Text };
    let sign = if focused { "›" } else { " " };
    (format!("{sign}[ {label} ]"), role)
}

fn targets(painter: &mut Painter<'_>, names: &[String], effect: &str, yes: bool) {
    let mut lines = paragraph(effect, Role::Text, inner_width(painter));
    lines.extend(named(names, inner_width(painter)));
    lines.push(Line::new());
    let (cancel, cancel_role) = button("Cancel", !yes);
    let (send, send_role) = button("Do it", yes);
    lines.push(
        Line::of(cancel, cancel_role)
            .with("  ", Role::Text)
            .with(send, send_role)
            .with("   Tab, Enter", Role::Dim),
    );
    boxed(painter, "Sure?", &lines);
}

fn type_name(painter: &mut Painter<'_>, effect: &str, name: &str, typed: &str) -> (u16, u16) {
    let width = inner_width(painter);
    let mut lines = paragraph(effect, Role::Text, width);
    lines.extend(paragraph(
        &format!("High risk. Type {name} and press Enter, or Esc."),
        Role::Warn,
        width,
    ));
    lines.push(Line::new());
    let row = lines.len() as u16;
    // As wide as the name, so that the box does not move while typing.
    let pad = text::width(name).saturating_sub(text::width(typed));
    lines.push(Line::of("› ", Role::Key).with(format!("{typed}{}", " ".repeat(pad)), Role::Strong));
    let inner = boxed(painter, "Sure?", &lines);
    let at = (2 + text::width(typed) as u16).min(inner.width.saturating_sub(1));
    (
        inner.x + at,
        inner.y + row.saturating_sub(1).min(inner.height.saturating_sub(1)),
    )
}

fn text_area(
    painter: &mut Painter<'_>,
    purpose: &Purpose,
    ask: &Ask,
    area: &ratatui_textarea::TextArea<'static>,
    focus: Focus,
) {
    let (title, hint) = match purpose {
        Purpose::Reject => (ask.what.clone(), "Why? The job goes on with this reason."),
        Purpose::NotSpinning { said } => (ask.what.clone(), said.as_str()),
        Purpose::Amend => (
            ask.what.clone(),
            "Why is it amended? Kept with the version. It takes force when the engine answers.",
        ),
        Purpose::HandOver => (ask.what.clone(), "Why must a person take it?"),
        Purpose::Answer { asked } => (ask.what.clone(), asked.as_str()),
        Purpose::RollBack => (
            ask.what.clone(),
            "Why must it leave production? An approver decides.",
        ),
        Purpose::Comment => (ask.what.clone(), "Words for the next attempt."),
        Purpose::Undone => (
            format!("{}: it happened and was undone", ask.what),
            "What did you undo, and how? A cutover's job then goes to a person.",
        ),
        Purpose::Rule { happened: true, .. } => (
            format!("{}: it happened", ask.what),
            "How do you know? It is recorded with your name.",
        ),
        Purpose::Rule { .. } => (
            format!("{}: it did not happen", ask.what),
            "How do you know? It may then be done again.",
        ),
    };
    let all = painter.area();
    let outer = centred(all, 70.min(all.width.saturating_sub(2)), 11.min(all.height));
    let inner = painter.frame(outer, &title);
    if inner.height == 0 {
        return;
    }
    let hint = if ask.items.len() > 1 {
        let names: Vec<&str> = ask.items.iter().map(|(job, _)| job.as_str()).collect();
        format!("{}: {hint}", names.join(", "))
    } else {
        hint.to_owned()
    };
    let said: Vec<Line> = paragraph(&hint, Role::Dim, usize::from(inner.width))
        .into_iter()
        .take(HINT_ROWS)
        .collect();
    painter.lines(inner, &said);
    let above = (said.len() as u16).min(inner.height.saturating_sub(2));
    let rows = inner.height.saturating_sub(above + 1);
    if rows > 0 {
        let mut shown = area.clone();
        shown.set_cursor_line_style(ratatui::style::Style::new());
        shown.set_style(painter.style(Role::Text));
        shown.set_wrap_mode(ratatui_textarea::WrapMode::WordOrGlyph);
        let cursor = if focus == Focus::Text {
            painter.style(Role::Selected)
        } else {
            painter.style(Role::Text)
        };
        shown.set_cursor_style(cursor);
        (&shown).render(
            Rect::new(inner.x, inner.y + above, inner.width, rows),
            painter.buffer(),
        );
    }
    let (send, send_role) = button("Send", focus == Focus::Send);
    let (cancel, cancel_role) = button("Cancel", focus == Focus::Cancel);
    let line = Line::of(send, send_role)
        .with(" ", Role::Text)
        .with(cancel, cancel_role)
        .with("  Tab, then Enter; Esc leaves", Role::Dim);
    painter.line(inner.x, inner.bottom() - 1, inner.width, &line);
}

fn rule(painter: &mut Painter<'_>, reference: Option<&str>) -> Option<(u16, u16)> {
    let Some(typed) = reference else {
        let lines = [
            choice("h", "it happened; I have the target's reference"),
            choice("n", "it did not happen"),
            choice("u", "it happened, and I undid it by hand"),
            Line::of("Esc", Role::Key).with(" not sure: leave it", Role::Text),
        ];
        boxed(painter, "Rule on this operation", &lines);
        return None;
    };
    let lines = [
        Line::text("How does the target name what happened?"),
        Line::dim("A run id, a file; the engine finds the effect again by it."),
        Line::of("› ", Role::Key).with(typed, Role::Strong),
    ];
    let inner = boxed(painter, "It happened", &lines);
    let at = (2 + text::width(typed) as u16).min(inner.width.saturating_sub(1));
    Some((
        inner.x + at,
        inner.y + 2.min(inner.height.saturating_sub(1)),
    ))
}

fn spin(painter: &mut Painter<'_>, said: &str) {
    let mut lines = paragraph(said, Role::Text, inner_width(painter));
    lines.extend([
        Line::new(),
        choice("j", "not spinning, for this job"),
        choice("e", "not spinning, everywhere in this goal"),
        Line::of("Esc", Role::Key).with(" leave the alarm as it is", Role::Text),
    ]);
    boxed(painter, "Not spinning?", &lines);
}

/// The end of the path is what is typed: it stays in sight.
fn amend_file(painter: &mut Painter<'_>, typed: &str) -> (u16, u16) {
    let width = inner_width(painter);
    let room = width.saturating_sub(3);
    let shown = tail(typed, room);
    let pad = room.saturating_sub(text::width(&shown));
    let lines = [
        Line::text("Which goal file shall follow the contract in force?"),
        Line::dim("It is read and what it would do is shown; nothing changes."),
        Line::of("› ", Role::Key).with(format!("{shown}{}", " ".repeat(pad)), Role::Strong),
        Line::dim("Enter reads it; Esc leaves"),
    ];
    let inner = boxed(painter, "Amend", &lines);
    let at = (2 + text::width(&shown) as u16).min(inner.width.saturating_sub(1));
    (
        inner.x + at,
        inner.y + 2.min(inner.height.saturating_sub(1)),
    )
}

/// The last columns of a text, with a sign that something is before them.
fn tail(text: &str, columns: usize) -> String {
    if text::width(text) <= columns {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in text.chars().rev() {
        used += text::width(c.encode_utf8(&mut [0; 4]));
        if used > columns {
            break;
        }
        kept.push(c);
    }
    let end: String = kept.into_iter().rev().collect();
    format!("…{end}")
}

fn report(model: &Model, painter: &mut Painter<'_>, scroll: usize) {
    let all = painter.area();
    let outer = centred(
        all,
        all.width.saturating_sub(2),
        all.height.saturating_sub(2),
    );
    let inner = painter.frame(outer, "Closing report");
    let Some(closing) = &model.snapshot.closing else {
        painter.line(
            inner.x,
            inner.y,
            inner.width,
            &Line::dim("reading the ledger…"),
        );
        return;
    };
    let lines = closing::lines(model, closing, usize::from(inner.width));
    let room = inner.height.saturating_sub(1);
    let shown: Vec<Line> = lines.iter().skip(scroll).cloned().collect();
    painter.lines(Rect::new(inner.x, inner.y, inner.width, room), &shown);
    let last = (scroll + usize::from(room)).min(lines.len());
    let foot = format!(
        "lines {}–{last} of {} · j k · q closes",
        scroll + 1,
        lines.len()
    );
    painter.line(
        inner.x,
        inner.bottom().saturating_sub(1),
        inner.width,
        &Line::dim(foot),
    );
}
