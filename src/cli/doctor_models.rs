//! `dogwatch doctor` on language models: keys, addresses, proxies, models, agents' programs, the sandbox; and
//! with `--call` one cheap call of each model with what it took.

use super::error::CliError;
use super::providers::of_goal;
use crate::contract::{AuthStyle, Goal, ProviderSettings, ProxyRule};
use crate::model::{SafeText, TimeMs};
use crate::worker::agent::{AgentSettings, Sandbox, find_bubblewrap};
use crate::worker::provider::{
    Cancel, HttpProvider, Message, Provider as _, SystemBlock, TurnLimits, TurnRequest, Usage,
    UserPart, cost,
};
use crate::world::http::{is_loopback, proxy_variables};
use crate::world::process::{ProcessOutcome, ProcessSpec, run};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A list of models is waited for so long, a cheap call a little longer.
const LIST_MS: i64 = 15_000;
const CALL_MS: i64 = 60_000;
/// Output tokens of the cheap call: enough for one word after hidden reasoning.
const CALL_TOKENS: u32 = 64;
/// Most models named in text.
const SHOWN: usize = 5;

/// What was found out: lines for people, the same as data.
#[derive(Debug, Default)]
pub struct Findings {
    /// One line each.
    pub lines: Vec<String>,
    /// By provider.
    pub providers: Vec<Value>,
    /// By agent strategy.
    pub agents: Vec<Value>,
}

/// Looks at every provider and agent that the plan names. Sends nothing but a request for the list of models,
/// unless `call` asks for one turn of each model.
///
/// # Errors
/// When the configuration of the host cannot be read.
pub fn look(goal: &Goal, call: bool, now: TimeMs) -> Result<Findings, CliError> {
    let mut findings = Findings::default();
    let all = of_goal(goal)?;
    for (name, models) in wanted(goal) {
        match all.get(&name) {
            Some(settings) => one_provider(&mut findings, goal, settings, &models, call, now),
            None if name == "practice" => {}
            None => {
                findings.lines.push(format!(
                    "provider {name}: not in the goal file and not in this host's configuration; its strategies cannot run"
                ));
                findings.providers.push(
                    json!({ "name": name, "problem": "there is no [provider] of this name" }),
                );
            }
        }
    }
    for strategy in goal
        .strategies
        .iter()
        .filter(|one| AgentSettings::is_agent(one))
    {
        if let Ok(settings) = AgentSettings::of(strategy) {
            let program = strategy
                .run
                .first()
                .map_or(settings.profile.program(), String::as_str);
            agent(&mut findings, strategy.id.as_str(), program, &goal.base_dir);
        }
    }
    if !findings.agents.is_empty() {
        findings.lines.push(sandbox(goal));
    }
    Ok(findings)
}

/// What stands around agents on this host.
fn sandbox(goal: &Goal) -> String {
    if let Some(path) = find_bubblewrap() {
        return format!("sandbox: bubblewrap at {}", path.display());
    }
    let demanding: Vec<&str> = goal
        .strategies
        .iter()
        .filter(|one| {
            AgentSettings::of(one).is_ok_and(|settings| settings.sandbox == Sandbox::Required)
        })
        .map(|one| one.id.as_str())
        .collect();
    if demanding.is_empty() {
        "sandbox: bubblewrap is not installed: agents run with this account's rights, in their own folder, with \
         changes to watched files noticed afterwards"
            .to_owned()
    } else {
        format!(
            "sandbox: bubblewrap is not installed, and {} demands it: nothing of it starts",
            demanding.join(", ")
        )
    }
}

/// Providers by name with the models that strategies ask of them.
fn wanted(goal: &Goal) -> BTreeMap<String, BTreeSet<String>> {
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in goal.providers.keys() {
        wanted.entry(name.clone()).or_default();
    }
    for strategy in &goal.strategies {
        let word = |key: &str| strategy.params.get(key).and_then(Value::as_str);
        if let Some(provider) = word("provider") {
            let models = wanted.entry(provider.to_owned()).or_default();
            models.extend(word("model").map(str::to_owned));
        }
    }
    wanted
}

fn one_provider(
    findings: &mut Findings,
    goal: &Goal,
    settings: &ProviderSettings,
    models: &BTreeSet<String>,
    call: bool,
    now: TimeMs,
) {
    let name = settings.name.clone();
    let mut data = json!({
        "name": name, "base_url": settings.base_url, "key": null, "proxy": proxy(settings), "problem": null,
        "models": [], "calls": [],
    });
    let mut say = |text: String| findings.lines.push(format!("provider {name}: {text}"));
    say(format!("{}; {}", settings.base_url, proxy(settings)));
    match HttpProvider::new(settings.clone(), &goal.base_dir) {
        Err(why) => {
            say(why.clone());
            data["key"] = json!(false);
            data["problem"] = json!(why);
        }
        Ok(provider) => {
            let key = provider.secret().is_some();
            data["key"] = json!(key);
            say(key_line(settings, key));
            match provider.models(&limits(now, LIST_MS)) {
                Err(failure) => {
                    let why = SafeText::line(&failure.message).into_string();
                    say(format!("no list of models: {why}"));
                    data["problem"] = json!(why);
                }
                Ok(listed) => {
                    let ids: Vec<&str> = listed.iter().map(|one| one.id.as_str()).collect();
                    let shown: Vec<&str> = ids.iter().take(SHOWN).copied().collect();
                    let line = format!("reachable, {} models: {}", ids.len(), shown.join(", "));
                    say(SafeText::line(&line).into_string());
                    for model in models {
                        if !ids.contains(&model.as_str()) {
                            say(format!("the model {model} is not in its list"));
                        }
                        if let Some(word) = listed
                            .iter()
                            .find(|one| one.id == *model)
                            .and_then(|one| one.lifecycle.as_deref())
                            .filter(|word| *word != "active")
                        {
                            let word = SafeText::line(word).into_string();
                            say(format!("the model {model} is {word}"));
                        }
                    }
                    data["models"] = json!(ids);
                }
            }
            for model in models {
                if settings.price(model).is_none() {
                    say(format!(
                        "no price for {model}: its turns count in tokens only"
                    ));
                }
                if call {
                    let (line, value) = one_call(&provider, model, now);
                    say(line);
                    push(&mut data, "calls", value);
                }
            }
        }
    }
    findings.providers.push(data);
}

fn push(data: &mut Value, key: &str, value: Value) {
    if let Some(list) = data.get_mut(key).and_then(Value::as_array_mut) {
        list.push(value);
    }
}

fn key_line(settings: &ProviderSettings, present: bool) -> String {
    let kind = settings
        .api_key
        .as_ref()
        .and_then(Value::as_object)
        .and_then(|map| map.keys().next().cloned());
    match (present, kind, settings.auth) {
        (true, Some(kind), _) => format!("its key is there (by {kind})"),
        (_, _, AuthStyle::None) => "no key is sent".to_owned(),
        _ => "no `api_key` is set; no key is sent".to_owned(),
    }
}

/// What a connection to it meets on the way.
fn proxy(settings: &ProviderSettings) -> String {
    if is_loopback(&settings.base_url) {
        return "this host, no proxy".to_owned();
    }
    match &settings.proxy {
        ProxyRule::Direct => "directly, no proxy".to_owned(),
        ProxyRule::Through(_) => "through the proxy of its settings".to_owned(),
        ProxyRule::System => match proxy_variables().as_slice() {
            [] => "directly: no proxy is set in the environment".to_owned(),
            names => format!("as the environment says ({})", names.join(", ")),
        },
    }
}

fn one_call(provider: &HttpProvider, model: &str, now: TimeMs) -> (String, Value) {
    let request = TurnRequest {
        model: model.to_owned(),
        max_output_tokens: CALL_TOKENS,
        effort: None,
        tools: Vec::new(),
        system: vec![SystemBlock {
            text: "Answer with one word.".to_owned(),
            cache: None,
        }],
        messages: vec![Message::User(vec![UserPart::Text {
            text: "Say: ready".to_owned(),
            cache: None,
        }])],
    };
    match provider.turn(&request, &limits(now, CALL_MS)) {
        Ok(reply) => {
            let Usage { output, source, .. } = reply.usage;
            let input = reply.usage.input();
            let money = provider
                .price(&reply.model)
                .map(|price| cost(&reply.usage, &price));
            let answered = SafeText::line(&reply.model).into_string();
            let price = money.map_or_else(|| "no price".to_owned(), |money| money.to_string());
            let line = format!(
                "one call of {model}: {answered} answered, {input} tokens in, {output} out ({}), {price}",
                json!(source).as_str().unwrap_or("")
            );
            let value = json!({
                "model": model, "answered": answered, "input": input, "output": output, "source": source,
                "cache_read": reply.usage.cache_read, "pico_dollars": money, "problem": null,
            });
            (line, value)
        }
        Err(failure) => {
            let why = SafeText::line(&failure.message).into_string();
            let value = json!({ "model": model, "problem": why });
            (format!("one call of {model} failed: {why}"), value)
        }
    }
}

fn limits(now: TimeMs, within_ms: i64) -> TurnLimits {
    TurnLimits {
        now,
        within_ms,
        cancel: Cancel::default(),
    }
}

/// Whether an agent's program is there, and which version: flags and events change with it.
fn agent(findings: &mut Findings, strategy: &str, program: &str, base_dir: &Path) {
    let argv = vec![program.to_owned(), "--version".to_owned()];
    let mut spec = ProcessSpec::new(argv, base_dir, Vec::new(), 20_000);
    spec.stdout_cap = 64 * 1024;
    let (version, problem) = match run(&spec) {
        ProcessOutcome::Exited {
            code: 0, stdout, ..
        } => {
            let text = String::from_utf8_lossy(&stdout);
            let line = text.lines().next().unwrap_or("").trim();
            (Some(SafeText::line(line).into_string()), None)
        }
        other => (None, other.trouble()),
    };
    findings.lines.push(match (&version, &problem) {
        (Some(version), _) => format!("agent of {strategy}: {program} {version}"),
        (None, why) => format!(
            "agent of {strategy}: {program} does not run: {}",
            SafeText::line(why.as_deref().unwrap_or("")).into_string()
        ),
    });
    findings.agents.push(json!({
        "strategy": strategy, "program": program, "version": version, "problem": problem,
        "sandbox": find_bubblewrap().is_some(),
    }));
}
