//! An impact for people, line by line.

use super::choices::Choice;
use super::impact::{Cancelled, ClauseRun, Impact};

/// Names listed in one line at most; the rest is counted.
const MAX_NAMES: usize = 12;

impl Impact {
    /// The whole preview, one line each; no line depends on a screen's width.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "amendment of version {} to version {}, {} jobs",
            self.from_version, self.to_version, self.jobs
        )];
        lines.extend(
            self.diff
                .lines()
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        lines.push("impact".to_owned());
        lines.extend(self.job_lines().into_iter().map(|line| format!("  {line}")));
        lines.push("queries".to_owned());
        lines.extend(
            self.need_lines()
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        lines.push("approvals".to_owned());
        lines.extend(
            self.approval_lines()
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        if !self.choices.is_empty() {
            lines.push("choices".to_owned());
            lines.extend(
                self.choices
                    .iter()
                    .map(|one| format!("  {}", choice_line(one))),
            );
        }
        lines
    }

    /// The impact in one sentence, for the ledger.
    pub fn summary(&self) -> String {
        let fit = match self.quota.as_ref().and_then(|one| one.spare) {
            None => "no limit to compare with".to_owned(),
            Some(spare) => fit_words(spare, "queries"),
        };
        format!(
            "{} cancelled; {} kept, {} re-verified, {} not done; {} queries needed, {fit}; {} requests void",
            self.cancelled.len(),
            self.kept,
            self.reverify.len(),
            self.not_done.jobs,
            number(self.need),
            self.voided.len()
        )
    }

    fn job_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let with: Vec<&Cancelled> = self
            .cancelled
            .iter()
            .filter(|one| !one.staging.is_empty())
            .collect();
        if self.cancelled.is_empty() {
            lines.push("no job is cancelled".to_owned());
        } else {
            let names = self.cancelled.iter().map(|one| one.job.as_str());
            lines.push(format!(
                "{} jobs cancelled, {} of them with resources in staging: {}",
                self.cancelled.len(),
                with.len(),
                listed(names)
            ));
        }
        for one in &with {
            lines.push(format!(
                "  to clean up: {}: {}",
                one.job,
                one.staging.join(", ")
            ));
        }
        if self.sunk_queries() > 0 {
            lines.push(format!(
                "  {} queries of cancelled jobs are spent; they are not counted below",
                self.sunk_queries()
            ));
        }
        if !self.retired_in_production.is_empty() {
            lines.push(format!(
                "{} retired jobs are in production and stay there: {}",
                self.retired_in_production.len(),
                listed(self.retired_in_production.iter().map(|id| id.as_str()))
            ));
        }
        lines.push(format!("{} reconciled jobs kept", self.kept));
        if self.reverify.is_empty() {
            lines.push("nothing in production needs re-verification".to_owned());
        } else {
            lines.push(format!(
                "{} jobs in production need re-verification: {}",
                self.reverify.len(),
                listed(self.reverify.iter().map(|id| id.as_str()))
            ));
        }
        lines.push(format!("{} jobs not done", self.not_done.jobs));
        if self.with_people > 0 {
            lines.push(format!("{} jobs stay with people", self.with_people));
        }
        lines
    }

    fn need_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let runs = |lines: &mut Vec<String>, runs: &[ClauseRun], whose: &str| {
            for run in runs {
                lines.push(format!(
                    "{} {whose} run clause {}: {}",
                    run.jobs,
                    run.clause,
                    number(run.queries)
                ));
            }
        };
        runs(&mut lines, &self.again, "kept jobs");
        runs(&mut lines, &self.reverify_clauses, "jobs in production");
        lines.push(format!(
            "{} jobs not done, in full: {}",
            self.not_done.jobs,
            number(self.not_done.queries)
        ));
        let source = match self.reruns.measured_from {
            Some(queries) => format!("measured on {queries} queries"),
            None => "assumed, too little is measured yet".to_owned(),
        };
        lines.push(format!(
            "judged again, {} % ({source}): {}",
            number(self.reruns.rate * 100.0),
            number(self.reruns.queries)
        ));
        lines.push(format!("needed in all: {}", number(self.need)));
        match &self.quota {
            None => lines.push("the contract limits no queries".to_owned()),
            Some(quota) => {
                lines.push(match (quota.renewals, quota.left) {
                    (Some(renewals), Some(left)) => format!(
                        "left until the deadline: {left} ({} today and {renewals} x {})",
                        quota.left_today, quota.limit
                    ),
                    _ => format!(
                        "no deadline; {} left today, {} a day: {} days at least",
                        quota.left_today, quota.limit, quota.days_needed
                    ),
                });
                if let Some(spare) = quota.spare {
                    lines.push(fit_words(spare, "queries"));
                }
            }
        }
        lines
    }

    fn approval_lines(&self) -> Vec<String> {
        let own = &self.approvals;
        let mut lines = vec![format!(
            "{} cutovers at {} minutes: {} minutes",
            own.jobs,
            number(own.minutes_each),
            number(own.minutes)
        )];
        if let (Some(have), Some(spare)) = (own.working_minutes, own.spare_minutes) {
            let words = fit_words(spare, "minutes of one approver");
            lines.push(format!(
                "{} working minutes until the deadline: {words}",
                number(have)
            ));
        }
        if self.voided.is_empty() {
            lines.push("no request becomes void".to_owned());
            return lines;
        }
        let mut by_why: std::collections::BTreeMap<&str, Vec<&str>> = Default::default();
        for void in &self.voided {
            by_why
                .entry(void.why.as_str())
                .or_default()
                .push(void.job.as_str());
        }
        for (why, jobs) in by_why {
            lines.push(format!(
                "{} requests become void ({why}): {}",
                jobs.len(),
                listed(jobs.iter().copied())
            ));
        }
        lines
    }
}

fn choice_line(choice: &Choice) -> String {
    match choice {
        Choice::MoreQuota { from, to, spare } => format!(
            "more quota: {to} queries a day instead of {from}: {}",
            fit_words(*spare, "queries")
        ),
        Choice::LaterDeadline {
            to, days, spare, ..
        } => format!(
            "later deadline: {days} day{} later, {}: {}",
            if *days == 1 { "" } else { "s" },
            to.timestamp(),
            fit_words(*spare, "queries")
        ),
        Choice::FewerJobs { jobs, of, spare } => format!(
            "less scope: {jobs} of the {of} jobs not done left out: {}",
            fit_words(*spare, "queries")
        ),
        Choice::WithoutClause {
            clause,
            saves,
            spare,
        } => format!(
            "less scope: without clause {clause}, which takes {}: {}",
            number(*saves),
            fit_words(*spare, "queries")
        ),
        Choice::MoreApproverTime {
            short_minutes,
            done_at,
        } => format!(
            "a second approver, or {} more minutes; one alone is through at {}",
            number(*short_minutes),
            done_at.timestamp()
        ),
    }
}

fn fit_words(spare: f64, unit: &str) -> String {
    if spare >= 0.0 {
        format!("{} {unit} to spare", number(spare))
    } else {
        format!("SHORT BY {} {unit}", number(-spare))
    }
}

/// A number as people write it: whole, or rounded with the exact one beside it.
pub(super) fn number(value: f64) -> String {
    let whole = value.round();
    if (value - whole).abs() < 1e-9 {
        return format!("{whole}");
    }
    let exact = format!("{value:.2}");
    let exact = exact.trim_end_matches('0').trim_end_matches('.');
    if value.abs() < 50.0 {
        return exact.to_owned();
    }
    format!("about {whole} ({exact})")
}

fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let count = names.len();
    let shown: Vec<&str> = names.take(MAX_NAMES).collect();
    let rest = count - shown.len();
    if rest == 0 {
        shown.join(", ")
    } else {
        format!("{} and {rest} more", shown.join(", "))
    }
}
