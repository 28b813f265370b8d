//! Keys while something lies on top of the view.

mod edit;
pub(super) mod ruling;

use super::msg::Effect;
use super::overlay::{Ask, Focus, Overlay, Purpose};
use super::place::{Kind, Place};
use super::{Model, act, ask, overlay_rows};
use crate::ledger::Act;
use crate::model::{JobId, SafeText};
use crate::tui::Leave;
use crate::tui::amend::Amendment;
use crate::tui::keymap::{Action, Entry, Key};
use crate::tui::theme::Theme;
use crossterm::event::KeyCode;
use edit::{edit, edit_area, insert, push};
use ratatui_textarea::TextArea;
use ruling::{rule, spin};

/// A key for the overlay on top.
pub fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(overlay) = model.overlays.pop() else {
        return Vec::new();
    };
    if key == Key::ctrl('c') {
        return closed(model, overlay);
    }
    if key == Key::ctrl('l') {
        model.overlays.push(overlay);
        return vec![Effect::Repaint];
    }
    match overlay {
        Overlay::Leave => leave(model, key),
        Overlay::Confirm { ask, effect } => match key.code {
            KeyCode::Char('y') if !key.ctrl => ask::submit(model, ask),
            KeyCode::Char('n' | 'q') | KeyCode::Esc => said_no(model),
            _ => put_back(model, Overlay::Confirm { ask, effect }),
        },
        Overlay::Targets {
            ask,
            effect,
            names,
            yes,
        } => buttons(model, key, ask, effect, names, yes),
        Overlay::TypeName {
            ask,
            effect,
            name,
            typed,
        } => type_name(model, key, ask, effect, name, typed),
        Overlay::Text {
            purpose,
            ask,
            area,
            focus,
        } => text(model, key, purpose, ask, area, focus),
        Overlay::Rule {
            job,
            operation,
            reference,
        } => rule(model, key, job, operation, reference),
        Overlay::Spin {
            job,
            spin: of,
            said,
        } => spin(model, key, job, of, said),
        Overlay::AmendFile { typed } => amend_file(model, key, typed),
        Overlay::Filter { kind, text } => filter(model, key, kind, text),
        Overlay::Help {
            kind,
            query,
            selected,
        } => help(model, key, kind, query, selected),
        Overlay::Palette { text, selected } => palette(model, key, text, selected),
        Overlay::Closing { scroll } => closing(model, key, scroll),
    }
}

/// Text that was pasted: into the field that has the focus, never as keys.
pub fn paste(model: &mut Model, pasted: &str) {
    let safe = SafeText::block(pasted).into_string();
    let line = safe.replace('\n', " ");
    let mut kind_changed = None;
    match model.overlays.last_mut() {
        Some(Overlay::Text {
            area,
            focus: Focus::Text,
            ..
        }) => insert(area, &safe),
        Some(Overlay::Filter { kind, text }) => {
            push(text, &line);
            kind_changed = Some((*kind, text.clone()));
        }
        Some(Overlay::Help { query: text, .. } | Overlay::Palette { text, .. }) => {
            push(text, &line)
        }
        Some(
            Overlay::Rule {
                reference: Some(text),
                ..
            }
            | Overlay::AmendFile { typed: text },
        ) => push(text, &line),
        // A name that confirms must be typed.
        _ => {}
    }
    if let Some((kind, text)) = kind_changed {
        set_filter(model, kind, text);
    }
}

fn put_back(model: &mut Model, overlay: Overlay) -> Vec<Effect> {
    model.overlays.push(overlay);
    Vec::new()
}

fn said_no(model: &mut Model) -> Vec<Effect> {
    model.say("nothing was sent", false);
    Vec::new()
}

/// Ctrl-C: as Esc, whatever is on top.
fn closed(model: &mut Model, overlay: Overlay) -> Vec<Effect> {
    match overlay {
        Overlay::Filter { kind, .. } => {
            model.filters.remove(&kind);
            Vec::new()
        }
        Overlay::Text {
            purpose, ask, area, ..
        } => left(model, &purpose, &ask, &area),
        Overlay::AmendFile { typed } => {
            model.keep_draft(AMEND_FILE, &typed);
            said_no(model)
        }
        Overlay::Leave
        | Overlay::Help { .. }
        | Overlay::Palette { .. }
        | Overlay::Closing { .. } => Vec::new(),
        _ => said_no(model),
    }
}

fn leave(model: &mut Model, key: Key) -> Vec<Effect> {
    match key.code {
        KeyCode::Char('d') | KeyCode::Enter if !key.ctrl => vec![Effect::Leave(Leave::Detach)],
        KeyCode::Char('w') => vec![Effect::Leave(Leave::StopAfterSteps)],
        KeyCode::Char('S') => vec![Effect::Leave(Leave::StopAtSafePoint)],
        KeyCode::Esc | KeyCode::Char('q' | 'n') => Vec::new(),
        _ => put_back(model, Overlay::Leave),
    }
}

/// A text that is not sent is kept for the next time.
fn left(model: &mut Model, purpose: &Purpose, ask: &Ask, area: &TextArea<'static>) -> Vec<Effect> {
    let words = area.lines().join("\n");
    model.keep_draft(&ask::draft_name(purpose, ask), &words);
    if words.trim().is_empty() {
        return said_no(model);
    }
    model.say(
        "nothing was sent; what you wrote is kept for the next time",
        false,
    );
    Vec::new()
}

fn buttons(
    model: &mut Model,
    key: Key,
    ask: Ask,
    effect: String,
    names: Vec<String>,
    yes: bool,
) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc | KeyCode::Char('q' | 'n') => said_no(model),
        KeyCode::Enter if yes => ask::submit(model, ask),
        KeyCode::Enter => said_no(model),
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => put_back(
            model,
            Overlay::Targets {
                ask,
                effect,
                names,
                yes: !yes,
            },
        ),
        _ => put_back(
            model,
            Overlay::Targets {
                ask,
                effect,
                names,
                yes,
            },
        ),
    }
}

fn type_name(
    model: &mut Model,
    key: Key,
    ask: Ask,
    effect: String,
    name: String,
    mut typed: String,
) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc => return said_no(model),
        KeyCode::Enter if typed == name => return ask::submit(model, ask),
        KeyCode::Enter => {
            let text = format!("type {name} to confirm, or Esc");
            model.say(text, true);
        }
        _ => edit(&mut typed, key),
    }
    put_back(
        model,
        Overlay::TypeName {
            ask,
            effect,
            name,
            typed,
        },
    )
}

fn text(
    model: &mut Model,
    key: Key,
    purpose: Purpose,
    ask: Ask,
    mut area: Box<TextArea<'static>>,
    mut focus: Focus,
) -> Vec<Effect> {
    match (focus, key.code) {
        (_, KeyCode::Esc) | (Focus::Cancel, KeyCode::Enter) => {
            return left(model, &purpose, &ask, &area);
        }
        (Focus::Text, KeyCode::Tab) => focus = Focus::Send,
        (Focus::Send, KeyCode::Tab | KeyCode::Right) => focus = Focus::Cancel,
        (Focus::Cancel, KeyCode::Tab) | (Focus::Send, KeyCode::BackTab) => focus = Focus::Text,
        (Focus::Text, KeyCode::BackTab) => focus = Focus::Cancel,
        (Focus::Cancel, KeyCode::BackTab | KeyCode::Left) => focus = Focus::Send,
        (Focus::Send, KeyCode::Enter) => {
            let words = area.lines().join("\n").trim().to_owned();
            if words.is_empty() {
                model.say("a reason is needed; write one, or Esc", true);
                focus = Focus::Text;
            } else {
                let name = ask::draft_name(&purpose, &ask);
                model.keep_draft(&name, "");
                let ask = complete(ask, &words);
                return ask::submit_typed(model, ask, Some((name, words)));
            }
        }
        (Focus::Text, _) => edit_area(&mut area, key),
        _ => {}
    }
    put_back(
        model,
        Overlay::Text {
            purpose,
            ask,
            area,
            focus,
        },
    )
}

/// Puts the words into what is asked.
fn complete(mut ask: Ask, words: &str) -> Ask {
    for (_, act) in &mut ask.items {
        match act {
            Act::Reject { reason, .. }
            | Act::HandOver { reason }
            | Act::RollBack { reason }
            | Act::Rule { reason, .. }
            | Act::Compensate { reason, .. }
            | Act::OverruleSpin { reason, .. } => words.clone_into(reason),
            Act::Comment { text } | Act::Answer { text, .. } => words.clone_into(text),
            Act::Amend { why, .. } => words.clone_into(why),
            _ => {}
        }
    }
    ask
}

/// Under what the path of a goal file is kept that was typed and left.
pub(super) const AMEND_FILE: &str = "the changed goal file";

fn amend_file(model: &mut Model, key: Key, mut typed: String) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc => {
            model.keep_draft(AMEND_FILE, &typed);
            return said_no(model);
        }
        KeyCode::Enter if !typed.trim().is_empty() => {
            model.keep_draft(AMEND_FILE, &typed);
            let file = typed.trim().to_owned();
            model.amendment = Some(Amendment {
                file: file.clone(),
                read: None,
            });
            if model.place() != Place::Amendment {
                model.drill(Place::Amendment);
            }
            return vec![Effect::Propose(file)];
        }
        KeyCode::Enter => model.say("type the path of the changed goal file, or Esc", true),
        _ => edit(&mut typed, key),
    }
    put_back(model, Overlay::AmendFile { typed })
}

fn filter(model: &mut Model, key: Key, kind: Kind, mut text: String) -> Vec<Effect> {
    match key.code {
        KeyCode::Enter => return Vec::new(),
        KeyCode::Esc => {
            model.filters.remove(&kind);
            return Vec::new();
        }
        KeyCode::Up | KeyCode::Down => {
            let action = if key.code == KeyCode::Up {
                Action::Up
            } else {
                Action::Down
            };
            act::dispatch(model, action);
        }
        _ => {
            edit(&mut text, key);
            set_filter(model, kind, text.clone());
        }
    }
    put_back(model, Overlay::Filter { kind, text })
}

fn set_filter(model: &mut Model, kind: Kind, text: String) {
    if text.trim().is_empty() {
        model.filters.remove(&kind);
    } else {
        model.filters.insert(kind, text);
    }
    // A filter begins at the top; what was selected before may not be in it.
    if let Some(list) = model.lists.get_mut(&kind)
        && kind != Kind::Log
    {
        list.selected = None;
        list.row = 0;
        list.gone = false;
    }
}

fn help(
    model: &mut Model,
    key: Key,
    kind: Kind,
    mut query: String,
    selected: usize,
) -> Vec<Effect> {
    let rows = overlay_rows::help(model, kind, &query);
    let mut at = selected.min(rows.len().saturating_sub(1));
    match key.code {
        KeyCode::Esc => return Vec::new(),
        KeyCode::Char('?' | 'q') if query.is_empty() => return Vec::new(),
        KeyCode::Enter => {
            return match rows.get(at) {
                Some(entry) => act::dispatch(model, entry.action),
                None => Vec::new(),
            };
        }
        KeyCode::Up => at = at.saturating_sub(1),
        KeyCode::Down => at = (at + 1).min(rows.len().saturating_sub(1)),
        KeyCode::PageUp => at = at.saturating_sub(10),
        KeyCode::PageDown => at = (at + 10).min(rows.len().saturating_sub(1)),
        _ => {
            edit(&mut query, key);
            at = 0;
        }
    }
    put_back(
        model,
        Overlay::Help {
            kind,
            query,
            selected: at,
        },
    )
}

fn palette(model: &mut Model, key: Key, mut text: String, selected: usize) -> Vec<Effect> {
    let rows = overlay_rows::palette(model, &text);
    let mut at = selected.min(rows.len().saturating_sub(1));
    match key.code {
        KeyCode::Esc => return Vec::new(),
        KeyCode::Backspace if text.is_empty() => return Vec::new(),
        KeyCode::Enter => return run_line(model, text.trim(), rows.get(at).copied()),
        KeyCode::Up => at = at.saturating_sub(1),
        KeyCode::Down | KeyCode::Tab => at = (at + 1).min(rows.len().saturating_sub(1)),
        _ => {
            edit(&mut text, key);
            at = 0;
        }
    }
    put_back(model, Overlay::Palette { text, selected: at })
}

fn run_line(model: &mut Model, line: &str, entry: Option<&'static Entry>) -> Vec<Effect> {
    if let Some(name) = line.strip_prefix("job ") {
        model.go(Place::Job(JobId(name.trim().to_owned())));
        return Vec::new();
    }
    if let Some(name) = line.strip_prefix("theme ") {
        return match Theme::built_in(name.trim()) {
            Ok(theme) => vec![Effect::Theme(Box::new(theme))],
            Err(why) => {
                model.say(why, true);
                Vec::new()
            }
        };
    }
    match entry {
        Some(entry) => act::dispatch(model, entry.action),
        None => {
            model.say(format!("there is no action {line}"), true);
            Vec::new()
        }
    }
}

fn closing(model: &mut Model, key: Key, scroll: usize) -> Vec<Effect> {
    let page = usize::from(model.size.1).saturating_sub(6).max(1);
    let most = model.snapshot.closing.as_ref().map_or(0, |closing| {
        crate::tui::view::closing::lines(
            model,
            closing,
            usize::from(model.size.0.saturating_sub(6)),
        )
        .len()
        .saturating_sub(page)
    });
    let scroll = match key.code {
        KeyCode::Up | KeyCode::Char('k') => scroll.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => scroll + 1,
        KeyCode::PageUp => scroll.saturating_sub(page),
        KeyCode::PageDown | KeyCode::Char(' ') => scroll + page,
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => most,
        KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'h') => return Vec::new(),
        _ => scroll,
    };
    put_back(
        model,
        Overlay::Closing {
            scroll: scroll.min(most),
        },
    )
}
