//! The goal file as types. Everything but the strategies is contract.

use super::cutover::CutoverRule;
use super::provider::ProviderSettings;
use super::sampling::PERSON;
use crate::model::{Account, ClauseId, Digest, EvidenceKind, GoalId, StrategyId, TimeMs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A parsed goal file.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// What the owner fixed.
    pub contract: Contract,
    /// The plan: strategies in order. Not contract.
    pub strategies: Vec<Strategy>,
    /// Providers of language models that strategies name. Not contract.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Where relative paths of the file start: the file's own directory.
    pub base_dir: PathBuf,
    /// What was ambiguous, one question each; asked once, at adoption.
    pub questions: Vec<String>,
    /// What was accepted though its behaviour comes later, one sentence each.
    pub notes: Vec<String>,
}

/// The owner's contract. `@me` is resolved when it is adopted.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The goal's id.
    pub id: GoalId,
    /// One sentence.
    pub objective: String,
    /// Who may amend.
    pub owner: Account,
    /// When it must be done.
    pub deadline: Option<TimeMs>,
    /// Working hours, for approvals and for "working days"; carries the goal's time zone.
    pub workdays: Workdays,
    /// Where jobs come from.
    pub jobs: JobsRule,
    /// Acceptance clauses, in order.
    pub accept: Vec<Clause>,
    /// Who decides cutovers.
    pub approval: ApprovalRule,
    /// When cutovers may happen, and how many at once.
    pub cutover: CutoverRule,
    /// Waiting after a cutover.
    pub soak: Option<Soak>,
    /// Walls.
    pub budgets: Budgets,
    /// Limits of tries and concurrency.
    pub limits: Limits,
    /// When work counts as spinning.
    pub spin: SpinRule,
    /// When the engine looks at the world without being woken.
    pub heartbeat: HeartbeatRule,
    /// The environment.
    pub world: WorldRule,
    /// Digest of the contract's canonical form, `@me` unresolved, strategies left out.
    pub digest: Digest,
}

impl Contract {
    /// The clause of an id.
    pub fn clause(&self, id: &ClauseId) -> Option<&Clause> {
        self.accept.iter().find(|clause| &clause.id == id)
    }
}

/// Working hours in the goal's time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workdays {
    /// IANA name.
    pub zone: String,
    /// Working weekdays, Monday = 0.
    pub days: [bool; 7],
    /// First minute of the working day.
    pub from_minute: u16,
    /// First minute after the working day.
    pub to_minute: u16,
}

/// Where jobs come from and what is known of them as a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobsRule {
    /// Jobs named in a CSV file (columns `id`, `title`, `depends_on`, `definition`…) instead of by the
    /// source adapter.
    pub file: Option<PathBuf>,
    /// Whether lineage comes from the source.
    pub depends_on_source: bool,
    /// Patterns (`*` matches any run of characters) of high-risk jobs.
    pub high_risk: Vec<String>,
    /// Jobs that the owner gives up, each group with its reason.
    pub retire: Vec<Retire>,
}

/// Jobs that the owner gives up: they are cancelled with this reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retire {
    /// Patterns of job ids, or tags of jobs.
    pub jobs: Vec<String>,
    /// Why, one sentence.
    pub reason: String,
}

impl JobsRule {
    /// Whether a job is marked high risk.
    pub fn is_high_risk(&self, job: &str) -> bool {
        self.high_risk
            .iter()
            .any(|pattern| matches_pattern(pattern, job))
    }

    /// Why the owner gives a job with these tags up; `None` when it lives on.
    pub fn retired(&self, job: &str, tags: &[String]) -> Option<&str> {
        let named = |pattern: &String| {
            tags.iter().any(|tag| tag == pattern) || matches_pattern(pattern, job)
        };
        self.retire
            .iter()
            .find(|group| group.jobs.iter().any(named))
            .map(|group| group.reason.as_str())
    }
}

/// One acceptance clause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clause {
    /// Its id.
    pub id: ClauseId,
    /// The checker's name.
    pub check: String,
    /// A tag or a job pattern it applies to; `None` means all jobs.
    pub applies_to: Option<String>,
    /// The checker's parameters.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// Digest of check, scope and parameters: part of each pass's validity key.
    pub digest: Digest,
}

impl Clause {
    /// Whether it applies to a job. A person's clause is asked only of the jobs that it samples.
    pub fn applies(&self, job: &Candidate<'_>) -> bool {
        let in_scope = match &self.applies_to {
            None => true,
            Some(scope) => {
                job.tags.iter().any(|tag| tag == scope) || matches_pattern(scope, job.id)
            }
        };
        in_scope
            && (self.kind() != EvidenceKind::Person
                || self.sampling().is_ok_and(|rule| rule.chooses(job)))
    }

    /// Whose word its verdicts are.
    pub fn kind(&self) -> EvidenceKind {
        match self.check.as_str() {
            PERSON => EvidenceKind::Person,
            _ if self.params.get("kind").and_then(|kind| kind.as_str())
                == Some(EvidenceKind::Judge.word()) =>
            {
                EvidenceKind::Judge
            }
            _ => EvidenceKind::Script,
        }
    }
}

/// A job, as far as clauses choose by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// Whether the contract marks it high risk.
    pub high_risk: bool,
    /// Its place in the source's order, from 0.
    pub position: u64,
}

/// What the goal file's reader asks about checkers; the checkers themselves are another module's.
pub trait Checkers {
    /// All names.
    fn names(&self) -> Vec<&'static str>;

    /// What is wrong with a clause's parameters; `None` when no checker has the clause's name.
    fn problems(&self, clause: &Clause) -> Option<Vec<String>>;
}

/// Who decides cutovers and how long it takes them.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRule {
    /// False when the contract says that no approval is needed; adoption records who agreed.
    pub required: bool,
    /// Accounts that may decide.
    pub by: Vec<Account>,
    /// Minutes a decision takes, for forecasts.
    pub minutes_each: f64,
    /// A request older than this expires and is asked again; milliseconds.
    pub expires_after_ms: Option<i64>,
}

/// A wait after the cutover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Soak {
    /// Until so many production runs were seen.
    Runs(u32),
    /// For so long, in milliseconds.
    Time(i64),
}

/// A total budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TotalBudget {
    /// The wall, in the budget's unit.
    pub limit: f64,
}

/// A budget that renews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenewingBudget {
    /// Units a period.
    pub limit: u64,
}

/// All budgets of a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Budgets {
    /// Total budgets by name: `tokens`, `money`, `wall_clock` (in working days), `external_actions`.
    pub total: BTreeMap<String, TotalBudget>,
    /// Budgets per day in the goal's zone, by name: `warehouse_queries`, `external_actions`.
    pub per_day: BTreeMap<String, RenewingBudget>,
    /// Share of a total at which work is handed off, in percent.
    pub handoff_at_percent: u8,
}

/// Limits of tries, rounds and concurrency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Staging runs of one config in all.
    pub staging_tries: u32,
    /// Configs that may fail their checks before the job changes hands.
    pub repair_rounds: u32,
    /// Jobs worked on at once.
    pub concurrent_jobs: u32,
    /// Other logical dates that a job is staged for where nothing could be compared.
    pub other_dates: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            staging_tries: 3,
            repair_rounds: 4,
            concurrent_jobs: 8,
            other_dates: 3,
        }
    }
}

/// When work counts as spinning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinRule {
    /// The same check failing again on one job.
    pub same_check_failures: u32,
    /// The same change submitted again.
    pub same_change: u32,
    /// Rounds across the goal without a new pass.
    pub rounds_without_pass: u32,
    /// Tokens spent without a new pass.
    pub tokens_without_pass: u64,
}

impl Default for SpinRule {
    fn default() -> Self {
        Self {
            same_check_failures: 3,
            same_change: 2,
            rounds_without_pass: 12,
            tokens_without_pass: 1_500_000,
        }
    }
}

/// When the engine looks at the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatRule {
    /// Milliseconds between looks.
    pub every_ms: i64,
    /// What wakes it earlier, as written.
    pub wake_on: Vec<String>,
}

/// The environment of a goal: adapter tables by port, as written.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldRule {
    /// `source`, `target`, `warehouse`, `repo`, `probe`, and `practice` for the embedded world: each a
    /// table of its adapter's settings.
    pub ports: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

/// One strategy of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Strategy {
    /// Its id.
    pub id: StrategyId,
    /// `script`, `command` or `chat`.
    pub worker: String,
    /// The command of a script or command worker; `{job}` stands for the job's id. A first word
    /// `dogwatch` means this very binary.
    pub run: Vec<String>,
    /// Milliseconds until its process group is killed.
    pub timeout_ms: i64,
    /// Settings of chat workers and whatever else the strategy says.
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// Whether `text` matches a pattern in which `*` stands for any run of characters.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else {
        return text.is_empty();
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let tail: Vec<&str> = parts.collect();
    let Some((last, middle)) = tail.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or(""),
            None => return false,
        }
    }
    rest.ends_with(last)
}
