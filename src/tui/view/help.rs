//! Help and palette: the action table, searched.

use crate::tui::app::Model;
use crate::tui::app::act::unavailable;
use crate::tui::keymap::Entry;
use crate::tui::text::{self, Line};
use crate::tui::theme::Role;
use crate::tui::widget::{Painter, centred};
use ratatui::layout::Rect;

/// Draws a searchable list of actions; returns where the cursor stands.
pub fn draw(
    model: &Model,
    painter: &mut Painter<'_>,
    title: &str,
    sign: &str,
    typed: &str,
    rows: &[&'static Entry],
    selected: usize,
) -> Option<(u16, u16)> {
    let area = painter.area();
    let outer = centred(
        area,
        area.width.saturating_sub(4).min(96),
        area.height.saturating_sub(2),
    );
    let inner = painter.frame(outer, title);
    let line = Line::of(sign, Role::Key)
        .with(" ", Role::Text)
        .with(typed, Role::Text);
    painter.line(inner.x, inner.y, inner.width, &line);
    // The row under the cursor in full, where its sentence is longer than the row.
    let whole = match rows.get(selected) {
        Some(entry) if inner.height >= 10 && is_cut(entry, inner.width) => {
            text::paragraph(entry.help, Role::Text, usize::from(inner.width))
        }
        _ => Vec::new(),
    };
    let room = usize::from(inner.height.saturating_sub(2)).saturating_sub(whole.len());
    let first = (selected + 1).saturating_sub(room.max(1));
    for (row, entry) in rows.iter().enumerate().skip(first).take(room) {
        let y = inner.y + 1 + (row - first) as u16;
        painter.line(
            inner.x,
            y,
            inner.width,
            &entry_line(model, entry, inner.width),
        );
        if row == selected {
            painter.select(Rect::new(inner.x, y, inner.width, 1));
        }
    }
    let below = inner
        .bottom()
        .saturating_sub(1)
        .saturating_sub(whole.len() as u16);
    let area = Rect::new(inner.x, below, inner.width, whole.len() as u16);
    painter.lines(area, &whole);
    let foot = if rows.is_empty() {
        "nothing fits; Backspace, or Esc".to_owned()
    } else {
        format!(
            "{} of {} · Enter runs it · Esc closes",
            selected + 1,
            rows.len()
        )
    };
    painter.line(
        inner.x,
        inner.bottom().saturating_sub(1),
        inner.width,
        &Line::dim(foot),
    );
    let at = (2 + text::width(typed) as u16).min(inner.width.saturating_sub(1));
    Some((inner.x + at, inner.y))
}

/// Columns of the keys.
fn keys_wide(width: u16) -> usize {
    if width < 50 { 8 } else { 14 }
}

fn is_cut(entry: &Entry, width: u16) -> bool {
    keys_wide(width) + text::width(entry.help) > usize::from(width)
}

fn entry_line(model: &Model, entry: &Entry, width: u16) -> Line {
    let keys: Vec<String> = model
        .keymap
        .keys_of(entry)
        .iter()
        .map(|key| key.label())
        .collect();
    let keys = keys.join(" ");
    let wide = keys_wide(width);
    let pad = wide_pad(&keys, wide);
    let role = if unavailable(model, entry.action).is_some() {
        Role::Dim
    } else {
        Role::Text
    };
    Line::of(text::cut(&keys, wide), Role::Key)
        .with(pad, Role::Text)
        .with(entry.help, role)
}

fn wide_pad(text: &str, wide: usize) -> String {
    " ".repeat(wide.saturating_sub(text::width(text)).max(1))
}
