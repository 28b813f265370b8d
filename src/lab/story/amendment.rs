//! The owner changes the rules at the start of day 3: a report comparison more, fifteen jobs fewer.
//!
//! A pilot of 45 jobs was let through under version 1 and reconciled; everything else was held back. The
//! preview says what version 2 means, to the number, from what was measured; then it takes force, and only
//! what it asks anew is judged again.

use super::{Stage, Story, StoryError, StoryWorker, at, faults, replaced};
use crate::contract::{Contract, Strategy, parse_goal};
use crate::engine::amend::{Choice, Impact, preview_from};
use crate::ledger::event::{Act, Entry, Event};
use crate::ledger::facts::JobFacts;
use crate::ledger::{Batch, Ledger, decide};
use crate::model::{Account, DecisionId, Digest, JobId, JobState, TimeMs, digest_bytes};
use crate::worker::{PrepareFailure, PrepareReply, PrepareRequest, Worker};
use crate::world::practice::goal::goal_text;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The story.
pub const STORY: Story = Story {
    name: "amendment",
    sentence: "On day 3 the owner asks for a report comparison and retires 15 jobs; only what is new is judged again.",
    play,
};

/// Jobs of the goal: such as write a table, that nothing holds and that the baseline has a form for.
const JOBS: usize = 120;
/// Rows of the scenario from which those are listed.
const ROWS: usize = 240;
/// Jobs of the pilot that the baseline converts rightly.
const PILOT: usize = 45;

/// Pilot jobs that nothing below was started for: asked again on day 2, with an owner's words for the config.
const ASKED_AGAIN: [&str; 7] = [
    "rpt_headcount",
    "rpt_ontime_week",
    "mart_hours_dept_week",
    "dim_product_0002",
    "fct_returns",
    "dim_fx",
    "exp_supplier_score",
];

/// Jobs whose own defects show in the pilot; the owner holds them back afterwards.
const FLAWED: [&str; 4] = [
    "stg_customers",
    "dim_store",
    "fct_spend",
    "dim_customer_hist",
];

/// Reconciled in the pilot, and retired.
const RETIRED_DONE: [&str; 5] = [
    "mart_customer_value",
    "mart_overtime",
    "stg_tickets_0002",
    "fct_timesheets_0002",
    "mart_sales_daily_store_0002",
];

/// Untouched, and retired.
const RETIRED_UNTOUCHED: [&str; 10] = [
    "exp_price_list",
    "exp_bank_file",
    "exp_tax_month",
    "exp_stock_feed",
    "exp_payroll",
    "exp_web_audience",
    "mart_credit_watch",
    "mart_top_products",
    "mart_roi_month",
    "mart_new_customers_week",
];

const CATALOG: &str =
    "select name, sql, relative from report_numbers where table_name = '{table}' order by name";

/// The baseline, with an operator's words as a line of the config.
struct Noting;

impl Worker for Noting {
    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        let mut reply = StoryWorker.prepare(strategy, request)?;
        if let Some(words) = &request.comment {
            reply.config = format!("# {words}\n{}", reply.config);
        }
        Ok(reply)
    }
}

fn play(stage: &mut Stage) -> Result<(), StoryError> {
    let first = first_version(stage.seed())?;
    stage.set_worker(Arc::new(Noting));
    stage.adopt(&first)?;
    pilot(stage)?;
    asked_again(stage)?;
    stage.until_time(at(3, 9, 0)?)?;
    let second = second_version(&first)?;
    let before = facts(stage)?;
    let impact = preview(stage, &first, &second, None)?;
    tell_preview(stage, &impact);
    let short = preview(stage, &first, &second, Some(120))?;
    tell_short(stage, &short);
    amend(stage, &first, &second)?;
    afterwards(stage, &before, &impact)
}

fn first_version(seed: u64) -> Result<String, StoryError> {
    let text = scripts_only(&goal_text(seed, ROWS))?;
    let text = replaced(&text, "limit = 600", "limit = 300")?;
    let text = format!("{text}\ntables_only = true\nfirst = {JOBS}\nwithout = [\"oozie\"]\n");
    // Chance is left out, so that the pilot's numbers are the story's and not the seed's.
    let none = [
        "staging_failure = 0.0",
        "lost_reply_after_write = 0.0",
        "lost_reply_before_write = 0.0",
        "rate_limit = 0.0",
    ];
    Ok(faults(&text, &none))
}

/// The plan without its models: what fails is the owner's at once, and its queries are the story's.
fn scripts_only(text: &str) -> Result<String, StoryError> {
    let parts = text
        .split_once("[[strategy]]\nid = \"repair\"")
        .and_then(|(head, rest)| {
            let (_, world) = rest.split_once("[world.practice]")?;
            Some(format!("{head}[world.practice]{world}"))
        });
    parts.ok_or_else(|| StoryError::Script("the goal file has no repairing strategy".to_owned()))
}

fn second_version(first: &str) -> Result<String, StoryError> {
    let quoted = |names: &[&str]| {
        let all: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        all.join(", ")
    };
    let added = format!(
        "[[accept]]\nid = \"reports\"\ncheck = \"report\"\nqueries = 3\napplies_to = \"has_reports\"\n\
         catalog = \"{CATALOG}\"\n\n[approval.cutover]"
    );
    let text = replaced(first, "[approval.cutover]", &added)?;
    let retired = format!(
        "depends_on = \"source\"\nretire = [\n  {{ jobs = [{}], reason = \"no longer read since the reorganisation\" }},\n  \
         {{ jobs = [{}], reason = \"partner contracts and programmes that end this quarter\" }},\n]",
        quoted(&RETIRED_DONE),
        quoted(&RETIRED_UNTOUCHED)
    );
    replaced(&text, "depends_on = \"source\"", &retired)
}

/// Lets the pilot through under version 1 and holds everything else back.
fn pilot(stage: &mut Stage) -> Result<(), StoryError> {
    let listed = listed(stage)?;
    let chosen = chosen(&listed)?;
    let held: Vec<JobId> = listed
        .iter()
        .map(|(id, _)| id)
        .filter(|id| !chosen.contains(id.as_str()))
        .cloned()
        .collect();
    stage.say(format!(
        "{JOBS} jobs under version 1, 6 queries each; a pilot of {} goes first, {} are held back",
        chosen.len(),
        held.len()
    ));
    let pauses = held.iter().map(|id| (id.clone(), Act::Pause)).collect();
    submit(stage, pauses)?;
    let flawed = FLAWED.len() as u64;
    stage.until("the pilot is through", |moment| {
        Ok(moment.count(JobState::AwaitingApproval)? == PILOT as u64
            && moment.count(JobState::HandedOver)? == flawed)
    })?;
    stage.say(format!(
        "{PILOT} jobs reconciled; {flawed} did not, each for a defect of its own"
    ));
    let mut again = Vec::new();
    for id in FLAWED {
        again.push((JobId::from(id), Act::Retry));
        again.push((JobId::from(id), Act::Pause));
    }
    submit(stage, again)?;
    stage.say("the owner takes those back and holds them until somebody has looked");
    stage.until("they are held", |moment| {
        Ok(moment.count(JobState::HandedOver)? == 0)
    })
}

/// Day 2: an owner's words for seven jobs make new configs, which are judged again.
fn asked_again(stage: &mut Stage) -> Result<(), StoryError> {
    stage.until_time(at(2, 9, 0)?)?;
    let mut acts = Vec::new();
    for id in ASKED_AGAIN {
        let id = JobId::from(id);
        let text = "owner: data office".to_owned();
        acts.push((id.clone(), Act::Comment { text }));
        let reason = "its owner must be named".to_owned();
        acts.push((id.clone(), Act::HandOver { reason }));
        acts.push((id, Act::Retry));
    }
    submit(stage, acts)?;
    stage.until("they are back", |moment| {
        // Counting states is cheap; facts are read when it can be over.
        if moment.count(JobState::AwaitingApproval)? != PILOT as u64 {
            return Ok(false);
        }
        let all = moment.view.all_facts(moment.goal)?;
        Ok(all.iter().map(|one| one.queries).sum::<u64>() >= 322)
    })?;
    let measure = stage.look(|moment| moment.view.rerun_measure(moment.goal))?;
    stage.say(format!(
        "{} jobs got a new config and were judged again: {} queries on top of {}, {:.0} %",
        ASKED_AGAIN.len(),
        measure.again,
        measure.first,
        measure.again as f64 / measure.first.max(1) as f64 * 100.0
    ));
    Ok(())
}

/// The jobs as the source lists them, with what each depends on.
fn listed(stage: &Stage) -> Result<Vec<(JobId, Vec<JobId>)>, StoryError> {
    let text = std::fs::read_to_string(stage.dir().join("practice.toml"))
        .map_err(|error| StoryError::Place(error.to_string()))?;
    let goal = parse_goal(&text, stage.dir(), None)?;
    let world = crate::world::open_world(&goal.contract.world, &goal.base_dir)
        .map_err(|error| StoryError::Script(error.to_string()))?;
    let jobs = world
        .source
        .list()
        .map_err(|error| StoryError::Script(error.to_string()))?;
    Ok(jobs
        .value
        .into_iter()
        .map(|job| (job.id, job.depends_on))
        .collect())
}

/// The pilot: the first jobs that need no judgement and stand on nothing else, with those that must be
/// among them, and the flawed ones. Which those are is the story's knowledge, not the engine's.
fn chosen(listed: &[(JobId, Vec<JobId>)]) -> Result<BTreeSet<String>, StoryError> {
    let rows =
        crate::world::practice::legacy::read_rows(crate::world::practice::scenario::JOBS_CSV)
            .map_err(StoryError::Script)?;
    let mechanical: BTreeMap<&str, bool> = rows
        .iter()
        .map(|row| (row.job.as_str(), row.cls == "mechanical"))
        .collect();
    let needs: BTreeMap<&str, &Vec<JobId>> = listed
        .iter()
        .map(|(id, needs)| (id.as_str(), needs))
        .collect();
    let mut plain: Vec<&str> = Vec::new();
    // Upstream first: each pass takes what stands on what was taken.
    for _ in 0..16 {
        for (id, needs_of) in listed {
            let base = id.as_str().trim_end_matches("_0002");
            let known = mechanical.get(base).copied().unwrap_or(false);
            let stands = needs_of
                .iter()
                .filter(|up| needs.contains_key(up.as_str()))
                .all(|up| plain.contains(&up.as_str()));
            if known && stands && !plain.contains(&id.as_str()) {
                plain.push(id.as_str());
            }
        }
    }
    let must: Vec<&str> = ASKED_AGAIN.iter().chain(&RETIRED_DONE).copied().collect();
    if let Some(missing) = must.iter().find(|id| !plain.contains(id)) {
        return Err(StoryError::Script(format!(
            "{missing} is not among the plain jobs"
        )));
    }
    // From the end those that nothing needs, until the pilot has its size.
    while plain.len() > PILOT {
        let needed = |id: &str| {
            let mut below = plain.iter().filter_map(|other| needs.get(other));
            below.any(|list| list.iter().any(|up| up.as_str() == id))
        };
        let spare = plain
            .iter()
            .rposition(|id| !must.contains(id) && !needed(id));
        let Some(at) = spare else {
            return Err(StoryError::Script(
                "the pilot cannot be made smaller".to_owned(),
            ));
        };
        plain.remove(at);
    }
    let flawed = FLAWED.iter().copied();
    Ok(plain.into_iter().chain(flawed).map(str::to_owned).collect())
}

/// Submits decisions in the owner's name, as another process would; the engine answers them in order.
fn submit(stage: &mut Stage, acts: Vec<(JobId, Act)>) -> Result<Vec<DecisionId>, StoryError> {
    submit_with(stage, acts, &[])
}

pub(super) fn submit_with(
    stage: &mut Stage,
    acts: Vec<(JobId, Act)>,
    bodies: &[&[u8]],
) -> Result<Vec<DecisionId>, StoryError> {
    let owner = stage.owner();
    let mut batch = Batch::default();
    for body in bodies {
        batch.blob(body);
    }
    let mut ids = Vec::new();
    for (index, (job, act)) in acts.into_iter().enumerate() {
        let entry = entry(stage, &job, act, &owner, index);
        if let Event::DecisionSubmitted { decision, .. } = &entry.event {
            ids.push(decision.clone());
        }
        batch.entries.push(entry);
    }
    Ledger::open_for_decisions(&stage.ledger_path())?.append(&batch)?;
    Ok(ids)
}

/// Time and place in the list keep decisions apart; no process id, so that a seed gives one ledger.
fn entry(stage: &Stage, job: &JobId, act: Act, owner: &Account, index: usize) -> Entry {
    let salt = TimeMs(stage.now().0.saturating_add(index as i64));
    decide::entry(stage.goal_id(), job, act, owner, "", stage.now(), salt)
}

fn contract(stage: &Stage, text: &str) -> Result<Contract, StoryError> {
    let goal = parse_goal(text, stage.dir(), None)?;
    Ok(goal.contract.resolve_me(&stage.owner()))
}

fn preview(
    stage: &Stage,
    first: &str,
    second: &str,
    left_today: Option<u64>,
) -> Result<Impact, StoryError> {
    let (old, new) = (contract(stage, first)?, contract(stage, second)?);
    stage.look(|moment| {
        let row = moment.view.contract(moment.goal)?;
        let version = row.map_or(crate::model::ContractVersion(1), |row| row.version);
        preview_from(moment.view, &old, version, &new, moment.now, left_today)
    })
}

fn tell_preview(stage: &mut Stage, impact: &Impact) {
    stage.say("start of working day 3: the owner previews version 2");
    for line in impact.lines() {
        stage.say(line);
    }
    let with_staging = impact
        .cancelled
        .iter()
        .filter(|one| !one.staging.is_empty())
        .count();
    let again: f64 = impact.again.iter().map(|one| one.queries).sum();
    let spare = impact
        .quota
        .as_ref()
        .and_then(|one| one.spare)
        .unwrap_or(0.0);
    stage.figure("cancelled", impact.cancelled.len());
    stage.figure("cancelled_with_staging", with_staging);
    stage.figure("kept", impact.kept);
    stage.figure("kept_queries", again);
    stage.figure("not_done", impact.not_done.jobs);
    stage.figure("not_done_queries", impact.not_done.queries);
    stage.figure("sunk_queries", impact.sunk_queries());
    stage.figure("rerun_rate", impact.reruns.rate);
    stage.figure("rerun_queries", impact.reruns.queries);
    stage.figure("need", impact.need);
    stage.figure(
        "left",
        impact.quota.as_ref().and_then(|one| one.left).unwrap_or(0),
    );
    stage.figure("spare", spare);
    stage.figure("approvals", impact.approvals.jobs);
    stage.figure("approval_minutes", impact.approvals.minutes);
    stage.figure("requests_void", impact.voided.len());
    let measured = impact.reruns.measured_from.is_some();
    stage.check(
        "the rerun rate is a measured one",
        measured,
        format!("{:?}", impact.reruns),
    );
}

fn tell_short(stage: &mut Stage, impact: &Impact) {
    stage.say("if only 120 queries were left today:");
    let spare = impact
        .quota
        .as_ref()
        .and_then(|one| one.spare)
        .unwrap_or(0.0);
    for line in impact
        .lines()
        .into_iter()
        .skip_while(|line| line != "choices")
    {
        stage.say(line);
    }
    stage.figure("short_by_with_120_left", -spare);
    for choice in &impact.choices {
        match choice {
            Choice::MoreQuota { to, .. } => stage.figure("choice_quota", *to),
            Choice::LaterDeadline { days, .. } => stage.figure("choice_days_later", *days),
            Choice::FewerJobs { jobs, .. } => stage.figure("choice_fewer_jobs", *jobs),
            Choice::WithoutClause { saves, .. } => {
                stage.figure("choice_without_clause_saves", *saves)
            }
            Choice::MoreApproverTime { .. } => {}
        }
    }
    let has = impact.choices.len();
    stage.check(
        "what is short comes with choices",
        has >= 3,
        format!("{has} choices"),
    );
}

/// The amendment itself, refused for anybody but the owner.
fn amend(stage: &mut Stage, first: &str, second: &str) -> Result<(), StoryError> {
    stage.file("practice-2.toml", second)?;
    let (old, new) = (contract(stage, first)?, contract(stage, second)?);
    let act = |base: &Digest| Act::Amend {
        from: crate::model::ContractVersion(1),
        base: base.clone(),
        contract: new.digest.clone(),
        text: digest_bytes(second.as_bytes()),
        base_dir: stage.dir().display().to_string(),
        overrides: Vec::new(),
        answers: Vec::new(),
        why: "controlling compares the reports from now on".to_owned(),
    };
    let (right, stale) = (act(&old.digest), act(&digest_bytes(b"another version")));
    // The text lies in the ledger before anybody names it.
    let ids = submit_with(stage, vec![(JobId::from(""), stale)], &[second.as_bytes()])?;
    stage.until("the stale one is answered", |moment| {
        let row = ids
            .first()
            .map(|id| moment.view.decision(id))
            .transpose()?
            .flatten();
        Ok(row.is_some_and(|row| row.state == "refused"))
    })?;
    let (accepted, why) = stage.act(
        &JobId::from(""),
        right.clone(),
        &Account("somebody".to_owned()),
    )?;
    stage.say(format!("somebody else tries: {why}"));
    stage.check("only the owner amends", !accepted, why);
    let (accepted, why) = stage.act(&JobId::from(""), right, &stage.owner())?;
    stage.say(format!("the owner: {why}"));
    stage.check("the owner's amendment takes force", accepted, why);
    Ok(())
}

fn facts(stage: &Stage) -> Result<BTreeMap<JobId, JobFacts>, StoryError> {
    let all = stage.look(|moment| moment.view.all_facts(moment.goal))?;
    Ok(all
        .into_iter()
        .map(|facts| (facts.id.clone(), facts))
        .collect())
}

/// What version 2 really took: kept jobs run the new clause and nothing else.
fn afterwards(
    stage: &mut Stage,
    before: &BTreeMap<JobId, JobFacts>,
    impact: &Impact,
) -> Result<(), StoryError> {
    let kept: BTreeSet<JobId> = before
        .values()
        .filter(|facts| facts.state == JobState::AwaitingApproval)
        .map(|facts| facts.id.clone())
        .filter(|id| impact.cancelled.iter().all(|one| one.job != *id))
        .collect();
    let of = kept.clone();
    stage.until("kept jobs are reconciled again", move |moment| {
        if moment.count(JobState::AwaitingApproval)? != of.len() as u64 {
            return Ok(false);
        }
        let all = moment.view.all_facts(moment.goal)?;
        let open = all.iter().filter(|one| of.contains(&one.id));
        Ok(open
            .into_iter()
            .all(|one| one.state == JobState::AwaitingApproval && one.passed() == 4))
    })?;
    let now = facts(stage)?;
    let (mut queries, mut restaged, mut cancelled) = (0, 0, 0);
    for (id, was) in before {
        let Some(is) = now.get(id) else { continue };
        if kept.contains(id) {
            queries += is.queries - was.queries;
            restaged += is.tries_total - was.tries_total;
        }
        cancelled += u64::from(is.state == JobState::Cancelled);
    }
    stage.say(format!(
        "{} kept jobs are reconciled again: {queries} queries, {restaged} staged again; {cancelled} jobs cancelled",
        kept.len()
    ));
    stage.figure("kept_queries_spent", queries);
    stage.figure("kept_staged_again", restaged);
    stage.figure("cancelled_in_fact", cancelled);
    let foreseen: f64 = impact.again.iter().map(|one| one.queries).sum();
    stage.check(
        "kept jobs ran the new clause and nothing else",
        (queries as f64 - foreseen).abs() < 0.5 && restaged == 0,
        format!("{queries} queries, {restaged} staged again"),
    );
    let reasons = now.values().filter(|one| one.state == JobState::Cancelled);
    let said = reasons
        .into_iter()
        .all(|one| one.reason.starts_with("retired by the contract: "));
    stage.check(
        "cancelled jobs say why",
        said && cancelled == 15,
        cancelled.to_string(),
    );
    let voided = stage.look(|moment| {
        let rows = moment.view.approvals(moment.goal, 1_000)?;
        Ok(rows
            .iter()
            .filter(|row| row.state == "void" && row.outcome.contains("clauses"))
            .count())
    })?;
    stage.check(
        "requests of kept jobs say which part changed",
        voided == kept.len(),
        format!("{voided} of {}", kept.len()),
    );
    the_rest(stage, before)
}

/// Everything that was held goes on, and the owner decides in working hours.
fn the_rest(stage: &mut Stage, before: &BTreeMap<JobId, JobFacts>) -> Result<(), StoryError> {
    let resumed: Vec<(JobId, Act)> = before
        .values()
        .filter(|facts| facts.paused)
        .map(|facts| (facts.id.clone(), Act::Resume))
        .collect();
    stage.say(format!(
        "{} held jobs go on; the owner decides from now on",
        resumed.len()
    ));
    submit(stage, resumed)?;
    stage.stop()?;
    stage.owner_decides(true);
    stage.until_end()?;
    let (cut_over, handed_over, cancelled) = stage.look(|moment| {
        Ok((
            moment.count(JobState::CutOver)?,
            moment.count(JobState::HandedOver)?,
            moment.count(JobState::Cancelled)?,
        ))
    })?;
    let spent: u64 = facts(stage)?.values().map(|one| one.queries).sum();
    let until_then: u64 = before.values().map(|one| one.queries).sum();
    let since = spent - until_then;
    stage.say(format!(
        "every job has ended: {cut_over} cut over, {handed_over} handed over, {cancelled} cancelled; {since} queries \
         since the amendment"
    ));
    stage.figure("cut_over", cut_over);
    stage.figure("handed_over", handed_over);
    stage.figure("queries_since", since);
    let total = cut_over + handed_over + cancelled;
    stage.check(
        "every job has ended",
        total == JOBS as u64,
        total.to_string(),
    );
    let in_time = stage.now() < at(5, 18, 0)?;
    stage.check(
        "the rest was done before the deadline",
        in_time,
        format!("{} queries", since),
    );
    Ok(())
}
