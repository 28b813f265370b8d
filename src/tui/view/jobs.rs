//! The jobs: state, how far, and one sentence why each is not moving.

use super::empty;
use super::header::{self, Pulse};
use crate::ledger::filter::Filter;
use crate::ledger::read::{JobRow, JobSort};
use crate::model::{JobId, WaitKind};
use crate::tui::app::Model;
use crate::tui::app::overlay::Overlay;
use crate::tui::app::place::Kind;
use crate::tui::app::snapshot::Snapshot;
use crate::tui::text::state::{self, Standing};
use crate::tui::text::{Line, labelled, sentence, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use crate::tui::widget::table::{Column, TableRow, cell, draw as draw_table};
use ratatui::layout::Rect;

const COLUMNS: &[Column] = &[
    Column::text("job", 20, 26, 0),
    Column::text("state", 14, 14, 1),
    Column::number("ok", 5, 5, 3),
    Column::number("tries", 5, 5, 4),
    Column::text("strategy", 9, 14, 6),
    Column::number("last", 4, 4, 5),
    Column::number("queries", 7, 7, 7),
    Column::text("why, and when it wakes", 30, 200, 2),
];

/// Draws the table.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let Some(jobs) = model
        .snapshot
        .jobs
        .as_ref()
        .filter(|jobs| !jobs.ids.is_empty())
    else {
        empty(painter, area, model, &why_empty(model));
        return;
    };
    let list = model.list();
    let rows: Vec<TableRow> = jobs
        .ids
        .iter()
        .skip(list.offset)
        .take(model.list_height())
        .map(|id| TableRow {
            cells: match jobs.rows.get(id) {
                Some(row) => cells(model, row),
                None => vec![cell(id.as_str()), Line::dim("…")],
            },
            selected: list.target() == Some(id.as_str()),
            marked: model.marks.contains(id),
        })
        .collect();
    draw_table(painter, area, COLUMNS, &rows);
}

fn why_empty(model: &Model) -> String {
    let shot = &model.snapshot;
    match (&shot.goal, model.filters.get(&Kind::Jobs)) {
        (None, _) => "There is no goal in this ledger. Adopt one: dogwatch adopt FILE.".to_owned(),
        (_, Some(text)) => format!("No job fits the filter {text}. Esc clears it."),
        (Some(goal), None) if goal.jobs_listed.is_none() => {
            "The source's list of jobs has not been read yet; the engine does that first."
                .to_owned()
        }
        _ => "The source listed no jobs.".to_owned(),
    }
}

/// Where a job stands. Work that no engine does is not called work.
pub fn standing(model: &Model, row: &JobRow) -> Standing {
    let standing = state::of_job(row);
    match header::pulse(model) {
        Pulse::Stopped if standing.is_work() => state::STOPPED,
        Pulse::Dead if standing.is_work() => state::DEAD,
        _ => standing,
    }
}

/// Why a job is not moving, and where there is no engine, that.
pub fn why_here(model: &Model, row: &JobRow) -> (String, Role) {
    let (text, role) = why(row, &model.snapshot);
    if row.state.has_ended() {
        return (text, role);
    }
    match header::pulse(model) {
        Pulse::Alive => (text, role),
        Pulse::Stopped => (format!("no engine runs; {text}"), role),
        Pulse::Dead => (format!("the engine fell silent; {text}"), role),
    }
}

fn cells(model: &Model, row: &JobRow) -> Vec<Line> {
    let shot = &model.snapshot;
    let standing = standing(model, row);
    let mut name = Line::text(row.job.to_string());
    if row.high_risk {
        name.push(" !", Role::Warn);
    }
    let (why, role) = why_here(model, row);
    let ok_role = if row.clauses_total > 0 && row.clauses_passed == row.clauses_total {
        Role::Good
    } else {
        Role::Text
    };
    let tries = if row.tries == 0 {
        String::new()
    } else {
        row.tries.to_string()
    };
    let queries = if row.queries == 0 {
        String::new()
    } else {
        row.queries.to_string()
    };
    vec![
        name,
        Line::of(
            format!("{} {}", standing.glyph, standing.word),
            standing.role,
        ),
        Line::of(
            format!("{}/{}", row.clauses_passed, row.clauses_total),
            ok_role,
        ),
        Line::text(tries),
        Line::dim(shot.strategy(row.strategy)),
        Line::dim(time::span(shot.now().since(row.last_progress))),
        Line::dim(queries),
        Line::of(why, role),
    ]
}

/// One sentence from the ledger: why the job is not moving, and when it wakes.
pub fn why(row: &JobRow, shot: &Snapshot) -> (String, Role) {
    let now = shot.now();
    if let Some(wait) = &row.wait {
        let overdue = wait.overdue < now && wait.kind != WaitKind::Paused;
        let wakes = match wait.kind {
            WaitKind::Person | WaitKind::Paused | WaitKind::Budget => String::new(),
            _ => format!(
                ", looks {}",
                time::instant(wait.next_check, now, &shot.zone)
            ),
        };
        let late = if overdue { "OVERDUE: " } else { "" };
        let role = if overdue { Role::Bad } else { Role::Text };
        return (format!("{late}{}{wakes}", wait.reason), role);
    }
    if row.paused && !row.state.has_ended() {
        return ("an operator paused it".to_owned(), Role::Text);
    }
    if row.to_verify {
        let text = "an operation's outcome is unknown; To verify (3) has it";
        return (text.to_owned(), Role::Text);
    }
    if !row.reason.is_empty() {
        return (row.reason.clone(), Role::Text);
    }
    if row.attempt.0 > 0 {
        return (
            format!(
                "attempt {} with {}",
                row.attempt,
                shot.strategy(row.strategy)
            ),
            Role::Dim,
        );
    }
    ("not begun".to_owned(), Role::Dim)
}

/// The rule above: count, order, filter.
pub fn title(model: &Model) -> (String, String) {
    let total = model.snapshot.overview.jobs;
    let shown = model.ids().len() as u64;
    let mut left = if model.filters.contains_key(&Kind::Jobs) {
        format!("Jobs {shown} of {total}")
    } else {
        format!("Jobs {total}")
    };
    if let Some(text) = model.filters.get(&Kind::Jobs) {
        left.push_str(&format!(" /{text}"));
        let typing = matches!(model.overlays.last(), Some(Overlay::Filter { .. }));
        if let (false, Err(why)) = (typing, Filter::parse(text)) {
            left.push_str(&format!(" ({why})"));
        }
    }
    let word = match model.sort {
        JobSort::Position => "",
        JobSort::Id => "by name",
        JobSort::State => "by state",
        JobSort::Tries => "by tries",
        JobSort::Progress => "by last progress",
        JobSort::Queries => "by queries",
    };
    let mut right = Vec::new();
    if !model.marks.is_empty() {
        right.push(format!("{} marked", model.marks.len()));
    }
    if !word.is_empty() || model.reverse {
        let way = if model.reverse { "↓" } else { "" };
        right.push(format!("{word}{way}"));
    }
    let note = super::list_note(model);
    if !note.is_empty() {
        right.push(note);
    }
    (left, right.join(" · "))
}

/// The pane beside the list.
pub fn draw_details(model: &Model, painter: &mut Painter<'_>, area: Rect) {
    let inner = super::details_area(painter, area);
    let target = model.list().target().map(JobId::from);
    let job = model
        .snapshot
        .job
        .as_ref()
        .filter(|data| Some(&data.row.job) == target.as_ref());
    let lines = match job {
        Some(data) => summary(model, &data.row, usize::from(inner.width)),
        None => vec![Line::dim("…")],
    };
    painter.lines(inner, &lines);
}

/// What one looks for first in a job.
pub fn summary(model: &Model, row: &JobRow, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let standing = standing(model, row);
    let mut lines = vec![
        Line::of(
            format!("{} {}", standing.glyph, standing.word),
            standing.role,
        )
        .with("  ", Role::Text)
        .with(row.job.to_string(), Role::Strong),
    ];
    let (why, role) = why_here(model, row);
    lines.extend(labelled("why", &why, role, 10, width));
    lines.extend(labelled("title", &row.title, Role::Text, 10, width));
    let Some(data) = shot.job.as_ref().filter(|data| data.row.job == row.job) else {
        return lines;
    };
    for clause in &data.facts.clauses {
        let line = match data.facts.evidence.get(clause) {
            Some(one) => {
                let standing = state::of_verdict(one.verdict);
                let old = if data.facts.config.as_ref() == Some(&one.config) {
                    ""
                } else {
                    " (of an older config)"
                };
                labelled(
                    clause.as_str(),
                    &format!("{} {}{old}: {}", standing.glyph, standing.word, one.summary),
                    standing.role,
                    10.max(clause.as_str().len() + 1),
                    width,
                )
            }
            None => labelled(
                clause.as_str(),
                "not judged yet",
                Role::Dim,
                10.max(clause.as_str().len() + 1),
                width,
            ),
        };
        lines.extend(line);
    }
    if !data.facts.depends_on.is_empty() {
        let names: Vec<&str> = data.facts.depends_on.iter().map(JobId::as_str).collect();
        lines.extend(labelled("needs", &names.join(", "), Role::Text, 10, width));
    }
    if let Some(wait) = &data.facts.wait {
        let now = shot.now();
        for wake in &wait.wakes {
            let text = sentence::of_wake(wake, now, &shot.zone);
            lines.extend(labelled("wakes on", &text, Role::Text, 10, width));
        }
        let looks = format!(
            "{}; overdue after {}",
            time::instant(wait.next_check, now, &shot.zone),
            time::instant(wait.overdue, now, &shot.zone)
        );
        lines.extend(labelled("looks at", &looks, Role::Text, 10, width));
    }
    if let Some(comment) = &data.facts.comment {
        lines.extend(labelled("comment", comment, Role::Text, 10, width));
    }
    lines.extend(labelled("from", &data.facts.origin, Role::Dim, 10, width));
    lines
}
