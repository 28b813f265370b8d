//! Ids, back-off and what a look-up means.

use crate::ledger::event::Event;
use crate::ledger::facts::OperationFacts;
use crate::ledger::read::ProofRow;
use crate::model::{Action, Digest, GoalId, JobId, OperationId, TimeMs, canon::digest_parts};
use crate::world::ports::{AdapterInfo, Effect, Lookup};

/// How often one id is sent in all; beyond it a person looks.
pub const MAX_SENDS: u32 = 5;
const FIRST_LOOK_MS: i64 = 5_000;
const LONGEST_PAUSE_MS: i64 = 3_600_000;

/// The stable id of a side effect: 16 hex digits.
pub fn operation_id(
    goal: &GoalId,
    job: &JobId,
    action: Action,
    config: &Digest,
    ordinal: u32,
) -> OperationId {
    let environment = if action.is_production() {
        "production"
    } else {
        "staging"
    };
    let digest = digest_parts([
        goal.as_str(),
        job.as_str(),
        action.word(),
        environment,
        config.as_str(),
        &ordinal.to_string(),
    ]);
    OperationId(digest.0.chars().take(16).collect())
}

/// Pause before the `count`-th repetition (from 0): doubling, capped at an hour.
pub fn back_off_ms(first_ms: i64, count: u32) -> i64 {
    first_ms
        .saturating_mul(1 << count.min(20))
        .min(LONGEST_PAUSE_MS)
}

/// What the reply to an effect means for the ledger.
///
/// A refusal of a resend speaks of the resend alone: what came of the send before is as unknown as it
/// was, and is looked up again.
pub fn event_of_effect(
    operation: &OperationFacts,
    effect: &Effect,
    refusals: u32,
    now: TimeMs,
) -> Event {
    let id = &operation.id;
    match effect {
        Effect::Applied(found) if found.config_digest == operation.config => Event::OpApplied {
            operation: id.clone(),
            reference: found.reference.clone(),
            observed: found.observed.clone(),
            how: "reply".to_owned(),
        },
        Effect::Applied(found) => Event::OpUnknown {
            operation: id.clone(),
            why: format!(
                "the reply names another config ({})",
                found.config_digest.short()
            ),
            next_look: now.plus_ms(FIRST_LOOK_MS),
        },
        Effect::Refused {
            why,
            retry_after_ms,
            ..
        } if operation.sends > 1 => Event::OpUnknown {
            operation: id.clone(),
            why: format!("sent again and refused ({why}); an earlier send may have worked"),
            next_look: now.plus_ms(retry_after_ms.unwrap_or(back_off_ms(15_000, operation.sends))),
        },
        Effect::Refused {
            why,
            class,
            retry_after_ms,
        } => Event::OpRefused {
            operation: id.clone(),
            why: why.clone(),
            class: *class,
            retry_at: Some(now.plus_ms(retry_after_ms.unwrap_or(back_off_ms(15_000, refusals)))),
        },
        Effect::Unknown { why } => Event::OpUnknown {
            operation: id.clone(),
            why: why.clone(),
            next_look: now.plus_ms(FIRST_LOOK_MS),
        },
    }
}

/// How the reason begins when an operation was sent as often as it may be, and each look-up found nothing.
pub const NOT_FOUND_AFTER: &str = "not found after";

/// What a look-up means: the outcome, a resend under a proof, or a person.
pub fn event_of_look_up(
    operation: &OperationFacts,
    lookup: &Lookup,
    proof: Option<String>,
    now: TimeMs,
) -> Event {
    let again = |answer: &str, why: String, to_verify: bool| Event::OpLookedUp {
        operation: operation.id.clone(),
        answer: answer.to_owned(),
        why,
        next_look: now.plus_ms(back_off_ms(30_000, operation.look_ups)),
        to_verify,
    };
    match lookup {
        Lookup::Found(found) if found.config_digest == operation.config => Event::OpApplied {
            operation: operation.id.clone(),
            reference: found.reference.clone(),
            observed: found.observed.clone(),
            how: "look_up".to_owned(),
        },
        Lookup::Found(found) => again(
            "cannot_tell",
            format!(
                "the look-up returned another config ({})",
                found.config_digest.short()
            ),
            true,
        ),
        Lookup::CannotTell { why } => again("cannot_tell", why.clone(), true),
        Lookup::Absent => match proof {
            Some(proof) if operation.sends < MAX_SENDS => Event::OpSentAgain {
                operation: operation.id.clone(),
                proof,
            },
            Some(_) => again(
                "absent",
                format!("{NOT_FOUND_AFTER} {} sends", operation.sends),
                true,
            ),
            None => again(
                "absent",
                "not found, which is no proof of absence".to_owned(),
                true,
            ),
        },
    }
}

/// What is known of a target keeping one effect per id.
#[derive(Debug, Clone, Default)]
pub struct Proofs {
    /// Whether the adapter's own word counts: only for worlds that are part of this program, whose
    /// property the project's tests hold.
    pub declared_counts: bool,
    /// Measurements, newest first.
    pub measured: Vec<ProofRow>,
}

impl Proofs {
    /// The valid proof for an action, as one sentence; `None` without one. A measurement counts more than
    /// a declaration, and another version or its expiry voids it.
    pub fn valid(&self, info: &AdapterInfo, action: Action, now: TimeMs) -> Option<String> {
        let newest = self
            .measured
            .iter()
            .find(|row| row.adapter == info.name && row.action == action.word());
        match newest {
            Some(row) if row.version == info.version && row.expires_at > now => {
                row.proven.then(|| {
                    format!(
                        "measured on {}: {} {} keeps one effect per id for {action}",
                        row.measured_at, row.adapter, row.version
                    )
                })
            }
            Some(_) => None,
            None if self.declared_counts => declared(info, action),
            None => None,
        }
    }
}

fn declared(info: &AdapterInfo, action: Action) -> Option<String> {
    let kept = info
        .one_effect_per_id
        .get(action.word())
        .copied()
        .unwrap_or(false);
    kept.then(|| {
        format!(
            "{} {} keeps one effect per id for {action}",
            info.name, info.version
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailureClass, OperationState, Seq, digest_bytes};

    fn info(version: &str) -> AdapterInfo {
        AdapterInfo {
            name: "scheduler".to_owned(),
            version: version.to_owned(),
            can_roll_back: false,
            one_effect_per_id: [("stage".to_owned(), true)].into(),
        }
    }

    fn row(proven: bool) -> ProofRow {
        ProofRow {
            seq: Seq(1),
            adapter: "scheduler".to_owned(),
            version: "2.1".to_owned(),
            action: "stage".to_owned(),
            method: String::new(),
            counts: serde_json::Value::Null,
            proven,
            measured_at: TimeMs(0),
            expires_at: TimeMs(1_000),
        }
    }

    #[test]
    fn a_proof_is_void_after_an_upgrade_after_its_expiry_and_for_another_action() {
        let proofs = Proofs {
            declared_counts: false,
            measured: vec![row(true)],
        };
        let now = TimeMs(10);
        assert!(proofs.valid(&info("2.1"), Action::Stage, now).is_some());
        assert_eq!(proofs.valid(&info("2.2"), Action::Stage, now), None);
        assert_eq!(
            proofs.valid(&info("2.1"), Action::Stage, TimeMs(1_000)),
            None
        );
        assert_eq!(proofs.valid(&info("2.1"), Action::CutOver, now), None);
    }

    #[test]
    fn an_adapter_s_word_counts_only_for_embedded_worlds_and_never_against_a_measurement() {
        let stage = |declared_counts, measured| {
            Proofs {
                declared_counts,
                measured,
            }
            .valid(&info("2.1"), Action::Stage, TimeMs(10))
        };
        assert_eq!(stage(false, vec![]), None);
        assert!(stage(true, vec![]).is_some());
        assert_eq!(stage(true, vec![row(false)]), None);
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        assert_eq!(back_off_ms(30_000, 0), 30_000);
        assert_eq!(back_off_ms(30_000, 3), 240_000);
        assert_eq!(back_off_ms(30_000, 4_000_000_000), 3_600_000);
    }

    fn operation(sends: u32) -> OperationFacts {
        OperationFacts {
            id: OperationId::from("0123456789abcdef"),
            action: Action::CutOver,
            config: digest_bytes(b"config"),
            ordinal: 1,
            upstream: serde_json::Value::Array(Vec::new()),
            approval: None,
            state: OperationState::Intended,
            reference: String::new(),
            why: String::new(),
            intended_at: TimeMs(0),
            sends,
            look_ups: 0,
            next_look: None,
            to_verify: false,
            undone: false,
        }
    }

    fn refused() -> Effect {
        Effect::Refused {
            why: "too many requests".to_owned(),
            class: FailureClass::Environment,
            retry_after_ms: Some(60_000),
        }
    }

    #[test]
    fn a_refusal_of_the_first_send_is_the_outcome_and_of_a_resend_it_is_not() {
        let first = event_of_effect(&operation(1), &refused(), 0, TimeMs(0));
        assert!(matches!(first, Event::OpRefused { .. }), "{first:?}");
        let again = event_of_effect(&operation(2), &refused(), 0, TimeMs(0));
        let Event::OpUnknown { next_look, why, .. } = again else {
            panic!("{again:?}");
        };
        assert_eq!(next_look, TimeMs(60_000));
        assert!(why.contains("an earlier send may have worked"), "{why}");
    }
}
