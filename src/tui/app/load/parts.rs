//! What single views show: the log, one job, the closing report.

use super::MAX_TEXT;
use crate::ledger::LedgerError;
use crate::ledger::read::{EventRow, JobQuery, View};
use crate::model::{GoalId, JobId, JobState};
use crate::tui::app::snapshot::{Closing, JobData, LogData, LogLine, Snapshot};
use crate::tui::text::sentence;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Jobs named in the closing report, by state.
const CLOSING_JOBS: usize = 1_000;

/// A body as text, cut where it is longer than what is shown of one.
pub fn text_of(bytes: Option<Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| {
        let cut = bytes.get(..MAX_TEXT).unwrap_or(&bytes);
        String::from_utf8_lossy(cut).into_owned()
    })
}

/// Entries as lines.
pub fn log_data(rows: Vec<EventRow>, zone: &TimeZone) -> LogData {
    let lines: Vec<LogLine> = rows
        .iter()
        .map(|row| {
            let (text, role) = sentence::of(row, zone);
            LogLine {
                seq: row.seq,
                at: row.at,
                job: row.job.clone(),
                actor: row.actor.clone(),
                text,
                role,
            }
        })
        .collect();
    let dropped = lines
        .first()
        .map_or(0, |line| line.seq.0.saturating_sub(1).max(0) as u64);
    LogData { lines, dropped }
}

/// Everything about one job.
pub fn load_job(
    view: &View<'_>,
    goal: &GoalId,
    job: &JobId,
) -> Result<Option<JobData>, LedgerError> {
    let row = view.job_rows(goal, std::slice::from_ref(job))?.pop();
    let (Some(row), Some(facts)) = (row, view.facts(goal, job)?) else {
        return Ok(None);
    };
    let attempts = view.attempts(goal, job)?;
    let evidence = view.evidence(goal, job)?;
    let mut texts = BTreeMap::new();
    let wanted = attempts
        .iter()
        .filter_map(|attempt| attempt.config.clone())
        .chain([facts.definition.clone()])
        .chain(facts.config.clone())
        .chain(facts.checkpoint.clone());
    for digest in wanted {
        if let Entry::Vacant(place) = texts.entry(digest) {
            let text = text_of(view.blob(place.key())?);
            place.insert(text);
        }
    }
    let mut numbers = BTreeMap::new();
    for one in &evidence {
        if !numbers.contains_key(&one.detail)
            && let Some(bytes) = view.blob(&one.detail)?
            && let Ok(value) = serde_json::from_slice(&bytes)
        {
            numbers.insert(one.detail.clone(), value);
        }
    }
    Ok(Some(JobData {
        row,
        facts,
        attempts,
        events: view.job_events(goal, job)?,
        evidence,
        numbers,
        operations: view.operations(goal, job)?,
        texts,
        transcript: None,
    }))
}

/// The closing report.
pub fn load_closing(
    view: &View<'_>,
    goal: &GoalId,
    shot: &Snapshot,
) -> Result<Closing, LedgerError> {
    let named = |state: JobState| -> Result<Vec<(JobId, String)>, LedgerError> {
        let filter = crate::ledger::filter::Filter::parse(&format!("state:{state}"))
            .map_err(LedgerError::Refused)?;
        let mut ids = view.job_ids(
            goal,
            &JobQuery {
                filter,
                ..JobQuery::default()
            },
        )?;
        ids.truncate(CLOSING_JOBS);
        let rows = view.job_rows(goal, &ids)?;
        Ok(rows.into_iter().map(|row| (row.job, row.reason)).collect())
    };
    Ok(Closing {
        by_state: shot.overview.by_state.clone(),
        approvals: view.approval_counts(goal)?,
        operations: view.operation_counts(goal)?,
        queries: shot.overview.queries.iter().map(|day| day.spent).sum(),
        handed_over: named(JobState::HandedOver)?,
        cancelled: named(JobState::Cancelled)?,
    })
}
