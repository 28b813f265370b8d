//! What an error answer says, whatever shape a server gives it.

use serde_json::Value;

/// Most characters of a provider's sentence kept.
const MAX_MESSAGE: usize = 500;

/// The parts of an error that decisions are taken by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ErrorBody {
    /// `error.type`.
    pub(super) kind: String,
    /// `error.details.error_code`, else `error.code` when it is a word.
    pub(super) code: String,
    /// `error.code` when it is a number or spelt as one.
    pub(super) number: Option<u16>,
    /// Which parameter is wrong.
    pub(super) param: String,
    /// The server's sentence.
    pub(super) message: String,
    /// Whether the body was JSON at all.
    pub(super) is_json: bool,
}

/// Reads an error answer.
pub(super) fn read(body: &str) -> ErrorBody {
    match serde_json::from_str::<Value>(body) {
        Ok(value) => of_value(&value),
        Err(_) => ErrorBody {
            message: shorten(body),
            ..ErrorBody::default()
        },
    }
}

/// Reads an error that is JSON already.
pub(super) fn of_value(value: &Value) -> ErrorBody {
    let error = value.get("error").filter(|error| !error.is_null());
    // vLLM of some versions has the error's fields at the top.
    let fields = error.unwrap_or(value);
    let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
    let code = fields.get("code");
    let number = match code {
        Some(Value::Number(number)) => number.as_u64().and_then(|one| u16::try_from(one).ok()),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let detailed = word(fields.get("details").and_then(|one| one.get("error_code")));
    let plain = if number.is_some() {
        String::new()
    } else {
        word(code)
    };
    let message = [
        fields.get("message"),
        error,
        value.get("detail"),
        value.get("message"),
    ]
    .into_iter()
    .flatten()
    .find_map(Value::as_str)
    .map_or_else(|| value.to_string(), str::to_owned);
    ErrorBody {
        kind: word(fields.get("type")),
        code: if detailed.is_empty() { plain } else { detailed },
        number,
        param: word(fields.get("param")),
        message: shorten(&message),
        is_json: true,
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    // A page of HTML says nothing to a person; its beginning says that it is one.
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_MESSAGE).collect()
}
