//! Whether a job or the goal goes round in circles. Pure.

use super::SpinView;
use crate::contract::SpinRule;
use crate::ledger::facts::JobFacts;
use crate::ledger::read::ProgressRow;
use crate::model::{JobState, SpinKind};

/// A rule that was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub rule: SpinKind,
    /// What goes round, one sentence without numbers.
    pub what: String,
    /// How often, or how many tokens.
    pub count: u64,
    /// The contract's threshold.
    pub limit: u64,
}

impl Finding {
    /// One sentence with the numbers.
    pub fn sentence(&self) -> String {
        format!(
            "{}: {} ({} of {} allowed)",
            self.rule, self.what, self.count, self.limit
        )
    }
}

/// A job's own circles. Only what was proposed and judged counts: waits, polls and outages leave no trace in
/// what this reads.
pub fn of_job(job: &JobFacts, rule: &SpinRule, view: &SpinView) -> Option<Finding> {
    let judged = job.config.is_some() && job.config == job.failed_config || !job.attempt_open;
    let proposed = job.config.is_some()
        && job.run.is_none()
        && job.attempt_open
        && job.state == JobState::Working;
    let check = job
        .spin
        .failed_checks
        .iter()
        .max_by_key(|(_, count)| **count)
        .filter(|_| judged)
        .filter(|(_, count)| **count >= rule.same_check_failures)
        .map(|(check, count)| Finding {
            rule: SpinKind::SameCheck,
            what: format!("{check} fails again and again"),
            count: u64::from(*count),
            limit: u64::from(rule.same_check_failures),
        });
    let change = Some(job.spin.same_change)
        .filter(|count| proposed && *count >= rule.same_change)
        .map(|count| Finding {
            rule: SpinKind::SameChange,
            what: "the same change was submitted again".to_owned(),
            count: u64::from(count),
            limit: u64::from(rule.same_change),
        });
    [check, change]
        .into_iter()
        .flatten()
        .find(|finding| !view.overruled.contains(&finding.rule))
}

/// The goal's circles.
pub fn of_goal(row: &ProgressRow, rule: &SpinRule, view: &SpinView) -> Option<Finding> {
    let rounds = (row.rounds >= u64::from(rule.rounds_without_pass)).then(|| Finding {
        rule: SpinKind::RoundsWithoutPass,
        what: "attempts of any job ended without a clause that passes for the first time"
            .to_owned(),
        count: row.rounds,
        limit: u64::from(rule.rounds_without_pass),
    });
    let tokens = (row.tokens >= rule.tokens_without_pass).then(|| Finding {
        rule: SpinKind::TokensWithoutPass,
        what: "tokens were spent without a clause that passes for the first time".to_owned(),
        count: row.tokens,
        limit: rule.tokens_without_pass,
    });
    [rounds, tokens]
        .into_iter()
        .flatten()
        .find(|finding| !view.overruled.contains(&finding.rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_goes_round_from_the_threshold_on_and_not_before() {
        let rule = SpinRule::default();
        let (rounds, tokens) = (
            u64::from(rule.rounds_without_pass),
            rule.tokens_without_pass,
        );
        let none = SpinView::default();
        let row = |rounds, tokens| ProgressRow {
            rounds,
            tokens,
            ..ProgressRow::default()
        };
        assert_eq!(of_goal(&row(rounds - 1, tokens - 1), &rule, &none), None);
        let found = of_goal(&row(0, tokens), &rule, &none).unwrap();
        assert_eq!(found.rule, SpinKind::TokensWithoutPass);
        assert_eq!((found.count, found.limit), (tokens, tokens));
        let found = of_goal(&row(rounds, 0), &rule, &none).unwrap();
        assert_eq!(found.rule, SpinKind::RoundsWithoutPass);
        let overruled = SpinView {
            overruled: [SpinKind::TokensWithoutPass].into(),
            ..SpinView::default()
        };
        assert_eq!(of_goal(&row(0, tokens), &rule, &overruled), None);
    }
}
