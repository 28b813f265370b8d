//! Settings of the practice world: the goal file's `[world.practice]` table.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Most jobs that a practice world may have.
pub const MAX_JOBS: usize = 20_000;

/// Where a practice world lies and how it behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct PracticeSettings {
    /// The world's file.
    pub path: PathBuf,
    /// Seed of every random decision.
    pub seed: u64,
    /// Jobs, 1 to [`MAX_JOBS`].
    pub jobs: usize,
    /// What goes wrong, and how often.
    pub faults: Faults,
    /// Whether the source lists only jobs that write a table and that nothing holds.
    pub tables_only: bool,
    /// How many jobs the source lists at most; the first of them.
    pub first: Option<usize>,
    /// Schedulers whose jobs the source does not list, by their words.
    pub without: Vec<String>,
}

/// What goes wrong, and how often. Probabilities are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// A staging run fails for no reason of its own; independent for each operation id.
    pub staging_failure: f64,
    /// The effect happened, its reply is lost.
    pub lost_reply_after_write: f64,
    /// The request was lost on its way: nothing happened, and nobody knows.
    pub lost_reply_before_write: f64,
    /// The target refuses for now and says when to come back.
    pub rate_limit: f64,
    /// Look-ups by id that find nothing after an effect, though it is there.
    pub hidden_lookups: u32,
    /// Outage windows: milliseconds from the start of the virtual week, start and end.
    pub outages: Vec<(i64, i64)>,
    /// A call hangs: the reply comes after [`HANG_MS`] virtual milliseconds and says nothing.
    pub hang: f64,
    /// Whether the target keeps one effect per operation id. Off: an id sent again is a second effect.
    pub dedup: bool,
}

/// How long a hanging call takes, in virtual milliseconds.
pub const HANG_MS: i64 = 15 * 60 * 1000;

impl Default for Faults {
    fn default() -> Self {
        Self {
            staging_failure: 0.10,
            lost_reply_after_write: 0.01,
            lost_reply_before_write: 0.01,
            rate_limit: 0.02,
            hidden_lookups: 0,
            outages: Vec::new(),
            hang: 0.0,
            dedup: true,
        }
    }
}

impl Faults {
    /// A world in which nothing goes wrong by itself.
    pub fn none() -> Self {
        Self {
            staging_failure: 0.0,
            lost_reply_after_write: 0.0,
            lost_reply_before_write: 0.0,
            rate_limit: 0.0,
            ..Self::default()
        }
    }

    fn validate(&self) -> Result<(), String> {
        let rates = [
            ("staging_failure", self.staging_failure),
            ("lost_reply_after_write", self.lost_reply_after_write),
            ("lost_reply_before_write", self.lost_reply_before_write),
            ("rate_limit", self.rate_limit),
            ("hang", self.hang),
        ];
        for (name, rate) in rates {
            if !(0.0..=1.0).contains(&rate) {
                return Err(format!("faults.{name} must be from 0 to 1, not {rate}"));
            }
        }
        if self.outages.len() > 1000 {
            return Err("faults.outages: at most 1000 windows".to_owned());
        }
        match self.outages.iter().find(|(start, end)| end <= start) {
            Some((start, end)) => Err(format!("faults.outages: {end} is not after {start}")),
            None => Ok(()),
        }
    }
}

const KEYS: &[&str] = &[
    "path",
    "seed",
    "jobs",
    "faults",
    "tables_only",
    "first",
    "without",
];
const FAULT_KEYS: &[&str] = &[
    "staging_failure",
    "lost_reply_after_write",
    "lost_reply_before_write",
    "rate_limit",
    "hidden_lookups",
    "outages",
    "hang",
    "dedup",
];

impl PracticeSettings {
    /// Default settings for a world file.
    pub fn new(path: impl Into<PathBuf>, seed: u64) -> Self {
        Self {
            path: path.into(),
            seed,
            jobs: 120,
            faults: Faults::default(),
            tables_only: false,
            first: None,
            without: Vec::new(),
        }
    }

    /// Reads the `[world.practice]` table: `path` (default `practice-world.db`, relative to `base_dir`),
    /// `seed` (default 1), `jobs` (default 120) and the table `faults`.
    ///
    /// # Errors
    /// When a key is unknown (the message names the nearest one), or a value is of the wrong type or out
    /// of range.
    pub fn from_table(table: &Map<String, Value>, base_dir: &Path) -> Result<Self, String> {
        known(table, KEYS, "")?;
        let mut settings = Self::new(base_dir.join("practice-world.db"), 1);
        if let Some(path) = table.get("path") {
            let text = path
                .as_str()
                .filter(|text| !text.is_empty())
                .ok_or("path must be the name of a file")?;
            settings.path = base_dir.join(text);
        }
        if let Some(seed) = table.get("seed") {
            settings.seed = seed.as_u64().ok_or("seed must be a whole number from 0")?;
        }
        if let Some(jobs) = table.get("jobs") {
            settings.jobs = jobs
                .as_u64()
                .and_then(|jobs| usize::try_from(jobs).ok())
                .filter(|jobs| (1..=MAX_JOBS).contains(jobs))
                .ok_or_else(|| format!("jobs must be from 1 to {MAX_JOBS}"))?;
        }
        if let Some(only) = table.get("tables_only") {
            settings.tables_only = only.as_bool().ok_or("tables_only must be true or false")?;
        }
        if let Some(first) = table.get("first") {
            settings.first = Some(
                first
                    .as_u64()
                    .and_then(|first| usize::try_from(first).ok())
                    .filter(|first| (1..=MAX_JOBS).contains(first))
                    .ok_or_else(|| format!("first must be from 1 to {MAX_JOBS}"))?,
            );
        }
        if let Some(without) = table.get("without") {
            settings.without = without
                .as_array()
                .and_then(|list| {
                    list.iter()
                        .map(|one| one.as_str().map(str::to_owned))
                        .collect()
                })
                .ok_or("without must be a list of schedulers, such as [\"oozie\"]")?;
        }
        if let Some(faults) = table.get("faults") {
            let map = faults.as_object().ok_or("faults must be a table")?;
            known(map, FAULT_KEYS, "faults.")?;
            settings.faults = serde_json::from_value(faults.clone())
                .map_err(|error| format!("faults: {error}"))?;
            settings.faults.validate()?;
        }
        Ok(settings)
    }
}

fn known(table: &Map<String, Value>, keys: &[&str], prefix: &str) -> Result<(), String> {
    for key in table.keys() {
        if !keys.contains(&key.as_str()) {
            let nearest = keys
                .iter()
                .min_by_key(|known| strsim::damerau_levenshtein(known, key))
                .copied()
                .unwrap_or_default();
            return Err(format!(
                "unknown key {prefix}{key}; did you mean {prefix}{nearest}?"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<PracticeSettings, String> {
        PracticeSettings::from_table(value.as_object().unwrap(), Path::new("goals"))
    }

    #[test]
    fn values_and_defaults() {
        let settings =
            read(&json!({"path": "w.db", "seed": 7, "faults": {"rate_limit": 0.5}})).unwrap();
        assert_eq!(settings.path, Path::new("goals/w.db"));
        assert_eq!((settings.seed, settings.jobs), (7, 120));
        assert!((settings.faults.rate_limit - 0.5).abs() < 1e-9);
        assert!((settings.faults.staging_failure - 0.1).abs() < 1e-9);
    }

    #[test]
    fn mistakes_are_named() {
        for (value, part) in [
            (json!({"sede": 1}), "did you mean seed"),
            (
                json!({"faults": {"dedupe": true}}),
                "did you mean faults.dedup",
            ),
            (json!({"faults": {"rate_limit": 2}}), "from 0 to 1"),
            (json!({"faults": {"rate_limit": "x"}}), "faults: "),
            (json!({"jobs": 0}), "jobs must be"),
            (json!({"faults": {"outages": [[5, 5]]}}), "is not after"),
        ] {
            let error = read(&value).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
