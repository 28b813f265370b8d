//! A scenario's contract as a goal file, and as the oracle's terms.

use super::law::Law;
use super::oracle::Terms;
use super::run::START;
use super::scenario::{Scenario, TOKENS_AN_ATTEMPT};
use super::world::{HAS_TABLE, SimWorld};
use crate::check::checker;
use crate::contract::{Goal, GoalError, parse_goal};
use crate::engine::approval::gate_terms;
use crate::engine::drift::Resume;
use crate::model::{Account, Action, JobId, TimeMs};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Who owns and approves.
pub(super) const OWNER: &str = "owner";
/// Who has no say.
pub(super) const STRANGER: &str = "mallory";
/// The goal.
pub(super) const GOAL: &str = "simulated";

/// The goal file's text.
pub(super) fn text(scenario: &Scenario, law: &Law) -> String {
    let rules = &scenario.rules;
    let expires = rules.expires_minutes.map_or(String::new(), |minutes| {
        format!("expires = \"{minutes}m\"\n")
    });
    let quota = law.quota.map_or(String::new(), |limit| {
        format!("[budget.warehouse_queries]\nlimit = {limit}\nper = \"day\"\n")
    });
    let mut text = format!(
        r#"[goal]
id = "{GOAL}"
objective = "Every simulated job is moved."
owner = "@me"
deadline = "2024-05-01T18:00:00Z"
workdays = "mon-sun 00:00-24:00"
[[accept]]
id = "run"
check = "run_log"
[[accept]]
id = "rows"
check = "row_count"
applies_to = "{HAS_TABLE}"
{empty}{added}[approval.cutover]
required = {approval}
by = ["@me"]
{expires}{quota}[limits]
staging_tries = {tries}
repair_rounds = {rounds}
concurrent_jobs = {jobs}
[spin]
same_check_failures = {same_check}
same_change = {same_change}
rounds_without_pass = {rounds_without_pass}
tokens_without_pass = {tokens_without_pass}
[heartbeat]
every = "{hours}h"
"#,
        approval = rules.approval,
        tries = rules.staging_tries,
        rounds = rules.repair_rounds,
        jobs = rules.concurrent_jobs,
        hours = rules.heartbeat_hours,
        empty = if law.allow_empty {
            "allow_empty = true\n"
        } else {
            ""
        },
        added = added(law),
        same_check = rules.spin.same_check,
        same_change = rules.spin.same_change,
        rounds_without_pass = rules.spin.rounds,
        tokens_without_pass = rules.spin.tokens,
    );
    text.push_str(&limits(scenario, law));
    text.push_str(&retired(law));
    for (index, repairs) in rules.strategies.iter().enumerate() {
        let worker = if *repairs { "command" } else { "script" };
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "[[strategy]]\nid = \"s{index}\"\nworker = \"{worker}\"\nrun = [\"true\"]\n"
        );
        if *repairs && rules.agents {
            let _ = write!(
                text,
                "profile = \"claude\"\nprovider = \"none\"\nmodel = \"none\"\nattempt_tokens = {TOKENS_AN_ATTEMPT}\n"
            );
        }
    }
    if rules.agents {
        text.push_str("[provider.none]\nprotocol = \"anthropic\"\nbase_url = \"http://127.0.0.1:9\"\nauth = \"none\"\n[budget.money]\nlimit = \"none\"\n");
    }
    for port in ["source", "target", "warehouse"] {
        let _ = write!(
            text,
            "[world.{port}]\nadapter = \"command\"\nrun = [\"true\"]\n"
        );
    }
    text
}

/// Clauses that amendments added.
fn added(law: &Law) -> String {
    let clause = |number| {
        format!(
            "[[accept]]\nid = \"rows{number}\"\ncheck = \"row_count\"\napplies_to = \"{HAS_TABLE}\"\n"
        )
    };
    (0..law.added).map(clause).collect()
}

/// Jobs that amendments gave up.
fn retired(law: &Law) -> String {
    let job = |number| {
        format!("[[jobs.retire]]\njobs = [\"job-{number:03}\"]\nreason = \"nobody needs it\"\n")
    };
    law.retired.iter().map(job).collect()
}

/// What keeps cutovers and side effects back.
fn limits(scenario: &Scenario, law: &Law) -> String {
    let rules = &scenario.rules;
    let mut text = String::new();
    if let Some(limit) = law.actions_a_day {
        text += &format!("[budget.external_actions]\nlimit = {limit}\nper = \"day\"\n");
    } else if let Some(limit) = law.actions_in_all {
        text += &format!("[budget.external_actions]\nlimit = {limit}\n");
    }
    if let Some((from, to)) = rules.freeze {
        let shown = |hours: i64| {
            let at = START.plus_ms(hours * 3_600_000).timestamp();
            at.to_zoned_datetime(jiff::tz::TimeZone::UTC)
                .strftime("%Y-%m-%d %H:%M")
                .to_string()
        };
        let (from, to) = (shown(from), shown(to));
        text += &format!("[cutover]\nfreeze = [\"{from} .. {to}\"]\n");
    }
    if let Some((clean, then)) = rules.waves {
        text += &format!("[cutover.waves]\nclean = {clean}\nthen = {then}\n");
    }
    text
}

/// Parses it, with the owner as `@me`.
pub(super) fn parse(text: &str) -> Result<Goal, GoalError> {
    let mut goal = parse_goal(text, Path::new("/simulation"), None)?;
    goal.contract = goal.contract.resolve_me(&Account(OWNER.to_owned()));
    Ok(goal)
}

/// The same for the oracle.
pub(super) fn terms(scenario: &Scenario, law: &Law, goal: &Goal, world: &SimWorld) -> Terms {
    let clauses = goal.contract.accept.iter().filter_map(|clause| {
        let checker = checker(&clause.check)?.digest(clause, &goal.base_dir);
        Some((clause.id.clone(), (clause.digest.clone(), checker)))
    });
    let applies = goal.contract.accept.iter();
    Terms {
        digest: goal.contract.digest.clone(),
        owner: OWNER.to_owned(),
        applies: applies
            .map(|clause| (clause.id.clone(), clause.id.as_str() != "run"))
            .collect(),
        retired: law
            .retired
            .iter()
            .map(|number| JobId(format!("job-{number:03}")))
            .collect(),
        spin: scenario.rules.spin,
        actions_in_all: law.actions_in_all.filter(|_| law.actions_a_day.is_none()),
        contract: gate_terms(&goal.contract),
        approval: scenario.rules.approval,
        approvers: BTreeSet::from([OWNER.to_owned()]),
        queries_a_day: law.quota,
        staging_tries: scenario.rules.staging_tries as u32,
        clauses: clauses.collect(),
        proven: [Action::Stage, Action::CutOver]
            .into_iter()
            .filter(|action| world.keeps_one(*action))
            .map(Action::word)
            .collect(),
        cyclic: cyclic(scenario),
        heartbeat_ms: goal.contract.heartbeat.every_ms,
        actions_a_day: law.actions_a_day,
        waves: scenario.rules.waves,
        freeze: scenario
            .rules
            .freeze
            .map(|(from, to)| (hours(from), hours(to))),
        lists_production: scenario.rules.lists_production,
        accepts_by_itself: scenario.rules.resume == Resume::Auto,
    }
}

fn hours(hours: i64) -> TimeMs {
    START.plus_ms(hours * 3_600_000)
}

/// Jobs that reach themselves.
fn cyclic(scenario: &Scenario) -> BTreeSet<JobId> {
    let upstream: BTreeMap<u32, &[u32]> = scenario
        .jobs
        .iter()
        .map(|job| (job.number, job.upstream.as_slice()))
        .collect();
    let reaches_itself = |start: u32| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<u32> = upstream.get(&start).copied().unwrap_or_default().to_vec();
        while let Some(next) = open.pop() {
            if next == start {
                return true;
            }
            if seen.insert(next) {
                open.extend(upstream.get(&next).copied().unwrap_or_default());
            }
        }
        false
    };
    let jobs = scenario
        .jobs
        .iter()
        .filter(|job| reaches_itself(job.number));
    jobs.map(|job| JobId(job.id())).collect()
}
