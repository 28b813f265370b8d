//! Rulings: on an operation of unknown outcome, on an alarm of spinning.

use super::edit::edit;
use super::{put_back, said_no};
use crate::ledger::Act;
use crate::model::{JobId, OperationId, Seq};
use crate::tui::app::msg::Effect;
use crate::tui::app::overlay::{Ask, Overlay, Purpose};
use crate::tui::app::{Model, ask};
use crate::tui::keymap::Key;
use crossterm::event::KeyCode;

/// Which way an operation went, its reference, then why.
pub(super) fn rule(
    model: &mut Model,
    key: Key,
    job: JobId,
    operation: OperationId,
    reference: Option<String>,
) -> Vec<Effect> {
    let kept = format!("reference of {operation}");
    let next = match (reference, key.code) {
        (typed, KeyCode::Esc) => {
            model.keep_draft(&kept, typed.as_deref().unwrap_or_default());
            return said_no(model);
        }
        (None, KeyCode::Char('u')) => undone(model, job, operation),
        (None, KeyCode::Char('h')) => Overlay::Rule {
            reference: Some(model.draft(&kept).to_owned()),
            job,
            operation,
        },
        (None, KeyCode::Char('n')) => reason(model, job, operation, false, String::new()),
        (None, _) => Overlay::Rule {
            job,
            operation,
            reference: None,
        },
        (Some(typed), KeyCode::Enter) if !typed.trim().is_empty() => {
            model.keep_draft(&kept, &typed);
            reason(model, job, operation, true, typed.trim().to_owned())
        }
        (Some(mut typed), _) => {
            if key.code == KeyCode::Enter {
                model.say(
                    "the target's reference is needed: it is how the effect is found again",
                    true,
                );
            } else {
                edit(&mut typed, key);
            }
            Overlay::Rule {
                job,
                operation,
                reference: Some(typed),
            }
        }
    };
    put_back(model, next)
}

fn reason(
    model: &Model,
    job: JobId,
    operation: OperationId,
    happened: bool,
    reference: String,
) -> Overlay {
    let purpose = Purpose::Rule {
        operation: operation.clone(),
        happened,
        reference: reference.clone(),
    };
    let act = Act::Rule {
        operation,
        happened,
        reference,
        reason: String::new(),
    };
    let what = format!("rule on {job}");
    let items = vec![(job, act)];
    ask::text(model, purpose, Ask { what, items })
}

fn undone(model: &Model, job: JobId, operation: OperationId) -> Overlay {
    let act = Act::Compensate {
        operation,
        reason: String::new(),
    };
    let what = format!("rule on {job}");
    let items = vec![(job, act)];
    ask::text(model, Purpose::Undone, Ask { what, items })
}

/// For whom the alarm is none, then why.
pub(super) fn spin(
    model: &mut Model,
    key: Key,
    job: JobId,
    spin: Seq,
    said: String,
) -> Vec<Effect> {
    let everywhere = match key.code {
        KeyCode::Char('j') => false,
        KeyCode::Char('e') => true,
        KeyCode::Esc | KeyCode::Char('q' | 'n') => return said_no(model),
        _ => return put_back(model, Overlay::Spin { job, spin, said }),
    };
    let next = not_spinning(model, job, spin, everywhere, &said);
    put_back(model, next)
}

/// Why an alarm is none.
pub(in crate::tui::app) fn not_spinning(
    model: &Model,
    job: JobId,
    spin: Seq,
    everywhere: bool,
    said: &str,
) -> Overlay {
    let whose = if everywhere {
        "everywhere in this goal".to_owned()
    } else {
        format!("for {job}")
    };
    let purpose = Purpose::NotSpinning {
        said: format!("{said}: no alarm any more, {whose}. How do you know?"),
    };
    let act = Act::OverruleSpin {
        spin,
        everywhere,
        reason: String::new(),
    };
    let what = format!("not spinning: alarm {}", spin.0);
    let items = vec![(job, act)];
    ask::text(model, purpose, Ask { what, items })
}
