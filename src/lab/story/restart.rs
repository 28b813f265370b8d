//! The engine dies in the middle of its work, twice, and nothing happens twice.

use super::{Stage, Story, StoryError, faults, replaced};
use crate::ledger::event::Event;
use crate::model::{JobState, Seq};
use crate::world::practice::goal::goal_text;

/// The story.
pub const STORY: Story = Story {
    name: "restart",
    sentence: "The engine is killed twice with calls under way; what it left is looked up first, and nothing happens twice.",
    play,
};

/// Jobs of the story.
const JOBS: usize = 12;

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    let text = goal_text(stage.seed(), JOBS);
    let text = replaced(&text, "concurrent_jobs = 8", "concurrent_jobs = 6")?;
    let lost = [
        "lost_reply_after_write = 0.10",
        "lost_reply_before_write = 0.10",
    ];
    stage.adopt(&faults(&text, &lost))?;
    stage.owner_decides(true);
    stage.say(format!("{JOBS} jobs; one reply in five is lost on its way"));
    let mut left_in_all = 0;
    for (death, staged) in [(1, 3), (2, 7)] {
        stage.until("staging is under way", |moment| {
            let overview = moment.view.overview(moment.goal)?;
            let applied = moment.view.operation_counts(moment.goal)?;
            Ok(overview.unsettled > 0 && applied.get("applied").copied().unwrap_or(0) >= staged)
        })?;
        stage.kill();
        let left = stage.look(|moment| moment.view.unsettled(moment.goal))?;
        left_in_all += left.len();
        stage.say(format!(
            "the engine dies (death {death}): {} operations have no known outcome",
            left.len()
        ));
        let before = stage.look(|moment| Ok(moment.view.overview(moment.goal)?.last_seq))?;
        stage.start()?;
        stage.until("each was looked up once", |moment| {
            let open = moment.view.log_after(before, 10_000)?;
            Ok(left.iter().all(|one| {
                open.iter().any(|row| {
                    row.job.as_ref() == Some(&one.job)
                        && matches!(
                            row.event,
                            Some(
                                Event::OpApplied { .. }
                                    | Event::OpLookedUp { .. }
                                    | Event::OpSentAgain { .. }
                                    | Event::OpRefused { .. }
                            )
                        )
                })
            }))
        })?;
        let first = first_act(stage, before)?;
        stage.say(format!(
            "the next engine looks them up; its first act: {first}"
        ));
    }
    stage.until_end()?;
    tell_the_end(stage, left_in_all)
}

/// The kind of the first entry after an engine's start.
fn first_act(stage: &Stage, after: Seq) -> Result<String, StoryError> {
    stage.look(|moment| {
        let rows = moment.view.log_after(after, 100)?;
        Ok(rows
            .into_iter()
            .find(|row| row.job.is_some())
            .map_or_else(|| "none".to_owned(), |row| row.kind))
    })
}

fn tell_the_end(stage: &mut Stage, left: usize) -> Result<(), StoryError> {
    let (cut_over, handed_over) = stage.look(|moment| {
        Ok((
            moment.count(JobState::CutOver)?,
            moment.count(JobState::HandedOver)?,
        ))
    })?;
    stage.say(format!(
        "every job has ended: {cut_over} cut over, {handed_over} handed over"
    ));
    // Counted in the world's own file, not by the ledger.
    let twice = stage.world(
        "select count(*) from (select 1 from effects group by operation_id, action having count(*) > 1)",
        &[],
    )?;
    stage.figure("left_without_outcome", left);
    stage.figure("cut_over", cut_over);
    stage.figure("handed_over", handed_over);
    stage.figure("effects_twice", twice);
    stage.check(
        "the deaths left operations without an outcome",
        left > 0,
        left.to_string(),
    );
    stage.check(
        "the world counts no operation id twice",
        twice == 0,
        format!("{twice} twice"),
    );
    Ok(())
}
