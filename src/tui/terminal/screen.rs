//! Frames: only what changed, in one write, between the marks of a synchronized update.

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::io::{self, Write};

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
const CLEAR: &[u8] = b"\x1b[0m\x1b[H\x1b[2J";

/// What stands on the terminal, so that only differences are sent.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
    shown: Buffer,
    cursor: Option<(u16, u16)>,
    blank: bool,
}

impl<W: Write> Screen<W> {
    /// A screen of which nothing is known.
    pub fn new(out: W) -> Self {
        Self {
            out,
            shown: Buffer::empty(Rect::ZERO),
            cursor: None,
            blank: true,
        }
    }

    /// The next frame is sent whole.
    pub fn forget(&mut self) {
        self.blank = true;
    }

    /// Sends what differs from what is shown, in one write; nothing when nothing does. Returns the
    /// bytes sent.
    ///
    /// # Errors
    /// When the terminal cannot be written to: it is gone.
    pub fn present(&mut self, next: Buffer, cursor: Option<(u16, u16)>) -> io::Result<usize> {
        let fresh = self.blank || self.shown.area != next.area;
        if fresh {
            self.shown = Buffer::empty(next.area);
        }
        let changes = self.shown.diff(&next);
        if changes.is_empty() && !fresh && cursor == self.cursor {
            return Ok(0);
        }
        let mut bytes = Vec::with_capacity(4096);
        bytes.extend_from_slice(BEGIN);
        if self.cursor.is_some() {
            bytes.extend_from_slice(b"\x1b[?25l");
        }
        if fresh {
            bytes.extend_from_slice(CLEAR);
        }
        CrosstermBackend::new(&mut bytes).draw(changes.into_iter())?;
        if let Some((x, y)) = cursor {
            bytes.extend_from_slice(format!("\x1b[{};{}H\x1b[?25h", y + 1, x + 1).as_bytes());
        }
        bytes.extend_from_slice(END);
        self.out.write_all(&bytes)?;
        self.out.flush()?;
        self.shown = next;
        self.cursor = cursor;
        self.blank = false;
        Ok(bytes.len())
    }

    /// Writes a sequence outside of a frame.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(rows: &[&str]) -> Buffer {
        Buffer::with_lines(rows.iter().map(|row| (*row).to_owned()))
    }

    /// Requirements 8 and 9.
    #[test]
    fn an_unchanged_frame_sends_nothing_and_a_changed_row_little() {
        let mut screen = Screen::new(Vec::new());
        let rows = vec!["x".repeat(80); 24];
        let all: Vec<&str> = rows.iter().map(String::as_str).collect();
        screen.present(buffer(&all), None).unwrap();
        assert_eq!(screen.present(buffer(&all), None).unwrap(), 0);
        let mut changed = all.clone();
        let row = "y".repeat(80);
        changed[5] = &row;
        let sent = screen.present(buffer(&changed), None).unwrap();
        assert!(sent > 0 && sent < 2_000, "{sent}");
    }

    #[test]
    fn what_was_sent_shows_what_was_drawn() {
        let mut screen = Screen::new(Vec::new());
        let mut parser = vt100::Parser::new(3, 10, 0);
        for rows in [
            ["数据 abc", "x", ""],
            ["数x abc", "", "é́z"],
            ["", "数数数数数", "b"],
        ] {
            let before = screen.out.len();
            let mut next = Buffer::empty(Rect::new(0, 0, 10, 3));
            for (y, row) in rows.iter().enumerate() {
                next.set_string(0, y as u16, row, ratatui::style::Style::new());
            }
            screen.present(next, None).unwrap();
            parser.process(&screen.out[before..]);
            let seen = parser.screen().contents();
            let seen: Vec<&str> = seen.lines().collect();
            for (y, row) in rows.iter().enumerate() {
                assert_eq!(
                    seen.get(y).copied().unwrap_or("").trim_end(),
                    row.trim_end()
                );
            }
        }
    }

    #[test]
    fn a_frame_is_one_synchronized_update() {
        let mut screen = Screen::new(Vec::new());
        screen.present(buffer(&["abc"]), Some((1, 0))).unwrap();
        assert!(screen.out.starts_with(BEGIN) && screen.out.ends_with(END));
    }
}
