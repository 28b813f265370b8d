//! What help and palette find.

use super::Model;
use super::place::Kind;
use crate::tui::keymap::{ACTIONS, Action, Entry};

/// Rows of the help that a search finds, for a view.
pub fn help(model: &Model, kind: Kind, query: &str) -> Vec<&'static Entry> {
    let query = query.to_lowercase();
    model
        .keymap
        .entries(kind)
        .filter(|entry| {
            let keys: Vec<String> = model
                .keymap
                .keys_of(entry)
                .iter()
                .map(|key| key.label())
                .collect();
            let all = format!("{} {} {}", entry.name, entry.help, keys.join(" ")).to_lowercase();
            query.split_whitespace().all(|word| all.contains(word))
        })
        .collect()
}

/// Actions that the palette finds: all of this view, and the views by name.
pub fn palette(model: &Model, text: &str) -> Vec<&'static Entry> {
    let text = text.trim().to_lowercase();
    let mut rows: Vec<&'static Entry> = ACTIONS
        .iter()
        .filter(|entry| entry.name.contains(&text) || entry.help.to_lowercase().contains(&text))
        .filter(|entry| {
            model
                .keymap
                .entries(model.kind())
                .any(|one| one.action == entry.action)
                || (entry.action == Action::Report)
        })
        .collect();
    // A name that begins with what was typed comes first.
    rows.sort_by_key(|entry| {
        let short = entry.name.trim_start_matches("view-");
        !(entry.name.starts_with(&text) || short.starts_with(&text))
    });
    rows
}
