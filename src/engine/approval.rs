//! What a yes is bound to.

use super::surroundings::{ClauseView, lineage_digest};
use crate::contract::{Contract, Soak};
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

/// Digest of what the contract says about going into production: who decides, how long a request holds,
/// what follows. The clauses are a part of their own; a budget or a deadline that changes takes no yes back.
pub fn gate_terms(contract: &Contract) -> Digest {
    let approval = &contract.approval;
    let soak = match contract.soak {
        None => Value::Null,
        Some(Soak::Runs(runs)) => json!({ "runs": runs }),
        Some(Soak::Time(ms)) => json!({ "ms": ms }),
    };
    digest_json(&json!({
        "required": approval.required,
        "by": approval.by,
        "expires_after_ms": approval.expires_after_ms,
        "soak": soak,
    }))
}

/// Which parts of two requests differ, in words for the one who is asked again.
pub fn changed_parts(old: &Value, new: &Value) -> Vec<String> {
    const WORDS: [(&str, &str); 6] = [
        ("contract", "the contract's terms of approval"),
        ("checkers", "the clauses or their checkers"),
        ("config", "the config"),
        ("run", "the staging run"),
        ("evidence", "the evidence"),
        ("lineage", "what it is built upon"),
    ];
    let differs = |key: &&(&str, &str)| old.get(key.0) != new.get(key.0);
    WORDS
        .iter()
        .filter(differs)
        .map(|(_, words)| (*words).to_owned())
        .collect()
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
        "contract": gate_terms(contract),
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
