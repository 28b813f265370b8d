//! What the ledger knows of the loop of the current attempt.

use super::JobFacts;
use crate::ledger::event::{CallRef, Entry, Event};
use crate::model::{Digest, TimeMs};
use serde::{Deserialize, Serialize};

/// A turn that was started and has no end in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// Which.
    pub turn: u32,
    /// Tokens reserved.
    pub tokens: u64,
    /// Money reserved, in pico.
    pub money: Option<u64>,
    /// When it was started.
    pub at: TimeMs,
}

/// A query of a tool that has no end in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuery {
    /// The turn that asked.
    pub turn: u32,
    /// The call.
    pub call: String,
}

/// A question before a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Its id.
    pub id: String,
    /// The turn that asked.
    pub turn: u32,
    /// The call.
    pub call: String,
    /// The question.
    pub text: String,
    /// When it was asked.
    pub asked_at: TimeMs,
}

/// The answer to a tool call, waiting for the next turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// The call.
    pub call: String,
    /// Blob of the answer.
    pub answer: Digest,
    /// Whether the tool failed.
    pub failed: bool,
}

/// The loop of the current attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatFacts {
    /// Turns so far, failed ones included.
    pub turns: u32,
    /// Turns that were answered.
    pub answered: u32,
    /// What the loop's first turn shared with all jobs under its contract version.
    pub prefix: Option<Digest>,
    /// A turn under way.
    pub open: Option<OpenTurn>,
    /// Blobs of the conversation's messages, in order; only ever appended to.
    pub messages: Vec<Digest>,
    /// Whether the model named job and contract rightly.
    pub acknowledged: bool,
    /// Tool calls that are not answered yet, in order.
    pub pending: Vec<CallRef>,
    /// Answers that the next turn brings.
    pub answers: Vec<ToolAnswer>,
    /// A query under way.
    pub query: Option<OpenQuery>,
    /// A question before a person.
    pub question: Option<OpenQuestion>,
    /// The config that the model proposed last.
    pub proposal: Option<Digest>,
    /// Calls in a row that were no tool or did not fit.
    pub bad_calls: u32,
    /// Questions asked.
    pub questions: u32,
    /// Claims filed.
    pub claims: u32,
    /// Turns in a row that said nothing and asked for nothing.
    pub silent: u32,
    /// Turns in a row that failed for a reason that may pass.
    pub failures: u32,
    /// Turns in a row that were cut by the output ceiling.
    pub truncated: u32,
    /// Turns in a row that the provider paused.
    #[serde(skip_serializing_if = "is_zero")]
    pub pauses: u32,
    /// The last call that was answered: its tool and the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_answer: Option<(String, Digest)>,
    /// How often in a row that very call brought that very answer, after the first time.
    #[serde(skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// Input tokens of the last answered turn: how full the context is.
    pub context: u64,
    /// Why the loop is about to end.
    pub ending: Option<String>,
    /// Whether it is over.
    pub over: bool,
    /// What the model said when it ended.
    pub said: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl ChatFacts {
    /// Whether no model has worked on the attempt.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl JobFacts {
    pub(super) fn apply_chat(&mut self, entry: &Entry) {
        match &entry.event {
            Event::AttemptStarted { .. } => self.chat = ChatFacts::default(),
            Event::AttemptEnded { .. } | Event::JobRetried {} => {
                // An operator may end an attempt while something of it is under way.
                self.chat.question = None;
                self.chat.pending.clear();
                self.chat.over = self.chat.turns > 0;
            }
            Event::TurnStarted(one) => {
                let chat = &mut self.chat;
                chat.turns = one.turn;
                chat.prefix.get_or_insert_with(|| one.prefix.clone());
                chat.open = Some(OpenTurn {
                    turn: one.turn,
                    tokens: one.tokens,
                    money: one.money,
                    at: entry.at,
                });
                if let Some(message) = &one.message {
                    chat.messages.push(message.clone());
                    chat.answers.clear();
                }
                self.not_before = None;
            }
            Event::TurnEnded(one) => {
                self.turn_ended(one);
                self.last_progress = entry.at;
            }
            Event::TurnUnknown(one) => {
                self.chat.open = None;
                self.chat.turns = self.chat.turns.max(one.turn);
            }
            Event::QueryStarted(one) => {
                self.chat.query = Some(OpenQuery {
                    turn: one.turn,
                    call: one.call.clone(),
                });
                self.not_before = None;
            }
            Event::ToolCalled(one) => self.tool_called(one),
            Event::QuestionAsked(one) => {
                self.chat.questions += 1;
                self.chat.question = Some(OpenQuestion {
                    id: one.question.clone(),
                    turn: one.turn,
                    call: one.call.clone(),
                    text: one.text.clone(),
                    asked_at: entry.at,
                });
            }
            Event::QuestionAnswered(_) => {
                self.chat.question = None;
                self.last_progress = entry.at;
            }
            Event::ChatEnded(one) => {
                self.chat.over = true;
                self.chat.ending = None;
                self.chat.pending.clear();
                self.chat.question = None;
                self.chat.said.clone_from(&one.said);
                if one.outcome != "proposed" {
                    // A loop that brought nothing is a round like one whose config failed.
                    self.repair_rounds += 1;
                }
            }
            Event::CheckpointWritten(one) => self.checkpoint = Some(one.checkpoint.clone()),
            _ => {}
        }
    }

    fn turn_ended(&mut self, one: &crate::ledger::event::TurnEnded) {
        self.chat.open = None;
        let counted = one
            .uncached
            .saturating_add(one.cache_write)
            .saturating_add(one.cache_read.unwrap_or(0));
        self.not_before = one.retry_at;
        let chat = &mut self.chat;
        chat.ending.clone_from(&one.ends);
        if one.outcome == "failed" {
            chat.failures += 1;
            return;
        }
        chat.failures = 0;
        chat.answered += 1;
        chat.context = counted;
        if let Some(answer) = &one.answer {
            chat.messages.push(answer.clone());
        }
        chat.truncated = if one.outcome == "truncated" {
            chat.truncated + 1
        } else {
            0
        };
        chat.pauses = if one.outcome == "paused" {
            chat.pauses + 1
        } else {
            0
        };
        chat.silent = if one.outcome == "done" && one.calls.is_empty() {
            chat.silent + 1
        } else {
            0
        };
        chat.pending.clone_from(&one.calls);
    }

    fn tool_called(&mut self, one: &crate::ledger::event::ToolCalled) {
        let chat = &mut self.chat;
        chat.query = None;
        chat.pending.retain(|call| call.id != one.call);
        chat.answers.push(ToolAnswer {
            call: one.call.clone(),
            answer: one.answer.clone(),
            failed: one.outcome != "answered",
        });
        chat.acknowledged |= one.acknowledged;
        let same = Some((one.tool.clone(), one.answer.clone()));
        chat.repeats = if chat.last_answer == same {
            chat.repeats + 1
        } else {
            0
        };
        chat.last_answer = same;
        if one.outcome == "answered" {
            chat.bad_calls = 0;
            if one.tool == "file_claim" {
                chat.claims += 1;
            }
        } else {
            chat.bad_calls += 1;
        }
        if let Some(proposal) = &one.proposal {
            chat.proposal = Some(proposal.clone());
        }
        if one.ends.is_some() {
            chat.ending.clone_from(&one.ends);
        }
        self.queries = self.queries.saturating_add(one.spent);
    }
}
