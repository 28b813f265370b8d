//! Who answers the turns of chat strategies, and which secrets never reach a conversation.

use super::error::CliError;
use super::providers::of_goal;
use crate::contract::{Goal, Price, is_secret_key};
use crate::model::TimeMs;
use crate::worker::chat::redact::Redactor;
use crate::worker::chat::settings::{ChatSettings, is_chat};
use crate::worker::practice_model::{self, PracticeModel, Rates};
use crate::worker::provider::{
    Provider, TurnFailure, TurnFailureClass, TurnLimits, TurnReply, TurnRequest, open,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Providers by the name that strategies use.
pub type Models = BTreeMap<String, Arc<dyn Provider>>;

/// Opens what the plan's chat strategies name. One that cannot be opened is asked all the same, and says why:
/// its jobs wait, visibly, and the others go on.
///
/// # Errors
/// When a strategy is wrong, names a provider that does not exist, or the practice model outside practice.
pub fn of_plan(goal: &Goal) -> Result<(Models, Redactor), CliError> {
    let nothing =
        |why: String, hint: &str| CliError::new(why, format!("Nothing was started. {hint}"));
    let mut models = Models::new();
    let mut secrets: Vec<String> = std::env::vars()
        .filter(|(name, _)| is_secret_key(name))
        .map(|(_, value)| value)
        .collect();
    let mut wanted = BTreeMap::new();
    for strategy in goal.strategies.iter().filter(|one| is_chat(one)) {
        let settings = ChatSettings::of(strategy)
            .map_err(|why| nothing(why, "Mend the strategy in the goal file."))?;
        if settings.provider == practice_model::PROVIDER {
            models.insert(settings.provider.clone(), practice(goal, &strategy.id.0)?);
        } else {
            wanted.insert(settings.provider, strategy.id.0.clone());
        }
    }
    if wanted.is_empty() {
        return Ok((models, Redactor::new(secrets)));
    }
    let mut known = of_goal(goal)?;
    known.retain(|name, _| wanted.contains_key(name));
    for (name, strategy) in &wanted {
        if !known.contains_key(name) {
            return Err(nothing(
                format!("strategy {strategy} names the provider {name:?}, which does not exist"),
                "Add its table [provider.NAME] to the goal file or to this host's configuration.",
            ));
        }
    }
    let opened = open(&known, &goal.base_dir);
    models.extend(opened.providers);
    secrets.extend(opened.secrets);
    for (name, why) in opened.problems {
        models.insert(name.clone(), Arc::new(Unopened { name, why }));
    }
    Ok((models, Redactor::new(secrets)))
}

/// The stand-in of the practice world.
fn practice(goal: &Goal, strategy: &str) -> Result<Arc<dyn Provider>, CliError> {
    let Some(world) = goal.contract.world.ports.get("practice") else {
        return Err(CliError::new(
            format!("strategy {strategy} names the practice model, which is no language model"),
            "Nothing was started. It works in the practice world only; name another provider.",
        ));
    };
    let seed = world.get("seed").and_then(serde_json::Value::as_u64);
    Ok(Arc::new(PracticeModel::new(
        seed.unwrap_or(1),
        Rates::PRACTICE,
    )))
}

/// A provider that could not be opened, such as one whose key is missing.
struct Unopened {
    name: String,
    why: String,
}

impl Provider for Unopened {
    fn name(&self) -> &str {
        &self.name
    }

    fn body(&self, request: &TurnRequest) -> Vec<u8> {
        serde_json::to_vec(request).unwrap_or_default()
    }

    fn price(&self, _model: &str) -> Option<Price> {
        None
    }

    fn turn(
        &self,
        _request: &TurnRequest,
        _limits: &TurnLimits,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        Err(Box::new(TurnFailure {
            class: TurnFailureClass::StopConfig,
            not_before: None::<TimeMs>,
            status: None,
            code: "not_opened".to_owned(),
            maybe_billed: false,
            usage: None,
            most_retries: 0,
            fallback: true,
            slow_down: false,
            request_id: None,
            message: self.why.clone(),
        }))
    }
}
