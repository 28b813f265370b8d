//! What needs a person, by the cost of its delay.

use crate::ledger::LedgerError;
use crate::ledger::read::View;
use crate::model::{GoalId, JobId};
use crate::tui::app::snapshot::{Need, NeedWhat, Snapshot};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Requests whose downstream jobs are counted; beyond that they are walked by age.
const MAX_COUNTED: usize = 2_000;

/// What needs a person, dearest delay first: differences that hold the engine; effects of unknown outcome, since nothing is known of the world
/// until they are settled; then alerts, those of the whole goal first; then questions, since a worker waits
/// in the midst of its loop; then requests. Within each, first
/// what holds up the most jobs, then the oldest.
pub fn load_needs(view: &View<'_>, goal: &GoalId, shot: &mut Snapshot) -> Result<(), LedgerError> {
    let open = view.open_requests(goal)?;
    let jobs: BTreeSet<&JobId> = shot
        .unsettled
        .iter()
        .filter(|op| op.to_verify)
        .map(|op| &op.job)
        .chain(shot.alerts.iter().filter_map(|row| row.job.as_ref()))
        .chain(shot.questions.iter().map(|row| &row.job))
        .chain(open.iter().map(|row| &row.job))
        .take(MAX_COUNTED)
        .collect();
    let held = view.held_up(goal, jobs)?;
    let verify = shot
        .unsettled
        .iter()
        .filter(|op| op.to_verify)
        .map(|op| Need {
            since: op.intended_at,
            job: Some(op.job.clone()),
            what: NeedWhat::Verify(op.job.clone(), op.operation.clone()),
        });
    let alerts = shot.alerts.iter().filter(|row| row.cleared_at.is_none());
    let alerts = alerts.map(|row| Need {
        since: row.raised_at,
        job: row.job.clone(),
        what: NeedWhat::Alert(row.seq),
    });
    let questions = shot.questions.iter().map(|row| Need {
        since: row.asked_at,
        job: Some(row.job.clone()),
        what: NeedWhat::Question(row.job.clone(), row.question.clone()),
    });
    let asked = open.iter().map(|row| Need {
        since: row.requested_at,
        job: Some(row.job.clone()),
        what: NeedWhat::Approval(row.approval.clone()),
    });
    // Nothing at all is started before they are accepted.
    let differ = shot.drift.iter().filter(|row| row.state == "open");
    let differ = differ.map(|row| row.found_at).min().map(|since| Need {
        since,
        job: None,
        what: NeedWhat::Drift,
    });
    let mut needs: Vec<Need> = differ.into_iter().collect();
    needs.extend(dearest_first(verify, &held));
    needs.extend(dearest_first(alerts, &held));
    needs.extend(dearest_first(questions, &held));
    needs.extend(dearest_first(asked, &held));
    shot.needs = needs;
    shot.held = held;
    Ok(())
}

/// By jobs held up, then by age; what is equal keeps its order. What concerns the whole goal holds up all.
fn dearest_first(needs: impl Iterator<Item = Need>, held: &BTreeMap<JobId, u64>) -> Vec<Need> {
    let mut needs: Vec<Need> = needs.collect();
    needs.sort_by_key(|need| {
        let count = match &need.job {
            Some(job) => held.get(job).copied().unwrap_or(0),
            None => u64::MAX,
        };
        (Reverse(count), need.since)
    });
    needs
}
