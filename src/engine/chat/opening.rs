//! The job block: what one attempt is told about its job.

use crate::contract::Strategy;
use crate::engine::run::{Engine, EngineError};
use crate::ledger::facts::JobFacts;
use crate::model::{ContractVersion, JobId};
use crate::worker::chat::checkpoint::Checkpoint;
use crate::worker::chat::prompt::{JobBlock, job_block};
use crate::worker::chat::settings::ChatSettings;
use crate::worker::provider::{CacheMark, UserPart};
use std::io::Read as _;

/// Largest file of a strategy's own words, in bytes.
const MAX_PROMPT_BYTES: u64 = 32 * 1024;

/// The word that `acknowledge` must repeat: whether a config failed before.
pub(super) fn next_step(facts: &JobFacts) -> &'static str {
    if facts.failed_config.is_some() {
        "repair_config"
    } else {
        "propose_config"
    }
}

impl Engine {
    pub(super) fn opening(
        &self,
        id: &JobId,
        facts: &JobFacts,
        version: ContractVersion,
    ) -> Result<String, EngineError> {
        let checkpoint: Option<Checkpoint> = match &facts.checkpoint {
            Some(digest) => serde_json::from_str(&self.text(digest)?).ok(),
            None => None,
        };
        let comment = facts.operator_words();
        let output = self.index.jobs.get(id).and_then(|job| job.output.clone());
        let text = job_block(&JobBlock {
            contract_version: version,
            job: id,
            next_step: next_step(facts),
            title: &facts.title,
            origin: &facts.origin,
            clauses: facts.clauses.iter().map(|clause| clause.as_str()).collect(),
            upstream: facts.depends_on.iter().map(|job| job.as_str()).collect(),
            output: output.as_ref(),
            attempt: facts.attempt.0,
            checkpoint: checkpoint.as_ref(),
            comment: comment.as_deref(),
        });
        Ok(self.context.redactor.redact(&text))
    }

    /// A strategy's own words, the same for all its jobs; they stand before the job, with a mark of their own.
    pub(super) fn strategy_words(
        &self,
        strategy: &Strategy,
        settings: &ChatSettings,
    ) -> Option<UserPart> {
        let file = settings.prompt.as_ref()?;
        let text = self.own_words(strategy, file);
        let text = format!("For this strategy:\n{}\n", text.trim());
        Some(UserPart::Text {
            text: self.context.redactor.redact(&text),
            cache: Some(CacheMark::OneHour),
        })
    }

    /// A strategy's own file. One that cannot be read is said to be missing, not left out in silence.
    fn own_words(&self, strategy: &Strategy, file: &str) -> String {
        let path = self.context.base_dir.join(file);
        let mut text = String::new();
        let read = std::fs::File::open(&path)
            .and_then(|file| file.take(MAX_PROMPT_BYTES).read_to_string(&mut text));
        match read {
            Ok(_) => text,
            Err(_) => format!(
                "(the file {file:?} of strategy {} cannot be read)",
                strategy.id
            ),
        }
    }
}
