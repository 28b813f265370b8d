//! What a request shows: the job block, and every tool call with its answer.

use super::repair::Shown;
use crate::worker::provider::{BlockKind, Message, TurnRequest, UserPart};

/// One tool call of the conversation and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The tool.
    pub tool: String,
    /// Its arguments as written.
    pub input: String,
    /// What came back.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// A conversation as far as it is understood.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The job block.
    pub opening: String,
    /// Calls with answers, in order.
    pub done: Vec<Done>,
}

impl Conversation {
    /// From a request.
    pub fn of(request: &TurnRequest) -> Self {
        let mut own = Self::default();
        let mut open: Vec<(String, String, String)> = Vec::new();
        for message in &request.messages {
            match message {
                Message::Assistant(blocks) => {
                    open = blocks
                        .iter()
                        .filter_map(|block| match &block.kind {
                            BlockKind::ToolCall { id, name, input } => {
                                Some((id.clone(), name.clone(), input.clone()))
                            }
                            _ => None,
                        })
                        .collect();
                }
                Message::User(parts) => {
                    for part in parts {
                        own.take(part, &open);
                    }
                }
            }
        }
        own
    }

    fn take(&mut self, part: &UserPart, open: &[(String, String, String)]) {
        match part {
            UserPart::Text { text, .. } if self.opening.is_empty() && text.starts_with("job: ") => {
                self.opening.clone_from(text);
            }
            UserPart::Text { .. } => {}
            UserPart::ToolResult {
                call, text, failed, ..
            } => {
                if let Some((_, tool, input)) = open.iter().find(|(id, ..)| id == call) {
                    self.done.push(Done {
                        tool: tool.clone(),
                        input: input.clone(),
                        text: text.clone(),
                        failed: *failed,
                    });
                }
            }
        }
    }

    /// The value of a line `label: value` of the job block.
    pub fn line(&self, label: &str) -> &str {
        self.opening
            .lines()
            .find_map(|line| line.strip_prefix(label)?.strip_prefix(": "))
            .unwrap_or_default()
    }

    /// Whether a tool was called and answered, with these words in its arguments.
    pub fn called(&self, tool: &str, with: &str) -> bool {
        self.done
            .iter()
            .any(|one| one.tool == tool && one.input.contains(with))
    }

    /// How often a tool was called.
    pub fn count(&self, tool: &str) -> usize {
        self.done.iter().filter(|one| one.tool == tool).count()
    }

    /// The answer to a call that went well.
    pub fn answer(&self, tool: &str, with: &str) -> Option<&str> {
        self.done
            .iter()
            .rev()
            .find(|one| one.tool == tool && !one.failed && one.input.contains(with))
            .map(|one| one.text.as_str())
    }

    /// Everything that says what failed.
    pub fn failures(&self) -> String {
        let checkpoint = self
            .opening
            .split_once("Checkpoint of the attempt before")
            .map_or("", |(_, after)| after);
        let evidence = self.answer("read_evidence", "").unwrap_or_default();
        format!("{checkpoint}\n{evidence}")
    }

    /// All of it in the form that a repair needs.
    pub fn shown(&self) -> Shown {
        let list = |label: &str| -> Vec<String> {
            match self.line(label) {
                "" | "none" => Vec::new(),
                text => text.split(", ").map(str::to_owned).collect(),
            }
        };
        let table = self.line("table").split(' ').next().unwrap_or_default();
        Shown {
            job: self.line("job").to_owned(),
            origin: self.line("old definition").to_owned(),
            old: self
                .answer("read_config", "\"old\"")
                .unwrap_or_default()
                .to_owned(),
            old_host: self
                .answer("read_config", "old_host")
                .unwrap_or_default()
                .to_owned(),
            previous: self.answer("read_config", "previous").map(str::to_owned),
            failures: self.failures(),
            upstream: list("upstream jobs"),
            table: (!matches!(table, "" | "none")).then(|| table.to_owned()),
        }
    }
}
