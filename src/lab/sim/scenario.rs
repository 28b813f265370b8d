//! What a seed decides before anything runs: jobs, rules, faults, people's acts, crashes, clock jumps.
//! All of it is data, so that a failing run can be made smaller.

use super::dice::Stream;
use super::law::Change;
use super::meddle::{Meddle, MeddleKind};
use crate::engine::drift::Resume;

const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;
/// What an agent's attempt takes.
pub(super) const TOKENS_AN_ATTEMPT: u64 = 10_000;
/// A threshold that nothing reaches.
pub(super) const NEVER: u32 = 1_000;

/// Everything that a run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Where it came from; also the seed of every draw during the run.
    pub seed: u64,
    /// The jobs.
    pub jobs: Vec<JobPlan>,
    /// The contract.
    pub rules: RulePlan,
    /// What the world does wrong.
    pub faults: Faults,
    /// What people do, in order of time.
    pub acts: Vec<ActPlan>,
    /// How the engine dies, one life after the other.
    pub crashes: Vec<Crash>,
    /// When somebody sets the clock, in order of time.
    pub jumps: Vec<Jump>,
    /// What strangers do while no engine runs.
    pub meddles: Vec<Meddle>,
}

/// What is true of a job, and nobody in the simulated company knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Every config of it is right.
    Sound,
    /// Some of its configs are right.
    Repairable,
    /// Its first config is wrong, every other is right.
    SecondTry,
    /// Every config of it does other things.
    Differs,
    /// No config of it is ever right.
    Defective,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlan {
    /// Its number, which gives its id; kept when other jobs are left out.
    pub number: u32,
    /// Numbers of the jobs it is built upon.
    pub upstream: Vec<u32>,
    /// Whether it writes a table, and has a clause that costs queries.
    pub table: bool,
    /// Whether the source holds it back.
    pub held: bool,
    /// What is true of it.
    pub nature: Nature,
}

impl JobPlan {
    /// Its id.
    pub fn id(&self) -> String {
        format!("job-{:03}", self.number)
    }

    /// The job that a stranger may add.
    pub(super) fn added() -> Self {
        Self {
            number: 900,
            upstream: Vec::new(),
            table: false,
            held: false,
            nature: Nature::Sound,
        }
    }
}

/// What the contract says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePlan {
    /// Whether a person decides cutovers.
    pub approval: bool,
    /// Minutes until a request expires.
    pub expires_minutes: Option<u64>,
    /// Queries a day.
    pub quota: Option<u64>,
    /// Staging runs of one config.
    pub staging_tries: u64,
    /// Configs that may fail.
    pub repair_rounds: u64,
    /// Jobs at once.
    pub concurrent_jobs: u64,
    /// Hours between heartbeats.
    pub heartbeat_hours: u64,
    /// Strategies; true where its worker may repair.
    pub strategies: Vec<bool>,
    /// Whether the target keeps one effect per id, and says so: for staging and for production.
    pub dedup: (bool, bool),
    /// Whether the target can say what is in production.
    pub lists_production: bool,
    /// What the engine does after an unclean stop.
    pub resume: Resume,
    /// Side effects a day.
    pub actions_a_day: Option<u64>,
    /// Side effects in all.
    pub actions_in_all: Option<u64>,
    /// When it counts as going round in circles.
    pub spin: SpinPlan,
    /// Chance in a thousand that a repairing worker hands in again what failed.
    pub resubmits: u32,
    /// Whether it hands in the same two configs in turn.
    pub alternates: bool,
    /// Whether the repairing workers are agents, which spend tokens.
    pub agents: bool,
    /// Clean cutovers in a row, and how many may then be on their way at once.
    pub waves: Option<(u32, u32)>,
    /// No cutover is started: from and to, in hours since the goal began.
    pub freeze: Option<(i64, i64)>,
}

/// Thresholds of the spin rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinPlan {
    /// Failures of the same check.
    pub same_check: u32,
    /// Submissions of the same change.
    pub same_change: u32,
    /// Attempts without a clause that passes for the first time.
    pub rounds: u32,
    /// Tokens without one.
    pub tokens: u64,
}

/// What the world does wrong: chances in a thousand, until the calm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// A staging run fails for no fault of the job.
    pub run_fails: u32,
    /// An effect is refused by a busy target; half of the time it says for how long.
    pub refused: u32,
    /// The reply is lost after the write.
    pub lost_after: u32,
    /// The request is lost before the write.
    pub lost_before: u32,
    /// A new object is not seen by look-ups for a while.
    pub slow: u32,
    /// A look-up contradicts itself or gives another job's object.
    pub contradicts: u32,
    /// A call takes hours.
    pub hangs: u32,
    /// A question gets no answer.
    pub no_answer: u32,
    /// The worker breaks.
    pub worker_fails: u32,
    /// A table is empty on both sides on a date: it does not stop with the calm.
    pub empty: u32,
    /// What a cutover would set off becomes more.
    pub worsens: u32,
    /// Effects a minute; 0 is no limit.
    pub a_minute: u64,
    /// Nothing answers: from, for how long, in milliseconds of passed time.
    pub outages: Vec<(i64, i64)>,
}

/// What a person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActKind {
    /// Goes through the open requests; mostly right, sometimes wrong in every way there is.
    Session,
    /// Looks at the open requests and keeps what was seen.
    Look,
    /// Decides on what was seen at the last look, whatever is asked now.
    Late,
    /// Pauses a job.
    Pause,
    /// Resumes what is paused.
    Resume,
    /// Tries again what was handed over.
    Retry,
    /// Rules on operations of unknown outcome, truthfully.
    Rule,
    /// Wants them looked up.
    LookAgain,
    /// Says something.
    Comment,
    /// Takes a job.
    HandOver,
    /// Accepts what a restart found, and sometimes what it did not find.
    Consent,
    /// Asks for things that cannot be.
    Nonsense,
    /// Amends the contract; mostly as its owner.
    Amend(Change),
    /// Says that an alarm is no spinning, or takes that back.
    Overrule,
}

/// One act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActPlan {
    /// When, in milliseconds of passed time.
    pub at_ms: i64,
    /// What.
    pub kind: ActKind,
    /// Picks whatever there is to pick.
    pub pick: u64,
}

/// Where an engine dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeathPoint {
    /// A turn decided, and nothing of it is on the disk.
    BeforeCommit,
    /// Entries on the disk, no call made.
    AfterCommit,
    /// Some calls of a turn made, this one not.
    BeforeCall,
    /// The call was made; nobody hears the answer.
    AfterCall,
    /// As `BeforeCall`, counting side effects only.
    BeforeEffect,
    /// As `AfterCall`, counting side effects only.
    AfterEffect,
}

/// One death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crash {
    /// Where.
    pub point: DeathPoint,
    /// At the how-manieth such point of this life, from 1.
    pub nth: u64,
    /// Milliseconds until the next start.
    pub down_ms: i64,
}

/// The clock is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// When, in milliseconds of passed time.
    pub at_ms: i64,
    /// By how much.
    pub by_ms: i64,
}

/// Sizes of what is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Exactly so many jobs; otherwise 1 to 24.
    pub jobs: Option<u32>,
    /// What the scenarios are for.
    pub mood: Mood,
}

/// What scenarios are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    /// Everything may happen.
    #[default]
    Any,
    /// The worker is sound and repairs what failed: nothing may count as spinning.
    Healthy,
    /// Every job is sound and runs fail by chance alone: how many become a person's can be calculated.
    Odds,
    /// The same check fails again and again.
    SameCheck,
    /// The same change is handed in again.
    SameChange,
    /// Nothing passes anywhere.
    Rounds,
    /// Nothing passes anywhere, and tokens are spent.
    Tokens,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn of_seed(seed: u64, shape: Shape) -> Self {
        let mut draw = Stream::new(seed);
        let count = shape
            .jobs
            .unwrap_or_else(|| draw.one_of(&[1, 2, 3, 4, 6, 8, 12, 20, 24], 4));
        let jobs = jobs(&mut draw, count);
        let mut rules = rules(&mut draw, count);
        let horizon = draw.between(4, 72) as i64 * HOUR_MS;
        let mut faults = faults(&mut draw, horizon);
        let mut acts = acts(&mut draw, horizon, count);
        let crashes = (0..draw.one_of(&[0, 1, 2, 3, 5, 8], 2))
            .map(|_| crash(&mut draw, count))
            .collect();
        let jumps = jumps(&mut draw, horizon);
        // Drawn by themselves, so that what was drawn before stays what it was.
        let mut draw = Stream::new(seed ^ 0x00D1_FF00);
        rules.lists_production = draw.percent(75);
        rules.resume = draw.one_of(
            &[
                Resume::WhenClean,
                Resume::WhenClean,
                Resume::WhenClean,
                Resume::Ask,
                Resume::Auto,
            ],
            Resume::WhenClean,
        );
        if draw.percent(25) {
            rules.actions_a_day = Some(draw.between(2, 4 + u64::from(count)));
        }
        if draw.percent(50) {
            rules.waves = Some((draw.between(1, 4) as u32, draw.between(1, 6) as u32));
        }
        if draw.percent(40) {
            let from = early(&mut draw, horizon) / HOUR_MS;
            rules.freeze = Some((from, from + draw.between(1, 30) as i64));
        }
        faults.worsens = draw.one_of(&[0, 0, 120, 400], 0);
        let meddles = meddles(&mut draw);
        acts.extend(consents(&mut draw, horizon));
        // The same once more: amendments, totals and what counts as spinning.
        let mut draw = Stream::new(seed ^ 0xA3E4_D000);
        if draw.percent(20) {
            rules.actions_in_all = Some(draw.between(2, 6 + 3 * u64::from(count)));
        }
        rules.spin = spin(&mut draw);
        acts.extend(amendments(&mut draw, horizon));
        acts.sort_by_key(|one| one.at_ms);
        // And once more: one world in eight has dates on which nothing can be compared.
        if shape.mood == Mood::Any && Stream::new(seed ^ 0x0DA7_E000).percent(12) {
            faults.empty = 400;
        }
        let mut scenario = Self {
            seed,
            jobs,
            rules,
            faults,
            acts,
            crashes,
            jumps,
            meddles,
        };
        super::mood::set(&mut scenario, shape.mood);
        scenario
    }

    /// One line.
    pub fn summary(&self) -> String {
        format!(
            "seed {}: {} jobs, {} acts, {} crashes, {} clock jumps, {} outages",
            self.seed,
            self.jobs.len(),
            self.acts.len(),
            self.crashes.len(),
            self.jumps.len(),
            self.faults.outages.len()
        )
    }
}

fn jobs(draw: &mut Stream, count: u32) -> Vec<JobPlan> {
    // Alone, in chains, in layers with diamonds, or wild, where cycles may come.
    let form = draw.below(4);
    let sick = draw.one_of(&[0, 10, 30], 10);
    (0..count)
        .map(|number| {
            let upstream = upstream(draw, form, number, count);
            let nature = match draw.below(100) {
                n if n < sick => Nature::Defective,
                n if n < 3 * sick => Nature::Repairable,
                _ => Nature::Sound,
            };
            JobPlan {
                number,
                upstream,
                table: draw.percent(40),
                held: draw.percent(3),
                nature,
            }
        })
        .collect()
}

fn upstream(draw: &mut Stream, form: u64, number: u32, count: u32) -> Vec<u32> {
    let mut list: Vec<u32> = match form {
        0 => Vec::new(),
        1 if number > 0 && draw.percent(70) => vec![number - 1],
        2 if number >= 2 => (0..draw.between(0, 3))
            .map(|_| draw.between(u64::from(number.saturating_sub(6)), u64::from(number) - 1))
            .map(|one| one as u32)
            .collect(),
        3 if draw.percent(50) => (0..draw.between(1, 2))
            .map(|_| {
                // Mostly backwards; a step forwards may close a cycle.
                let bound = if draw.percent(8) { count } else { number };
                draw.below(u64::from(bound)) as u32
            })
            .filter(|one| *one != number)
            .collect(),
        _ => Vec::new(),
    };
    list.sort_unstable();
    list.dedup();
    list
}

fn rules(draw: &mut Stream, count: u32) -> RulePlan {
    let approval = draw.percent(75);
    let expires = draw.percent(40);
    let limited = draw.percent(50);
    RulePlan {
        approval,
        expires_minutes: (approval && expires).then(|| draw.between(20, 2_000)),
        quota: limited.then(|| draw.between(2, 4 + u64::from(count))),
        staging_tries: draw.between(1, 4),
        repair_rounds: draw.between(1, 4),
        concurrent_jobs: draw.between(1, 10),
        heartbeat_hours: draw.between(3, 24),
        strategies: (0..draw.between(1, 3)).map(|_| draw.percent(50)).collect(),
        dedup: (draw.percent(50), draw.percent(50)),
        lists_production: true,
        resume: Resume::WhenClean,
        actions_a_day: None,
        actions_in_all: None,
        spin: SpinPlan::never(),
        resubmits: 150,
        alternates: false,
        agents: false,
        waves: None,
        freeze: None,
    }
}

impl SpinPlan {
    /// No alarm.
    pub(super) fn never() -> Self {
        Self {
            same_check: NEVER,
            same_change: NEVER,
            rounds: 100_000,
            tokens: 1_000_000_000,
        }
    }
}

fn spin(draw: &mut Stream) -> SpinPlan {
    SpinPlan {
        same_check: draw.one_of(&[2, 3, 3, 4], 3),
        same_change: draw.one_of(&[2, 2, 3], 2),
        rounds: draw.one_of(&[6, 12, 12, 24, 100_000], 12),
        ..SpinPlan::never()
    }
}

fn amendments(draw: &mut Stream, horizon: i64) -> Vec<ActPlan> {
    let mut list: Vec<ActPlan> = (0..2)
        .map(|_| ActPlan {
            at_ms: early(draw, horizon),
            kind: ActKind::Overrule,
            pick: draw.next(),
        })
        .collect();
    for _ in 0..draw.one_of(&[0, 0, 1, 2, 4], 1) {
        let change = draw.one_of(Change::ALL, Change::Retire);
        list.push(ActPlan {
            at_ms: early(draw, horizon),
            kind: ActKind::Amend(change),
            pick: draw.next(),
        });
    }
    list
}

fn faults(draw: &mut Stream, horizon: i64) -> Faults {
    let rate = |draw: &mut Stream| draw.one_of(&[0u32, 0, 30, 120, 350], 0);
    let rates: Vec<u32> = (0..9).map(|_| rate(draw)).collect();
    let rate = |index: usize| rates.get(index).copied().unwrap_or(0);
    Faults {
        run_fails: rate(0),
        refused: rate(1),
        lost_after: rate(2),
        lost_before: rate(3),
        slow: rate(4),
        contradicts: rate(5),
        hangs: rate(6) / 3,
        no_answer: rate(7),
        worker_fails: rate(8),
        empty: 0,
        worsens: 0,
        a_minute: draw.one_of(&[0, 0, 0, 2, 5], 0),
        outages: (0..draw.one_of(&[0, 0, 1, 3], 0))
            .map(|_| {
                let from = early(draw, horizon);
                (from, draw.between(5, 300) as i64 * MINUTE_MS)
            })
            .collect(),
    }
}

/// An instant before the horizon; most are early, when most is going on.
fn early(draw: &mut Stream, horizon: i64) -> i64 {
    let part = draw.below(1_000) as i64;
    horizon / 1_000 * (part * part * part / 1_000_000)
}

fn acts(draw: &mut Stream, horizon: i64, count: u32) -> Vec<ActPlan> {
    let most = 6 + u64::from(count.min(40));
    let mut list: Vec<ActPlan> = (0..draw.between(2, most))
        .map(|_| ActPlan {
            at_ms: early(draw, horizon),
            kind: match draw.below(100) {
                0..=34 => ActKind::Session,
                35..=41 => ActKind::Look,
                42..=50 => ActKind::Late,
                51..=57 => ActKind::Pause,
                58..=64 => ActKind::Resume,
                65..=73 => ActKind::Retry,
                74..=81 => ActKind::Rule,
                82..=86 => ActKind::LookAgain,
                87..=91 => ActKind::Comment,
                92..=95 => ActKind::HandOver,
                _ => ActKind::Nonsense,
            },
            pick: draw.next(),
        })
        .collect();
    list.sort_by_key(|one| one.at_ms);
    list
}

/// People who accept what a restart found.
fn consents(draw: &mut Stream, horizon: i64) -> Vec<ActPlan> {
    (0..draw.between(0, 6))
        .map(|_| ActPlan {
            at_ms: early(draw, horizon),
            kind: ActKind::Consent,
            pick: draw.next(),
        })
        .collect()
}

fn meddles(draw: &mut Stream) -> Vec<Meddle> {
    (0..draw.one_of(&[0, 0, 0, 1, 3], 0))
        .map(|_| Meddle {
            life: draw.below(3),
            kind: draw.one_of(MeddleKind::ALL, MeddleKind::Redefine),
            pick: draw.next(),
        })
        .collect()
}

fn crash(draw: &mut Stream, count: u32) -> Crash {
    let reach = draw.one_of(&[3, 12, 40, 150], 12) * (1 + u64::from(count) / 20);
    Crash {
        point: draw.one_of(
            &[
                DeathPoint::BeforeCommit,
                DeathPoint::AfterCommit,
                DeathPoint::BeforeCall,
                DeathPoint::AfterCall,
                DeathPoint::BeforeEffect,
                DeathPoint::AfterEffect,
            ],
            DeathPoint::AfterCall,
        ),
        nth: 1 + draw.below(reach),
        down_ms: draw.one_of(&[10, 2_000, 40_000, 2 * HOUR_MS, 30 * HOUR_MS], 2_000),
    }
}

fn jumps(draw: &mut Stream, horizon: i64) -> Vec<Jump> {
    let sizes = [
        1_000,
        90_000,
        HOUR_MS,
        26 * HOUR_MS,
        40 * 24 * HOUR_MS,
        3_650 * 24 * HOUR_MS,
    ];
    let mut list: Vec<Jump> = (0..draw.one_of(&[0, 0, 1, 3], 0))
        .map(|_| {
            let size = draw.one_of(&sizes, 1_000);
            Jump {
                at_ms: early(draw, horizon),
                by_ms: if draw.percent(50) { size } else { -size },
            }
        })
        .collect();
    list.sort_by_key(|one| one.at_ms);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_scenario_and_seeds_give_many_forms() {
        let shape = Shape::default();
        let all: Vec<Scenario> = (0..200)
            .map(|seed| Scenario::of_seed(seed, shape))
            .collect();
        assert_eq!(all[7], Scenario::of_seed(7, shape));
        let some = |what: fn(&Scenario) -> bool| all.iter().filter(|one| what(one)).count();
        assert!(some(|one| one.jobs.iter().any(|job| job.upstream.len() > 1)) > 20);
        assert!(some(|one| one.rules.approval) > 100);
        assert!(some(|one| !one.crashes.is_empty()) > 100);
        assert!(some(|one| !one.jumps.is_empty()) > 50);
        assert!(some(|one| !one.faults.outages.is_empty()) > 50);
        let forward = |job: &JobPlan| job.upstream.iter().any(|up| *up > job.number);
        assert!(all.iter().any(|one| one.jobs.iter().any(forward)));
        assert_eq!(
            Scenario::of_seed(
                1,
                Shape {
                    jobs: Some(120),
                    ..Shape::default()
                }
            )
            .jobs
            .len(),
            120
        );
    }
}
