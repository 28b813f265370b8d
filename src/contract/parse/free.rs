//! Keys whose meaning belongs to a checker, an adapter or a worker: taken as JSON, secrets only by
//! reference.

use super::section::{Section, Span};
use serde_json::{Map, Value as Json};
use toml_edit::{Item, Value};

/// Last words of keys that hold secrets.
const SECRET_WORDS: [&str; 7] = [
    "secret",
    "token",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "credential",
];
/// Last two words of keys that hold secrets.
const SECRET_PAIRS: [&str; 4] = ["api_key", "access_key", "private_key", "secret_key"];
/// Shapes of a reference to a secret.
const REFERENCE: &str = "{ env = \"NAME\" }, { file = \"PATH\" } or { command = [\"…\"] }";

/// Whether a key's name says that its value is a secret.
pub fn is_secret_key(key: &str) -> bool {
    let lower = key.to_ascii_lowercase().replace('-', "_");
    let last = lower.rsplit('_').next().unwrap_or("");
    SECRET_WORDS.contains(&last)
        || SECRET_PAIRS
            .iter()
            .any(|pair| lower == *pair || lower.ends_with(&format!("_{pair}")))
}

/// The keys of a section that nobody asked for, as JSON.
pub(super) fn rest_as_json(section: &Section<'_>) -> Map<String, Json> {
    let mut map = Map::new();
    for (key, item) in section.others() {
        let span = section.value_span(key);
        if let Some(value) = item_to_json(section, key, item, &span) {
            map.insert(key.to_owned(), value);
        }
    }
    map
}

/// One item as JSON; problems (a secret in plain text, a number JSON cannot hold) are reported.
pub(super) fn item_to_json(
    section: &Section<'_>,
    key: &str,
    item: &Item,
    span: &Span,
) -> Option<Json> {
    let span = item.span().unwrap_or_else(|| span.clone());
    let json = match item {
        Item::None => return None,
        Item::Value(value) => value_to_json(section, key, value, &span)?,
        Item::Table(table) => {
            let mut map = Map::new();
            for (inner, item) in table {
                if let Some(value) = item_to_json(section, inner, item, &span) {
                    map.insert(inner.to_owned(), value);
                }
            }
            Json::Object(map)
        }
        Item::ArrayOfTables(tables) => {
            let mut list = Vec::new();
            for table in tables {
                let item = Item::Table(table.clone());
                list.extend(item_to_json(section, key, &item, &span));
            }
            Json::Array(list)
        }
    };
    refuse_plain_secret(section, key, &json, &span);
    Some(json)
}

fn value_to_json(section: &Section<'_>, key: &str, value: &Value, span: &Span) -> Option<Json> {
    Some(match value {
        Value::String(text) => {
            refuse_credential_in_url(section, key, text.value(), span);
            Json::String(text.value().clone())
        }
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => match serde_json::Number::from_f64(*number.value()) {
            Some(number) => Json::Number(number),
            None => {
                let why = format!("`{key}` is {}; expected a finite number", number.value());
                section.context.problem(span, why, None);
                return None;
            }
        },
        Value::Boolean(value) => Json::Bool(*value.value()),
        Value::Datetime(value) => Json::String(value.value().to_string()),
        Value::Array(array) => {
            let mut list = Vec::new();
            for value in array {
                let span = value.span().unwrap_or_else(|| span.clone());
                list.extend(value_to_json(section, key, value, &span));
            }
            Json::Array(list)
        }
        Value::InlineTable(table) => {
            let mut map = Map::new();
            for (inner, value) in table {
                let span = value.span().unwrap_or_else(|| span.clone());
                if let Some(json) = value_to_json(section, inner, value, &span) {
                    refuse_plain_secret(section, inner, &json, &span);
                    map.insert(inner.to_owned(), json);
                }
            }
            Json::Object(map)
        }
    })
}

fn refuse_plain_secret(section: &Section<'_>, key: &str, value: &Json, span: &Span) {
    if is_secret_key(key) && !is_reference(value) {
        section.context.problem(
            span,
            format!("`{key}` holds a secret in plain text; expected a reference"),
            Some(format!("write {REFERENCE}")),
        );
    }
}

/// Whether a value refers to a secret kept elsewhere.
pub(super) fn is_reference(value: &Json) -> bool {
    let Some(map) = value.as_object() else {
        return false;
    };
    let mut entries = map.iter();
    match (entries.next(), entries.next()) {
        (Some((kind, value)), None) => match kind.as_str() {
            "env" | "file" => value.as_str().is_some_and(|text| !text.is_empty()),
            "command" => value
                .as_array()
                .is_some_and(|words| !words.is_empty() && words.iter().all(Json::is_string)),
            _ => false,
        },
        _ => false,
    }
}

/// `scheme://user:password@host` is a secret in plain text, whatever its key is called.
fn refuse_credential_in_url(section: &Section<'_>, key: &str, text: &str, span: &Span) {
    let Some((_, after)) = text.split_once("://") else {
        return;
    };
    let authority = after.split(['/', '?', '#', ' ']).next().unwrap_or("");
    if let Some((user, _)) = authority.rsplit_once('@')
        && user.contains(':')
    {
        section.context.problem(
            span,
            format!("`{key}` holds a password inside an address"),
            Some(format!("keep the password apart, as {REFERENCE}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_secrets_are_known_and_limits_are_not_secrets() {
        for key in ["token", "API_KEY", "db-password", "apikey", "bot_token"] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "tokens",
            "max_tokens",
            "key",
            "columns",
            "tokens_without_pass",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn a_reference_has_exactly_one_kind() {
        assert!(is_reference(&json!({"env": "X"})));
        assert!(is_reference(&json!({"command": ["pass", "show", "x"]})));
        assert!(!is_reference(&json!({"env": "X", "file": "y"})));
        assert!(!is_reference(&json!({"command": "pass"})));
        assert!(!is_reference(&json!("plain")));
    }
}
