//! Production changes by the calendar, one by one and then in waves; and one goes back.

use super::{Stage, Story, StoryError, at};
use crate::ledger::event::Act;
use crate::ledger::read::OperationRow;
use crate::model::{Action, JobId, JobState, OperationState, TimeMs};
use crate::world::practice::goal::goal_text;

/// The story.
pub const STORY: Story = Story {
    name: "cutover",
    sentence: "Nothing is cut over in a freeze, cutovers go one by one until three were clean, and one is rolled back.",
    play,
};

const JOBS: usize = 40;
/// Clean cutovers in a row before more than one may be on its way.
const CLEAN: usize = 3;
/// How many after that.
const THEN: usize = 4;
const RULES: &str = "\n[cutover]\nfreeze = [\"mon 00:00 - tue 10:30\", \"2024-04-03 .. 2024-04-03\"]\n\
                     [cutover.waves]\nclean = 3\nthen = 4\n";
const REASON: &str = "the finance team wants one more month of the old numbers";

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    stage.adopt(&format!("{}{RULES}", goal_text(stage.seed(), JOBS)))?;
    stage.owner_decides(true);
    let thaw = at(2, 10, 30)?;
    stage.say(format!(
        "{JOBS} jobs; the contract freezes cutovers until Tuesday 10:30 and all of Wednesday"
    ));
    stage.until_time(at(2, 10, 0)?)?;
    let (cut, frozen) = stage.look(|moment| {
        let overview = moment.view.overview(moment.goal)?;
        let frozen = overview.by_wait.get(&crate::model::WaitKind::Freeze);
        Ok((
            moment.count(JobState::CutOver)?,
            frozen.copied().unwrap_or(0),
        ))
    })?;
    stage.say(format!(
        "Tuesday 10:00: {frozen} jobs are approved and wait for the end of the freeze, {cut} are cut over"
    ));
    stage.check(
        "nothing is cut over in a freeze",
        cut == 0,
        format!("{cut} cut over"),
    );
    stage.check(
        "approved jobs wait for its end",
        frozen > 0,
        format!("{frozen} wait"),
    );
    stage.until_end()?;
    let cutovers = cutovers(stage)?;
    let frozen_starts = cutovers
        .iter()
        .filter(|one| one.intended_at < thaw || is_wednesday(one.intended_at))
        .count();
    stage.check(
        "no cutover was asked for in a freeze",
        frozen_starts == 0,
        format!("{frozen_starts} of {}", cutovers.len()),
    );
    waves(stage, &cutovers);
    roll_back(stage)
}

fn is_wednesday(when: TimeMs) -> bool {
    let (Ok(from), Ok(to)) = (at(3, 0, 0), at(4, 0, 0)) else {
        return false;
    };
    from <= when && when < to
}

/// Every cutover asked for, in order.
fn cutovers(stage: &Stage) -> Result<Vec<OperationRow>, StoryError> {
    let mut all = stage.look(|moment| {
        let mut all = Vec::new();
        for facts in moment.view.all_facts(moment.goal)? {
            all.extend(moment.view.operations(moment.goal, &facts.id)?);
        }
        Ok(all)
    })?;
    all.retain(|one| one.action == Action::CutOver.word());
    all.sort_by_key(|one| one.intended_at);
    Ok(all)
}

/// How many were on their way when each was asked for, from the entries' times alone.
fn waves(stage: &mut Stage, cutovers: &[OperationRow]) {
    let mut most_before = 0;
    let mut most = 0;
    for (index, one) in cutovers.iter().enumerate() {
        let on_their_way = cutovers
            .iter()
            .take(index + 1)
            .filter(|other| other.changed_at > one.intended_at || other.operation == one.operation)
            .count();
        most = most.max(on_their_way);
        let clean = cutovers
            .iter()
            .filter(|other| {
                other.state == OperationState::Applied && other.changed_at <= one.intended_at
            })
            .count();
        if clean < CLEAN {
            most_before = most_before.max(on_their_way);
        }
    }
    stage.say(format!(
        "{} cutovers: at most {most_before} at once before {CLEAN} were clean, at most {most} after",
        cutovers.len()
    ));
    stage.figure("cutovers", cutovers.len());
    stage.figure("at_once_before", most_before);
    stage.figure("at_once_after", most);
    stage.check(
        "one by one until three were clean",
        most_before == 1,
        most_before.to_string(),
    );
    stage.check(
        "then more, and never more than the contract allows",
        (2..=THEN).contains(&most),
        most.to_string(),
    );
}

fn roll_back(stage: &mut Stage) -> Result<(), StoryError> {
    let job = stage
        .look(|moment| {
            let mut all = moment.view.all_facts(moment.goal)?.into_iter();
            Ok(all.find(|facts| facts.state == JobState::CutOver))
        })?
        .map(|facts| facts.id)
        .ok_or_else(|| StoryError::Script("no job was cut over".to_owned()))?;
    let act = || Act::RollBack {
        reason: REASON.to_owned(),
    };
    let owner = stage.owner();
    let (accepted, why) = stage.act(&job, act(), &owner)?;
    stage.say(format!("the owner asks to roll {job} back: {why}"));
    stage.check("the rollback is asked for", accepted, why);
    let (again, why) = stage.act(&job, act(), &owner)?;
    stage.check("it is asked once", !again, why);
    stage.until("the job is back on the old side", |moment| {
        let facts = moment.view.facts(moment.goal, &job)?;
        Ok(facts.is_some_and(|facts| facts.state == JobState::HandedOver))
    })?;
    let on_old_side = on_the_old_side(stage, &job)?;
    let reason = stage.look(|moment| {
        let facts = moment.view.facts(moment.goal, &job)?;
        Ok(facts.map(|facts| facts.reason).unwrap_or_default())
    })?;
    stage.say(format!("approved and done: {job} is {reason}"));
    stage.check(
        "the world runs the old job again and not the new one",
        on_old_side,
        on_old_side.to_string(),
    );
    stage.check(
        "the reason says who and why",
        reason.contains(REASON),
        reason,
    );
    Ok(())
}

/// Asked of the world's own file.
fn on_the_old_side(stage: &Stage, job: &JobId) -> Result<bool, StoryError> {
    let new = stage.world(
        "select count(*) from production_jobs where job = ?1 and removed_by is null",
        &[job.as_str()],
    )?;
    let old = stage.world(
        "select count(*) from legacy_jobs where job = ?1 and disabled_by is null",
        &[job.as_str()],
    )?;
    let done = stage.world(
        "select count(*) from effects where job = ?1 and action = 'roll_back'",
        &[job.as_str()],
    )?;
    Ok((new, old, done) == (0, 1, 1))
}
