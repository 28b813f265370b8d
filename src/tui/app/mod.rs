//! The interface's state and the pure function that changes it.

pub mod act;
mod ask;
pub mod ask_goal;
mod asked;
mod deciding;
mod go;
pub mod layout;
pub mod list;
pub mod load;
pub mod msg;
pub mod overlay;
mod overlay_keys;
pub mod overlay_rows;
pub mod place;
pub mod run;
pub mod snapshot;
mod threads;
pub mod tour;
mod update;

pub use asked::{Answer, Asked, Frozen, Note};
pub use update::{next_deadline, update};

use crate::ledger::filter::Filter;
use crate::ledger::read::{ApprovalRow, AttemptRow, JobQuery, JobRow, JobSort, QuestionRow};
use crate::model::{AttemptNo, ContractVersion, GoalId, JobId};
use crate::tui::amend::Amendment;
use crate::tui::keymap::Keymap;
use crate::tui::notice::Heard;
use crate::tui::text::Line;
use layout::{Layout, layout};
use list::{Ids, ListState};
use load::Want;
use msg::Now;
use overlay::Overlay;
use place::{Kind, Place, Tab};
use snapshot::{LogLine, Snapshot, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Decision keys are dead for this long after a request was drawn or changed.
pub const ARMING_MS: u64 = 750;
/// How long a note stays.
const NOTE_MS: u64 = 6_000;
/// Decisions of this interface that are remembered.
const MAX_ASKED: usize = 64;
/// Texts kept that were typed and not sent.
const MAX_DRAFTS: usize = 32;

/// All of the interface's state.
#[derive(Debug, Clone)]
pub struct Model {
    /// Columns and rows.
    pub size: (u16, u16),
    /// Bindings.
    pub keymap: Keymap,
    /// No action changes anything.
    pub read_only: bool,
    /// The engine runs in this process.
    pub engine_here: bool,
    /// How the engine of this process ended, if it did.
    pub engine_ended: Option<Result<(), String>>,
    /// The goal asked for; the first one when none is.
    pub goal: Option<GoalId>,
    /// Root view first, then what was drilled into.
    pub stack: Vec<Place>,
    /// The stack of the view before.
    pub before: Option<Vec<Place>>,
    /// Cursors by view.
    pub lists: BTreeMap<Kind, ListState>,
    /// Filters by view, as typed.
    pub filters: BTreeMap<Kind, String>,
    /// Column that the jobs are sorted by.
    pub sort: JobSort,
    /// The other way round.
    pub reverse: bool,
    /// Marked jobs.
    pub marks: BTreeSet<JobId>,
    /// The last one marked.
    pub last_mark: Option<JobId>,
    /// Marked differences.
    pub drift_marks: BTreeSet<String>,
    /// The changed goal file that was asked for.
    pub amendment: Option<Amendment>,
    /// What was typed and not sent, or refused: what for, and the text; oldest first.
    pub drafts: Vec<(String, String)>,
    /// Details beside the list.
    pub details: bool,
    /// Pane of the job view.
    pub tab: Tab,
    /// Attempt shown; the newest when `None`.
    pub attempt: Option<AttemptNo>,
    /// Long texts of a loop are shown whole.
    pub unfolded: bool,
    /// Contract version shown; the newest when `None`.
    pub version: Option<ContractVersion>,
    /// Lines of a view that is a page of text, made once a message.
    pub page: Arc<[Line]>,
    /// First line shown of a page of text.
    pub scroll: usize,
    /// What lies on top; the last is the top.
    pub overlays: Vec<Overlay>,
    /// What is shown.
    pub snapshot: Snapshot,
    /// The ledger could not be read last time.
    pub load_error: Option<String>,
    /// Whether the display is frozen.
    pub frozen: Option<Frozen>,
    /// Mouse reports are on.
    pub mouse: bool,
    /// What was asked here, oldest first.
    pub asked: Vec<Asked>,
    /// Number of the next thing asked.
    pub next_local: u64,
    /// A line that goes away.
    pub note: Option<Note>,
    /// What a decision would be about as it was last put on the screen, and since when it is so.
    pub drawn: Option<(String, u64)>,
    /// When Ctrl-C was pressed at the root.
    pub interrupted_ms: Option<u64>,
    /// The closing report of this goal opened by itself once.
    pub closing_shown: BTreeSet<GoalId>,
    /// Say outside of the screen when something new needs a person.
    pub notify: bool,
    /// Notices are at least so far apart.
    pub notify_every_ms: u64,
    /// The guided tour, while it is on.
    pub tour: Option<tour::Tour>,
    /// What was told already, or was there at the start.
    pub heard: Heard,
    /// Enter was pressed before the list was read.
    pub open_when_read: bool,
    /// The times of the last message.
    pub now: Now,
}

impl Model {
    /// The state at the start: the jobs of a goal.
    pub fn new(goal: Option<GoalId>, read_only: bool, engine_here: bool) -> Self {
        Self {
            size: (80, 24),
            keymap: Keymap::new(read_only),
            read_only,
            engine_here,
            engine_ended: None,
            goal,
            stack: vec![Place::Root(Kind::Jobs)],
            before: None,
            lists: BTreeMap::from([(
                Kind::Log,
                ListState {
                    follow: true,
                    ..ListState::default()
                },
            )]),
            filters: BTreeMap::new(),
            sort: JobSort::Position,
            reverse: false,
            marks: BTreeSet::new(),
            last_mark: None,
            drift_marks: BTreeSet::new(),
            amendment: None,
            drafts: Vec::new(),
            details: false,
            tab: Tab::Timeline,
            attempt: None,
            unfolded: false,
            version: None,
            page: Arc::default(),
            scroll: 0,
            overlays: Vec::new(),
            snapshot: Snapshot::default(),
            load_error: None,
            frozen: None,
            mouse: false,
            asked: Vec::new(),
            next_local: 1,
            note: None,
            drawn: None,
            interrupted_ms: None,
            closing_shown: BTreeSet::new(),
            notify: false,
            notify_every_ms: 30_000,
            tour: None,
            heard: Heard::default(),
            open_when_read: false,
            now: Now::default(),
        }
    }

    /// The view on top of the stack.
    pub fn place(&self) -> Place {
        self.stack
            .last()
            .cloned()
            .unwrap_or(Place::Root(Kind::Jobs))
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.stack.last().map_or(Kind::Jobs, Place::kind)
    }

    /// The screen's parts; `None` below the floor.
    pub fn layout(&self) -> Option<Layout> {
        let details = match self.kind() {
            Kind::Jobs | Kind::Waits => self.details,
            // Both sides of a difference are more than a row holds.
            kind => kind == Kind::Drift && !self.snapshot.drift.is_empty(),
        };
        layout(self.size.0, self.size.1, details)
    }

    /// Rows that a list shows under its heading.
    pub fn list_height(&self) -> usize {
        let rows = self.layout().map_or(1, |parts| parts.body.height);
        crate::tui::widget::table::rows_in(rows).max(1)
    }

    /// Cursor of the current list.
    pub fn list(&self) -> ListState {
        self.lists.get(&self.kind()).cloned().unwrap_or_default()
    }

    /// Whether the snapshot is about this view, so that its lists can be trusted.
    pub fn is_current(&self) -> bool {
        let about = |want: &Want| want.place == self.place() && want.query == self.query();
        !self.snapshot.glance && self.snapshot.want.as_ref().is_some_and(about)
    }

    /// Identities of the current list, in the order shown.
    pub fn ids(&self) -> Ids<'_> {
        let shot = &self.snapshot;
        match self.kind() {
            Kind::Jobs | Kind::Waits => match &shot.jobs {
                Some(jobs) => Ids::Jobs(&jobs.ids),
                None => Ids::Own(Vec::new()),
            },
            Kind::Goals => Ids::Own(shot.goals.iter().map(|row| row.goal.0.clone()).collect()),
            Kind::Approvals => Ids::Own(
                shot.approvals
                    .iter()
                    .map(|row| row.approval.0.clone())
                    .collect(),
            ),
            Kind::ToVerify => Ids::Own(
                shot.unsettled
                    .iter()
                    .map(|row| row.operation.0.clone())
                    .collect(),
            ),
            Kind::Drift => Ids::Own(shot.drift.iter().map(|row| row.item.0.clone()).collect()),
            Kind::Alerts => Ids::Own(shot.alerts.iter().map(|row| row.seq.to_string()).collect()),
            Kind::Log => Ids::Own(
                self.log_lines()
                    .iter()
                    .map(|line| line.seq.to_string())
                    .collect(),
            ),
            _ => Ids::Own(Vec::new()),
        }
    }

    /// Lines of the log that the filter lets through.
    pub fn log_lines(&self) -> Vec<&LogLine> {
        let filter = self.filters.get(&Kind::Log).map_or("", String::as_str);
        let words: Vec<(bool, String)> = filter
            .split_whitespace()
            .map(|word| match word.strip_prefix('!') {
                Some(rest) => (false, rest.to_lowercase()),
                None => (true, word.to_lowercase()),
            })
            .collect();
        self.snapshot
            .log
            .lines
            .iter()
            .filter(|line| {
                let job = line.job.as_ref().map_or("", |job| job.as_str());
                let all = format!("{job} {} {}", line.actor, line.text).to_lowercase();
                words
                    .iter()
                    .all(|(wanted, word)| all.contains(word) == *wanted)
            })
            .collect()
    }

    /// The query of views that list jobs; a filter that does not parse selects what the last part of
    /// it that does parse would.
    pub fn query(&self) -> JobQuery {
        match self.kind() {
            Kind::Jobs => JobQuery {
                filter: self
                    .filters
                    .get(&Kind::Jobs)
                    .and_then(|text| Filter::parse(text).ok())
                    .unwrap_or_default(),
                sort: self.sort,
                reverse: self.reverse,
            },
            Kind::Waits => JobQuery {
                filter: Filter::parse("is:waiting").unwrap_or_default(),
                ..JobQuery::default()
            },
            _ => JobQuery::default(),
        }
    }

    /// What the screen needs of the ledger.
    pub fn want(&self) -> Want {
        let height = self.list_height();
        let list = self.list();
        // Whole pages, so that most steps of the cursor need nothing new.
        let start = (list.offset / height).saturating_sub(1) * height;
        // What would end the wait under the cursor is said without the details pane, too.
        let beside = (self.details && self.kind() == Kind::Jobs || self.kind() == Kind::Waits)
            .then(|| list.target().map(JobId::from))
            .flatten();
        Want {
            goal: self.goal.clone(),
            place: self.place(),
            query: self.query(),
            window: start..start + height * 4,
            beside,
            decisions: self
                .asked
                .iter()
                .filter(|asked| asked.answer == Answer::Pending)
                .filter_map(|asked| asked.id.clone())
                .collect(),
            transcript: (self.kind() == Kind::Job && self.tab == Tab::Transcript)
                .then_some(self.attempt),
            closing: self
                .overlays
                .iter()
                .any(|one| matches!(one, Overlay::Closing { .. })),
        }
    }

    /// The job that an action of this view would concern.
    pub fn job_here(&self) -> Option<JobId> {
        match self.place() {
            Place::Job(job)
            | Place::Operation(job, _)
            | Place::Question(job, _)
            | Place::JobLog(job) => Some(job),
            Place::Alert(seq) => {
                let row = self.snapshot.alerts.iter().find(|row| row.seq == seq);
                row.and_then(|row| row.job.clone())
            }
            Place::Card(_) => self.request().map(|request| request.job.clone()),
            Place::Root(Kind::Jobs | Kind::Waits) => self.list().target().map(JobId::from),
            Place::Drift => self.difference().and_then(|row| row.job.clone()),
            Place::Amendment | Place::Root(_) => None,
        }
    }

    /// A job's row, if it is at hand.
    pub fn row_of(&self, job: &JobId) -> Option<&JobRow> {
        let listed = self
            .snapshot
            .jobs
            .as_ref()
            .and_then(|jobs| jobs.rows.get(job));
        listed.or_else(|| {
            self.snapshot
                .job
                .as_ref()
                .map(|data| &data.row)
                .filter(|row| row.job == *job)
        })
    }

    /// What the worker of a job asks now.
    pub fn question_of(&self, job: &JobId) -> Option<&QuestionRow> {
        self.snapshot.questions.iter().find(|row| row.job == *job)
    }

    /// The request shown, if the snapshot is about it.
    pub fn request(&self) -> Option<&ApprovalRow> {
        let Some(Place::Card(id)) = self.stack.last() else {
            return None;
        };
        self.snapshot
            .request
            .as_ref()
            .filter(|request| request.approval == *id)
    }

    /// The attempt shown in the job view and its place among all, from 0.
    pub fn attempt_shown(&self) -> Option<(usize, &AttemptRow)> {
        let attempts = &self.snapshot.job.as_ref()?.attempts;
        let at = match self.attempt {
            Some(number) => attempts.iter().position(|one| one.attempt == number)?,
            None => attempts.len().checked_sub(1)?,
        };
        attempts.get(at).map(|one| (at, one))
    }

    /// The contract version shown and its place among all, from 0.
    pub fn version_shown(&self) -> Option<(usize, &Version)> {
        let versions = &self.snapshot.versions;
        let at = match self.version {
            Some(number) => versions.iter().position(|one| one.row.version == number)?,
            None => versions.len().checked_sub(1)?,
        };
        versions.get(at).map(|one| (at, one))
    }

    /// Says something for a while.
    pub fn say(&mut self, text: impl Into<String>, bad: bool) {
        self.note = Some(Note {
            text: text.into(),
            bad,
            until_ms: self.now.ms + NOTE_MS,
        });
    }

    /// Goes to a place, remembering where it came from.
    pub fn go(&mut self, place: Place) {
        let root = Place::Root(place.kind().root());
        let stack = if place == root {
            vec![root]
        } else {
            vec![root, place]
        };
        if stack != self.stack {
            self.before = Some(std::mem::replace(&mut self.stack, stack));
            self.arrived();
        }
    }

    /// Drills into a place from here.
    pub fn drill(&mut self, place: Place) {
        // A ring of job, log and request would otherwise grow for ever.
        if let Some(at) = self.stack.iter().position(|one| *one == place) {
            self.stack.truncate(at + 1);
        } else {
            self.stack.push(place);
        }
        self.arrived();
    }

    /// Back to where this was opened from; false at the root.
    pub fn back(&mut self) -> bool {
        if self.stack.len() < 2 {
            return false;
        }
        self.stack.pop();
        self.arrived();
        true
    }

    /// A page begins at its top, and a request must be drawn before it can be decided.
    pub fn arrived(&mut self) {
        self.scroll = 0;
        self.tab = Tab::Timeline;
        self.attempt = None;
        self.version = None;
        self.drawn = None;
        self.drift_marks.clear();
        if self.kind() == Kind::Log {
            self.lists.insert(
                Kind::Log,
                ListState {
                    follow: true,
                    ..ListState::default()
                },
            );
        }
    }
}

#[cfg(test)]
mod tests;
