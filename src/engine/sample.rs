//! Rows that a person is asked to look at: the question, and the verdict as evidence.

use super::decisions::Verdict as Answer;
use super::run::{Engine, EngineError};
use super::settle::{CheckKey, short};
use super::surroundings::{ClauseView, lineage_digest};
use crate::check::{Evidence, person};
use crate::ledger::event::{Event, SampleAsked};
use crate::ledger::facts::{JobFacts, SampleFacts};
use crate::model::{Account, Amounts, Budget, EvidenceKind, JobId, Verdict, canon::digest_parts};
use crate::world::ports::Upstream;
use serde_json::json;

/// Longest reason of a person that is kept, in characters.
const MAX_REASON: usize = 2_000;

/// Whether what was asked is still what the clause asks: the validity key of a pass, before there is one.
pub(super) fn is_current(
    own: &SampleFacts,
    job: &JobFacts,
    clause: &ClauseView,
    lineage: &[Upstream],
) -> bool {
    own.clause == clause.id
        && own.clause_digest == clause.clause_digest
        && own.checker == clause.checker
        && Some(&own.config) == job.config.as_ref()
        && own.lineage == lineage_digest(lineage)
}

/// What a person's free answer says of a sample: pass or fail, and why.
fn read_answer(text: &str) -> Option<(bool, &str)> {
    let text = text.trim();
    let (word, rest) = text.split_once([' ', ':', ',', '\n']).unwrap_or((text, ""));
    let pass = match word.to_ascii_lowercase().as_str() {
        "pass" | "yes" | "ok" => true,
        "fail" | "no" => false,
        _ => return None,
    };
    Some((pass, rest.trim_start_matches([' ', ':', ',', '\n']).trim()))
}

impl Engine {
    /// The rows were chosen: a person is asked.
    pub(super) fn sample_chosen(
        &mut self,
        id: &JobId,
        key: CheckKey,
        evidence: &Evidence,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let rule = self
            .goal
            .contract
            .clause(&key.clause.id)
            .and_then(|clause| clause.sampling().ok());
        let Some(rule) = rule else {
            return self.hand_over(id, "a person shall judge by a clause that says nothing");
        };
        let judged = rule.of.as_ref().and_then(|of| facts.evidence.get(of));
        let text = person::question(&rule, evidence, judged.map(|one| one.summary.as_str()));
        let rows = evidence
            .numbers
            .get("rows")
            .and_then(|rows| rows.as_array());
        let reserved = key.clause.queries;
        let spent = (evidence.queries.len() as u64).min(reserved);
        let queries = |amount| Amounts::from([(Budget::WarehouseQueries, amount)]);
        self.walls
            .move_use(&queries(reserved), &queries(spent), &key.day);
        let detail = self.blob(&serde_json::to_vec(evidence).unwrap_or_default());
        let sample = digest_parts([
            self.goal.contract.id.as_str(),
            id.as_str(),
            key.clause.id.as_str(),
            key.operation.as_str(),
            &self.now.0.to_string(),
        ]);
        self.emit(
            id,
            Event::SampleAsked(SampleAsked {
                sample: format!("s-{}", sample.short()),
                clause: key.clause.id,
                clause_digest: key.clause.clause_digest,
                config: key.config,
                lineage: key.lineage,
                checker: key.clause.checker,
                operation: key.operation,
                rows: rows.map_or(0, |rows| rows.len() as u32),
                detail,
                text,
                spent,
                reserved,
                day: key.day,
            }),
        )
    }

    /// A free answer to a sample, as the interface's dialog sends it.
    pub(super) fn judge_by_answer(&mut self, facts: &JobFacts, by: &Account, text: &str) -> Answer {
        let Some(own) = facts.sample.as_ref().map(|own| own.id.clone()) else {
            return Err("nobody is asked to look at rows of it".to_owned());
        };
        match read_answer(text) {
            Some((pass, reason)) => self.judge_sample(facts, by, &own, pass, reason),
            None => Err("write \"pass\", or \"fail\" and why".to_owned()),
        }
    }

    /// A person's verdict on the rows: evidence under the key that was asked about, if that still holds.
    pub(super) fn judge_sample(
        &mut self,
        facts: &JobFacts,
        by: &Account,
        sample: &str,
        pass: bool,
        reason: &str,
    ) -> Answer {
        let Some(own) = facts.sample.clone().filter(|own| own.id == sample) else {
            return Err("those rows are not asked about any more".to_owned());
        };
        let contract = &self.goal.contract;
        let may = contract
            .clause(&own.clause)
            .map(|clause| contract.judges_of(clause))
            .unwrap_or_default();
        if !may.contains(by) {
            let names: Vec<&str> = may.iter().map(|one| one.0.as_str()).collect();
            return Err(format!(
                "{by} may not judge clause {}; the contract names {}",
                own.clause,
                names.join(", ")
            ));
        }
        let reason: String = reason.trim().chars().take(MAX_REASON).collect();
        if !pass && reason.is_empty() {
            return Err("a fail needs its reason: the next attempt is given it".to_owned());
        }
        let around = self.surroundings(&facts.id);
        let lineage = around
            .lineage()
            .map_err(|up| format!("upstream job {} is changing; it is asked again", up.job))?;
        let holds = around
            .clauses
            .iter()
            .any(|clause| is_current(&own, facts, clause, &lineage));
        if !holds {
            return Err("what it was bound to has changed; it is asked again".to_owned());
        }
        let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
        let words = if reason.is_empty() {
            format!("{by} looked at {} rows", own.rows)
        } else {
            format!("{by} looked at {} rows: {reason}", own.rows)
        };
        let seen = self.text(&own.detail).map_err(|error| error.to_string())?;
        let mut evidence: Evidence =
            serde_json::from_str(&seen).unwrap_or_else(|_| Evidence::bare(verdict, String::new()));
        evidence.verdict = verdict;
        evidence.summary.clone_from(&words);
        let judged = json!({ "by": by, "at": self.now, "sample": own.id, "reason": reason });
        evidence.numbers.insert("judged".to_owned(), judged);
        let detail = self.blob(&serde_json::to_vec(&evidence).unwrap_or_default());
        let event = Event::EvidenceRecorded {
            clause: own.clause,
            clause_digest: own.clause_digest,
            config: own.config,
            lineage: own.lineage,
            checker: own.checker,
            operation: own.operation,
            by: EvidenceKind::Person,
            verdict,
            summary: short(&words),
            detail,
            spent: 0,
            reserved: 0,
            day: self.walls.day().to_owned(),
        };
        Ok((vec![event], format!("recorded: {verdict}")))
    }
}

#[cfg(test)]
mod tests {
    use super::read_answer;

    #[test]
    fn an_answer_is_taken_only_when_it_says_which() {
        assert_eq!(read_answer("pass"), Some((true, "")));
        assert_eq!(read_answer(" OK, all five"), Some((true, "all five")));
        assert_eq!(
            read_answer("fail: totals are in cents"),
            Some((false, "totals are in cents"))
        );
        assert_eq!(read_answer("no"), Some((false, "")));
        for vague in ["", "passable?", "looks good", "nope"] {
            assert_eq!(read_answer(vague), None, "{vague}");
        }
    }
}
