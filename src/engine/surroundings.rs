//! What `decide` may know beside the job itself.

use super::outage::OutageView;
use super::spin::SpinView;
use super::walls::WallsView;
use crate::ledger::event::Event;
use crate::ledger::facts::{JobFacts, RunFacts, upstream_digest};
use crate::model::{
    ClauseId, Digest, EvidenceKind, JobId, JobState, TimeMs, WorldPart, canon::digest_parts,
};
use crate::world::ports::{Side, Upstream};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A clause that applies to the job, with everything its validity depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClauseView {
    /// Its id.
    pub id: ClauseId,
    /// Digest of the clause.
    pub clause_digest: Digest,
    /// Digest of the checker.
    pub checker: Digest,
    /// The most queries one judgement costs.
    pub queries: u64,
    /// Whose word its verdicts are.
    pub by: EvidenceKind,
    /// Who may judge, as a sentence says it, when a person does.
    pub judges: String,
}

/// An upstream job as far as the jobs below it care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamView {
    /// The job.
    pub job: JobId,
    /// Its state.
    pub state: JobState,
    /// Its candidate config, if it has one.
    pub config: Option<Digest>,
    /// Its old definition.
    pub definition: Digest,
    /// What its own evidence was won upon; `None` when it has no upstream.
    pub built_upon: Option<Digest>,
    /// The config in production and what it was built upon, if it is there.
    pub production: Option<(Digest, Option<Digest>)>,
    /// To be staged anew, as what it was built upon has changed or its run was taken away: what is below it must wait
    /// for that.
    pub outdated: bool,
}

impl UpstreamView {
    /// What to build upon: `None` while the upstream job may still change.
    ///
    /// A job that stays on the old scheduler is read from there, so that a failed upstream job does
    /// not keep the jobs below it from moving.
    pub fn settled(&self) -> Option<Upstream> {
        let own = |config: &Digest, side| (config.clone(), side, self.built_upon.clone());
        let (config_digest, side, lineage) = match (self.state, &self.config) {
            (JobState::Reconciled | JobState::AwaitingApproval, Some(config)) if !self.outdated => {
                own(config, Side::Staging)
            }
            (JobState::CutOver, Some(config)) => own(config, Side::Production),
            (JobState::Reverify, Some(config)) if !self.outdated => own(config, Side::Production),
            // The environment is fact: whoever has the job, its new side is what runs.
            (JobState::HandedOver | JobState::Cancelled, _) => match &self.production {
                Some((config, upon)) => (config.clone(), Side::Production, upon.clone()),
                None => (self.definition.clone(), Side::Legacy, None),
            },
            _ => return None,
        };
        Some(Upstream {
            job: self.job.clone(),
            config_digest,
            side,
            lineage,
        })
    }
}

/// What is left of the day's queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaView {
    /// Queries a day.
    pub limit: u64,
    /// Neither spent nor reserved.
    pub left: u64,
    /// When it renews.
    pub renews_at: TimeMs,
}

/// What keeps an approved cutover from starting now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateView {
    /// The end of the freeze that holds, and the freeze as the contract writes it.
    pub frozen: Option<(TimeMs, String)>,
    /// As many cutovers are on their way as the contract allows at once.
    pub full: bool,
}

/// Everything beside the job, the contract and the clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Clauses that apply to the job, in the contract's order.
    pub clauses: Vec<ClauseView>,
    /// Jobs upstream that are part of this goal.
    pub upstream: Vec<UpstreamView>,
    /// The day's queries; `None` when the contract sets no limit.
    pub quota: Option<QuotaView>,
    /// Where the walls stand.
    pub walls: WallsView,
    /// Working hours' next start, for waits upon people.
    pub person_overdue: Option<TimeMs>,
    /// Whether the job is part of a dependency cycle.
    pub in_cycle: bool,
    /// What keeps an approved cutover from starting now.
    pub gate: GateView,
    /// What is known of spinning.
    pub spin: SpinView,
    /// Parts of the world that are out.
    pub outages: BTreeMap<WorldPart, OutageView>,
    /// Providers that are not asked for a while: why, and until when.
    pub provider_holds: BTreeMap<String, (String, TimeMs)>,
    /// Providers whose failed turns are not repeated for a while: why, and until when.
    pub provider_storms: BTreeMap<String, (String, TimeMs)>,
    /// Why the contract gives the job up, if it does.
    pub retired: Option<String>,
}

impl Surroundings {
    /// The lineage to build upon, or the first upstream job that is not settled.
    ///
    /// # Errors
    /// The upstream job that may still change.
    pub fn lineage(&self) -> Result<Vec<Upstream>, &UpstreamView> {
        self.upstream
            .iter()
            .map(|one| one.settled().ok_or(one))
            .collect()
    }
}

/// Digest of a lineage: which configs the job's evidence was won upon. Where an upstream config is read
/// (staging or production) does not matter, so a cutover of the very config that was checked keeps the
/// evidence valid. What an upstream job was itself built upon does, so that a change reaches all that is
/// below it.
pub fn lineage_digest(lineage: &[Upstream]) -> Digest {
    let mut parts: Vec<String> = Vec::with_capacity(lineage.len() * 3);
    for one in lineage {
        parts.push(one.job.0.clone());
        parts.push(one.config_digest.0.clone());
        parts.extend(
            one.lineage
                .as_ref()
                .map(|lineage| format!("upon {lineage}")),
        );
    }
    digest_parts(parts.iter().map(String::as_str))
}

/// Largest lineage that an intent holds itself, in bytes of JSON; a larger one is a body of its own.
const MAX_LINEAGE_BYTES: usize = 64 * 1024;

/// A lineage that is kept beside its entry: a job with thousands of upstream jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LineageAside {
    /// Digest of the lineage.
    lineage: Digest,
    /// Upstream jobs in it.
    jobs: u64,
    /// Blob of the list as JSON.
    blob: Digest,
}

/// A lineage as its intent stores it; `keep` stores a body.
pub(super) fn store_lineage(
    lineage: &[Upstream],
    keep: impl FnOnce(&[u8]) -> Digest,
) -> serde_json::Value {
    let bytes = serde_json::to_vec(lineage).unwrap_or_default();
    if bytes.len() <= MAX_LINEAGE_BYTES {
        return serde_json::to_value(lineage).unwrap_or_default();
    }
    let aside = LineageAside {
        lineage: lineage_digest(lineage),
        jobs: lineage.len() as u64,
        blob: keep(&bytes),
    };
    serde_json::to_value(aside).unwrap_or_default()
}

/// The whole lineage of an operation; `text` reads a body.
///
/// # Errors
/// When the body cannot be read.
pub(super) fn load_lineage<E>(
    upstream: &serde_json::Value,
    text: impl FnOnce(&Digest) -> Result<String, E>,
) -> Result<Vec<Upstream>, E> {
    if let Ok(aside) = serde_json::from_value::<LineageAside>(upstream.clone()) {
        return Ok(serde_json::from_str(&text(&aside.blob)?).unwrap_or_default());
    }
    Ok(serde_json::from_value(upstream.clone()).unwrap_or_default())
}

/// Digest of the lineage of an operation as stored in its intent.
pub fn stored_lineage(upstream: &serde_json::Value) -> Option<Digest> {
    if let Some(digest) = upstream.get("lineage").and_then(serde_json::Value::as_str) {
        return Some(Digest(digest.to_owned()));
    }
    serde_json::from_value::<Vec<Upstream>>(upstream.clone())
        .ok()
        .map(|list| lineage_digest(&list))
}

/// Whether jobs below this one must look again after an event.
pub fn concerns_downstream(event: &Event) -> bool {
    matches!(event, Event::JobMoved { .. } | Event::ConfigProposed { .. })
}

/// What a job's evidence was won upon: its staging run's lineage, or what its cutover was built upon when
/// that was another config.
fn built_upon(facts: &JobFacts) -> Option<Digest> {
    if let Some(RunFacts::Succeeded { operation }) = &facts.run
        && let Some(own) = facts.operations.get(operation)
        && Some(&own.config) == facts.config.as_ref()
    {
        return upstream_digest(&own.upstream);
    }
    facts.production_lineage.clone()
}

/// Whether a job that was judged lost the run that it was judged by.
fn run_is_gone(facts: &JobFacts) -> bool {
    matches!(
        facts.state,
        JobState::Reconciled | JobState::AwaitingApproval
    ) && !matches!(facts.run, Some(RunFacts::Succeeded { .. }))
}

/// An upstream view from facts.
pub fn upstream_view(facts: &JobFacts) -> UpstreamView {
    UpstreamView {
        job: facts.id.clone(),
        state: facts.state,
        config: facts.config.clone(),
        definition: facts.definition.clone(),
        built_upon: built_upon(facts),
        production: facts
            .production
            .as_ref()
            .and(facts.production_config.clone())
            .map(|config| (config, facts.production_lineage.clone())),
        outdated: facts.outdated || run_is_gone(facts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest_bytes;
    use crate::world::ports::Side;

    fn lineage(jobs: usize) -> Vec<Upstream> {
        (0..jobs)
            .map(|number| Upstream {
                job: JobId(format!("job-{number:06}")),
                config_digest: digest_bytes(&number.to_le_bytes()),
                side: Side::Staging,
                lineage: None,
            })
            .collect()
    }

    #[test]
    fn a_lineage_of_thousands_fits_an_entry_and_comes_back_whole() {
        for (jobs, aside) in [(0, false), (3, false), (5_000, true)] {
            let whole = lineage(jobs);
            let mut kept = Vec::new();
            let value = store_lineage(&whole, |bytes| {
                kept = bytes.to_vec();
                digest_bytes(bytes)
            });
            assert_eq!(!kept.is_empty(), aside, "{jobs}");
            assert!(value.to_string().len() < 70_000, "{jobs}");
            assert_eq!(stored_lineage(&value), Some(lineage_digest(&whole)));
            let back: Result<_, ()> = load_lineage(&value, |digest| {
                assert_eq!(*digest, digest_bytes(&kept));
                String::from_utf8(kept.clone()).map_err(|_| ())
            });
            assert_eq!(back, Ok(whole), "{jobs}");
        }
    }
}
