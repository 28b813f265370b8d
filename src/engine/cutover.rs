//! A cutover's last question: what would it set off now? What the approver saw may be old.

use super::call::{Call, Reply};
use super::decide::{Rules, Step, decide};
use super::rig::Sabotage;
use super::run::{Engine, EngineError, Errand};
use super::settle::Next;
use crate::ledger::facts::JobFacts;
use crate::model::{Action, JobId};
use crate::world::ports::{PortError, Upstream};

/// Begins the sentence of a request whose target could not tell.
pub(super) const CANNOT_TELL: &str = "the target cannot tell what else a cutover would set off";
/// Pause before a target without an answer is asked again.
const ASK_AGAIN_MS: i64 = 60_000;

impl Engine {
    /// Asks before the intent. Where the contract wants no approval nobody was shown anything that could
    /// be different now.
    pub(super) fn ask_before_cut_over(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        lineage: &[Upstream],
    ) -> Result<(), EngineError> {
        let required = self.goal.contract.approval.required;
        if !required || self.rig.fires(Sabotage::SkipConsequences, required) {
            return self.intend(id, facts, Action::CutOver, lineage);
        }
        let Some(digest) = &facts.config else {
            return self.hand_over(id, "it has no config to ask for; this is a defect");
        };
        let call = Call::Consequences {
            job: id.clone(),
            config: self.text(digest)?,
            at: self.now,
        };
        self.call_after_commit(id, Errand::Confirm, call);
        Ok(())
    }

    /// Intends the cutover if it is still to be made and sets off nothing that its approver did not see.
    pub(super) fn confirmed(&mut self, id: &JobId, reply: Reply) -> Result<Next, EngineError> {
        let Reply::Consequences(now) = reply else {
            return Ok(Next::Now);
        };
        // Nothing new is started while the engine drains.
        if self.is_draining() {
            return Ok(Next::Now);
        }
        let facts = self.facts(id)?;
        let around = self.surroundings(id);
        let rules = Rules {
            contract: &self.goal.contract,
            strategies: &self.goal.strategies,
        };
        let Step::CutOver(lineage) = decide(&facts, rules, &around, self.now) else {
            return Ok(Next::Now);
        };
        let Some(own) = facts.approval.as_ref().map(|own| own.id.clone()) else {
            return Ok(Next::Now);
        };
        let shown = self
            .ledger
            .read()
            .approval(&own)?
            .map(|row| row.consequences)
            .unwrap_or_default();
        match compare(&shown, &now) {
            Changed::Worse(what) if !self.rig.fires(Sabotage::IgnoreConsequences, true) => {
                let why = format!("it would set off what was not on the request: {what}");
                self.void(id, &facts, own, why)?;
            }
            Changed::Unanswered(error) => {
                let pause = error.retry_after_ms.unwrap_or(ASK_AGAIN_MS).max(1_000);
                let reason = format!("what the cutover would set off cannot be asked: {error}");
                self.look_later(id, &super::settle::short(&reason), pause)?;
                return Ok(Next::AtTimer);
            }
            _ => self.intend(id, &facts, Action::CutOver, &lineage)?,
        }
        Ok(Next::Now)
    }
}

/// What is different since the request.
#[derive(Debug, PartialEq)]
enum Changed {
    /// Nothing that matters.
    No,
    /// This would be set off too.
    Worse(String),
    /// It is not known.
    Unanswered(PortError),
}

/// Sentences are compared without their instants: a next firing time moves on by itself. Every other
/// number counts; what is not said any more is no harm.
fn compare(shown: &[String], now: &Result<Vec<String>, PortError>) -> Changed {
    let could_not_tell = shown.iter().any(|line| line.starts_with(CANNOT_TELL));
    let now = match now {
        Ok(list) => list,
        // The approver said yes knowing that.
        Err(_) if could_not_tell => return Changed::No,
        Err(error) => return Changed::Unanswered(error.clone()),
    };
    let seen: Vec<String> = shown.iter().map(|line| without_instants(line)).collect();
    now.iter()
        .map(|line| super::settle::short(line))
        .find(|line| !seen.contains(&without_instants(line)))
        .map_or(Changed::No, Changed::Worse)
}

fn without_instants(line: &str) -> String {
    let is_instant = |word: &str| {
        let marks = word.chars().filter(|c| matches!(c, '-' | ':')).count();
        let digits = word.chars().filter(char::is_ascii_digit).count();
        marks > 0
            && digits >= 3
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || "-:TZ.,;+[]/".contains(c))
    };
    line.split_whitespace()
        .map(|word| if is_instant(word) { "…" } else { word })
        .collect::<Vec<&str>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn only_what_the_approver_did_not_see_is_worse() {
        let shown = list(&[
            "the old job a.1 (cron sales.crontab:14) is switched off",
            "the new job next fires at 2024-04-02T02:15:00Z; no run is queued",
        ]);
        let later = list(&["the new job next fires at 2024-04-09T02:15:00Z; no run is queued"]);
        assert_eq!(compare(&shown, &Ok(later)), Changed::No);
        let more = list(&["the new job next fires at 2024-04-09T02:15:00Z; 3 runs are queued"]);
        assert_eq!(
            compare(&shown, &Ok(more.clone())),
            Changed::Worse(more[0].clone())
        );
        let fewer = list(&["3 runs are queued"]);
        assert!(matches!(
            compare(&list(&["2 runs are queued"]), &Ok(fewer)),
            Changed::Worse(_)
        ));
    }

    #[test]
    fn no_answer_is_no_consent_unless_the_request_said_so() {
        let error = PortError::environment("503");
        let silent = Err(error.clone());
        assert_eq!(compare(&[], &silent), Changed::Unanswered(error.clone()));
        let known = [format!("{CANNOT_TELL}: 503")];
        assert_eq!(compare(&known, &silent), Changed::No);
    }
}
