//! Random decisions without state: a hash of the seed and of a stable key.

use crate::model::canon::digest_parts;

/// Decides by hash. The same seed and key always give the same answer, in any order and process.
#[derive(Debug, Clone, Copy)]
pub struct Chance {
    seed: u64,
}

impl Chance {
    /// Decisions of one seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Whether something of this probability (0 to 1) happens for this key.
    pub fn happens(&self, probability: f64, key: &[&str]) -> bool {
        // 53 bits: what a double holds exactly.
        let fraction = (self.number(key) >> 11) as f64 / (1u64 << 53) as f64;
        fraction < probability
    }

    /// A number from `low` to `high`, both included; `low` when the range is empty.
    pub fn between(&self, low: i64, high: i64, key: &[&str]) -> i64 {
        let width = high.saturating_sub(low);
        if width <= 0 {
            return low;
        }
        let step = self.number(key) % (width.unsigned_abs().saturating_add(1));
        low.saturating_add(i64::try_from(step).unwrap_or(0))
    }

    fn number(&self, key: &[&str]) -> u64 {
        let seed = self.seed.to_string();
        let digest = digest_parts(std::iter::once(seed.as_str()).chain(key.iter().copied()));
        digest
            .0
            .get(..16)
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequency_follows_the_probability() {
        let chance = Chance::new(7);
        let hits = (0..10_000)
            .filter(|n| chance.happens(0.1, &["staging", &n.to_string()]))
            .count();
        assert!((850..1150).contains(&hits), "{hits}");
        assert!(!chance.happens(0.0, &["x"]));
        assert!(chance.happens(1.0, &["x"]));
    }

    #[test]
    fn numbers_stay_in_range_and_depend_on_seed_and_key() {
        let chance = Chance::new(1);
        let draw = |c: Chance| -> Vec<i64> {
            (0..50)
                .map(|n: i32| c.between(3, 12, &[&n.to_string()]))
                .collect()
        };
        assert!(draw(chance).iter().all(|n| (3..=12).contains(n)));
        assert_eq!(draw(chance), draw(Chance::new(1)));
        assert_ne!(draw(chance), draw(Chance::new(2)));
    }
}
