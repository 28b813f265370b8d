//! Money as whole pico-dollars, so that no cached token is rounded away.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Pico-dollars in a dollar.
const PER_DOLLAR: i64 = 1_000_000_000_000;

/// Millionths of a millionth of a dollar. One token at 3 dollars a million tokens is 3,000,000 of them; the
/// type reaches to 9.2 million dollars and saturates there.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PicoDollars(pub i64);

impl PicoDollars {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `tokens` at a price in pico-dollars a token, saturating.
    pub fn of_tokens(tokens: u64, each: u64) -> Self {
        let product = u128::from(tokens) * u128::from(each);
        Self(i64::try_from(product).unwrap_or(i64::MAX))
    }

    /// Whole dollars and a fraction, rounded to the nearest pico-dollar; what is not finite or negative is
    /// nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        if dollars.is_nan() || dollars <= 0.0 {
            return Self::ZERO;
        }
        // `as` saturates.
        Self((dollars * PER_DOLLAR as f64).round() as i64)
    }

    /// For arithmetic that may be inexact: forecasts, bars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PER_DOLLAR as f64
    }

    /// The sum, saturating.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, saturating.
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for PicoDollars {
    /// Dollars: cents from a dollar on, below that as many digits as say something, at most six.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        let text = if dollars.abs() >= 1.0 || self.0 == 0 {
            format!("${dollars:.2}")
        } else if dollars.abs() >= 0.01 {
            format!("${dollars:.4}")
        } else {
            format!("${dollars:.6}")
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_times_price_is_exact_and_saturates() {
        assert_eq!(PicoDollars::of_tokens(1, 75_000), PicoDollars(75_000));
        assert_eq!(
            PicoDollars::of_tokens(1_000_000, 3_000_000),
            PicoDollars::from_dollars(3.0)
        );
        assert_eq!(PicoDollars::of_tokens(u64::MAX, 2).0, i64::MAX);
        assert_eq!(PicoDollars::from_dollars(f64::NAN), PicoDollars::ZERO);
        assert_eq!(PicoDollars::from_dollars(-1.0), PicoDollars::ZERO);
    }

    #[test]
    fn small_amounts_show_what_they_are() {
        for (dollars, text) in [
            (0.0, "$0.00"),
            (12.345, "$12.35"),
            (0.0213, "$0.0213"),
            (0.000_051, "$0.000051"),
        ] {
            assert_eq!(PicoDollars::from_dollars(dollars).to_string(), text);
        }
    }
}
