//! Staging is down for an hour in the middle of the work.

use super::{Moment, Stage, Story, StoryError, at, faults, offset_ms};
use crate::engine::outage::scan::ALPHA;
use crate::lab::noise::Noise;
use crate::ledger::LedgerError;
use crate::ledger::event::Event;
use crate::ledger::read::{AlertRow, EventRow, OutageRow};
use crate::model::{FailureClass, JobId, JobState, TimeMs, WaitKind};
use crate::world::practice::goal::goal_text;
use std::collections::BTreeMap;

/// The story.
pub const STORY: Story = Story {
    name: "outage",
    sentence: "Staging is down for an hour: one alert, one job probes, tries are given back, and a restart in the middle forgets nothing.",
    play,
};

/// Jobs of the story.
const JOBS: usize = 60;
/// Seeds by which the test's false alarms are measured, and calls of each.
const QUIET: (u64, u32) = (50, 4_000);

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    let (down, up) = (at(1, 9, 15)?, at(1, 10, 15)?);
    let window = format!("outages = [[{}, {}]]", offset_ms(down), offset_ms(up));
    let quiet = [
        "lost_reply_after_write = 0.0",
        "lost_reply_before_write = 0.0",
        &window,
    ];
    stage.adopt(&faults(&goal_text(stage.seed(), JOBS), &quiet))?;
    stage.say(format!(
        "{JOBS} jobs; a staging run in ten fails by itself; from 09:15 to 10:15 staging is down"
    ));
    stage.until_time(down)?;
    let before = tries(stage)?;
    stage.say("09:15: staging goes down; nobody tells dogwatch");
    stage.until("an outage is declared", |moment| {
        Ok(!moment.view.outages(moment.goal)?.is_empty())
    })?;
    let alert = alerts(stage)?.first().map(|one| one.evidence.clone());
    stage.say(format!("alert: {}", alert.unwrap_or_default()));
    let declared = stage.now();
    stage.until_time(at(1, 9, 45)?)?;
    let waiting = stage.look(waiting_jobs)?;
    stage.say(format!(
        "09:45: {waiting} jobs wait for the end of the outage; each says so"
    ));
    stage.kill();
    stage.say("the engine is killed; the next one takes the outage up");
    stage.start()?;
    stage.until("the work goes on", |moment| {
        Ok(outages(moment)?.iter().all(|one| one.ended_at.is_some()))
    })?;
    let ended = stage.now();
    let found = stage.look(outages)?;
    for one in &found {
        stage.say(format!(
            "over: {} ({} probes failed before)",
            one.why, one.probes
        ));
    }
    after(
        stage,
        &before,
        down,
        &found,
        declared.since(down),
        ended.since(up),
    )?;
    stage.figure("waiting_at_09_45", waiting);
    stage.check(
        "jobs wait, visibly, while staging is down",
        waiting > 0,
        waiting.to_string(),
    );
    stage.owner_decides(true);
    stage.stop()?;
    stage.until_end()?;
    let (cut_over, handed) = stage.look(|moment| {
        Ok((
            moment.count(JobState::CutOver)?,
            moment.count(JobState::HandedOver)?,
        ))
    })?;
    stage.say(format!(
        "every job has ended: {cut_over} cut over, {handed} handed over"
    ));
    nobody_because_of_it(stage)?;
    false_alarms(stage);
    Ok(())
}

fn outages(moment: &Moment<'_>) -> Result<Vec<OutageRow>, LedgerError> {
    moment.view.outages(moment.goal)
}

fn alerts(stage: &Stage) -> Result<Vec<AlertRow>, StoryError> {
    let mut all = stage.look(|moment| moment.view.alerts(moment.goal))?;
    all.retain(|one| one.rule == "outage");
    Ok(all)
}

fn waiting_jobs(moment: &Moment<'_>) -> Result<u64, LedgerError> {
    let overview = moment.view.overview(moment.goal)?;
    Ok(overview
        .by_wait
        .get(&WaitKind::Outage)
        .copied()
        .unwrap_or(0))
}

/// Staging tries spent by job, of those whose config is the same before and after.
fn tries(stage: &Stage) -> Result<BTreeMap<JobId, (Option<String>, u32)>, StoryError> {
    let all = stage.look(|moment| moment.view.all_facts(moment.goal))?;
    Ok(all
        .into_iter()
        .map(|facts| {
            let config = facts.config.map(|digest| digest.0);
            (facts.id, (config, facts.staging_tries))
        })
        .collect())
}

fn after(
    stage: &mut Stage,
    before: &BTreeMap<JobId, (Option<String>, u32)>,
    since: TimeMs,
    found: &[OutageRow],
    to_notice_ms: i64,
    to_go_on_ms: i64,
) -> Result<(), StoryError> {
    let now = tries(stage)?;
    let own = failed_by_themselves(stage, since)?;
    let (mut compared, mut differ) = (0, Vec::new());
    for (job, (config, spent)) in before.iter().filter(|(_, (config, _))| config.is_some()) {
        if let Some((_, after)) = now.get(job).filter(|(own, _)| own == config) {
            compared += 1;
            let own = own.get(job).copied().unwrap_or(0);
            if *after > spent + own {
                differ.push(format!(
                    "{job}: {spent} before, {after} after, {own} of them its own"
                ));
            }
        }
    }
    let given_back = given_back(stage)?;
    let alerts = alerts(stage)?;
    stage.figure("outages", found.len());
    stage.figure("alerts", alerts.len());
    stage.figure("tries_given_back", given_back);
    stage.figure("noticed_after_seconds", to_notice_ms / 1000);
    stage.figure("on_again_after_seconds", to_go_on_ms / 1000);
    stage.check(
        "one outage, one alert",
        found.len() == 1 && alerts.len() == 1,
        format!("{} outages, {} alerts", found.len(), alerts.len()),
    );
    stage.check(
        "tries were spent in vain and given back",
        given_back > 0,
        given_back.to_string(),
    );
    stage.check(
        "jobs that were being worked on lost tries to their own failures only",
        compared > 0 && differ.is_empty(),
        format!("{compared} compared; {}", differ.join(", ")),
    );
    stage.check(
        "it is noticed within five minutes, and over within fifteen after staging is back",
        (0..300_000).contains(&to_notice_ms) && (0..900_000 + 720_000).contains(&to_go_on_ms),
        format!("{} s and {} s", to_notice_ms / 1000, to_go_on_ms / 1000),
    );
    Ok(())
}

/// Staging runs that reached their end since an instant and failed by the job's own fault: the one that shows that
/// the target is back may be one of them.
fn failed_by_themselves(stage: &Stage, since: TimeMs) -> Result<BTreeMap<JobId, u32>, StoryError> {
    let mut own: BTreeMap<JobId, u32> = BTreeMap::new();
    for row in entries(stage)? {
        if let (Some(job), Some(Event::RunFailed { class, .. })) = (row.job, row.event)
            && row.at >= since
            && class == FailureClass::Job
        {
            *own.entry(job).or_default() += 1;
        }
    }
    Ok(own)
}

fn given_back(stage: &Stage) -> Result<u64, StoryError> {
    let all = entries(stage)?;
    Ok(all
        .iter()
        .filter_map(|row| match &row.event {
            Some(Event::TriesGivenBack {
                staging,
                refusals,
                prepares,
                checks,
                ..
            }) => Some(u64::from(staging + refusals + prepares + checks)),
            _ => None,
        })
        .sum())
}

fn entries(stage: &Stage) -> Result<Vec<EventRow>, StoryError> {
    stage.look(|moment| {
        let mut all = Vec::new();
        loop {
            let last = all
                .last()
                .map_or(crate::model::Seq(0), |row: &EventRow| row.seq);
            let part = moment.view.log_after(last, 5_000)?;
            if part.is_empty() {
                return Ok(all);
            }
            all.extend(part);
        }
    })
}

/// Whoever was handed over for failed staging runs failed outside the outage.
fn nobody_because_of_it(stage: &mut Stage) -> Result<(), StoryError> {
    let all = entries(stage)?;
    let mut blamed = Vec::new();
    for facts in stage.look(|moment| moment.view.all_facts(moment.goal))? {
        if facts.state != JobState::HandedOver || !facts.reason.starts_with("staging failed") {
            continue;
        }
        let lost = |row: &&EventRow| {
            row.job.as_ref() == Some(&facts.id)
                && matches!(&row.event, Some(Event::RunFailed { why, .. }) if !why.contains("worker was lost"))
        };
        let own = all.iter().filter(lost).count();
        if own < facts.staging_tries as usize {
            blamed.push(facts.id.0);
        }
    }
    stage.check(
        "nobody was handed over because of the outage",
        blamed.is_empty(),
        if blamed.is_empty() {
            "nobody".to_owned()
        } else {
            blamed.join(", ")
        },
    );
    Ok(())
}

/// The test's stated rate of false alarms beside the measured one.
fn false_alarms(stage: &mut Stage) {
    let (mut tests, mut alarms) = (0, 0);
    for seed in 0..QUIET.0 {
        let noise = Noise {
            seed,
            rate: 0.1,
            trials: QUIET.1,
            slots: 8,
        };
        let (made, false_ones) = noise.false_alarms(ALPHA);
        tests += made;
        alarms += false_ones;
    }
    stage.figure("false_alarms_stated", format!("at most {ALPHA:e} a test"));
    stage.figure(
        "false_alarms_measured",
        format!(
            "{alarms} in {tests} tests ({} seeds without an outage)",
            QUIET.0
        ),
    );
    stage.check(
        "false alarms are as rare as stated",
        alarms as f64 <= ALPHA * tests as f64 + 3.0,
        format!("{alarms} in {tests}"),
    );
}
