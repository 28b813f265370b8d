//! What a loop does next. Pure: facts in, a step out.

use crate::contract::Strategy;
use crate::engine::decide::{Step, Waiting};
use crate::engine::surroundings::Surroundings;
use crate::ledger::event::CallRef;
use crate::ledger::facts::JobFacts;
use crate::model::{TimeMs, WaitKind, Wake};
use crate::worker::chat::settings::ChatSettings;
use crate::worker::chat::{MAX_BAD_CALLS, MAX_PAUSES, MAX_REPEATS};

/// How long a question may wait when no working hours are known.
const QUESTION_OVERDUE_MS: i64 = 24 * 3_600_000;
/// Turns in a row that may be cut by the output ceiling.
const MAX_TRUNCATED: u32 = 2;
/// Turns in a row that may say nothing and ask for nothing.
const MAX_SILENT: u32 = 2;

/// What a wait for a provider names: another job's turn that ends.
pub const PROVIDER: &str = "provider";

/// A step of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatStep {
    /// A turn was cut off by a death: nobody knows what it took.
    LoseTurn,
    /// A tool's query was cut off by a death.
    LoseQuery,
    /// Run a tool that the model asked for.
    Tool(CallRef),
    /// Ask for the next turn.
    Turn {
        /// Of this provider.
        provider: String,
    },
    /// The loop is over; `outcome: why`.
    End(String),
}

/// What an engine that died left open in the loop, whatever became of the job meanwhile.
pub fn lost(job: &JobFacts) -> Option<Step> {
    if job.chat.open.is_some() {
        return Some(Step::Chat(ChatStep::LoseTurn));
    }
    job.chat
        .query
        .is_some()
        .then_some(Step::Chat(ChatStep::LoseQuery))
}

/// The next step of an open loop.
pub fn next(job: &JobFacts, strategy: &Strategy, around: &Surroundings, now: TimeMs) -> Step {
    let settings = match ChatSettings::of(strategy) {
        Ok(settings) => settings,
        Err(why) => return Step::HandOver(why),
    };
    let chat = &job.chat;
    if let Some(question) = &chat.question {
        return Step::Wait(Waiting {
            kind: WaitKind::Person,
            reason: format!("the worker asks: {}", super::line(&question.text)),
            wakes: vec![Wake::Event {
                name: "answer".to_owned(),
            }],
            next_check: now.plus_ms(QUESTION_OVERDUE_MS),
            overdue: question
                .asked_at
                .plus_ms(QUESTION_OVERDUE_MS)
                .max(now.plus_ms(1)),
        });
    }
    let end = |outcome: &str, why: &str| Step::Chat(ChatStep::End(super::end(outcome, why)));
    if let Some(note) = &chat.ending {
        return Step::Chat(ChatStep::End(note.clone()));
    }
    if chat.bad_calls >= MAX_BAD_CALLS {
        return end(
            "misuse",
            &format!("{MAX_BAD_CALLS} calls in a row were no tool, did not fit or were refused"),
        );
    }
    if chat.repeats + 1 >= MAX_REPEATS {
        let tool = chat.last_answer.as_ref().map_or("", |(tool, _)| tool);
        return end(
            "limit",
            &format!("it called {tool} {MAX_REPEATS} times in a row and learned nothing new"),
        );
    }
    if let Some(call) = chat.pending.first() {
        return Step::Chat(ChatStep::Tool(call.clone()));
    }
    if chat.over {
        return end("failed", "the loop had ended without a config");
    }
    if chat.silent >= MAX_SILENT {
        return end("silent", "it stopped calling tools and handed nothing in");
    }
    if chat.pauses > MAX_PAUSES {
        return end(
            "limit",
            &format!("the provider paused it more than {MAX_PAUSES} times in a row"),
        );
    }
    if chat.truncated >= MAX_TRUNCATED {
        return end("truncated", "its answers were cut by the output ceiling");
    }
    if chat.answered >= settings.max_turns {
        return end(
            "limit",
            &format!("the loop took all of its {} turns", settings.max_turns),
        );
    }
    if chat.context >= settings.context_tokens {
        return end(
            "context",
            &format!(
                "the conversation has {} tokens; {} are allowed",
                chat.context, settings.context_tokens
            ),
        );
    }
    let storm = (chat.failures > 0)
        .then(|| around.provider_storms.get(&settings.provider))
        .flatten();
    match around.provider_holds.get(&settings.provider).or(storm) {
        Some((why, until)) if *until > now => Step::Wait(Waiting {
            kind: WaitKind::World,
            reason: format!("provider {}: {why}", settings.provider),
            wakes: vec![
                Wake::At { at: *until },
                Wake::Event {
                    name: PROVIDER.to_owned(),
                },
            ],
            next_check: *until,
            overdue: until.plus_ms(QUESTION_OVERDUE_MS),
        }),
        _ => Step::Chat(ChatStep::Turn {
            provider: settings.provider,
        }),
    }
}
