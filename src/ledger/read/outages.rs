//! Questions about outages.

use super::{Answer, View};
use crate::model::{GoalId, JobId, Seq, TimeMs, WorldPart};
use rusqlite::params;
use serde::Serialize;

/// An outage in one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutageRow {
    /// Its first entry.
    pub seq: Seq,
    /// The part of the world that was out.
    pub part: WorldPart,
    /// When the first failure of it was seen.
    pub from: TimeMs,
    /// When it was declared.
    pub began_at: TimeMs,
    /// Failures in the window.
    pub failures: u32,
    /// Calls in the window.
    pub trials: u32,
    /// Different jobs among the failures.
    pub jobs: u32,
    /// The rate they were held against, in parts per million.
    pub rate_ppm: u32,
    /// The chance of so many failures under it is one in this many.
    pub one_in: u64,
    /// When a job probes next.
    pub next_probe: TimeMs,
    /// Probes that failed.
    pub probes: u32,
    /// The job that probed last.
    pub last_probe: Option<JobId>,
    /// When it was over.
    pub ended_at: Option<TimeMs>,
    /// What showed that.
    pub why: String,
}

impl View<'_> {
    /// Outages of a goal, the newest first; at most 100.
    pub fn outages(&self, goal: &GoalId) -> Answer<Vec<OutageRow>> {
        self.all(
            "SELECT seq, part, from_ms, began_ms, failures, trials, jobs, rate_ppm, one_in, next_probe_ms, probes,
               last_probe, ended_ms, why FROM outages WHERE goal = ?1 ORDER BY seq DESC LIMIT 100",
            params![goal.as_str()],
            |row| {
                let part: String = row.get(1)?;
                Ok(OutageRow {
                    seq: Seq(row.get(0)?),
                    part: WorldPart::from_word(&part).unwrap_or(WorldPart::Target),
                    from: TimeMs(row.get(2)?),
                    began_at: TimeMs(row.get(3)?),
                    failures: row.get(4)?,
                    trials: row.get(5)?,
                    jobs: row.get(6)?,
                    rate_ppm: row.get(7)?,
                    one_in: row.get::<_, i64>(8)? as u64,
                    next_probe: TimeMs(row.get(9)?),
                    probes: row.get(10)?,
                    last_probe: row.get::<_, Option<String>>(11)?.map(JobId),
                    ended_at: row.get::<_, Option<i64>>(12)?.map(TimeMs),
                    why: row.get(13)?,
                })
            },
        )
    }
}
