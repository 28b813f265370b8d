//! What is wrong with a goal file, and how a person is shown it.

use crate::model::SafeText;
use std::fmt::Write as _;
use thiserror::Error;

/// Most problems reported of one file.
pub const MAX_PROBLEMS: usize = 20;
/// Most characters of a source line shown beside a problem.
const MAX_SHOWN_COLUMNS: usize = 120;

/// What is wrong with a goal file, ready for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.render())]
pub struct GoalError {
    /// One entry per problem, in the file's order; at most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// Column in characters, from 1; 0 when the file as a whole is meant.
    pub column: usize,
    /// What was found and what was expected.
    pub message: String,
    /// What to do, when there is something to say.
    pub hint: Option<String>,
}

impl GoalError {
    /// A problem of the file as a whole.
    pub fn whole(message: String, hint: Option<String>) -> Self {
        Self {
            problems: vec![Problem {
                line: 0,
                column: 0,
                message,
                hint,
            }],
        }
    }

    /// One problem at a byte offset of the text.
    pub(super) fn at(text: &str, offset: usize, message: String, hint: Option<String>) -> Self {
        let (line, column) = position(text, offset);
        Self {
            problems: vec![Problem {
                line,
                column,
                message,
                hint,
            }],
        }
    }

    /// One line a problem: `line:column: message (hint)`.
    fn render(&self) -> String {
        let mut out = String::new();
        for problem in &self.problems {
            if !out.is_empty() {
                out.push('\n');
            }
            if problem.line > 0 {
                let _ = write!(out, "{}:{}: ", problem.line, problem.column);
            }
            out.push_str(SafeText::line(&problem.message).as_str());
            if let Some(hint) = &problem.hint {
                let _ = write!(out, " ({})", SafeText::line(hint));
            }
        }
        out
    }

    /// The full report: for each problem `file:line:column`, what is wrong, the line itself, a caret
    /// under the place, and the hint. Safe for a terminal.
    pub fn report(&self, file: &str, text: &str) -> SafeText {
        let mut out = String::new();
        for problem in &self.problems {
            let file = SafeText::line(file);
            let message = SafeText::line(&problem.message);
            if problem.line == 0 {
                let _ = writeln!(out, "{file}: {message}");
            } else {
                let _ = writeln!(out, "{file}:{}:{}: {message}", problem.line, problem.column);
                push_source(&mut out, text, problem);
            }
            if let Some(hint) = &problem.hint {
                let _ = writeln!(out, "  hint: {}", SafeText::line(hint));
            }
        }
        if self.problems.len() >= MAX_PROBLEMS {
            let _ = writeln!(out, "{MAX_PROBLEMS} problems shown; there may be more.");
        }
        SafeText::block(&out)
    }
}

/// The source line and a caret under the column. A line too long to show is shown around the column.
fn push_source(out: &mut String, text: &str, problem: &Problem) {
    // What follows the last line's end is a line here: an unclosed text is only noticed there.
    let Some(line) = text.split('\n').nth(problem.line - 1) else {
        return;
    };
    let line = line.strip_suffix('\r').unwrap_or(line);
    let column = problem.column.saturating_sub(1);
    let skip = if column > MAX_SHOWN_COLUMNS - 20 {
        column - 40
    } else {
        0
    };
    let before: String = line.chars().skip(skip).take(column - skip).collect();
    let rest: String = line
        .chars()
        .skip(column)
        .take(MAX_SHOWN_COLUMNS.saturating_sub(column - skip))
        .collect();
    let before = SafeText::line(&before).into_string();
    let number = problem.line.to_string();
    let width = unicode_width::UnicodeWidthStr::width(before.as_str());
    let _ = writeln!(out, "  {number} | {before}{}", SafeText::line(&rest));
    let _ = writeln!(
        out,
        "  {} | {}^",
        " ".repeat(number.len()),
        " ".repeat(width)
    );
}

/// Line and column of a byte offset, both from 1; the column counts characters.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = text.get(..at).unwrap_or("");
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |index| index + 1);
    let column = before.get(start..).unwrap_or("").chars().count() + 1;
    (line, column)
}

/// The parser's own message on one line.
pub(super) fn syntax_message(error: &toml_edit::TomlError) -> String {
    let message = error.message().trim().replace('\n', "; ");
    if message.is_empty() {
        "not TOML".to_owned()
    } else {
        format!("not TOML: {message}")
    }
}
