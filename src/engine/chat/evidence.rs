//! What the reading tools answer: evidence, progress, texts of the job.

use crate::engine::run::{Engine, EngineError};
use crate::ledger::facts::JobFacts;
use crate::model::{ClauseId, Digest, JobId, JobState};
use serde_json::Value;

/// Most bytes of one clause's numbers.
const MAX_NUMBERS: usize = 3_000;

impl Engine {
    /// What the checkers and the last staging run said.
    pub(super) fn evidence_text(
        &self,
        facts: &JobFacts,
        clause: &str,
    ) -> Result<Result<String, String>, EngineError> {
        let all = clause == "all";
        if !all && !facts.clauses.contains(&ClauseId::from(clause)) {
            let names: Vec<&str> = facts.clauses.iter().map(|id| id.as_str()).collect();
            return Ok(Err(format!(
                "no clause {clause:?} applies to this job; its clauses are {} (or 'all')",
                names.join(", ")
            )));
        }
        let mut text = String::new();
        if all {
            for failure in &facts.last_failures {
                text.push_str(&format!("failed: {failure}\n"));
            }
        }
        for (id, one) in &facts.evidence {
            if !all && id.as_str() != clause {
                continue;
            }
            let of = if Some(&one.config) == facts.failed_config.as_ref() {
                "the config that failed"
            } else {
                "an earlier config"
            };
            text.push_str(&format!(
                "clause {id}: {} on {of}: {}\n",
                one.verdict, one.summary
            ));
            text.push_str(&self.numbers(&one.detail)?);
        }
        if text.is_empty() {
            text.push_str("no clause was judged yet\n");
        }
        Ok(Ok(text))
    }

    /// The numbers and queries of a verdict.
    fn numbers(&self, detail: &Digest) -> Result<String, EngineError> {
        let Ok(Value::Object(map)) = serde_json::from_str::<Value>(&self.text(detail)?) else {
            return Ok(String::new());
        };
        let mut text = String::new();
        if let Some(numbers) = map.get("numbers") {
            text.push_str("  numbers: ");
            text.push_str(&numbers.to_string());
            text.push('\n');
        }
        Ok(super::tools::cut(&text, MAX_NUMBERS))
    }

    /// Where job and goal stand, from the ledger.
    pub(super) fn progress_text(&self, id: &JobId, facts: &JobFacts) -> String {
        let limits = &self.goal.contract.limits;
        let mut states = std::collections::BTreeMap::new();
        for job in self.index.jobs.values() {
            *states.entry(job.view.state.word()).or_insert(0u64) += 1;
        }
        let counts: Vec<String> = states
            .iter()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let done = facts.state == JobState::CutOver;
        let quota = self.quota().map_or_else(
            || "no limit on queries".to_owned(),
            |view| format!("{} of {} queries are left today", view.left, view.limit),
        );
        format!(
            "job {id}: state {}{}; attempt {}; {} of {} repair rounds used; {} of {} clauses pass for the current \
             config; turn {} of this loop\ngoal: {} jobs: {}\n{quota}\n",
            facts.state,
            if done { " (done)" } else { "" },
            facts.attempt,
            facts.repair_rounds,
            limits.repair_rounds,
            facts.passed(),
            facts.clauses.len(),
            facts.chat.turns,
            self.index.jobs.len(),
            counts.join(", ")
        )
    }
}
