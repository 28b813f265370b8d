//! A command worker's profile, from its strategy.

use super::meter::MeterLimits;
use super::sandbox::Sandbox;
use crate::contract::Strategy;
use crate::model::PicoDollars;
use serde_json::Value;

const DEFAULT_TURNS: u32 = 12;
/// Tokens of one attempt, when the strategy says nothing.
const DEFAULT_TOKENS: u64 = 1_000_000;
const DEFAULT_OUTPUT: u32 = 16_000;

/// Which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// `claude -p`.
    Claude,
    /// `codex exec`.
    Codex,
}

impl Profile {
    /// The program, when `run` names none.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

/// Settings of one agent worker.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// Which agent.
    pub profile: Profile,
    /// Which provider of the goal answers.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Calls of the model in one attempt.
    pub turns: u32,
    /// Output tokens of one call.
    pub max_output_tokens: u32,
    /// Money of one attempt.
    pub money: Option<PicoDollars>,
    /// Tokens of one attempt.
    pub tokens: u64,
    /// A file with more instructions.
    pub prompt: Option<String>,
    /// What stands around it.
    pub sandbox: Sandbox,
}

impl AgentSettings {
    /// Whether a strategy is an agent's.
    pub fn is_agent(strategy: &Strategy) -> bool {
        strategy.worker == "command" && strategy.params.contains_key("profile")
    }

    /// Reads a strategy, whose shape the goal file's reader has checked.
    ///
    /// # Errors
    /// One sentence when it is no agent's.
    pub fn of(strategy: &Strategy) -> Result<Self, String> {
        let word = |key: &str| strategy.params.get(key).and_then(Value::as_str);
        let number = |key: &str| strategy.params.get(key).and_then(Value::as_u64);
        let small = |key: &str, default: u32| {
            number(key).map_or(default, |one| u32::try_from(one).unwrap_or(u32::MAX))
        };
        let profile = match word("profile") {
            Some("claude") => Profile::Claude,
            Some("codex") => Profile::Codex,
            _ => {
                return Err(format!(
                    "strategy {} has no profile of an agent",
                    strategy.id
                ));
            }
        };
        let needed = |key: &str| {
            word(key)
                .map(str::to_owned)
                .ok_or_else(|| format!("strategy {} names no `{key}`", strategy.id))
        };
        Ok(Self {
            profile,
            provider: needed("provider")?,
            model: needed("model")?,
            turns: small("turns", DEFAULT_TURNS),
            max_output_tokens: small("max_tokens", DEFAULT_OUTPUT),
            money: strategy
                .params
                .get("attempt_dollars")
                .and_then(Value::as_f64)
                .map(PicoDollars::from_dollars),
            tokens: number("attempt_tokens").unwrap_or(DEFAULT_TOKENS),
            prompt: word("prompt").map(str::to_owned),
            sandbox: match word("sandbox") {
                Some("bubblewrap") => Sandbox::Required,
                Some("none") => Sandbox::None,
                _ => Sandbox::WhenPresent,
            },
        })
    }

    /// The limits of one attempt.
    pub fn limits(&self) -> MeterLimits {
        MeterLimits {
            // A turn is a call; some of them are tried again below us.
            calls: Some(self.turns.saturating_mul(2)),
            tokens: Some(self.tokens),
            money: self.money,
        }
    }
}
