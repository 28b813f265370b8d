//! What a provider says about itself, without asking for a turn: reachable, key accepted, models.

use super::answer::{answered, text_of, unsent};
use super::classify::{Answered, of_answer};
use super::http::HttpProvider;
use super::wait::{Deadline, Stop};
use super::{TurnFailure, TurnLimits};
use crate::contract::Protocol;
use crate::world::http::runtime;
use serde_json::Value;

/// Most models listed.
const MOST_MODELS: usize = 500;

/// One model as its provider lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Its name.
    pub id: String,
    /// Tokens of input that it takes, when that is said.
    pub max_input_tokens: Option<u64>,
    /// Tokens of output at most, when that is said.
    pub max_output_tokens: Option<u64>,
    /// `active`, `deprecated`, `retired`, or whatever the provider calls it.
    pub lifecycle: Option<String>,
}

impl HttpProvider {
    /// Asks for the list of models: free, and proof that address and key are right. Blocks.
    ///
    /// # Errors
    /// As a turn's.
    pub fn models(&self, limits: &TurnLimits) -> Result<Vec<ListedModel>, Box<TurnFailure>> {
        let runtime = runtime().map_err(|why| self.trouble("no_runtime", why))?;
        let body = runtime
            .block_on(self.list(limits))
            .map_err(|failure| Box::new(self.clean(failure)))?;
        let value: Value = serde_json::from_str(&body).map_err(|_| {
            let why = "the list of models is no JSON; is base_url right?".to_owned();
            self.trouble(TurnFailure::NOT_AN_API, why)
        })?;
        let list = value.get("data").and_then(Value::as_array);
        let list = list.ok_or_else(|| {
            let why = "the list of models has no `data`".to_owned();
            self.trouble(TurnFailure::BROKEN_ANSWER, why)
        })?;
        Ok(list.iter().take(MOST_MODELS).filter_map(model).collect())
    }

    async fn list(&self, limits: &TurnLimits) -> Result<String, TurnFailure> {
        let deadline = Deadline::new(limits);
        let path = match self.settings().protocol {
            Protocol::Anthropic => "/v1/models",
            Protocol::OpenaiChat => "/models",
        };
        let url = format!("{}{path}", self.settings().base_url);
        let headers = self.headers().map_err(|why| *self.trouble("key", why))?;
        let send = self.client().get(url).headers(headers).send();
        let response = match deadline.within(limits.within_ms, send).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unsent(&error)),
            Err(Stop::Cancelled) => {
                return Err(*self.trouble(TurnFailure::CANCELLED, "told to end".to_owned()));
            }
            Err(Stop::Late | Stop::Deadline) => {
                let why = format!("no answer within {} s", limits.within_ms / 1_000);
                return Err(*self.trouble(TurnFailure::DEADLINE, why));
            }
        };
        let answered: Answered = answered(&response, deadline.now());
        let body = text_of(response, &deadline, limits.within_ms).await;
        if answered.status == 200 {
            Ok(body)
        } else {
            Err(of_answer(&answered, &body, deadline.now()))
        }
    }
}

fn model(value: &Value) -> Option<ListedModel> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let short = |text: &str| text.chars().take(200).collect::<String>();
    Some(ListedModel {
        id: short(value.get("id")?.as_str()?),
        max_input_tokens: number("max_input_tokens")
            .or_else(|| number("max_model_len"))
            .or_else(|| value.get("meta")?.get("n_ctx")?.as_u64()),
        max_output_tokens: number("max_tokens"),
        lifecycle: value.get("lifecycle").and_then(Value::as_str).map(short),
    })
}
