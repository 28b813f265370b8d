//! The `run_log` checker: for jobs that write no table. The staging run really did something, and it did
//! to the world what the old job does. No queries.

use super::http_status::failed_status;
use super::params::Params;
use super::{CheckInput, Checker, Evidence};
use crate::contract::Clause;
use crate::model::canon::digest_parts;
use crate::model::{Digest, Verdict};
use crate::world::ports::{Output, PortError, RunFacts, Side, Timed};
use serde_json::{Value, json};
use std::path::Path;

/// Changes whenever the meaning of a verdict does.
const VERSION: &str = "1";

/// The `run_log` checker. No parameters.
///
/// In this order: a run that exited badly fails; an old job that differs from itself, a run without any
/// task and a run whose log shows a refused request although it exited well are inconclusive; without
/// digests of both effects nothing is verified; then the effects must be the same.
pub struct RunLog;

impl Checker for RunLog {
    fn name(&self) -> &'static str {
        "run_log"
    }

    fn digest(&self, _clause: &Clause, _base_dir: &Path) -> Digest {
        digest_parts([self.name(), VERSION])
    }

    fn problems(&self, clause: &Clause) -> Vec<String> {
        Params(&clause.params).unknown(&[])
    }

    fn queries(&self, _clause: &Clause, _output: Option<&Output>) -> u64 {
        0
    }

    fn check(&self, input: &CheckInput<'_>) -> Result<Timed<Evidence>, PortError> {
        let Some(probe) = input.world.probe.as_deref() else {
            let why = "the goal has no probe that knows of runs";
            return Ok(Timed::now(Evidence::bare(Verdict::Unverified, why)));
        };
        let old = probe.run_facts(Side::Legacy, input.job, input.logical_date)?;
        let new = probe.run_facts(input.side, input.job, input.logical_date)?;
        let (verdict, summary) = judge(&old.value, &new.value, input.side);
        let mut evidence = Evidence::bare(verdict, summary);
        for (name, runs) in [("old", &old.value), ("new", &new.value)] {
            let facts: Vec<Value> = runs.iter().map(facts).collect();
            evidence.numbers.insert(name.to_owned(), json!(facts));
        }
        Ok(Timed {
            value: evidence,
            took_ms: old.took_ms.saturating_add(new.took_ms),
        })
    }
}

fn judge(old: &[RunFacts], new: &[RunFacts], side: Side) -> (Verdict, String) {
    let word = side.word();
    let Some(run) = new.last() else {
        return (
            Verdict::Unverified,
            format!("no run of the new job is known in {word}"),
        );
    };
    if run.exit != 0 {
        let text = format!("the run in {word} exited with {}", run.exit);
        return (Verdict::Fail, text);
    }
    let Some(before) = old.last() else {
        let text = "no run of the old job is known, so there is nothing to compare with";
        return (Verdict::Unverified, text.to_owned());
    };
    if let Some(why) = differs_from_itself(old) {
        return (Verdict::Inconclusive, why);
    }
    for (who, facts) in [("old", before), ("new", run)] {
        if let Some(why) = hollow(who, facts) {
            return (Verdict::Inconclusive, why);
        }
    }
    match (&before.effect_digest, &run.effect_digest) {
        (Some(before), Some(now)) if before == now => (
            Verdict::Pass,
            format!(
                "exit 0, {} task(s), and the same effects as the old job ({})",
                run.tasks,
                now.short()
            ),
        ),
        (Some(before), Some(now)) => (
            Verdict::Fail,
            format!(
                "the run in {word} did other things than the old job ({}, before {})",
                now.short(),
                before.short()
            ),
        ),
        (before, _) => {
            let who = if before.is_none() { "old" } else { "new" };
            let text = format!("what the {who} job did to the world is not known");
            (Verdict::Unverified, text)
        }
    }
}

/// Why an old job cannot be reconciled exactly: its own runs differ.
fn differs_from_itself(old: &[RunFacts]) -> Option<String> {
    let mut digests = old.iter().filter_map(|facts| facts.effect_digest.as_ref());
    let first = digests.next()?;
    let other = digests.find(|digest| *digest != first)?;
    Some(format!(
        "the old job does not match itself ({}, then {}), so it cannot be reconciled exactly",
        first.short(),
        other.short()
    ))
}

/// Why a run that went well proves nothing.
fn hollow(who: &str, facts: &RunFacts) -> Option<String> {
    if facts.exit != 0 {
        return Some(format!(
            "the {who} job's run exited with {}, so it shows nothing to match",
            facts.exit
        ));
    }
    if facts.tasks == 0 {
        return Some(format!(
            "the {who} job's run exited well without executing a single task"
        ));
    }
    failed_status(&facts.log_tail).map(|status| {
        format!("the {who} job's run exited well, but its log shows HTTP status {status}")
    })
}

fn facts(facts: &RunFacts) -> Value {
    json!({
        "exit": facts.exit,
        "tasks": facts.tasks,
        "effect_digest": facts.effect_digest,
        "http_status": failed_status(&facts.log_tail),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest_bytes;

    fn run(tasks: u32, effect: Option<&str>, log: &str) -> RunFacts {
        RunFacts {
            exit: 0,
            tasks,
            effect_digest: effect.map(|text| digest_bytes(text.as_bytes())),
            log_tail: log.to_owned(),
        }
    }

    fn verdict(old: &RunFacts, new: &RunFacts) -> Verdict {
        let (old, new) = (std::slice::from_ref(old), std::slice::from_ref(new));
        judge(old, new, Side::Staging).0
    }

    #[test]
    fn equal_effects_pass_and_others_fail() {
        let same = run(1, Some("mail"), "sent");
        assert_eq!(verdict(&same, &same), Verdict::Pass);
        let other = run(1, Some("mail, twice"), "sent");
        assert_eq!(verdict(&same, &other), Verdict::Fail);
        let mut broken = same.clone();
        broken.exit = 3;
        assert_eq!(verdict(&same, &broken), Verdict::Fail);
        assert_eq!(verdict(&broken, &same), Verdict::Inconclusive);
    }

    #[test]
    fn hollow_runs_prove_nothing() {
        let idle = run(0, Some("nothing"), "");
        assert_eq!(verdict(&idle, &idle), Verdict::Inconclusive);
        let gone = run(1, Some("nothing"), "< HTTP/1.1 410 Gone");
        assert_eq!(verdict(&gone, &gone), Verdict::Inconclusive);
    }

    #[test]
    fn an_old_job_that_differs_from_itself_cannot_be_matched() {
        let (a, b) = (run(1, Some("a"), ""), run(1, Some("b"), ""));
        let (found, summary) = judge(&[b, a.clone()], &[a], Side::Staging);
        assert_eq!(found, Verdict::Inconclusive);
        assert!(summary.contains("does not match itself"), "{summary}");
    }

    #[test]
    fn what_is_not_known_is_not_verified() {
        let (known, unknown) = (run(1, Some("a"), ""), run(1, None, ""));
        let one = std::slice::from_ref(&known);
        assert_eq!(judge(&[], one, Side::Staging).0, Verdict::Unverified);
        assert_eq!(judge(one, &[], Side::Staging).0, Verdict::Unverified);
        assert_eq!(verdict(&known, &unknown), Verdict::Unverified);
        assert_eq!(verdict(&unknown, &known), Verdict::Unverified);
    }
}
