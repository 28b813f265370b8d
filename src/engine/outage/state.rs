//! What the engine keeps of outages in memory. The open ones come from the ledger; the windows are won again
//! from its last entries.

use super::OutageView;
use super::scan::ALPHA;
use super::scan::{Cluster, History, Trial, Tried, least_jobs};
use crate::engine::operation::back_off_ms;
use crate::ledger::event::Event;
use crate::ledger::read::{EventRow, OutageRow};
use crate::model::{FailureClass, JobId, TimeMs, WorldPart};
use std::collections::BTreeMap;

/// The first probe after an outage was declared; the next ones back off.
const FIRST_PROBE_MS: i64 = 60_000;
/// The longest pause between two probes.
const LONGEST_PROBE_MS: i64 = 15 * 60_000;

/// From when to when something lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Span {
    pub from: TimeMs,
    pub to: TimeMs,
}

/// An open outage.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub from: TimeMs,
    pub began: TimeMs,
    pub next_probe: TimeMs,
    pub probes: u32,
    /// The job that probes, and since when.
    pub canary: Option<(JobId, TimeMs)>,
    /// The job that probed last: the next one does now, so that a job with trouble of its own does not
    /// keep an outage open.
    pub last: Option<JobId>,
}

/// One part of the world.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub history: History,
    pub open: Option<Open>,
    /// The last outage, for what was begun in it and fails later.
    pub before: Option<Span>,
}

/// All parts.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Outages {
    pub(super) parts: BTreeMap<WorldPart, Part>,
    slots: usize,
}

impl Outages {
    /// As the ledger left them: its outages, and its last entries, oldest first.
    pub(in crate::engine) fn new(rows: &[OutageRow], last: &[EventRow], slots: usize) -> Self {
        let mut outages = Self {
            parts: BTreeMap::new(),
            slots,
        };
        let mut asked = BTreeMap::new();
        for row in last {
            outages.read(row, &mut asked);
        }
        for row in rows.iter().rev() {
            let part = outages.parts.entry(row.part.clone()).or_default();
            match row.ended_at {
                Some(to) => part.before = Some(Span { from: row.from, to }),
                None => {
                    part.open = Some(Open {
                        from: row.from,
                        began: row.began_at,
                        next_probe: row.next_probe,
                        probes: row.probes,
                        canary: None,
                        last: row.last_probe.clone(),
                    });
                }
            }
        }
        outages
    }

    /// A refusal says not whether the target was only busy, so refusals from before the start are left out; so
    /// are failed turns. `asked` is whom a job's last turn was asked of.
    fn read(&mut self, row: &EventRow, asked: &mut BTreeMap<JobId, String>) {
        let (Some(job), Some(event)) = (&row.job, &row.event) else {
            return;
        };
        let environment = |class: &FailureClass| *class != FailureClass::Job;
        let (part, tried, failed) = match event {
            Event::RunSucceeded { .. } => (WorldPart::Target, Tried::Run, false),
            Event::RunFailed { class, .. } => (WorldPart::Target, Tried::Run, environment(class)),
            Event::OpUnknown { .. } => (WorldPart::Target, Tried::Effect, true),
            Event::ConfigProposed { .. } => (WorldPart::Worker, Tried::Prepare, false),
            Event::PrepareFailed { class, .. } => {
                (WorldPart::Worker, Tried::Prepare, environment(class))
            }
            Event::SampleAsked(one) if one.spent > 0 => (WorldPart::Warehouse, Tried::Check, false),
            Event::EvidenceRecorded { spent, .. } if *spent > 0 => {
                (WorldPart::Warehouse, Tried::Check, false)
            }
            Event::CheckFailed {
                class, reserved, ..
            } if *reserved > 0 => (WorldPart::Warehouse, Tried::Check, environment(class)),
            Event::TurnStarted(one) => {
                asked.insert(job.clone(), one.provider.clone());
                return;
            }
            Event::TurnEnded(one) if one.outcome != "failed" => match asked.get(job) {
                Some(provider) => (WorldPart::Provider(provider.clone()), Tried::Turn, false),
                None => return,
            },
            Event::OutageBegan { part, .. } | Event::OutageEnded { part, .. } => {
                self.parts
                    .entry(part.clone())
                    .or_default()
                    .history
                    .forget_window();
                return;
            }
            _ => return,
        };
        let trial = Trial {
            at: row.at,
            job: job.clone(),
            tried,
            failed,
        };
        self.parts.entry(part).or_default().history.push(trial);
    }

    /// Keeps a trial; the cluster it completes, if it does.
    pub(super) fn push(&mut self, part: WorldPart, trial: Trial) -> Option<Cluster> {
        let own = self.parts.entry(part).or_default();
        let failed = trial.failed;
        own.history.push(trial);
        if !failed {
            return None;
        }
        own.history.scan(least_jobs(self.slots), ALPHA)
    }

    pub(super) fn open(&mut self, part: &WorldPart) -> Option<&mut Open> {
        self.parts.get_mut(part)?.open.as_mut()
    }

    /// Whether a part is out.
    pub(in crate::engine) fn is_open(&self, part: &WorldPart) -> bool {
        self.parts.get(part).is_some_and(|own| own.open.is_some())
    }

    /// Parts with an open outage.
    pub(in crate::engine) fn open_parts(&self) -> Vec<WorldPart> {
        self.parts
            .iter()
            .filter(|(_, part)| part.open.is_some())
            .map(|(part, _)| part.clone())
            .collect()
    }

    /// Whether what began at an instant and failed now fell into an outage, open or just over.
    pub(super) fn covers(&self, part: &WorldPart, began: TimeMs) -> bool {
        self.parts.get(part).is_some_and(|own| {
            own.open.is_some() || own.before.is_some_and(|span| began <= span.to)
        })
    }

    /// What a job may know.
    pub(in crate::engine) fn view(&self, job: &JobId) -> BTreeMap<WorldPart, OutageView> {
        let view = |open: &Open| OutageView {
            from: open.from,
            began: open.began,
            canary: open.canary.as_ref().is_some_and(|(own, _)| own == job),
        };
        self.parts
            .iter()
            .filter_map(|(part, own)| Some((part.clone(), view(own.open.as_ref()?))))
            .collect()
    }

    /// When the next probe is due, if any outage is open and none is under way.
    pub(in crate::engine) fn next_probe(&self) -> Option<TimeMs> {
        self.parts
            .values()
            .filter_map(|part| part.open.as_ref())
            .filter(|open| open.canary.is_none())
            .map(|open| open.next_probe)
            .min()
    }
}

/// The pause before the next probe.
pub(super) fn probe_pause_ms(probes: u32) -> i64 {
    back_off_ms(FIRST_PROBE_MS, probes).min(LONGEST_PROBE_MS)
}
