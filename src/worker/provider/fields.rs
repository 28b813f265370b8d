//! A JSON object written field by field, in the order given: equal requests give equal bytes.

use super::request::RawJson;
use serde::Serialize;

/// An object in the making.
#[derive(Debug, Default)]
pub(super) struct Fields(String);

impl Fields {
    /// With one more field.
    pub(super) fn put(self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        // Only texts, numbers and lists of them are put here; none of them can fail.
        let value = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        self.raw(key, &value)
    }

    /// With one more field whose value is JSON already.
    pub(super) fn raw(mut self, key: &str, json: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&serde_json::Value::from(key).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// With one more field when there is a value.
    pub(super) fn maybe(self, key: &str, value: Option<&(impl Serialize + ?Sized)>) -> Self {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    /// The object.
    pub(super) fn end(self) -> String {
        format!("{{{}}}", self.0)
    }

    /// The object, to be kept.
    pub(super) fn raw_json(self) -> RawJson {
        RawJson::parse(self.end()).unwrap_or_else(|_| RawJson::of(&()))
    }
}

/// A list of JSON texts.
pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}
