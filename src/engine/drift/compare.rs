//! What differs: a pure function of what the ledger knows and what the world said.

use super::{Answers, Correction, Difference, Known};
use crate::model::{Action, DriftKind, JobId, OperationId, digest_bytes};
use crate::world::ports::{InProduction, SourceJob};
use std::collections::{BTreeMap, BTreeSet};

const AGAIN: &str = "the job is staged again";
const PERSON: &str = "a person takes the job; nothing is done in production";

/// All differences, in a fixed order: production first.
pub(super) fn differences(
    known: &BTreeMap<JobId, Known>,
    answers: &Answers,
    contradictions: &[(JobId, OperationId, String)],
) -> Vec<Difference> {
    let mut all = Vec::new();
    if let Some(production) = &answers.production {
        in_production(known, production, &mut all);
    }
    for (job, operation, action, what) in &answers.missing {
        all.push(missing(job, operation, *action, what));
    }
    for (job, operation, what) in &answers.ended {
        all.push(Difference {
            kind: DriftKind::RunEnd,
            job: Some(job.clone()),
            ledger_says: format!("staging run {operation} succeeded"),
            world_says: format!("it failed: {what}"),
            accepting: AGAIN,
            correction: Correction::Overturn(job.clone(), operation.clone()),
        });
    }
    for (job, operation, what) in contradictions {
        all.push(Difference {
            kind: DriftKind::Contradiction,
            job: Some(job.clone()),
            ledger_says: format!("operation {operation} was sent; its outcome is not known"),
            world_says: what.clone(),
            accepting: "it stays to be verified; the other jobs go on",
            correction: Correction::Nothing,
        });
    }
    if let Some(source) = &answers.source {
        in_source(known, source, &mut all);
    }
    all
}

fn missing(job: &JobId, operation: &OperationId, action: Action, what: &str) -> Difference {
    let (job, operation) = (job.clone(), operation.clone());
    match action {
        Action::Stage => Difference {
            kind: DriftKind::RunMissing,
            job: Some(job.clone()),
            ledger_says: format!("staging run {operation} was started"),
            world_says: what.to_owned(),
            accepting: AGAIN,
            correction: Correction::Overturn(job, operation),
        },
        Action::CutOver | Action::RollBack => Difference {
            kind: DriftKind::CutOverMissing,
            job: Some(job.clone()),
            ledger_says: format!("it was cut over by {operation}"),
            world_says: what.to_owned(),
            accepting: PERSON,
            correction: Correction::OverturnAndHandOver(job, operation),
        },
    }
}

fn in_production(
    known: &BTreeMap<JobId, Known>,
    production: &[InProduction],
    all: &mut Vec<Difference>,
) {
    let mut there: BTreeMap<&JobId, Vec<&InProduction>> = BTreeMap::new();
    for one in production {
        there.entry(&one.job).or_default().push(one);
    }
    for (job, own) in known.iter().filter(|(_, own)| !own.in_doubt) {
        let shown = there.get(job).map(Vec::as_slice).unwrap_or_default();
        let Some((reference, config)) = &own.production else {
            // A job that a person took may well be in production by that person's hand.
            if let Some(first) = shown.first().filter(|_| !own.ended) {
                all.push(Difference {
                    kind: DriftKind::CutOverUnknown,
                    job: Some(job.clone()),
                    ledger_says: "it was not cut over".to_owned(),
                    world_says: in_words(first, shown.len()),
                    accepting: PERSON,
                    correction: Correction::HandOver(job.clone()),
                });
            }
            continue;
        };
        if shown.len() == 1
            && shown
                .first()
                .is_some_and(|one| one.config_digest == *config)
        {
            continue;
        }
        let Some(operation) = own.cut_by.clone().filter(|_| own.cut_over) else {
            continue;
        };
        all.push(Difference {
            kind: if shown.is_empty() {
                DriftKind::CutOverMissing
            } else {
                DriftKind::CutOverOther
            },
            job: Some(job.clone()),
            ledger_says: format!(
                "it is in production as {reference}, config {}",
                config.short()
            ),
            world_says: match shown.first() {
                None => "it is not in production".to_owned(),
                Some(first) => in_words(first, shown.len()),
            },
            accepting: PERSON,
            correction: Correction::OverturnAndHandOver(job.clone(), operation),
        });
    }
}

fn in_words(first: &InProduction, count: usize) -> String {
    let one = format!(
        "it is in production as {}, config {}",
        first.reference,
        first.config_digest.short()
    );
    match count {
        0 | 1 => one,
        more => format!("{one}, and {} times more", more - 1),
    }
}

fn in_source(known: &BTreeMap<JobId, Known>, source: &[SourceJob], all: &mut Vec<Difference>) {
    let mut listed = BTreeSet::new();
    for job in source {
        listed.insert(&job.id);
        let Some(own) = known.get(&job.id) else {
            all.push(Difference {
                kind: DriftKind::SourceNew,
                job: Some(job.id.clone()),
                ledger_says: "there is no such job".to_owned(),
                world_says: format!(
                    "the source lists it, definition {}",
                    digest_bytes(job.definition.as_bytes()).short()
                ),
                accepting: "the job is added to the goal",
                correction: Correction::Add(Box::new(job.clone())),
            });
            continue;
        };
        let now = digest_bytes(job.definition.as_bytes());
        if now == own.definition {
            continue;
        }
        all.push(Difference {
            kind: DriftKind::SourceChanged,
            job: Some(job.id.clone()),
            ledger_says: format!("its definition is {}", own.definition.short()),
            world_says: format!("its definition is {}", now.short()),
            accepting: if own.ended {
                "the new definition is kept; the job's end stands"
            } else {
                "the job begins again from the new definition"
            },
            correction: Correction::Redefine(job.id.clone(), job.definition.clone()),
        });
    }
    for (job, own) in known {
        // The old job of one that was cut over may be gone: that is what cutting over is for.
        if !own.ended && !listed.contains(job) {
            all.push(Difference {
                kind: DriftKind::SourceGone,
                job: Some(job.clone()),
                ledger_says: "it is a job of this goal".to_owned(),
                world_says: "the source no longer lists it".to_owned(),
                accepting: "the job is cancelled; its history stays",
                correction: Correction::Cancel(job.clone()),
            });
        }
    }
}
