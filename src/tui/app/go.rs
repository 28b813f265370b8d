//! Moving, opening, stepping, marking.

use super::Model;
use super::place::{Kind, Place};
use super::snapshot::NeedWhat;
use crate::ledger::read::JobSort;
use crate::model::{ApprovalId, JobId, Seq};
use crate::tui::keymap::Action;
use std::sync::Arc;

/// Marks by `*` at most; more are refused, since a dialog must list its targets by name.
const MAX_MARKS: usize = 1_000;

/// Moves the cursor or the page; false when the action is no movement.
pub fn moved(model: &mut Model, action: Action) -> bool {
    let page = model.list_height() as isize;
    let by = match action {
        Action::Up => -1,
        Action::Down => 1,
        Action::PageUp => -page,
        Action::PageDown => page,
        Action::Top => isize::MIN / 4,
        Action::Bottom => isize::MAX / 4,
        _ => return false,
    };
    move_by(model, by, action == Action::Bottom);
    true
}

fn move_by(model: &mut Model, by: isize, to_end: bool) {
    let kind = model.kind();
    if kind.is_list() {
        let mut list = model.list();
        list.step(&model.ids(), by);
        if kind == Kind::Log {
            list.follow = to_end;
        }
        model.lists.insert(kind, list);
    } else {
        // Clamped to the page's end when the update settles.
        model.scroll = (model.scroll as isize).saturating_add(by).max(0) as usize;
    }
}

/// The wheel moves the cursor; never under a dialog.
pub fn wheel(model: &mut Model, rows: isize) {
    if model.overlays.is_empty() {
        move_by(model, rows, false);
    }
}

/// A click puts the cursor on a row; it opens and decides nothing.
pub fn click(model: &mut Model, row: u16) {
    let Some(parts) = model.layout() else {
        return;
    };
    let first = parts.body.y + 1;
    if !model.overlays.is_empty()
        || !model.kind().is_list()
        || row < first
        || row >= parts.body.bottom()
    {
        return;
    }
    let mut list = model.list();
    let at = list.offset + usize::from(row - first);
    list.follow = false;
    list.select_row(&model.ids(), at);
    model.lists.insert(model.kind(), list);
}

/// Goes somewhere; false when the action does not.
pub fn opened(model: &mut Model, action: Action) -> bool {
    match action {
        Action::View(kind) => model.go(Place::Root(kind)),
        Action::Open => open_row(model),
        Action::Back => {
            if !model.back() {
                let kind = model.kind();
                model.filters.remove(&kind);
            }
        }
        Action::Previous => {
            if let Some(before) = model.before.take() {
                model.before = Some(std::mem::replace(&mut model.stack, before));
                model.arrived();
            }
        }
        Action::NextNeed => next_need(model),
        Action::Stepper | Action::CardJob => match model.job_here() {
            Some(job) => model.drill(Place::Job(job)),
            None => model.say("there is no job here", false),
        },
        Action::JobLog => {
            if let Some(job) = model.job_here() {
                model.drill(Place::JobLog(job));
            }
        }
        Action::NextPane | Action::PrevPane => {
            let by = if action == Action::NextPane { 1 } else { -1 };
            model.tab = model.tab.step(by);
            model.scroll = 0;
        }
        Action::PrevAttempt | Action::NextAttempt | Action::FirstAttempt | Action::LastAttempt => {
            step_attempt(model, action);
        }
        Action::Drift => {
            if model.place() != Place::Drift {
                model.go(Place::Drift);
            }
        }
        Action::Unfold => {
            model.unfolded = !model.unfolded;
            model.scroll = 0;
        }
        Action::PrevVersion => step_version(model, -1),
        Action::NextVersion => step_version(model, 1),
        Action::PrevRequest => step_request(model, false),
        Action::NextRequest => step_request(model, true),
        Action::Sort => {
            model.sort = next_sort(model.sort);
        }
        Action::Reverse => model.reverse = !model.reverse,
        Action::Details => {
            model.details = !model.details;
            let hidden = model
                .layout()
                .is_some_and(|parts| parts.details.height == 0);
            if model.details && hidden {
                model.details = false;
                model.say(
                    "the screen is too low for details; Enter opens the job",
                    true,
                );
            }
        }
        Action::Mark | Action::MarkAll | Action::MarkNone if model.kind() == Kind::Drift => {
            mark_difference(model, action);
        }
        Action::Mark | Action::MarkRange | Action::MarkAll | Action::MarkNone => {
            mark(model, action)
        }
        _ => return false,
    }
    true
}

/// Opens the row under the cursor; typed before the list could be read, it is remembered until it is.
pub fn open_row(model: &mut Model) {
    if !model.is_current() {
        model.open_when_read = true;
        return;
    }
    let list = model.list();
    let Some(target) = list.target().map(str::to_owned) else {
        if list.gone {
            model.say("what was under the cursor is gone from this list", true);
        }
        return;
    };
    match model.kind() {
        Kind::Jobs | Kind::Waits => model.drill(Place::Job(JobId(target))),
        Kind::Approvals => model.drill(Place::Card(ApprovalId(target))),
        Kind::ToVerify => {
            let found = model
                .snapshot
                .unsettled
                .iter()
                .find(|row| row.operation.as_str() == target)
                .map(|row| (row.job.clone(), row.operation.clone()));
            if let Some((job, operation)) = found {
                model.drill(Place::Operation(job, operation));
            }
        }
        Kind::Goals => {
            model.goal = Some(target.as_str().into());
            model.marks.clear();
            model.lists.remove(&Kind::Jobs);
            model.go(Place::Root(Kind::Jobs));
        }
        Kind::Alerts => {
            if let Ok(seq) = target.parse() {
                model.drill(Place::Alert(Seq(seq)));
            }
        }
        Kind::Drift => {
            let job = model.difference().and_then(|row| row.job.clone());
            open_job_of(model, job, "this difference concerns the whole goal");
        }
        Kind::Log => {
            let seq = target.parse().ok().map(Seq);
            let lines = &model.snapshot.log.lines;
            let job = lines
                .iter()
                .find(|line| Some(line.seq) == seq)
                .and_then(|line| line.job.clone());
            open_job_of(model, job, "this entry concerns the whole goal");
        }
        _ => {}
    }
}

fn open_job_of(model: &mut Model, job: Option<JobId>, otherwise: &str) {
    match job {
        Some(job) => model.drill(Place::Job(job)),
        None => model.say(otherwise, false),
    }
}

fn next_need(model: &mut Model) {
    let here = model.place();
    let place_of = |what: &NeedWhat| match what {
        NeedWhat::Approval(id) => Place::Card(id.clone()),
        NeedWhat::Verify(job, operation) => Place::Operation(job.clone(), operation.clone()),
        NeedWhat::Question(job, id) => Place::Question(job.clone(), id.clone()),
        NeedWhat::Alert(seq) => Place::Alert(*seq),
        NeedWhat::Drift => Place::Drift,
    };
    let needs = &model.snapshot.needs;
    let undecided = |what: &NeedWhat| match what {
        NeedWhat::Approval(id) => model.asked_about(id).is_none(),
        _ => true,
    };
    // Round the whole queue from where this is, so that what cannot be settled now is passed by.
    let from = needs
        .iter()
        .position(|need| place_of(&need.what) == here)
        .map_or(0, |at| at + 1);
    let (before, after) = needs.split_at(from.min(needs.len()));
    let next = after
        .iter()
        .chain(before)
        .find(|need| undecided(&need.what) && place_of(&need.what) != here)
        .map(|need| place_of(&need.what));
    match next {
        Some(place) => {
            if let Place::Card(id) = &place {
                model
                    .lists
                    .entry(Kind::Approvals)
                    .or_default()
                    .select(id.as_str());
            }
            if let Place::Alert(seq) = &place {
                let id = seq.to_string();
                model.lists.entry(Kind::Alerts).or_default().select(&id);
            }
            if let Place::Operation(_, id) = &place {
                model
                    .lists
                    .entry(Kind::ToVerify)
                    .or_default()
                    .select(id.as_str());
            }
            model.go(place);
        }
        None => model.say("everything that needed a person was decided here", false),
    }
}

fn step_attempt(model: &mut Model, action: Action) {
    let Some((at, _)) = model.attempt_shown() else {
        return;
    };
    let Some(job) = model.snapshot.job.clone() else {
        return;
    };
    let last = job.attempts.len().saturating_sub(1);
    let to = match action {
        Action::PrevAttempt => at.saturating_sub(1),
        Action::NextAttempt => (at + 1).min(last),
        Action::FirstAttempt => 0,
        _ => last,
    };
    model.attempt = job.attempts.get(to).map(|one| one.attempt);
    model.scroll = 0;
}

fn step_version(model: &mut Model, by: isize) {
    let Some((at, _)) = model.version_shown() else {
        return;
    };
    let last = model.snapshot.versions.len().saturating_sub(1);
    let to = at.saturating_add_signed(by).min(last);
    model.version = model.snapshot.versions.get(to).map(|one| one.row.version);
    model.scroll = 0;
}

/// To the next or previous request that is open and not decided here.
fn step_request(model: &mut Model, forward: bool) {
    let Some(here) = model.request().cloned() else {
        return;
    };
    // The list's own order: by time, then as the source has the jobs. A request that was decided
    // meanwhile stands among the decided ones; its time says where it was.
    let all = &model.snapshot.approvals;
    let place = all.iter().position(|row| row.approval == here.approval);
    let own = match place {
        Some(at) if here.state == "open" => at,
        _ => all
            .iter()
            .position(|row| row.state != "open" || row.requested_at > here.requested_at)
            .unwrap_or(all.len()),
    };
    let open: Vec<(usize, ApprovalId)> = all
        .iter()
        .enumerate()
        .filter(|(_, row)| row.state == "open" && row.approval != here.approval)
        .filter(|(_, row)| model.asked_about(&row.approval).is_none())
        .map(|(at, row)| (at, row.approval.clone()))
        .collect();
    let next = if forward {
        open.iter().find(|(at, _)| *at >= own).or(open.first())
    } else {
        open.iter().rev().find(|(at, _)| *at < own).or(open.last())
    };
    match next.cloned() {
        Some((_, id)) => {
            model
                .lists
                .entry(Kind::Approvals)
                .or_default()
                .select(id.as_str());
            model.stack.pop();
            model.drill(Place::Card(id));
        }
        None => model.say("no other request is open", false),
    }
}

fn next_sort(sort: JobSort) -> JobSort {
    match sort {
        JobSort::Position => JobSort::Id,
        JobSort::Id => JobSort::State,
        JobSort::State => JobSort::Tries,
        JobSort::Tries => JobSort::Progress,
        JobSort::Progress => JobSort::Queries,
        JobSort::Queries => JobSort::Position,
    }
}

fn mark_difference(model: &mut Model, action: Action) {
    let open = model
        .snapshot
        .drift
        .iter()
        .filter(|row| row.state == "open");
    match action {
        Action::MarkNone => model.drift_marks.clear(),
        Action::MarkAll => model.drift_marks = open.map(|row| row.item.0.clone()).collect(),
        _ => {
            let mut list = model.list();
            let target = list.target().map(str::to_owned);
            let Some(target) = target.filter(|id| open.clone().any(|row| row.item.0 == *id)) else {
                return;
            };
            if !model.drift_marks.remove(&target) {
                model.drift_marks.insert(target);
            }
            list.step(&model.ids(), 1);
            model.lists.insert(Kind::Drift, list);
        }
    }
}

fn mark(model: &mut Model, action: Action) {
    let mut list = model.list();
    let target = list.target().map(JobId::from);
    let all = match &model.snapshot.jobs {
        Some(jobs) => jobs.ids.clone(),
        None => Arc::default(),
    };
    match action {
        Action::MarkNone => model.marks.clear(),
        Action::MarkAll if all.len() > MAX_MARKS => {
            model.say(
                format!("at most {MAX_MARKS} jobs can be marked; filter first"),
                true,
            );
        }
        Action::MarkAll => model.marks.extend(all.iter().cloned()),
        Action::MarkRange => {
            let place = |job: &Option<JobId>| all.iter().position(|one| Some(one) == job.as_ref());
            let from = place(&model.last_mark).or(place(&target));
            if let (Some(from), Some(to)) = (from, place(&target)) {
                let range = from.min(to)..=from.max(to);
                if range.clone().count() + model.marks.len() > MAX_MARKS {
                    model.say(format!("at most {MAX_MARKS} jobs can be marked"), true);
                    return;
                }
                model
                    .marks
                    .extend(all.get(range).unwrap_or(&[]).iter().cloned());
            }
        }
        _ => {
            let Some(job) = target else { return };
            if !model.marks.remove(&job) {
                model.marks.insert(job.clone());
            }
            model.last_mark = Some(job);
            list.step(&model.ids(), 1);
            model.lists.insert(Kind::Jobs, list);
        }
    }
}
