//! Chance from a seed: by key, so that removing one job or one act leaves every other draw as it was.

/// Draws by key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice {
    seed: u64,
}

impl Dice {
    /// Draws of one seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// A number for a key and a count.
    pub(super) fn draw(&self, key: &[&str], count: u64) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325 ^ mix(self.seed);
        for part in key {
            for byte in part.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        mix(hash ^ mix(count))
    }

    /// A number below a bound; 0 when the bound is 0.
    pub(super) fn below(&self, bound: u64, key: &[&str], count: u64) -> u64 {
        self.draw(key, count).checked_rem(bound).unwrap_or(0)
    }

    /// Whether something of this chance in a thousand happens.
    pub(super) fn happens(&self, per_mille: u32, key: &[&str], count: u64) -> bool {
        self.below(1_000, key, count) < u64::from(per_mille)
    }
}

/// Draws in order, for making a scenario.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    state: u64,
}

impl Stream {
    /// From a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: mix(seed ^ 0x5EED),
        }
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Below a bound; 0 when the bound is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Whether something of this chance in a hundred happens.
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub(super) fn one_of<T: Copy>(&mut self, list: &[T], otherwise: T) -> T {
        let index = self.below(list.len() as u64) as usize;
        list.get(index).copied().unwrap_or(otherwise)
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_seed_key_and_count_and_on_nothing_else() {
        let dice = Dice::new(7);
        assert_eq!(dice.draw(&["a", "b"], 1), dice.draw(&["a", "b"], 1));
        assert_ne!(dice.draw(&["a", "b"], 1), dice.draw(&["ab"], 1));
        assert_ne!(dice.draw(&["a", "b"], 1), dice.draw(&["a", "b"], 2));
        assert_ne!(dice.draw(&["a"], 1), Dice::new(8).draw(&["a"], 1));
        let hits = (0..10_000)
            .filter(|n| dice.happens(100, &["x"], *n))
            .count();
        assert!((850..1150).contains(&hits), "{hits}");
    }
}
