//! How well a practice migration went, by the scenario's own labels and by a comparison that knows neither the
//! checkers nor the ledger's evidence.
//!
//! Engine, converter and practice model never see what is read here: this scores them afterwards.

use crate::ledger::read::View;
use crate::model::{GoalId, JobState};
use crate::world::practice::golden;
use crate::world::practice::legacy::Row;
use crate::world::practice::scenario::Scenario;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A job that could have been moved and was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// The job.
    pub job: String,
    /// Why, as the ledger says.
    pub reason: String,
}

/// A job in production that should not be there as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FalseCompletion {
    /// The job.
    pub job: String,
    /// What is wrong with it.
    pub why: String,
}

/// The score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// Jobs that a good engineer could move: labelled mechanical or repair.
    pub convertible: u64,
    /// How many of them were cut over.
    pub cut_over: u64,
    /// That share, from 0 to 1; `None` without convertible jobs.
    pub share: Option<f64>,
    /// The others of them, with the ledger's reason.
    pub left: Vec<Left>,
    /// Jobs that cannot work on the new platform.
    pub impossible: u64,
    /// How many of them a person has now.
    pub impossible_handed_over: u64,
    /// Jobs in production whose output, or effects, were compared with the old job's.
    pub compared: u64,
    /// Those in production that differ from the old job, or can only be wrong there.
    pub false_completions: Vec<FalseCompletion>,
}

/// Scores a practice migration of so many jobs by its ledger and its world's file, which is only read.
///
/// # Errors
/// One sentence, when the ledger, the world or the scenario cannot be read.
pub fn score(view: View<'_>, goal: &GoalId, world: &Path, jobs: usize) -> Result<Score, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let facts = view
        .all_facts(goal)
        .map_err(|error| failed("the ledger", &error))?;
    let ends: BTreeMap<String, (JobState, String)> = facts
        .into_iter()
        .map(|one| (one.id.0, (one.state, one.reason)))
        .collect();
    let world = Connection::open_with_flags(world, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| failed("the world's file", &error))?;
    let scenario = Scenario::of(jobs)?;
    let mut own = Score {
        convertible: 0,
        cut_over: 0,
        share: None,
        left: Vec::new(),
        impossible: 0,
        impossible_handed_over: 0,
        compared: 0,
        false_completions: Vec::new(),
    };
    for row in scenario.rows.iter().take(jobs) {
        let Some((state, reason)) = ends.get(&row.job) else {
            continue;
        };
        own.count(row, *state, reason);
        if *state == JobState::CutOver {
            let why = wrong(&world, row).map_err(|error| failed("the world's file", &error))?;
            own.compared += 1;
            own.false_completions.extend(why.map(|why| FalseCompletion {
                job: row.job.clone(),
                why,
            }));
        }
    }
    own.share = (own.convertible > 0).then(|| own.cut_over as f64 / own.convertible as f64);
    Ok(own)
}

impl Score {
    fn count(&mut self, row: &Row, state: JobState, reason: &str) {
        match row.cls.as_str() {
            "mechanical" | "repair" => {
                self.convertible += 1;
                if state == JobState::CutOver {
                    self.cut_over += 1;
                } else {
                    self.left.push(Left {
                        job: row.job.clone(),
                        reason: reason.to_owned(),
                    });
                }
            }
            "impossible" => {
                self.impossible += 1;
                self.impossible_handed_over += u64::from(state == JobState::HandedOver);
            }
            _ => {}
        }
    }

    /// Two lines for people.
    pub fn text(&self) -> String {
        let share = self
            .share
            .map_or(String::new(), |share| format!(" ({:.1} %)", share * 100.0));
        let mut text = format!(
            "scored by the scenario: {} of {} convertible jobs cut over{share}; {} of {} impossible ones handed over\n\
             compared apart from the checkers: {} jobs in production, {} false completions",
            self.cut_over,
            self.convertible,
            self.impossible_handed_over,
            self.impossible,
            self.compared,
            self.false_completions.len()
        );
        for one in &self.false_completions {
            text.push_str(&format!("\n  {}: {}", one.job, one.why));
        }
        text
    }
}

/// What is wrong with a job in production, if anything is.
fn wrong(world: &Connection, row: &Row) -> rusqlite::Result<Option<String>> {
    if row.cls == "impossible" || row.cls == "retire" {
        return Ok(Some(format!("the scenario says {}: {}", row.cls, row.why)));
    }
    if row.target.is_empty() {
        return wrong_effects(world, &row.job);
    }
    let (old, new) = (
        golden::of_table(world, &format!("legacy__{}", row.target))?,
        golden::of_table(world, &format!("production__{}", row.target))?,
    );
    Ok((old != new).then(|| {
        format!(
            "{} rows ({}) in production, {} ({}) before",
            new.rows, new.checksum, old.rows, old.checksum
        )
    }))
}

/// A job without a table: what its run in production did must be what the old one did.
fn wrong_effects(world: &Connection, job: &str) -> rusqlite::Result<Option<String>> {
    let old: Option<String> = world
        .query_row(
            "select min(effect_digest) from legacy_runs where job = ?1 and exit = 0
             having count(distinct effect_digest) = 1",
            [job],
            |row| row.get(0),
        )
        .optional()?;
    let new: Option<String> = world
        .query_row(
            "select effect_digest from production_runs join production_jobs using (no)
             where job = ?1 and exit = 0 and tasks > 0 order by no desc limit 1",
            [job],
            |row| row.get(0),
        )
        .optional()?;
    Ok((old.is_none() || old != new)
        .then(|| "its run in production did other things than the old job's".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_whose_production_differs_is_a_false_completion() {
        let world = Connection::open_in_memory().unwrap();
        world
            .execute_batch(
                "create table legacy__t(a); insert into legacy__t values (1), (2);
                 create table production__t(a); insert into production__t values (2), (1);
                 create table legacy_runs(job, effect_digest, exit);
                 insert into legacy_runs values ('ops', 'x', 0), ('ops', 'x', 0), ('flips', 'x', 0), ('flips', 'y', 0);
                 create table production_jobs(no, job); insert into production_jobs values (1, 'ops'), (2, 'flips');
                 create table production_runs(no, effect_digest, exit, tasks);
                 insert into production_runs values (1, 'x', 0, 1), (2, 'x', 0, 1);",
            )
            .unwrap();
        let row = |job: &str, cls: &str, target: &str| {
            let all = crate::world::practice::legacy::read_rows(
                crate::world::practice::scenario::JOBS_CSV,
            )
            .unwrap();
            Row {
                job: job.to_owned(),
                cls: cls.to_owned(),
                target: target.to_owned(),
                ..all[0].clone()
            }
        };
        assert_eq!(wrong(&world, &row("t", "repair", "t")).unwrap(), None);
        assert_eq!(wrong(&world, &row("ops", "mechanical", "")).unwrap(), None);
        for (job, cls, target) in [
            ("t", "impossible", "t"),
            ("t", "retire", "t"),
            ("flips", "mechanical", ""),
            ("unknown", "mechanical", ""),
        ] {
            let found = wrong(&world, &row(job, cls, target)).unwrap();
            assert!(found.is_some(), "{job} {cls}");
        }
        for change in [
            "update production__t set a = 3 where a = 2",
            "update production_runs set effect_digest = 'z' where no = 1",
        ] {
            assert_eq!(world.execute(change, []).unwrap(), 1);
        }
        assert!(wrong(&world, &row("t", "repair", "t")).unwrap().is_some());
        assert!(wrong(&world, &row("ops", "repair", "")).unwrap().is_some());
    }
}
