//! Tools: what the model asked for, run against the ledger and the world, and answered.
//!
//! Each is bound to the job of its loop: none takes another job, a checker or the contract as an argument.

use super::opening::next_step;
use super::{end, line};
use crate::engine::call::Call;
use crate::engine::run::{Engine, EngineError, Errand};
use crate::ledger::event::{CallRef, ChatEnded, DriftSeen, Event, QuestionAsked, ToolCalled};
use crate::ledger::facts::JobFacts;
use crate::model::canon::digest_parts;
use crate::model::{ClauseId, Digest, JobId, digest_bytes};
use crate::worker::chat::tools::{
    Acknowledge, AskPerson, FileClaim, Finish, FinishKind, ProposeConfig, ToolCall, ToolError,
    Which, parse,
};
use crate::worker::chat::{
    MAX_ANSWER_BYTES, MAX_CALLS_PER_TURN, MAX_CLAIMS, MAX_QUESTIONS, tools::MAX_WORDS,
};
use crate::worker::provider::{BlockKind, Message};

/// Largest config that a model may propose, in bytes.
const MAX_PROPOSAL_BYTES: usize = 256 * 1024;

/// A tool's answer before it is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// `answered`, `error`, `refused` or `drift`.
    outcome: &'static str,
    /// What the model gets.
    text: String,
    /// One line for people; the beginning of the text when empty.
    words: String,
    proposal: Option<Digest>,
    acknowledged: bool,
    ends: Option<String>,
    spent: u64,
}

impl Answer {
    pub(super) fn ok(text: impl Into<String>) -> Self {
        Self {
            outcome: "answered",
            text: text.into(),
            ..Self::default()
        }
    }

    pub(super) fn error(text: impl Into<String>) -> Self {
        Self {
            outcome: "error",
            text: text.into(),
            ..Self::default()
        }
    }

    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self {
            outcome: "refused",
            text: text.into(),
            ..Self::default()
        }
    }

    /// With the queries that it took.
    pub(super) fn spent(mut self, queries: u64) -> Self {
        self.spent = queries;
        self
    }

    pub(super) fn words(mut self, words: impl Into<String>) -> Self {
        self.words = words.into();
        self
    }
}

impl Engine {
    /// Runs the tool that the model asked for, or says why not.
    pub(super) fn run_tool(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
    ) -> Result<(), EngineError> {
        let Some((place, name, input)) = self.call_input(facts, call)? else {
            let text = "the call is not in the answer it came with; this is a defect";
            return self.tool_answered(id, facts, call, Answer::error(text));
        };
        if place >= MAX_CALLS_PER_TURN {
            let text = format!("not run: at most {MAX_CALLS_PER_TURN} calls a turn are");
            return self.tool_answered(id, facts, call, Answer::error(text));
        }
        let parsed = match parse(&name, &input) {
            Ok(parsed) => parsed,
            Err(error @ (ToolError::Unknown(_) | ToolError::Beyond(_))) => {
                // Whoever calls what is not on the list, or names what a tool does not take, reaches for what it was not given.
                let answer = Answer::refused(error.words());
                return self.tool_answered(id, facts, call, answer);
            }
            Err(error) => {
                return self.tool_answered(id, facts, call, Answer::error(error.words()));
            }
        };
        if !facts.chat.acknowledged && !matches!(parsed, ToolCall::Acknowledge(_)) {
            let text = "not run: call `acknowledge` first, with what the job block says";
            return self.tool_answered(id, facts, call, Answer::error(text));
        }
        self.run_parsed(id, facts, call, parsed)
    }

    fn run_parsed(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
        parsed: ToolCall,
    ) -> Result<(), EngineError> {
        let answer = match parsed {
            ToolCall::Acknowledge(said) => return self.acknowledge(id, facts, call, &said),
            ToolCall::AskPerson(asked) => return self.ask_person(id, facts, call, &asked),
            ToolCall::Finish(finish) => return self.finish(id, facts, call, &finish),
            ToolCall::QueryWarehouse(query) => return self.tool_query(id, facts, call, query.sql),
            ToolCall::ReadConfig(read) if read.which == Which::OldHost => {
                let turn = facts.chat.turns;
                let errand = Errand::OldHost {
                    turn,
                    call: call.clone(),
                };
                self.call_after_commit(id, errand, Call::OldHost { job: id.clone() });
                return Ok(());
            }
            ToolCall::ReadConfig(read) => self.read_config(facts, read.which)?,
            ToolCall::ReadEvidence(read) => match self.evidence_text(facts, &read.clause)? {
                Ok(text) => Answer::ok(text).words(format!("evidence of {}", line(&read.clause))),
                Err(why) => Answer::error(why),
            },
            ToolCall::Progress => Answer::ok(self.progress_text(id, facts)),
            ToolCall::ProposeConfig(proposal) => self.propose(facts, &proposal),
            ToolCall::FileClaim(claim) => self.claim(id, facts, &claim)?,
        };
        self.tool_answered(id, facts, call, answer)
    }

    /// The call's place in its turn, name and input, from the answer that it came with.
    fn call_input(
        &self,
        facts: &JobFacts,
        call: &CallRef,
    ) -> Result<Option<(usize, String, String)>, EngineError> {
        let Some(digest) = facts.chat.messages.last() else {
            return Ok(None);
        };
        let Ok(Message::Assistant(blocks)) = serde_json::from_str(&self.text(digest)?) else {
            return Ok(None);
        };
        let calls = blocks.into_iter().filter_map(|block| match block.kind {
            BlockKind::ToolCall { id, name, input } => Some((id, name, input)),
            _ => None,
        });
        Ok(calls
            .enumerate()
            .find(|(_, (id, ..))| *id == call.id)
            .map(|(place, (_, name, input))| (place, name, input)))
    }

    /// Writes a tool's answer down, without secrets and at bounded length.
    pub(super) fn tool_answered(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
        answer: Answer,
    ) -> Result<(), EngineError> {
        let text = cut(
            &self.context.redactor.redact(&answer.text),
            MAX_ANSWER_BYTES,
        );
        let words = if answer.words.is_empty() {
            line(&text)
        } else {
            line(&answer.words)
        };
        let stored = if text.is_empty() { "nothing" } else { &text };
        let blob = self.blob(stored.as_bytes());
        self.emit(
            id,
            Event::ToolCalled(ToolCalled {
                turn: facts.chat.turns,
                call: call.id.clone(),
                tool: line(&call.tool),
                outcome: answer.outcome.to_owned(),
                words,
                answer: blob,
                proposal: answer.proposal,
                acknowledged: answer.acknowledged,
                spent: answer.spent,
                ends: answer.ends,
            }),
        )
    }

    fn acknowledge(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
        said: &Acknowledge,
    ) -> Result<(), EngineError> {
        let describe = |version: u32, job: &str, step: &str| {
            format!("contract {version}, job {job}, next step {step}")
        };
        let step = next_step(facts);
        let expected = describe(self.contract_version()?.0, id.as_str(), step);
        let told = describe(said.contract_version, &said.job, &said.next_step);
        if expected == told {
            let answer = Answer {
                acknowledged: true,
                ..Answer::ok("acknowledged; go on")
            };
            return self.tool_answered(id, facts, call, answer.words(told));
        }
        let told = line(&told);
        self.emit(
            id,
            Event::DriftSeen(DriftSeen {
                turn: facts.chat.turns,
                expected: expected.clone(),
                said: told.clone(),
            }),
        )?;
        self.emit_goal(Event::AlertRaised {
            rule: "drift".to_owned(),
            evidence: format!("{id}: the worker said {told}; the ledger says {expected}"),
        });
        let text = "this is not what the ledger says; the loop ends";
        let answer = Answer {
            outcome: "drift",
            ends: Some(end(
                "drift",
                &format!("said {told}; the ledger says {expected}"),
            )),
            ..Answer::error(text)
        };
        self.tool_answered(id, facts, call, answer.words(told))
    }

    fn ask_person(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
        asked: &AskPerson,
    ) -> Result<(), EngineError> {
        if asked.question.trim().is_empty() {
            return self.tool_answered(id, facts, call, Answer::error("the question is empty"));
        }
        if facts.chat.questions >= MAX_QUESTIONS {
            let text = format!(
                "not asked: at most {MAX_QUESTIONS} questions a loop; decide, or finish with 'cannot'"
            );
            return self.tool_answered(id, facts, call, Answer::error(text));
        }
        let attempt = facts.attempt.to_string();
        let turn = facts.chat.turns.to_string();
        let digest = digest_parts([facts.goal.as_str(), id.as_str(), &attempt, &turn, &call.id]);
        let text: String = asked.question.chars().take(MAX_WORDS).collect();
        self.emit(
            id,
            Event::QuestionAsked(QuestionAsked {
                question: format!("q-{}", digest.short()),
                turn: facts.chat.turns,
                call: call.id.clone(),
                text: self.context.redactor.redact(&text),
            }),
        )
    }

    /// The answer of a person to the open question, as the tool's answer.
    pub(in crate::engine) fn question_answered(
        &mut self,
        id: &JobId,
        call: String,
        by: &str,
        text: &str,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let call = CallRef {
            id: call,
            tool: "ask_person".to_owned(),
        };
        let answer = Answer::ok(format!("The operator answers:\n{}", text.trim()));
        self.tool_answered(id, &facts, &call, answer.words(format!("answered by {by}")))
    }

    fn finish(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
        finish: &Finish,
    ) -> Result<(), EngineError> {
        let said = self.context.redactor.redact(&finish.words);
        match (finish.outcome, &facts.chat.proposal) {
            (FinishKind::Cannot, _) => {
                let answer = Answer {
                    ends: Some(end("cannot", &said)),
                    ..Answer::ok("the loop ends")
                };
                self.tool_answered(id, facts, call, answer.words(format!("cannot: {said}")))
            }
            (FinishKind::Proposed, None) => {
                let answer = Answer::error(
                    "there is no proposal to hand in: call `propose_config` with the whole config first, or finish \
                     with 'cannot'. Whether the job is done is the checkers' word",
                );
                let words = format!("said that it is done, and had proposed nothing: {said}");
                self.tool_answered(id, facts, call, answer.words(words))
            }
            (FinishKind::Proposed, Some(config)) => {
                let config = config.clone();
                let answer = Answer::ok("handed in").words(format!("handed in: {said}"));
                self.tool_answered(id, facts, call, answer)?;
                self.emit(
                    id,
                    Event::ChatEnded(ChatEnded {
                        outcome: "proposed".to_owned(),
                        why: String::new(),
                        said: line(&said),
                    }),
                )?;
                let text = self.text(&config)?;
                let changes = self.changes_of(id, &text)?;
                self.emit(
                    id,
                    Event::ConfigProposed {
                        config,
                        remark: line(&said),
                        changes,
                    },
                )
            }
        }
    }

    fn read_config(&self, facts: &JobFacts, which: Which) -> Result<Answer, EngineError> {
        let digest = match which {
            Which::Old | Which::OldHost => Some(&facts.definition),
            Which::Previous => facts.failed_config.as_ref(),
        };
        Ok(match digest {
            Some(digest) => {
                let words = format!("{} ({})", which_word(which), digest.short());
                Answer::ok(self.text(digest)?).words(words)
            }
            None => Answer::error("no config of this job failed before; read 'old'"),
        })
    }

    fn propose(&mut self, facts: &JobFacts, proposal: &ProposeConfig) -> Answer {
        let config = &proposal.config;
        if config.trim().is_empty() {
            return Answer::error("the config is empty");
        }
        if config.len() > MAX_PROPOSAL_BYTES {
            return Answer::error(format!(
                "the config has {} bytes; at most {MAX_PROPOSAL_BYTES} are taken",
                config.len()
            ));
        }
        let digest = digest_bytes(config.as_bytes());
        if facts.failed_config.as_ref() == Some(&digest) {
            return Answer::error(format!(
                "this very config ({}) failed before: {}. Propose another, or finish with 'cannot'",
                digest.short(),
                facts.last_failures.join("; ")
            ))
            .words(format!("the same config again: {}", digest.short()));
        }
        let kept = self.blob(config.as_bytes());
        let text = format!(
            "kept as your proposal ({}); hand it in with `finish`",
            kept.short()
        );
        Answer {
            proposal: Some(kept),
            ..Answer::ok(text).words(format!("proposed: {}", line(&proposal.why)))
        }
    }

    fn claim(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        claim: &FileClaim,
    ) -> Result<Answer, EngineError> {
        if !facts
            .clauses
            .contains(&ClauseId::from(claim.clause.as_str()))
        {
            let names: Vec<&str> = facts.clauses.iter().map(|one| one.as_str()).collect();
            return Ok(Answer::error(format!(
                "no clause {:?} applies to this job; its clauses are {}",
                line(&claim.clause),
                names.join(", ")
            )));
        }
        if claim.reason.trim().is_empty() {
            return Ok(Answer::error("a claim needs its reason, with what you saw"));
        }
        if facts.chat.claims >= MAX_CLAIMS {
            return Ok(Answer::error(format!(
                "not filed: at most {MAX_CLAIMS} claims a loop"
            )));
        }
        let reason = self.context.redactor.redact(&claim.reason);
        self.file_claim(id, &claim.clause, &reason)?;
        let text = "filed for the owner; the clause stays as it is";
        Ok(Answer::ok(text).words(format!("claim against {}: {}", claim.clause, line(&reason))))
    }
}

fn which_word(which: Which) -> &'static str {
    match which {
        Which::Old => "the old definition",
        Which::OldHost => "the old host",
        Which::Previous => "the config that failed",
    }
}

/// At most so many bytes, and a line that says so.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut at = most;
    while at > 0 && !text.is_char_boundary(at) {
        at -= 1;
    }
    format!(
        "{}\n[cut: {} of {} bytes]",
        text.get(..at).unwrap_or_default(),
        at,
        text.len()
    )
}
