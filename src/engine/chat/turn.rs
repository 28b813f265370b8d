//! The next turn: the conversation from the ledger, the reservation, the entry, and then the call.

use super::{ChatStep, end};
use crate::contract::Strategy;
use crate::engine::call::{Call, TurnCall};
use crate::engine::decide::Waiting;
use crate::engine::run::{Engine, EngineError, Errand};
use crate::ledger::event::{Event, TurnStarted, TurnUnknown};
use crate::ledger::facts::JobFacts;
use crate::model::{Amounts, Budget, ContractVersion, Digest, JobId, SpendId, Wake};
use crate::worker::chat::prompt;
use crate::worker::chat::settings::ChatSettings;
use crate::worker::provider::{Message, SystemBlock, Tool, TurnRequest, UserPart, reserve};
use serde::{Deserialize, Serialize};

/// What a model is told when it said nothing that helps.
const NUDGE: &str = "You called no tool. Go on with a tool call; end with `finish`.";

/// The fixed part of a conversation as it was sent: kept once for each contract version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fixed {
    /// Tools.
    pub tools: Vec<Tool>,
    /// Rules and contract.
    pub system: Vec<SystemBlock>,
}

impl Engine {
    /// Takes a step of a loop.
    pub(in crate::engine) fn chat_step(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        step: ChatStep,
    ) -> Result<bool, EngineError> {
        match step {
            ChatStep::LoseTurn => self.lose_turn(id, facts)?,
            ChatStep::LoseQuery => self.lose_query(id, facts)?,
            ChatStep::Tool(call) => self.run_tool(id, facts, &call)?,
            ChatStep::Turn { .. } => return self.start_turn(id, facts),
            ChatStep::End(note) => self.end_chat(id, facts, &note)?,
        }
        Ok(false)
    }

    /// A job that waits for a provider goes on when another's turn ends.
    pub(in crate::engine) fn queue_for_provider(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        wait: &Waiting,
    ) {
        let waits = |wake: &Wake| matches!(wake, Wake::Event { name } if name == super::PROVIDER);
        if wait.wakes.iter().any(waits)
            && let Some((_, settings)) = self.strategy_of(facts)
        {
            self.provider_holds.queue(&settings.provider, id);
        }
    }

    fn lose_turn(&mut self, id: &JobId, facts: &JobFacts) -> Result<(), EngineError> {
        let Some(open) = &facts.chat.open else {
            return Ok(());
        };
        let turn = open.turn;
        self.emit(
            id,
            Event::TurnUnknown(TurnUnknown {
                turn,
                why: "the engine stopped while it was under way; what was reserved counts as spent"
                    .to_owned(),
            }),
        )
    }

    pub(super) fn strategy_of(&self, facts: &JobFacts) -> Option<(Strategy, ChatSettings)> {
        let index = facts.strategy? as usize;
        let strategy = match facts.plan == self.plans.revision {
            true => self.goal.strategies.get(index)?,
            false => self.plans.replaced(facts.plan, index)?,
        };
        let settings = ChatSettings::of(strategy).ok()?;
        Some((strategy.clone(), settings))
    }

    /// The contract's current version.
    pub(super) fn contract_version(&self) -> Result<ContractVersion, EngineError> {
        let row = self.ledger.read().contract(&self.goal.contract.id)?;
        Ok(row.map_or(ContractVersion(1), |row| row.version))
    }

    /// True when the turn has to wait for a budget.
    fn start_turn(&mut self, id: &JobId, facts: &JobFacts) -> Result<bool, EngineError> {
        let Some((strategy, settings)) = self.strategy_of(facts) else {
            self.hand_over(id, "the plan has no such strategy")?;
            return Ok(false);
        };
        let Some(provider) = self.context.providers.get(&settings.provider).cloned() else {
            self.hand_over(
                id,
                &format!(
                    "strategy {} names the provider {:?}, which is not configured",
                    strategy.id, settings.provider
                ),
            )?;
            return Ok(false);
        };
        let version = self.contract_version()?;
        let mut messages = self.messages(&facts.chat.messages)?;
        let message = match self.next_message(id, facts, &strategy, &settings, version)? {
            Some(message) => {
                let digest = self.blob(&serde_json::to_vec(&message).unwrap_or_default());
                messages.push(message);
                Some(digest)
            }
            None => None,
        };
        // An answer that was cut by the ceiling is asked for once more under a higher one.
        let ceiling = settings.max_output_tokens << facts.chat.truncated.min(1);
        let request = prompt::request(
            &settings.model,
            ceiling,
            settings.effort.clone(),
            prompt::system(
                &self.goal.contract,
                version,
                &self.context.world.target.guide(),
            ),
            messages,
        );
        let prefix = prompt::prefix_digest(&request);
        if let Some(first) = &facts.chat.prefix
            && *first != prefix
        {
            let note = end(
                "amended",
                "the contract changed; the next attempt begins under the new version",
            );
            self.end_chat(id, facts, &note)?;
            return Ok(false);
        }
        let price = provider.price(&settings.model);
        let bytes = provider.body(&request).len();
        let reservation = reserve(bytes, ceiling, request.keeps_an_hour(), price.as_ref());
        let money = reservation
            .money
            .map(|money| u64::try_from(money.0).unwrap_or(0));
        let turn = facts.chat.turns + 1;
        let spend = SpendId(format!("{id}/{}/{turn}", facts.attempt));
        let mut amounts: Amounts = [(Budget::Tokens, reservation.tokens())].into();
        if let Some(money) = money {
            amounts.insert(Budget::Money, money);
        }
        if let Err(refused) = self.reserve(id, spend, amounts)? {
            self.start_wait(id, facts, &refused.waiting(self.now))?;
            return Ok(true);
        }
        let system = self.fixed_part(&request);
        self.provider_holds.probe(&settings.provider, self.now);
        let again = facts.chat.failures > 0;
        self.provider_holds
            .begin(&settings.provider, id, again, self.now);
        self.emit(
            id,
            Event::TurnStarted(TurnStarted {
                turn,
                provider: settings.provider.clone(),
                model: settings.model.clone(),
                prefix,
                system,
                message,
                tokens: reservation.tokens(),
                money,
            }),
        )?;
        let call = TurnCall {
            provider: settings.provider,
            request,
            within_ms: strategy.timeout_ms,
            at: self.now,
        };
        self.call_after_commit(id, Errand::Turn(turn), Call::Turn(Box::new(call)));
        Ok(false)
    }

    fn fixed_part(&mut self, request: &TurnRequest) -> Digest {
        let fixed = Fixed {
            tools: request.tools.clone(),
            system: request.system.clone(),
        };
        self.blob(&serde_json::to_vec(&fixed).unwrap_or_default())
    }

    /// The conversation so far, byte for byte as it was sent and received.
    pub(super) fn messages(&self, digests: &[Digest]) -> Result<Vec<Message>, EngineError> {
        digests
            .iter()
            .map(|digest| {
                let text = self.text(digest)?;
                serde_json::from_str(&text).map_err(|error| {
                    EngineError::Setup(format!(
                        "message {} cannot be read: {error}",
                        digest.short()
                    ))
                })
            })
            .collect()
    }

    /// What this turn appends: the job, the tools' answers, or a nudge; nothing when a turn is asked again.
    fn next_message(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        strategy: &Strategy,
        settings: &ChatSettings,
        version: ContractVersion,
    ) -> Result<Option<Message>, EngineError> {
        let chat = &facts.chat;
        let text = |text: String| UserPart::Text { text, cache: None };
        if chat.messages.is_empty() {
            let mut parts: Vec<UserPart> = self
                .strategy_words(strategy, settings)
                .into_iter()
                .collect();
            parts.push(text(self.opening(id, facts, version)?));
            return Ok(Some(Message::User(parts)));
        }
        if !chat.answers.is_empty() {
            let mut parts = Vec::new();
            for answer in &chat.answers {
                parts.push(UserPart::ToolResult {
                    call: answer.call.clone(),
                    text: self.text(&answer.answer)?,
                    failed: answer.failed,
                    cache: None,
                });
            }
            return Ok(Some(Message::User(parts)));
        }
        Ok((chat.silent > 0).then(|| Message::User(vec![text(NUDGE.to_owned())])))
    }
}
