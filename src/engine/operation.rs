//! Ids, back-off and what a look-up means (DESIGN section 7).

use crate::ledger::event::Event;
use crate::ledger::facts::OperationFacts;
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
    let environment = match action {
        Action::Stage => "staging",
        Action::CutOver => "production",
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

/// What a look-up means: the outcome, a resend under a proof, or a person.
pub fn event_of_look_up(
    operation: &OperationFacts,
    lookup: &Lookup,
    info: &AdapterInfo,
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
        Lookup::Absent => match proof(info, operation.action) {
            Some(proof) if operation.sends < MAX_SENDS => Event::OpSentAgain {
                operation: operation.id.clone(),
                proof,
            },
            Some(_) => again(
                "absent",
                format!("not found after {} sends", operation.sends),
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

/// The proof that a target keeps one effect per id, as one sentence; `None` without one.
pub fn proof(info: &AdapterInfo, action: Action) -> Option<String> {
    let proven = info
        .one_effect_per_id
        .get(action.word())
        .copied()
        .unwrap_or(false);
    proven.then(|| {
        format!(
            "{} {} keeps one effect per id for {action}",
            info.name, info.version
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailureClass, OperationState, digest_bytes};

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
