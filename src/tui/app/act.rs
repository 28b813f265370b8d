//! What each action does, and why it cannot be done now.

use super::msg::Effect;
use super::overlay::{Ask, Overlay};
use super::place::{Kind, Place};
use super::{Answer, Frozen, Model, ask, ask_goal, go};
use crate::ledger::Act;
use crate::model::JobState;
use crate::tui::Leave;
use crate::tui::keymap::Action;
use crate::tui::text::{Line, sentence, time};
use crate::tui::view;

/// A second Ctrl-C counts for so long.
const TWICE_MS: u64 = 2_000;

/// Why an action does nothing now; `None` when it can be done. The footer dims it, pressing it says so.
pub fn unavailable(model: &Model, action: Action) -> Option<String> {
    let no = |text: &str| Some(text.to_owned());
    match action {
        Action::Approve | Action::Reject => decision_unavailable(model),
        Action::Pause | Action::Retry | Action::Comment | Action::HandOver | Action::RollBack => {
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
                Action::RollBack if row.state != JobState::CutOver => {
                    no("only a job in production can be rolled back")
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
        Action::Answer => match model.job_here() {
            Some(job) if model.question_of(&job).is_some() => None,
            _ => no("no worker asks anything about this job now"),
        },
        Action::PrevVersion | Action::NextVersion if model.snapshot.versions.len() < 2 => {
            no("the contract has one version; dogwatch amend makes the next")
        }
        Action::AcceptDrift
        | Action::CompareAgain
        | Action::PutInForce
        | Action::ReadAgain
        | Action::RuleSpin => ask_goal::unavailable(model, action),
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
    if model.row_of(&request.job).is_none() {
        // Its risk decides which question is asked.
        return Some("the job of this request is still being read".to_owned());
    }
    if model.asked_about(&request.approval).is_some() {
        return Some("already decided here; the engine has not answered yet".to_owned());
    }
    ask_goal::not_now(model, "the request was drawn")
}

/// Does an action of the current view.
pub fn dispatch(model: &mut Model, action: Action) -> Vec<Effect> {
    if let Some(why) = unavailable(model, action) {
        model.say(why, true);
        return Vec::new();
    }
    if go::moved(model, action) || go::opened(model, action) || ask::dialog(model, action) {
        return Vec::new();
    }
    match action {
        Action::Pause => ask::pause(model),
        Action::CompareAgain => ask_goal::compare_again(model),
        Action::ReadAgain => ask_goal::read_again(model),
        Action::LookAgain => {
            if let Place::Operation(job, operation) = model.place() {
                let what = format!("look again at {job}");
                let wish = Ask {
                    items: vec![(job, Act::LookAgain { operation })],
                    what,
                };
                return ask::submit(model, wish);
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
        Action::WouldWake => {
            let text = would_wake(model);
            model.say(text, false);
            Vec::new()
        }
        Action::Copy => copy(model),
        Action::CopyText => match shown_text(model) {
            Some(text) => vec![Effect::Copy(text)],
            None => {
                model.say("the screen is too small to show anything", true);
                Vec::new()
            }
        },
        Action::Mouse => {
            model.mouse = !model.mouse;
            let word = if model.mouse { "on" } else { "off" };
            model.say(format!("mouse {word}"), false);
            vec![Effect::Mouse(model.mouse)]
        }
        Action::Tour => {
            model.tour = match model.tour {
                Some(_) => None,
                None => Some(super::tour::Tour::default()),
            };
            Vec::new()
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

/// Whether the wait of the job here would end now, from what the ledger knows.
fn would_wake(model: &Model) -> String {
    let shot = &model.snapshot;
    let now = shot.now();
    let Some(row) = model.job_here().and_then(|job| model.row_of(&job).cloned()) else {
        return "there is no job here".to_owned();
    };
    let Some(wait) = &row.wait else {
        return format!("{} does not wait", row.job);
    };
    if wait.next_check <= now {
        return "yes: it is due to be looked at".to_owned();
    }
    let looks = format!(
        "not yet: looked at {}, in {}",
        time::instant(wait.next_check, now, &shot.zone),
        time::span(wait.next_check.since(now))
    );
    let facts = shot.job.as_ref().filter(|data| data.row.job == row.job);
    let wakes: Vec<String> = facts
        .and_then(|data| data.facts.wait.as_ref())
        .map(|wait| {
            let of = |wake| sentence::of_wake(wake, now, &shot.zone);
            wait.wakes.iter().map(of).collect()
        })
        .unwrap_or_default();
    if wakes.is_empty() {
        looks
    } else {
        format!("{looks}; or by {}", wakes.join(", or "))
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

fn copy(model: &mut Model) -> Vec<Effect> {
    let text = match model.place() {
        Place::Card(_) => model.request().map(|request| request.digest.0.clone()),
        Place::Operation(_, operation) => Some(operation.0),
        Place::Question(job, id) => {
            let row = model.question_of(&job).filter(|row| row.question == id);
            row.map(|row| row.text.clone())
        }
        Place::Alert(seq) => {
            let row = model.snapshot.alerts.iter().find(|row| row.seq == seq);
            row.map(|row| row.evidence.clone())
        }
        Place::Job(job) | Place::JobLog(job) => Some(job.0),
        Place::Root(Kind::Log) => {
            let list = model.list();
            let lines = model.log_lines();
            lines
                .iter()
                .find(|line| Some(line.seq.to_string().as_str()) == list.target())
                .map(|line| line.text.clone())
        }
        Place::Drift => model.difference().map(|row| row.item.0.clone()),
        Place::Amendment => model.proposal().map(|one| one.new_text.clone()),
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

/// The view as text, without colours: the whole page where it is one, else the rows shown.
fn shown_text(model: &Model) -> Option<String> {
    let lines: Vec<String> = if model.kind().is_list() {
        view::rows_as_text(model)?
    } else {
        model.page.iter().map(Line::plain).collect()
    };
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    Some(lines.join("\n"))
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
