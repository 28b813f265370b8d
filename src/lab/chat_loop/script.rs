//! A scripted model, and the answers that scripts are made of.

use crate::worker::provider::{
    Block, BlockKind, Message, Outcome, Provider, RawJson, TurnFailure, TurnFailureClass,
    TurnLimits, TurnReply, TurnRequest, Usage, UsageSource, UserPart,
};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// One answer of the script.
#[derive(Clone)]
pub(super) enum Say {
    Calls(Vec<(&'static str, Value)>),
    Text(&'static str),
    Ends(Outcome),
    Fails(TurnFailure),
}

pub(super) fn calls(list: &[(&'static str, Value)]) -> Say {
    Say::Calls(list.to_vec())
}

pub(super) fn ack(job: &str, step: &str) -> Say {
    calls(&[(
        "acknowledge",
        json!({"contract_version": 1, "job": job, "next_step": step}),
    )])
}

pub(super) fn propose(config: &str) -> (&'static str, Value) {
    ("propose_config", json!({"config": config, "why": "w"}))
}

pub(super) fn finish(outcome: &str) -> (&'static str, Value) {
    ("finish", json!({"outcome": outcome, "words": "my words"}))
}

pub(super) fn hand_in(config: &str) -> Say {
    calls(&[propose(config), finish("proposed")])
}

pub(super) fn failure(class: TurnFailureClass) -> TurnFailure {
    TurnFailure {
        class,
        not_before: None,
        status: Some(500),
        code: "x".to_owned(),
        maybe_billed: false,
        usage: None,
        most_retries: 3,
        fallback: false,
        slow_down: false,
        request_id: None,
        message: "the service said no".to_owned(),
    }
}

#[derive(Default)]
pub(super) struct Scripted {
    pub(super) script: Mutex<VecDeque<Say>>,
    pub(super) asked: Mutex<Vec<TurnRequest>>,
    /// Whether nothing comes from its cache.
    pub(super) cold: AtomicBool,
}

impl Scripted {
    pub(super) fn asked(&self) -> Vec<TurnRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    fn body(&self, request: &TurnRequest) -> Vec<u8> {
        serde_json::to_vec(request).unwrap()
    }
    fn price(&self, _: &str) -> Option<crate::contract::Price> {
        Some(crate::contract::Price {
            input: 3,
            output: 15,
            cache_read: 1,
            cache_write: 4,
            cache_write_1h: 6,
        })
    }
    fn turn(&self, request: &TurnRequest, _: &TurnLimits) -> Result<TurnReply, Box<TurnFailure>> {
        let turn = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len()
        };
        let cold = self.cold.load(Ordering::Relaxed);
        let next = self.script.lock().unwrap().pop_front();
        let block = |raw: Value, kind| Block {
            raw: RawJson::of(&raw),
            kind,
        };
        let (outcome, blocks) = match next.unwrap_or(Say::Text("nothing more to say")) {
            Say::Fails(failure) => return Err(Box::new(failure)),
            Say::Ends(outcome) => (outcome, Vec::new()),
            Say::Text(text) => (
                Outcome::Done,
                vec![block(
                    json!({"type": "text", "text": text}),
                    BlockKind::Text(text.to_owned()),
                )],
            ),
            Say::Calls(list) => {
                let one = |(place, (name, input)): (usize, (&str, Value))| {
                    let id = format!("c{turn}-{place}");
                    block(
                        json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                        BlockKind::ToolCall {
                            id,
                            name: name.to_owned(),
                            input: input.to_string(),
                        },
                    )
                };
                (
                    Outcome::Tools,
                    list.into_iter().enumerate().map(one).collect(),
                )
            }
        };
        Ok(TurnReply {
            outcome,
            blocks,
            usage: Usage {
                uncached: if cold { 5_000 } else { 10 },
                cache_write: 20,
                cache_write_1h: 0,
                cache_read: Some(if cold { 0 } else { 70 }),
                output: 5,
                reasoning: 0,
                source: UsageSource::Reported,
            },
            request_id: Some(format!("req-{turn}")),
            model: "m-answered".to_owned(),
            stop: "stop".to_owned(),
        })
    }
}

/// What the second job says, so that a test can look at the first alone.
pub(super) fn second_gives_up() -> [Say; 2] {
    [ack("two", "propose_config"), calls(&[finish("cannot")])]
}

/// The first job's answers, then the second's.
pub(super) fn script(first: &[Say]) -> Vec<Say> {
    first.iter().cloned().chain(second_gives_up()).collect()
}

pub(super) fn opening(request: &TurnRequest) -> String {
    match &request.messages[0] {
        Message::User(parts) => match &parts[0] {
            UserPart::Text { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
