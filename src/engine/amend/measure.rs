//! What judgements really cost so far.

use crate::check::checker;
use crate::contract::Clause;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::{ClauseCost, RerunMeasure};
use crate::model::ClauseId;
use crate::world::ports::Output;
use std::collections::BTreeMap;

/// Share of judgements that are made again, as long as too little was measured; the same as a plan's.
pub const DEFAULT_RERUN_RATE: f64 = 0.15;
/// Queries of first judgements below which a rate says nothing yet.
pub const MIN_MEASURED_QUERIES: u64 = 60;

/// Measured costs and rates.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Queries a judgement by clause, where any were made.
    pub clauses: BTreeMap<ClauseId, ClauseCost>,
    /// Queries of first and of repeated judgements.
    pub reruns: RerunMeasure,
}

impl Measured {
    /// The share of queries that are spent again, and from how many it was measured; `None` while the
    /// default stands in for it.
    pub fn rerun_rate(&self) -> (f64, Option<u64>) {
        let RerunMeasure { first, again } = self.reruns;
        if first < MIN_MEASURED_QUERIES {
            return (DEFAULT_RERUN_RATE, None);
        }
        (again as f64 / first as f64, Some(first))
    }

    /// Queries that judging a clause on a job takes: measured where it was, else the most that its checker
    /// says. What costs a job nothing stays free.
    pub fn queries(&self, clause: &Clause, job: &JobFacts) -> f64 {
        let output: Option<Output> = job
            .output
            .clone()
            .and_then(|value| serde_json::from_value(value).ok());
        let most = checker(&clause.check).map_or(0, |one| one.queries(clause, output.as_ref()));
        let known = self
            .clauses
            .get(&clause.id)
            .filter(|own| own.clause_digest == clause.digest && own.judgements > 0);
        match known {
            Some(own) if most > 0 => own.queries as f64 / own.judgements as f64,
            _ => most as f64,
        }
    }
}
