//! What a turn costs, and what must be reserved before it is asked for.

use super::reply::Usage;
use crate::contract::Price;
use crate::model::PicoDollars;
use serde::{Deserialize, Serialize};

/// Bytes of JSON that are taken for one token before a provider has counted: code and JSON are dense, and an
/// estimate that is too low lets a call cross a wall.
const BYTES_PER_TOKEN: u64 = 2;

/// What one turn may take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Input tokens, estimated from the bytes.
    pub input: u64,
    /// Output tokens: the ceiling.
    pub output: u64,
    /// Money for all of it; `None` when the model has no price.
    pub money: Option<PicoDollars>,
    /// Money for the input alone: what stays booked when a turn fails and may have been billed.
    pub input_money: Option<PicoDollars>,
}

impl Reservation {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// The reservation for a body of so many bytes. All input is taken as a cache write, the dearest case.
pub fn reserve(
    body_bytes: usize,
    max_output_tokens: u32,
    one_hour: bool,
    price: Option<&Price>,
) -> Reservation {
    let input = (body_bytes as u64).div_ceil(BYTES_PER_TOKEN);
    let output = u64::from(max_output_tokens);
    let input_money = price.map(|price| {
        let write = if one_hour {
            price.cache_write_1h
        } else {
            price.cache_write
        };
        PicoDollars::of_tokens(input, write.max(price.input))
    });
    let money = price
        .zip(input_money)
        .map(|(price, money)| money.plus(PicoDollars::of_tokens(output, price.output)));
    Reservation {
        input,
        output,
        money,
        input_money,
    }
}

/// What a turn cost.
pub fn cost(usage: &Usage, price: &Price) -> PicoDollars {
    [
        (usage.uncached, price.input),
        (usage.cache_write, price.cache_write),
        (usage.cache_write_1h, price.cache_write_1h),
        (usage.cache_read.unwrap_or(0), price.cache_read),
        (usage.output, price.output),
    ]
    .into_iter()
    .fold(PicoDollars::ZERO, |sum, (tokens, each)| {
        sum.plus(PicoDollars::of_tokens(tokens, each))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::provider::UsageSource;

    const PRICE: Price = Price {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: 150_000,
        cache_write: 3_750_000,
        cache_write_1h: 6_000_000,
    };

    #[test]
    fn a_turn_costs_each_kind_of_token_at_its_own_price() {
        let usage = Usage {
            uncached: 7,
            cache_write: 310,
            cache_write_1h: 10,
            cache_read: Some(2_000),
            output: 41,
            reasoning: 12,
            source: UsageSource::Reported,
        };
        let by_hand =
            7 * 3_000_000 + 310 * 3_750_000 + 10 * 6_000_000 + 2_000 * 150_000 + 41 * 15_000_000;
        assert_eq!(cost(&usage, &PRICE), PicoDollars(by_hand));
        assert_eq!((usage.input(), usage.total()), (2_327, 2_368));
    }

    #[test]
    fn a_reservation_is_above_what_any_cache_outcome_costs() {
        let reserved = reserve(9_001, 2_048, false, Some(&PRICE));
        assert_eq!((reserved.input, reserved.output), (4_501, 2_048));
        let dearest = 4_501 * 3_750_000 + 2_048 * 15_000_000;
        assert_eq!(reserved.money, Some(PicoDollars(dearest)));
        let hour = reserve(9_001, 2_048, true, Some(&PRICE));
        assert!(hour.money > reserved.money);
        assert_eq!(reserve(9_001, 2_048, false, None).money, None);
    }
}
