//! A turn's answer, into entries.

use super::{end, line, spend_id};
use crate::engine::outage::{Ended, Tried};
use crate::engine::run::{Engine, EngineError};
use crate::ledger::event::{CallRef, Event, TurnEnded};
use crate::ledger::facts::JobFacts;
use crate::model::canon::digest_parts;
use crate::model::{Amounts, Budget, JobId, TimeMs, WaitKind, WorldPart};
use crate::worker::provider::{
    Block, BlockKind, Message, Outcome, RawJson, TurnFailure, TurnFailureClass, TurnReply, Usage,
    UsageSource, cost, next_try,
};

/// How long a provider is left alone when only a person, or time, can help.
const HOLD_MS: i64 = 3_600_000;
/// Input tokens from which every provider's cache takes a prefix.
const LEAST_CACHED: u64 = 4_096;
/// How long it is left alone when its retries are used up.
const REST_MS: i64 = 15 * 60_000;

impl Engine {
    /// Writes what an answer means. Also for a job that a person took meanwhile: what was spent was spent.
    pub(in crate::engine) fn turn_answered(
        &mut self,
        id: &JobId,
        turn: u32,
        result: Result<TurnReply, Box<TurnFailure>>,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let answered = result.is_ok();
        if facts.chat.open.as_ref().map(|open| open.turn) != Some(turn) {
            self.provider_holds.forget(id);
            return Ok(());
        }
        let Some((_, settings)) = self.strategy_of(&facts) else {
            self.provider_holds.forget(id);
            return self.hand_over(id, "the plan has no such strategy");
        };
        let name = settings.provider.clone();
        let held = self.provider_holds.is_held(&name);
        let end = result
            .as_ref()
            .map_or_else(|failure| end_of(failure), |_| Some(Ended::Worked));
        let ended = match result {
            Ok(reply) => {
                if self.provider_holds.release(&settings.provider) {
                    self.clear_provider_alert(&settings.provider)?;
                    self.wake_waiting(&[WaitKind::World]);
                }
                self.tell_of_cache(&facts, &settings.provider, &reply.usage);
                self.answered(turn, &settings.provider, reply)
            }
            Err(failure) => self.failed(
                &facts,
                turn,
                (&settings.provider, &settings.model),
                *failure,
            ),
        };
        for next in self.provider_holds.end(&name, id, answered) {
            self.index.mark_ready(&next);
        }
        let spend = spend_id(id, &facts, None);
        let unknown = ended.source == "unknown";
        let open = facts.chat.open.as_ref();
        let tokens = if unknown {
            open.map_or(0, |open| open.tokens)
        } else {
            [ended.uncached, ended.cache_write, ended.output]
                .into_iter()
                .fold(ended.cache_read.unwrap_or(0), u64::saturating_add)
        };
        let mut amounts: Amounts = [(Budget::Tokens, tokens)].into();
        if let Some(money) = ended.money {
            amounts.insert(Budget::Money, money);
        }
        self.emit(id, Event::TurnEnded(ended))?;
        self.settle_spend(id, &spend, amounts, !unknown)?;
        match end {
            // What a person must mend is told by its own alert, and is no outage besides.
            Some(end) if !(held && end == Ended::Failed) => {
                let began = facts.chat.open.as_ref().map(|open| open.at);
                self.tried(WorldPart::Provider(name), id, Tried::Turn, end, began)
            }
            _ => Ok(()),
        }
    }

    fn answered(&mut self, turn: u32, provider: &str, reply: TurnReply) -> TurnEnded {
        let ends = match reply.outcome {
            Outcome::Refused => Some(end("refused", &reply.stop)),
            Outcome::ContextFull => Some(end("context", "the model's context is full")),
            _ => None,
        };
        // A cut answer may end in half a tool call, and a refused one is not to be kept.
        let kept = matches!(
            reply.outcome,
            Outcome::Done | Outcome::Tools | Outcome::Paused
        ) && !reply.blocks.is_empty();
        let calls = if kept {
            reply
                .calls()
                .map(|(id, name, _)| CallRef {
                    id: id.to_owned(),
                    tool: name.chars().take(64).collect(),
                })
                .collect()
        } else {
            Vec::new()
        };
        let answer = kept.then(|| {
            let blocks = reply
                .blocks
                .iter()
                .map(|one| self.without_secrets(one))
                .collect();
            let message = Message::Assistant(blocks);
            self.blob(&serde_json::to_vec(&message).unwrap_or_default())
        });
        let outcome = match reply.outcome {
            Outcome::Done => "done",
            Outcome::Tools => "tools",
            Outcome::Truncated => "truncated",
            Outcome::Refused => "refused",
            Outcome::Paused => "paused",
            Outcome::ContextFull => "context_full",
        };
        TurnEnded {
            answer,
            calls,
            ends,
            request_id: reply.request_id.map(|id| line(&id)),
            ..counted(
                turn,
                outcome,
                &line(&reply.stop),
                &reply.usage,
                self.money(provider, &reply.model, &reply.usage),
                line(&reply.model),
            )
        }
    }

    /// Money by the model that answered.
    fn money(&self, provider: &str, model: &str, usage: &Usage) -> Option<u64> {
        let provider = self.context.providers.get(provider)?;
        let price = provider.price(model)?;
        u64::try_from(cost(usage, &price).0).ok()
    }

    /// The block as it was received, but for secrets: one that it holds is worth the lost cache.
    fn without_secrets(&self, block: &Block) -> Block {
        let redactor = &self.context.redactor;
        if !redactor.finds(block.raw.as_str()) {
            return block.clone();
        }
        let raw = redactor.redact(block.raw.as_str());
        let kind = match &block.kind {
            BlockKind::Text(text) => BlockKind::Text(redactor.redact(text)),
            BlockKind::ToolCall { id, name, input } => BlockKind::ToolCall {
                id: id.clone(),
                name: name.clone(),
                input: redactor.redact(input),
            },
            other => other.clone(),
        };
        Block {
            raw: RawJson::parse(raw).unwrap_or_else(|_| RawJson::of(&"[redacted]")),
            kind,
        }
    }

    fn failed(
        &mut self,
        facts: &JobFacts,
        turn: u32,
        (provider, model): (&str, &str),
        failure: TurnFailure,
    ) -> TurnEnded {
        let why = line(&failure.message);
        let mut retry_at = None;
        let mut ends = None;
        match failure.class {
            TurnFailureClass::Retry | TurnFailureClass::Wait => {
                let wait = failure.class == TurnFailureClass::Wait;
                let part = WorldPart::Provider(provider.to_owned());
                match next_try(&failure, facts.chat.failures + 1, self.now, dice(facts)) {
                    Some(at) => {
                        if failure.slow_down || failure.status == Some(429) {
                            self.provider_holds
                                .slow_down(provider, &facts.id, &why, self.now, at);
                        }
                        retry_at = Some(at);
                    }
                    // In an outage one job probes; the others wait for what comes of it, at no cost.
                    None if self.outages.is_open(&part) => {}
                    None if failure.fallback && self.has_other_strategy(facts) => {
                        ends = Some(end("failed", &why));
                    }
                    None => {
                        let until = failure
                            .not_before
                            .filter(|_| wait)
                            .unwrap_or(self.now.plus_ms(REST_MS));
                        self.hold_provider(provider, &why, until);
                        retry_at = Some(until);
                    }
                }
            }
            TurnFailureClass::StopBudget | TurnFailureClass::StopConfig => {
                if failure.fallback && self.has_other_strategy(facts) {
                    ends = Some(end("failed", &why));
                } else {
                    let until = self.now.plus_ms(HOLD_MS);
                    self.hold_provider(provider, &why, until);
                    retry_at = Some(until);
                }
            }
            TurnFailureClass::FailStep => ends = Some(end("failed", &why)),
        }
        let usage = failure.usage.unwrap_or(if failure.maybe_billed {
            Usage::UNKNOWN
        } else {
            Usage {
                source: UsageSource::Reported,
                ..Usage::UNKNOWN
            }
        });
        let money = if failure.maybe_billed && usage.source == UsageSource::Unknown {
            facts.chat.open.as_ref().and_then(|open| open.money)
        } else {
            self.money(provider, model, &usage)
        };
        TurnEnded {
            retry_at,
            ends,
            request_id: failure.request_id.map(|id| line(&id)),
            ..counted(turn, "failed", &why, &usage, money, model.to_owned())
        }
    }

    fn has_other_strategy(&self, facts: &JobFacts) -> bool {
        let next = facts.strategy.map_or(0, |index| index as usize + 1);
        next < self.goal.strategies.len()
    }

    fn hold_provider(&mut self, provider: &str, why: &str, until: TimeMs) {
        if self.provider_holds.hold(provider, why, until) && !self.told_of("provider", provider) {
            self.emit_goal(Event::AlertRaised {
                rule: "provider".to_owned(),
                evidence: format!("{provider}: {why}; it is not asked for a while"),
            });
        }
    }

    /// Says once that a provider's cache serves nothing, though the request began with the bytes of the one
    /// before; takes it back when it does.
    fn tell_of_cache(&mut self, facts: &JobFacts, provider: &str, usage: &Usage) {
        let (rule, input) = ("cache", usage.input());
        let again = facts.chat.answered > 0 && input >= LEAST_CACHED;
        let serves = usage.cache_read.is_some_and(|read| read > 0);
        if serves && self.provider_holds.warm(provider) {
            self.emit_goal(Event::AlertCleared {
                rule: rule.to_owned(),
                why: format!("{provider} serves from its cache"),
            });
        }
        let nothing = again && usage.cache_read == Some(0);
        if nothing && self.provider_holds.cold(provider) && !self.told_of(rule, provider) {
            self.emit_goal(Event::AlertRaised {
                rule: rule.to_owned(),
                evidence: format!(
                    "{provider}: none of {input} input tokens came from its cache in turn {} of {}; each turn is \
                     paid in full",
                    facts.chat.turns, facts.id
                ),
            });
        }
    }

    /// Whether an open alert of a rule speaks of the provider, also one that an engine before this one raised.
    fn told_of(&self, rule: &str, provider: &str) -> bool {
        let lead = format!("{provider}: ");
        let alerts = self.ledger.read().alerts(&self.goal.contract.id);
        alerts.is_ok_and(|all| {
            all.iter().any(|alert| {
                alert.rule == rule
                    && alert.cleared_at.is_none()
                    && alert.evidence.starts_with(&lead)
            })
        })
    }

    fn clear_provider_alert(&mut self, provider: &str) -> Result<(), EngineError> {
        let open = self.ledger.read().alerts(&self.goal.contract.id)?;
        if open
            .iter()
            .any(|alert| alert.rule == "provider" && alert.cleared_at.is_none())
        {
            self.emit_goal(Event::AlertCleared {
                rule: "provider".to_owned(),
                why: format!("{provider} answers again"),
            });
        }
        Ok(())
    }
}

/// Keeps the pauses of different jobs apart: a number from 0 to 1 that the job and its turn decide.
fn dice(facts: &JobFacts) -> f64 {
    let turn = facts.chat.turns.to_string();
    let digest = digest_parts(["pause", facts.goal.as_str(), facts.id.as_str(), &turn]);
    let number = digest
        .0
        .get(..8)
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .unwrap_or(0);
    f64::from(number) / f64::from(u32::MAX)
}

/// What a failed turn says of its provider. `None`: nothing; a setting, the account, or this engine's own
/// clock ended it.
fn end_of(failure: &TurnFailure) -> Option<Ended> {
    // It is up and has its limits.
    let busy = failure.not_before.map_or(Ended::Worked, Ended::Busy);
    match failure.class {
        TurnFailureClass::Wait => Some(busy),
        TurnFailureClass::Retry if failure.slow_down || failure.status == Some(429) => Some(busy),
        TurnFailureClass::Retry => Some(Ended::Failed),
        TurnFailureClass::FailStep
            if failure.status.is_some() && failure.code != TurnFailure::DEADLINE =>
        {
            Some(Ended::Worked)
        }
        TurnFailureClass::FailStep
        | TurnFailureClass::StopBudget
        | TurnFailureClass::StopConfig => None,
    }
}

fn counted(
    turn: u32,
    outcome: &str,
    why: &str,
    usage: &Usage,
    money: Option<u64>,
    model: String,
) -> TurnEnded {
    TurnEnded {
        turn,
        outcome: outcome.to_owned(),
        why: why.to_owned(),
        uncached: usage.uncached,
        cache_write: usage.cache_write.saturating_add(usage.cache_write_1h),
        cache_read: usage.cache_read,
        output: usage.output,
        reasoning: usage.reasoning,
        source: match usage.source {
            UsageSource::Reported => "reported",
            UsageSource::Estimated => "estimated",
            UsageSource::Unknown => "unknown",
        }
        .to_owned(),
        money,
        request_id: None,
        model,
        answer: None,
        calls: Vec::new(),
        retry_at: None,
        ends: None,
    }
}
