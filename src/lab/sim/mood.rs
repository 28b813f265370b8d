//! Scenarios for one question: is a healthy run left alone, is a real circle seen, how many sound jobs become
//! a person's by chance alone?

use super::dice::Stream;
use super::scenario::{ActKind, ActPlan, Mood, Nature, Scenario, SpinPlan};
use crate::engine::drift::Resume;

/// Thirty days.
const LONG_ENOUGH_MS: i64 = 30 * 24 * 3_600_000;

/// Makes a scenario one of its kind.
pub(super) fn set(scenario: &mut Scenario, mood: Mood) {
    let mut draw = Stream::new(scenario.seed ^ 0x00F0_0D00);
    match mood {
        Mood::Any => {}
        Mood::Healthy => healthy(scenario, &mut draw),
        Mood::Odds => odds(scenario, &mut draw),
        Mood::SameCheck | Mood::SameChange | Mood::Rounds | Mood::Tokens => {
            circles(scenario, mood, &mut draw);
        }
    }
}

/// Everything of the world goes wrong as ever, and the worker does its work. The thresholds are those of a
/// goal file that says nothing.
fn healthy(scenario: &mut Scenario, draw: &mut Stream) {
    let rules = &mut scenario.rules;
    rules.resubmits = 0;
    rules.spin = SpinPlan {
        same_check: 3,
        same_change: 2,
        rounds: 12,
        ..SpinPlan::never()
    };
    rules.repair_rounds = rules.repair_rounds.max(2);
    for job in &mut scenario.jobs {
        job.nature = match draw.percent(25) {
            true => Nature::SecondTry,
            false => Nature::Sound,
        };
    }
}

/// Runs fail by chance, engines die, replies are lost; nothing else makes a job a person's.
fn odds(scenario: &mut Scenario, draw: &mut Stream) {
    // Runs fail until the last act: it comes when every job has had its tries.
    scenario.acts = vec![ActPlan {
        at_ms: LONG_ENOUGH_MS,
        kind: ActKind::Comment,
        pick: 0,
    }];
    scenario.meddles.clear();
    let rules = &mut scenario.rules;
    rules.spin = SpinPlan::never();
    rules.staging_tries = draw.between(1, 3);
    // Nobody is there to accept anything, and a held engine would sit the failures out.
    rules.resume = Resume::Auto;
    rules.approval = false;
    rules.expires_minutes = None;
    rules.quota = None;
    rules.actions_a_day = None;
    rules.actions_in_all = None;
    rules.freeze = None;
    // Where a resend is proven no person rules, so that nothing but runs decides.
    rules.dedup = (true, true);
    let faults = &mut scenario.faults;
    faults.run_fails = draw.one_of(&[50, 100, 150, 200, 300], 100);
    faults.refused = faults.refused.min(30);
    faults.lost_after = faults.lost_after.min(120);
    faults.lost_before = faults.lost_before.min(120);
    faults.contradicts = 0;
    faults.no_answer = 0;
    // `Auto` takes the world's word for what it does not show yet, and a person takes the job: no run decided that.
    faults.slow = 0;
    // What an outage spoils is given back: a share of its own, which is not calculated here.
    faults.outages.clear();
    faults.worker_fails = 0;
    faults.a_minute = 0;
    for job in &mut scenario.jobs {
        job.upstream.clear();
        job.held = false;
        job.nature = Nature::Sound;
    }
}

/// The worker goes round in circles in one way, and only the rule for that way holds.
fn circles(scenario: &mut Scenario, mood: Mood, draw: &mut Stream) {
    let rules = &mut scenario.rules;
    let mut spin = SpinPlan::never();
    rules.resubmits = 0;
    rules.repair_rounds = 6;
    rules.strategies = vec![true; draw.between(1, 2) as usize];
    rules.quota = None;
    rules.actions_a_day = None;
    rules.actions_in_all = None;
    let nature = match mood {
        Mood::SameCheck => {
            spin.same_check = draw.between(2, 4) as u32;
            Nature::Differs
        }
        Mood::SameChange => {
            spin.same_change = draw.between(2, 3) as u32;
            rules.alternates = true;
            Nature::Defective
        }
        Mood::Rounds => {
            spin.rounds = draw.between(4, 12) as u32;
            Nature::Differs
        }
        _ => {
            rules.agents = true;
            spin.tokens = draw.between(3, 9) * super::scenario::TOKENS_AN_ATTEMPT;
            Nature::Differs
        }
    };
    rules.spin = spin;
    scenario.faults.worker_fails = 0;
    scenario.meddles.clear();
    // Nobody takes a job away or overrules an alarm before it comes.
    scenario.acts.retain(|act| {
        !matches!(
            act.kind,
            ActKind::HandOver | ActKind::Overrule | ActKind::Pause | ActKind::Amend(_)
        )
    });
    for job in &mut scenario.jobs {
        job.nature = nature;
        job.held = false;
        // Only a clause that every job has can be what fails.
        job.upstream.clear();
    }
}
