//! Lines of safe text with roles: the only thing that widgets draw.

pub mod chat;
pub mod diff;
pub mod sentence;
pub mod state;
pub mod time;

use crate::model::SafeText;
use crate::tui::theme::Role;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A run of text in one role. The text passed the one door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What is shown.
    pub text: SafeText,
    /// What it means; the theme says how that looks.
    pub role: Role,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one run.
    pub fn of(text: impl Into<SafeText>, role: Role) -> Self {
        Self::new().with(text, role)
    }

    /// Plain text.
    pub fn text(text: impl Into<SafeText>) -> Self {
        Self::of(text, Role::Text)
    }

    /// Quiet text.
    pub fn dim(text: impl Into<SafeText>) -> Self {
        Self::of(text, Role::Dim)
    }

    /// A heading.
    pub fn strong(text: impl Into<SafeText>) -> Self {
        Self::of(text, Role::Strong)
    }

    /// The line with another run at its end.
    #[must_use]
    pub fn with(mut self, text: impl Into<SafeText>, role: Role) -> Self {
        self.push(text, role);
        self
    }

    /// Adds a run.
    pub fn push(&mut self, text: impl Into<SafeText>, role: Role) {
        self.spans.push(Span {
            text: text.into(),
            role,
        });
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.spans
            .iter()
            .map(|span| width(span.text.as_str()))
            .sum()
    }

    /// Its text without roles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The longest prefix of at most `columns` columns, never through a character.
pub fn cut(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            return text.get(..at).unwrap_or("");
        }
    }
    text
}

/// A text of at most `columns` columns; a longer one ends in `…`.
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    format!("{}…", cut(text, columns - 1))
}

/// Breaks one paragraph into pieces of at most `columns` columns, at spaces where there are any.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_word_bounds() {
        let wide = width(word);
        if used + wide <= columns {
            line.push_str(word);
            used += wide;
            continue;
        }
        if word.trim().is_empty() {
            // A space that does not fit is the break itself.
            lines.push(std::mem::take(&mut line));
            used = 0;
            continue;
        }
        // Take back what belongs to this word (`a:b` has bounds but no space).
        let keep = line.rfind(' ').map_or(0, |at| at + 1);
        let carried = if keep > 0 {
            line.split_off(keep)
        } else {
            String::new()
        };
        if width(&carried) + wide <= columns && !line.is_empty() {
            lines.push(line.trim_end().to_owned());
            line = carried;
            line.push_str(word);
            used = width(&line);
            continue;
        }
        line.push_str(&carried);
        let mut rest = word;
        while !rest.is_empty() {
            let head = cut(rest, columns.saturating_sub(width(&line)));
            if head.is_empty() && line.is_empty() {
                // One character wider than the column: dropped rather than looped on.
                break;
            }
            line.push_str(head);
            rest = rest.get(head.len()..).unwrap_or("");
            if !rest.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
        }
        used = width(&line);
    }
    let last = line.trim_end();
    if !last.is_empty() || lines.is_empty() {
        lines.push(last.to_owned());
    }
    lines
}

/// A label and a paragraph beside it, wrapped with a hanging indent.
pub fn labelled(label: &str, text: &str, role: Role, indent: usize, columns: usize) -> Vec<Line> {
    let indent = indent.min(columns / 2);
    let room = columns.saturating_sub(indent).max(1);
    let safe = SafeText::line(text);
    wrap(safe.as_str(), room)
        .into_iter()
        .enumerate()
        .map(|(index, piece)| {
            let head = if index == 0 { label } else { "" };
            let head = cut(head, indent);
            let pad = indent.saturating_sub(width(head));
            Line::dim(format!("{head}{}", " ".repeat(pad))).with(piece, role)
        })
        .collect()
}

/// A paragraph, wrapped.
pub fn paragraph(text: &str, role: Role, columns: usize) -> Vec<Line> {
    let safe = SafeText::line(text);
    wrap(safe.as_str(), columns)
        .into_iter()
        .map(|piece| Line::of(piece, role))
        .collect()
}

/// `1 job`, `2 jobs`.
pub fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `once`, `2 times`.
pub fn times(count: u32) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        many => format!("{many} times"),
    }
}

/// What a character becomes where only ASCII can be shown.
pub fn ascii_of(c: char) -> &'static str {
    match c {
        '…' => "~",
        '›' | '▸' | '▹' | '»' => ">",
        '‹' => "<",
        '·' => "-",
        '✓' => "+",
        '✗' | '×' => "x",
        '◆' | '●' => "*",
        '○' | '◌' => "o",
        '⚑' => "!",
        '≈' => "=",
        '‖' => "=",
        '─' | '━' | '–' | '—' | '−' => "-",
        '│' | '┃' | '▏' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => "+",
        '█' | '▓' | '■' => "#",
        '░' | '▒' => ".",
        '↑' => "^",
        '↓' => "v",
        '→' => ">",
        '←' => "<",
        '⏎' => "$",
        '≥' => ">",
        '≤' => "<",
        '’' | '‘' => "'",
        '“' | '”' => "\"",
        _ => "?",
    }
}

/// Characters that one place on the screen may hold at most: a letter and its marks.
const MAX_MARKS: usize = 8;

/// The text with piles of combining marks cut down; what one place holds is sent with every frame.
pub fn tame(text: &str) -> Cow<'_, str> {
    let piled = !text.is_ascii()
        && text
            .graphemes(true)
            .any(|grapheme| grapheme.chars().count() > MAX_MARKS);
    if !piled {
        return Cow::Borrowed(text);
    }
    let tamed = text
        .graphemes(true)
        .flat_map(|grapheme| grapheme.chars().take(MAX_MARKS));
    Cow::Owned(tamed.collect())
}

/// The text with every character outside ASCII replaced.
pub fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.push_str(ascii_of(c));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_text_breaks_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("数据迁移", 4), ["数据", "迁移"]);
    }

    #[test]
    fn shortening_counts_columns_not_characters() {
        assert_eq!(shorten("数据迁移", 5), "数据…");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abc", 0), "");
    }

    proptest! {
        #[test]
        fn no_piece_is_wider_than_asked_and_no_word_is_lost(text in "[a-z数 :/.-]{0,120}", columns in 2_usize..40) {
            let pieces = wrap(&text, columns);
            for piece in &pieces {
                prop_assert!(width(piece) <= columns, "{piece:?}");
            }
            let squeezed = |text: &str| text.replace(' ', "");
            prop_assert_eq!(squeezed(&pieces.concat()), squeezed(&text));
        }
    }
}
