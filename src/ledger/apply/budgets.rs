//! Rows about budgets, reservations and handoff packages.

use super::{Applier, json};
use crate::ledger::event::{Entry, Event};
use crate::model::{Amounts, Budget, Seq};
use rusqlite::{OptionalExtension, params};

/// The day of what is counted over the whole goal.
const IN_ALL: &str = "";

/// What one entry changes of one budget's row.
#[derive(Debug, Clone, Copy, Default)]
struct Change {
    reserved: i64,
    spent: i64,
    unsure: i64,
}

impl Applier<'_> {
    pub(super) fn apply_budget(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let goal = entry.goal.as_str();
        match &entry.event {
            Event::CheckStarted { reserved, day, .. } => {
                let held = Amounts::from([(Budget::WarehouseQueries, *reserved)]);
                self.reserve(goal, day, &held)
            }
            Event::CheckFailed { reserved, day, .. } => {
                let held = Amounts::from([(Budget::WarehouseQueries, *reserved)]);
                self.settle(goal, day, &held, &held, true)
            }
            Event::EvidenceRecorded {
                reserved,
                spent,
                day,
                ..
            } => {
                let held = Amounts::from([(Budget::WarehouseQueries, *reserved)]);
                let spent = Amounts::from([(Budget::WarehouseQueries, *spent)]);
                self.settle(goal, day, &held, &spent, true)
            }
            Event::SampleAsked(one) => {
                let held = Amounts::from([(Budget::WarehouseQueries, one.reserved)]);
                let spent = Amounts::from([(Budget::WarehouseQueries, one.spent)]);
                self.settle(goal, &one.day, &held, &spent, true)
            }
            Event::OpIntended { day, .. } if !day.is_empty() => {
                let one = Amounts::from([(Budget::ExternalActions, 1)]);
                self.settle(goal, day, &Amounts::new(), &one, true)
            }
            Event::BudgetReserved { id, amounts, day } => {
                self.conn
                    .prepare_cached(
                        "INSERT OR IGNORE INTO spends(goal, spend, job, amounts, day, reserved_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute(params![
                        goal,
                        id.as_str(),
                        entry.job.as_ref().map_or("", |job| job.as_str()),
                        json(amounts),
                        day,
                        entry.at.0
                    ])?;
                self.reserve(goal, day, amounts)
            }
            Event::BudgetSettled { id, spent, sure } => {
                let open: Option<(String, String)> = self
                    .conn
                    .prepare_cached(
                        "DELETE FROM spends WHERE goal = ?1 AND spend = ?2 RETURNING amounts, day",
                    )?
                    .query_row(params![goal, id.as_str()], |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                    .optional()?;
                let (held, day) = open.unwrap_or_default();
                let held: Amounts = serde_json::from_str(&held).unwrap_or_default();
                self.settle(goal, &day, &held, spent, *sure)
            }
            Event::HandoffWritten {
                why,
                json,
                markdown,
            } => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO handoffs(seq, goal, why, json, markdown, written_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        why,
                        json.as_str(),
                        markdown.as_str(),
                        entry.at.0
                    ])?;
                Ok(())
            }
            Event::ForecastMade { outlook } => {
                self.conn
                    .prepare_cached(
                        "UPDATE goals SET forecast = ?2, forecast_ms = ?3 WHERE goal = ?1",
                    )?
                    .execute(params![goal, outlook.to_string(), entry.at.0])?;
                Ok(())
            }
            Event::WorkStopped { why } => self.set_stopped(goal, Some(why)),
            Event::WorkResumed { .. } | Event::GoalEnded { .. } => self.set_stopped(goal, None),
            _ => Ok(()),
        }
    }

    fn set_stopped(&self, goal: &str, why: Option<&str>) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached("UPDATE goals SET stopped = ?2 WHERE goal = ?1")?
            .execute(params![goal, why])?;
        Ok(())
    }

    fn reserve(&self, goal: &str, day: &str, amounts: &Amounts) -> rusqlite::Result<()> {
        for (budget, amount) in amounts {
            let change = Change {
                reserved: whole(*amount),
                ..Change::default()
            };
            self.change(goal, *budget, day, change)?;
        }
        Ok(())
    }

    fn settle(
        &self,
        goal: &str,
        day: &str,
        held: &Amounts,
        spent: &Amounts,
        sure: bool,
    ) -> rusqlite::Result<()> {
        for budget in Budget::ALL {
            let of = |amounts: &Amounts| whole(amounts.get(budget).copied().unwrap_or(0));
            let spent = of(spent);
            let change = Change {
                reserved: -of(held),
                spent,
                unsure: if sure { 0 } else { spent },
            };
            if held.contains_key(budget) || spent > 0 {
                self.change(goal, *budget, day, change)?;
            }
        }
        Ok(())
    }

    /// A total has one row, a renewing budget one a day, and one that can be both has both.
    fn change(
        &self,
        goal: &str,
        budget: Budget,
        day: &str,
        change: Change,
    ) -> rusqlite::Result<()> {
        let days: &[&str] = match budget {
            Budget::WarehouseQueries => &[day],
            Budget::ExternalActions => &[IN_ALL, day],
            Budget::Tokens | Budget::Money | Budget::WallClock => &[IN_ALL],
        };
        for day in days {
            self.conn
                .prepare_cached(
                    "INSERT INTO budgets(goal, budget, day, reserved, spent, unsure) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (goal, budget, day) DO UPDATE
                     SET reserved = reserved + ?4, spent = spent + ?5, unsure = unsure + ?6",
                )?
                .execute(params![
                    goal,
                    budget.word(),
                    day,
                    change.reserved,
                    change.spent,
                    change.unsure
                ])?;
        }
        Ok(())
    }
}

/// The ledger's integers have one bit less; an amount beyond them is the wall itself.
fn whole(amount: u64) -> i64 {
    // An amount near the end of the range would overflow a sum of two.
    i64::try_from(amount)
        .unwrap_or(i64::MAX / 4)
        .min(i64::MAX / 4)
}
