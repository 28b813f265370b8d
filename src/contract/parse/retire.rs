//! `[[jobs.retire]]`: jobs that the owner gives up.

use super::section::Section;
use crate::contract::types::Retire;

const MAX_GROUPS: usize = 200;
const MAX_PATTERNS: usize = 1_000;
const MAX_REASON_CHARS: usize = 500;

/// All groups, in order. Each names its jobs and says why.
pub(super) fn retire(jobs: &Section<'_>) -> Vec<Retire> {
    let groups = jobs.tables("retire", MAX_GROUPS);
    groups.iter().map(group).collect()
}

fn group(section: &Section<'_>) -> Retire {
    let named = section.texts("jobs", MAX_PATTERNS);
    let patterns: Vec<String> = named
        .unwrap_or_default()
        .into_iter()
        .map(|(pattern, span)| {
            if pattern.is_empty() {
                let why = "an empty pattern names no job".to_owned();
                section.context.problem(&span, why, None);
            }
            pattern
        })
        .collect();
    if patterns.is_empty() {
        let why = format!(
            "{} has no `jobs`: patterns of job ids or tags, such as [\"exp_old_*\"]",
            section.name()
        );
        section.context.problem(&section.span(), why, None);
    }
    let what = "why these jobs are given up, one sentence";
    let reason = section.required_text("reason", what).unwrap_or("");
    if reason.chars().count() > MAX_REASON_CHARS {
        let why = format!("`reason` is longer than {MAX_REASON_CHARS} characters");
        section.bad("reason", why, None);
    }
    section.refuse_unknown();
    Retire {
        jobs: patterns,
        reason: reason.to_owned(),
    }
}
