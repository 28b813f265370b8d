//! Asking for what concerns the goal: differences after an unclean stop, amendments, alarms of spinning; and
//! why that cannot be asked now.

use super::msg::Effect;
use super::overlay::{Ask, Overlay, Purpose};
use super::overlay_keys::{AMEND_FILE, ruling};
use super::place::Place;
use super::{Model, ask};
use crate::ledger::Act;
use crate::ledger::read::DriftRow;
use crate::model::JobId;
use crate::tui::amend::folder;
use crate::tui::keymap::Action;

/// Why one of these actions does nothing now.
pub(super) fn unavailable(model: &Model, action: Action) -> Option<String> {
    match action {
        Action::AcceptDrift => accept_unavailable(model),
        Action::CompareAgain => (model.snapshot.overview.held == 0)
            .then(|| "nothing differs, so nothing is compared again".to_owned()),
        Action::PutInForce => put_in_force_unavailable(model),
        Action::ReadAgain => match &model.amendment {
            None => Some("no goal file was read; e reads one".to_owned()),
            Some(one) if one.read.is_none() => Some("it is being read".to_owned()),
            Some(_) => None,
        },
        Action::RuleSpin => match model.place() {
            Place::Alert(seq) if model.spin_of(seq).is_some() => None,
            _ => Some("only an alarm of spinning can be ruled on".to_owned()),
        },
        _ => None,
    }
}

/// What keeps every decision from being made now.
pub(super) fn not_now(model: &Model, drawn: &str) -> Option<String> {
    if model.frozen.is_some() {
        let why = "the display is frozen; z thaws it, then decide on what is true now";
        return Some(why.to_owned());
    }
    model
        .arming_left()
        .map(|_| format!("{drawn} only just now; read it first"))
}

fn accept_unavailable(model: &Model) -> Option<String> {
    if model.snapshot.overview.held == 0 {
        return Some("nothing differs that is not accepted".to_owned());
    }
    if chosen(model).is_empty() {
        let why = match model.difference() {
            Some(row) => format!("this one is {} already", row.state),
            None => "there is no difference under the cursor".to_owned(),
        };
        return Some(why);
    }
    not_now(model, "the differences were drawn")
}

/// The marked differences that are open, else the one under the cursor.
fn chosen(model: &Model) -> Vec<&DriftRow> {
    let rows = model.snapshot.drift.iter();
    let open = rows.filter(|row| row.state == "open");
    let here = model.difference().map(|row| row.item.clone());
    open.filter(|row| match model.drift_marks.is_empty() {
        true => here.as_ref() == Some(&row.item),
        false => model.drift_marks.contains(row.item.as_str()),
    })
    .collect()
}

/// The dialog that accepts differences: each by its name, Cancel focused, since what follows from them is in
/// production.
pub(super) fn accept_drift(model: &Model) -> Overlay {
    let rows = chosen(model);
    let all = rows.len() as u64 >= model.snapshot.overview.held;
    let then = match all {
        true => " Nothing differs then: the engine goes on with its work.",
        false => " The engine stays held by the others.",
    };
    let (what, effect) = match rows.as_slice() {
        [one] => (
            format!("accept {}", one.item),
            format!(
                "The ledger says: {}. The world says: {}. Accepted: {}.{then}",
                one.ledger_says, one.world_says, one.accepting
            ),
        ),
        many => (
            format!("accept {} differences", many.len()),
            format!(
                "Accept {} differences: the world's word is taken, new entries correct the ledger.{then}",
                many.len()
            ),
        ),
    };
    let name = |row: &&DriftRow| {
        let job = row.job.as_ref().map_or("the goal", |job| job.as_str());
        format!("{job}: {}", row.accepting)
    };
    let names = match rows.as_slice() {
        [one] => vec![one.job.as_ref().map_or("the goal".into(), JobId::to_string)],
        many => many.iter().map(name).collect(),
    };
    let items = rows.iter().map(|row| row.item.clone()).collect();
    let items = vec![(JobId::from(""), Act::AcceptDrift { items })];
    Overlay::Targets {
        ask: Ask { items, what },
        effect,
        names,
        yes: false,
    }
}

/// Compares ledger and world again.
pub(super) fn compare_again(model: &mut Model) -> Vec<Effect> {
    let ask = Ask {
        what: "compare ledger and world again".to_owned(),
        items: vec![(JobId::from(""), Act::CompareAgain)],
    };
    ask::submit(model, ask)
}

fn put_in_force_unavailable(model: &Model) -> Option<String> {
    let Some(proposal) = model.proposal() else {
        return Some("there is nothing to put in force".to_owned());
    };
    let shot = &model.snapshot;
    if shot.goal.as_ref().map(|goal| &goal.goal) != Some(&proposal.goal) {
        return Some(format!(
            "this file is of goal {}, which is not shown",
            proposal.goal
        ));
    }
    if proposal.me != proposal.owner {
        return Some(not_the_owner(proposal));
    }
    if shot
        .contract
        .as_ref()
        .is_some_and(|row| row.digest != proposal.base)
    {
        return Some(
            "another version took force meanwhile; r reads the file against it".to_owned(),
        );
    }
    not_now(model, "the amendment was drawn")
}

/// Why somebody else cannot amend.
pub fn not_the_owner(proposal: &crate::tui::amend::Proposal) -> String {
    format!(
        "only the owner ({}) amends the contract, and you are {}",
        proposal.owner, proposal.me
    )
}

/// The dialog that asks why the contract is amended, and sends it.
pub(super) fn put_in_force(model: &Model) -> Option<Overlay> {
    let proposal = model.proposal()?;
    let ask = Ask {
        what: format!("amend to version {}", proposal.to),
        items: vec![(JobId::from(""), proposal.act.clone())],
    };
    Some(ask::text(model, Purpose::Amend, ask))
}

/// The text that an amendment names by its digest: of the file that was read.
pub fn text_of(model: &Model, act: &Act) -> Option<String> {
    let proposal = model.proposal()?;
    match (act, &proposal.act) {
        (Act::Amend { text, .. }, Act::Amend { text: read, .. }) if text == read => {
            Some(proposal.new_text.clone())
        }
        _ => None,
    }
}

/// The line that takes the path of a changed goal file.
pub(super) fn amend_file(model: &Model) -> Overlay {
    let kept = model.draft(AMEND_FILE);
    let typed = if kept.is_empty() {
        let row = model.snapshot.contract.as_ref();
        row.map_or_else(String::new, |row| folder(&row.base_dir))
    } else {
        kept.to_owned()
    };
    Overlay::AmendFile { typed }
}

/// Reads the file again that was read last.
pub(super) fn read_again(model: &mut Model) -> Vec<Effect> {
    let Some(amendment) = &mut model.amendment else {
        return Vec::new();
    };
    amendment.read = None;
    vec![Effect::Propose(amendment.file.clone())]
}

/// The dialog that says an alarm is none; or, where somebody said so before, that it is one again.
pub(super) fn rule_on_alarm(model: &Model) -> Option<Overlay> {
    let Place::Alert(seq) = model.place() else {
        return None;
    };
    let found = model.spin_of(seq)?;
    let carrier = found.job.clone().or(model.snapshot.first_job.clone())?;
    if let Some(one) = model.overrule_of(found) {
        let job = one.job.clone().or(model.snapshot.first_job.clone())?;
        let whose = one.job.as_ref().map_or_else(
            || "everywhere in this goal".to_owned(),
            |job| format!("for {job}"),
        );
        let act = Act::EnforceSpin { overrule: one.seq };
        return Some(Overlay::Confirm {
            effect: format!(
                "It counts as spinning again: {} is an alarm, {whose}.",
                one.rule
            ),
            ask: Ask {
                what: format!("alarm {} counts again", one.spin.0),
                items: vec![(job, act)],
            },
        });
    }
    let said = found.what.clone();
    Some(match &found.job {
        Some(_) => Overlay::Spin {
            job: carrier,
            spin: found.seq,
            said,
        },
        // The whole goal's: there is no job to say it for.
        None => ruling::not_spinning(model, carrier, found.seq, true, &said),
    })
}
