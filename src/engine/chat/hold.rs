//! Providers that are not asked for a while: an account without credit, a key that is refused, an outage.

use crate::model::TimeMs;
use std::collections::BTreeMap;

/// Why, and until when, by the provider's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderHolds {
    held: BTreeMap<String, (String, TimeMs)>,
}

impl ProviderHolds {
    /// Asks a provider no more until an instant; returns whether that is news.
    pub fn hold(&mut self, provider: &str, why: &str, until: TimeMs, now: TimeMs) -> bool {
        let known = self
            .held
            .get(provider)
            .is_some_and(|(own, at)| own == why && *at > now);
        self.held
            .insert(provider.to_owned(), (why.to_owned(), until));
        !known
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
