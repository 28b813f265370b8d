//! Which rows and columns belong to what. Update and drawing ask the same function, so that what is
//! scrolled is what is shown.

use ratatui::layout::Rect;

/// Smallest size that is drawn; below it a message with numbers.
pub const FLOOR: (u16, u16) = (24, 6);

/// Columns from which details stand beside the list instead of below it.
const SIDE_BY_SIDE: u16 = 110;

/// The parts of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Goal, counts, beat.
    pub header: Rect,
    /// Names of the views; empty on low screens.
    pub tabs: Rect,
    /// One row: what the view shows.
    pub title: Rect,
    /// The view.
    pub body: Rect,
    /// Details of the selected row; empty unless asked for.
    pub details: Rect,
    /// One row: what was just said or asked.
    pub status: Rect,
    /// One row: keys.
    pub footer: Rect,
}

/// Lays out a screen; `None` below the floor.
pub fn layout(width: u16, height: u16, with_details: bool) -> Option<Layout> {
    if width < FLOOR.0 || height < FLOOR.1 {
        return None;
    }
    let header_rows = if height >= 10 { 2 } else { 1 };
    let tab_rows = if height >= 16 && width >= 60 { 1 } else { 0 };
    let row = |y, rows| Rect::new(0, y, width, rows);
    let title_y = header_rows + tab_rows;
    let body_y = title_y + 1;
    let body_rows = height - 2 - body_y;
    let mut body = row(body_y, body_rows);
    let mut details = Rect::ZERO;
    if with_details && width >= SIDE_BY_SIDE {
        let side = width * 2 / 5;
        details = Rect::new(width - side, body_y, side, body_rows);
        body.width = width - side;
    } else if with_details && body_rows >= 8 {
        let below = body_rows / 2;
        details = row(body_y + body_rows - below, below);
        body.height = body_rows - below;
    }
    Some(Layout {
        header: row(0, header_rows),
        tabs: row(header_rows, tab_rows),
        title: row(title_y, 1),
        body,
        details,
        status: row(height - 2, 1),
        footer: row(height - 1, 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_from_the_floor_up_has_a_body_and_nothing_overlaps() {
        for width in FLOOR.0..200 {
            for height in FLOOR.1..80 {
                for details in [false, true] {
                    let one = layout(width, height, details).unwrap();
                    assert!(one.body.height >= 1 && one.body.width >= 1);
                    let rows = one.header.height + one.tabs.height + 3;
                    let taken = if one.details.width == width {
                        one.details.height
                    } else {
                        0
                    };
                    assert_eq!(rows + one.body.height + taken, height);
                }
            }
        }
        assert_eq!(layout(23, 80, false), None);
    }
}
