//! What an entry about a side effect or a run changes.

use super::{ApprovalState, JobFacts, OperationFacts, RunFacts};
use crate::ledger::event::{Entry, Event};
use crate::model::{
    Action, Digest, FailureClass, OperationId, OperationState, TimeMs, canon::digest_parts,
};

impl JobFacts {
    pub(super) fn apply_operation(&mut self, entry: &Entry) {
        match &entry.event {
            Event::OpIntended {
                operation,
                action,
                config,
                ordinal,
                upstream,
                approval,
                ..
            } => {
                self.ordinals
                    .insert(Self::ordinal_key(*action, config), *ordinal);
                self.operations.insert(
                    operation.clone(),
                    OperationFacts {
                        id: operation.clone(),
                        action: *action,
                        config: config.clone(),
                        ordinal: *ordinal,
                        upstream: upstream.clone(),
                        approval: approval.clone(),
                        state: OperationState::Intended,
                        reference: String::new(),
                        why: String::new(),
                        intended_at: entry.at,
                        sends: 1,
                        look_ups: 0,
                        next_look: None,
                        to_verify: false,
                        undone: false,
                    },
                );
                self.not_before = None;
                if let (Some(id), Some(own)) = (approval, self.approval.as_mut())
                    && own.id == *id
                {
                    own.state = ApprovalState::Used;
                }
            }
            Event::OpSentAgain { operation, .. } => self.with_operation(operation, |facts| {
                facts.sends += 1;
                facts.state = OperationState::Intended;
                facts.next_look = None;
            }),
            Event::OpApplied {
                operation,
                reference,
                ..
            } => {
                self.with_operation(operation, |facts| {
                    facts.state = OperationState::Applied;
                    facts.reference.clone_from(reference);
                    facts.why.clear();
                    facts.next_look = None;
                    facts.to_verify = false;
                });
                self.after_applied(operation, reference, entry.at);
            }
            Event::OpRefused {
                operation,
                why,
                class,
                retry_at,
            } => {
                self.with_operation(operation, |facts| {
                    facts.state = OperationState::Refused;
                    facts.why.clone_from(why);
                    facts.next_look = None;
                    facts.to_verify = false;
                });
                self.after_refused(operation, why, *class, *retry_at);
            }
            Event::OpUnknown {
                operation,
                why,
                next_look,
            } => self.with_operation(operation, |facts| {
                facts.state = OperationState::Unknown;
                facts.why.clone_from(why);
                facts.next_look = Some(*next_look);
            }),
            Event::OpLookedUp {
                operation,
                why,
                next_look,
                to_verify,
                ..
            } => {
                self.with_operation(operation, |facts| {
                    facts.state = OperationState::Unknown;
                    facts.look_ups += 1;
                    facts.why.clone_from(why);
                    facts.next_look = Some(*next_look);
                    facts.to_verify = *to_verify;
                });
            }
            Event::OpOverturned { operation, why } | Event::OpUndone { operation, why } => {
                self.overturn(operation, why);
            }
            Event::RunSucceeded { operation, .. } => {
                self.run = Some(RunFacts::Succeeded {
                    operation: operation.clone(),
                });
                self.outdated = false;
                self.last_progress = entry.at;
            }
            Event::RunFailed {
                operation,
                class,
                why,
                retry_at,
                ..
            } => {
                self.run = Some(RunFacts::Failed {
                    operation: operation.clone(),
                    class: *class,
                    why: why.clone(),
                });
                self.staging_tries += 1;
                self.not_before = *retry_at;
                self.last_progress = entry.at;
            }
            _ => {}
        }
    }

    /// What was won from an effect that is not there means nothing: its run and the verdicts on it go.
    fn overturn(&mut self, id: &OperationId, why: &str) {
        self.with_operation(id, |facts| {
            facts.state = OperationState::Refused;
            facts.why = why.to_owned();
            facts.next_look = None;
            facts.to_verify = false;
            facts.undone = true;
        });
        let of_run = match &self.run {
            Some(
                RunFacts::Going { operation }
                | RunFacts::Succeeded { operation }
                | RunFacts::Failed { operation, .. },
            ) => operation == id,
            None => false,
        };
        if of_run {
            self.run = None;
        }
        self.evidence.retain(|_, one| one.operation != *id);
        if self
            .operations
            .get(id)
            .is_some_and(|one| one.action == Action::CutOver)
        {
            self.production = None;
        }
    }

    pub(super) fn with_operation(
        &mut self,
        id: &OperationId,
        change: impl FnOnce(&mut OperationFacts),
    ) {
        if let Some(facts) = self.operations.get_mut(id) {
            change(facts);
        }
    }

    pub(super) fn after_applied(&mut self, id: &OperationId, reference: &str, at: TimeMs) {
        let Some(operation) = self.operations.get(id) else {
            return;
        };
        self.refusals = 0;
        match operation.action {
            // A run of a config that was replaced meanwhile settles, and counts for nothing.
            Action::Stage if self.config.as_ref() == Some(&operation.config) => {
                self.tries_total += 1;
                self.run = Some(RunFacts::Going {
                    operation: id.clone(),
                });
            }
            Action::Stage => {}
            Action::RollBack => {
                self.production = None;
                self.production_config = None;
                self.production_lineage = None;
                self.confirmed = false;
                self.outdated = false;
                if let Some(rollback) = self.rollback.as_mut() {
                    rollback.done = true;
                }
                self.last_progress = at;
            }
            Action::CutOver => {
                self.production = Some(reference.to_owned());
                // What is in production is the job's config, also when a retry had begun meanwhile: jobs
                // below it build upon that.
                self.config = Some(operation.config.clone());
                self.production_config = Some(operation.config.clone());
                self.production_lineage = upstream_digest(&operation.upstream);
                self.confirmed = false;
                self.cut_over_at = Some(at);
                self.last_progress = at;
            }
        }
    }

    pub(super) fn after_refused(
        &mut self,
        id: &OperationId,
        why: &str,
        class: FailureClass,
        retry_at: Option<TimeMs>,
    ) {
        let Some(operation) = self.operations.get(id) else {
            return;
        };
        self.not_before = retry_at;
        if class == FailureClass::Job {
            match (operation.action, self.rollback.as_mut()) {
                (Action::RollBack, Some(rollback)) => rollback.refused = Some(why.to_owned()),
                (Action::RollBack, None) => {}
                _ => self.config_refused = Some(why.to_owned()),
            }
        } else {
            self.refusals += 1;
            // Nothing happened, so the person's yes still stands for the same thing.
            if let (Some(used), Some(own)) = (&operation.approval, self.approval.as_mut())
                && own.id == *used
                && own.state == ApprovalState::Used
            {
                own.state = ApprovalState::Approved;
            }
        }
    }
}

/// Digest of what an operation was built upon, as its intent names it; `None` when it names nothing.
///
/// The names are the ledger's own format; the engine's digest of a lineage is made from the same parts.
pub fn upstream_digest(upstream: &serde_json::Value) -> Option<Digest> {
    let list = upstream.as_array().filter(|list| !list.is_empty())?;
    let text = |one: &serde_json::Value, key: &str| {
        one.get(key)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut parts: Vec<String> = Vec::new();
    for one in list {
        parts.push(text(one, "job"));
        parts.push(text(one, "config_digest"));
        if let Some(lineage) = one.get("lineage").and_then(serde_json::Value::as_str) {
            parts.push(format!("upon {lineage}"));
        }
    }
    Some(digest_parts(parts.iter().map(String::as_str)))
}
