//! What each action does, and why it cannot be done now.

use super::msg::Effect;
use super::overlay::{Ask, Focus, Overlay, Purpose};
use super::place::{Kind, Place};
use super::snapshot::NeedWhat;
use super::{Answer, Frozen, Model};
use crate::ledger::Act;
use crate::ledger::read::JobSort;
use crate::model::{ApprovalId, JobId, JobState, Seq};
use crate::tui::Leave;
use crate::tui::keymap::Action;
use ratatui_textarea::TextArea;

/// Marks by `*` at most; more are refused, since a dialog must list its targets by name.
const MAX_MARKS: usize = 1_000;
/// A second Ctrl-C counts for so long.
const TWICE_MS: u64 = 2_000;

/// Why an action does nothing now; `None` when it can be done. The footer dims it, pressing it says so.
pub fn unavailable(model: &Model, action: Action) -> Option<String> {
    let no = |text: &str| Some(text.to_owned());
    match action {
        Action::Approve | Action::Reject => decision_unavailable(model),
        Action::Pause | Action::Retry | Action::Comment | Action::HandOver => {
            if !model.marks.is_empty() && model.kind() == Kind::Jobs {
                return None;
            }
            let Some(job) = model.job_here() else {
                return match model.list().gone {
                    true => no("the job under the cursor is gone from this list; move to another"),
                    false => no("there is no job here"),
                };
            };
            let row = model.row_of(&job)?;
            match action {
                Action::Pause if row.state.has_ended() => {
                    no("the job has ended; there is nothing to pause")
                }
                Action::Retry if row.state != JobState::HandedOver => {
                    no("only a job that was handed over can be tried again")
                }
                Action::HandOver if row.state.has_ended() => no("the job has ended already"),
                _ => None,
            }
        }
        Action::Rule | Action::LookAgain if model.snapshot.job.is_none() => {
            no("still reading the ledger")
        }
        Action::PrevAttempt | Action::NextAttempt | Action::FirstAttempt | Action::LastAttempt => {
            let none = model
                .snapshot
                .job
                .as_ref()
                .is_none_or(|job| job.attempts.is_empty());
            if none {
                no("there is no attempt yet")
            } else {
                None
            }
        }
        Action::NextNeed if model.snapshot.needs.is_empty() => no("nothing needs a person now"),
        _ => None,
    }
}

fn decision_unavailable(model: &Model) -> Option<String> {
    let Some(request) = model.request() else {
        return Some("the request is still being read".to_owned());
    };
    if request.state != "open" {
        return Some(format!("this request is {} already", request.state));
    }
    if model.asked_about(&request.approval).is_some() {
        return Some("already decided here; the engine has not answered yet".to_owned());
    }
    if model.frozen.is_some() {
        return Some(
            "the display is frozen; z thaws it, then decide on what is true now".to_owned(),
        );
    }
    if model.arming_left().is_some() {
        return Some("the request was drawn only just now; read it first".to_owned());
    }
    None
}

/// Does an action of the current view.
pub fn dispatch(model: &mut Model, action: Action) -> Vec<Effect> {
    if let Some(why) = unavailable(model, action) {
        model.say(why, true);
        return Vec::new();
    }
    if moved(model, action) || opened(model, action) || dialog(model, action) {
        return Vec::new();
    }
    match action {
        Action::Pause => pause(model),
        Action::LookAgain => {
            if let Place::Operation(job, operation) = model.place() {
                let what = format!("look again at {job}");
                let ask = Ask {
                    items: vec![(job, Act::LookAgain { operation })],
                    what,
                };
                return submit(model, ask);
            }
            Vec::new()
        }
        Action::Freeze => {
            model.frozen = match model.frozen.take() {
                Some(frozen) => {
                    if let Some(held) = frozen.held {
                        model.snapshot = *held;
                    }
                    None
                }
                None => Some(Frozen {
                    since_ms: model.now.ms,
                    held: None,
                }),
            };
            Vec::new()
        }
        Action::Copy => copy(model),
        Action::Mouse => {
            model.mouse = !model.mouse;
            let word = if model.mouse { "on" } else { "off" };
            model.say(format!("mouse {word}"), false);
            vec![Effect::Mouse(model.mouse)]
        }
        Action::Repaint => vec![Effect::Repaint],
        Action::Suspend => vec![Effect::Suspend],
        Action::Quit => {
            if model.back() {
                return Vec::new();
            }
            leave(model)
        }
        Action::Interrupt => interrupt(model),
        _ => Vec::new(),
    }
}

fn interrupt(model: &mut Model) -> Vec<Effect> {
    let again = model
        .interrupted_ms
        .is_some_and(|at| model.now.ms.saturating_sub(at) < TWICE_MS);
    if again {
        model.interrupted_ms = None;
        return leave(model);
    }
    model.interrupted_ms = Some(model.now.ms);
    model.say("Ctrl-C again leaves; it never stops work", false);
    Vec::new()
}

/// The dialog when the engine runs here; otherwise there is nothing to ask.
fn leave(model: &mut Model) -> Vec<Effect> {
    if model.engine_here && model.engine_ended.is_none() {
        model.overlays.push(Overlay::Leave);
        return Vec::new();
    }
    vec![Effect::Leave(Leave::Quit)]
}

fn moved(model: &mut Model, action: Action) -> bool {
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
    let kind = model.kind();
    if kind.is_list() {
        let mut list = model.list();
        list.step(&model.ids(), by);
        if kind == Kind::Log {
            list.follow = action == Action::Bottom;
        }
        model.lists.insert(kind, list);
    } else {
        // Clamped to the page's end when the update settles.
        model.scroll = (model.scroll as isize).saturating_add(by).max(0) as usize;
    }
    true
}

fn opened(model: &mut Model, action: Action) -> bool {
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
        Action::Stepper | Action::CardJob => {
            if let Some(job) = model.job_here() {
                model.drill(Place::Job(job));
            }
        }
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
        Action::PrevRequest => step_request(model, false),
        Action::NextRequest => step_request(model, true),
        Action::Sort => {
            model.sort = next_sort(model.sort);
        }
        Action::Reverse => model.reverse = !model.reverse,
        Action::Details => model.details = !model.details,
        Action::Mark | Action::MarkRange | Action::MarkAll | Action::MarkNone => {
            mark(model, action)
        }
        _ => return false,
    }
    true
}

fn open_row(model: &mut Model) {
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
            let seq = target.parse().ok().map(Seq);
            let alerts = &model.snapshot.alerts;
            let job = alerts
                .iter()
                .find(|row| Some(row.seq) == seq)
                .and_then(|row| row.job.clone());
            open_job_of(model, job, "this alert concerns the whole goal");
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
    let places: Vec<Place> = model
        .snapshot
        .needs
        .iter()
        .filter_map(|need| match &need.what {
            NeedWhat::Approval(id) if model.asked_about(id).is_some() => None,
            NeedWhat::Approval(id) => Some(Place::Card(id.clone())),
            NeedWhat::Verify(job, operation) => {
                Some(Place::Operation(job.clone(), operation.clone()))
            }
            NeedWhat::Alert(_) => Some(Place::Root(Kind::Alerts)),
        })
        .collect();
    let after = places
        .iter()
        .position(|place| *place == here)
        .map(|at| at + 1);
    let next = after
        .and_then(|at| places.get(at))
        .or(places.first())
        .cloned();
    match next {
        Some(place) => {
            if let Place::Card(id) = &place {
                model
                    .lists
                    .entry(Kind::Approvals)
                    .or_default()
                    .select(id.as_str());
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

/// To the next or previous request that is open and not decided here.
fn step_request(model: &mut Model, forward: bool) {
    let Some(here) = model.request().cloned() else {
        return;
    };
    let key = |row: &crate::ledger::read::ApprovalRow| (row.requested_at, row.job.clone());
    let own = key(&here);
    let mut open: Vec<_> = model
        .snapshot
        .approvals
        .iter()
        .filter(|row| row.state == "open" && row.approval != here.approval)
        .filter(|row| model.asked_about(&row.approval).is_none())
        .map(|row| (key(row), row.approval.clone()))
        .collect();
    open.sort();
    let next = if forward {
        open.iter().find(|(key, _)| *key > own).or(open.first())
    } else {
        open.iter()
            .rev()
            .find(|(key, _)| *key < own)
            .or(open.last())
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

fn mark(model: &mut Model, action: Action) {
    let mut list = model.list();
    let target = list.target().map(JobId::from);
    let all: Vec<JobId> = match &model.snapshot.jobs {
        Some(jobs) => jobs.ids.iter().cloned().collect(),
        None => Vec::new(),
    };
    match action {
        Action::MarkNone => model.marks.clear(),
        Action::MarkAll if all.len() > MAX_MARKS => {
            model.say(
                format!("at most {MAX_MARKS} jobs can be marked; filter first"),
                true,
            );
        }
        Action::MarkAll => model.marks.extend(all),
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

/// Jobs that an action concerns: the marked ones, or the one here.
fn targets(model: &Model) -> Vec<JobId> {
    if model.kind() == Kind::Jobs && !model.marks.is_empty() {
        return model.marks.iter().cloned().collect();
    }
    model.job_here().into_iter().collect()
}

fn name_of(jobs: &[JobId]) -> String {
    match jobs {
        [one] => one.to_string(),
        many => format!("{} jobs", many.len()),
    }
}

fn pause(model: &mut Model) -> Vec<Effect> {
    let jobs = targets(model);
    let all_paused = jobs
        .iter()
        .all(|job| model.row_of(job).is_some_and(|row| row.paused));
    let (act, verb) = if all_paused {
        (Act::Resume, "resume")
    } else {
        (Act::Pause, "pause")
    };
    let ask = Ask {
        what: format!("{verb} {}", name_of(&jobs)),
        items: jobs.into_iter().map(|job| (job, act.clone())).collect(),
    };
    if ask.items.len() > 1 {
        model.overlays.push(Overlay::Targets {
            effect: format!(
                "{verb} {} jobs: what runs goes on, nothing new is started.",
                ask.items.len()
            ),
            ask,
            yes: false,
        });
        return Vec::new();
    }
    submit(model, ask)
}

/// Opens what asks for more: a dialog, a text, a search.
fn dialog(model: &mut Model, action: Action) -> bool {
    let kind = model.kind();
    let overlay = match action {
        Action::Help => Overlay::Help {
            kind,
            query: String::new(),
            selected: 0,
        },
        Action::Palette => Overlay::Palette {
            text: String::new(),
            selected: 0,
        },
        Action::Filter => Overlay::Filter {
            kind,
            text: model.filters.get(&kind).cloned().unwrap_or_default(),
        },
        Action::Report => Overlay::Closing { scroll: 0 },
        Action::Approve | Action::Reject => match decide(model, action == Action::Approve) {
            Some(overlay) => overlay,
            None => return true,
        },
        Action::Rule => match model.place() {
            Place::Operation(job, operation) => Overlay::Rule {
                job,
                operation,
                reference: None,
            },
            _ => return true,
        },
        Action::Retry => {
            let jobs = targets(model);
            let ask = Ask {
                what: format!("retry {}", name_of(&jobs)),
                items: jobs.iter().map(|job| (job.clone(), Act::Retry)).collect(),
            };
            let effect = format!("Begin {} again from the first strategy.", name_of(&jobs));
            if jobs.len() > 1 {
                Overlay::Targets {
                    ask,
                    effect,
                    yes: false,
                }
            } else {
                Overlay::Confirm { ask, effect }
            }
        }
        Action::Comment | Action::HandOver => text_dialog(model, action),
        _ => return false,
    };
    model.overlays.push(overlay);
    true
}

fn text_dialog(model: &Model, action: Action) -> Overlay {
    let jobs = targets(model);
    let (purpose, verb, act) = match action {
        Action::Comment => (
            Purpose::Comment,
            "comment on",
            Act::Comment {
                text: String::new(),
            },
        ),
        _ => (
            Purpose::HandOver,
            "hand over",
            Act::HandOver {
                reason: String::new(),
            },
        ),
    };
    Overlay::Text {
        purpose,
        ask: Ask {
            what: format!("{verb} {}", name_of(&jobs)),
            items: jobs.into_iter().map(|job| (job, act.clone())).collect(),
        },
        area: Box::new(TextArea::default()),
        focus: Focus::Text,
    }
}

/// The dialog for a decision on the request shown; id and digest are what was seen.
fn decide(model: &Model, approve: bool) -> Option<Overlay> {
    let request = model.request()?;
    let job = request.job.clone();
    let (approval, digest) = (request.approval.clone(), request.digest.clone());
    if !approve {
        let act = Act::Reject {
            approval,
            digest,
            reason: String::new(),
        };
        return Some(Overlay::Text {
            purpose: Purpose::Reject,
            ask: Ask {
                what: format!("reject {job}"),
                items: vec![(job, act)],
            },
            area: Box::new(TextArea::default()),
            focus: Focus::Text,
        });
    }
    let high_risk = model.row_of(&job).is_some_and(|row| row.high_risk);
    let effect = format!("Cut {job} over to production; its old job is switched off.");
    let name = job.to_string();
    let ask = Ask {
        what: format!("approve {job}"),
        items: vec![(job, Act::Approve { approval, digest })],
    };
    Some(if high_risk {
        Overlay::TypeName {
            ask,
            effect,
            name,
            typed: String::new(),
        }
    } else {
        Overlay::Confirm { ask, effect }
    })
}

/// Sends what a dialog asked, unless the request it decides is another one by now.
pub fn submit(model: &mut Model, ask: Ask) -> Vec<Effect> {
    let Some(goal) = model.snapshot.goal.as_ref().map(|goal| goal.goal.clone()) else {
        model.say("there is no goal to ask this for", true);
        return Vec::new();
    };
    let mut effects = Vec::new();
    let many = ask.items.len() > 1;
    for (job, act) in ask.items {
        let approval = match &act {
            Act::Approve { approval, digest }
            | Act::Reject {
                approval, digest, ..
            } => {
                let changed = model.request().is_some_and(|shown| {
                    shown.approval == *approval
                        && (shown.digest != *digest || shown.state != "open")
                });
                if changed {
                    model.say("the request changed meanwhile; nothing was sent", true);
                    return Vec::new();
                }
                Some(approval.clone())
            }
            _ => None,
        };
        let what = if many {
            format!("{} ({job})", ask.what)
        } else {
            ask.what.clone()
        };
        let local = model.remember(what, approval);
        effects.push(Effect::Submit {
            local,
            goal: goal.clone(),
            job,
            act,
        });
    }
    model.marks.clear();
    effects
}

fn copy(model: &mut Model) -> Vec<Effect> {
    let text = match model.place() {
        Place::Card(_) => model.request().map(|request| request.digest.0.clone()),
        Place::Operation(_, operation) => Some(operation.0),
        Place::Job(job) | Place::JobLog(job) => Some(job.0),
        Place::Root(Kind::Log) => {
            let list = model.list();
            let lines = model.log_lines();
            lines
                .iter()
                .find(|line| Some(line.seq.to_string().as_str()) == list.target())
                .map(|line| line.text.clone())
        }
        Place::Root(Kind::Goal) => model.snapshot.contract_text.clone(),
        Place::Root(_) => model.list().target().map(str::to_owned),
    };
    match text {
        Some(text) => vec![Effect::Copy(text)],
        None => {
            model.say("there is nothing to copy here", true);
            Vec::new()
        }
    }
}

/// The last thing asked that is worth a line: pending ones, and answers for a while.
pub fn last_asked(model: &Model) -> Option<&super::Asked> {
    let pending = model
        .asked
        .iter()
        .rev()
        .find(|asked| asked.answer == Answer::Pending);
    pending.or(model.asked.last())
}
