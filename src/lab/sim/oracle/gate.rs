//! The gate: what goes into production went through a named person's yes to exactly that.

use super::{Answer, JobLog, Oracle, Outcome, Request, lineage_of, stored_lineage};
use crate::ledger::event::{Act, Event};
use crate::ledger::read::EventRow;
use crate::model::{Action, ApprovalId, Digest, JobId, TimeMs, digest_json};
use serde_json::Value;

impl Oracle {
    /// What must hold when a cutover is intended.
    pub(super) fn check_cut_over(
        &mut self,
        id: &JobId,
        job: &JobLog,
        at: TimeMs,
        event: &Event,
        approval: Option<&ApprovalId>,
    ) {
        let Event::OpIntended {
            config, upstream, ..
        } = event
        else {
            return;
        };
        let lineage = lineage_of(&stored_lineage(upstream).unwrap_or_default());
        if let Some(why) = job.not_passed(&self.terms, config, &lineage) {
            self.flag("no cutover without passes", format!("{id}: {why}"));
        }
        if self.terms.approval {
            match approval {
                None => self.flag("no cutover without an approval", id.as_str()),
                Some(approval) => self.check_approval(id, job, at, approval, (config, &lineage)),
            }
        }
    }

    fn check_approval(
        &mut self,
        id: &JobId,
        job: &JobLog,
        at: TimeMs,
        approval: &ApprovalId,
        now: (&Digest, &Digest),
    ) {
        let Some(request) = job.requests.get(approval) else {
            self.flag("an approval has its request", approval.as_str());
            return;
        };
        if request.answer != Answer::Yes {
            let seen = format!("{id}: {approval} is {:?}", request.answer);
            self.flag("no cutover without a person's yes", seen);
        }
        if request.expires_at.is_some_and(|expires| expires <= at) {
            self.flag(
                "no cutover upon an expired yes",
                format!("{id}: {approval}"),
            );
        }
        let spent = job
            .operations
            .values()
            .any(|one| one.approval.as_ref() == Some(approval) && one.outcome != Outcome::Refused);
        if spent {
            self.flag("a yes is used once", format!("{id}: {approval}"));
        }
        let parts = &request.parts;
        let part = |name: &str| parts.get(name).and_then(Value::as_str).unwrap_or_default();
        let (config, lineage) = now;
        let run = job.last_run.as_ref().map_or("none", |one| one.as_str());
        let same = part("contract") == self.terms.contract.as_str()
            && part("config") == config.as_str()
            && part("lineage") == lineage.as_str()
            && part("run") == run
            && same_evidence(job, parts)
            && digest_json(parts) == request.digest;
        if !same {
            self.flag(
                "a yes is to what is acted on",
                format!("{id}: {approval} was for something else"),
            );
        }
    }

    pub(super) fn read_gate(&mut self, id: &JobId, row: &EventRow, event: &Event) {
        match event {
            Event::ApprovalRequested {
                approval,
                digest,
                parts,
                consequences,
                expires_at,
                ..
            } => {
                let request = Request {
                    consequences: consequences.clone(),
                    digest: digest.clone(),
                    parts: parts.clone(),
                    expires_at: *expires_at,
                    answer: Answer::Open,
                };
                let Some(job) = self.jobs.get_mut(id) else {
                    return;
                };
                let open = job.requests.values().any(|one| one.answer == Answer::Open);
                let again = job.requests.insert(approval.clone(), request).is_some();
                if open || again {
                    self.flag("one request at a time", format!("{id}: {approval}"));
                }
            }
            Event::ApprovalDecided {
                approval,
                approved,
                by,
                ..
            } => self.decided(id, row, approval, *approved, &by.0),
            Event::ApprovalVoided { approval, .. } => {
                if let Some(request) = self
                    .jobs
                    .get_mut(id)
                    .and_then(|job| job.requests.get_mut(approval))
                {
                    request.answer = Answer::Void;
                }
            }
            _ => {}
        }
    }

    /// An approval is somebody's own decision on the very request that was open.
    fn decided(
        &mut self,
        id: &JobId,
        row: &EventRow,
        approval: &ApprovalId,
        approved: bool,
        by: &str,
    ) {
        let Some(request) = self
            .jobs
            .get(id)
            .and_then(|job| job.requests.get(approval))
            .cloned()
        else {
            self.flag("an approval has its request", approval.as_str());
            return;
        };
        if request.answer != Answer::Open {
            self.flag("a request is decided once", format!("{id}: {approval}"));
        }
        if request.expires_at.is_some_and(|expires| expires <= row.at) {
            self.flag(
                "an expired request is not decided",
                format!("{id}: {approval}"),
            );
        }
        if !self.terms.approvers.contains(by) || row.actor != format!("person:{by}") {
            self.flag("only the named decide", format!("{id}: {by}"));
        }
        let asked = self.decisions.values().any(|one| {
            let (of, digest, yes) = match &one.act {
                Act::Approve { approval, digest } => (approval, digest, true),
                Act::Reject {
                    approval, digest, ..
                } => (approval, digest, false),
                _ => return false,
            };
            one.by == by
                && one.job == *id
                && of == approval
                && yes == approved
                && *digest == request.digest
        });
        if !asked {
            self.flag(
                "a yes is for the digest that was seen",
                format!(
                    "{id}: nobody decided {approval} as {}",
                    request.digest.short()
                ),
            );
        }
        let answer = if approved { Answer::Yes } else { Answer::No };
        if let Some(job) = self.jobs.get_mut(id) {
            job.causes.person |= !approved;
            if let Some(own) = job.requests.get_mut(approval) {
                own.answer = answer;
            }
        }
    }

    /// A job is in production only through an applied cutover.
    pub(super) fn check_done(&mut self, id: &JobId) {
        let applied = self.jobs.get(id).is_some_and(|job| {
            job.operations
                .values()
                .any(|one| one.action == Action::CutOver && one.outcome == Outcome::Applied)
        });
        if !applied {
            self.flag("cut over means that it happened", id.as_str());
        }
    }
}

/// Whether the evidence that was shown is still the last word of every clause.
fn same_evidence(job: &JobLog, parts: &Value) -> bool {
    let shown = parts.get("evidence").and_then(Value::as_array);
    let shown = shown.map(Vec::as_slice).unwrap_or_default();
    shown.len() == job.clauses.len()
        && job.clauses.iter().all(|clause| {
            let detail = job.evidence.get(clause).map(|own| own.detail.as_str());
            shown.iter().any(|one| {
                one.get("clause").and_then(Value::as_str) == Some(clause.as_str())
                    && one.get("detail").and_then(Value::as_str) == detail
            })
        })
}
