//! JSON from executables, taken literally: one value, no key twice, no key nobody knows, bounded depth.

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Deepest nesting taken.
pub const MAX_DEPTH: u32 = 32;

/// Parses one JSON value. Surrounding white space is allowed, anything after the value is not.
///
/// # Errors
/// One sentence with the place; also for a key that stands twice and for nesting above [`MAX_DEPTH`].
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("nothing, where one JSON value was expected".to_owned());
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth: MAX_DEPTH }
        .deserialize(&mut deserializer)
        .map_err(|error| describe(&error, bytes))?;
    deserializer
        .end()
        .map_err(|error| describe(&error, bytes))?;
    Ok(value)
}

/// A parsed value as a type. Keys that the type does not know are refused: each key of the value must
/// come back when the type is written again.
///
/// # Errors
/// One sentence: what is missing, what has the wrong type, which key is unknown.
pub fn typed<T: DeserializeOwned + Serialize>(value: Value) -> Result<T, String> {
    let typed: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let again = serde_json::to_value(&typed).map_err(|error| error.to_string())?;
    match unknown_key(&value, &again) {
        Some(key) => Err(format!("unknown key `{key}`")),
        None => Ok(typed),
    }
}

/// The first key of `given` that `kept` lacks.
fn unknown_key(given: &Value, kept: &Value) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            given.iter().find_map(|(key, value)| match kept.get(key) {
                None => Some(key.chars().take(60).collect()),
                Some(inner) => unknown_key(value, inner),
            })
        }
        (Value::Array(given), Value::Array(kept)) => given
            .iter()
            .zip(kept)
            .find_map(|(given, kept)| unknown_key(given, kept)),
        _ => None,
    }
}

/// The parser's message, and the beginning of what was written when it is no JSON at all.
fn describe(error: &serde_json::Error, bytes: &[u8]) -> String {
    let start: String = String::from_utf8_lossy(bytes.get(..200).unwrap_or(bytes))
        .chars()
        .take(60)
        .collect();
    format!(
        "not the JSON expected ({error}); it begins: {}",
        start.trim()
    )
}

struct Strict {
    depth: u32,
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Strict {
    fn deeper<E: serde::de::Error>(&self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth }),
            None => Err(E::custom(format!("nested deeper than {MAX_DEPTH}"))),
        }
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.deeper()?)?;
            if map.contains_key(&key) {
                let shown: String = key.chars().take(60).collect();
                return Err(serde::de::Error::custom(format!(
                    "the key `{shown}` stands twice"
                )));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ports::{Output, RunState};
    use serde_json::json;

    #[test]
    fn only_one_plain_value_is_taken() {
        assert_eq!(
            parse(b" {\"a\": [1, null]} \n"),
            Ok(json!({"a": [1, null]}))
        );
        for (text, part) in [
            ("", "nothing"),
            ("hello", "begins: hello"),
            ("{} {}", "trailing"),
            ("{\"a\":1,\"a\":2}", "`a` stands twice"),
            ("{\"x\":{\"a\":1,\"a\":2}}", "`a` stands twice"),
            ("{\"a\":1", "EOF"),
            ("\u{feff}{}", "begins"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert!(parse(deep.as_bytes()).unwrap_err().contains("nested"));
        assert!(parse(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn a_key_that_nobody_knows_is_refused_at_any_depth() {
        let output = json!({"table": "t", "key": ["k"], "columns": [{"name": "k", "type": "decimal", "scale": 2}]});
        assert!(typed::<Output>(output.clone()).is_ok());
        let mut wrong = output;
        wrong["columns"][0]["scal"] = json!(3);
        assert_eq!(typed::<Output>(wrong).unwrap_err(), "unknown key `scal`");
        let state = json!({"state": "running", "look_again_ms": 5, "log": "x"});
        assert_eq!(typed::<RunState>(state).unwrap_err(), "unknown key `log`");
    }
}
