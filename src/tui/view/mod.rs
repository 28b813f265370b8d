//! Drawing: a pure function of the model, one file a view.

pub mod alert;
pub mod alerts;
pub mod amendment;
pub mod approvals;
pub mod budgets;
pub mod card;
pub mod closing;
pub mod dialog;
pub mod drift;
pub mod footer;
pub mod forecast;
pub mod goal;
pub mod goals;
pub mod header;
pub mod help;
pub mod job;
pub mod jobs;
pub mod log;
pub mod operation;
pub mod question;
pub mod tour;
pub mod transcript;
pub mod verify;
pub mod waits;

use crate::model::Action;
use crate::tui::app::Model;
use crate::tui::app::layout::FLOOR;
use crate::tui::app::place::{Kind, Place};
use crate::tui::text::Line;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::Painter;
use crate::tui::widget::table::TableRow;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Draws one frame. Returns where the text cursor stands, when there is one.
pub fn draw(model: &Model, theme: &Theme, ascii: bool, buf: &mut Buffer) -> Option<(u16, u16)> {
    let area = buf.area;
    let mut painter = Painter::new(buf, theme, ascii);
    painter.clear(area);
    let Some(parts) = model.layout() else {
        floor(&mut painter, area);
        return None;
    };
    header::draw(model, &mut painter, parts.header, parts.tabs);
    let (title, note) = title(model);
    painter.rule(parts.title.x, parts.title.y, parts.title.width, &title);
    if !note.is_empty() {
        let line = Line::dim(format!(" {note} "));
        let wide = line.width() as u16;
        let room = parts
            .title
            .width
            .saturating_sub(crate::tui::text::width(&title) as u16 + 6);
        if wide <= room {
            painter.line(parts.title.width - wide - 1, parts.title.y, wide, &line);
        }
    }
    draw_body(model, &mut painter, parts.body);
    if parts.details != Rect::ZERO {
        match model.kind() {
            Kind::Drift => drift::draw_details(model, &mut painter, parts.details),
            _ => jobs::draw_details(model, &mut painter, parts.details),
        }
    }
    tour::draw(model, &mut painter, parts.body);
    let typed = footer::draw(model, &mut painter, parts.status, parts.footer);
    let on_top = dialog::draw(model, &mut painter);
    on_top.or(typed)
}

fn draw_body(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    match model.kind() {
        Kind::Jobs => jobs::draw(model, painter, area),
        Kind::Waits => waits::draw(model, painter, area),
        Kind::Approvals => approvals::draw(model, painter, area),
        Kind::ToVerify => verify::draw(model, painter, area),
        Kind::Drift => drift::draw(model, painter, area),
        Kind::Alerts => alerts::draw(model, painter, area),
        Kind::Goals => goals::draw(model, painter, area),
        Kind::Log => log::draw(model, painter, area),
        _ => draw_page(model, painter, area),
    }
}

/// The rows of a list as they are drawn, line by line; `None` below the floor.
pub fn rows_as_text(model: &Model) -> Option<Vec<String>> {
    let area = model.layout()?.body;
    let mut buf = Buffer::empty(area);
    // How it looks does not matter: only the characters are read.
    let theme = Theme::plain();
    draw_body(model, &mut Painter::new(&mut buf, &theme, false), area);
    Some(
        (area.top()..area.bottom())
            .map(|y| row_text(&buf, y))
            .collect(),
    )
}

/// A row's characters; the place after a wide one holds nothing of its own.
fn row_text(buf: &Buffer, y: u16) -> String {
    let mut text = String::new();
    let mut x = buf.area.left();
    while let Some(cell) = buf.cell((x, y)) {
        text.push_str(cell.symbol());
        x += crate::tui::text::width(cell.symbol()).max(1) as u16;
    }
    text
}

fn floor(painter: &mut Painter<'_>, area: Rect) {
    let lines = [
        format!("{}×{} is too small", area.width, area.height),
        format!("needs {}×{}", FLOOR.0, FLOOR.1),
        "q leaves".to_owned(),
    ];
    for (y, text) in (area.top()..area.bottom()).zip(lines) {
        painter.line(0, y, area.width, &Line::text(text));
    }
}

/// What the rule above a view says, left and right.
fn title(model: &Model) -> (String, String) {
    match model.place() {
        Place::Root(Kind::Jobs) => jobs::title(model),
        Place::Root(Kind::Log) | Place::JobLog(_) => log::title(model),
        Place::Job(job) => (format!("Job {job}"), page_note(model)),
        Place::Card(_) => {
            let title = match model.request() {
                Some(request) if request.action == Action::RollBack => {
                    format!("Request to roll back {}", request.job)
                }
                Some(request) => format!("Request {}", request.job),
                None => "Request".to_owned(),
            };
            (title, page_note(model))
        }
        Place::Operation(job, _) => (format!("Operation of {job}"), page_note(model)),
        Place::Drift => drift::title(model),
        Place::Amendment => ("Amendment".to_owned(), page_note(model)),
        Place::Alert(_) => ("Alert".to_owned(), page_note(model)),
        Place::Question(job, _) => (format!("Question of {job}"), page_note(model)),
        Place::Root(kind @ (Kind::Budgets | Kind::Goal)) => {
            (kind.title().to_owned(), page_note(model))
        }
        Place::Root(kind) => {
            let count = model.ids().len();
            (format!("{} {count}", kind.title()), list_note(model))
        }
    }
}

/// `12–30 of 120`.
pub fn list_note(model: &Model) -> String {
    let count = model.ids().len();
    let list = model.list();
    if count == 0 || model.snapshot.glance {
        return String::new();
    }
    let last = (list.offset + model.list_height()).min(count);
    format!("{}–{last} of {count}", list.offset + 1)
}

fn page_note(model: &Model) -> String {
    let Some(parts) = model.layout() else {
        return String::new();
    };
    let lines = model.page.len();
    let rows = usize::from(parts.body.height);
    if lines <= rows {
        return String::new();
    }
    let last = (model.scroll + rows).min(lines);
    format!("lines {}–{last} of {lines}", model.scroll + 1)
}

/// The lines of a view that is a page of text.
pub fn page(model: &Model, width: u16) -> Vec<Line> {
    let width = usize::from(width).saturating_sub(2).max(10);
    match model.place() {
        Place::Job(_) => job::lines(model, width),
        Place::Card(_) => card::lines(model, width),
        Place::Operation(_, id) => operation::lines(model, &id, width),
        Place::Alert(seq) => alert::lines(model, seq, width),
        Place::Amendment => amendment::lines(model, width),
        Place::Question(_, id) => question::lines(model, &id, width),
        Place::Root(Kind::Budgets) => budgets::lines(model, width),
        Place::Root(Kind::Goal) => goal::lines(model, width),
        _ => Vec::new(),
    }
}

fn draw_page(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let inner = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    let shown = model.page.get(model.scroll..).unwrap_or(&[]);
    painter.lines(inner, shown);
}

/// Where details are written: beside a list with a line between, or below a rule.
pub fn details_area(painter: &mut Painter<'_>, area: Rect) -> Rect {
    if area.x > 0 {
        for y in area.top()..area.bottom() {
            painter.line(area.x, y, 1, &Line::dim("│"));
        }
        let width = area.width.saturating_sub(2);
        return Rect::new(area.x + 2, area.y, width, area.height);
    }
    painter.rule(area.x, area.y, area.width, "");
    Rect::new(
        area.x + 1,
        area.y + 1,
        area.width.saturating_sub(2),
        area.height.saturating_sub(1),
    )
}

/// An empty view says so, and why that may be.
pub fn empty(painter: &mut Painter<'_>, area: Rect, model: &Model, text: &str) {
    let text = if model.is_current() {
        text
    } else {
        "reading the ledger…"
    };
    let lines =
        crate::tui::text::paragraph(text, Role::Dim, usize::from(area.width).saturating_sub(4));
    let inner = Rect::new(
        area.x + 2,
        area.y + 1.min(area.height),
        area.width.saturating_sub(3),
        area.height.saturating_sub(1),
    );
    painter.lines(inner, &lines);
}

/// Rows of a list's window, with the cursor.
pub fn window<T>(
    model: &Model,
    items: &[T],
    id: impl Fn(&T) -> String,
    cells: impl Fn(&T) -> Vec<Line>,
) -> Vec<TableRow> {
    let list = model.list();
    let target = list.target();
    items
        .iter()
        .skip(list.offset)
        .take(model.list_height())
        .map(|item| TableRow {
            cells: cells(item),
            selected: Some(id(item).as_str()) == target,
            marked: false,
        })
        .collect()
}

#[cfg(test)]
mod tests;
