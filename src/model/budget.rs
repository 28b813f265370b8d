//! Budgets by name, and amounts in whole units, so that nothing is lost to rounding.

use super::state::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

words!(
    /// What a contract can limit.
    Budget {
        /// Tokens of language models, input and output.
        Tokens = "tokens",
        /// Money, in the currency that the contract counts in.
        Money = "money",
        /// Working time since adoption.
        WallClock = "wall_clock",
        /// Side effects asked of the world.
        ExternalActions = "external_actions",
        /// Queries against the warehouse.
        WarehouseQueries = "warehouse_queries",
    }
);

/// The budget of warehouse queries, as contracts and the ledger name it.
pub const WAREHOUSE_QUERIES: &str = Budget::WarehouseQueries.word();

/// Pico-units of one unit of money: prices a token times tokens stay whole numbers.
pub const PICO: u64 = 1_000_000_000_000;

/// Amounts by budget in base units: tokens, pico-units of money, working milliseconds, actions, queries.
///
/// Money up to some nine million units fits the ledger's integers.
pub type Amounts = BTreeMap<Budget, u64>;

impl Budget {
    /// An amount in base units as people write it, with its unit.
    pub fn show(self, amount: u64) -> String {
        match self {
            Self::Money => show_money(amount),
            Self::WallClock => format!("{:.1} working hours", amount as f64 / 3_600_000.0),
            Self::Tokens => format!("{} tokens", thousands(amount)),
            Self::ExternalActions => format!("{} actions", thousands(amount)),
            Self::WarehouseQueries => format!("{} queries", thousands(amount)),
        }
    }
}

/// Money with two decimals, or more while it is less than a hundredth.
fn show_money(pico: u64) -> String {
    let whole = pico / PICO;
    let part = pico % PICO;
    if whole == 0 && part > 0 && part < PICO / 100 {
        let digits = format!("{part:012}");
        return format!("0.{}", digits.trim_end_matches('0'));
    }
    format!("{}.{:02}", thousands(whole), part / (PICO / 100))
}

/// A whole number with separators.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_like_a_person_writes_them() {
        assert_eq!(Budget::Tokens.show(30_000_000), "30,000,000 tokens");
        assert_eq!(Budget::Money.show(1_234_567_890_123_456), "1,234.56");
        assert_eq!(Budget::Money.show(300_000), "0.0000003");
        assert_eq!(Budget::Money.show(0), "0.00");
        assert_eq!(Budget::WallClock.show(5_400_000), "1.5 working hours");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(999), "999");
    }

    #[test]
    fn amounts_are_stored_by_the_budgets_words() {
        let amounts: Amounts = [(Budget::Money, 5), (Budget::Tokens, 7)].into();
        let text = serde_json::to_string(&amounts).unwrap();
        assert_eq!(text, r#"{"tokens":7,"money":5}"#);
        assert_eq!(serde_json::from_str::<Amounts>(&text).unwrap(), amounts);
    }
}
