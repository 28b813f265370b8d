//! The day's queries run short: work waits for their renewal and goes on, and no day's wall is crossed.

use super::{Stage, Story, StoryError, replaced};
use crate::engine::spend::FORECAST;
use crate::ledger::LedgerError;
use crate::ledger::event::Event;
use crate::model::{JobState, WaitKind};
use crate::world::practice::goal::goal_text;

/// The story.
pub const STORY: Story = Story {
    name: "quota",
    sentence: "The day's queries run short; jobs wait until they renew, and no day's wall is crossed.",
    play,
};

/// Jobs of the story.
const JOBS: usize = 12;
/// Queries a day: two jobs' worth.
const LIMIT: u64 = 12;

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    let text = goal_text(stage.seed(), JOBS);
    stage.adopt(&replaced(
        &text,
        "limit = 300",
        &format!("limit = {LIMIT}"),
    )?)?;
    stage.owner_decides(true);
    stage.say(format!(
        "{JOBS} jobs of up to 6 queries each; the warehouse allows {LIMIT} a day"
    ));
    stage.until("jobs wait for the quota", |moment| {
        let overview = moment.view.overview(moment.goal)?;
        Ok(overview
            .by_wait
            .get(&WaitKind::Quota)
            .is_some_and(|count| *count >= 2))
    })?;
    let waiting = stage.look(|moment| {
        let overview = moment.view.overview(moment.goal)?;
        Ok(overview.by_wait.get(&WaitKind::Quota).copied().unwrap_or(0))
    })?;
    let (spent, reserved) = today(stage)?;
    stage.say(format!(
        "{spent} of {LIMIT} are spent, {reserved} set aside: {waiting} jobs wait until midnight"
    ));
    let first_day = stage.look(|moment| days(moment.view, moment.goal))?.len();
    stage.until("the quota has renewed", |moment| {
        Ok(days(moment.view, moment.goal)?.len() > first_day)
    })?;
    stage.say("a new day: the queries have renewed, and the jobs go on by themselves");
    stage.until_end()?;
    tell_the_end(stage, waiting)
}

fn days(
    view: crate::ledger::read::View<'_>,
    goal: &crate::model::GoalId,
) -> Result<Vec<(String, u64)>, LedgerError> {
    let rows = view.budget_days(goal)?;
    Ok(rows
        .into_iter()
        .map(|row| (row.day, row.spent + row.reserved))
        .collect())
}

fn today(stage: &Stage) -> Result<(u64, u64), StoryError> {
    stage.look(|moment| {
        let rows = moment.view.budget_days(moment.goal)?;
        Ok(rows.first().map_or((0, 0), |row| (row.spent, row.reserved)))
    })
}

fn tell_the_end(stage: &mut Stage, waiting: u64) -> Result<(), StoryError> {
    let mut days = stage.look(|moment| days(moment.view, moment.goal))?;
    days.reverse();
    for (day, used) in &days {
        stage.say(format!("{day}: {used} of {LIMIT} queries"));
    }
    let most = days.iter().map(|(_, used)| *used).max().unwrap_or(0);
    let all: u64 = days.iter().map(|(_, used)| *used).sum();
    let (cut_over, handed_over, alerts) = stage.look(|moment| {
        let alerts = moment.view.alerts(moment.goal)?;
        Ok((
            moment.count(JobState::CutOver)?,
            moment.count(JobState::HandedOver)?,
            alerts
                .into_iter()
                .filter(|one| one.rule == FORECAST)
                .collect::<Vec<_>>(),
        ))
    })?;
    for alert in alerts.iter().rev() {
        stage.say(format!("forecast, raised: {}", alert.evidence));
        if alert.cleared_at.is_some() {
            stage.say(format!("forecast, cleared: {}", alert.cleared_why));
        }
    }
    let handed_for_quota = stage.look(|moment| {
        let rows = moment.view.log_after(crate::model::Seq(0), 100_000)?;
        Ok(rows
            .iter()
            .filter(|row| {
                matches!(&row.event, Some(Event::JobMoved { state: JobState::HandedOver, reason })
                    if reason.contains("queries"))
            })
            .count())
    })?;
    stage.say(format!(
        "every job has ended: {cut_over} cut over, {handed_over} handed over; {all} queries over {} days",
        days.len()
    ));
    stage.figure("queries", all);
    stage.figure("days", days.len());
    stage.figure("most_a_day", most);
    stage.figure("waited", waiting);
    stage.figure("cut_over", cut_over);
    stage.figure("handed_over", handed_over);
    stage.check(
        "no day's wall was crossed",
        most <= LIMIT,
        format!("at most {most} of {LIMIT}"),
    );
    stage.check(
        "jobs waited for the renewal",
        waiting >= 2,
        format!("{waiting} waited"),
    );
    stage.check(
        "the work went over several days",
        days.len() >= 3,
        format!("{} days", days.len()),
    );
    stage.check(
        "no job was given up for want of queries",
        handed_for_quota == 0,
        format!("{handed_for_quota} handed over"),
    );
    Ok(())
}
