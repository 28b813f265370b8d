//! The tools of a chat worker: what it may ask for, as a schema, and what it asked for, as a type.
//!
//! No tool names a checker, the contract, another job or production, so none can reach them. Every tool takes
//! all of its arguments and no others, which both protocols accept as strict; what a model writes is parsed
//! again here all the same.

use crate::world::strict_json;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest text argument, in characters, but for a config.
pub const MAX_WORDS: usize = 4_000;

/// What a model can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// The first call of every loop: what the model believes it works on.
    Acknowledge(Acknowledge),
    /// A question to a person; the job waits.
    AskPerson(AskPerson),
    /// A clause is believed to be wrong.
    FileClaim(FileClaim),
    /// The loop ends.
    Finish(Finish),
    /// Where job and goal stand.
    Progress,
    /// A config to be handed in with `finish`.
    ProposeConfig(ProposeConfig),
    /// One query on the job's own tables.
    QueryWarehouse(QueryWarehouse),
    /// A config of this job, old or new.
    ReadConfig(ReadConfig),
    /// What the checkers said.
    ReadEvidence(ReadEvidence),
}

/// Arguments of `acknowledge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledge {
    /// The contract's version.
    pub contract_version: u32,
    /// The job.
    pub job: String,
    /// The job block's word for what comes next.
    pub next_step: String,
}

/// Arguments of `ask_person`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskPerson {
    /// One question.
    pub question: String,
}

/// Arguments of `file_claim`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileClaim {
    /// The clause's id.
    pub clause: String,
    /// Why it is believed to be wrong, with what was seen.
    pub reason: String,
}

/// How a model says that it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishKind {
    /// It hands its proposal in.
    Proposed,
    /// It says that this job cannot be done.
    Cannot,
}

/// Arguments of `finish`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// How.
    pub outcome: FinishKind,
    /// The model's own words: kept as a remark.
    pub words: String,
}

/// Arguments of `propose_config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposeConfig {
    /// The whole new config.
    pub config: String,
    /// What was changed and why.
    pub why: String,
}

/// Arguments of `query_warehouse`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryWarehouse {
    /// One SELECT.
    pub sql: String,
}

/// Which config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The old scheduler's text.
    Old,
    /// What the old host gave its jobs beside their own text.
    OldHost,
    /// The config proposed before, which failed.
    Previous,
}

/// Arguments of `read_config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadConfig {
    /// Which.
    pub which: Which,
}

/// Arguments of `read_evidence`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadEvidence {
    /// A clause's id, or `all`.
    pub clause: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// A tool as it is described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// JSON schema of its arguments.
    pub schema: Value,
}

/// All tools, sorted by name; the list never varies, so that every loop begins with the same bytes.
pub fn tools() -> Vec<ToolSpec> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    vec![
        spec(
            "acknowledge",
            "Must be your first call. Repeat the contract version, the job and the next step from the job block. \
             A mismatch ends the loop.",
            &[
                (
                    "contract_version",
                    json!({ "type": "integer", "description": "The number after 'contract version'." }),
                ),
                ("job", text("The job's id.")),
                ("next_step", text("The word after 'next step'.")),
            ],
        ),
        spec(
            "ask_person",
            "Asks the operator one question that only a person can answer. The loop pauses and goes on with the \
             answer. At most two questions a loop.",
            &[("question", text("One question, with what you know."))],
        ),
        spec(
            "file_claim",
            "Files a claim that an acceptance clause is wrong, for its owner to decide. It changes no clause and \
             ends nothing.",
            &[
                ("clause", text("The clause's id.")),
                ("reason", text("Why, with the evidence you saw.")),
            ],
        ),
        spec(
            "finish",
            "Ends the loop. 'proposed' hands your last proposal in to be staged and checked; 'cannot' says that this \
             job cannot be done, and why. Whether the job is done is the checkers' word, not yours.",
            &[
                (
                    "outcome",
                    json!({ "type": "string", "enum": ["proposed", "cannot"] }),
                ),
                ("words", text("What you want a person to know.")),
            ],
        ),
        spec(
            "progress",
            "Reads where this job and the goal stand, from the ledger.",
            &[],
        ),
        spec(
            "propose_config",
            "Keeps a whole new config as your proposal; a later one replaces it. Nothing is staged before 'finish'.",
            &[
                ("config", text("The whole config, in the target's format.")),
                ("why", text("What you changed and why.")),
            ],
        ),
        spec(
            "query_warehouse",
            "Runs one read-only SELECT on this job's own tables, named in the job block. Each query counts against \
             the day's quota. The answer is cut at 200 rows.",
            &[("sql", text("One SELECT statement."))],
        ),
        spec(
            "read_config",
            "Reads a text of this job: 'old' is the old scheduler's definition, 'previous' the config that failed \
             before, 'old_host' what the old host gave its jobs beside their definitions.",
            &[(
                "which",
                json!({ "type": "string", "enum": ["old", "old_host", "previous"] }),
            )],
        ),
        spec(
            "read_evidence",
            "Reads what the checkers and the staging run said about this job, with numbers.",
            &[("clause", text("A clause's id, or 'all'."))],
        ),
    ]
}

fn spec(
    name: &'static str,
    description: &'static str,
    arguments: &[(&'static str, Value)],
) -> ToolSpec {
    let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> = arguments
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    ToolSpec {
        name,
        description,
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "required": names,
        }),
    }
}

/// Why a call cannot be run, in words that a model can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// There is no such tool.
    Unknown(String),
    /// The tool has no such argument: it would reach beyond the job.
    Beyond(String),
    /// The arguments are not what the tool takes.
    Arguments(String),
}

impl ToolError {
    /// The words of the tool's answer.
    pub fn words(&self) -> &str {
        match self {
            Self::Unknown(words) | Self::Beyond(words) | Self::Arguments(words) => words,
        }
    }
}

/// What a model asked for.
///
/// # Errors
/// When the tool does not exist or the arguments do not fit its schema; the words name the remedy.
pub fn parse(name: &str, input: &str) -> Result<ToolCall, ToolError> {
    match name {
        "acknowledge" => arguments(name, input).map(ToolCall::Acknowledge),
        "ask_person" => arguments(name, input).map(ToolCall::AskPerson),
        "file_claim" => arguments(name, input).map(ToolCall::FileClaim),
        "finish" => arguments(name, input).map(ToolCall::Finish),
        "progress" => arguments::<NoArguments>(name, input).map(|_| ToolCall::Progress),
        "propose_config" => arguments(name, input).map(ToolCall::ProposeConfig),
        "query_warehouse" => arguments(name, input).map(ToolCall::QueryWarehouse),
        "read_config" => arguments(name, input).map(ToolCall::ReadConfig),
        "read_evidence" => arguments(name, input).map(ToolCall::ReadEvidence),
        other => {
            let names: Vec<&str> = tools().iter().map(|tool| tool.name).collect();
            Err(ToolError::Unknown(format!(
                "there is no tool {:?}; the tools are {}",
                other.chars().take(64).collect::<String>(),
                names.join(", ")
            )))
        }
    }
}

fn arguments<T: serde::de::DeserializeOwned + Serialize>(
    name: &str,
    input: &str,
) -> Result<T, ToolError> {
    // A tool without arguments is called with nothing by some models.
    let text = if input.trim().is_empty() { "{}" } else { input };
    let unfit = |why: String| {
        let why: String = why.chars().take(400).collect();
        ToolError::Arguments(format!(
            "the arguments of {name} do not fit its schema: {why}; call it again with exactly the arguments that it \
             takes"
        ))
    };
    let value = strict_json::parse(text.as_bytes()).map_err(unfit)?;
    if let Some(key) = beyond(name, &value) {
        let key: String = key.chars().take(64).collect();
        return Err(ToolError::Beyond(format!(
            "{name} has no argument {key:?}: every tool works on the job of this loop and on nothing else; leave it \
             out"
        )));
    }
    strict_json::typed(value).map_err(unfit)
}

/// An argument that the tool does not have.
fn beyond<'a>(name: &str, value: &'a Value) -> Option<&'a String> {
    let all = tools();
    let tool = all.iter().find(|tool| tool.name == name)?;
    let known = tool.schema.get("properties")?;
    value
        .as_object()?
        .keys()
        .find(|key| known.get(key.as_str()).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_strict_and_always_the_same() {
        let list = tools();
        assert!(list.windows(2).all(|pair| pair[0].name < pair[1].name));
        for tool in &list {
            let properties = tool.schema["properties"].as_object().unwrap();
            let required = tool.schema["required"].as_array().unwrap();
            assert_eq!(properties.len(), required.len(), "{}", tool.name);
            assert_eq!(tool.schema["additionalProperties"], false);
        }
        assert_eq!(list, tools());
    }

    #[test]
    fn nothing_in_a_schema_can_name_what_a_worker_must_not_reach() {
        for tool in tools() {
            let names: Vec<&String> = tool.schema["properties"]
                .as_object()
                .unwrap()
                .keys()
                .collect();
            let repeats = tool.name == "acknowledge";
            for word in [
                "checker", "contract", "job", "table", "target", "path", "side",
            ] {
                let found = names.iter().any(|name| name.contains(word));
                assert!(!found || repeats, "{}: {word}", tool.name);
            }
        }
    }

    #[test]
    fn a_call_is_taken_literally_or_answered_with_its_remedy() {
        let call = parse("finish", r#"{"outcome":"cannot","words":"no"}"#).unwrap();
        assert!(matches!(call, ToolCall::Finish(one) if one.outcome == FinishKind::Cannot));
        assert_eq!(parse("progress", "").unwrap(), ToolCall::Progress);
        for (name, input, part) in [
            ("edit_contract", "{}", "there is no tool \"edit_contract\""),
            ("finish", r#"{"outcome":"done","words":""}"#, "done"),
            ("finish", r#"{"outcome":"proposed""#, "schema"),
            ("read_config", r#"{"which":"old","job":"other"}"#, "job"),
            ("query_warehouse", "[]", "schema"),
            ("progress", r#"{"job":"other"}"#, "job"),
        ] {
            let error = parse(name, input).unwrap_err();
            assert!(error.words().contains(part), "{name}: {}", error.words());
        }
    }
}
