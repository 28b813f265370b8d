//! The header: which goal, what needs a person, what goes on, whether it is live.

use crate::model::{JobId, JobState, WaitKind};
use crate::tui::app::Model;
use crate::tui::app::place::Kind;
use crate::tui::app::snapshot::Snapshot;
use crate::tui::text::{self, Line, time};
use crate::tui::theme::Role;
use crate::tui::widget::Painter;
use ratatui::layout::Rect;

/// Beats that may be missed before the screen says so.
const MISSED: i64 = 3;
/// Beats are written at least this seldom in real time, whatever the engine says.
const LEAST_BEAT_MS: i64 = 500;

/// Columns from which a clock that is not the machine's is shown.
const CLOCK_FROM: u16 = 70;
/// Clocks this close are the same.
const SAME_CLOCK_MS: i64 = 60_000;

/// Draws the header and the names of the views.
pub fn draw(model: &Model, painter: &mut Painter<'_>, area: Rect, tabs: Rect) {
    let right = banners(model, area.width);
    let wide = (right.width() as u16).min(area.width);
    let room = area.width.saturating_sub(wide + 1);
    painter.line(area.x, area.y, room, &who(model));
    painter.line(area.right() - wide, area.y, wide, &right);
    if area.height > 1 {
        painter.line(area.x, area.y + 1, area.width, &counts(model, area.width));
    }
    if tabs.height > 0 {
        painter.line(tabs.x, tabs.y, tabs.width, &views(model));
    }
}

fn who(model: &Model) -> Line {
    let shot = &model.snapshot;
    let Some(goal) = &shot.goal else {
        let text = match &model.goal {
            Some(goal) if shot.want.is_some() => format!("no goal {goal} in this ledger"),
            _ if shot.want.is_some() => "no goal in this ledger".to_owned(),
            _ => "reading the ledger…".to_owned(),
        };
        return Line::strong(text);
    };
    let mut line =
        Line::strong(goal.goal.to_string()).with(format!(" v{}", goal.version), Role::Dim);
    let done = shot.overview.by_state.get(&JobState::CutOver);
    let jobs = shot.overview.jobs;
    line.push(
        if shot.glance {
            format!(" · {jobs} jobs")
        } else {
            format!(" · {}/{jobs} cut over", done.copied().unwrap_or(0))
        },
        Role::Text,
    );
    if goal.ended.is_some() {
        line.push(" · ENDED", Role::Strong);
    } else if let Some(deadline) = goal.deadline {
        let left = deadline.since(shot.now());
        let (text, role) = if left < 0 {
            (
                format!(" · {} past the deadline", time::span(-left)),
                Role::Bad,
            )
        } else {
            (format!(" · {} left", time::span(left)), Role::Dim)
        };
        line.push(text, role);
    }
    line
}

fn banners(model: &Model, width: u16) -> Line {
    let mut line = Line::new();
    if model.read_only {
        line.push(" READ-ONLY ", Role::Banner);
        line.push(" ", Role::Text);
    }
    if let Some(frozen) = &model.frozen {
        let seconds = model.now.ms.saturating_sub(frozen.since_ms) / 5_000 * 5;
        line.push(
            format!(" FROZEN {:02}:{:02} ", seconds / 60, seconds % 60),
            Role::Banner,
        );
        line.push(" ", Role::Text);
    }
    if model.load_error.is_some() {
        line.push(" LEDGER UNREADABLE ", Role::Banner);
        line.push(" ", Role::Text);
    }
    if width >= CLOCK_FROM
        && let Some(clock) = practice_clock(model)
    {
        line.push(format!("clock {clock}  "), Role::Dim);
    }
    let (text, role) = beat(model);
    line.push(text, role);
    line
}

/// The engine's time, when it is not the machine's: all times shown are of that clock.
fn practice_clock(model: &Model) -> Option<String> {
    let engine = model.snapshot.overview.engine.as_ref()?;
    let apart = engine.beat_at.since(engine.engine_at).abs();
    (apart >= SAME_CLOCK_MS).then(|| {
        let stamp = time::stamp(model.snapshot.now(), &model.snapshot.zone);
        // To the minute: it is no stop-watch.
        text::cut(&stamp, stamp.len().saturating_sub(3)).to_owned()
    })
}

/// Whether the engine lives, and how old its last sign is when it does not seem to.
pub fn beat(model: &Model) -> (String, Role) {
    if model.snapshot.want.is_none() {
        return (String::new(), Role::Dim);
    }
    let Some(engine) = &model.snapshot.overview.engine else {
        return ("no engine yet".to_owned(), Role::Warn);
    };
    if engine.state == "stopped" {
        return ("engine stopped".to_owned(), Role::Warn);
    }
    let age = model.now.wall.since(engine.beat_at);
    if age >= stale_after(engine.every_ms) {
        return (format!(" STALE {} ", time::coarse(age)), Role::Banner);
    }
    if engine.state == "no space" {
        return (" NO SPACE ON THE DISK ".to_owned(), Role::Banner);
    }
    ("● live".to_owned(), Role::Good)
}

/// Whether anything is done at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// An engine beats.
    Alive,
    /// It said goodbye, or none ever ran.
    Stopped,
    /// It fell silent.
    Dead,
}

/// What the engine's last sign says.
pub fn pulse(model: &Model) -> Pulse {
    match &model.snapshot.overview.engine {
        None => Pulse::Stopped,
        Some(engine) if engine.state == "stopped" => Pulse::Stopped,
        Some(_) if engine_answers(model) => Pulse::Alive,
        Some(_) => Pulse::Dead,
    }
}

/// Whether an engine seems to be there to answer decisions.
pub fn engine_answers(model: &Model) -> bool {
    model
        .snapshot
        .overview
        .engine
        .as_ref()
        .is_some_and(|engine| {
            let age = model.now.wall.since(engine.beat_at);
            engine.state != "stopped" && age < stale_after(engine.every_ms)
        })
}

fn stale_after(every_ms: i64) -> i64 {
    every_ms.max(LEAST_BEAT_MS).saturating_mul(MISSED)
}

/// Milliseconds until what the beat shows changes by itself.
pub fn beat_changes_in(model: &Model) -> Option<u64> {
    let engine = model.snapshot.overview.engine.as_ref()?;
    if engine.state == "stopped" {
        return None;
    }
    let age = model.now.wall.since(engine.beat_at);
    let limit = stale_after(engine.every_ms);
    let step = match age {
        ..10_000 => 1_000,
        10_000..60_000 => 5_000,
        _ => 60_000,
    };
    let wait = if age < limit {
        limit - age
    } else {
        step - age.rem_euclid(step)
    };
    Some(wait.clamp(1, 3_600_000) as u64)
}

/// What needs a person first, then what goes on: parts that do not fit are left out.
fn counts(model: &Model, width: u16) -> Line {
    if model.snapshot.glance {
        return Line::dim("counting…");
    }
    let mut line = Line::new();
    let mut used = 0;
    for (text, role) in parts(&model.snapshot) {
        let sep = if used == 0 { "" } else { " · " };
        let wide = text::width(sep) + text::width(&text);
        if used + wide > usize::from(width) {
            continue;
        }
        line.push(sep, Role::Dim);
        line.push(text, role);
        used += wide;
    }
    line
}

/// `3 wait for stg_orders`; where they wait for several, the one that most of them wait for is named.
fn upstream(count: u64, awaited: &[(JobId, u64)]) -> String {
    let wait = if count == 1 { "waits" } else { "wait" };
    match awaited {
        [(job, _)] => format!("{count} {wait} for {job}"),
        [(job, _), ..] => format!("{count} {wait} for jobs, {job} first"),
        [] => format!("{count} {wait} for other jobs"),
    }
}

fn parts(shot: &Snapshot) -> Vec<(String, Role)> {
    let overview = &shot.overview;
    let state = |state| overview.by_state.get(&state).copied().unwrap_or(0);
    let wait = |kind| overview.by_wait.get(&kind).copied().unwrap_or(0);
    let plural = |count: u64, one: &str, many: &str| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let waiting: u64 = overview.by_wait.values().sum();
    let world = wait(WaitKind::World);
    let upstream_waits = wait(WaitKind::Upstream);
    // Of their own accord, by the contract: a turn in a wave, the end of a freeze.
    let turns = wait(WaitKind::Turn) + wait(WaitKind::Freeze) + wait(WaitKind::Soak);
    let all = [
        (
            overview.held,
            format!(
                "HELD by {}",
                text::count(overview.held, "difference", "differences")
            ),
            Role::Bad,
        ),
        (
            overview.approvals_open,
            plural(overview.approvals_open, "approval", "approvals"),
            Role::Person,
        ),
        (
            overview.to_verify,
            format!("{} to verify", overview.to_verify),
            Role::Person,
        ),
        (
            overview.samples_open,
            plural(overview.samples_open, "sample to judge", "samples to judge"),
            Role::Person,
        ),
        (
            overview.questions_open,
            plural(overview.questions_open, "question", "questions"),
            Role::Person,
        ),
        (
            overview.alerts_open,
            plural(overview.alerts_open, "alert", "alerts"),
            Role::Bad,
        ),
        (
            state(JobState::HandedOver),
            format!("{} handed over", state(JobState::HandedOver)),
            Role::Bad,
        ),
        (
            overview.in_work,
            format!("{} in work", overview.in_work),
            Role::Info,
        ),
        (
            upstream_waits,
            upstream(upstream_waits, &shot.awaited),
            Role::Text,
        ),
        (
            world,
            plural(world, "waits on the world", "wait on the world"),
            Role::Text,
        ),
        (
            turns,
            plural(turns, "waits for its turn", "wait for their turn"),
            Role::Text,
        ),
        (
            wait(WaitKind::Quota),
            plural(wait(WaitKind::Quota), "waits for quota", "wait for quota"),
            Role::Text,
        ),
        (
            overview.paused,
            format!("{} paused", overview.paused),
            Role::Warn,
        ),
        (
            overview.stalled,
            format!("{} overdue", overview.stalled),
            Role::Bad,
        ),
        (
            overview.decisions_pending,
            format!("{} decisions not answered", overview.decisions_pending),
            Role::Warn,
        ),
    ];
    let mut shown: Vec<(String, Role)> = all
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(_, text, role)| (text, role))
        .collect();
    if shown.is_empty() && overview.jobs > 0 && waiting == 0 {
        shown.push(("nothing needs a person".to_owned(), Role::Dim));
    }
    shown
}

fn views(model: &Model) -> Line {
    let mut line = Line::new();
    let root = model.kind().root();
    for (number, kind) in Kind::NUMBERED.into_iter().enumerate() {
        if number > 0 {
            line.push(" ", Role::Text);
        }
        line.push(number.to_string(), Role::Dim);
        line.push(" ", Role::Text);
        let role = if kind == root {
            Role::Selected
        } else {
            Role::Text
        };
        line.push(kind.title(), role);
    }
    line
}
