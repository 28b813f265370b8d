//! The tour's box: at the lower right, over the view, never in the way of its keys.

use crate::tui::app::Model;
use crate::tui::app::tour::STEPS;
use crate::tui::text::paragraph;
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use ratatui::layout::Rect;

/// Widest box.
const WIDE: u16 = 62;

/// Draws the step that is on.
pub fn draw(model: &Model, painter: &mut Painter<'_>, body: Rect) {
    let Some((tour, step)) = model.tour.and_then(|tour| Some((tour, tour.now()?))) else {
        return;
    };
    let wide = WIDE.min(body.width);
    let inner = usize::from(wide.saturating_sub(4));
    let mut lines = paragraph(step.says, Role::Text, inner);
    lines.extend(paragraph(step.asks, Role::Key, inner));
    let high = (lines.len() as u16 + 2).min(body.height);
    let area = Rect::new(body.right() - wide, body.bottom() - high, wide, high);
    let title = format!("Tour {} of {} · T ends it", tour.step + 1, STEPS.len());
    let inside = painter.frame(area, &title);
    painter.lines(inside, &lines);
}
