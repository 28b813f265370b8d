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
    // The palette is typed into by name; help is looked into for keys.
    let by_name = sign == ":";
    // The row under the cursor in full, where its sentence is longer than the row.
    let whole = match rows.get(selected) {
        Some(entry) if inner.height >= 10 && is_cut(entry, inner.width, by_name) => {
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
            &entry_line(model, entry, inner.width, by_name),
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
    let foot = if by_name && typed.starts_with("job ") {
        "Enter opens the job · Esc closes".to_owned()
    } else if by_name && typed.starts_with("theme ") {
        "Enter takes the theme · Esc closes".to_owned()
    } else if rows.is_empty() {
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

/// Columns of the keys, or of the names.
fn label_wide(width: u16, by_name: bool) -> usize {
    match (width < 50, by_name) {
        (true, false) => 8,
        (true, true) => 12,
        (false, false) => 14,
        (false, true) => 18,
    }
}

fn is_cut(entry: &Entry, width: u16, by_name: bool) -> bool {
    label_wide(width, by_name) + text::width(entry.help) > usize::from(width)
}

fn entry_line(model: &Model, entry: &Entry, width: u16, by_name: bool) -> Line {
    let keys: Vec<String> = model
        .keymap
        .keys_of(entry)
        .iter()
        .map(|key| key.label())
        .collect();
    let label = match (by_name, keys.is_empty()) {
        (true, _) => entry.name.to_owned(),
        // It has no key: the palette takes its name.
        (false, true) => format!(":{}", entry.name),
        (false, false) => keys.join(" "),
    };
    let wide = label_wide(width, by_name);
    let pad = wide_pad(&label, wide);
    let role = if unavailable(model, entry.action).is_some() {
        Role::Dim
    } else {
        Role::Text
    };
    Line::of(text::cut(&label, wide.saturating_sub(1)), Role::Key)
        .with(pad, Role::Text)
        .with(entry.help, role)
}

fn wide_pad(text: &str, wide: usize) -> String {
    " ".repeat(wide.saturating_sub(text::width(text)).max(1))
}
