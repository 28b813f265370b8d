//! Budgets are walls: reserved before they are spent, settled afterwards, never crossed.
//!
//! Pure: what was spent comes from the ledger, time is a parameter. The engine asks on its one thread, so
//! that jobs side by side cannot reserve the same rest twice.

use super::decide::Waiting;
use super::surroundings::QuotaView;
use crate::contract::Contract;
use crate::contract::workdays::{day_name, next_midnight};
use crate::ledger::read::{BudgetUse, OpenSpend};
use crate::model::{Amounts, Budget, JobId, SpendId, TimeMs, WaitKind, Wake};
use std::collections::BTreeMap;

/// How long the owner may take before a wait for a budget counts as stalled.
const OWNER_OVERDUE_MS: i64 = 24 * 3_600_000;

/// The day of an instant in a zone as `YYYY-MM-DD`, and when the next one begins.
pub fn day_of(zone: &str, now: TimeMs) -> (String, TimeMs) {
    (day_name(zone, now), next_midnight(zone, now))
}

/// Why something is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The budget whose wall it would cross.
    pub budget: Budget,
    /// The wall, in base units.
    pub limit: u64,
    /// Neither spent nor reserved.
    pub left: u64,
    /// What was asked for.
    pub need: u64,
    /// When it renews; `None` for a total.
    pub renews_at: Option<TimeMs>,
}

impl Refused {
    /// One sentence.
    pub fn why(&self) -> String {
        let (need, left, limit) = (
            self.budget.show(self.need),
            self.budget.show(self.left),
            self.budget.show(self.limit),
        );
        match self.renews_at {
            Some(_) => format!(
                "budget {}: {need} would be needed, {left} of {limit} are left today",
                self.budget
            ),
            // What is left moves with every answer; a wait whose words move would be written anew each time.
            None => format!(
                "budget {}: {need} more would cross the wall of {limit}",
                self.budget
            ),
        }
    }

    /// Whether no renewal will ever make room: the limit itself is smaller than the need.
    pub fn is_hopeless(&self) -> bool {
        self.renews_at.is_some() && self.need > self.limit
    }

    /// The wait that follows: for the renewal, or for the owner.
    pub fn waiting(&self, now: TimeMs) -> Waiting {
        match self.renews_at {
            Some(at) => Waiting {
                kind: WaitKind::Quota,
                reason: self.why(),
                wakes: vec![Wake::QuotaReset {
                    budget: self.budget.word().to_owned(),
                    at,
                }],
                next_check: at,
                overdue: at.max(now).plus_ms(OWNER_OVERDUE_MS),
            },
            None => wait_for_owner(self.why(), now),
        }
    }
}

/// Waits until the owner raises a limit.
pub fn wait_for_owner(reason: String, now: TimeMs) -> Waiting {
    Waiting {
        kind: WaitKind::Budget,
        reason,
        wakes: vec![Wake::Event {
            name: RAISED.to_owned(),
        }],
        next_check: now.plus_ms(OWNER_OVERDUE_MS),
        overdue: now.plus_ms(OWNER_OVERDUE_MS),
    }
}

/// The event that ends a wait for a budget.
pub const RAISED: &str = "budget.raised";

/// A total that has reached the share at which work is handed off, or its wall.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    /// The budget.
    pub budget: Budget,
    /// Its wall, in base units.
    pub limit: u64,
    /// Percent of the limit at which work is handed off.
    pub percent: u8,
    /// Whether nothing is left at all.
    pub at_wall: bool,
}

impl Reached {
    /// One sentence without moving numbers, so that the same state reads the same.
    pub fn sentence(&self) -> String {
        let limit = self.budget.show(self.limit);
        if self.at_wall {
            format!("{}: all of {limit} is used", self.budget)
        } else {
            format!("{}: {} % of {limit} is used", self.budget, self.percent)
        }
    }
}

/// What `decide` may know of the walls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WallsView {
    /// Why no new attempt starts; what goes on may end.
    pub draining: Option<String>,
    /// Why nothing starts at all: the working time is over.
    pub shut: Option<String>,
    /// Why no side effect starts now.
    pub no_action: Option<Refused>,
}

/// What is used of one budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Used {
    reserved: u64,
    spent: u64,
}

impl Used {
    fn all(self) -> u64 {
        self.reserved.saturating_add(self.spent)
    }

    fn settle(&mut self, reserved: u64, spent: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.spent = self.spent.saturating_add(spent);
    }
}

/// All budgets of one goal.
#[derive(Debug, Clone)]
pub struct Walls {
    /// Since when working time counts.
    since: TimeMs,
    zone: String,
    percent: u8,
    /// Walls of totals, and where work is handed off before them.
    totals: BTreeMap<Budget, (u64, u64)>,
    days: BTreeMap<Budget, u64>,
    handoff_time: Option<TimeMs>,
    end_of_time: Option<TimeMs>,
    used: BTreeMap<Budget, Used>,
    day: String,
    renews_at: TimeMs,
    today: BTreeMap<Budget, Used>,
    open: BTreeMap<SpendId, OpenSpend>,
}

impl Walls {
    /// From the contract and what the ledger says was used. `since`: when the goal was adopted.
    pub fn new(
        contract: &Contract,
        since: TimeMs,
        uses: &[BudgetUse],
        open: Vec<OpenSpend>,
        now: TimeMs,
    ) -> Self {
        let (day, renews_at) = day_of(&contract.workdays.zone, now);
        let mut walls = Self {
            since,
            zone: contract.workdays.zone.clone(),
            percent: contract.budgets.handoff_at_percent,
            totals: BTreeMap::new(),
            days: BTreeMap::new(),
            handoff_time: None,
            end_of_time: None,
            used: BTreeMap::new(),
            day,
            renews_at,
            today: BTreeMap::new(),
            open: open.into_iter().map(|one| (one.id.clone(), one)).collect(),
        };
        for one in uses {
            let used = Used {
                reserved: one.reserved,
                spent: one.spent,
            };
            if one.day.is_empty() {
                walls.used.insert(one.budget, used);
            } else if one.day == walls.day {
                walls.today.insert(one.budget, used);
            }
        }
        walls.set_contract(contract, now);
        walls
    }

    /// Puts a new contract version in force. What was used stays used: a wall below it stops at once.
    pub fn set_contract(&mut self, contract: &Contract, now: TimeMs) {
        self.percent = contract.budgets.handoff_at_percent;
        self.totals = Budget::ALL
            .iter()
            .filter_map(|budget| Some((*budget, contract.wall(*budget)?)))
            .map(|(budget, wall)| (budget, (contract.handoff_at(wall), wall)))
            .collect();
        self.days = Budget::ALL
            .iter()
            .filter_map(|budget| Some((*budget, contract.budgets.a_day(*budget)?)))
            .collect();
        let time = self.totals.get(&Budget::WallClock).copied();
        let end = |ms| contract.working_end(self.since, ms);
        (self.handoff_time, self.end_of_time) = match time {
            Some((handoff, wall)) => (Some(end(handoff)), Some(end(wall))),
            None => (None, None),
        };
        if self.zone != contract.workdays.zone {
            // What was used today stays used: another zone's midnight renews, the amendment does not.
            self.zone.clone_from(&contract.workdays.zone);
            (self.day, self.renews_at) = day_of(&self.zone, now);
        }
    }

    /// Begins a new day when the old one is over.
    pub fn roll(&mut self, now: TimeMs) {
        // A clock that goes back does not renew anything.
        if now >= self.renews_at {
            (self.day, self.renews_at) = day_of(&self.zone, now);
            self.today.clear();
        }
    }

    /// The day that is counted now, `YYYY-MM-DD` in the goal's zone.
    pub fn day(&self) -> &str {
        &self.day
    }

    /// What is left of the day's queries; `None` when the contract sets no limit.
    pub fn queries(&self) -> Option<QuotaView> {
        let limit = self.days.get(&Budget::WarehouseQueries).copied()?;
        Some(QuotaView {
            limit,
            left: limit.saturating_sub(self.used_today(Budget::WarehouseQueries)),
            renews_at: self.renews_at,
        })
    }

    fn used_today(&self, budget: Budget) -> u64 {
        self.today.get(&budget).copied().unwrap_or_default().all()
    }

    fn used_in_all(&self, budget: Budget) -> u64 {
        self.used.get(&budget).copied().unwrap_or_default().all()
    }

    /// Whether there is room for amounts.
    ///
    /// # Errors
    /// The first wall that they would cross; totals come before days, because only a person moves them.
    pub fn room_for(&self, amounts: &Amounts) -> Result<(), Refused> {
        for (budget, need) in amounts {
            if let Some((_, limit)) = self.totals.get(budget) {
                refuse(*budget, *need, *limit, self.used_in_all(*budget), None)?;
            }
        }
        for (budget, need) in amounts {
            if let Some(limit) = self.days.get(budget) {
                let used = self.used_today(*budget);
                refuse(*budget, *need, *limit, used, Some(self.renews_at))?;
            }
        }
        Ok(())
    }

    /// Reserves under a name; the caller has asked for room and writes the entry.
    pub fn reserve(&mut self, job: &JobId, id: &SpendId, amounts: &Amounts) {
        self.add_reserved(amounts);
        self.open.insert(
            id.clone(),
            OpenSpend {
                id: id.clone(),
                job: job.clone(),
                amounts: amounts.clone(),
                day: self.day.clone(),
            },
        );
    }

    /// Reserves what an entry of its own carries, such as a check's queries.
    pub fn add_reserved(&mut self, amounts: &Amounts) {
        for (budget, amount) in amounts {
            for used in [&mut self.used, &mut self.today] {
                let one = used.entry(*budget).or_default();
                one.reserved = one.reserved.saturating_add(*amount);
            }
        }
    }

    /// Spends at once: an intent that counts whether or not an answer comes.
    pub fn add_spent(&mut self, amounts: &Amounts) {
        self.move_use(&Amounts::new(), amounts, &self.day.clone());
    }

    /// Ends a reservation; `None` when it is not open.
    pub fn settle(&mut self, id: &SpendId, spent: &Amounts) -> Option<OpenSpend> {
        let open = self.open.remove(id)?;
        self.move_use(&open.amounts, spent, &open.day);
        Some(open)
    }

    /// Replaces what was reserved for a day by what was spent.
    pub fn move_use(&mut self, reserved: &Amounts, spent: &Amounts, day: &str) {
        for budget in Budget::ALL {
            let gone = reserved.get(budget).copied().unwrap_or(0);
            let come = spent.get(budget).copied().unwrap_or(0);
            if gone == 0 && come == 0 {
                continue;
            }
            self.used.entry(*budget).or_default().settle(gone, come);
            if day == self.day {
                self.today.entry(*budget).or_default().settle(gone, come);
            }
        }
    }

    /// Reservations without an end.
    pub fn open(&self) -> impl Iterator<Item = &OpenSpend> {
        self.open.values()
    }

    /// Whether a name is reserved now.
    pub fn is_open(&self, id: &SpendId) -> bool {
        self.open.contains_key(id)
    }

    /// Totals at or past the share at which work is handed off.
    pub fn reached(&self, now: TimeMs) -> Vec<Reached> {
        self.totals
            .iter()
            .filter_map(|(budget, (handoff, limit))| {
                let (at_handoff, at_wall) = match budget {
                    Budget::WallClock => (
                        self.handoff_time.is_some_and(|at| now >= at),
                        self.end_of_time.is_some_and(|at| now >= at),
                    ),
                    _ => {
                        // By what is spent: a reservation that is given back must not undo a handoff.
                        let spent = self.used.get(budget).copied().unwrap_or_default().spent;
                        (spent >= *handoff, spent >= *limit)
                    }
                };
                at_handoff.then_some(Reached {
                    budget: *budget,
                    limit: *limit,
                    percent: self.percent,
                    at_wall,
                })
            })
            .collect()
    }

    /// When working time reaches its handoff and its end, if it is limited.
    pub fn time(&self) -> Option<(TimeMs, TimeMs)> {
        self.handoff_time.zip(self.end_of_time)
    }

    /// What `decide` may know.
    pub fn view(&self, now: TimeMs) -> WallsView {
        let reached = self.reached(now);
        let shut = reached
            .iter()
            .find(|one| one.budget == Budget::WallClock && one.at_wall)
            .map(Reached::sentence);
        let one_action = Amounts::from([(Budget::ExternalActions, 1)]);
        WallsView {
            draining: (!reached.is_empty()).then(|| {
                let all: Vec<String> = reached.iter().map(Reached::sentence).collect();
                all.join("; ")
            }),
            shut,
            no_action: self.room_for(&one_action).err(),
        }
    }

    /// The next instant at which time alone changes something.
    pub fn next_change(&self, now: TimeMs) -> Option<TimeMs> {
        [self.handoff_time, self.end_of_time]
            .into_iter()
            .flatten()
            .filter(|at| *at > now)
            .min()
    }
}

fn refuse(
    budget: Budget,
    need: u64,
    limit: u64,
    used: u64,
    renews_at: Option<TimeMs>,
) -> Result<(), Refused> {
    let left = limit.saturating_sub(used);
    if need <= left {
        return Ok(());
    }
    Err(Refused {
        budget,
        limit,
        left,
        need,
        renews_at,
    })
}

#[cfg(test)]
#[path = "walls_tests.rs"]
mod tests;
