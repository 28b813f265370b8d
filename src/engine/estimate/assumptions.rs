//! What a plan assumes: built-in defaults, a person's file, what the goal declares, what was measured.

use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Largest file of assumptions, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// The defaults, as a person would write them.
pub const DEFAULTS: &str = include_str!("../../../assets/estimate.toml");

macro_rules! keys {
    ($($variant:ident = $key:literal, $what:literal, $unit:literal, $least:literal, $most:literal);+ $(;)?) => {
        /// One assumption.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $(#[doc = $what] $variant),+
        }

        impl Key {
            /// All, in the order of the file.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its place in the file: `section.key`.
            pub const fn path(self) -> &'static str {
                match self { $(Self::$variant => $key),+ }
            }

            /// What it says.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$variant => $what),+ }
            }

            /// Its unit.
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$variant => $unit),+ }
            }

            /// The least and the most it may be.
            pub const fn range(self) -> (f64, f64) {
                match self { $(Self::$variant => ($least, $most)),+ }
            }
        }
    };
}

keys! {
    Jobs = "jobs", "jobs", "", 1.0, 1e6;
    TurnsPerJob = "model.turns_per_job", "model turns a job", "", 0.0, 1e5;
    PrefixTokens = "model.prefix_tokens", "stable prefix a turn", "tokens", 0.0, 1e7;
    JobContextTokens = "model.job_context_tokens", "job context a turn, mean", "tokens", 0.0, 1e7;
    OutputTokens = "model.output_tokens", "output a turn", "tokens", 0.0, 1e7;
    CacheHitPercent = "model.cache_hit_percent", "prefix cache hit rate, short loops", "%", 0.0, 100.0;
    AddedPerTurn = "long_session.added_tokens_per_turn", "one long session: history added a turn", "tokens", 1.0, 1e7;
    CompactsAt = "long_session.compacts_at_tokens", "one long session: compacts at", "tokens", 1.0, 1e9;
    CompactsTo = "long_session.compacts_to_tokens", "one long session: compacts back to", "tokens", 0.0, 1e9;
    MeanContext = "long_session.mean_context_tokens", "one long session: mean context", "tokens", 0.0, 1e9;
    CompactionReads = "long_session.compaction_reads_tokens", "one long session: a compaction reads", "tokens", 0.0, 1e9;
    FailurePercent = "staging.failure_percent", "staging fails by chance", "%", 0.0, 100.0;
    Tries = "staging.tries", "staging tries in all", "", 1.0, 100.0;
    QueriesPerJob = "warehouse.queries_per_job", "warehouse queries a job", "", 0.0, 1e6;
    QueriesOfChange = "warehouse.queries_of_change", "queries that a new clause adds to a job", "", 0.0, 1e6;
    QuotaPerDay = "warehouse.quota_per_day", "warehouse quota a day", "queries", 1.0, 1e9;
    RerunPercent = "warehouse.rerun_percent", "reconciliations rerun", "%", 0.0, 10000.0;
    WorkingDays = "deadline.working_days", "working days until the deadline", "", 0.0, 1e5;
    MinutesEach = "approval.minutes_each", "minutes an approval", "min", 0.0, 1e5;
    ChangeDay = "change.working_day", "a change arrives at the start of working day", "", 1.0, 1e5;
    KeptJobs = "change.kept_jobs", "at the change: reconciled and kept", "jobs", 0.0, 1e6;
    RetiredReconciledJobs = "change.retired_reconciled_jobs", "at the change: reconciled and retired", "jobs", 0.0, 1e6;
    RetiredUntouchedJobs = "change.retired_untouched_jobs", "at the change: untouched and retired", "jobs", 0.0, 1e6;
    OpenJobs = "change.open_jobs", "at the change: not done", "jobs", 0.0, 1e6;
    LeftOnTheDay = "change.left_on_the_day", "at the change, other case: left of the day's quota", "queries", 0.0, 1e9;
    OtherFailurePercent = "sensitivity.staging_failure_percent", "sensitivity: staging fails", "%", 0.0, 100.0;
    OtherTurnsPerJob = "sensitivity.turns_per_job", "sensitivity: turns a job", "", 0.0, 1e5;
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Built in.
    Default,
    /// The goal's contract or its list of jobs.
    Goal,
    /// A person's file.
    File,
    /// The ledger, after work was done.
    Measured,
}

impl Origin {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Goal => "goal",
            Self::File => "file",
            Self::Measured => "measured",
        }
    }
}

/// One assumption's value and history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// The value in force.
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
    /// What had been assumed, when a measurement took its place.
    pub assumed: Option<f64>,
    /// What the measurement rests on, such as `of 118 runs`.
    pub basis: String,
}

/// Why assumptions cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AssumeError {
    /// No TOML, too large, or not text.
    #[error("{0}")]
    Syntax(String),
    /// A key that nobody reads.
    #[error("unknown key `{key}`{hint}")]
    Unknown {
        /// As written.
        key: String,
        /// ", did you mean `…`?" or nothing.
        hint: String,
    },
    /// A value outside its range or no number.
    #[error("`{key}` is {found}; expected a number from {least} to {most}")]
    Range {
        /// The key.
        key: &'static str,
        /// As written.
        found: String,
        /// Least.
        least: String,
        /// Most.
        most: String,
    },
}

/// A value for every key.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumptions(BTreeMap<Key, Value>);

impl Assumptions {
    /// The built-in defaults.
    ///
    /// # Errors
    /// Never while the built-in file has every key; a test holds it to that.
    pub fn defaults() -> Result<Self, AssumeError> {
        let mut all = Self(BTreeMap::new());
        all.read(DEFAULTS, Origin::Default)?;
        match Key::ALL.iter().find(|key| !all.0.contains_key(key)) {
            Some(key) => Err(AssumeError::Syntax(format!(
                "no default for {}",
                key.path()
            ))),
            None => Ok(all),
        }
    }

    /// Replaces what a text names.
    ///
    /// # Errors
    /// No TOML, an unknown key, a value out of range; nothing is replaced then.
    pub fn read(&mut self, text: &str, origin: Origin) -> Result<(), AssumeError> {
        if text.len() > MAX_BYTES {
            let why = format!("{} bytes; assumptions have at most {MAX_BYTES}", text.len());
            return Err(AssumeError::Syntax(why));
        }
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| AssumeError::Syntax(error.to_string()))?;
        let mut found = Vec::new();
        flatten("", &table, &mut found)?;
        let mut read = Vec::new();
        for (path, value) in found {
            let Some(key) = Key::ALL.iter().copied().find(|key| key.path() == path) else {
                return Err(unknown(path));
            };
            read.push((key, number(key, &value)?));
        }
        for (key, value) in read {
            self.set(key, value, origin, "");
        }
        Ok(())
    }

    /// Puts a value in force. A measurement keeps what it replaces.
    pub fn set(&mut self, key: Key, value: f64, origin: Origin, basis: &str) {
        let before = self.0.get(&key).map(|one| one.value);
        let (least, most) = key.range();
        self.0.insert(
            key,
            Value {
                value: value.clamp(least, most),
                origin,
                assumed: before.filter(|_| origin == Origin::Measured),
                basis: basis.to_owned(),
            },
        );
    }

    /// The value in force.
    pub fn get(&self, key: Key) -> f64 {
        self.0.get(&key).map_or(0.0, |one| one.value)
    }

    /// All of them, in the order of the file.
    pub fn all(&self) -> impl Iterator<Item = (Key, &Value)> {
        Key::ALL
            .iter()
            .filter_map(|key| Some((*key, self.0.get(key)?)))
    }
}

fn flatten(
    prefix: &str,
    table: &toml::Table,
    found: &mut Vec<(String, toml::Value)>,
) -> Result<(), AssumeError> {
    for (key, value) in table {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            toml::Value::Table(inner) if prefix.is_empty() => flatten(&path, inner, found)?,
            toml::Value::Table(_) => return Err(unknown(path)),
            other => found.push((path, other.clone())),
        }
    }
    Ok(())
}

fn unknown(path: String) -> AssumeError {
    let nearest = Key::ALL
        .iter()
        .map(|key| (strsim::damerau_levenshtein(key.path(), &path), key.path()))
        .min();
    AssumeError::Unknown {
        key: path.chars().take(80).collect(),
        hint: match nearest {
            Some((distance, key)) if distance <= 5 => format!(", did you mean `{key}`?"),
            _ => String::new(),
        },
    }
}

fn number(key: Key, value: &toml::Value) -> Result<f64, AssumeError> {
    let (least, most) = key.range();
    let number = match value {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
    };
    number
        .filter(|number| number.is_finite() && (least..=most).contains(number))
        .ok_or_else(|| AssumeError::Range {
            key: key.path(),
            found: value.to_string().chars().take(60).collect(),
            least: least.to_string(),
            most: most.to_string(),
        })
}
