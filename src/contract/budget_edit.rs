//! One limit of a goal file's text, changed in place: everything else stays as it was written.

use super::parse::parse_workday_count;
use super::types::Workdays;
use super::workdays::day_length_ms;
use crate::model::{Budget, budget::PICO};
use toml_edit::{DocumentMut, Item, Table, value};

/// A limit as a person writes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// A whole number of base units.
    Whole(u64),
    /// Money.
    Money(f64),
    /// Working days.
    Workdays(f64),
}

impl Limit {
    /// Reads a limit of a budget.
    ///
    /// # Errors
    /// One sentence that says what was expected.
    pub fn parse(budget: Budget, text: &str) -> Result<Self, String> {
        let plain = text.trim().replace(['_', ','], "");
        let shown: String = text.chars().take(60).collect();
        match budget {
            Budget::WallClock => parse_workday_count(text).map(Self::Workdays),
            Budget::Money => plain
                .parse::<f64>()
                .ok()
                .filter(|amount| *amount > 0.0 && *amount <= 9e6)
                .map(Self::Money)
                .ok_or_else(|| {
                    format!("\"{shown}\" is no amount of money above 0 and at most 9000000")
                }),
            Budget::Tokens | Budget::ExternalActions | Budget::WarehouseQueries => plain
                .parse::<u64>()
                .ok()
                .filter(|amount| (1..=1_000_000_000_000_000).contains(amount))
                .map(Self::Whole)
                .ok_or_else(|| format!("\"{shown}\" is no whole number from 1 to 10^15")),
        }
    }

    /// In base units, by a contract's working hours.
    pub fn units(&self, workdays: &Workdays) -> Option<u64> {
        Some(match self {
            Self::Whole(amount) => *amount,
            Self::Money(amount) => (amount * PICO as f64).round() as u64,
            Self::Workdays(days) => (days * day_length_ms(workdays) as f64).round() as u64,
        })
    }

    fn item(&self) -> Item {
        match self {
            Self::Whole(amount) => value(i64::try_from(*amount).unwrap_or(i64::MAX)),
            Self::Money(amount) => value(*amount),
            Self::Workdays(days) => value(format!("{days} workdays")),
        }
    }
}

/// The text with another limit.
///
/// # Errors
/// When the text is no goal file, or has the budget as the other kind.
pub fn with_limit(
    text: &str,
    budget: Budget,
    limit: &Limit,
    per_day: bool,
) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())?;
    let wrong = || "the goal file's [budget] is no table".to_owned();
    let budgets = document
        .entry("budget")
        .or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        })
        .as_table_like_mut()
        .ok_or_else(wrong)?;
    let own = budgets
        .entry(budget.word())
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or_else(wrong)?;
    let is_daily = own.get("per").is_some();
    if own.get("limit").is_some() && is_daily != per_day {
        return Err(format!(
            "the contract limits {budget} {}, not {}",
            if is_daily { "by day" } else { "in all" },
            if per_day { "by day" } else { "in all" },
        ));
    }
    let mut item = limit.item();
    // A comment behind the old limit stays.
    if let (Some(old), Some(new)) = (
        own.get("limit").and_then(Item::as_value),
        item.as_value_mut(),
    ) {
        *new.decor_mut() = old.decor().clone();
    }
    own.insert("limit", item);
    if per_day && !is_daily {
        own.insert("per", value("day"));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_limit_changes() {
        let text = "# mine\n[budget.tokens]\nlimit = 1_000 # little\n\n[goal] # g\nid = \"x\"\n";
        let limit = Limit::parse(Budget::Tokens, "2,000").unwrap();
        let new = with_limit(text, Budget::Tokens, &limit, false).unwrap();
        assert_eq!(new, text.replace("1_000", "2000"));
        let new = with_limit(
            "[goal]\nid = \"x\"\n",
            Budget::Money,
            &Limit::Money(250.5),
            false,
        )
        .unwrap();
        assert_eq!(new, "[goal]\nid = \"x\"\n\n[budget.money]\nlimit = 250.5\n");
    }

    #[test]
    fn a_limit_is_read_by_its_budget() {
        assert_eq!(
            Limit::parse(Budget::WallClock, "8 workdays"),
            Ok(Limit::Workdays(8.0))
        );
        assert_eq!(
            Limit::parse(Budget::Money, "1_000.5"),
            Ok(Limit::Money(1_000.5))
        );
        for (budget, text) in [
            (Budget::Tokens, "-1"),
            (Budget::Tokens, "1.5"),
            (Budget::Tokens, ""),
            (Budget::Money, "nan"),
            (Budget::Money, "1e99"),
            (Budget::WallClock, "8"),
            (Budget::WarehouseQueries, "0"),
        ] {
            assert!(Limit::parse(budget, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_total_is_not_made_a_daily_one() {
        let text = "[budget.external_actions]\nlimit = 5\nper = \"day\"\n";
        let limit = Limit::Whole(9);
        assert!(
            with_limit(text, Budget::ExternalActions, &limit, false)
                .unwrap_err()
                .contains("by day")
        );
        assert!(with_limit(text, Budget::ExternalActions, &limit, true).is_ok());
    }
}
