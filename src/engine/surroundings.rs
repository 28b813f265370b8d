//! What `decide` may know beside the job itself.

use super::outage::OutageView;
use super::walls::WallsView;
use crate::ledger::event::Event;
use crate::ledger::facts::JobFacts;
use crate::model::{ClauseId, Digest, JobId, JobState, TimeMs, WorldPart, canon::digest_parts};
use crate::world::ports::{Side, Upstream};
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
}

impl UpstreamView {
    /// What to build upon: `None` while the upstream job may still change.
    ///
    /// A job that stays on the old scheduler is read from there, so that a failed upstream job does
    /// not keep the jobs below it from moving.
    pub fn settled(&self) -> Option<Upstream> {
        let (config_digest, side) = match (self.state, &self.config) {
            (JobState::Reconciled | JobState::AwaitingApproval, Some(config)) => {
                (config.clone(), Side::Staging)
            }
            (JobState::CutOver, Some(config)) => (config.clone(), Side::Production),
            (JobState::HandedOver | JobState::Cancelled, _) => {
                (self.definition.clone(), Side::Legacy)
            }
            _ => return None,
        };
        Some(Upstream {
            job: self.job.clone(),
            config_digest,
            side,
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
    /// Parts of the world that are out.
    pub outages: BTreeMap<WorldPart, OutageView>,
    /// Providers that are not asked for a while: why, and until when.
    pub provider_holds: BTreeMap<String, (String, TimeMs)>,
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
/// evidence valid.
pub fn lineage_digest(lineage: &[Upstream]) -> Digest {
    digest_parts(
        lineage
            .iter()
            .flat_map(|one| [one.job.as_str(), one.config_digest.as_str()]),
    )
}

/// Lineage of an operation as stored in its intent.
pub fn stored_lineage(upstream: &serde_json::Value) -> Option<Digest> {
    serde_json::from_value::<Vec<Upstream>>(upstream.clone())
        .ok()
        .map(|list| lineage_digest(&list))
}

/// Whether jobs below this one must look again after an event.
pub fn concerns_downstream(event: &Event) -> bool {
    matches!(event, Event::JobMoved { .. } | Event::ConfigProposed { .. })
}

/// An upstream view from facts.
pub fn upstream_view(facts: &JobFacts) -> UpstreamView {
    UpstreamView {
        job: facts.id.clone(),
        state: facts.state,
        config: facts.config.clone(),
        definition: facts.definition.clone(),
    }
}
