//! Work that goes round in circles, in every way that is known.

use super::worker::baseline;
use super::{Stage, Story, StoryError, faults, replaced};
use crate::contract::Strategy;
use crate::ledger::event::Act;
use crate::ledger::read::SpinRow;
use crate::model::{Account, JobId, JobState, SpinKind};
use crate::worker::{PrepareFailure, PrepareReply, PrepareRequest, Worker};
use crate::world::practice::goal::goal_text;
use std::sync::Arc;

/// The story.
pub const STORY: Story = Story {
    name: "spin",
    sentence: "A goal without a new pass, a change that is submitted again, a check that fails again and again: one change of strategy, then a person, who may overrule.",
    play,
};

/// Jobs of the story.
const JOBS: usize = 12;
/// Its worker paints the same change over.
const PAINTER: &str = "stg_campaign_spend";
/// Its worker fails the same check again and again.
const STUBBORN: &str = "stg_returns";
/// Attempts of the stubborn job after which its worker gets it right.
const LEARNS_AFTER: u32 = 7;

/// Proposes what the story needs: the first strategy never fires at the right hour, and two jobs have workers
/// with manners of their own.
struct Circles {
    /// Submits the same change again, painted over.
    painter: JobId,
    /// Fails the same check again and again, each time by another config.
    stubborn: JobId,
}

impl Worker for Circles {
    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        let mut reply = baseline(request)?;
        let attempt = request.attempt.0;
        let learning = request.job == self.stubborn && attempt <= LEARNS_AFTER;
        if strategy.id.0 == "patch" || learning {
            reply.config = at_minute(&reply.config, attempt);
        } else if request.job == self.painter && strategy.id.0 == "rewrite" {
            reply.config = format!(
                "# attempt {attempt}, now really\n{}",
                at_minute(&reply.config, 59)
            );
        }
        Ok(reply)
    }
}

/// The same definition at other times: its schedule's minute is replaced.
fn at_minute(config: &str, minute: u32) -> String {
    let line = |line: &str| match line.strip_prefix("schedule = \"") {
        Some(rest) => {
            let fields = rest.split_once(' ').map_or("", |(_, fields)| fields);
            format!("schedule = \"{} {fields}", minute % 60)
        }
        None => line.to_owned(),
    };
    config.lines().map(line).collect::<Vec<_>>().join("\n")
}

const STRATEGY: &str = r#"[[strategy]]
id = "script"
worker = "script"
run = ["dogwatch", "practice", "convert", "--job", "{job}"]
"#;

fn plan() -> String {
    ["patch", "rewrite", "by-the-book"]
        .map(|id| {
            format!(
                "[[strategy]]\nid = \"{id}\"\nworker = \"command\"\nrun = [\"dogwatch\", \"practice\", \"convert\"]\n"
            )
        })
        .join("\n")
}

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    let text = replaced(&goal_text(stage.seed(), JOBS), STRATEGY, &plan())?;
    let text = replaced(&text, "repair_rounds = 4", "repair_rounds = 8")?;
    let text = replaced(
        &text,
        "[heartbeat]",
        "[spin]\nsame_check_failures = 3\nsame_change = 2\nrounds_without_pass = 6\n\n[heartbeat]",
    )?;
    let quiet = [
        "staging_failure = 0.0",
        "lost_reply_after_write = 0.0",
        "lost_reply_before_write = 0.0",
        "rate_limit = 0.0",
    ];
    let (painter, stubborn) = (JobId::from(PAINTER), JobId::from(STUBBORN));
    stage.set_worker(Arc::new(Circles {
        painter: painter.clone(),
        stubborn: stubborn.clone(),
    }));
    stage.adopt(&faults(&text, &quiet))?;
    stage.say(format!(
        "{JOBS} jobs; the first strategy fires at the wrong minute, whatever it tries"
    ));
    goal_alarm(stage)?;
    job_alarms(stage, &painter, &stubborn)?;
    overruled(stage, &stubborn)
}

fn alarms(stage: &Stage, of: Option<&JobId>) -> Result<Vec<SpinRow>, StoryError> {
    let mut all = stage.look(|moment| moment.view.spins(moment.goal))?;
    all.retain(|row| row.job.as_ref() == of);
    all.reverse();
    Ok(all)
}

fn tell(stage: &mut Stage, row: &SpinRow) {
    let whose = row
        .job
        .as_ref()
        .map_or("the goal", |job| job.as_str())
        .to_owned();
    let entries: Vec<String> = row.entries.iter().map(|seq| seq.0.to_string()).collect();
    let then = if row.next.is_some() {
        "another strategy"
    } else {
        "a person"
    };
    stage.say(format!(
        "alarm on {whose}: {}, {} ({} of {}; entries {}); then: {then}",
        row.rule,
        row.what,
        row.count,
        row.limit,
        entries.join(", ")
    ));
}

fn goal_alarm(stage: &mut Stage) -> Result<(), StoryError> {
    stage.until("the goal's alarm", |moment| {
        Ok(moment
            .view
            .spins(moment.goal)?
            .iter()
            .any(|row| row.job.is_none()))
    })?;
    let found = alarms(stage, None)?;
    for row in &found {
        tell(stage, row);
    }
    let right = found.first().is_some_and(|row| {
        row.rule == SpinKind::RoundsWithoutPass
            && row.next == Some(1)
            && row.entries.len() as u64 == row.count
    });
    stage.check(
        "a goal without a new pass changes its strategy, and the alarm names each round",
        right,
        format!("{} alarms", found.len()),
    );
    Ok(())
}

fn job_alarms(stage: &mut Stage, painter: &JobId, stubborn: &JobId) -> Result<(), StoryError> {
    stage.until("every job is reconciled or a person's", |moment| {
        let open = moment.count(JobState::Pending)?
            + moment.count(JobState::Working)?
            + moment.count(JobState::Staged)?;
        Ok(open == 0)
    })?;
    let own = alarms(stage, Some(painter))?;
    for row in &own {
        tell(stage, row);
    }
    let once = own.len() == 1
        && own
            .iter()
            .all(|row| row.rule == SpinKind::SameChange && row.next.is_some());
    let state = state_of(stage, painter)?;
    stage.check(
        "the same change under new paint is known again; one change of strategy is enough",
        once && state == JobState::AwaitingApproval,
        format!("{} alarms, {painter} is {state}", own.len()),
    );
    let own = alarms(stage, Some(stubborn))?;
    for row in &own {
        tell(stage, row);
    }
    let twice = own.len() == 2
        && own
            .iter()
            .all(|row| row.rule == SpinKind::SameCheck && row.count == row.limit)
        && own.first().is_some_and(|row| row.next.is_some())
        && own.last().is_some_and(|row| row.next.is_none());
    let state = state_of(stage, stubborn)?;
    stage.check(
        "a check that fails again and again: caught at its threshold, one change of strategy, then a person",
        twice && state == JobState::HandedOver,
        format!("{} alarms, {stubborn} is {state}", own.len()),
    );
    Ok(())
}

fn state_of(stage: &Stage, job: &JobId) -> Result<JobState, StoryError> {
    let facts = stage.look(|moment| moment.view.facts(moment.goal, job))?;
    facts
        .map(|facts| facts.state)
        .ok_or_else(|| StoryError::Script(format!("there is no job {job}")))
}

fn overruled(stage: &mut Stage, stubborn: &JobId) -> Result<(), StoryError> {
    let operator = Account("ola".to_owned());
    let last = alarms(stage, Some(stubborn))?;
    let Some(alarm) = last.last().cloned() else {
        return Err(StoryError::Script("no alarm to overrule".to_owned()));
    };
    let act = Act::OverruleSpin {
        spin: alarm.seq,
        everywhere: false,
        reason: "it is closing in: one minute nearer each time".to_owned(),
    };
    let (accepted, why) = stage.act(stubborn, act, &operator)?;
    stage.say(format!("ola overrules alarm {}: {why}", alarm.seq.0));
    stage.until("the job goes on", |moment| {
        let facts = moment.view.facts(moment.goal, stubborn)?;
        Ok(facts.is_some_and(|one| {
            matches!(one.state, JobState::AwaitingApproval | JobState::HandedOver)
        }))
    })?;
    let state = state_of(stage, stubborn)?;
    stage.say(format!("{stubborn} is {state}"));
    stage.check(
        "an operator overrules, and the job goes on to its end",
        accepted && state == JobState::AwaitingApproval,
        format!("{why}; {state}"),
    );
    let rules = stage.look(|moment| moment.view.overrules(moment.goal))?;
    let Some(rule) = rules.first().cloned() else {
        return Err(StoryError::Script(
            "no overruling is in the ledger".to_owned(),
        ));
    };
    let act = Act::EnforceSpin { overrule: rule.seq };
    let (accepted, why) = stage.act(stubborn, act, &operator)?;
    stage.say(format!("ola takes it back: {why}"));
    let ended = stage.look(|moment| moment.view.overrules(moment.goal))?;
    stage.check(
        "the overruling is a rule of the goal, and can be taken back",
        accepted && ended.iter().all(|one| one.ended_at.is_some()),
        why,
    );
    let all = stage.look(|moment| moment.view.spins(moment.goal))?;
    for rule in SpinKind::ALL {
        let count = all.iter().filter(|row| row.rule == *rule).count();
        stage.figure(&format!("alarms_{rule}"), count);
    }
    Ok(())
}
