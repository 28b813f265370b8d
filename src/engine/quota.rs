//! The day's queries: reserved before they are spent, renewed at local midnight.

use super::surroundings::QuotaView;
use crate::contract::workdays::{day_name, next_midnight};
use crate::ledger::read::BudgetDay;
use crate::model::TimeMs;

/// Name of the one renewing budget that the engine meters itself.
pub const QUERIES: &str = "warehouse_queries";

/// The day of an instant in a zone as `YYYY-MM-DD`, and when the next one begins.
pub fn day_of(zone: &str, now: TimeMs) -> (String, TimeMs) {
    (day_name(zone, now), next_midnight(zone, now))
}

/// The state of the current day.
#[derive(Debug, Clone)]
pub struct Quota {
    limit: u64,
    zone: String,
    day: String,
    renews_at: TimeMs,
    used: u64,
}

impl Quota {
    /// From the contract's limit and what the ledger says of the days.
    pub fn new(limit: u64, zone: &str, days: &[BudgetDay], now: TimeMs) -> Self {
        let (day, renews_at) = day_of(zone, now);
        let used = days
            .iter()
            .filter(|one| one.budget == QUERIES && one.day == day)
            .map(|one| one.reserved + one.spent)
            .sum();
        Self {
            limit,
            zone: zone.to_owned(),
            day,
            renews_at,
            used,
        }
    }

    /// Begins a new day when the old one is over.
    pub fn roll(&mut self, now: TimeMs) {
        // A clock that goes back does not renew anything.
        if now >= self.renews_at {
            (self.day, self.renews_at) = day_of(&self.zone, now);
            self.used = 0;
        }
    }

    /// What is left.
    pub fn view(&self) -> QuotaView {
        QuotaView {
            limit: self.limit,
            left: self.limit.saturating_sub(self.used),
            renews_at: self.renews_at,
        }
    }

    /// Reserves queries and says for which day.
    pub fn reserve(&mut self, queries: u64) -> String {
        self.used += queries;
        self.day.clone()
    }

    /// Gives back what was reserved for a day and not spent.
    pub fn give_back(&mut self, queries: u64, day: &str) {
        if day == self.day {
            self.used = self.used.saturating_sub(queries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_local_midnight_also_when_the_clock_changes() {
        // 2024-03-31 has 23 hours in Berlin: 22:30 UTC is 00:30 on the 1st of April.
        let at = |text: &str| TimeMs::from_timestamp(text.parse().unwrap());
        let (day, next) = day_of("Europe/Berlin", at("2024-03-30T23:30:00Z"));
        assert_eq!(
            (day.as_str(), next),
            ("2024-03-31", at("2024-03-31T22:00:00Z"))
        );
        assert_eq!(
            day_of("Europe/Berlin", at("2024-03-31T22:30:00Z")).0,
            "2024-04-01"
        );
    }

    #[test]
    fn what_is_reserved_cannot_be_reserved_twice_and_renews_at_midnight() {
        let start = TimeMs::from_timestamp("2024-04-01T08:00:00Z".parse().unwrap());
        let mut quota = Quota::new(10, "UTC", &[], start);
        let day = quota.reserve(6);
        assert_eq!(quota.view().left, 4);
        quota.give_back(2, &day);
        assert_eq!(quota.view().left, 6);
        quota.roll(quota.view().renews_at);
        assert_eq!(quota.view().left, 10);
        quota.give_back(4, &day);
        assert_eq!(quota.view().left, 10);
    }
}
