//! What a yes is bound to.

use super::surroundings::{ClauseView, lineage_digest};
use crate::contract::Contract;
use crate::ledger::facts::{JobFacts, RunFacts};
use crate::model::{ApprovalId, Digest, canon::digest_parts, digest_json};
use crate::world::ports::Upstream;
use serde_json::{Value, json};

/// Everything a request is about, and its digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Digest over all parts.
    pub digest: Digest,
    /// The parts by name: contract, config, run, evidence, lineage, checkers.
    pub parts: Value,
}

/// The bundle of a job as it stands. A change to any part gives another digest.
pub fn bundle(
    job: &JobFacts,
    contract: &Contract,
    clauses: &[ClauseView],
    lineage: &[Upstream],
) -> Bundle {
    let run = match &job.run {
        Some(RunFacts::Succeeded { operation }) => operation.as_str(),
        _ => "none",
    };
    let evidence: Vec<Value> = clauses
        .iter()
        .map(|clause| {
            let own = job.evidence.get(&clause.id);
            json!({
                "clause": clause.id,
                "verdict": own.map_or("none", |one| one.verdict.word()),
                "detail": own.map(|one| one.detail.as_str()),
            })
        })
        .collect();
    let checkers: Vec<Value> = clauses
        .iter()
        .map(|clause| json!({ "clause": clause.clause_digest, "checker": clause.checker }))
        .collect();
    let parts = json!({
        "contract": contract.digest,
        "config": job.config,
        "run": run,
        "evidence": evidence,
        "lineage": lineage_digest(lineage),
        "checkers": digest_json(&Value::Array(checkers)),
    });
    Bundle {
        digest: digest_json(&parts),
        parts,
    }
}

/// Id of the `count`-th request of a job.
pub fn approval_id(job: &JobFacts, digest: &Digest, count: u64) -> ApprovalId {
    let id = digest_parts([
        job.goal.as_str(),
        job.id.as_str(),
        digest.as_str(),
        &count.to_string(),
    ]);
    ApprovalId(format!("a-{}", id.short()))
}
