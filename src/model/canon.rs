//! Digests over canonical bytes.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fmt::Write as _;

/// SHA-256 as 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub String);

impl Digest {
    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits: enough for a person to compare, never used for a decision by a program.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Digest of raw bytes.
pub fn digest_bytes(bytes: &[u8]) -> Digest {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
    Digest(text)
}

/// Digest of a value's canonical JSON: object keys sorted, no white space, UTF-8.
pub fn digest_json(value: &serde_json::Value) -> Digest {
    digest_bytes(canonical_text(value).as_bytes())
}

/// A value's canonical JSON: object keys sorted, no white space.
pub fn canonical_text(value: &serde_json::Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// Digest of several parts; each part carries its length, so that no two lists collide.
pub fn digest_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Digest {
    let mut text = String::new();
    for part in parts {
        let _ = write!(text, "{}:{part};", part.len());
    }
    digest_bytes(text.as_bytes())
}

fn write_canonical(value: &serde_json::Value, out: &mut String) {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                if let Some(inner) = map.get(key) {
                    write_canonical(inner, out);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_and_content_does() {
        assert_eq!(
            digest_json(&json!({"a": 1, "b": [2]})),
            digest_json(&json!({"b": [2], "a": 1}))
        );
        assert_ne!(
            digest_json(&json!({"a": 1})),
            digest_json(&json!({"a": "1"}))
        );
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(digest_parts(["ab", "c"]), digest_parts(["a", "bc"]));
    }
}
