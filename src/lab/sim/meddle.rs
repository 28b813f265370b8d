//! What strangers do to the world while no engine runs: the reason why a restart asks first.

use super::world::{Made, SimWorld, State};
use crate::model::{Action, JobId, OperationId, digest_bytes};
use crate::world::ports::InProduction;

/// What a stranger does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeddleKind {
    /// Takes a staging run away.
    TakeRun,
    /// Takes a job out of production.
    TakeCutOver,
    /// Puts a job into production by hand.
    ByHand,
    /// Edits an old job's definition.
    Redefine,
    /// Removes an old job.
    Remove,
    /// Adds an old job.
    Add,
}

impl MeddleKind {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::TakeRun,
        Self::TakeCutOver,
        Self::ByHand,
        Self::Redefine,
        Self::Remove,
        Self::Add,
    ];
}

/// One deed, done after an engine's death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meddle {
    /// After which death, from 0.
    pub life: u64,
    /// What.
    pub kind: MeddleKind,
    /// Picks whatever there is to pick.
    pub pick: u64,
}

/// The job that a stranger adds.
pub(super) const ADDED: &str = "job-900";

impl SimWorld {
    /// Does it; the job it was done to, if there was one.
    pub(super) fn meddle(&self, meddle: Meddle) -> Option<JobId> {
        let mut state = self.state();
        let done = match meddle.kind {
            MeddleKind::TakeRun => take(&mut state, Action::Stage, meddle.pick),
            MeddleKind::TakeCutOver => take(&mut state, Action::CutOver, meddle.pick),
            MeddleKind::ByHand => self.by_hand(&mut state, meddle.pick),
            MeddleKind::Redefine => {
                let job = self.picked(meddle.pick)?;
                *state.redefined.entry(job.clone()).or_default() += 1;
                Some(job)
            }
            MeddleKind::Remove => {
                let job = self.picked(meddle.pick)?;
                // The last job is not taken away: a source without jobs is a broken source.
                let last = state.removed.len() + 1 >= self.order.len();
                (!last && state.removed.insert(job.clone())).then_some(job)
            }
            MeddleKind::Add => {
                let added = JobId::from(ADDED);
                (!std::mem::replace(&mut state.added, true)).then_some(added)
            }
        };
        if done.is_some() {
            *state.faults.entry(name(meddle.kind)).or_default() += 1;
        }
        done
    }

    fn picked(&self, pick: u64) -> Option<JobId> {
        let index = pick.checked_rem(self.order.len() as u64)?;
        self.order.get(index as usize).cloned()
    }

    fn by_hand(&self, state: &mut State, pick: u64) -> Option<JobId> {
        let job = self.picked(pick)?;
        let there = state.by_hand.iter().any(|one| one.job == job)
            || state
                .made
                .iter()
                .any(|one| one.action == Action::CutOver && one.job == job);
        if there {
            return None;
        }
        state.by_hand.push(InProduction {
            job: job.clone(),
            reference: format!("by-hand-{job}"),
            config_digest: digest_bytes(b"written by hand"),
        });
        Some(job)
    }

    /// Whether the world shows what an entry says is missing; people look before they accept.
    pub(super) fn shows(&self, words: &str) -> bool {
        let state = self.state();
        state
            .made
            .iter()
            .any(|one| !one.gone && words.contains(one.operation.as_str()))
    }

    /// A person undoes by hand what an operation did.
    pub(super) fn undo(&self, operation: &OperationId) {
        let mut state = self.state();
        for made in &mut state.made {
            made.gone |= made.operation == *operation;
        }
    }

    /// Whether a job is in production, by whomever.
    pub(super) fn produces(&self, job: &JobId) -> bool {
        let state = self.state();
        let mut made = state.made.iter();
        made.any(|one| one.action == Action::CutOver && one.job == *job && !one.gone)
    }
}

fn take(state: &mut State, action: Action, pick: u64) -> Option<JobId> {
    let mut there: Vec<&mut Made> = state
        .made
        .iter_mut()
        .filter(|one| one.action == action && !one.gone)
        .collect();
    let index = pick.checked_rem(there.len() as u64)?;
    let one = there.get_mut(index as usize)?;
    one.gone = true;
    Some(one.job.clone())
}

fn name(kind: MeddleKind) -> &'static str {
    match kind {
        MeddleKind::TakeRun => "meddle: a run taken away",
        MeddleKind::TakeCutOver => "meddle: taken out of production",
        MeddleKind::ByHand => "meddle: cut over by hand",
        MeddleKind::Redefine => "meddle: old job edited",
        MeddleKind::Remove => "meddle: old job removed",
        MeddleKind::Add => "meddle: old job added",
    }
}
