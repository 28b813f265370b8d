//! `update(&mut Model, Now, Msg) -> Vec<Effect>`: pure but for the model; time comes in as a parameter.

use super::load::Want;
use super::msg::{Effect, Msg, Now};
use super::overlay::Overlay;
use super::snapshot::Snapshot;
use super::{Answer, Model, act, go, overlay_keys, tour};
use crate::tui::Leave;
use crate::tui::amend::Proposal;
use crate::tui::keymap::Key;
use crate::tui::view;

/// Changes the model by one message and says what is to be done outside.
pub fn update(model: &mut Model, now: Now, msg: Msg) -> Vec<Effect> {
    model.now = now;
    if model
        .note
        .as_ref()
        .is_some_and(|note| note.until_ms <= now.ms)
    {
        model.note = None;
    }
    let effects = match msg {
        Msg::Key(key) => on_key(model, key),
        Msg::Paste(text) => {
            overlay_keys::paste(model, &text);
            Vec::new()
        }
        Msg::Wheel(rows) => {
            go::wheel(model, rows);
            Vec::new()
        }
        Msg::Click(_, row) => {
            go::click(model, row);
            Vec::new()
        }
        Msg::Resize(width, height) => {
            model.size = (width, height);
            Vec::new()
        }
        Msg::Snapshot(shot) => on_snapshot(model, shot),
        Msg::LoadFailed(why) => {
            model.load_error = Some(why);
            Vec::new()
        }
        Msg::Submitted { local, result } => {
            on_submitted(model, local, result);
            Vec::new()
        }
        Msg::Proposed { file, result } => {
            on_proposed(model, &file, result);
            Vec::new()
        }
        Msg::NoticeFailed(why) => {
            model.say(why, true);
            Vec::new()
        }
        Msg::Drawn => {
            on_drawn(model);
            Vec::new()
        }
        Msg::Tick => Vec::new(),
        Msg::EngineEnded(result) => {
            if let Err(why) = &result {
                let text = format!("the engine of this process ended: {why}");
                model.say(text, true);
            }
            model.engine_ended = Some(result);
            Vec::new()
        }
        Msg::TtyLost => vec![Effect::Leave(Leave::TtyLost)],
        Msg::Terminate => vec![Effect::Leave(Leave::Terminated)],
        Msg::Suspend => vec![Effect::Suspend],
    };
    settle(model);
    if model.open_when_read && model.is_current() {
        model.open_when_read = false;
        go::open_row(model);
        settle(model);
    }
    tour::watch(model);
    effects
}

fn on_key(model: &mut Model, key: Key) -> Vec<Effect> {
    // It was read, and must not stand over what this key brings.
    if model.note.as_ref().is_some_and(|note| !note.bad) {
        model.note = None;
    }
    if !model.overlays.is_empty() {
        return overlay_keys::key(model, key);
    }
    if key != Key::ctrl('c') {
        model.interrupted_ms = None;
    }
    model.open_when_read = false;
    match model.keymap.find(key, model.kind()) {
        Some(entry) => {
            tour::pressed(model, entry.action);
            act::dispatch(model, entry.action)
        }
        None => {
            if model.keymap.is_left_out(key, model.kind()) {
                model.say("read-only: this interface changes nothing", true);
            }
            Vec::new()
        }
    }
}

fn on_snapshot(model: &mut Model, shot: Box<Snapshot>) -> Vec<Effect> {
    model.load_error = None;
    if model.goal.is_none() {
        // From here on it is this goal, also when it ends and others begin.
        model.goal = shot.goal.as_ref().map(|goal| goal.goal.clone());
    }
    learn_answers(model, &shot);
    let effects = notify(model, &shot);
    if let Some(goal) = shot.goal.as_ref().filter(|goal| goal.ended.is_none()) {
        // A goal that goes on again ends again.
        model.closing_shown.remove(&goal.goal);
    }
    if let Some(goal) = shot.goal.as_ref().filter(|goal| goal.ended.is_some())
        && model.closing_shown.insert(goal.goal.clone())
        && model.overlays.is_empty()
    {
        model.overlays.push(Overlay::Closing { scroll: 0 });
    }
    // Frozen means that what is shown does not change by itself; going elsewhere still shows it.
    let elsewhere = match (&model.snapshot.want, &shot.want) {
        (Some(shown), Some(new)) => {
            let what = |want: &Want| (want.place.clone(), want.query.clone(), want.transcript);
            what(shown) != what(new) || (&shown.window, &shown.beside) != (&new.window, &new.beside)
        }
        _ => true,
    };
    match &mut model.frozen {
        Some(frozen) if !elsewhere => frozen.held = Some(shot),
        _ => model.snapshot = *shot,
    }
    effects
}

/// Says what needs a person and did not before.
fn notify(model: &mut Model, shot: &Snapshot) -> Vec<Effect> {
    let every_ms = model.notify.then_some(model.notify_every_ms);
    let notice = model.heard.news(shot, model.now.ms, every_ms);
    notice.map(Effect::Notify).into_iter().collect()
}

fn learn_answers(model: &mut Model, shot: &Snapshot) {
    let mut refused = Vec::new();
    for asked in &mut model.asked {
        let Some(row) = asked.id.as_ref().and_then(|id| shot.decisions.get(id)) else {
            continue;
        };
        match row.state.as_str() {
            "accepted" => asked.answer = Answer::Accepted(row.why.clone()),
            "refused" => {
                // What was typed for it is there again when it is asked for once more.
                refused.extend(asked.typed.take());
                asked.answer = Answer::Refused(row.why.clone());
            }
            _ => {}
        }
    }
    for (what, text) in refused {
        model.keep_draft(&what, &text);
    }
}

fn on_submitted(model: &mut Model, local: u64, result: Result<crate::model::DecisionId, String>) {
    let mut refused = None;
    if let Some(asked) = model.asked.iter_mut().find(|asked| asked.local == local) {
        match result {
            Ok(id) => asked.id = Some(id),
            Err(why) => {
                refused = asked.typed.take();
                asked.answer = Answer::Refused(why);
            }
        }
    }
    if let Some((what, text)) = refused {
        model.keep_draft(&what, &text);
    }
}

/// A changed goal file was read; one that was not asked for last is nothing to look at any more.
fn on_proposed(model: &mut Model, file: &str, result: Result<Box<Proposal>, String>) {
    if let Some(amendment) = &mut model.amendment
        && amendment.file == file
        && amendment.read.is_none()
    {
        amendment.read = Some(result);
        model.scroll = 0;
    }
}

fn on_drawn(model: &mut Model) {
    let Some(shown) = model.deciding() else {
        return;
    };
    let same = model.drawn.as_ref().is_some_and(|(what, _)| *what == shown);
    // What lies under a dialog or below the floor is not on the screen.
    if !same && model.overlays.is_empty() && model.layout().is_some() {
        model.drawn = Some((shown, model.now.ms));
    }
}

/// Fits cursors and scrolling to what is there now.
fn settle(model: &mut Model) {
    let kind = model.kind();
    if kind.is_list() {
        if !model.is_current() {
            return;
        }
        let height = model.list_height();
        let mut list = model.list();
        list.settle(&model.ids(), height);
        model.lists.insert(kind, list);
    } else if let Some(parts) = model.layout() {
        model.page = view::page(model, parts.body.width).into();
        let most = model
            .page
            .len()
            .saturating_sub(usize::from(parts.body.height));
        model.scroll = model.scroll.min(most);
    }
}

/// When something shown changes by the passing of time alone, in the interface's milliseconds.
pub fn next_deadline(model: &Model) -> Option<u64> {
    let now = model.now.ms;
    let note = model.note.as_ref().map(|note| note.until_ms);
    let arming = if model.overlays.is_empty() {
        match (&model.drawn, model.arming_left()) {
            (Some(_), Some(left)) => Some(now + left),
            _ => None,
        }
    } else {
        None
    };
    let frozen = model
        .frozen
        .as_ref()
        .map(|frozen| now + 5_000 - (now - frozen.since_ms.min(now)) % 5_000);
    let beat = view::header::beat_changes_in(model).map(|ms| now + ms);
    [note, arming, frozen, beat].into_iter().flatten().min()
}
