//! Keys to actions. One table (`table`) feeds dispatch, footer, help and palette.

mod action;
mod table;

pub use action::Action;
pub use table::ACTIONS;

use crate::tui::app::place::Kind;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeMap;

/// A key as bindings name it. Shift is part of the character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which.
    pub code: KeyCode,
    /// With Ctrl.
    pub ctrl: bool,
}

impl Key {
    /// A plain key.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false }
    }

    /// A character.
    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    /// A character with Ctrl.
    pub const fn ctrl(c: char) -> Self {
        Self {
            code: KeyCode::Char(c),
            ctrl: true,
        }
    }

    /// From the terminal's event; `None` for keys with Alt, which reach nothing.
    pub fn of_event(event: &KeyEvent) -> Option<Self> {
        if event.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        Some(Self {
            code: event.code,
            ctrl,
        })
    }

    /// From the name it is shown by: `x`, `Ctrl-L`, `Space`, `PgDn`, `Enter`.
    ///
    /// # Errors
    /// When no key has that name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let (ctrl, rest) = match name.strip_prefix("Ctrl-") {
            Some(rest) => (true, rest.to_ascii_lowercase()),
            None => (false, name.to_owned()),
        };
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) => match c {
                '↑' => KeyCode::Up,
                '↓' => KeyCode::Down,
                '←' => KeyCode::Left,
                '→' => KeyCode::Right,
                c => KeyCode::Char(c),
            },
            _ => match rest.as_str() {
                "Space" => KeyCode::Char(' '),
                "Up" => KeyCode::Up,
                "Down" => KeyCode::Down,
                "Left" => KeyCode::Left,
                "Right" => KeyCode::Right,
                "Enter" => KeyCode::Enter,
                "Esc" => KeyCode::Esc,
                "Tab" => KeyCode::Tab,
                "Shift-Tab" => KeyCode::BackTab,
                "Home" => KeyCode::Home,
                "End" => KeyCode::End,
                "PgUp" => KeyCode::PageUp,
                "PgDn" => KeyCode::PageDown,
                "Delete" => KeyCode::Delete,
                _ => return Err(format!("{name} is no key")),
            },
        };
        Ok(Self { code, ctrl })
    }

    /// As it is shown.
    pub fn label(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) if self.ctrl => return format!("Ctrl-{}", c.to_ascii_uppercase()),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".to_owned(),
            KeyCode::Down => "↓".to_owned(),
            KeyCode::Left => "←".to_owned(),
            KeyCode::Right => "→".to_owned(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            KeyCode::PageUp => "PgUp".to_owned(),
            KeyCode::PageDown => "PgDn".to_owned(),
            other => format!("{other:?}"),
        };
        if self.ctrl {
            format!("Ctrl-{name}")
        } else {
            name
        }
    }
}

/// Where an action can be asked for.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    /// In every view.
    Everywhere,
    /// In these.
    In(&'static [Kind]),
}

impl Scope {
    /// Whether it covers a view.
    pub fn covers(self, kind: Kind) -> bool {
        match self {
            Self::Everywhere => true,
            Self::In(kinds) => kinds.contains(&kind),
        }
    }

    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::In(a), Self::In(b)) => a.iter().any(|kind| b.contains(kind)),
            _ => true,
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What it does.
    pub action: Action,
    /// Keys it has from the start.
    pub keys: &'static [Key],
    /// Its name in the palette and in the configuration.
    pub name: &'static str,
    /// One or two words for the footer; empty: not in the footer.
    pub short: &'static str,
    /// One sentence for help.
    pub help: &'static str,
    /// Whether it asks for a change of anything; such actions do not exist in a read-only interface.
    pub changes: bool,
    /// Where.
    pub scope: Scope,
}

/// A row for an action that only looks or moves.
const fn row(
    action: Action,
    keys: &'static [Key],
    name: &'static str,
    short: &'static str,
    help: &'static str,
    scope: Scope,
) -> Entry {
    Entry {
        action,
        keys,
        name,
        short,
        help,
        changes: false,
        scope,
    }
}

/// A row for an action that asks for a change.
const fn change(entry: Entry) -> Entry {
    Entry {
        changes: true,
        ..entry
    }
}

/// Bindings in force.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: BTreeMap<&'static str, Vec<Key>>,
    read_only: bool,
}

impl Keymap {
    /// The table's own bindings.
    pub fn new(read_only: bool) -> Self {
        let keys = ACTIONS
            .iter()
            .map(|entry| (entry.name, entry.keys.to_vec()))
            .collect();
        Self { keys, read_only }
    }

    /// The bindings with some replaced.
    ///
    /// # Errors
    /// An unknown name, a key that is never bound, or two actions on one key in one view, by name.
    pub fn with(mut self, changes: &[(String, Vec<Key>)]) -> Result<Self, String> {
        for (name, keys) in changes {
            let Some(entry) = ACTIONS.iter().find(|entry| entry.name == name) else {
                return Err(format!("{name} is no action"));
            };
            if let Some(key) = keys.iter().find(|key| !may_be_bound(**key)) {
                return Err(format!(
                    "{} cannot be bound: terminals and multiplexers use it",
                    key.label()
                ));
            }
            self.keys.insert(entry.name, keys.clone());
        }
        match self.conflict() {
            Some(text) => Err(text),
            None => Ok(self),
        }
    }

    /// Two actions on one key in one view.
    pub fn conflict(&self) -> Option<String> {
        for (index, one) in ACTIONS.iter().enumerate() {
            for other in ACTIONS.iter().skip(index + 1) {
                if !one.scope.meets(other.scope) {
                    continue;
                }
                let shared = self
                    .keys_of(one)
                    .iter()
                    .find(|key| self.keys_of(other).contains(key));
                if let Some(key) = shared {
                    return Some(format!(
                        "{} is bound to both {} and {}",
                        key.label(),
                        one.name,
                        other.name
                    ));
                }
            }
        }
        None
    }

    /// Keys of an action.
    pub fn keys_of(&self, entry: &Entry) -> &[Key] {
        self.keys.get(entry.name).map_or(&[], Vec::as_slice)
    }

    /// What a key does in a view.
    pub fn find(&self, key: Key, kind: Kind) -> Option<&'static Entry> {
        self.entries(kind)
            .find(|entry| self.keys_of(entry).contains(&key))
    }

    /// Actions of a view, in the table's order; without those that change anything when read-only.
    pub fn entries(&self, kind: Kind) -> impl Iterator<Item = &'static Entry> + '_ {
        ACTIONS
            .iter()
            .filter(move |entry| entry.scope.covers(kind) && !(self.read_only && entry.changes))
    }

    /// Whether a key would ask for a change here, if this were not a read-only interface.
    pub fn is_left_out(&self, key: Key, kind: Kind) -> bool {
        self.read_only
            && ACTIONS.iter().any(|entry| {
                entry.changes && entry.scope.covers(kind) && self.keys_of(entry).contains(&key)
            })
    }

    /// The first key of an action, as shown.
    pub fn label(&self, action: Action) -> String {
        ACTIONS
            .iter()
            .find(|entry| entry.action == action)
            .and_then(|entry| self.keys_of(entry).first())
            .map_or_else(String::new, |key| key.label())
    }
}

/// The table as Markdown, for the documentation.
pub fn markdown() -> String {
    let keymap = Keymap::new(false);
    let mut out = String::from("| keys | action | what it does | where |\n|---|---|---|---|\n");
    for entry in ACTIONS {
        let keys: Vec<String> = keymap
            .keys_of(entry)
            .iter()
            .map(|key| format!("`{}`", key.label()))
            .collect();
        let place = match entry.scope {
            Scope::Everywhere => "everywhere".to_owned(),
            Scope::In(kinds) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.title()).collect();
                names.join(", ")
            }
        };
        out.push_str(&format!(
            "| {} | {} | {} | {place} |\n",
            keys.join(" "),
            entry.name,
            entry.help
        ));
    }
    out
}

/// Keys that tmux, screen, terminals and flow control take, or that are the same byte as another key.
pub fn may_be_bound(key: Key) -> bool {
    match key.code {
        KeyCode::Char(c) if key.ctrl => !matches!(
            c.to_ascii_uppercase(),
            'A' | 'B'
                | 'O'
                | 'P'
                | 'N'
                | 'T'
                | 'S'
                | 'Q'
                | 'W'
                | ' '
                | '\\'
                | ']'
                | 'H'
                | 'I'
                | 'J'
                | 'M'
                | 'G'
        ),
        _ => !key.ctrl,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_no_conflicts_and_binds_no_key_that_multiplexers_take() {
        let keymap = Keymap::new(false);
        assert_eq!(keymap.conflict(), None);
        for entry in ACTIONS {
            for key in entry.keys {
                assert!(may_be_bound(*key), "{} on {}", entry.name, key.label());
            }
        }
    }

    #[test]
    fn every_key_of_the_table_is_read_back_from_its_name() {
        for key in ACTIONS.iter().flat_map(|entry| entry.keys) {
            assert_eq!(Key::parse(&key.label()), Ok(*key));
        }
        assert!(Key::parse("Hyper-X").is_err());
        assert!(markdown().contains("| `A` | approve |"));
    }

    #[test]
    fn only_upper_case_letters_decide_or_destroy() {
        for entry in ACTIONS {
            let decides = matches!(
                entry.action,
                Action::Approve
                    | Action::Reject
                    | Action::Rule
                    | Action::HandOver
                    | Action::AcceptDrift
                    | Action::PutInForce
                    | Action::RuleSpin
            );
            if decides {
                assert!(matches!(
                    entry.keys,
                    [Key {
                        code: KeyCode::Char('A' | 'X' | 'V' | 'D'),
                        ctrl: false
                    }]
                ));
            }
        }
    }

    #[test]
    fn read_only_has_no_changing_action_anywhere() {
        let keymap = Keymap::new(true);
        for kind in [Kind::Card, Kind::Jobs, Kind::Job, Kind::Operation] {
            assert!(keymap.entries(kind).all(|entry| !entry.changes));
        }
        assert!(keymap.find(Key::char('A'), Kind::Card).is_none());
        assert!(
            Keymap::new(false)
                .find(Key::char('A'), Kind::Card)
                .is_some()
        );
        assert!(
            Keymap::new(false)
                .find(Key::char('A'), Kind::Approvals)
                .is_none()
        );
    }

    #[test]
    fn a_conflict_is_refused_by_name() {
        let change = vec![("freeze".to_owned(), vec![Key::char('y')])];
        let error = Keymap::new(false).with(&change).unwrap_err();
        assert!(
            error.contains("freeze") && error.contains("copy"),
            "{error}"
        );
        let change = vec![("freeze".to_owned(), vec![Key::ctrl('b')])];
        assert!(
            Keymap::new(false)
                .with(&change)
                .unwrap_err()
                .contains("Ctrl-B")
        );
    }
}
