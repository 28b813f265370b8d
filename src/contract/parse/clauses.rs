//! `[[accept]]` and `[[strategy]]`.

use super::free;
use super::section::{Section, nearest};
use super::sections::check_id;
use crate::contract::sampling::Sampling;
use crate::contract::types::{Clause, Strategy};
use crate::model::{ClauseId, EvidenceKind, StrategyId, digest_json};
use serde_json::{Map, Value as Json, json};

const MAX_CLAUSES: usize = 200;
const MAX_STRATEGIES: usize = 50;
const MAX_WORDS: usize = 100;
const DEFAULT_TIMEOUT_MS: i64 = 5 * 60_000;
const WORKERS: [&str; 3] = ["script", "command", "chat"];

/// All clauses, in order.
pub(super) fn accept(top: &Section<'_>) -> Vec<Clause> {
    let sections = top.tables("accept", MAX_CLAUSES);
    if sections.is_empty() {
        top.context.problem(
            &top.key_span("accept"),
            "no [[accept]]: without a clause nothing can ever be done".to_owned(),
            Some("add at least one, such as id = \"rows\", check = \"row_count\"".to_owned()),
        );
    }
    let mut clauses: Vec<Clause> = Vec::new();
    for section in sections {
        let clause = one_clause(&section);
        if !clause.id.0.is_empty() && clauses.iter().any(|other| other.id == clause.id) {
            let why = format!("a second clause with the id \"{}\"", clause.id);
            section.bad("id", why, Some("each clause needs its own id".to_owned()));
        }
        clauses.push(clause);
    }
    who_watches(top, &clauses);
    clauses
}

/// A person's clause may look at another's verdict; a model's verdicts that nobody looks at are asked about.
fn who_watches(top: &Section<'_>, clauses: &[Clause]) {
    let rules: Vec<(&Clause, Sampling)> = clauses
        .iter()
        .filter(|clause| clause.kind() == EvidenceKind::Person)
        .filter_map(|clause| Some((clause, clause.sampling().ok()?)))
        .collect();
    for (clause, rule) in &rules {
        let Some(of) = &rule.of else { continue };
        let found = clauses.iter().find(|own| own.id == *of);
        if found.is_none_or(|own| own.kind() != EvidenceKind::Judge) {
            top.context.problem(
                &top.key_span("accept"),
                format!(
                    "clause \"{}\": of = \"{of}\" names no clause that a model judges",
                    clause.id
                ),
                Some("leave `of` out where a person looks at the rows alone".to_owned()),
            );
        }
    }
    for clause in clauses
        .iter()
        .filter(|own| own.kind() == EvidenceKind::Judge)
    {
        if !rules
            .iter()
            .any(|(_, rule)| rule.of.as_ref() == Some(&clause.id))
        {
            top.context.question(format!(
                "Clause \"{}\" is judged by a model, and no person looks at a share of its verdicts (a clause with \
                 check = \"person\", of = \"{}\" and every = 5 would). Is that meant?",
                clause.id, clause.id
            ));
        }
    }
}

fn one_clause(section: &Section<'_>) -> Clause {
    let id = section
        .required_text("id", "a short name for the clause")
        .filter(|id| check_id(section, "id", id))
        .unwrap_or("");
    let check = section.text("check").unwrap_or("").to_owned();
    let applies_to = section.text("applies_to").map(str::to_owned);
    if applies_to.as_deref() == Some("") {
        let why = "`applies_to` is empty; expected a tag or a job pattern".to_owned();
        section.bad("applies_to", why, None);
    }
    let params = free::rest_as_json(section);
    let digest = digest_json(&json!({
        "check": check, "applies_to": applies_to, "params": params,
    }));
    let clause = Clause {
        id: ClauseId(id.to_owned()),
        check,
        applies_to,
        params,
        digest,
    };
    judge_checker(section, &clause);
    clause
}

/// Lets the checker look at its parameters; a clause that no checker can judge is asked about.
fn judge_checker(section: &Section<'_>, clause: &Clause) {
    if section.get("check").is_none() {
        // A misspelt `check` would otherwise hide among the checker's parameters.
        let slip = section
            .others()
            .into_iter()
            .find(|(key, _)| nearest(key, ["check"]).is_some());
        match slip {
            Some((key, _)) => section.unknown_key(key),
            None => section.context.question(format!(
                "Clause \"{}\" names no checker: it stays unverified, and no job it applies to \
                 is ever done. Is that meant?",
                clause.id
            )),
        }
        return;
    }
    let Some(checkers) = section.context.checkers else {
        return;
    };
    match checkers.problems(clause) {
        Some(problems) => {
            for why in problems {
                let span = section.key_span("check");
                section
                    .context
                    .problem(&span, format!("clause \"{}\": {why}", clause.id), None);
            }
        }
        None => {
            let names = checkers.names().into_iter();
            let meant = match nearest(&clause.check, names.clone()) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("known are {}.", names.collect::<Vec<_>>().join(", ")),
            };
            section.context.question(format!(
                "Clause \"{}\" names the checker \"{}\", which does not exist ({meant}): it stays \
                 unverified, and no job it applies to is ever done. Is that meant?",
                clause.id, clause.check
            ));
        }
    }
}

/// The plan, in order.
pub(super) fn strategies(top: &Section<'_>) -> Vec<Strategy> {
    let sections = top.tables("strategy", MAX_STRATEGIES);
    if sections.is_empty() {
        top.context.question(
            "There is no [[strategy]]: every job is handed over untried. Is that meant?".to_owned(),
        );
    }
    let mut strategies: Vec<Strategy> = Vec::new();
    for section in sections {
        let strategy = one_strategy(&section);
        if !strategy.id.0.is_empty() && strategies.iter().any(|other| other.id == strategy.id) {
            let why = format!("a second strategy with the id \"{}\"", strategy.id);
            section.bad("id", why, Some("each strategy needs its own id".to_owned()));
        }
        strategies.push(strategy);
    }
    strategies
}

fn one_strategy(section: &Section<'_>) -> Strategy {
    let id = section
        .required_text("id", "a short name for the strategy")
        .filter(|id| check_id(section, "id", id))
        .unwrap_or("");
    let worker = section
        .required_text("worker", "script, command or chat")
        .unwrap_or("");
    let timeout_ms = section.duration_ms("timeout", 1_000);
    let (run, params) = match worker {
        "command" if section.get("profile").is_some() => super::agents::settings(section),
        "script" | "command" => (command_line(section), Map::new()),
        "chat" => {
            for key in ["provider", "model"] {
                section.required_text(key, "what the chat worker talks to");
            }
            (Vec::new(), chat_settings(section))
        }
        "" => (Vec::new(), free::rest_as_json(section)),
        other => {
            let hint = match nearest(other, WORKERS) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("expected one of: {}", WORKERS.join(", ")),
            };
            let shown: String = other.chars().take(60).collect();
            section.bad("worker", format!("unknown worker \"{shown}\""), Some(hint));
            (Vec::new(), free::rest_as_json(section))
        }
    };
    if WORKERS.contains(&worker) {
        section.refuse_unknown();
    }
    Strategy {
        id: StrategyId(id.to_owned()),
        worker: worker.to_owned(),
        run,
        timeout_ms: timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
        params,
    }
}

fn command_line(section: &Section<'_>) -> Vec<String> {
    let run = section.texts("run", MAX_WORDS);
    if section.get("run").is_none() {
        let why = format!(
            "{} has no `run`: the command and its arguments, such as [\"./convert.py\", \"{{job}}\"]",
            section.name()
        );
        section.context.problem(&section.span(), why, None);
    }
    let run: Vec<String> = run
        .unwrap_or_default()
        .into_iter()
        .map(|(t, _)| t)
        .collect();
    if section.get("run").is_some() && run.first().is_none_or(String::is_empty) {
        section.bad("run", "`run` names no command".to_owned(), None);
    }
    run
}

/// Settings that chat workers know.
fn chat_settings(section: &Section<'_>) -> Map<String, Json> {
    let mut params = Map::new();
    for key in [
        "provider",
        "model",
        "prompt",
        "max_tokens",
        "effort",
        "max_turns",
        "context_tokens",
    ] {
        if let Some(item) = section.get(key) {
            let span = section.value_span(key);
            if let Some(value) = free::item_to_json(section, key, item, &span) {
                params.insert(key.to_owned(), value);
            }
        }
    }
    params
}
