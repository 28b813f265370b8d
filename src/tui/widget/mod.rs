//! The one place that touches cells: lines, rules, frames, tables.

pub mod table;

use crate::tui::text::{self, Line};
use crate::tui::theme::{Role, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Draws safe text with a theme into a buffer; everything is clipped to the buffer.
pub struct Painter<'a> {
    buf: &'a mut Buffer,
    theme: &'a Theme,
    ascii: bool,
}

impl<'a> Painter<'a> {
    /// A painter over a buffer.
    pub fn new(buf: &'a mut Buffer, theme: &'a Theme, ascii: bool) -> Self {
        Self { buf, theme, ascii }
    }

    /// The whole area.
    pub fn area(&self) -> Rect {
        self.buf.area
    }

    /// The cells themselves, for widgets that are not ours.
    pub fn buffer(&mut self) -> &mut Buffer {
        self.buf
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Paints the background and clears what was there.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buf.area);
        let style = self.theme.style(Role::Text);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buf.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(style);
                }
            }
        }
    }

    /// One line in at most `width` columns; a longer one ends in `…`. Returns the columns used.
    pub fn line(&mut self, x: u16, y: u16, width: u16, line: &Line) -> u16 {
        let area = self.buf.area;
        if y < area.top() || y >= area.bottom() || x >= area.right() {
            return 0;
        }
        let mut room = usize::from(width.min(area.right() - x));
        let long = line.width() > room;
        let mut at = x;
        for span in &line.spans {
            if room == 0 {
                break;
            }
            let shown = if self.ascii {
                text::to_ascii(span.text.as_str())
            } else {
                text::tame(span.text.as_str()).into_owned()
            };
            let wide = text::width(&shown);
            let style = self.theme.style(span.role);
            if wide < room || (wide == room && !long) {
                at = self.buf.set_stringn(at, y, &shown, room, style).0;
                room -= wide;
            } else {
                let mut cut = text::shorten(&shown, room);
                if wide == room {
                    // It fits, but something after it does not.
                    cut = format!("{}…", text::cut(&shown, room.saturating_sub(1)));
                }
                if self.ascii {
                    cut = text::to_ascii(&cut);
                }
                at = self.buf.set_stringn(at, y, &cut, room, style).0;
                break;
            }
        }
        at.saturating_sub(x)
    }

    /// Lines one below the other, as many as fit.
    pub fn lines(&mut self, area: Rect, lines: &[Line]) {
        for (row, line) in (area.top()..area.bottom()).zip(lines) {
            self.line(area.x, row, area.width, line);
        }
    }

    /// Makes a row look selected: one look over its whole width.
    pub fn select(&mut self, area: Rect) {
        let area = area.intersection(self.buf.area);
        let style = self.theme.style(Role::Selected);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buf.cell_mut((x, y)) {
                    cell.set_style(Style::reset());
                    cell.set_style(style);
                }
            }
        }
    }

    /// A horizontal rule with a title in it.
    pub fn rule(&mut self, x: u16, y: u16, width: u16, title: &str) {
        let mut line = Line::new();
        let mut used = 0;
        if !title.is_empty() {
            line.push("── ", Role::Dim);
            line.push(title, Role::Strong);
            line.push(" ", Role::Dim);
            used = line.width();
        }
        line.push(
            "─".repeat(usize::from(width).saturating_sub(used)),
            Role::Dim,
        );
        self.line(x, y, width, &line);
    }

    /// A box with a title; returns its inside.
    pub fn frame(&mut self, area: Rect, title: &str) -> Rect {
        let area = area.intersection(self.buf.area);
        self.clear(area);
        if area.width < 4 || area.height < 3 {
            return Rect::new(area.x, area.y, area.width, area.height);
        }
        let inner = usize::from(area.width - 2);
        let head = text::shorten(&format!(" {title} "), inner.saturating_sub(2));
        let rest = inner.saturating_sub(1 + text::width(&head));
        let top = Line::dim("┌─")
            .with(head, Role::Strong)
            .with(format!("{}┐", "─".repeat(rest)), Role::Dim);
        self.line(area.x, area.y, area.width, &top);
        for y in area.top() + 1..area.bottom() - 1 {
            self.line(area.x, y, 1, &Line::dim("│"));
            self.line(area.right() - 1, y, 1, &Line::dim("│"));
        }
        let bottom = Line::dim(format!("└{}┘", "─".repeat(inner)));
        self.line(area.x, area.bottom() - 1, area.width, &bottom);
        Rect::new(
            area.x + 2,
            area.y + 1,
            area.width.saturating_sub(4),
            area.height - 2,
        )
    }
}

/// A gauge of `width` columns: filled share, `█` and `░`.
pub fn gauge(part: u64, whole: u64, width: usize) -> String {
    let filled = if whole == 0 {
        0
    } else {
        let share = part.min(whole) as f64 / whole as f64;
        (share * width as f64).round() as usize
    };
    format!(
        "{}{}",
        "█".repeat(filled),
        "░".repeat(width.saturating_sub(filled))
    )
}

/// An area of at most the given size in the middle of another.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    )
}
