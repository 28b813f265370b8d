//! Printing: JSON with a versioned shape, or text through the one door.

use super::error::CliError;
use crate::model::SafeText;
use crate::model::safe_text::is_hidden;
use serde_json::{Value, json};
use std::io::Write as _;

/// Prints an object with its shape's name and version first, such as `dogwatch.status/1`.
///
/// # Errors
/// When standard output is gone.
pub fn print_json(schema: &str, body: Value) -> Result<(), CliError> {
    let mut object = json!({ "schema": schema });
    if let (Value::Object(target), Value::Object(source)) = (&mut object, body) {
        target.extend(source);
    }
    let text = serde_json::to_string_pretty(&object).unwrap_or_default();
    print_raw(&escape_hidden(&text))
}

/// JSON escapes C0 controls by itself; what else a terminal or a reader could be fooled by is written as
/// `\\uXXXX`, which any JSON reader turns back.
fn escape_hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0_u16; 2];
    for c in text.chars() {
        // Of ASCII, JSON leaves DEL as it is.
        if c != '\u{7f}' && (c.is_ascii() || !is_hidden(c)) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// Prints lines that may hold text from outside.
///
/// # Errors
/// When standard output is gone.
pub fn print_text(text: &str) -> Result<(), CliError> {
    print_raw(SafeText::block(text).as_str())
}

fn print_raw(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // A pager that was closed is no error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(CliError::new(
            format!("standard output: {error}"),
            "Nothing was changed.",
        )),
    }
}

/// Text in columns, as wide as their content; the last one is not padded.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    use unicode_width::UnicodeWidthStr as _;
    let clean: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| SafeText::line(cell).into_string())
                .collect()
        })
        .collect();
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.width()).collect();
    for row in &clean {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut out = String::new();
        for (index, cell) in cells.enumerate() {
            let width = widths.get(index).copied().unwrap_or(0);
            out.push_str(cell);
            if index + 1 < widths.len() {
                out.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
            }
        }
        out.trim_end().to_owned()
    };
    let mut out = line(&mut head.iter().copied());
    for row in &clean {
        out.push('\n');
        out.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_hides_nothing_from_a_reader_and_loses_nothing() {
        let value = json!({ "why": "a\u{202e}b\u{9b}c\u{e0041}d \u{1b}[2J ü" });
        let text = escape_hidden(&value.to_string());
        assert!(
            text.chars().all(|c| !is_hidden(c) && !c.is_control()),
            "{text}"
        );
        assert!(text.contains("\\u202e") && text.contains('ü'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
