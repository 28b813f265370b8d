//! What went through the proxy, and whether the next call may. Pure.

use crate::contract::Price;
use crate::model::PicoDollars;
use crate::worker::provider::{Reservation, Usage, UsageSource, cost};

/// What one attempt may take; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterLimits {
    /// Calls.
    pub calls: Option<u32>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
    /// Money.
    pub money: Option<PicoDollars>,
}

impl MeterLimits {
    /// The smaller of both for each.
    pub fn stricter(&self, other: &Self) -> Self {
        fn least<T: Ord + Copy>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, None) | (None, one) => one,
            }
        }
        Self {
            calls: least(self.calls, other.calls),
            tokens: least(self.tokens, other.tokens),
            money: least(self.money, other.money),
        }
    }
}

/// What went through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metered {
    /// Calls that were passed on.
    pub calls: u32,
    /// Calls whose counts are not known: they stay booked as reserved.
    pub unknown: u32,
    /// Input tokens that met no cache or were written to one.
    pub input: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Output tokens.
    pub output: u64,
    /// Money; `None` as soon as a model without a price answered.
    pub money: Option<PicoDollars>,
    /// The limit that refused a call, in words.
    pub cut_by: Option<String>,
}

impl Metered {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.output)
    }
}

/// Counts calls against limits. Reservations of calls in progress count as spent.
#[derive(Debug)]
pub(super) struct Meter {
    limits: MeterLimits,
    sum: Metered,
    held_tokens: u64,
    held_money: PicoDollars,
}

impl Meter {
    pub(super) fn new(limits: MeterLimits) -> Self {
        let sum = Metered {
            money: Some(PicoDollars::ZERO),
            ..Metered::default()
        };
        Self {
            limits,
            sum,
            held_tokens: 0,
            held_money: PicoDollars::ZERO,
        }
    }

    /// Sets a call's worst case aside.
    ///
    /// # Errors
    /// The limit that it would cross, in words; then it must not be passed on.
    pub(super) fn reserve(&mut self, call: &Reservation) -> Result<(), String> {
        let tokens = self
            .sum
            .tokens()
            .saturating_add(self.held_tokens)
            .saturating_add(call.tokens());
        let spent = self
            .sum
            .money
            .unwrap_or(PicoDollars::ZERO)
            .plus(self.held_money);
        let crossed = match (self.limits, call.money) {
            (
                MeterLimits {
                    calls: Some(most), ..
                },
                _,
            ) if self.sum.calls >= most => {
                Some(format!("{most} calls were made, the most of one attempt"))
            }
            (
                MeterLimits {
                    tokens: Some(most), ..
                },
                _,
            ) if tokens > most => Some(format!(
                "the next call could cross {most} tokens, the most of one attempt"
            )),
            (MeterLimits { money: Some(_), .. }, None) => {
                Some("its model has no price, and the attempt has a limit in money".to_owned())
            }
            (
                MeterLimits {
                    money: Some(most), ..
                },
                Some(money),
            ) if spent.plus(money) > most => Some(format!(
                "the next call could cross {most}, the most of one attempt"
            )),
            _ => None,
        };
        if let Some(why) = crossed {
            self.sum.cut_by = Some(why.clone());
            return Err(why);
        }
        self.sum.calls += 1;
        self.held_tokens = self.held_tokens.saturating_add(call.tokens());
        self.held_money = self
            .held_money
            .plus(call.money.unwrap_or(PicoDollars::ZERO));
        Ok(())
    }

    /// Replaces what was set aside by what was counted, or keeps it where nothing was.
    pub(super) fn settle(
        &mut self,
        call: &Reservation,
        counted: Option<&Usage>,
        price: Option<&Price>,
    ) {
        self.held_tokens = self.held_tokens.saturating_sub(call.tokens());
        self.held_money = self
            .held_money
            .minus(call.money.unwrap_or(PicoDollars::ZERO));
        let money = match counted.filter(|usage| usage.source == UsageSource::Reported) {
            Some(usage) => {
                let read = usage.cache_read.unwrap_or(0);
                self.sum.input = self.sum.input.saturating_add(usage.input() - read);
                self.sum.cache_read = self.sum.cache_read.saturating_add(read);
                self.sum.output = self.sum.output.saturating_add(usage.output);
                price.map(|price| cost(usage, price))
            }
            None => {
                self.sum.unknown += 1;
                self.sum.input = self.sum.input.saturating_add(call.input);
                self.sum.output = self.sum.output.saturating_add(call.output);
                call.money
            }
        };
        self.sum.money = self.sum.money.zip(money).map(|(sum, one)| sum.plus(one));
    }

    /// A call that the provider refused and did not charge for.
    pub(super) fn release(&mut self, call: &Reservation) {
        self.held_tokens = self.held_tokens.saturating_sub(call.tokens());
        self.held_money = self
            .held_money
            .minus(call.money.unwrap_or(PicoDollars::ZERO));
    }

    /// What went through so far; what is still held counts as spent, and unknown.
    pub(super) fn sum(&self) -> Metered {
        let mut sum = self.sum.clone();
        sum.input = sum.input.saturating_add(self.held_tokens);
        sum.money = sum.money.map(|money| money.plus(self.held_money));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::provider::reserve;

    const PRICE: Price = Price {
        input: 1_000_000,
        output: 5_000_000,
        cache_read: 100_000,
        cache_write: 1_250_000,
        cache_write_1h: 2_000_000,
    };

    fn usage(input: u64, output: u64) -> Usage {
        Usage {
            uncached: input,
            output,
            source: UsageSource::Reported,
            ..Usage::UNKNOWN
        }
    }

    #[test]
    fn a_call_that_could_cross_a_limit_is_refused_and_real_counts_make_room() {
        let call = reserve(2_000, 1_000, false, Some(&PRICE));
        let limits = MeterLimits {
            tokens: Some(5_000),
            ..MeterLimits::default()
        };
        let mut meter = Meter::new(limits);
        assert_eq!(meter.reserve(&call), Ok(()));
        assert_eq!(meter.reserve(&call), Ok(()));
        assert!(meter.reserve(&call).unwrap_err().contains("5000 tokens"));
        meter.settle(&call, Some(&usage(500, 100)), Some(&PRICE));
        assert_eq!(meter.reserve(&call), Ok(()));
        meter.settle(&call, None, Some(&PRICE));
        meter.release(&call);
        let sum = meter.sum();
        assert_eq!((sum.calls, sum.unknown), (3, 1));
        assert_eq!(sum.tokens(), 600 + 2_000);
        let by_hand = 500 * 1_000_000 + 100 * 5_000_000 + 1_000 * 1_250_000 + 1_000 * 5_000_000;
        assert_eq!(sum.money, Some(PicoDollars(by_hand)));
    }

    #[test]
    fn money_and_calls_are_limits_too_and_no_price_means_no_call() {
        let call = reserve(2_000, 1_000, false, Some(&PRICE));
        let limits = MeterLimits {
            calls: Some(1),
            money: Some(PicoDollars::from_dollars(0.01)),
            tokens: None,
        };
        let mut meter = Meter::new(limits);
        let unpriced = reserve(2_000, 1_000, false, None);
        assert!(meter.reserve(&unpriced).unwrap_err().contains("no price"));
        assert_eq!(meter.reserve(&call), Ok(()));
        assert!(meter.reserve(&call).unwrap_err().contains("1 calls"));
        let both = limits.stricter(&MeterLimits {
            calls: Some(9),
            money: None,
            tokens: Some(7),
        });
        assert_eq!(
            (both.calls, both.tokens, both.money),
            (Some(1), Some(7), limits.money)
        );
        let mut small = Meter::new(MeterLimits {
            money: Some(PicoDollars::from_dollars(0.001)),
            ..MeterLimits::default()
        });
        assert!(small.reserve(&call).unwrap_err().contains("could cross"));
    }
}
