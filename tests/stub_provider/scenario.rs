//! What the stub plays: a TOML file, turn by turn.
//!
//! ```toml
//! name = "good-repair"
//! [capture]                                 # texts between two others, anywhere in the prompt
//! job = ["job: ", "\n"]
//! [[turn]]                                  # the first answer of a conversation, and so on
//! say = "I begin."
//! [[turn.call]]
//! tool = "acknowledge"
//! input = { job = "{job}", contract_version = "{version|int}" }
//! [[turn]]
//! when = "CANNOT"                           # only when the newest message holds it; not counted by place
//! [[turn.let]]
//! name = "config"                           # a text taken from `result` (the newest message) or `prompt`
//! from = "result"
//! after = "```\n"
//! before = "\n```"
//! replace = [["a", "b"]]
//! [[turn.fail]]                             # served to the first sending of the same request, and so on
//! status = 429
//! ```

use super::conversation::Conversation;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    #[serde(default)]
    pub about: String,
    #[serde(default = "default_model")]
    pub model: String,
    /// The only key that is accepted; any when absent.
    pub key: Option<String>,
    /// Shorter prefixes are not cached.
    #[serde(default = "default_min_cache")]
    pub min_cache_tokens: u64,
    /// Takes a field out of the answers (see `messages::dropped`), as the header `x-stub-drop` does.
    pub drop: Option<String>,
    #[serde(default)]
    pub capture: BTreeMap<String, (String, String)>,
    #[serde(default, rename = "turn")]
    pub turns: Vec<Turn>,
}

fn default_model() -> String {
    "stub-1".to_owned()
}

fn default_min_cache() -> u64 {
    512
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Only when the newest message holds this text.
    pub when: Option<String>,
    #[serde(default)]
    pub thinking: String,
    #[serde(default)]
    pub say: String,
    #[serde(default, rename = "call")]
    pub calls: Vec<Call>,
    #[serde(default, rename = "let")]
    pub lets: Vec<Let>,
    /// The provider's word for the end, instead of the right one.
    pub stop: Option<String>,
    #[serde(default, rename = "fail")]
    pub fail: Vec<Failure>,
    /// Ends the stream after so many events.
    pub cut_after: Option<usize>,
    /// `chunked` (a broken body) or `clean` (as if it were whole).
    #[serde(default)]
    pub cut: String,
    /// An error event after so many events.
    pub error_after: Option<usize>,
    #[serde(default)]
    pub error: Failure,
    /// Milliseconds before each event.
    #[serde(default)]
    pub pace_ms: u64,
    /// So many pings between two events.
    #[serde(default)]
    pub pings: usize,
    /// An event and a block of a kind that nobody knows.
    #[serde(default)]
    pub unknown: bool,
    /// Leaves the counts out.
    #[serde(default)]
    pub no_usage: bool,
    /// Counts so few input tokens, as a server does that cut the prompt.
    pub counted: Option<u64>,
    /// A model other than the one asked for answers.
    pub answers_as: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub tool: String,
    #[serde(default)]
    pub input: toml::Table,
    /// The input as it stands, also when it is no JSON.
    pub raw: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Let {
    pub name: String,
    pub from: String,
    #[serde(default)]
    pub after: String,
    #[serde(default)]
    pub before: String,
    #[serde(default)]
    pub replace: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    #[serde(default)]
    pub status: u16,
    #[serde(default, rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub message: String,
    pub code: Option<Value>,
    pub param: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body as it stands.
    pub body: Option<String>,
    /// Closes the connection without an answer.
    #[serde(default)]
    pub close: bool,
}

/// What is said in a turn, with the conversation's texts filled in.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pub thinking: String,
    pub text: String,
    /// Id, tool, input as JSON text.
    pub calls: Vec<(String, String, String)>,
}

impl Said {
    pub fn bytes(&self) -> usize {
        let calls: usize = self
            .calls
            .iter()
            .map(|(_, tool, input)| tool.len() + input.len())
            .sum();
        self.thinking.len() + self.text.len() + calls
    }
}

/// The text of `tests/scenarios/NAME.toml`.
pub fn text(name: &str) -> String {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scenarios")
        .join(format!("{name}.toml"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

impl Scenario {
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("scenario: {error}"))
    }

    /// The turn that answers a conversation: one whose `when` is met, else the next by place. After the
    /// last, it says that it is done.
    pub fn turn(&self, conversation: &Conversation) -> Turn {
        let newest = conversation.newest();
        let met = self
            .turns
            .iter()
            .find(|turn| turn.when.as_ref().is_some_and(|when| newest.contains(when)));
        let by_place = self
            .turns
            .iter()
            .filter(|turn| turn.when.is_none())
            .nth(conversation.answered());
        met.or(by_place).cloned().unwrap_or_else(|| Turn {
            say: "The script is over.".to_owned(),
            ..Turn::default()
        })
    }
}

impl Turn {
    pub fn said(&self, conversation: &Conversation, scenario: &Scenario) -> Said {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let prompt = conversation.text();
        for (name, (after, before)) in &scenario.capture {
            known.insert(name.clone(), between(&prompt, after, before));
        }
        known.insert("result".to_owned(), conversation.newest());
        for one in &self.lets {
            let source = match one.from.as_str() {
                "result" => conversation.newest(),
                _ => prompt.clone(),
            };
            let mut text = between(&source, &one.after, &one.before);
            for (from, to) in &one.replace {
                text = text.replace(from.as_str(), to);
            }
            known.insert(one.name.clone(), text);
        }
        let calls = self.calls.iter().enumerate().map(|(at, call)| {
            let input = call.raw.clone().unwrap_or_else(|| {
                let value = serde_json::to_value(&call.input).unwrap();
                filled(&value, &known).to_string()
            });
            let id = format!("toolu_{}_{at}", conversation.answered());
            (id, call.tool.clone(), input)
        });
        Said {
            thinking: fill(&self.thinking, &known),
            text: fill(&self.say, &known),
            calls: calls.collect(),
        }
    }
}

/// The text between two others; all of it where they are empty, nothing where they are not found.
fn between(text: &str, after: &str, before: &str) -> String {
    let Some(from) = text.find(after) else {
        return String::new();
    };
    let rest = &text[from + after.len()..];
    match before {
        "" => rest.to_owned(),
        _ => rest
            .find(before)
            .map_or_else(String::new, |to| rest[..to].to_owned()),
    }
}

fn fill(text: &str, known: &BTreeMap<String, String>) -> String {
    known.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

fn filled(value: &Value, known: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => {
            let number = text
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix("|int}"));
            match number.and_then(|name| known.get(name)?.trim().parse::<i64>().ok()) {
                Some(number) => Value::from(number),
                None => Value::String(fill(text, known)),
            }
        }
        Value::Array(list) => list.iter().map(|one| filled(one, known)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, one)| (key.clone(), filled(one, known)))
            .collect(),
        other => other.clone(),
    }
}
