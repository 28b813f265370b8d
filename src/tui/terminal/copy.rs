//! Copying over SSH: OSC 52, wrapped for tmux. Whether the terminal keeps it cannot be known.

use crate::model::SafeText;

/// Longest text sent, in bytes: what the strictest common terminals take.
pub const MAX_COPY: usize = 74_000;

/// The sequence for a text; `None` when it is too long for terminals.
pub fn sequence(text: &str, in_tmux: bool) -> Option<Vec<u8>> {
    let safe = SafeText::block(text).into_string();
    if safe.len() > MAX_COPY {
        return None;
    }
    let body = format!("\x1b]52;c;{}\x07", base64(safe.as_bytes()));
    Some(if in_tmux {
        // tmux passes on what is wrapped, with each escape doubled.
        format!("\x1bPtmux;{}\x1b\\", body.replace('\x1b', "\x1b\x1b")).into_bytes()
    } else {
        body.into_bytes()
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit > chunk.len() {
                out.push('=');
            } else {
                let value = (bits >> (18 - 6 * digit)) & 63;
                out.push(char::from(
                    DIGITS.get(value as usize).copied().unwrap_or(b'='),
                ));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_everyone_writes_it() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"M"), "TQ==");
        assert_eq!(base64(b""), "");
    }

    /// Requirement 20.
    #[test]
    fn requirement_20_tmux_gets_doubled_escapes_and_long_texts_are_refused() {
        let wrapped = String::from_utf8(sequence("Man", true).unwrap()).unwrap();
        assert_eq!(wrapped, "\x1bPtmux;\x1b\x1b]52;c;TWFu\x07\x1b\\");
        assert!(sequence(&"x".repeat(MAX_COPY + 1), false).is_none());
    }
}
