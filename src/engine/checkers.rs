//! Which checkers stand under the clauses now.

use super::surroundings::ClauseView;
use crate::check::checker;
use crate::contract::{Clause, Goal};
use crate::ledger::facts::JobFacts;
use crate::model::{ClauseId, Digest, EvidenceKind, digest_bytes};
use crate::world::ports::Output;
use std::collections::BTreeMap;

/// Digest of each clause's checker as it stands now.
pub(super) fn checker_digests(goal: &Goal) -> BTreeMap<ClauseId, Digest> {
    let digest = |clause: &Clause| match checker(&clause.check) {
        Some(own) => own.digest(clause, &goal.base_dir),
        None => digest_bytes(b"no checker"),
    };
    let clauses = goal.contract.accept.iter();
    clauses
        .map(|clause| (clause.id.clone(), digest(clause)))
        .collect()
}

/// The clauses that apply to a job, with what their passes' validity depends on.
pub(super) fn clause_views(
    goal: &Goal,
    checkers: &BTreeMap<ClauseId, Digest>,
    facts: &JobFacts,
    output: Option<&Output>,
) -> Vec<ClauseView> {
    facts
        .clauses
        .iter()
        .filter_map(|id| Some((goal.contract.clause(id)?, checkers.get(id)?)))
        .map(|(clause, digest)| ClauseView {
            id: clause.id.clone(),
            clause_digest: clause.digest.clone(),
            checker: digest.clone(),
            queries: checker(&clause.check).map_or(0, |one| one.queries(clause, output)),
            by: clause.kind(),
            judges: judges(goal, clause),
        })
        .collect()
}

/// Who may judge a person's clause, as a sentence says it; empty for any other.
fn judges(goal: &Goal, clause: &Clause) -> String {
    if clause.kind() != EvidenceKind::Person {
        return String::new();
    }
    let names = goal.contract.judges_of(clause);
    match names.is_empty() {
        true => "somebody, but the contract names nobody,".to_owned(),
        false => names
            .iter()
            .map(|one| one.0.as_str())
            .collect::<Vec<_>>()
            .join(" or "),
    }
}
