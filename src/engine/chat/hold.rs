//! Providers that are not asked for a while: an account without credit, a key that is refused, an outage.

use crate::model::TimeMs;
use std::collections::{BTreeMap, BTreeSet};

/// How long the others wait while one job asks a provider that was held.
const PROBE_MS: i64 = 5 * 60_000;

/// Why, and until when, by the provider's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderHolds {
    held: BTreeMap<String, (String, TimeMs)>,
    /// Providers that are busy: nobody begins a turn before an instant.
    busy: BTreeMap<String, (String, TimeMs)>,
    /// Providers whose cache serves nothing, as was told.
    cold: BTreeSet<String>,
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

    /// It is up and asks for fewer calls: no job begins a turn before an instant. Nothing to tell people.
    pub fn slow_down(&mut self, provider: &str, why: &str, until: TimeMs) {
        let later = self.busy.get(provider).is_none_or(|(_, own)| *own < until);
        if later {
            self.busy
                .insert(provider.to_owned(), (why.to_owned(), until));
        }
    }

    /// Its cache serves nothing; returns whether that is news.
    pub fn cold(&mut self, provider: &str) -> bool {
        self.cold.insert(provider.to_owned())
    }

    /// Its cache serves; returns whether it did not.
    pub fn warm(&mut self, provider: &str) -> bool {
        self.cold.remove(provider)
    }

    /// One job asks a provider that was held: the others wait for what comes of it.
    pub fn probe(&mut self, provider: &str, now: TimeMs) {
        if let Some((_, until)) = self.held.get_mut(provider) {
            *until = now.plus_ms(PROBE_MS);
        }
    }

    /// Whether it is left alone, or one job asks it again.
    pub fn is_held(&self, provider: &str) -> bool {
        self.held.contains_key(provider)
    }

    /// It answered: ask it again. Returns whether it was held.
    pub fn release(&mut self, provider: &str) -> bool {
        self.busy.remove(provider);
        self.held.remove(provider).is_some()
    }

    /// All that are held now.
    pub fn view(&self, now: TimeMs) -> BTreeMap<String, (String, TimeMs)> {
        self.busy
            .iter()
            .chain(&self.held)
            .filter(|(_, (_, until))| *until > now)
            .map(|(name, hold)| (name.clone(), hold.clone()))
            .collect()
    }
}
