//! Reading a clause's parameters: each wrong one is a sentence, none is silently ignored.

use serde_json::{Map, Value};

/// A clause's parameters.
#[derive(Clone, Copy)]
pub struct Params<'a>(pub &'a Map<String, Value>);

impl<'a> Params<'a> {
    /// One sentence per parameter that this checker does not know.
    pub fn unknown(self, known: &[&str]) -> Vec<String> {
        let expected = match known {
            [] => "this checker takes none".to_owned(),
            known => format!("known are {}", known.join(", ")),
        };
        self.0
            .keys()
            .filter(|key| !known.contains(&key.as_str()))
            .map(|key| format!("unknown parameter {key:?}; {expected}"))
            .collect()
    }

    /// A boolean; `default` when absent.
    ///
    /// # Errors
    /// When it is something else.
    pub fn flag(self, name: &str, default: bool) -> Result<bool, String> {
        match self.0.get(name) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(*value),
            Some(other) => Err(format!("{name} must be true or false, not {other}")),
        }
    }

    /// A whole number within bounds; `default` when absent.
    ///
    /// # Errors
    /// When it is something else or out of bounds.
    pub fn whole(self, name: &str, default: u64, min: u64, max: u64) -> Result<u64, String> {
        match self.0.get(name) {
            None => Ok(default),
            Some(value) => match value.as_u64() {
                Some(number) if (min..=max).contains(&number) => Ok(number),
                _ => Err(format!(
                    "{name} must be a whole number from {min} to {max}, not {value}"
                )),
            },
        }
    }

    /// A number within bounds; `default` when absent.
    ///
    /// # Errors
    /// When it is something else or out of bounds.
    pub fn number(self, name: &str, default: f64, min: f64, max: f64) -> Result<f64, String> {
        match self.0.get(name) {
            None => Ok(default),
            Some(value) => match value.as_f64() {
                Some(number) if (min..=max).contains(&number) => Ok(number),
                _ => Err(format!(
                    "{name} must be a number from {min} to {max}, not {value}"
                )),
            },
        }
    }

    /// Text; `default` when absent.
    ///
    /// # Errors
    /// When it is something else.
    pub fn text(self, name: &str, default: &'a str) -> Result<&'a str, String> {
        match self.0.get(name) {
            None => Ok(default),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(format!("{name} must be text, not {other}")),
        }
    }

    /// A list of at most `max` texts; `None` when absent.
    ///
    /// # Errors
    /// When it is something else, or longer.
    pub fn texts(self, name: &str, max: usize) -> Result<Option<Vec<&'a str>>, String> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let texts = value
            .as_array()
            .and_then(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>())
            .ok_or_else(|| format!("{name} must be a list of texts, not {value}"))?;
        if texts.len() > max {
            return Err(format!("{name} has {} entries; at most {max}", texts.len()));
        }
        Ok(Some(texts))
    }
}

/// Keeps the error of a reading, for a list of problems.
pub fn note<T>(problems: &mut Vec<String>, reading: Result<T, String>) -> Option<T> {
    match reading {
        Ok(value) => Some(value),
        Err(why) => {
            problems.push(why);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_parameters_are_named() {
        let value = json!({"count": -1, "flag": "yes", "list": ["a", 2]});
        let params = Params(value.as_object().unwrap());
        assert!(params.whole("count", 5, 1, 10).is_err());
        assert!(params.flag("flag", false).is_err());
        assert!(params.texts("list", 9).is_err());
        assert_eq!(params.whole("absent", 5, 1, 10), Ok(5));
        let unknown = params.unknown(&["count", "flag"]);
        assert_eq!(unknown.len(), 1);
        assert!(unknown[0].contains("\"list\""), "{unknown:?}");
    }
}
