//! The loop of a chat worker, turn by turn: decided from the facts, written down, committed, then asked.
//!
//! A turn is a step like any other, so a death loses at most the call in flight: its reservation counts as
//! spent, and the loop goes on from the messages that are in the ledger.

mod checkpoint;
mod close;
mod decide;
mod evidence;
mod hold;
mod opening;
mod pace;
mod query;
mod settle;
mod tools;
mod turn;

use crate::ledger::event::CallRef;
use crate::ledger::facts::JobFacts;
use crate::model::{JobId, SpendId};

pub use decide::{ChatStep, PROVIDER, lost, next};
pub(super) use hold::ProviderHolds;

/// Longest words of a model or a tool kept in an entry, in characters.
const MAX_WORDS: usize = 500;

/// The name under which a turn, or a tool's query, is reserved: of the job, the attempt and the turn.
fn spend_id(job: &JobId, facts: &JobFacts, call: Option<&CallRef>) -> SpendId {
    let turn = facts
        .chat
        .open
        .as_ref()
        .map_or(facts.chat.turns, |open| open.turn);
    let mut id = format!("{job}/{}/{turn}", facts.attempt);
    if let Some(call) = call {
        id.push('/');
        id.extend(call.id.chars().take(100));
    }
    SpendId(id)
}

/// One line of bounded length.
fn line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_WORDS)
        .collect();
    clean.trim().to_owned()
}

/// `outcome: why`, as a loop's end is noted.
fn end(outcome: &str, why: &str) -> String {
    format!("{outcome}: {}", line(why))
}

/// Back from the note.
fn end_parts(note: &str) -> (&str, &str) {
    note.split_once(": ").unwrap_or((note, ""))
}
