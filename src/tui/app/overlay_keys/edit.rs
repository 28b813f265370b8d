//! Typing into a line or a text.

use crate::model::SafeText;
use crate::tui::keymap::Key;
use crossterm::event::KeyCode;
use ratatui_textarea::{CursorMove, TextArea};

/// Longest reason or comment, in characters.
pub(super) const MAX_TEXT: usize = 4_000;
/// Longest line typed into a filter, a search, a name or a path.
pub(super) const MAX_LINE: usize = 400;

/// Edits a line: characters at its end, Backspace, Ctrl-U.
pub(super) fn edit(text: &mut String, key: Key) {
    match key.code {
        KeyCode::Char('u') if key.ctrl => text.clear(),
        KeyCode::Char(c) if !key.ctrl => push(text, c.encode_utf8(&mut [0; 4])),
        KeyCode::Backspace => {
            text.pop();
        }
        _ => {}
    }
}

pub(super) fn push(text: &mut String, more: &str) {
    let room = MAX_LINE.saturating_sub(text.chars().count());
    let safe = SafeText::line(more).into_string();
    text.extend(safe.chars().take(room));
}

pub(super) fn insert(area: &mut TextArea<'static>, text: &str) {
    let held: usize = area
        .lines()
        .iter()
        .map(|line| line.chars().count() + 1)
        .sum();
    let cut: String = text.chars().take(MAX_TEXT.saturating_sub(held)).collect();
    area.insert_str(cut);
}

pub(super) fn edit_area(area: &mut TextArea<'static>, key: Key) {
    match key.code {
        KeyCode::Char('u') if key.ctrl => {
            area.delete_line_by_head();
        }
        KeyCode::Char(c) if !key.ctrl => {
            let safe = SafeText::line(c.encode_utf8(&mut [0; 4])).into_string();
            insert(area, &safe);
        }
        KeyCode::Enter => insert(area, "\n"),
        KeyCode::Backspace => {
            area.delete_char();
        }
        KeyCode::Delete => {
            area.delete_next_char();
        }
        KeyCode::Left => area.move_cursor(CursorMove::Back),
        KeyCode::Right => area.move_cursor(CursorMove::Forward),
        KeyCode::Up => area.move_cursor(CursorMove::Up),
        KeyCode::Down => area.move_cursor(CursorMove::Down),
        KeyCode::Home => area.move_cursor(CursorMove::Head),
        KeyCode::End => area.move_cursor(CursorMove::End),
        _ => {}
    }
}
