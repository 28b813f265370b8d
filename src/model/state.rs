//! States and verdicts.

use crate::model::TimeMs;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One table per vocabulary: the variant, its stored word, and back.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// All variants, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in the ledger, in JSON, in filters and on screen.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The variant of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

pub(super) use words;

words!(
    /// In what the ledger and the world differ.
    DriftKind {
        /// A staging run that the ledger holds as started is not in the world.
        RunMissing = "run_missing",
        /// A staging run ended otherwise than the ledger says.
        RunEnd = "run_end",
        /// What the ledger holds as cut over is not in production.
        CutOverMissing = "cutover_missing",
        /// Production holds another config of the job than the ledger says.
        CutOverOther = "cutover_other",
        /// Production holds a job that the ledger did not cut over.
        CutOverUnknown = "cutover_unknown",
        /// Under the id of an operation without an outcome the world shows something else.
        Contradiction = "contradiction",
        /// The source's definition of a job changed.
        SourceChanged = "source_changed",
        /// The source no longer lists a job.
        SourceGone = "source_gone",
        /// The source lists a job that the ledger does not know.
        SourceNew = "source_new",
        /// Nothing differs; the operator wants to be asked after each unclean stop.
        Restart = "restart",
    }
);

words!(
    /// A job's state. `to_verify` and `waiting` are overlays, not states.
    JobState {
        /// Known, nothing done yet.
        Pending = "pending",
        /// An attempt is preparing or staging a config.
        Working = "working",
        /// A staging run of the config succeeded; clauses are being checked.
        Staged = "staged",
        /// Every clause that applies has a valid pass.
        Reconciled = "reconciled",
        /// A request lies before the approver.
        AwaitingApproval = "awaiting_approval",
        /// The cutover was applied.
        CutOver = "cut_over",
        /// In production, and a current clause has no valid pass: not done.
        Reverify = "needs_reverification",
        /// A person has it, with the reason.
        HandedOver = "handed_over",
        /// Given up with a reason; history stays.
        Cancelled = "cancelled",
    }
);

impl JobState {
    /// True when the engine has nothing more to do by itself.
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::CutOver | Self::HandedOver | Self::Cancelled)
    }
}

words!(
    /// A checker's verdict.
    Verdict {
        /// The clause holds, on evidence.
        Pass = "pass",
        /// The clause does not hold, on evidence.
        Fail = "fail",
        /// The check ran and proves nothing (hollow green, outage, an old side that differs from itself).
        Inconclusive = "inconclusive",
        /// No checker can judge it.
        Unverified = "unverified",
    }
);

words!(
    /// Whose word a verdict is. A model's is never counted among a script's.
    EvidenceKind {
        /// A program that judges the same things the same way.
        Script = "script",
        /// A program that asks a language model.
        Judge = "judge",
        /// A person who looked.
        Person = "person",
    }
);

impl Default for EvidenceKind {
    /// What entries from before there were kinds meant.
    fn default() -> Self {
        Self::Script
    }
}

words!(
    /// Where an operation stands.
    OperationState {
        /// In the ledger, perhaps sent, outcome not recorded.
        Intended = "intended",
        /// The environment did it.
        Applied = "applied",
        /// The environment said no; nothing happened.
        Refused = "refused",
        /// Sent, and nobody knows.
        Unknown = "unknown",
    }
);

words!(
    /// Side effects the engine can ask a target for.
    Action {
        /// Create the config in staging and run it.
        Stage = "stage",
        /// Put the config into production and switch the old job off.
        CutOver = "cut_over",
        /// Take the config out of production and switch the old job on again.
        RollBack = "roll_back",
    }
);

impl Action {
    /// Whether it changes production, which takes a person's decision.
    pub const fn is_production(self) -> bool {
        match self {
            Self::Stage => false,
            Self::CutOver | Self::RollBack => true,
        }
    }
}

words!(
    /// Whose failure it was.
    FailureClass {
        /// The config's own: the same config would fail again.
        Job = "job",
        /// The environment's: the same config may pass on another try.
        Environment = "environment",
        /// It cannot be told.
        Unclear = "unclear",
    }
);

words!(
    /// What a job or goal waits for: the answers a person needs.
    WaitKind {
        /// A person's decision.
        Person = "person",
        /// A renewing quota.
        Quota = "quota",
        /// Jobs upstream of this one.
        Upstream = "upstream",
        /// An outcome that is not known yet.
        ToVerify = "to_verify",
        /// The environment: a run that goes on, a back-off after a failure.
        World = "world",
        /// An operator paused it.
        Paused = "paused",
        /// Other cutovers go first.
        Turn = "turn",
        /// The contract's calendar forbids cutovers now.
        Freeze = "freeze",
        /// It is in production, and the contract says how long that is watched before it is done.
        Soak = "soak",
        /// The owner: a budget of the whole goal is used up, or nearly.
        Budget = "budget",
        /// A part of the world that is out; one job probes.
        Outage = "outage",
    }
);

words!(
    /// Rules by which work counts as spinning; the words are the keys of the goal file's `[spin]`.
    SpinKind {
        /// The same check failed again on the same job.
        SameCheck = "same_check_failures",
        /// The same change was submitted again.
        SameChange = "same_change",
        /// Attempts across the goal, and no clause passed for the first time.
        RoundsWithoutPass = "rounds_without_pass",
        /// Tokens were spent, and no clause passed for the first time.
        TokensWithoutPass = "tokens_without_pass",
    }
);

/// Parts of the world that can be out by themselves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum WorldPart {
    /// The scheduler that jobs are staged on and cut over to.
    Target,
    /// The warehouse that checks ask.
    Warehouse,
    /// Whoever proposes configs, but for models.
    Worker,
    /// A provider of models, by its name: each is out by itself.
    Provider(String),
}

impl WorldPart {
    /// What stands before a provider's name in the stored word.
    const PROVIDER: &str = "provider:";

    /// The word used in the ledger and in JSON: `target`, `warehouse`, `worker` or `provider:NAME`.
    pub fn word(&self) -> String {
        match self {
            Self::Target => "target".to_owned(),
            Self::Warehouse => "warehouse".to_owned(),
            Self::Worker => "worker".to_owned(),
            Self::Provider(name) => format!("{}{name}", Self::PROVIDER),
        }
    }

    /// The part of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "target" => Some(Self::Target),
            "warehouse" => Some(Self::Warehouse),
            "worker" => Some(Self::Worker),
            _ => word
                .strip_prefix(Self::PROVIDER)
                .map(|name| Self::Provider(name.to_owned())),
        }
    }
}

impl fmt::Display for WorldPart {
    /// As it stands in a sentence after "the".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(name) => write!(f, "provider {name}"),
            other => f.write_str(&other.word()),
        }
    }
}

impl From<WorldPart> for String {
    fn from(part: WorldPart) -> Self {
        part.word()
    }
}

impl TryFrom<String> for WorldPart {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        Self::from_word(&word).ok_or_else(|| format!("no part of the world is called {word:?}"))
    }
}

/// What would end a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum Wake {
    /// The clock reaches an instant.
    At {
        /// That instant.
        at: TimeMs,
    },
    /// A decision on the job's open request.
    Approval,
    /// A renewing budget renews.
    QuotaReset {
        /// The budget's name.
        budget: String,
        /// When it renews.
        at: TimeMs,
    },
    /// An operation's outcome becomes known.
    Operation {
        /// The operation.
        id: String,
    },
    /// A job upstream reaches a state that this one can build on.
    Job {
        /// The upstream job.
        id: String,
    },
    /// An event of the world or an operator's act.
    Event {
        /// Its name.
        name: String,
    },
    /// A file appears or changes.
    File {
        /// Its path.
        path: String,
    },
    /// A metric reaches a value.
    Metric {
        /// Its name.
        name: String,
    },
}
