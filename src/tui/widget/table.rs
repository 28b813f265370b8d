//! Tables whose columns give way by declared priority.

use super::Painter;
use crate::tui::text::{self, Line};
use ratatui::layout::Rect;

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Columns it needs at least.
    pub min: u16,
    /// Columns it wants at most; it grows from `min` to this.
    pub max: u16,
    /// Dropped earlier when larger; 0 is never dropped.
    pub priority: u8,
    /// Numbers stand at the right.
    pub right: bool,
}

impl Column {
    /// A column of words: `min` to `max` columns wide.
    pub const fn text(title: &'static str, min: u16, max: u16, priority: u8) -> Self {
        Self {
            title,
            min,
            max,
            priority,
            right: false,
        }
    }

    /// A column of numbers.
    pub const fn number(title: &'static str, min: u16, max: u16, priority: u8) -> Self {
        Self {
            right: true,
            ..Self::text(title, min, max, priority)
        }
    }
}

/// Which columns are shown at which widths: `(index, width)`, left to right. One blank between.
pub fn fit(columns: &[Column], width: u16) -> Vec<(usize, u16)> {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let need = |shown: &[usize]| -> u16 {
        let total: u16 = shown
            .iter()
            .filter_map(|index| columns.get(*index))
            .map(|column| column.min + 1)
            .sum();
        total.saturating_sub(1)
    };
    while need(&shown) > width {
        let worst = shown
            .iter()
            .enumerate()
            .filter_map(|(at, index)| columns.get(*index).map(|column| (column.priority, at)))
            .filter(|(priority, _)| *priority > 0)
            .max();
        match worst {
            Some((_, at)) => {
                shown.remove(at);
            }
            None => break,
        }
    }
    let mut spare = width.saturating_sub(need(&shown));
    let mut widths: Vec<(usize, u16)> = shown
        .iter()
        .filter_map(|index| columns.get(*index).map(|column| (*index, column.min)))
        .collect();
    // The most important column grows first.
    let mut order: Vec<usize> = (0..widths.len()).collect();
    order.sort_by_key(|at| {
        widths
            .get(*at)
            .and_then(|(index, _)| columns.get(*index))
            .map_or(u8::MAX, |column| column.priority)
    });
    for at in order {
        let Some((index, wide)) = widths.get_mut(at) else {
            continue;
        };
        let most = columns.get(*index).map_or(0, |column| column.max);
        let grow = most.saturating_sub(*wide).min(spare);
        *wide += grow;
        spare -= grow;
    }
    widths
}

/// One row to draw.
pub struct TableRow {
    /// One line a column.
    pub cells: Vec<Line>,
    /// Under the cursor.
    pub selected: bool,
    /// Marked.
    pub marked: bool,
}

/// Draws heading and rows; the first column of the area is kept for `›` and marks.
pub fn draw(painter: &mut Painter<'_>, area: Rect, columns: &[Column], rows: &[TableRow]) {
    if area.height == 0 || area.width < 4 {
        return;
    }
    let widths = fit(columns, area.width - 2);
    let mut x = area.x + 2;
    for (index, wide) in &widths {
        if let Some(column) = columns.get(*index) {
            let title = aligned(&Line::dim(column.title), *wide, column.right);
            painter.line(x, area.y, *wide, &title);
        }
        x += wide + 1;
    }
    for (y, row) in (area.y + 1..area.bottom()).zip(rows) {
        let mut x = area.x + 2;
        for (index, wide) in &widths {
            if let (Some(column), Some(cell)) = (columns.get(*index), row.cells.get(*index)) {
                painter.line(x, y, *wide, &aligned(cell, *wide, column.right));
            }
            x += wide + 1;
        }
        if row.selected {
            painter.select(Rect::new(area.x, y, area.width, 1));
        }
        let sign = match (row.selected, row.marked) {
            (true, true) => "»",
            (true, false) => "›",
            (false, true) => "+",
            (false, false) => "",
        };
        if !sign.is_empty() {
            let role = if row.selected {
                crate::tui::theme::Role::Selected
            } else {
                crate::tui::theme::Role::Strong
            };
            painter.line(area.x, y, 1, &Line::of(sign, role));
        }
    }
}

fn aligned(line: &Line, width: u16, right: bool) -> Line {
    let pad = usize::from(width).saturating_sub(line.width());
    if !right || pad == 0 {
        return line.clone();
    }
    let mut out = Line::text(" ".repeat(pad));
    out.spans.extend(line.spans.iter().cloned());
    out
}

/// Rows of a window: how many fit under the heading.
pub fn rows_in(height: u16) -> usize {
    usize::from(height.saturating_sub(1))
}

/// A cell of plain text, shortened by the table.
pub fn cell(text: &str) -> Line {
    Line::text(text::cut(text, 400))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::text("a", 10, 20, 0),
        Column::number("b", 5, 5, 2),
        Column::text("c", 10, 99, 1),
    ];

    #[test]
    fn the_least_important_column_goes_first() {
        let shown = |width| {
            fit(COLUMNS, width)
                .into_iter()
                .map(|(index, _)| index)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(27), [0, 1, 2]);
        assert_eq!(shown(26), [0, 2]);
        assert_eq!(shown(20), [0]);
        assert_eq!(shown(3), [0]);
    }

    #[test]
    fn spare_columns_go_to_the_most_important_first() {
        assert_eq!(fit(COLUMNS, 40), [(0, 20), (1, 5), (2, 13)]);
    }
}
