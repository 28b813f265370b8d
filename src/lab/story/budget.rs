//! A total nears its end: the package is written, what goes on is carried to its end, the work stops; the owner
//! raises the limit in place, and it goes on by itself.

use super::amendment::submit_with;
use super::{Stage, Story, StoryError, replaced};
use crate::contract::budget_edit::{Limit, with_limit};
use crate::contract::parse_goal;
use crate::engine::spend::handoff_dir;
use crate::ledger::event::Act;
use crate::model::{Budget, ContractVersion, JobId, JobState, WaitKind, digest_bytes};
use crate::world::practice::goal::goal_text;

/// The story.
pub const STORY: Story = Story {
    name: "budget",
    sentence: "A total is used to 80 %: package, drain, stop; the owner raises it in place, and the work goes on.",
    play,
};

/// Jobs of the story.
const JOBS: usize = 24;
/// Staging runs and cutovers, far fewer than the jobs need.
const LIMIT: u64 = 30;
/// More than they need.
const RAISED: u64 = 300;

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    let walls = format!("[budget.external_actions]\nlimit = {LIMIT}\n\n[limits]");
    let text = replaced(&goal_text(stage.seed(), JOBS), "[limits]", &walls)?;
    stage.adopt(&text)?;
    stage.owner_decides(true);
    stage.say(format!(
        "{JOBS} jobs; {LIMIT} staging runs and cutovers are allowed in all, the handoff is at 80 %"
    ));
    stage.until("the handoff package is written", |moment| {
        Ok(!moment.view.handoffs(moment.goal)?.is_empty())
    })?;
    let at_handoff = spent(stage)?;
    let why = stage.look(|moment| {
        let rows = moment.view.handoffs(moment.goal)?;
        Ok(rows
            .into_iter()
            .next()
            .map(|row| row.why)
            .unwrap_or_default())
    })?;
    stage.say(format!(
        "{at_handoff} of {LIMIT} are used; a handoff package is written: {why}"
    ));
    let before = attempts(stage)?;
    stage.until("the work has stopped", |moment| {
        Ok(moment.view.goals()?.iter().any(|row| row.stopped.is_some()))
    })?;
    let at_stop = spent(stage)?;
    let (why, waiting) = stage.look(|moment| {
        let goals = moment.view.goals()?;
        let overview = moment.view.overview(moment.goal)?;
        Ok((
            goals
                .into_iter()
                .find_map(|row| row.stopped)
                .unwrap_or_default(),
            overview
                .by_wait
                .get(&WaitKind::Budget)
                .copied()
                .unwrap_or(0),
        ))
    })?;
    let begun = attempts(stage)? - before;
    stage.say(format!(
        "work stopped: {why}; {waiting} jobs wait for the budget"
    ));
    let copy = handoff_dir(&stage.ledger_path(), stage.goal_id().as_str()).join("handoff.md");
    let copied = std::fs::read_to_string(&copy)
        .is_ok_and(|text| text.contains("budget raise external_actions"));
    raise(stage, &text)?;
    stage.until("work goes on", |moment| {
        Ok(moment.view.goals()?.iter().all(|row| row.stopped.is_none()))
    })?;
    stage.say("the limit is higher: the alert is cleared, and the jobs go on by themselves");
    stage.until_end()?;
    let at_end = spent(stage)?;
    let (cut_over, handed_over) = stage.look(|moment| {
        Ok((
            moment.count(JobState::CutOver)?,
            moment.count(JobState::HandedOver)?,
        ))
    })?;
    stage.say(format!(
        "every job has ended: {cut_over} cut over, {handed_over} handed over; {at_end} of {RAISED} used"
    ));
    stage.figure("used_at_handoff", at_handoff);
    stage.figure("used_at_stop", at_stop);
    stage.figure("used_at_end", at_end);
    stage.figure("waited", waiting);
    stage.figure("cut_over", cut_over);
    stage.figure("handed_over", handed_over);
    stage.check(
        "the package came at 80 %",
        at_handoff >= LIMIT * 8 / 10,
        at_handoff.to_string(),
    );
    stage.check(
        "the wall was not crossed",
        at_stop <= LIMIT,
        format!("{at_stop} of {LIMIT}"),
    );
    stage.check(
        "no attempt began after the handoff",
        begun == 0,
        format!("{begun} began"),
    );
    stage.check(
        "jobs waited for the owner",
        waiting > 0,
        format!("{waiting} waited"),
    );
    stage.check(
        "the copy beside the ledger asks for more",
        copied,
        copy.display().to_string(),
    );
    stage.check(
        "the raised budget was used",
        at_end > LIMIT && at_end <= RAISED,
        at_end.to_string(),
    );
    Ok(())
}

/// The owner's amendment of one limit; everything else of the text stays.
fn raise(stage: &mut Stage, text: &str) -> Result<(), StoryError> {
    let limit = Limit::Whole(RAISED);
    let second =
        with_limit(text, Budget::ExternalActions, &limit, false).map_err(StoryError::Script)?;
    let contract = |text: &str| Ok::<_, StoryError>(parse_goal(text, stage.dir(), None)?.contract);
    let (old, new) = (contract(text)?, contract(&second)?);
    let act = Act::Amend {
        from: ContractVersion(1),
        base: old.digest,
        contract: new.digest,
        text: digest_bytes(second.as_bytes()),
        base_dir: stage.dir().display().to_string(),
        overrides: Vec::new(),
        answers: Vec::new(),
        why: "the rest is worth it".to_owned(),
    };
    let ids = submit_with(stage, vec![(JobId::from(""), act)], &[second.as_bytes()])?;
    let mut answer = (String::new(), String::new());
    stage.until("the raise is answered", |moment| {
        for id in &ids {
            if let Some(row) = moment
                .view
                .decision(id)?
                .filter(|row| row.state != "pending")
            {
                answer = (row.state, row.why);
            }
        }
        Ok(!answer.0.is_empty())
    })?;
    stage.say(format!(
        "the owner: dogwatch budget raise external_actions {RAISED}: {}: {}",
        answer.0, answer.1
    ));
    stage.check(
        "the owner may raise it in place",
        answer.0 == "accepted",
        answer.1,
    );
    Ok(())
}

fn spent(stage: &Stage) -> Result<u64, StoryError> {
    stage.look(|moment| {
        let uses = moment.view.budget_uses(moment.goal)?;
        let own = uses
            .iter()
            .find(|one| one.budget == Budget::ExternalActions && one.day.is_empty());
        Ok(own.map_or(0, |one| one.spent + one.reserved))
    })
}

/// Attempts begun so far, over all jobs.
fn attempts(stage: &Stage) -> Result<u64, StoryError> {
    stage.look(|moment| {
        let facts = moment.view.all_facts(moment.goal)?;
        Ok(facts.iter().map(|job| u64::from(job.attempt.0)).sum())
    })
}
