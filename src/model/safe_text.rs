//! The one door for untrusted text.
//!
//! Worker output, goal files, paths, errors and adapter replies become a [`SafeText`] before they
//! reach a screen, a table or a report. Nothing that a terminal could act on, and nothing that
//! reorders or hides what a person reads, passes: such characters are replaced by visible marks.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

/// Longest text kept by [`SafeText::line`], in characters. A longer one ends in a mark with the count.
pub const MAX_LINE_CHARS: usize = 4_096;
/// Longest text kept by [`SafeText::block`], in characters.
pub const MAX_BLOCK_CHARS: usize = 262_144;

/// Text that is safe to write to a terminal.
///
/// A line holds no line break; a block may hold `\n` and nothing else below space.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeText(String);

impl SafeText {
    /// One line: line breaks and tabs become visible marks or spaces.
    pub fn line(text: &str) -> Self {
        Self(clean(text, false, MAX_LINE_CHARS))
    }

    /// Several lines: `\n` is kept, `\r\n` becomes `\n`, a tab becomes four spaces.
    pub fn block(text: &str) -> Self {
        Self(clean(text, true, MAX_BLOCK_CHARS))
    }

    /// From bytes of unknown encoding; invalid UTF-8 becomes U+FFFD.
    pub fn block_from_bytes(bytes: &[u8]) -> Self {
        Self::block(&String::from_utf8_lossy(bytes))
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the string out.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for SafeText {
    fn from(text: &str) -> Self {
        Self::line(text)
    }
}

impl From<String> for SafeText {
    fn from(text: String) -> Self {
        Self::line(&text)
    }
}

impl From<SafeText> for Cow<'static, str> {
    fn from(text: SafeText) -> Self {
        Cow::Owned(text.0)
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn clean(text: &str, keep_lines: bool, max_chars: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max_chars));
    let mut kept = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if kept >= max_chars {
            // Counting the rest would walk an unbounded input; the byte count is at hand.
            let _ = write!(out, "…[cut, {} bytes in all]", text.len());
            break;
        }
        kept += 1;
        match c {
            '\n' if keep_lines => out.push('\n'),
            '\n' => out.push('⏎'),
            '\r' if keep_lines && chars.peek() == Some(&'\n') => {}
            '\t' => out.push_str(if keep_lines { "    " } else { " " }),
            c if (c as u32) < 0x20 => push_control_picture(c, &mut out),
            '\u{7f}' => out.push('␡'),
            c if is_hidden(c) => {
                let _ = write!(out, "‹{:04X}›", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// U+2400.. shows each C0 control as a picture of its name.
fn push_control_picture(c: char, out: &mut String) {
    if let Some(picture) = char::from_u32(0x2400 + c as u32) {
        out.push(picture);
    }
}

/// Characters that a terminal may act on, or that change what a reader sees without being seen.
pub fn is_hidden(c: char) -> bool {
    matches!(c as u32,
        0x80..=0x9f            // C1
        | 0xad                 // soft hyphen
        | 0x034f | 0x061c      // grapheme joiner, Arabic letter mark
        | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f
        | 0x200b..=0x200f      // zero width, direction marks
        | 0x2028..=0x202e      // separators, bidi embeddings and overrides
        | 0x2060..=0x206f      // word joiner, invisible operators, bidi isolates
        | 0x3164 | 0xffa0
        | 0xfe00..=0xfe0f      // variation selectors: they change a glyph's width
        | 0xfeff | 0xfff9..=0xfffb
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff    // tags and supplementary variation selectors
        | 0xf0000..=0x10ffff   // private planes
    ) || matches!(c as u32, 0xe000..=0xf8ff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_overrides_become_marks() {
        assert_eq!(SafeText::line("a\x1b[2Jb").as_str(), "a␛[2Jb");
        assert_eq!(SafeText::line("x\u{202e}y").as_str(), "x‹202E›y");
        assert_eq!(SafeText::line("a\nb\tc").as_str(), "a⏎b c");
        assert_eq!(SafeText::block("a\r\nb\rc").as_str(), "a\nb␍c");
        assert_eq!(SafeText::line("\u{9b}31m").as_str(), "‹009B›31m");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let safe = SafeText::line(&"x".repeat(10_000));
        assert!(safe.as_str().ends_with("…[cut, 10000 bytes in all]"));
        assert!(safe.as_str().chars().count() < MAX_LINE_CHARS + 40);
    }

    proptest! {
        #[test]
        fn nothing_a_terminal_acts_on_passes(text in "\\PC*|[\\x00-\\x{ff}\\x{2000}-\\x{20ff}]*") {
            for safe in [SafeText::line(&text), SafeText::block(&text)] {
                for c in safe.as_str().chars() {
                    prop_assert!(c == '\n' || !c.is_control());
                    prop_assert!(!is_hidden(c));
                }
            }
            prop_assert!(!SafeText::line(&text).as_str().contains('\n'));
        }

        #[test]
        fn the_door_is_idempotent(text in "\\PC{0,200}") {
            let once = SafeText::block(&text);
            prop_assert_eq!(SafeText::block(once.as_str()), once);
        }
    }
}
