//! After an unclean stop: read only, compare the ledger with the world, and go on by itself only where
//! they agree.
//!
//! What is compared is bounded, so that a restart costs the same with 100 jobs as with 100,000: one
//! question for the source's list, one for what is in production, and at most [`MAX_LOOKED_AT`] effects
//! looked up one by one (the jobs that moved last). An operation without an outcome is not in this list:
//! its look-up settles it or makes it *to verify*, as always. A question that the world does not answer
//! is asked three times and then counts as not different.

mod accept;
mod compare;
mod turn;

use crate::ledger::facts::{JobFacts, RunFacts};
use crate::model::{
    Action, Digest, DriftId, DriftKind, GoalId, JobId, JobState, OperationId, TimeMs,
    canon::digest_parts,
};
use crate::world::ports::{EffectRef, InProduction, SourceJob};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Effects that are looked up one by one in one round.
pub const MAX_LOOKED_AT: usize = 64;
/// Differences shown in one round; more come in the next, when these are accepted.
pub const MAX_SHOWN: usize = 200;
/// How often a question is asked before it counts as not answered.
const MAX_TRIES: u32 = 3;
/// Pause before a question is asked again, in ms; doubled with each try.
const ASK_AGAIN_MS: i64 = 5_000;
/// Pause before a held engine compares again by itself, in ms; doubled with each round, up to an hour.
const COMPARE_AGAIN_MS: i64 = 60_000;

/// What an engine does after an unclean stop (`run.resume`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Resume {
    /// Goes on by itself when nothing differs; otherwise a person accepts first.
    #[default]
    WhenClean,
    /// A person accepts first, also when nothing differs.
    Ask,
    /// Takes the world's word for every difference, writes it down and goes on.
    Auto,
}

impl Resume {
    /// The setting's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::WhenClean => "when-clean",
            Self::Ask => "ask",
            Self::Auto => "auto",
        }
    }

    /// All words, for messages.
    pub const WORDS: &'static [&'static str] = &["when-clean", "ask", "auto"];

    /// The setting of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::WhenClean, Self::Ask, Self::Auto]
            .into_iter()
            .find(|one| one.word() == word)
    }
}

/// How far a restart is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Everything goes its way.
    Open,
    /// Operations without an outcome are looked up first.
    Settling,
    /// The world is asked.
    Comparing,
    /// A person has to accept.
    Held,
}

/// A question of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// What does the source list?
    Source,
    /// What is in production?
    Production,
    /// Is the effect there?
    Effect(JobId, OperationId, Action, Digest),
    /// How did the staging run end?
    RunEnd(JobId, OperationId, EffectRef),
}

/// What the ledger says of a job, as far as it is compared.
#[derive(Debug, Clone)]
struct Known {
    definition: Digest,
    ended: bool,
    cut_over: bool,
    /// Reference and config that the ledger holds as in production.
    production: Option<(String, Digest)>,
    /// A cutover whose outcome is not known: its look-up speaks of it.
    in_doubt: bool,
    /// The applied operation of the current staging run, and whether it succeeded.
    run: Option<(OperationId, EffectRef, bool)>,
    /// The applied operation of the cutover.
    cut_by: Option<OperationId>,
    last_progress: TimeMs,
}

impl Known {
    fn of(facts: &JobFacts) -> Self {
        let run = match &facts.run {
            Some(RunFacts::Going { operation }) => Some((operation, false)),
            Some(RunFacts::Succeeded { operation }) => Some((operation, true)),
            _ => None,
        };
        let run = run.and_then(|(id, succeeded)| {
            let own = facts.operations.get(id)?;
            Some((id.clone(), super::plan::effect_ref(own), succeeded))
        });
        let cut = facts.operations.values().find(|one| {
            one.action == Action::CutOver
                && one.state == crate::model::OperationState::Applied
                && Some(&one.reference) == facts.production.as_ref()
        });
        Self {
            definition: facts.definition.clone(),
            // What is in production is not begun again, whatever its state.
            ended: facts.state.has_ended() || facts.production.is_some(),
            cut_over: matches!(facts.state, JobState::CutOver | JobState::Reverify),
            production: facts.production.clone().map(|reference| {
                let config = cut
                    .map(|one| one.config.clone())
                    .or_else(|| facts.config.clone());
                (reference, config.unwrap_or_else(|| Digest(String::new())))
            }),
            in_doubt: facts.unsettled().any(|one| one.action == Action::CutOver),
            run,
            cut_by: cut.map(|one| one.id.clone()),
            last_progress: facts.last_progress,
        }
    }
}

/// How accepting a difference corrects the ledger.
#[derive(Debug, Clone)]
enum Correction {
    /// The effect is not there, or not as the ledger says.
    Overturn(JobId, OperationId),
    /// A person takes the job.
    HandOver(JobId),
    /// Both.
    OverturnAndHandOver(JobId, OperationId),
    /// The job has another definition.
    Redefine(JobId, String),
    /// The goal has one job more.
    Add(Box<SourceJob>),
    /// The goal has one job less.
    Cancel(JobId),
    /// The person knows of it now.
    Nothing,
}

/// A difference and what follows from accepting it.
#[derive(Debug, Clone)]
struct Difference {
    kind: DriftKind,
    job: Option<JobId>,
    ledger_says: String,
    world_says: String,
    accepting: &'static str,
    correction: Correction,
}

impl Difference {
    /// The same difference has the same id, so that what was accepted once is not asked again.
    fn id(&self, goal: &GoalId) -> DriftId {
        let digest = digest_parts([
            goal.as_str(),
            self.kind.word(),
            self.job.as_ref().map_or("", |job| job.as_str()),
            &self.ledger_says,
            &self.world_says,
        ]);
        DriftId(format!("d{}", digest.0.chars().take(8).collect::<String>()))
    }
}

/// What the world said in a round.
#[derive(Debug, Default)]
struct Answers {
    source: Option<Vec<SourceJob>>,
    production: Option<Vec<InProduction>>,
    /// Effects that are not there, with what the world says instead.
    missing: Vec<(JobId, OperationId, Action, String)>,
    /// Runs that ended otherwise.
    ended: Vec<(JobId, OperationId, String)>,
    compared: u64,
    unanswered: u64,
}

/// Where a restart stands. One an engine.
pub(super) struct Restart {
    mode: Resume,
    phase: Phase,
    /// When the engine after the unclean stop began; names the restart itself.
    begun: TimeMs,
    known: BTreeMap<JobId, Known>,
    ask: VecDeque<(Question, u32)>,
    /// Questions to ask again, by when.
    later: Vec<(TimeMs, Question, u32)>,
    open: usize,
    answers: Answers,
    /// Operations without an outcome under whose id the world shows something else.
    contradictions: Vec<(JobId, OperationId, String)>,
    found: BTreeMap<DriftId, Difference>,
    /// Differences beyond [`MAX_SHOWN`].
    more: usize,
    rounds: u32,
    next_round: TimeMs,
    /// Jobs whose facts changed since they were read for the comparison.
    touched: BTreeSet<JobId>,
    /// Jobs added since the index was built.
    added: usize,
    /// Whether people's decisions were looked at since the engine is held.
    heard_people: bool,
}

impl Restart {
    /// `compare`: whether an engine stopped uncleanly since the last comparison.
    pub(super) fn new(
        mode: Resume,
        compare: bool,
        all: &[JobFacts],
        (begun, now): (TimeMs, TimeMs),
    ) -> Self {
        let known = if compare {
            all.iter()
                .map(|facts| (facts.id.clone(), Known::of(facts)))
                .collect()
        } else {
            BTreeMap::new()
        };
        Self {
            mode,
            phase: if compare {
                Phase::Settling
            } else {
                Phase::Open
            },
            begun,
            known,
            ask: VecDeque::new(),
            later: Vec::new(),
            open: 0,
            answers: Answers::default(),
            contradictions: Vec::new(),
            found: BTreeMap::new(),
            more: 0,
            rounds: 0,
            next_round: now,
            touched: BTreeSet::new(),
            added: 0,
            heard_people: false,
        }
    }

    /// Whether nothing may be started yet.
    pub(super) fn only_reads(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Whether a person has to accept differences.
    pub(super) fn is_held(&self) -> bool {
        self.phase == Phase::Held
    }

    /// Whether the world is being asked; decisions wait so long.
    pub(super) fn is_comparing(&self) -> bool {
        matches!(self.phase, Phase::Settling | Phase::Comparing)
    }

    /// Whether it is held and nobody has said anything that would change that.
    pub(super) fn waits_for_people(&self) -> bool {
        self.is_held() && self.heard_people
    }

    /// People's decisions were looked at.
    pub(super) fn people_were_heard(&mut self) {
        self.heard_people = self.is_held();
    }

    /// The facts of a job change while it is compared.
    pub(super) fn touch(&mut self, id: &JobId) {
        if self.only_reads() {
            self.touched.insert(id.clone());
        }
    }

    /// When something of it is due.
    pub(super) fn next_due(&self) -> Option<TimeMs> {
        match self.phase {
            Phase::Held => Some(self.next_round),
            Phase::Comparing => self.later.iter().map(|(at, ..)| *at).min(),
            Phase::Open | Phase::Settling => None,
        }
    }

    /// A look-up before the comparison found something else under the operation's id.
    pub(super) fn contradicted(&mut self, job: &JobId, operation: &OperationId, what: &str) {
        if self.only_reads() && self.contradictions.len() < MAX_SHOWN {
            self.contradictions
                .push((job.clone(), operation.clone(), what.to_owned()));
        }
    }
}
