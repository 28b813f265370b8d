//! Asking for something: dialogs, and what they send.

use super::msg::Effect;
use super::overlay::{Ask, Focus, Overlay, Purpose};
use super::place::{Kind, Place};
use super::{Model, ask_goal};
use crate::ledger::Act;
use crate::model::{Action as Effected, DriftId, JobId};
use crate::tui::keymap::Action;
use ratatui_textarea::{CursorMove, TextArea};

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

/// The jobs that something is asked of, for a dialog.
fn names(ask: &Ask) -> Vec<String> {
    ask.items.iter().map(|(job, _)| job.to_string()).collect()
}

/// A dialog that asks for a text; what was typed for the same thing before is there again.
pub fn text(model: &Model, purpose: Purpose, ask: Ask) -> Overlay {
    let kept = model.draft(&draft_name(&purpose, &ask));
    let mut area = TextArea::new(kept.lines().map(str::to_owned).collect());
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    Overlay::Text {
        purpose,
        ask,
        area: Box::new(area),
        focus: Focus::Text,
    }
}

/// Under what a text is kept that was typed and not sent.
pub fn draft_name(purpose: &Purpose, ask: &Ask) -> String {
    let way = match purpose {
        Purpose::Rule { happened: true, .. } => " that it happened",
        Purpose::Rule { .. } => " that it did not happen",
        Purpose::Undone => " that it was undone",
        _ => "",
    };
    format!("{}{way}", ask.what)
}

/// Pauses or resumes; reversible, so one job needs no second question.
pub fn pause(model: &mut Model) -> Vec<Effect> {
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
            names: names(&ask),
            ask,
            yes: false,
        });
        return Vec::new();
    }
    submit(model, ask)
}

/// Opens what asks for more: a dialog, a text, a search.
pub fn dialog(model: &mut Model, action: Action) -> bool {
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
                    names: names(&ask),
                    ask,
                    effect,
                    yes: false,
                }
            } else {
                Overlay::Confirm { ask, effect }
            }
        }
        Action::AcceptDrift => ask_goal::accept_drift(model),
        Action::PutInForce => match ask_goal::put_in_force(model) {
            Some(overlay) => overlay,
            None => return true,
        },
        Action::AmendFile => ask_goal::amend_file(model),
        Action::RuleSpin => match ask_goal::rule_on_alarm(model) {
            Some(overlay) => overlay,
            None => return true,
        },
        Action::Answer => match answer(model) {
            Some(overlay) => overlay,
            None => return true,
        },
        Action::Comment | Action::HandOver | Action::RollBack => text_dialog(model, action),
        _ => return false,
    };
    model.overlays.push(overlay);
    true
}

/// The answer to what the worker of the job here asks; the question is the one that was seen.
fn answer(model: &Model) -> Option<Overlay> {
    let job = model.job_here()?;
    let open = model.question_of(&job)?;
    let act = Act::Answer {
        question: open.question.clone(),
        text: String::new(),
    };
    let purpose = Purpose::Answer {
        asked: open.text.clone(),
    };
    let ask = Ask {
        what: format!("answer {job}"),
        items: vec![(job, act)],
    };
    Some(text(model, purpose, ask))
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
        Action::RollBack => (
            Purpose::RollBack,
            "roll back",
            Act::RollBack {
                reason: String::new(),
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
    let ask = Ask {
        what: format!("{verb} {}", name_of(&jobs)),
        items: jobs.into_iter().map(|job| (job, act.clone())).collect(),
    };
    text(model, purpose, ask)
}

/// What a request asks for.
fn noun(action: Effected) -> &'static str {
    match action {
        Effected::RollBack => "the rollback",
        _ => "the cutover",
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
        let ask = Ask {
            what: format!("reject {} of {job}", noun(request.action)),
            items: vec![(job, act)],
        };
        return Some(text(model, Purpose::Reject, ask));
    }
    let high_risk = model.row_of(&job).is_some_and(|row| row.high_risk);
    let effect = match request.action {
        Effected::RollBack => {
            format!("Take {job} out of production; its old job is switched on again.")
        }
        _ => format!("Cut {job} over to production; its old job is switched off."),
    };
    let name = job.to_string();
    let ask = Ask {
        what: match request.action {
            Effected::RollBack => format!("approve the rollback of {job}"),
            _ => format!("approve {job}"),
        },
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

/// What nobody can mean any more: the thing decided is another one by now.
fn outdated(model: &Model, act: &Act) -> Option<&'static str> {
    let shot = &model.snapshot;
    match act {
        Act::Approve { approval, digest }
        | Act::Reject {
            approval, digest, ..
        } => model
            .request()
            .is_some_and(|shown| {
                shown.approval == *approval && (shown.digest != *digest || shown.state != "open")
            })
            .then_some("the request changed meanwhile; nothing was sent"),
        Act::AcceptDrift { items } => {
            let open = |id: &DriftId| {
                let mut rows = shot.drift.iter();
                rows.any(|row| row.item == *id && row.state == "open")
            };
            let all = items.iter().all(open);
            (!all).then_some("the differences changed meanwhile; nothing was sent")
        }
        Act::Amend { base, .. } => shot
            .contract
            .as_ref()
            .is_some_and(|row| row.digest != *base)
            .then_some("another version took force meanwhile; nothing was sent"),
        _ => None,
    }
}

/// Sends what a dialog asked, unless what it decides is something else by now.
pub fn submit(model: &mut Model, ask: Ask) -> Vec<Effect> {
    submit_typed(model, ask, None)
}

/// The same, with what was typed for it and under which name that is kept if it is refused.
pub fn submit_typed(model: &mut Model, ask: Ask, typed: Option<(String, String)>) -> Vec<Effect> {
    let Some(goal) = model.snapshot.goal.as_ref().map(|goal| goal.goal.clone()) else {
        model.say("there is no goal to ask this for", true);
        return Vec::new();
    };
    if let Some(why) = ask.items.iter().find_map(|(_, act)| outdated(model, act)) {
        model.say(why, true);
        return Vec::new();
    }
    // What was said before would hide that this is pending.
    model.note = None;
    let mut effects = Vec::new();
    let many = ask.items.len() > 1;
    for (job, act) in ask.items {
        let approval = match &act {
            Act::Approve { approval, .. } | Act::Reject { approval, .. } => Some(approval.clone()),
            _ => None,
        };
        let what = if many {
            format!("{} ({job})", ask.what)
        } else {
            ask.what.clone()
        };
        let local = model.remember(what, approval, typed.clone());
        effects.push(Effect::Submit {
            local,
            goal: goal.clone(),
            job,
            act,
        });
    }
    model.marks.clear();
    model.drift_marks.clear();
    effects
}
