//! The practice model: a stand-in that plays the part of a language model in the practice world.
//!
//! **It is no language model.** It is plain code with a seed. It takes part in the same loop, over the same
//! provider interface, with a prompt cache that serves byte-identical prefixes; it reads what its tools show
//! it, mends the kinds of defect that the practice scenario has ([`repair::Kind`]) with the success rates
//! stated there, and misbehaves at the rates of [`Rates`]. Every screen and document calls it what it is.

pub mod cache;
mod reader;
pub mod repair;
mod sql;

use crate::contract::Price;
use crate::model::canon::digest_parts;
use crate::worker::provider::{
    Block, BlockKind, Outcome, Provider, RawJson, TurnFailure, TurnLimits, TurnReply, TurnRequest,
};
use crate::world::practice::chance::Chance;
use cache::{PrefixCache, tokens};
use reader::Conversation;
use repair::{Repair, repair};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// The provider's name in goal files.
pub const PROVIDER: &str = "practice";
/// What every screen shows as the model.
pub const MODEL: &str = "practice model";

/// How often in a hundred attempts it misbehaves, by kind; documented in docs/chat.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// It names another contract version or another job.
    pub drift: u8,
    /// It stops with a refusal.
    pub refusal: u8,
    /// Its answer is cut by the output ceiling.
    pub truncation: u8,
    /// It says that it is done and has proposed nothing.
    pub false_done: u8,
    /// It proposes what failed before.
    pub same_again: u8,
    /// It reaches for another table, or for a tool that does not exist.
    pub forbidden: u8,
    /// It asks a person.
    pub question: u8,
    /// It looks at the warehouse before it proposes.
    pub query: u8,
}

impl Rates {
    /// The rates of the practice world.
    pub const PRACTICE: Self = Self {
        drift: 2,
        refusal: 2,
        truncation: 3,
        false_done: 4,
        same_again: 4,
        forbidden: 4,
        question: 3,
        query: 25,
    };
    /// It does nothing wrong and asks nobody.
    pub const WELL_BEHAVED: Self = Self {
        drift: 0,
        refusal: 0,
        truncation: 0,
        false_done: 0,
        same_again: 0,
        forbidden: 0,
        question: 0,
        query: 0,
    };
}

/// The stand-in.
#[derive(Debug)]
pub struct PracticeModel {
    chance: Chance,
    rates: Rates,
    cache: Mutex<PrefixCache>,
}

impl PracticeModel {
    /// One whose every decision the seed makes.
    pub fn new(seed: u64, rates: Rates) -> Self {
        Self {
            chance: Chance::new(seed),
            rates,
            cache: Mutex::new(PrefixCache::default()),
        }
    }

    fn happens(&self, percent: u8, what: &str, talk: &Conversation) -> bool {
        let key = [what, talk.line("job"), talk.line("attempt")];
        self.chance.happens(f64::from(percent) / 100.0, &key)
    }

    /// What it says next.
    fn say(&self, talk: &Conversation) -> Said {
        let rates = &self.rates;
        if !talk.called("acknowledge", "") {
            return self.acknowledge(talk);
        }
        if !talk.called("read_config", "\"old\"") {
            if self.happens(rates.refusal, "refusal", talk) {
                return Said::Refused;
            }
            let mut calls = vec![
                call("read_config", json!({ "which": "old" })),
                call("read_evidence", json!({ "clause": "all" })),
            ];
            if talk.line("next step") == "repair_config" {
                calls.push(call("read_config", json!({ "which": "previous" })));
            }
            return Said::Calls("I read the job and what failed.".to_owned(), calls);
        }
        if self.happens(rates.forbidden, "forbidden", talk)
            && let Some(said) = self.forbidden(talk)
        {
            return said;
        }
        if talk.failures().contains("parameter not set") && !talk.called("read_config", "old_host")
        {
            let calls = vec![call("read_config", json!({ "which": "old_host" }))];
            return Said::Calls("A variable is missing.".to_owned(), calls);
        }
        if let Some(said) = self.look_closer(talk) {
            return said;
        }
        self.hand_in(talk)
    }

    fn acknowledge(&self, talk: &Conversation) -> Said {
        let version: u32 = talk.line("contract version").parse().unwrap_or(0);
        let drifts = self.happens(self.rates.drift, "drift", talk);
        let arguments = json!({
            "contract_version": if drifts { version + 1 } else { version },
            "job": talk.line("job"),
            "next_step": talk.line("next step"),
        });
        Said::Calls(String::new(), vec![call("acknowledge", arguments)])
    }

    /// What no worker may, once.
    fn forbidden(&self, talk: &Conversation) -> Option<Said> {
        let tool = self
            .chance
            .happens(0.5, &["forbidden tool", talk.line("job")]);
        if tool && !talk.called("edit_checker", "") {
            let calls = vec![call("edit_checker", json!({ "clause": "rows" }))];
            return Some(Said::Calls(String::new(), calls));
        }
        if !tool && !talk.called("query_warehouse", "employees") {
            let sql = "select * from src_employees";
            let calls = vec![call("query_warehouse", json!({ "sql": sql }))];
            return Some(Said::Calls(String::new(), calls));
        }
        None
    }

    /// A look at the rows, or a question, at stated rates.
    fn look_closer(&self, talk: &Conversation) -> Option<Said> {
        let table = talk.shown().table?;
        let rows_differ = talk.failures().contains("before,");
        if rows_differ
            && self.happens(self.rates.query, "query", talk)
            && !talk.called("query_warehouse", "count(*)")
        {
            let sql = format!("select count(*) as n from legacy.{table}");
            let calls = vec![call("query_warehouse", json!({ "sql": sql }))];
            return Some(Said::Calls("I count the old rows.".to_owned(), calls));
        }
        if self.happens(self.rates.question, "question", talk) && !talk.called("ask_person", "") {
            let question = format!(
                "Nothing that I can read says whether {table} has readers who rely on its old order. Is there \
                 anything about this job that is not written down?"
            );
            let calls = vec![call("ask_person", json!({ "question": question }))];
            return Some(Said::Calls(String::new(), calls));
        }
        None
    }

    fn hand_in(&self, talk: &Conversation) -> Said {
        let rates = &self.rates;
        let proposed = talk
            .done
            .iter()
            .any(|one| one.tool == "propose_config" && !one.failed);
        if proposed {
            let words = "The proposal is handed in.";
            return Said::finish("proposed", words);
        }
        if talk.count("finish") == 0 && self.happens(rates.false_done, "false done", talk) {
            return Said::finish("proposed", "The job is migrated and works.");
        }
        let shown = talk.shown();
        if let Some(previous) = shown.previous.as_ref().filter(|_| {
            talk.count("propose_config") == 0 && self.happens(rates.same_again, "same again", talk)
        }) {
            let arguments = json!({ "config": previous, "why": "I looked again and it is right." });
            return Said::Calls(String::new(), vec![call("propose_config", arguments)]);
        }
        if self.happens(rates.truncation, "truncation", talk) {
            return Said::Truncated;
        }
        let (job, attempt) = (talk.line("job").to_owned(), talk.line("attempt").to_owned());
        let mut draw = |kind: repair::Kind| {
            let percent = f64::from(kind.success_percent()) / 100.0;
            self.chance
                .happens(percent, &["repair", kind.words(), &job, &attempt])
        };
        match repair(&shown, &mut draw) {
            Ok(Repair::Config { config, mended }) => {
                let why = if mended.is_empty() {
                    "Small changes.".to_owned()
                } else {
                    format!("I mended {}.", mended.join(", "))
                };
                let arguments = json!({ "config": config, "why": why });
                Said::Calls(String::new(), vec![call("propose_config", arguments)])
            }
            Ok(Repair::Cannot(why)) => self.give_up(talk, &why),
            Err(why) => self.give_up(talk, &format!("the texts cannot be read: {why}")),
        }
    }

    /// Says that it cannot, after a claim where a clause asks for what cannot be shown.
    fn give_up(&self, talk: &Conversation, why: &str) -> Said {
        let empty = talk.failures().contains(": 0 rows on both sides");
        if empty && !talk.called("file_claim", "") {
            let arguments = json!({ "clause": "rows", "reason": why });
            return Said::Calls(String::new(), vec![call("file_claim", arguments)]);
        }
        Said::finish("cannot", why)
    }
}

/// An answer before it is rendered.
enum Said {
    /// Words, then calls.
    Calls(String, Vec<(String, Value)>),
    Refused,
    Truncated,
}

impl Said {
    fn finish(outcome: &str, words: &str) -> Self {
        let arguments = json!({ "outcome": outcome, "words": words });
        Self::Calls(String::new(), vec![call("finish", arguments)])
    }
}

fn call(tool: &str, arguments: Value) -> (String, Value) {
    (tool.to_owned(), arguments)
}

impl Provider for PracticeModel {
    fn name(&self) -> &str {
        PROVIDER
    }

    fn body(&self, request: &TurnRequest) -> Vec<u8> {
        serde_json::to_vec(request).unwrap_or_default()
    }

    fn price(&self, _model: &str) -> Option<Price> {
        None
    }

    fn turn(
        &self,
        request: &TurnRequest,
        limits: &TurnLimits,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        let mut usage = self
            .cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .count(request, limits.now);
        let talk = Conversation::of(request);
        let said = self.say(&talk);
        // A second look at the same cut answer, under a higher ceiling, is whole.
        let said = match said {
            Said::Truncated if request.max_output_tokens > 4_096 => self.hand_in_whole(&talk),
            other => other,
        };
        let turn = request.messages.len();
        let key = [talk.line("job"), talk.line("attempt"), &turn.to_string()];
        let request_id = format!("practice-{}", digest_parts(key).short());
        let (outcome, stop, blocks) = match said {
            Said::Calls(words, calls) => {
                let mut blocks = Vec::new();
                if !words.is_empty() {
                    blocks.push(Block {
                        raw: RawJson::of(&json!({ "type": "text", "text": words })),
                        kind: BlockKind::Text(words),
                    });
                }
                for (place, (name, input)) in calls.into_iter().enumerate() {
                    let id = format!("call-{turn}-{place}");
                    blocks.push(Block {
                        raw: RawJson::of(
                            &json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
                        ),
                        kind: BlockKind::ToolCall {
                            id,
                            name,
                            input: input.to_string(),
                        },
                    });
                }
                (Outcome::Tools, "tool_use", blocks)
            }
            Said::Refused => (Outcome::Refused, "refusal", Vec::new()),
            Said::Truncated => (Outcome::Truncated, "max_tokens", Vec::new()),
        };
        let bytes: usize = blocks.iter().map(|block| block.raw.as_str().len()).sum();
        usage.output = match outcome {
            Outcome::Truncated => u64::from(request.max_output_tokens),
            _ => tokens(bytes as u64).max(1),
        };
        Ok(TurnReply {
            outcome,
            blocks,
            usage,
            request_id: Some(request_id),
            model: MODEL.to_owned(),
            stop: stop.to_owned(),
        })
    }
}

impl PracticeModel {
    fn hand_in_whole(&self, talk: &Conversation) -> Said {
        let calm = Self {
            chance: self.chance,
            rates: Rates::WELL_BEHAVED,
            cache: Mutex::default(),
        };
        calm.hand_in(talk)
    }
}
