//! Reading one table: typed keys, positions, and a complaint about every key that nobody asked for.

use super::problem::{MAX_PROBLEMS, Problem, position};
use crate::contract::types::Checkers;
use std::cell::RefCell;
use std::ops::Range;
use toml_edit::{Item, TableLike, Value};

/// Problems kept before they are sorted and cut; bounds a hostile file.
const MAX_COLLECTED: usize = 1_000;
/// Most questions and most notes of one file.
const MAX_REMARKS: usize = 200;

/// Where something stands in the file, in bytes.
pub(super) type Span = Range<usize>;

/// What all sections share: the text and what was found wrong with it.
pub(super) struct Context<'t> {
    text: &'t str,
    /// Who judges clauses' parameters; nobody when an adopted text is read again.
    pub(super) checkers: Option<&'t dyn Checkers>,
    problems: RefCell<Vec<(usize, String, Option<String>)>>,
    questions: RefCell<Vec<String>>,
    notes: RefCell<Vec<String>>,
}

impl<'t> Context<'t> {
    pub(super) fn new(text: &'t str, checkers: Option<&'t dyn Checkers>) -> Self {
        Self {
            text,
            checkers,
            problems: RefCell::new(Vec::new()),
            questions: RefCell::new(Vec::new()),
            notes: RefCell::new(Vec::new()),
        }
    }

    pub(super) fn problem(&self, span: &Span, message: String, hint: Option<String>) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_COLLECTED {
            problems.push((span.start, message, hint));
        }
    }

    pub(super) fn question(&self, question: String) {
        push_bounded(&mut self.questions.borrow_mut(), question);
    }

    pub(super) fn note(&self, note: String) {
        push_bounded(&mut self.notes.borrow_mut(), note);
    }

    /// The first problems in the file's order.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut found = self.problems.into_inner();
        found.sort_by_key(|(offset, ..)| *offset);
        found.truncate(MAX_PROBLEMS);
        found
            .into_iter()
            .map(|(offset, message, hint)| {
                let (line, column) = position(self.text, offset);
                Problem {
                    line,
                    column,
                    message,
                    hint,
                }
            })
            .collect()
    }

    pub(super) fn take_remarks(&self) -> (Vec<String>, Vec<String>) {
        (self.questions.take(), self.notes.take())
    }
}

fn push_bounded(list: &mut Vec<String>, entry: String) {
    if list.len() < MAX_REMARKS && !list.contains(&entry) {
        list.push(entry);
    }
}

/// One table of the file.
pub(super) struct Section<'a> {
    /// What all sections share.
    pub(super) context: &'a Context<'a>,
    table: &'a dyn TableLike,
    /// The table's name as written in messages, such as `[goal]`; empty for the file itself.
    name: String,
    span: Span,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn root(context: &'a Context<'a>, table: &'a toml_edit::Table) -> Self {
        Self::new(context, table, String::new(), 0..0)
    }

    fn new(context: &'a Context<'a>, table: &'a dyn TableLike, name: String, span: Span) -> Self {
        Self {
            context,
            table,
            name,
            span,
            known: RefCell::new(Vec::new()),
        }
    }

    /// Where the table's header stands.
    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The name for messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where a key stands; the table's header when it is absent.
    pub(super) fn key_span(&self, key: &str) -> Span {
        self.table
            .key(key)
            .and_then(toml_edit::Key::span)
            .or_else(|| self.table.get(key).and_then(Item::span))
            .unwrap_or_else(|| self.span())
    }

    /// Where a key's value stands; the key or the table's header when that is not known.
    pub(super) fn value_span(&self, key: &str) -> Span {
        self.table
            .get(key)
            .and_then(Item::span)
            .unwrap_or_else(|| self.key_span(key))
    }

    /// Reports a problem with a key's value.
    pub(super) fn bad(&self, key: &str, message: String, hint: Option<String>) {
        self.context.problem(&self.value_span(key), message, hint);
    }

    fn label(&self, key: &str) -> String {
        if self.name.is_empty() {
            format!("`{key}`")
        } else {
            format!("`{key}` of {}", self.name)
        }
    }

    fn wrong_type(&self, key: &str, item: &Item, expected: &str) {
        self.bad(
            key,
            format!(
                "{} is {}; expected {expected}",
                self.label(key),
                describe(item)
            ),
            None,
        );
    }

    /// The item of a key, which from now on is a known one.
    pub(super) fn get(&self, key: &'static str) -> Option<&'a Item> {
        self.known.borrow_mut().push(key);
        self.table.get(key).filter(|item| !item.is_none())
    }

    /// A text value.
    pub(super) fn text(&self, key: &'static str) -> Option<&'a str> {
        let item = self.get(key)?;
        let text = item.as_str();
        if text.is_none() {
            self.wrong_type(key, item, "text in quotes");
        }
        text
    }

    /// A text value that must be there and not empty. `what` says what it is for.
    pub(super) fn required_text(&self, key: &'static str, what: &str) -> Option<&'a str> {
        if self.get(key).is_none() {
            self.context.problem(
                &self.span(),
                format!("{} has no `{key}`: {what}", self.name),
                None,
            );
            return None;
        }
        let text = self.text(key)?;
        if text.trim().is_empty() {
            self.bad(key, format!("{} is empty: {what}", self.label(key)), None);
            return None;
        }
        Some(text)
    }

    /// A whole number between two bounds, both allowed.
    pub(super) fn integer(&self, key: &'static str, min: u64, max: u64) -> Option<u64> {
        let item = self.get(key)?;
        let Some(number) = item.as_integer() else {
            self.wrong_type(key, item, "a whole number");
            return None;
        };
        match u64::try_from(number) {
            Ok(number) if (min..=max).contains(&number) => Some(number),
            _ => {
                self.bad(
                    key,
                    format!(
                        "{} is {number}; expected a whole number from {min} to {max}",
                        self.label(key)
                    ),
                    None,
                );
                None
            }
        }
    }

    /// A whole number that fits 32 bits.
    pub(super) fn integer_u32(&self, key: &'static str, min: u32, max: u32) -> Option<u32> {
        self.integer(key, u64::from(min), u64::from(max))
            .and_then(|number| u32::try_from(number).ok())
    }

    /// A number, whole or not, above zero and at most `max`.
    pub(super) fn positive(&self, key: &'static str, max: f64) -> Option<f64> {
        let item = self.get(key)?;
        let number = item
            .as_float()
            .or_else(|| item.as_integer().map(|number| number as f64));
        let Some(number) = number else {
            self.wrong_type(key, item, "a number");
            return None;
        };
        if number.is_finite() && number > 0.0 && number <= max {
            Some(number)
        } else {
            self.bad(
                key,
                format!(
                    "{} is {number}; expected a number above 0 and at most {max}",
                    self.label(key)
                ),
                None,
            );
            None
        }
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self, key: &'static str) -> Option<bool> {
        let item = self.get(key)?;
        let value = item.as_bool();
        if value.is_none() {
            self.wrong_type(key, item, "true or false");
        }
        value
    }

    /// A list of texts, at most `max` of them, each with its place.
    pub(super) fn texts(&self, key: &'static str, max: usize) -> Option<Vec<(String, Span)>> {
        let item = self.get(key)?;
        let Some(array) = item.as_array() else {
            self.wrong_type(key, item, "a list of texts, such as [\"…\"]");
            return None;
        };
        if array.len() > max {
            self.bad(
                key,
                format!(
                    "{} has {} entries; at most {max}",
                    self.label(key),
                    array.len()
                ),
                None,
            );
            return None;
        }
        let mut texts = Vec::with_capacity(array.len());
        for value in array {
            let span = value.span().unwrap_or_else(|| self.value_span(key));
            match value.as_str() {
                Some(text) => texts.push((text.to_owned(), span)),
                None => self.context.problem(
                    &span,
                    format!(
                        "an entry of {} is {}; expected text in quotes",
                        self.label(key),
                        describe_value(value)
                    ),
                    None,
                ),
            }
        }
        Some(texts)
    }

    /// A length of time in milliseconds, written as `15m`.
    pub(super) fn duration_ms(&self, key: &'static str, min_ms: i64) -> Option<i64> {
        let text = self.text(key)?;
        match super::units::parse_duration_ms(text) {
            Ok(ms) if ms >= min_ms => Some(ms),
            Ok(_) => {
                self.bad(
                    key,
                    format!("{} is {text}; that is too short", self.label(key)),
                    None,
                );
                None
            }
            Err(why) => {
                self.bad(key, format!("{}: {why}", self.label(key)), None);
                None
            }
        }
    }

    /// A table under this one.
    pub(super) fn table(&self, key: &'static str) -> Option<Section<'a>> {
        let item = self.get(key)?;
        self.section_of(key, item)
    }

    /// An item of this table as a table of its own.
    pub(super) fn section_of(&self, key: &str, item: &'a Item) -> Option<Section<'a>> {
        let name = self.child_name(key);
        match item.as_table_like() {
            Some(table) => {
                let span = self
                    .table
                    .key(key)
                    .and_then(toml_edit::Key::span)
                    .or_else(|| item.span())
                    .unwrap_or_else(|| self.span());
                Some(Section::new(self.context, table, name, span))
            }
            None => {
                self.wrong_type(key, item, &format!("a table {name}"));
                None
            }
        }
    }

    fn child_name(&self, key: &str) -> String {
        match self
            .name
            .strip_prefix('[')
            .and_then(|n| n.strip_suffix(']'))
        {
            Some(parent) => format!("[{parent}.{key}]"),
            None => format!("[{key}]"),
        }
    }

    /// The tables of an array of tables, at most `max`.
    pub(super) fn tables(&self, key: &'static str, max: usize) -> Vec<Section<'a>> {
        let Some(item) = self.get(key) else {
            return Vec::new();
        };
        let name = format!("[{}]", self.child_name(key));
        let mut sections = Vec::new();
        if let Some(array) = item.as_array_of_tables() {
            for table in array {
                let span = table.span().unwrap_or_else(|| self.key_span(key));
                sections.push(Section::new(self.context, table, name.clone(), span));
            }
        } else if let Some(array) = item.as_array() {
            for value in array {
                let span = value.span().unwrap_or_else(|| self.key_span(key));
                match value.as_inline_table() {
                    Some(table) => {
                        sections.push(Section::new(self.context, table, name.clone(), span));
                    }
                    None => self.context.problem(
                        &span,
                        format!("{}; expected a table {name}", describe_value(value)),
                        None,
                    ),
                }
            }
        } else {
            self.wrong_type(key, item, &format!("tables {name}"));
        }
        if sections.len() > max {
            self.bad(
                key,
                format!("{} tables {name}; at most {max}", sections.len()),
                None,
            );
            sections.truncate(max);
        }
        sections
    }

    /// Keys that nobody asked for, with their items, in the file's order.
    pub(super) fn others(&self) -> Vec<(&'a str, &'a Item)> {
        let known = self.known.borrow();
        self.table
            .iter()
            .filter(|(key, item)| !item.is_none() && !known.contains(key))
            .collect()
    }

    /// Reports every key that nobody asked for.
    pub(super) fn refuse_unknown(&self) {
        for (key, _) in self.others() {
            self.unknown_key(key);
        }
    }

    /// Reports one unknown key and suggests the nearest known one.
    pub(super) fn unknown_key(&self, key: &str) {
        let known = self.known.borrow();
        let place = if self.name.is_empty() {
            "the goal file".to_owned()
        } else {
            self.name.clone()
        };
        let mut names: Vec<&str> = known.clone();
        names.sort_unstable();
        names.dedup();
        let hint = match nearest(key, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("expected one of: {}", names.join(", ")),
        };
        self.context.problem(
            &self.key_span(key),
            format!("unknown key `{key}` in {place}"),
            Some(hint),
        );
    }
}

/// The name nearest to what was written, when one is near enough to be meant.
pub(super) fn nearest<'n>(
    written: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    // Comparing costs the product of the lengths; nothing this long is a slip of the keyboard.
    if written.len() > 80 {
        return None;
    }
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(written, name), name))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// What an item is, for a person.
pub(super) fn describe(item: &Item) -> String {
    match item {
        Item::Value(value) => describe_value(value),
        Item::Table(_) => "a table".to_owned(),
        Item::ArrayOfTables(_) => "a list of tables".to_owned(),
        Item::None => "nothing".to_owned(),
    }
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let shown: String = text.value().chars().take(40).collect();
            format!("the text \"{shown}\"")
        }
        Value::Integer(number) => format!("the number {}", number.value()),
        Value::Float(number) => format!("the number {}", number.value()),
        Value::Boolean(value) => format!("{}", value.value()),
        Value::Datetime(value) => format!("the date {}", value.value()),
        Value::Array(_) => "a list".to_owned(),
        Value::InlineTable(_) => "a table".to_owned(),
    }
}
