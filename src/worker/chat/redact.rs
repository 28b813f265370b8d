//! Secrets stop at the door: what goes into a conversation, and what comes back, passes here first.
//!
//! Two nets: values that this process knows to be secret, and shapes that secrets usually have. A net of shapes
//! has holes; it is why secrets do not belong into job definitions.

use std::sync::Arc;

/// What stands in a secret's place.
pub const REDACTED: &str = "[redacted]";
/// Shorter values are not looked for: they would be found everywhere.
const MIN_KNOWN: usize = 6;
/// Beginnings of well-known keys, and how many characters must follow.
const BEGINNINGS: [(&str, usize); 12] = [
    ("sk-", 16),
    ("sk_live_", 8),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghs_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("AKIA", 12),
    ("AIza", 20),
    ("eyJhbGciOi", 16),
];
/// Names whose assigned value is a secret.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "api_key",
    "apikey",
    "access_key",
    "token",
];

/// Takes secrets out of texts. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Arc<[String]>,
}

impl Redactor {
    /// With the values that are known to be secret; very short ones are left out.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = known
            .into_iter()
            .map(|value| value.trim().to_owned())
            .filter(|value| value.len() >= MIN_KNOWN)
            .collect();
        // The longest first, so that one that contains another goes whole.
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
        known.dedup();
        Self {
            known: known.into(),
        }
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for value in self.known.iter() {
            if out.contains(value.as_str()) {
                out = out.replace(value.as_str(), REDACTED);
            }
        }
        out = key_blocks(&out);
        out = urls(&out);
        out = beginnings(&out);
        assignments(&out)
    }

    /// Whether anything would be taken out.
    pub fn finds(&self, text: &str) -> bool {
        self.redact(text) != text
    }
}

fn key_blocks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("-----BEGIN ") {
        out.push_str(before);
        let Some((label, body)) = after.split_once("-----") else {
            out.push_str("-----BEGIN ");
            rest = after;
            continue;
        };
        if !label.contains("PRIVATE KEY") {
            out.push_str("-----BEGIN ");
            rest = after;
            continue;
        }
        out.push_str(REDACTED);
        // Without its end the rest of the text may be the key.
        rest = body
            .split_once("-----END ")
            .and_then(|(_, end)| end.split_once("-----"))
            .map_or("", |(_, end)| end);
    }
    out.push_str(rest);
    out
}

/// `scheme://user:password@host`.
fn urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after
            .find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c))
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((user, host)) if user.contains(':') => {
                let name = user.split(':').next().unwrap_or_default();
                out.push_str(&format!("{name}:{REDACTED}@{host}"));
            }
            _ => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+/=".contains(c)
}

fn beginnings(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(c) = rest.chars().next() {
        let inside_word = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let found = (!inside_word).then(|| secret_at(rest)).flatten();
        let taken = match found {
            Some(length) => {
                out.push_str(REDACTED);
                length
            }
            None => {
                out.push(c);
                c.len_utf8()
            }
        };
        before = rest.get(..taken).and_then(|part| part.chars().last());
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

fn secret_at(text: &str) -> Option<usize> {
    BEGINNINGS.iter().find_map(|(lead, least)| {
        let tail = text.strip_prefix(lead)?;
        let length = tail.find(|c| !is_key_char(c)).unwrap_or(tail.len());
        (length >= *least).then_some(lead.len() + length)
    })
}

/// `password=…`, `"api_key": "…"`, `Authorization: Bearer …`; a value that is a reference (`$NAME`, `{…`,
/// `%(…`) is no secret.
fn assignments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(&assignment(line));
    }
    out
}

fn assignment(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    for name in NAMES {
        for (at, _) in lower.match_indices(name) {
            cuts.extend(value_after(line, at + name.len()));
        }
    }
    for lead in ["bearer ", "basic "] {
        for (at, _) in lower.match_indices(lead) {
            let from = at + lead.len();
            let value = line.get(from..).unwrap_or_default();
            let length = value.find(|c| !is_key_char(c)).unwrap_or(value.len());
            if length >= 16 {
                cuts.push((from, from + length));
            }
        }
    }
    cuts.sort_unstable();
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    for (from, to) in cuts {
        if from < at {
            continue;
        }
        out.push_str(line.get(at..from).unwrap_or_default());
        out.push_str(REDACTED);
        at = to;
    }
    out.push_str(line.get(at..).unwrap_or_default());
    out
}

/// Where the value that a name is given begins and ends.
fn value_after(line: &str, from: usize) -> Option<(usize, usize)> {
    let rest = line.get(from..)?;
    let name_ends = rest.trim_start_matches(['"', '\'']);
    let trimmed = name_ends.trim_start();
    let assigned = trimmed
        .strip_prefix([':', '='])?
        .trim_start()
        .trim_start_matches(['"', '\'']);
    let start = from + rest.len() - assigned.len();
    let length = assigned
        .find(|c: char| c.is_whitespace() || "\"',;&)}]".contains(c))
        .unwrap_or(assigned.len());
    let value = assigned.get(..length)?;
    let reference = value.starts_with(['$', '{', '%', '<', '[']);
    let word = ["true", "false", "null", "none"].contains(&value.to_ascii_lowercase().as_str());
    let number = value.parse::<f64>().is_ok();
    (value.len() >= 4 && !reference && !word && !number).then_some((start, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_usual_shapes_go() {
        let redactor = Redactor::new(["hunter2hunter2".to_owned(), "ab".to_owned()]);
        for (text, gone) in [
            ("run --key hunter2hunter2 now", "hunter2hunter2"),
            ("export K=sk-ant-api03-abcdefghijklmnop", "abcdefghijklmnop"),
            ("db: postgres://etl:pa55word@db.example/x", "pa55word"),
            ("PASSWORD = 'swordfish99'", "swordfish99"),
            (r#"{"api_key": "k-12345678"}"#, "k-12345678"),
            (
                "curl -H 'Authorization: Bearer abcdef0123456789abcdef'",
                "abcdef0123456789",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
                "MIIE",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIEunended", "MIIEunended"),
            ("id AKIAIOSFODNN7EXAMPLE.", "IOSFODNN7"),
        ] {
            let out = redactor.redact(text);
            assert!(!out.contains(gone), "{out}");
            assert!(out.contains(REDACTED), "{out}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        let redactor = Redactor::default();
        for text in [
            "run-sql --db \"$CRM_DB\" jobs/stg_customers.sql",
            "max_tokens = 4000; token: true; password=$PASS",
            "https://example.org/a@b and mailto:x@y.example",
            "task-list ask-person risk-free sk-short",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "select tokens_used from t where secret_santa = 1",
            "ünïcode → ok",
        ] {
            assert_eq!(redactor.redact(text), text);
        }
    }
}
