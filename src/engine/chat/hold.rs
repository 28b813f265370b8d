//! Providers that are not asked for a while: an account without credit, a key that is refused, an outage.

use super::pace::Pace;
use crate::model::{JobId, TimeMs};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    paces: BTreeMap<String, Pace>,
    /// Jobs that wait for another's turn to end, by provider.
    queues: BTreeMap<String, VecDeque<JobId>>,
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

    /// It is up and asked this job for fewer calls: no job begins a turn before an instant, and fewer are on
    /// their way at once from then on. Nothing to tell people.
    pub fn slow_down(
        &mut self,
        provider: &str,
        job: &JobId,
        why: &str,
        now: TimeMs,
        until: TimeMs,
    ) {
        self.pace(provider).narrow(job, now);
        let later = self.busy.get(provider).is_none_or(|(_, own)| *own < until);
        if later {
            self.busy
                .insert(provider.to_owned(), (why.to_owned(), until));
        }
    }

    fn pace(&mut self, provider: &str) -> &mut Pace {
        self.paces.entry(provider.to_owned()).or_default()
    }

    /// A job's turn begins.
    pub fn begin(&mut self, provider: &str, job: &JobId, again: bool, now: TimeMs) {
        self.pace(provider).begin(job, again, now);
    }

    /// A job waits until another's turn has ended.
    pub fn queue(&mut self, provider: &str, job: &JobId) {
        let queue = self.queues.entry(provider.to_owned()).or_default();
        if !queue.contains(job) {
            queue.push_back(job.clone());
        }
    }

    /// A job's turn has ended; returns who waited longest for its place.
    pub fn end(&mut self, provider: &str, job: &JobId, answered: bool) -> Vec<JobId> {
        let pace = self.pace(provider);
        if answered {
            pace.widen();
        }
        let free = pace.end(job);
        let Some(queue) = self.queues.get_mut(provider) else {
            return Vec::new();
        };
        queue.drain(..free.min(queue.len())).collect()
    }

    /// Nobody waits for a job's answer any more.
    pub fn forget(&mut self, job: &JobId) {
        for pace in self.paces.values_mut() {
            pace.end(job);
        }
    }

    /// Providers whose failed turns are not repeated for a while.
    pub fn storms(&self, now: TimeMs) -> BTreeMap<String, (String, TimeMs)> {
        let storm = |(name, pace): (&String, &Pace)| Some((name.clone(), pace.storm(now)?));
        self.paces.iter().filter_map(storm).collect()
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
        let full = |(name, pace): (&String, &Pace)| Some((name.clone(), pace.full(now)?));
        let named = self
            .busy
            .iter()
            .chain(&self.held)
            .filter(|(_, (_, until))| *until > now)
            .map(|(name, hold)| (name.clone(), hold.clone()));
        self.paces.iter().filter_map(full).chain(named).collect()
    }
}
