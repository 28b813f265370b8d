//! The sections with a fixed set of keys.

use super::section::{Section, nearest};
use super::units;
use crate::contract::types::{
    ApprovalRule, Budgets, HeartbeatRule, JobsRule, Limits, RenewingBudget, Soak, SpinRule,
    TotalBudget, Workdays,
};
use crate::model::{Account, GoalId, TimeMs, WAREHOUSE_QUERIES};
use std::collections::BTreeMap;
use std::path::PathBuf;

const MAX_OBJECTIVE_CHARS: usize = 2_000;
const MAX_LIST: usize = 100;
/// A deadline that is left out on purpose.
const NO_DEADLINE: &str = "none";
const DEFAULT_WORKDAYS: &str = "mon-fri 09:00-18:00";
const DEFAULT_HEARTBEAT_MS: i64 = 15 * 60_000;
const DEFAULT_HANDOFF_PERCENT: u8 = 80;
/// Budgets with a wall over the whole goal.
const TOTAL_BUDGETS: [&str; 4] = ["tokens", "money", "wall_clock", "external_actions"];
/// Walls that stand when the contract says nothing: nobody wants to find out later what a loop over a paid
/// model has cost. What renews, and what the world counts, has no number that fits every goal.
const DEFAULT_TOTALS: [(&str, f64); 2] = [("tokens", 30_000_000.0), ("money", 100.0)];
/// A wall that is left out on purpose.
const NO_LIMIT: &str = "none";
/// Budgets that renew.
const DAILY_BUDGETS: [&str; 2] = [WAREHOUSE_QUERIES, "external_actions"];
const WAKES: [&str; 3] = ["approval", "quota_reset", "operation"];
const WAKE_PREFIXES: [&str; 3] = ["event:", "metric:", "file:"];

/// `[goal]`.
pub(super) struct Head {
    pub(super) id: GoalId,
    pub(super) objective: String,
    pub(super) owner: Account,
    pub(super) deadline: Option<TimeMs>,
    pub(super) workdays: Workdays,
}

pub(super) fn head(top: &Section<'_>) -> Head {
    let mut head = Head {
        id: GoalId(String::new()),
        objective: String::new(),
        owner: Account(String::new()),
        deadline: None,
        workdays: default_workdays(),
    };
    let Some(goal) = top.table("goal") else {
        if top.get("goal").is_none() {
            top.context.problem(
                &(0..0),
                "no [goal]: a goal file begins with id, objective and owner".to_owned(),
                None,
            );
        }
        return head;
    };
    if let Some(id) = goal.required_text("id", "a short name for the goal")
        && check_id(&goal, "id", id)
    {
        head.id = id.into();
    }
    if let Some(objective) = goal.required_text("objective", "one sentence that says the outcome") {
        if objective.chars().count() > MAX_OBJECTIVE_CHARS {
            let why = format!("`objective` is longer than {MAX_OBJECTIVE_CHARS} characters");
            goal.bad("objective", why, None);
        }
        head.objective = objective.to_owned();
    }
    let what = "the account that may amend the contract; \"@me\" is the one that adopts it";
    if let Some(owner) = goal.required_text("owner", what)
        && check_account(&goal, &goal.value_span("owner"), owner)
    {
        head.owner = Account(owner.to_owned());
    }
    let zone = deadline_and_zone(&goal, &mut head);
    if let Some(text) = goal.text("workdays") {
        match units::parse_workdays(text) {
            Ok(workdays) => head.workdays = workdays,
            Err(why) => goal.bad("workdays", format!("`workdays`: {why}"), None),
        }
    }
    head.workdays.zone = zone;
    goal.refuse_unknown();
    head
}

/// Fills the deadline and returns the goal's zone: `zone`, or the deadline's, or UTC.
fn deadline_and_zone(goal: &Section<'_>, head: &mut Head) -> String {
    let mut zone = None;
    let text = deadline_text(goal);
    match &text {
        Some(text) if text == NO_DEADLINE => {}
        None if goal.get("deadline").is_none() => goal.context.question(
            "The goal has no deadline: nothing will warn that it is late. Is that meant? (deadline = \"none\" \
             says so in the file.)"
                .to_owned(),
        ),
        _ => {}
    }
    if let Some(text) = text.filter(|text| text != NO_DEADLINE) {
        match units::parse_deadline(&text) {
            Ok((at, written)) => {
                head.deadline = Some(at);
                zone = written;
            }
            Err(why) => goal.bad("deadline", format!("`deadline`: {why}"), None),
        }
    }
    if let Some(text) = goal.text("zone") {
        match (units::check_zone(text), &zone) {
            (Err(why), _) => goal.bad("zone", format!("`zone`: {why}"), None),
            (Ok(()), Some(other)) if other != text => {
                let why = format!("`zone` is {text}, but the deadline's zone is {other}");
                goal.bad("zone", why, Some("write one of them".to_owned()));
            }
            (Ok(()), _) => zone = Some(text.to_owned()),
        }
    }
    zone.unwrap_or_else(|| {
        goal.context.question(
            "No time zone is named (`zone`, or in the deadline): working hours and daily quotas \
             follow UTC. Is that meant?"
                .to_owned(),
        );
        "UTC".to_owned()
    })
}

/// The deadline as text; TOML's own date-times are taken too, when they carry an offset.
fn deadline_text(goal: &Section<'_>) -> Option<String> {
    let item = goal.get("deadline")?;
    match item.as_datetime() {
        Some(value) => Some(value.to_string().replacen(' ', "T", 1)),
        None => goal.text("deadline").map(str::to_owned),
    }
}

fn default_workdays() -> Workdays {
    units::parse_workdays(DEFAULT_WORKDAYS).unwrap_or(Workdays {
        zone: String::new(),
        days: [true; 7],
        from_minute: 0,
        to_minute: 24 * 60,
    })
}

/// Whether an id can be typed in a shell and used as a file name.
pub(super) fn check_id(section: &Section<'_>, key: &str, id: &str) -> bool {
    let good = id.len() <= 64
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !good {
        let shown: String = id.chars().take(70).collect();
        section.bad(
            key,
            format!(
                "`{key}` is \"{shown}\"; expected 1 to 64 letters, digits, '-', '_' or '.', \
                 beginning with a letter or digit"
            ),
            None,
        );
    }
    good
}

fn check_account(section: &Section<'_>, span: &super::section::Span, name: &str) -> bool {
    let plain = !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+$".contains(&byte));
    let good = plain || name == "@me";
    if !good {
        let shown: String = name.chars().take(70).collect();
        section.context.problem(
            span,
            format!("\"{shown}\" is not an account name; expected an operating-system account or \"@me\""),
            None,
        );
    }
    good
}

/// `[jobs]`.
pub(super) fn jobs(top: &Section<'_>) -> JobsRule {
    let mut rule = JobsRule {
        file: None,
        depends_on_source: false,
        high_risk: Vec::new(),
        retire: Vec::new(),
    };
    let Some(jobs) = top.table("jobs") else {
        return rule;
    };
    if let Some(from) = jobs.text("from")
        && from != "source"
    {
        jobs.bad(
            "from",
            format!("`from` is \"{from}\"; expected \"source\""),
            Some("jobs of a table are named with file = \"jobs.csv\"".to_owned()),
        );
    }
    if let Some(file) = jobs.text("file") {
        if jobs.get("from").is_some() {
            let why = "[jobs] has both `from` and `file`; expected one of them".to_owned();
            jobs.bad("file", why, None);
        }
        rule.file = Some(PathBuf::from(file));
    }
    match jobs.text("depends_on") {
        Some("source") => rule.depends_on_source = true,
        Some("none") => jobs.context.note(
            "[jobs] depends_on = \"none\" is kept in the contract; the source's lineage holds all the same."
                .to_owned(),
        ),
        None => {}
        Some(other) => jobs.bad(
            "depends_on",
            format!("`depends_on` is \"{other}\"; expected \"source\" or \"none\""),
            None,
        ),
    }
    if let Some(patterns) = jobs.texts("high_risk", MAX_LIST) {
        rule.high_risk = patterns.into_iter().map(|(text, _)| text).collect();
    }
    rule.retire = super::retire::retire(&jobs);
    jobs.refuse_unknown();
    rule
}

/// `[approval.cutover]`.
pub(super) fn approval(top: &Section<'_>) -> ApprovalRule {
    let mut rule = ApprovalRule {
        required: true,
        by: Vec::new(),
        minutes_each: 3.0,
        expires_after_ms: None,
    };
    let cutover = top.table("approval").and_then(|approval| {
        let cutover = approval.table("cutover");
        approval.refuse_unknown();
        cutover
    });
    if let Some(cutover) = cutover {
        rule.required = cutover.boolean("required").unwrap_or(true);
        for (name, span) in cutover.texts("by", MAX_LIST).unwrap_or_default() {
            if check_account(&cutover, &span, &name) && !rule.by.contains(&Account(name.clone())) {
                rule.by.push(Account(name));
            }
        }
        if let Some(minutes) = cutover.positive("minutes_each", 10_000.0) {
            rule.minutes_each = minutes;
        }
        rule.expires_after_ms = cutover.duration_ms("expires", 60_000);
        cutover.refuse_unknown();
    }
    if !rule.required {
        top.context.question(
            "[approval.cutover] says required = false: production changes without a person's \
             decision. Do you agree? Who agreed is recorded."
                .to_owned(),
        );
    } else if rule.by.is_empty() {
        top.context.question(
            "[approval.cutover] names nobody in `by`: no cutover can ever be approved. Should the \
             owner be the approver?"
                .to_owned(),
        );
    }
    rule
}

/// `[soak]`.
pub(super) fn soak(top: &Section<'_>) -> Option<Soak> {
    let section = top.table("soak")?;
    let text = section.required_text("for", "how long, such as \"2 runs\" or \"3d\"");
    section.refuse_unknown();
    match units::parse_soak(text?) {
        Ok(soak) => {
            if matches!(soak, Soak::Runs(_)) {
                top.context.note(
                    "[soak] in runs is kept in the contract and not waited for: no adapter counts a job's runs in \
                     production. A duration, such as \"3d\", is waited for."
                        .to_owned(),
                );
            }
            Some(soak)
        }
        Err(why) => {
            section.bad("for", format!("`for` of [soak]: {why}"), None);
            None
        }
    }
}

/// `[budget.*]`.
pub(super) fn budgets(top: &Section<'_>) -> Budgets {
    let mut budgets = Budgets {
        total: BTreeMap::new(),
        per_day: BTreeMap::new(),
        handoff_at_percent: DEFAULT_HANDOFF_PERCENT,
    };
    let mut unlimited = Vec::new();
    if let Some(section) = top.table("budget") {
        named_budgets(&section, &mut budgets, &mut unlimited);
    }
    for (name, limit) in DEFAULT_TOTALS {
        if !unlimited.contains(&name) {
            budgets
                .total
                .entry(name.to_owned())
                .or_insert(TotalBudget { limit });
        }
    }
    budgets
}

/// What the section names; `unlimited` gets the names of budgets that shall have no wall.
fn named_budgets(section: &Section<'_>, budgets: &mut Budgets, unlimited: &mut Vec<&'static str>) {
    if let Some(handoff) = section.table("handoff_at") {
        if let Some(percent) = handoff.integer("percent", 1, 100) {
            budgets.handoff_at_percent = u8::try_from(percent).unwrap_or(DEFAULT_HANDOFF_PERCENT);
        }
        handoff.refuse_unknown();
    }
    for name in [
        "tokens",
        "money",
        "wall_clock",
        "external_actions",
        WAREHOUSE_QUERIES,
    ] {
        if let Some(budget) = section.table(name) {
            if budget.get("limit").and_then(|item| item.as_str()) == Some(NO_LIMIT) {
                unlimited.push(name);
            } else {
                one_budget(&budget, name, budgets);
            }
            budget.refuse_unknown();
        }
    }
    section.refuse_unknown();
}

fn one_budget(budget: &Section<'_>, name: &'static str, budgets: &mut Budgets) {
    // Asked for first, so that a wrong `per` does not make `limit` an unknown key.
    let has_limit = budget.get("limit").is_some();
    let daily = match budget.text("per") {
        None => false,
        Some("day") => true,
        Some(other) => {
            let why = format!(
                "`per` of {} is \"{other}\"; expected \"day\"",
                budget.name()
            );
            budget.bad("per", why, None);
            return;
        }
    };
    if !has_limit {
        let why = format!("{} has no `limit`", budget.name());
        budget.context.problem(&budget.span(), why, None);
        return;
    }
    if daily && !DAILY_BUDGETS.contains(&name) {
        let why = format!("{} does not renew; it is a total", budget.name());
        budget.bad("per", why, Some("leave `per` out".to_owned()));
    } else if !daily && !TOTAL_BUDGETS.contains(&name) {
        let why = format!(
            "{} renews; expected per = \"day\" beside `limit`",
            budget.name()
        );
        budget.context.problem(&budget.span(), why, None);
    } else if daily {
        if let Some(limit) = budget.integer("limit", 1, 1_000_000_000) {
            budgets
                .per_day
                .insert(name.to_owned(), RenewingBudget { limit });
        }
    } else if let Some(limit) = total_limit(budget, name) {
        budgets.total.insert(name.to_owned(), TotalBudget { limit });
    }
}

fn total_limit(budget: &Section<'_>, name: &str) -> Option<f64> {
    match name {
        "wall_clock" => {}
        // The ledger counts money in whole pico-units.
        "money" => return budget.positive("limit", 9e6),
        _ => return budget.positive("limit", 1e15),
    }
    let text = budget.text("limit")?;
    match units::parse_workday_count(text) {
        Ok(days) => Some(days),
        Err(why) => {
            budget.bad(
                "limit",
                format!("`limit` of {}: {why}", budget.name()),
                None,
            );
            None
        }
    }
}

/// `[limits]`.
pub(super) fn limits(top: &Section<'_>) -> Limits {
    let mut limits = Limits::default();
    let Some(section) = top.table("limits") else {
        return limits;
    };
    if let Some(tries) = section.integer_u32("staging_tries", 1, 100) {
        limits.staging_tries = tries;
    }
    if let Some(rounds) = section.integer_u32("repair_rounds", 1, 100) {
        limits.repair_rounds = rounds;
    }
    if let Some(jobs) = section.integer_u32("concurrent_jobs", 1, 256) {
        limits.concurrent_jobs = jobs;
    }
    if let Some(dates) = section.integer_u32("other_dates", 0, 32) {
        limits.other_dates = dates;
    }
    section.refuse_unknown();
    limits
}

/// `[spin]`.
pub(super) fn spin(top: &Section<'_>) -> SpinRule {
    let mut rule = SpinRule::default();
    let Some(section) = top.table("spin") else {
        return rule;
    };
    if let Some(count) = section.integer_u32("same_check_failures", 1, 1_000) {
        rule.same_check_failures = count;
    }
    if let Some(count) = section.integer_u32("same_change", 1, 1_000) {
        rule.same_change = count;
    }
    if let Some(count) = section.integer_u32("rounds_without_pass", 1, 100_000) {
        rule.rounds_without_pass = count;
    }
    if let Some(count) = section.integer("tokens_without_pass", 1, 1_000_000_000_000) {
        rule.tokens_without_pass = count;
    }
    section.refuse_unknown();
    rule
}

/// `[heartbeat]`.
pub(super) fn heartbeat(top: &Section<'_>) -> HeartbeatRule {
    let mut rule = HeartbeatRule {
        every_ms: DEFAULT_HEARTBEAT_MS,
        wake_on: Vec::new(),
    };
    let Some(section) = top.table("heartbeat") else {
        return rule;
    };
    if let Some(every) = section.duration_ms("every", 1_000) {
        rule.every_ms = every;
    }
    for (wake, span) in section.texts("wake_on", MAX_LIST).unwrap_or_default() {
        let prefixed = WAKE_PREFIXES.iter().any(|prefix| {
            wake.strip_prefix(prefix)
                .is_some_and(|name| !name.trim().is_empty())
        });
        if !prefixed && !WAKES.contains(&wake.as_str()) {
            let names = WAKES.iter().chain(WAKE_PREFIXES.iter()).copied();
            let hint = match nearest(&wake, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => {
                    "expected approval, quota_reset, operation, event:NAME, metric:NAME or file:PATH"
                        .to_owned()
                }
            };
            let shown: String = wake.chars().take(60).collect();
            let why = format!("`wake_on` does not know \"{shown}\"");
            section.context.problem(&span, why, Some(hint));
        }
        rule.wake_on.push(wake);
    }
    if !rule.wake_on.is_empty() {
        section.context.note(
            "[heartbeat] wake_on is kept in the contract; the engine wakes on decisions, answers and timers."
                .to_owned(),
        );
    }
    section.refuse_unknown();
    rule
}
