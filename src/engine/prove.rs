//! Measuring whether a target keeps one effect per id, in staging.

use crate::model::{Action, Digest, JobId, OperationId, TimeMs, canon::digest_parts};
use crate::world::World;
use crate::world::ports::{AdapterInfo, Effect, EffectRequest, Lookup, PortError};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Callers at once in the concurrent part.
pub const CALLERS: usize = 8;
/// Sends of one id until its effect is acknowledged; a reply that is lost says nothing.
const MAX_SENDS: usize = 6;
/// How long a proof holds: 30 days.
pub const VALID_MS: i64 = 30 * 24 * 3_600_000;

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Who answered.
    pub info: AdapterInfo,
    /// How, one sentence.
    pub method: String,
    /// What was sent and what exists.
    pub counts: Value,
    /// Whether one effect per id was seen throughout.
    pub proven: bool,
}

/// What is staged to measure with.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The job.
    pub job: JobId,
    /// Its config.
    pub config: String,
    /// The config's digest.
    pub config_digest: Digest,
    /// Keeps the ids of two measurements apart.
    pub salt: String,
    /// The engine's time.
    pub at: TimeMs,
}

/// One id, how often it was sent and what came back.
#[derive(Debug, Default)]
struct Tally {
    sent: usize,
    applied: usize,
    references: BTreeSet<String>,
    other: Vec<String>,
}

impl Tally {
    fn add(&mut self, effect: Effect) -> bool {
        self.sent += 1;
        match effect {
            Effect::Applied(found) => {
                self.applied += 1;
                self.references.insert(found.reference);
                true
            }
            Effect::Refused { why, .. } | Effect::Unknown { why } => {
                self.other.push(why.chars().take(200).collect());
                false
            }
        }
    }

    fn json(&self) -> Value {
        json!({
            "sent": self.sent, "acknowledged": self.applied, "references": self.references.len(),
            "other_replies": self.other,
        })
    }
}

/// Stages one id twice in sequence, another from [`CALLERS`] callers at once, and the first again after
/// the world was opened anew; then looks both up. Proven is: each id was acknowledged more than once,
/// always with one reference, and the look-up finds exactly that effect.
///
/// # Errors
/// When the world does not open.
pub fn prove(
    open: &dyn Fn() -> Result<World, PortError>,
    sample: &Sample,
) -> Result<Measured, PortError> {
    let world = open()?;
    let [first, second] = ids(sample);
    let mut sequence = Tally::default();
    send_until_acknowledged(&world, sample, &first, &mut sequence, 2);
    let mut concurrent = Tally::default();
    for effect in send_at_once(&world, sample, &second) {
        concurrent.add(effect);
    }
    drop(world);
    let world = open()?;
    let mut reopened = Tally::default();
    send_until_acknowledged(&world, sample, &first, &mut reopened, 1);
    let found = [&first, &second].map(|id| found_reference(&world, id, &sample.job));
    let one = |tallies: &[&Tally], found: &Result<String, String>| {
        let references: BTreeSet<&String> =
            tallies.iter().flat_map(|one| &one.references).collect();
        let acknowledged: usize = tallies.iter().map(|one| one.applied).sum();
        acknowledged > 1
            && references.len() == 1
            && found.as_ref().is_ok_and(|own| references.contains(own))
    };
    let proven = one(&[&sequence, &reopened], &found[0]) && one(&[&concurrent], &found[1]);
    Ok(Measured {
        info: world.target.info(),
        method: format!(
            "one id twice in sequence and once after reopening, another from {CALLERS} callers at once; \
             effects counted by look-up"
        ),
        counts: json!({
            "in_sequence": sequence.json(),
            "at_once": concurrent.json(),
            "after_reopening": reopened.json(),
            "looked_up": found.map(|one| one.unwrap_or_else(|why| why)),
        }),
        proven,
    })
}

/// The ids that a measurement with this sample uses; written down before the first of them is sent.
pub fn ids(sample: &Sample) -> [OperationId; 2] {
    [id(sample, "sequence"), id(sample, "concurrent")]
}

fn id(sample: &Sample, part: &str) -> OperationId {
    let digest = digest_parts(["proof", sample.job.as_str(), &sample.salt, part]);
    OperationId(digest.0.chars().take(16).collect())
}

fn request(sample: &Sample, id: &OperationId) -> EffectRequest {
    EffectRequest {
        operation_id: id.clone(),
        action: Action::Stage,
        job: sample.job.clone(),
        config: sample.config.clone(),
        config_digest: sample.config_digest.clone(),
        upstream: Vec::new(),
        logical_date: None,
        at: sample.at,
    }
}

fn send_until_acknowledged(
    world: &World,
    sample: &Sample,
    id: &OperationId,
    tally: &mut Tally,
    times: usize,
) {
    for _ in 0..MAX_SENDS {
        if tally.applied >= times {
            return;
        }
        tally.add(world.target.effect(&request(sample, id)).value);
    }
}

fn send_at_once(world: &World, sample: &Sample, id: &OperationId) -> Vec<Effect> {
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| scope.spawn(|| world.target.effect(&request(sample, id)).value))
            .collect();
        callers
            .into_iter()
            .map(|caller| {
                caller.join().unwrap_or_else(|_| Effect::Unknown {
                    why: "a caller ended by a defect".to_owned(),
                })
            })
            .collect()
    })
}

fn found_reference(world: &World, id: &OperationId, job: &JobId) -> Result<String, String> {
    match world.target.look_up(Action::Stage, id, job).value {
        Lookup::Found(found) => Ok(found.reference),
        Lookup::Absent => Err("absent".to_owned()),
        Lookup::CannotTell { why } => Err(format!("cannot tell: {why}")),
    }
}
