//! A contract's budgets in base units.

use super::types::{Budgets, Contract};
use super::workdays::{add_working_ms, day_length_ms};
use crate::model::{Budget, TimeMs, budget::PICO};

impl Budgets {
    /// The day's limit of a renewing budget.
    pub fn a_day(&self, budget: Budget) -> Option<u64> {
        self.per_day.get(budget.word()).map(|one| one.limit)
    }
}

impl Contract {
    /// The wall of a total in base units; `None` when the contract sets none.
    pub fn wall(&self, budget: Budget) -> Option<u64> {
        let limit = self.budgets.total.get(budget.word())?.limit;
        let unit = match budget {
            Budget::Money => PICO as f64,
            Budget::WallClock => day_length_ms(&self.workdays) as f64,
            Budget::Tokens | Budget::ExternalActions | Budget::WarehouseQueries => 1.0,
        };
        // Limits were bounded when the file was read; a float that is none gives 0, which stops everything.
        Some((limit * unit).round() as u64)
    }

    /// Where work is handed off before a wall, in base units.
    pub fn handoff_at(&self, wall: u64) -> u64 {
        let percent = u128::from(self.budgets.handoff_at_percent);
        (u128::from(wall) * percent / 100) as u64
    }

    /// The instant at which so much working time has passed since another one.
    pub fn working_end(&self, since: TimeMs, working_ms: u64) -> TimeMs {
        let ms = i64::try_from(working_ms).unwrap_or(i64::MAX);
        add_working_ms(&self.workdays, since, ms)
    }
}
