//! Ledger entries as sentences.

use crate::ledger::read::EventRow;
use crate::ledger::{Act, Event};
use crate::model::{Amounts, Budget, FailureClass, TimeMs, Verdict, Wake};
use crate::tui::theme::Role;
use jiff::tz::TimeZone;
use serde_json::Value;

/// What happened, one sentence, and how it looks.
pub fn of(row: &EventRow, zone: &TimeZone) -> (String, Role) {
    match &row.event {
        Some(event) => of_event(event, row.at, zone),
        None => (
            format!("{} (written by a newer program)", row.kind),
            Role::Warn,
        ),
    }
}

fn of_event(event: &Event, at: TimeMs, zone: &TimeZone) -> (String, Role) {
    of_goal(event)
        .or_else(|| of_attempt(event, at, zone))
        .or_else(|| of_operation(event, at, zone))
        .or_else(|| of_run(event, at, zone))
        .or_else(|| of_check(event, at, zone))
        .or_else(|| of_people(event, at, zone))
        .unwrap_or_else(|| ("something happened".to_owned(), Role::Dim))
}

fn amounts_text(amounts: &Amounts) -> String {
    let all: Vec<String> = amounts
        .iter()
        .map(|(budget, amount)| match budget {
            Budget::Money => format!("{} of money", budget.show(*amount)),
            _ => budget.show(*amount),
        })
        .collect();
    all.join(", ")
}

fn of_goal(event: &Event) -> Option<(String, Role)> {
    Some(match event {
        Event::GoalAdopted { version, owner, .. } => (
            format!("{owner} adopted contract version {version}"),
            Role::Strong,
        ),
        Event::GoalAmended {
            version,
            why,
            impact,
            ..
        } => (
            format!("contract version {version} is in force: {why} ({impact})"),
            Role::Strong,
        ),
        Event::GoalListed { jobs } => (format!("the source listed {jobs} jobs"), Role::Text),
        Event::GoalEnded { summary } => (format!("the goal ended: {summary}"), Role::Strong),
        Event::EngineStarted {
            pid,
            host,
            version,
            after_clean_stop,
        } => {
            let before = if *after_clean_stop {
                ""
            } else {
                "; the one before had not said goodbye"
            };
            (
                format!("engine {version} started as process {pid} on {host}{before}"),
                Role::Dim,
            )
        }
        Event::WorkStopped { why } => (format!("work stopped: {why}"), Role::Bad),
        Event::WorkResumed { why } => (format!("work goes on: {why}"), Role::Strong),
        Event::HandoffWritten { why, .. } => {
            (format!("handoff package written: {why}"), Role::Strong)
        }
        Event::ForecastMade { outlook } => {
            let open = outlook.get("jobs_open").and_then(Value::as_u64);
            let text = format!("forecast for {} open jobs", open.unwrap_or(0));
            (text, Role::Dim)
        }
        Event::BudgetReserved { amounts, .. } => {
            (format!("set aside: {}", amounts_text(amounts)), Role::Dim)
        }
        Event::BudgetSettled { spent, sure, .. } => {
            let at_most = if *sure { "" } else { " at most" };
            let text = format!("spent{at_most}: {}", amounts_text(spent));
            (text, Role::Dim)
        }
        Event::EngineStopped { why } => (format!("engine stopped: {why}"), Role::Dim),
        Event::Heartbeat { decided, reason } => {
            (format!("heartbeat: {decided}, {reason}"), Role::Dim)
        }
        Event::OutageBegan {
            part,
            failures,
            trials,
            jobs,
            ..
        } => (
            format!(
                "outage of the {part} declared: {failures} of {trials} calls of {jobs} jobs failed"
            ),
            Role::Bad,
        ),
        Event::OutageProbed {
            part, job, probe, ..
        } => (
            format!("probe {probe} by {job}: the {part} is still out"),
            Role::Warn,
        ),
        Event::OutageEnded { part, why } => (format!("the {part} works again: {why}"), Role::Good),
        Event::SpinFound {
            rule,
            what,
            count,
            limit,
            ..
        } => (
            format!("spinning, {rule}: {what} ({count} of {limit} allowed)"),
            Role::Bad,
        ),
        Event::SpinOverruled { rule, reason, .. } => (
            format!("{rule} is no spinning here: {reason}"),
            Role::Person,
        ),
        Event::SpinEnforced { overrule } => (
            format!("overruling {} was taken back", overrule.0),
            Role::Person,
        ),
        Event::SpinReleased {} => ("it goes on: no spinning".to_owned(), Role::Person),
        Event::AlertRaised { rule, evidence } => (format!("ALERT {rule}: {evidence}"), Role::Bad),
        Event::AlertCleared { rule, why } => (format!("alert {rule} is over: {why}"), Role::Text),
        _ => return None,
    })
}

fn of_attempt(event: &Event, at: TimeMs, zone: &TimeZone) -> Option<(String, Role)> {
    Some(match event {
        Event::JobAdded { origin, title, .. } => {
            (format!("found in {origin}: {title}"), Role::Text)
        }
        Event::JobRescoped {
            version, clauses, ..
        } => (
            format!(
                "contract version {version}: {} clauses apply",
                clauses.len()
            ),
            Role::Text,
        ),
        Event::JobOutdated { why } => (format!("to be staged and judged anew: {why}"), Role::Warn),
        Event::ClaimFiled { clause, why } => (
            format!("the worker holds clause {clause} to be wrong: {why}"),
            Role::Warn,
        ),
        Event::ClauseWaived {
            clause, by, reason, ..
        } => (
            format!("{by} waived clause {clause} for this config: {reason}"),
            Role::Strong,
        ),
        Event::JobMoved { state, reason } => {
            let standing = super::state::of_state(*state);
            let text = if reason.is_empty() {
                format!("now {}", standing.word)
            } else {
                format!("now {}: {reason}", standing.word)
            };
            (text, standing.role)
        }
        Event::TriesGivenBack {
            part,
            staging,
            refusals,
            prepares,
            checks,
        } => (
            format!(
                "{} tries given back: the {part} was out",
                staging + refusals + prepares + checks
            ),
            Role::Text,
        ),
        Event::AttemptStarted { strategy, .. } => (
            format!("attempt began with strategy {strategy}"),
            Role::Strong,
        ),
        Event::AttemptEnded { outcome, reason } => {
            let role = if outcome == "passed" {
                Role::Good
            } else {
                Role::Bad
            };
            (format!("attempt {outcome}: {reason}"), role)
        }
        Event::ConfigProposed { config, remark, .. } => {
            let said = if remark.is_empty() {
                String::new()
            } else {
                format!("; the worker says: {remark}")
            };
            (
                format!("worker proposed config {}{said}", config.short()),
                Role::Text,
            )
        }
        Event::PrepareFailed {
            class,
            why,
            retry_at,
        } => (
            format!(
                "no config ({}): {why}{}",
                class_word(*class),
                again(*retry_at, at, zone)
            ),
            Role::Bad,
        ),
        Event::ConfigFailed { failures } => {
            (format!("config failed: {}", failures.join("; ")), Role::Bad)
        }
        Event::JobPaused {} => ("paused: nothing new is started".to_owned(), Role::Warn),
        Event::JobResumed {} => ("resumed".to_owned(), Role::Text),
        Event::JobRetried {} => (
            "begins again from the first strategy".to_owned(),
            Role::Text,
        ),
        Event::JobCommented { text } => (format!("for the next attempt: {text}"), Role::Text),
        Event::GoalCommented(words) => (
            format!("for the next attempt of each job: {}", words.text),
            Role::Text,
        ),
        _ => return super::chat::sentence(event),
    })
}

fn of_operation(event: &Event, at: TimeMs, zone: &TimeZone) -> Option<(String, Role)> {
    Some(match event {
        Event::OpIntended {
            operation,
            action,
            ordinal,
            ..
        } => (
            format!(
                "about to {} (run {ordinal}, id {operation})",
                action_word(action.word())
            ),
            Role::Info,
        ),
        Event::OpSentAgain { proof, .. } => {
            (format!("sent again, the same id: {proof}"), Role::Warn)
        }
        Event::OpApplied {
            reference,
            observed,
            how,
            ..
        } => {
            let seen = if observed.is_empty() {
                String::new()
            } else {
                format!("; {observed}")
            };
            let how = match how.as_str() {
                "look_up" => " (found by look-up)",
                "ruling" => " (a person ruled)",
                _ => "",
            };
            (format!("applied as {reference}{how}{seen}"), Role::Good)
        }
        Event::OpRefused {
            why,
            class,
            retry_at,
            ..
        } => (
            format!(
                "refused ({}): {why}{}",
                class_word(*class),
                again(*retry_at, at, zone)
            ),
            Role::Bad,
        ),
        Event::OpUnknown { why, next_look, .. } => (
            format!(
                "outcome unknown: {why}; looked up {}",
                super::time::instant(*next_look, at, zone)
            ),
            Role::Warn,
        ),
        Event::OpLookedUp {
            answer,
            why,
            next_look,
            to_verify,
            ..
        } => {
            let who = if *to_verify { "; needs a person" } else { "" };
            (
                format!(
                    "looked up: {}, {why}; again {}{who}",
                    answer.replace('_', " "),
                    super::time::instant(*next_look, at, zone)
                ),
                Role::Warn,
            )
        }
        _ => return None,
    })
}

fn of_run(event: &Event, at: TimeMs, zone: &TimeZone) -> Option<(String, Role)> {
    Some(match event {
        Event::RunSucceeded { .. } => ("staging run ended well".to_owned(), Role::Good),
        Event::RunFailed {
            class,
            why,
            retry_at,
            ..
        } => (
            format!(
                "staging run failed ({}): {why}{}",
                class_word(*class),
                again(*retry_at, at, zone)
            ),
            Role::Bad,
        ),
        _ => return None,
    })
}

fn of_check(event: &Event, at: TimeMs, zone: &TimeZone) -> Option<(String, Role)> {
    Some(match event {
        Event::CheckStarted {
            clause, reserved, ..
        } => (
            format!("checking {clause} ({reserved} queries reserved)"),
            Role::Dim,
        ),
        Event::EvidenceRecorded {
            clause,
            by,
            verdict,
            summary,
            spent,
            ..
        } => (
            format!(
                "{clause}{}: {}, {summary} ({spent} queries)",
                super::state::of_kind(*by),
                verdict_word(*verdict)
            ),
            super::state::of_verdict(*verdict).role,
        ),
        Event::SampleAsked(one) => (
            format!(
                "{}: a person is asked to look at {} rows ({} queries)",
                one.clause, one.rows, one.spent
            ),
            Role::Person,
        ),
        Event::DateChosen { clause, date, why } => match date {
            Some(date) => (
                format!("{clause} had nothing to compare; staged for {date} instead: {why}"),
                Role::Warn,
            ),
            None => (
                format!("{clause} had nothing to compare, and no other date is offered: {why}"),
                Role::Warn,
            ),
        },
        Event::CheckFailed {
            clause,
            why,
            class,
            retry_at,
            ..
        } => (
            format!(
                "{clause} could not be judged ({}): {why}{}",
                class_word(*class),
                again(*retry_at, at, zone)
            ),
            Role::Warn,
        ),
        Event::WaitStarted {
            reason, next_check, ..
        } => (
            format!(
                "{}{reason}; looks again {}",
                if reason.starts_with("waits") {
                    ""
                } else {
                    "waits: "
                },
                super::time::instant(*next_check, at, zone)
            ),
            Role::Wait,
        ),
        _ => return None,
    })
}

fn of_people(event: &Event, at: TimeMs, zone: &TimeZone) -> Option<(String, Role)> {
    Some(match event {
        Event::ApprovalRequested { digest, action, .. } => (
            format!("approval of {action} asked for, digest {}", digest.short()),
            Role::Person,
        ),
        Event::RollbackAsked { reason } => (format!("shall be rolled back: {reason}"), Role::Warn),
        Event::RollbackDropped { why } => (format!("stays in production: {why}"), Role::Warn),
        Event::ApprovalDecided {
            approved,
            by,
            reason,
            ..
        } => {
            let verb = if *approved { "approved" } else { "rejected" };
            let why = if reason.is_empty() {
                String::new()
            } else {
                format!(": {reason}")
            };
            let role = if *approved { Role::Good } else { Role::Bad };
            (format!("{by} {verb} it{why}"), role)
        }
        Event::PlanRevised(one) => (
            format!(
                "plan revised ({}): {}; {}",
                one.revision,
                one.hypothesis,
                one.changes.join("; ")
            ),
            Role::Strong,
        ),
        Event::JobReplanned(one) => (
            match one.strategy_index {
                Some(index) => format!(
                    "revision {} of the plan: it stands at strategy {}",
                    one.plan,
                    index + 1
                ),
                None => format!(
                    "revision {} of the plan: it begins with the first strategy",
                    one.plan
                ),
            },
            Role::Text,
        ),
        Event::ApprovalVoided { why, .. } => (format!("request void: {why}"), Role::Warn),
        Event::DecisionSubmitted { act, from, .. } => {
            (format!("asked from {from}: {}", of_act(act)), Role::Strong)
        }
        Event::DecisionAnswered { accepted, why, .. } => {
            let word = if *accepted { "accepted" } else { "refused" };
            let role = if *accepted { Role::Text } else { Role::Bad };
            (format!("decision {word}: {why}"), role)
        }
        _ => {
            // Every entry says something, also one that no family above names.
            let _ = (at, zone);
            return None;
        }
    })
}

/// What a person asked for, as the object of a sentence.
pub fn of_act(act: &Act) -> String {
    match act {
        Act::Approve { .. } => "approve the cutover".to_owned(),
        Act::Reject { reason, .. } => format!("reject the cutover: {reason}"),
        Act::Pause => "pause".to_owned(),
        Act::Resume => "resume".to_owned(),
        Act::Retry => "retry".to_owned(),
        Act::HandOver { reason } => format!("hand over: {reason}"),
        Act::RollBack { reason } => format!("roll it back: {reason}"),
        Act::Comment { text } => format!("comment: {text}"),
        Act::CommentGoal { text } => format!("comment on the goal: {text}"),
        Act::Answer { text, .. } => format!("answer: {text}"),
        Act::Judge { pass: true, .. } => "the rows pass".to_owned(),
        Act::Judge { reason, .. } => format!("the rows fail: {reason}"),
        Act::Rule { happened, .. } => if *happened {
            "rule that it happened"
        } else {
            "rule that it did not happen"
        }
        .to_owned(),
        Act::Amend { from, why, .. } => format!("amend version {from}: {why}"),
        Act::RevisePlan { hypothesis, .. } => format!("revise the plan: {hypothesis}"),
        Act::Waive { clause, reason } => format!("waive clause {clause}: {reason}"),
        Act::LookAgain { .. } => "look again now".to_owned(),
        Act::OverruleSpin { spin, reason, .. } => {
            format!("alarm {} is no spinning: {reason}", spin.0)
        }
        Act::EnforceSpin { overrule } => format!("take overruling {} back", overrule.0),
        Act::Compensate { .. } => "rule that it was undone by hand".to_owned(),
        Act::AcceptDrift { items } => format!("accept {} differences", items.len()),
        Act::CompareAgain => "compare with the world again".to_owned(),
    }
}

/// What would end a wait.
pub fn of_wake(wake: &Wake, now: TimeMs, zone: &TimeZone) -> String {
    let instant = |at: TimeMs| {
        let due = if at <= now { " (due)" } else { "" };
        format!("{}{due}", super::time::instant(at, now, zone))
    };
    match wake {
        Wake::At { at } => format!("the clock reaching {}", instant(*at)),
        Wake::Approval => "a decision on the request".to_owned(),
        Wake::QuotaReset { budget, at } => {
            format!("{budget} renewing at {}", instant(*at))
        }
        Wake::Operation { id } => format!("operation {id} settling"),
        Wake::Job { id } => format!("job {id}"),
        Wake::Event { name } => format!("the event {name}"),
        Wake::File { path } => format!("the file {path}"),
        Wake::Metric { name } => format!("the metric {name}"),
    }
}

/// `stage` and `cut_over` as verbs.
pub fn action_word(action: &str) -> &str {
    match action {
        "stage" => "run in staging",
        "cut_over" => "cut over to production",
        other => other,
    }
}

fn class_word(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Job => "the job's fault",
        FailureClass::Environment => "the environment's fault",
        FailureClass::Unclear => "cause unclear",
    }
}

fn verdict_word(verdict: Verdict) -> &'static str {
    super::state::of_verdict(verdict).word
}

fn again(retry_at: Option<TimeMs>, now: TimeMs, zone: &TimeZone) -> String {
    match retry_at {
        Some(at) => format!("; tries again {}", super::time::instant(at, now, zone)),
        None => String::new(),
    }
}
