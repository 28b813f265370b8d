//! What a strategy of kind `chat` says.

use super::{DEFAULT_CONTEXT_TOKENS, DEFAULT_MAX_OUTPUT_TOKENS, DEFAULT_MAX_TURNS, MAX_TURNS};
use crate::contract::Strategy;
use serde_json::Value;

/// Most output tokens of a turn that can be asked for.
const MOST_OUTPUT_TOKENS: u64 = 128_000;
/// Smallest context that a loop fits into.
const LEAST_CONTEXT_TOKENS: u64 = 8_000;

/// A chat strategy's settings, with their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSettings {
    /// The provider's name.
    pub provider: String,
    /// The model.
    pub model: String,
    /// How hard the model should think.
    pub effort: Option<String>,
    /// A file with words of the plan's own, from the goal file's folder.
    pub prompt: Option<String>,
    /// Turns of one loop.
    pub max_turns: u32,
    /// Output tokens of one turn.
    pub max_output_tokens: u32,
    /// Input tokens at which a loop ends with a checkpoint.
    pub context_tokens: u64,
}

/// Whether a strategy's worker is a model in a loop.
pub fn is_chat(strategy: &Strategy) -> bool {
    strategy.worker == "chat"
}

impl ChatSettings {
    /// From a strategy.
    ///
    /// # Errors
    /// One sentence that names the key.
    pub fn of(strategy: &Strategy) -> Result<Self, String> {
        let text = |key: &str| -> Result<Option<String>, String> {
            match strategy.params.get(key) {
                None => Ok(None),
                Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
                Some(_) => Err(format!("strategy {}: `{key}` must be a text", strategy.id)),
            }
        };
        let number = |key: &str, default: u64, least: u64, most: u64| -> Result<u64, String> {
            let found = match strategy.params.get(key) {
                None => return Ok(default),
                Some(value) => value.as_u64(),
            };
            found
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| {
                    format!(
                        "strategy {}: `{key}` must be a whole number from {least} to {most}",
                        strategy.id
                    )
                })
        };
        let needed = |key: &str| {
            text(key)?
                .ok_or_else(|| format!("strategy {}: a chat worker needs `{key}`", strategy.id))
        };
        let turns = number(
            "max_turns",
            u64::from(DEFAULT_MAX_TURNS),
            2,
            u64::from(MAX_TURNS),
        )?;
        let output = number(
            "max_tokens",
            u64::from(DEFAULT_MAX_OUTPUT_TOKENS),
            256,
            MOST_OUTPUT_TOKENS,
        )?;
        Ok(Self {
            provider: needed("provider")?,
            model: needed("model")?,
            effort: text("effort")?,
            prompt: text("prompt")?,
            max_turns: u32::try_from(turns).unwrap_or(MAX_TURNS),
            max_output_tokens: u32::try_from(output).unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS),
            context_tokens: number(
                "context_tokens",
                DEFAULT_CONTEXT_TOKENS,
                LEAST_CONTEXT_TOKENS,
                u64::from(u32::MAX),
            )?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn strategy(params: Value) -> Strategy {
        Strategy {
            id: "repair".into(),
            worker: "chat".to_owned(),
            run: Vec::new(),
            timeout_ms: 60_000,
            params: params.as_object().cloned().unwrap_or_else(Map::new),
        }
    }

    #[test]
    fn a_strategy_names_provider_and_model_and_the_rest_has_defaults() {
        let settings = ChatSettings::of(&strategy(json!({"provider": "p", "model": "m"}))).unwrap();
        assert_eq!(settings.max_turns, DEFAULT_MAX_TURNS);
        for (params, part) in [
            (json!({"model": "m"}), "needs `provider`"),
            (json!({"provider": "p"}), "needs `model`"),
            (
                json!({"provider": "p", "model": "m", "max_turns": 1}),
                "from 2 to 200",
            ),
            (
                json!({"provider": "p", "model": "m", "max_turns": "9"}),
                "max_turns",
            ),
            (
                json!({"provider": 3, "model": "m"}),
                "`provider` must be a text",
            ),
        ] {
            let why = ChatSettings::of(&strategy(params)).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
