//! Providers that are not asked for a while: an account without credit, a key that is refused, an outage.

use crate::model::TimeMs;
use std::collections::BTreeMap;

/// How long the others wait while one job asks a provider that was held.
const PROBE_MS: i64 = 5 * 60_000;

/// Why, and until when, by the provider's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderHolds {
    held: BTreeMap<String, (String, TimeMs)>,
}

impl ProviderHolds {
    /// Asks a provider no more until an instant; returns whether that is news. It stays known until the
    /// provider answers, however often the same is seen again meanwhile.
    pub fn hold(&mut self, provider: &str, why: &str, until: TimeMs) -> bool {
        let known = self.held.get(provider).is_some_and(|(own, _)| own == why);
        self.held
            .insert(provider.to_owned(), (why.to_owned(), until));
        !known
    }

    /// One job asks a provider that was held: the others wait for what comes of it.
    pub fn probe(&mut self, provider: &str, now: TimeMs) {
        if let Some((_, until)) = self.held.get_mut(provider) {
            *until = now.plus_ms(PROBE_MS);
        }
    }

    /// It answered: ask it again. Returns whether it was held.
    pub fn release(&mut self, provider: &str) -> bool {
        self.held.remove(provider).is_some()
    }

    /// All that are held now.
    pub fn view(&self, now: TimeMs) -> BTreeMap<String, (String, TimeMs)> {
        self.held
            .iter()
            .filter(|(_, (_, until))| *until > now)
            .map(|(name, hold)| (name.clone(), hold.clone()))
            .collect()
    }
}
