//! Takes a snapshot: asks the ledger for what the screen shows and nothing else.

use super::place::{Kind, Place};
use super::snapshot::{Closing, JobData, JobsData, LogData, LogLine, Need, NeedWhat, Snapshot};
use crate::contract::{Goal, parse_goal};
use crate::ledger::read::{ApprovalRow, ContractRow, JobQuery, View};
use crate::ledger::{LedgerError, Reader};
use crate::model::{DecisionId, Digest, GoalId, JobId, JobState};
use crate::tui::text::sentence;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

/// Entries kept of the log.
pub const LOG_LINES: usize = 2_000;
/// Requests listed.
const APPROVALS: usize = 1_000;
/// Jobs named in the closing report, by state.
const CLOSING_JOBS: usize = 1_000;
/// Most jobs of a goal whose dependencies are counted: it is done once, and takes 0.1 s for so many.
pub const MAX_LINEAGE: u64 = 20_000;
/// Longest text shown of a config or definition, in bytes.
const MAX_TEXT: usize = 512 * 1024;

/// What the screen needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The goal; the first one when none is named.
    pub goal: Option<GoalId>,
    /// The view.
    pub place: Place,
    /// Jobs to list, for views that list them.
    pub query: JobQuery,
    /// Rows near the cursor.
    pub window: Range<usize>,
    /// The job whose details are shown beside a list.
    pub beside: Option<JobId>,
    /// What was asked here and not answered when last seen.
    pub decisions: Vec<DecisionId>,
    /// Whether the closing report is open.
    pub closing: bool,
}

impl Want {
    /// A goal and what needs a person, nothing else.
    pub fn of_goal(goal: GoalId) -> Self {
        Self {
            goal: Some(goal),
            place: Place::Root(Kind::Goals),
            query: JobQuery::default(),
            window: 0..0,
            beside: None,
            decisions: Vec::new(),
            closing: false,
        }
    }
}

/// A contract that was read before.
#[derive(Debug)]
struct KnownContract {
    /// Blob of the goal file's text.
    of: Digest,
    text: Option<String>,
    parsed: Option<Arc<Goal>>,
    zone: TimeZone,
}

/// Keeps what does not change between snapshots.
#[derive(Debug, Default)]
pub struct Loader {
    contract: Option<KnownContract>,
    ids: Option<(i64, GoalId, JobQuery, Arc<Vec<JobId>>)>,
    base: Option<(i64, Option<GoalId>, Snapshot)>,
    /// They do not change while the number of jobs does not.
    dependents: Option<(GoalId, u64, Dependents)>,
}

/// How many jobs depend on each.
type Dependents = Arc<BTreeMap<JobId, u64>>;

impl Loader {
    /// One snapshot. With `hurry`, counts and the order of jobs may be those of the snapshot before:
    /// an operator who turns pages must not wait for 100,000 rows to be counted again.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn load(
        &mut self,
        reader: &Reader,
        want: &Want,
        hurry: bool,
    ) -> Result<Snapshot, LedgerError> {
        let version = reader.data_version()?;
        let view = reader.view();
        let known = self
            .base
            .as_ref()
            .filter(|(at, goal, _)| *goal == want.goal && (hurry || *at == version));
        let mut shot = match known {
            Some((.., base)) => base.clone(),
            None => {
                let base = self.load_base(&view, &want.goal)?;
                self.base = Some((version, want.goal.clone(), base.clone()));
                base
            }
        };
        shot.want = Some(want.clone());
        let Some(goal) = shot.goal.as_ref().map(|goal| goal.goal.clone()) else {
            return Ok(shot);
        };
        for id in &want.decisions {
            if let Some(row) = view.decision(id)? {
                shot.decisions.insert(id.clone(), row);
            }
        }
        let version = (!hurry).then_some(version);
        self.load_place(&view, &goal, version, want, &mut shot)?;
        if let Some(job) = &want.beside {
            shot.job = load_job(&view, &goal, job)?.map(Arc::new);
        }
        if want.closing {
            shot.closing = Some(load_closing(&view, &goal, &shot)?);
        }
        Ok(shot)
    }

    /// What every view shows.
    fn load_base(
        &mut self,
        view: &View<'_>,
        named: &Option<GoalId>,
    ) -> Result<Snapshot, LedgerError> {
        let mut shot = Snapshot {
            goals: view.goals()?,
            ..Snapshot::default()
        };
        shot.goal = match named {
            Some(id) => shot.goals.iter().find(|goal| goal.goal == *id).cloned(),
            None => shot.goals.first().cloned(),
        };
        let Some(goal) = shot.goal.as_ref().map(|goal| goal.goal.clone()) else {
            shot.overview.engine = view.engine()?;
            return Ok(shot);
        };
        shot.overview = view.overview(&goal)?;
        shot.contract = view.contract(&goal)?;
        self.read_contract(view, &mut shot)?;
        let open = view.open_approvals(&goal)?;
        shot.unsettled = view.unsettled(&goal)?;
        shot.alerts = view.alerts(&goal)?;
        shot.dependents = self.dependents(view, &goal, shot.overview.jobs)?;
        shot.needs = needs(&open, &shot);
        Ok(shot)
    }

    fn dependents(
        &mut self,
        view: &View<'_>,
        goal: &GoalId,
        jobs: u64,
    ) -> Result<Dependents, LedgerError> {
        if let Some((of, count, known)) = &self.dependents
            && (of, *count) == (goal, jobs)
        {
            return Ok(known.clone());
        }
        let found = if jobs > MAX_LINEAGE {
            BTreeMap::new()
        } else {
            view.dependents(goal)?
        };
        let found = Arc::new(found);
        self.dependents = Some((goal.clone(), jobs, found.clone()));
        Ok(found)
    }

    fn load_place(
        &mut self,
        view: &View<'_>,
        goal: &GoalId,
        version: Option<i64>,
        want: &Want,
        shot: &mut Snapshot,
    ) -> Result<(), LedgerError> {
        match &want.place {
            Place::Root(Kind::Jobs | Kind::Waits) => {
                shot.jobs = Some(self.load_jobs(view, goal, version, want)?);
            }
            Place::Root(Kind::Approvals) => {
                shot.approvals = view.approvals(goal, APPROVALS)?;
                let asking: Vec<JobId> = shot.approvals.iter().map(|row| row.job.clone()).collect();
                let rows = view.job_rows(goal, &asking)?;
                shot.asking = rows.into_iter().map(|row| (row.job.clone(), row)).collect();
            }
            Place::Root(Kind::Log) => {
                shot.log = log_data(view.log(None, LOG_LINES)?, &shot.zone);
            }
            Place::JobLog(job) => {
                let mut rows = view.job_events(goal, job)?;
                let extra = rows.len().saturating_sub(LOG_LINES);
                rows.drain(..extra);
                shot.log = log_data(rows, &shot.zone);
                shot.log.dropped = extra as u64;
            }
            Place::Job(job) | Place::Operation(job, _) => {
                shot.job = load_job(view, goal, job)?.map(Arc::new);
            }
            Place::Card(id) => {
                // The list goes along, so that the next request is known.
                shot.approvals = view.approvals(goal, APPROVALS)?;
                shot.request = view.approval(id)?;
                if let Some(request) = &shot.request {
                    shot.job = load_job(view, goal, &request.job)?.map(Arc::new);
                }
            }
            Place::Root(_) => {}
        }
        Ok(())
    }

    fn load_jobs(
        &mut self,
        view: &View<'_>,
        goal: &GoalId,
        version: Option<i64>,
        want: &Want,
    ) -> Result<JobsData, LedgerError> {
        let kept = self.ids.as_ref().filter(|(at, of, query, _)| {
            version.is_none_or(|version| version == *at) && (of, query) == (goal, &want.query)
        });
        let ids = match kept {
            Some((.., ids)) => ids.clone(),
            None => {
                let ids = Arc::new(view.job_ids(goal, &want.query)?);
                // Read in a hurry: of no version that could be asked for again.
                let version = version.unwrap_or(i64::MIN);
                self.ids = Some((version, goal.clone(), want.query.clone(), ids.clone()));
                ids
            }
        };
        let end = want.window.end.min(ids.len());
        let start = want.window.start.min(end);
        let window = ids.get(start..end).unwrap_or(&[]);
        let rows = view.job_rows(goal, window)?;
        Ok(JobsData {
            query: want.query.clone(),
            ids,
            rows: rows.into_iter().map(|row| (row.job.clone(), row)).collect(),
        })
    }

    fn read_contract(&mut self, view: &View<'_>, shot: &mut Snapshot) -> Result<(), LedgerError> {
        let Some(row) = &shot.contract else {
            return Ok(());
        };
        let known = self.contract.as_ref().filter(|one| one.of == row.text);
        if known.is_none() {
            let text = text_of(view.blob(&row.text)?);
            let parsed = text.as_deref().and_then(|text| parse(text, row));
            let zone = parsed
                .as_ref()
                .and_then(|goal| TimeZone::get(&goal.contract.workdays.zone).ok())
                .unwrap_or(TimeZone::UTC);
            self.contract = Some(KnownContract {
                of: row.text.clone(),
                text,
                parsed: parsed.map(Arc::new),
                zone,
            });
        }
        if let Some(known) = &self.contract {
            shot.contract_text.clone_from(&known.text);
            shot.parsed.clone_from(&known.parsed);
            shot.zone = known.zone.clone();
        }
        Ok(())
    }
}

fn parse(text: &str, row: &ContractRow) -> Option<Goal> {
    parse_goal(text, &row.base_dir, None).ok()
}

fn text_of(bytes: Option<Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| {
        let cut = bytes.get(..MAX_TEXT).unwrap_or(&bytes);
        String::from_utf8_lossy(cut).into_owned()
    })
}

/// What needs a person, dearest delay first: effects of unknown outcome, then alerts, then requests that
/// hold up the most jobs; what costs the same, oldest first.
fn needs(open: &[ApprovalRow], shot: &Snapshot) -> Vec<Need> {
    let mut needs: Vec<Need> = shot
        .unsettled
        .iter()
        .filter(|op| op.to_verify)
        .map(|op| Need {
            since: op.intended_at,
            job: Some(op.job.clone()),
            what: NeedWhat::Verify(op.job.clone(), op.operation.clone()),
        })
        .collect();
    needs.sort_by_key(|need| need.since);
    let mut alerts: Vec<Need> = shot
        .alerts
        .iter()
        .filter(|row| row.cleared_at.is_none())
        .map(|row| Need {
            since: row.raised_at,
            job: row.job.clone(),
            what: NeedWhat::Alert(row.seq),
        })
        .collect();
    alerts.sort_by_key(|need| need.since);
    needs.extend(alerts);
    let held_up = |row: &ApprovalRow| shot.dependents.get(&row.job).copied().unwrap_or(0);
    let mut asked: Vec<&ApprovalRow> = open.iter().collect();
    // Stable: requests of one moment keep the source's order.
    asked.sort_by_key(|row| (std::cmp::Reverse(held_up(row)), row.requested_at));
    needs.extend(asked.into_iter().map(|row| Need {
        since: row.requested_at,
        job: Some(row.job.clone()),
        what: NeedWhat::Approval(row.approval.clone()),
    }));
    needs
}

fn log_data(rows: Vec<crate::ledger::read::EventRow>, zone: &TimeZone) -> LogData {
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

fn load_job(view: &View<'_>, goal: &GoalId, job: &JobId) -> Result<Option<JobData>, LedgerError> {
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
        .chain(facts.config.clone());
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
    }))
}

fn load_closing(view: &View<'_>, goal: &GoalId, shot: &Snapshot) -> Result<Closing, LedgerError> {
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
