//! Takes a snapshot: asks the ledger for what the screen shows and nothing else.

mod needs;
mod parts;

use super::place::{Kind, Place};
use super::snapshot::{JobsData, Snapshot, Version};
use crate::contract::{Goal, parse_goal};
use crate::ledger::read::{ContractRow, GoalRow, JobQuery, View};
use crate::ledger::{LedgerError, Reader};
use crate::model::{AttemptNo, DecisionId, Digest, GoalId, JobId, Seq, WaitKind};
use jiff::tz::TimeZone;
use needs::load_needs;
use parts::{load_closing, load_job, log_data, text_of};
use std::ops::Range;
use std::sync::Arc;

/// Entries kept of the log.
pub const LOG_LINES: usize = 2_000;
/// Requests listed.
const APPROVALS: usize = 1_000;
/// Goals of more jobs are shown at the first glance before they are counted.
const GLANCE_FROM: u64 = 5_000;
/// Contract versions that can be stepped through.
const VERSIONS: usize = 20;
/// Entries shown before an alert.
const ALERT_ENTRIES: usize = 20;
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
    /// The attempt whose loop is shown; the newest one when it is `Some(None)`.
    pub transcript: Option<Option<AttemptNo>>,
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
            transcript: None,
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

/// The jobs of a query, as they were read.
#[derive(Debug)]
struct KnownIds {
    as_of: AsOf,
    goal: GoalId,
    query: JobQuery,
    ids: Arc<Vec<JobId>>,
}

/// For how long a list of jobs holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AsOf {
    /// Until the ledger changes.
    Version(i64),
    /// Until there are more jobs: all of them, in the source's order.
    Jobs(u64),
    /// Read in a hurry: of no version that could be asked for again.
    Hurry,
}

/// Keeps what does not change between snapshots.
#[derive(Debug, Default)]
pub struct Loader {
    contract: Option<KnownContract>,
    ids: Option<KnownIds>,
    base: Option<(i64, Option<GoalId>, Snapshot)>,
}

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

    /// The first rows of a goal of very many jobs, before these are counted and listed: the first frame
    /// must not wait for that. `None` where the whole is there as soon.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn glance(reader: &Reader, want: &Want) -> Result<Option<Snapshot>, LedgerError> {
        let view = reader.view();
        let mut shot = Snapshot {
            goals: view.goals()?,
            glance: true,
            ..Snapshot::default()
        };
        shot.goal = chosen(&shot.goals, &want.goal);
        let Some(goal) = &shot.goal else {
            return Ok(None);
        };
        let jobs = goal.jobs_listed.unwrap_or(0);
        let whole = want.place != Place::Root(Kind::Jobs) || want.query != JobQuery::default();
        if whole || jobs < GLANCE_FROM {
            return Ok(None);
        }
        let ids = view.first_jobs(&goal.goal, want.window.end)?;
        let rows = view.job_rows(&goal.goal, &ids)?;
        shot.overview.engine = view.engine()?;
        shot.overview.jobs = jobs;
        if let Some((_, at)) = view.last_entry()? {
            shot.overview.last_at = at;
        }
        shot.jobs = Some(JobsData {
            query: want.query.clone(),
            ids: Arc::new(ids),
            rows: rows.into_iter().map(|row| (row.job.clone(), row)).collect(),
        });
        shot.want = Some(want.clone());
        Ok(Some(shot))
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
        shot.goal = chosen(&shot.goals, named);
        let Some(goal) = shot.goal.as_ref().map(|goal| goal.goal.clone()) else {
            shot.overview.engine = view.engine()?;
            return Ok(shot);
        };
        shot.overview = view.overview(&goal)?;
        shot.contract = view.contract(&goal)?;
        self.read_contract(view, &mut shot)?;
        shot.unsettled = view.unsettled(&goal)?;
        if shot.overview.held > 0 {
            shot.drift = view.drift(&goal)?;
        }
        shot.alerts = view.alerts(&goal)?;
        shot.questions = view.open_questions(&goal)?;
        shot.plans = view.plans(&goal)?;
        load_needs(view, &goal, &mut shot)?;
        if shot.overview.by_wait.contains_key(&WaitKind::Upstream) {
            shot.awaited = view.awaited(&goal, 2)?;
        }
        Ok(shot)
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
                shot.jobs = Some(self.load_jobs(view, goal, version, want, shot.overview.jobs)?);
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
            Place::Job(job) | Place::Operation(job, _) | Place::Question(job, _) => {
                let mut data = load_job(view, goal, job)?;
                if let (Some(data), Some(attempt)) = (&mut data, want.transcript) {
                    let newest = data.attempts.last().map(|one| one.attempt);
                    if let Some(attempt) = attempt.or(newest) {
                        data.transcript = Some((attempt, view.transcript(goal, job, attempt)?));
                    }
                }
                shot.job = data.map(Arc::new);
            }
            Place::Card(id) => {
                // The list goes along, so that the next request is known.
                shot.approvals = view.approvals(goal, APPROVALS)?;
                shot.request = view.approval(id)?;
                if let Some(request) = &shot.request {
                    shot.job = load_job(view, goal, &request.job)?.map(Arc::new);
                }
            }
            Place::Root(Kind::Goal) => {
                shot.checkpoint = view.last_checkpoint(goal)?;
                let mut rows = view.contracts(goal, VERSIONS)?;
                rows.reverse();
                for row in rows {
                    let text = text_of(view.blob(&row.text)?);
                    shot.versions.push(Version { row, text });
                }
            }
            Place::Root(Kind::Budgets) => {
                shot.uses = view.budget_uses(goal)?;
                shot.forecast = view.forecast(goal)?;
                shot.handoffs = view.handoffs(goal)?;
            }
            Place::Alert(seq) => {
                shot.outages = view.outages(goal)?;
                shot.spins = view.spins(goal)?;
                shot.overrules = view.overrules(goal)?;
                shot.first_job = view.first_jobs(goal, 1)?.pop();
                let alert = shot.alerts.iter().find(|row| row.seq == *seq);
                shot.before_alert = match alert.and_then(|row| row.job.as_ref()) {
                    Some(job) => {
                        let mut rows = view.job_events(goal, job)?;
                        rows.retain(|row| row.seq <= *seq);
                        rows.split_off(rows.len().saturating_sub(ALERT_ENTRIES))
                    }
                    None => view.log(Some(Seq(seq.0 + 1)), ALERT_ENTRIES)?,
                };
            }
            Place::Drift => shot.drift = view.drift(goal)?,
            Place::Amendment | Place::Root(_) => {}
        }
        Ok(())
    }

    fn load_jobs(
        &mut self,
        view: &View<'_>,
        goal: &GoalId,
        version: Option<i64>,
        want: &Want,
        jobs: u64,
    ) -> Result<JobsData, LedgerError> {
        let as_of = match version {
            _ if want.query == JobQuery::default() => AsOf::Jobs(jobs),
            Some(version) => AsOf::Version(version),
            None => AsOf::Hurry,
        };
        let kept = self.ids.as_ref().filter(|known| {
            (version.is_none() || known.as_of == as_of)
                && (&known.goal, &known.query) == (goal, &want.query)
        });
        let ids = match kept {
            Some(known) => known.ids.clone(),
            None => {
                let ids = Arc::new(view.job_ids(goal, &want.query)?);
                self.ids = Some(KnownIds {
                    as_of,
                    goal: goal.clone(),
                    query: want.query.clone(),
                    ids: ids.clone(),
                });
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

/// The goal that is named; the first one when none is.
fn chosen(goals: &[GoalRow], named: &Option<GoalId>) -> Option<GoalRow> {
    match named {
        Some(id) => goals.iter().find(|goal| goal.goal == *id).cloned(),
        None => goals.first().cloned(),
    }
}

fn parse(text: &str, row: &ContractRow) -> Option<Goal> {
    parse_goal(text, &row.base_dir, None).ok()
}
