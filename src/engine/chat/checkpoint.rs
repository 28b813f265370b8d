//! The checkpoint of an attempt that ends, from the facts alone.

use super::line;
use crate::ledger::facts::{JobFacts, RunFacts};
use crate::model::Verdict;
use crate::worker::chat::checkpoint::Checkpoint;

/// What the next attempt must know. `reason` is why this one ends.
pub fn checkpoint(facts: &JobFacts, reason: &str) -> Checkpoint {
    let passes: Vec<&str> = facts
        .evidence
        .iter()
        .filter(|(_, one)| {
            one.verdict == Verdict::Pass && Some(&one.config) == facts.config.as_ref()
        })
        .map(|(id, _)| id.as_str())
        .collect();
    let missing: Vec<&str> = facts
        .clauses
        .iter()
        .map(|id| id.as_str())
        .filter(|id| !passes.contains(id))
        .collect();
    let failures = facts.last_failures.join("; ");
    let refused = facts.prepare_refused.clone().unwrap_or_default();
    let obstacle = [reason, &refused, &failures]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    let run = match &facts.run {
        None => "no staging run".to_owned(),
        Some(RunFacts::Going { .. }) => "a staging run goes on".to_owned(),
        Some(RunFacts::Succeeded { .. }) => "the staging run succeeded".to_owned(),
        Some(RunFacts::Failed { why, .. }) => format!("the staging run failed: {why}"),
    };
    let evidence: Vec<String> = facts
        .evidence
        .iter()
        .filter(|(_, one)| Some(&one.config) == facts.config.as_ref())
        .map(|(id, one)| format!("{id}: {}: {}", one.verdict, one.summary))
        .collect();
    let changed = match &facts.config {
        Some(config) => format!("config {} was proposed", config.short()),
        None => "no config was proposed".to_owned(),
    };
    Checkpoint {
        state: format!(
            "attempt {} of the job ended; {run}; {} of {} clauses pass",
            facts.attempt,
            passes.len(),
            facts.clauses.len()
        ),
        changed,
        evidence: if evidence.is_empty() {
            "no new evidence".to_owned()
        } else {
            evidence.join("; ")
        },
        gap: missing.join(", "),
        obstacle: line(obstacle),
        verify_next: facts
            .last_failures
            .first()
            .cloned()
            .or_else(|| missing.first().map(|id| format!("clause {id}")))
            .unwrap_or_default(),
        act_or_wait: "act".to_owned(),
        wakes: String::new(),
        worker_said: facts.chat.said.clone(),
    }
    .bounded()
}
