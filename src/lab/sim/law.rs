//! The contract in force as data, and how its owner changes it while the goal goes on.

use super::dice::Dice;
use super::scenario::Scenario;
use std::collections::BTreeSet;

/// What an amendment changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// One job more is given up.
    Retire,
    /// Tables are counted by one clause more.
    AddClause,
    /// The clause that counts tables means something else.
    ChangeClause,
    /// Another limit of queries a day, or one where there was none.
    Queries,
    /// Another limit of side effects a day, or one where there was none.
    Actions,
    /// Another wall of side effects in all, where there is one.
    ActionsInAll,
}

impl Change {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Retire,
        Self::AddClause,
        Self::ChangeClause,
        Self::Queries,
        Self::Actions,
        Self::ActionsInAll,
    ];
}

/// Most clauses that amendments add.
const MAX_ADDED: u32 = 2;

/// What the contract says and may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Law {
    /// Queries a day.
    pub quota: Option<u64>,
    /// Side effects a day.
    pub actions_a_day: Option<u64>,
    /// Side effects in all; only without a limit a day.
    pub actions_in_all: Option<u64>,
    /// Numbers of the jobs that are given up.
    pub retired: BTreeSet<u32>,
    /// Clauses that were added.
    pub added: u32,
    /// Whether two empty tables pass.
    pub allow_empty: bool,
}

impl Law {
    /// As the goal is adopted.
    pub(super) fn first(scenario: &Scenario) -> Self {
        let rules = &scenario.rules;
        Self {
            quota: rules.quota,
            actions_a_day: rules.actions_a_day,
            actions_in_all: rules
                .actions_in_all
                .filter(|_| rules.actions_a_day.is_none()),
            retired: BTreeSet::new(),
            added: 0,
            allow_empty: false,
        }
    }

    /// After a change; the same where there is nothing to change.
    pub(super) fn changed(&self, change: Change, pick: u64, scenario: &Scenario) -> Self {
        let mut new = self.clone();
        let dice = Dice::new(pick);
        let jobs = scenario.jobs.len() as u64;
        let draw = |low: u64, high: u64, key: &str| low + dice.below(high - low + 1, &[key], 0);
        match change {
            Change::Retire => {
                let index = dice.below(jobs, &["retire"], 0) as usize;
                new.retired
                    .extend(scenario.jobs.get(index).map(|job| job.number));
            }
            Change::AddClause => new.added = (self.added + 1).min(MAX_ADDED),
            Change::ChangeClause => new.allow_empty = !self.allow_empty,
            Change::Queries => new.quota = Some(draw(2, 6 + 2 * jobs, "queries")),
            Change::Actions if self.actions_in_all.is_none() => {
                new.actions_a_day = Some(draw(2, 4 + jobs, "actions"));
            }
            Change::Actions => {}
            Change::ActionsInAll => {
                new.actions_in_all = self.actions_in_all.map(|_| draw(2, 6 + 4 * jobs, "in all"));
            }
        }
        new
    }

    /// With room for everything that a total keeps back.
    pub(super) fn raised(&self) -> Self {
        Self {
            actions_in_all: self.actions_in_all.map(|_| 1_000_000),
            ..self.clone()
        }
    }
}
