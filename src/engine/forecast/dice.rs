//! Seeded chance (SplitMix64), so that the same state gives the same forecast.

#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of a list; the default of an empty one.
    pub(super) fn pick<T: Copy + Default>(&mut self, all: &[T]) -> T {
        let at = (self.next() >> 11) as usize % all.len().max(1);
        all.get(at).copied().unwrap_or_default()
    }
}
