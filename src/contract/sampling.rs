//! Clauses that a person judges on chosen rows: of which jobs, how many rows, who.

use super::types::{Candidate, Clause, Contract};
use crate::model::{Account, ClauseId};
use serde_json::{Map, Value};

/// The `check` of a clause that a person judges.
pub const PERSON: &str = "person";
/// Most rows that a person is asked to look at.
pub const MAX_ROWS: u64 = 20;
const DEFAULT_ROWS: u64 = 5;
const MAX_EVERY: u64 = 1_000_000;
const MAX_PEOPLE: usize = 100;
const MAX_QUESTION_CHARS: usize = 500;
const KNOWN: [&str; 6] = ["high_risk", "every", "rows", "by", "of", "question"];

/// What the parameters of a person's clause say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Jobs that the contract marks high risk.
    pub high_risk: bool,
    /// One job in so many, in the source's order.
    pub every: Option<u64>,
    /// Rows to look at, 1 to [`MAX_ROWS`].
    pub rows: u64,
    /// Accounts that may judge; empty: whoever decides cutovers.
    pub by: Vec<Account>,
    /// The clause whose verdict is looked at as well, when a model gives it.
    pub of: Option<ClauseId>,
    /// What to look for, in the owner's words; may be empty.
    pub question: String,
}

impl Sampling {
    /// Whether a job is among those that a person looks at. Without a rule, each is.
    pub fn chooses(&self, job: &Candidate<'_>) -> bool {
        let nth = self
            .every
            .is_some_and(|every| (job.position + 1).is_multiple_of(every));
        nth || (self.high_risk && job.high_risk) || (self.every.is_none() && !self.high_risk)
    }
}

impl Clause {
    /// What the parameters of a person's clause say.
    ///
    /// # Errors
    /// One sentence for each that is wrong.
    pub fn sampling(&self) -> Result<Sampling, Vec<String>> {
        let mut problems: Vec<String> = self
            .params
            .keys()
            .filter(|key| !KNOWN.contains(&key.as_str()))
            .map(|key| format!("unknown parameter {key:?}; known are {}", KNOWN.join(", ")))
            .collect();
        let mut keep = |why: String| problems.push(why);
        let rule = Sampling {
            high_risk: match self.params.get("high_risk") {
                None => false,
                Some(Value::Bool(own)) => *own,
                Some(other) => {
                    keep(format!("high_risk must be true or false, not {other}"));
                    false
                }
            },
            every: whole(&self.params, "every", MAX_EVERY, &mut keep),
            rows: whole(&self.params, "rows", MAX_ROWS, &mut keep).unwrap_or(DEFAULT_ROWS),
            by: people(&self.params, &mut keep),
            of: text(&self.params, "of", &mut keep).map(|id| ClauseId(id.to_owned())),
            question: text(&self.params, "question", &mut keep)
                .map(|text| text.chars().take(MAX_QUESTION_CHARS).collect())
                .unwrap_or_default(),
        };
        if problems.is_empty() {
            Ok(rule)
        } else {
            Err(problems)
        }
    }
}

fn whole(
    params: &Map<String, Value>,
    key: &str,
    max: u64,
    problem: &mut impl FnMut(String),
) -> Option<u64> {
    let value = params.get(key)?;
    let number = value.as_u64().filter(|own| (1..=max).contains(own));
    if number.is_none() {
        problem(format!(
            "{key} must be a whole number from 1 to {max}, not {value}"
        ));
    }
    number
}

fn text<'a>(
    params: &'a Map<String, Value>,
    key: &str,
    problem: &mut impl FnMut(String),
) -> Option<&'a str> {
    let value = params.get(key)?;
    if value.as_str().is_none() {
        problem(format!("{key} must be text, not {value}"));
    }
    value.as_str()
}

fn people(params: &Map<String, Value>, problem: &mut impl FnMut(String)) -> Vec<Account> {
    let Some(value) = params.get("by") else {
        return Vec::new();
    };
    let names = value
        .as_array()
        .filter(|list| !list.is_empty() && list.len() <= MAX_PEOPLE)
        .and_then(|list| {
            let names = list
                .iter()
                .map(|one| one.as_str().filter(|own| !own.is_empty()));
            names.collect::<Option<Vec<&str>>>()
        });
    match names {
        Some(names) => names
            .into_iter()
            .map(|own| Account(own.to_owned()))
            .collect(),
        None => {
            problem(format!(
                "by must be a list of 1 to {MAX_PEOPLE} accounts, not {value}"
            ));
            Vec::new()
        }
    }
}

impl Contract {
    /// Who may judge a person's clause: whom it names, else whoever decides cutovers.
    pub fn judges_of(&self, clause: &Clause) -> Vec<Account> {
        match clause.sampling() {
            Ok(rule) if !rule.by.is_empty() => rule.by,
            _ => self.approval.by.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest_bytes;
    use serde_json::json;

    fn clause(params: Value) -> Clause {
        Clause {
            id: "looked".into(),
            check: PERSON.to_owned(),
            applies_to: None,
            params: params.as_object().cloned().unwrap_or_default(),
            digest: digest_bytes(b"clause"),
        }
    }

    fn chosen(params: Value, risky: &[u64]) -> Vec<u64> {
        let clause = clause(params);
        let chosen = |position: &u64| {
            clause.applies(&Candidate {
                id: "job",
                tags: &[],
                high_risk: risky.contains(position),
                position: *position,
            })
        };
        (0..10).filter(chosen).collect()
    }

    #[test]
    fn the_rule_chooses_the_same_jobs_always() {
        assert_eq!(chosen(json!({"every": 4}), &[]), [3, 7]);
        assert_eq!(chosen(json!({"high_risk": true}), &[2, 3]), [2, 3]);
        assert_eq!(
            chosen(json!({"high_risk": true, "every": 4}), &[2, 3]),
            [2, 3, 7]
        );
        assert_eq!(
            chosen(json!({}), &[]).len(),
            10,
            "without a rule each is looked at"
        );
        assert!(
            chosen(json!({"every": 0}), &[]).is_empty(),
            "a wrong rule chooses none"
        );
    }

    #[test]
    fn each_wrong_parameter_is_a_sentence() {
        let wrong = clause(json!({
            "every": 0, "rows": 21, "by": [], "of": 3, "high_risk": "yes", "evry": 2,
        }));
        let problems = wrong.sampling().unwrap_err();
        assert_eq!(problems.len(), 6, "{problems:?}");
        for key in ["every", "rows", "by", "of", "high_risk", "evry"] {
            assert!(
                problems.iter().any(|why| why.contains(key)),
                "{key}: {problems:?}"
            );
        }
    }
}
