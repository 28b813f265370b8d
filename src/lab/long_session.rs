//! The alternative to short loops: one long session over the same scripted work, counted.
//!
//! Every turn of a finished goal is taken from its ledger in the order in which it was asked, and played into
//! one conversation that keeps everything, compacts at [`COMPACTS_AT`] tokens and goes on from
//! [`COMPACTS_TO`]. Both sides are counted by the same rule: bytes sent, four to a token.

use crate::ledger::LedgerError;
use crate::ledger::read::{TurnRow, View};
use crate::model::{Digest, GoalId};

/// Tokens at which the long session compacts its history.
pub const COMPACTS_AT: u64 = 100_000;
/// Tokens of a compacted history.
pub const COMPACTS_TO: u64 = 20_000;
/// Bytes that count as one token.
const BYTES_PER_TOKEN: u64 = 4;

/// Input tokens of the same turns, both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Turns that were answered.
    pub turns: u64,
    /// Input of the short loops.
    pub short: u64,
    /// Input of one long session, its compactions included.
    pub long: u64,
    /// How often the long session compacted.
    pub compactions: u64,
}

impl Compared {
    /// Long over short; 0 without turns.
    pub fn ratio(&self) -> f64 {
        if self.short == 0 {
            return 0.0;
        }
        self.long as f64 / self.short as f64
    }
}

/// Counts a goal's turns both ways.
///
/// # Errors
/// When the ledger cannot be read.
pub fn compare(view: View<'_>, goal: &GoalId) -> Result<Compared, LedgerError> {
    let mut turns: Vec<(String, TurnRow)> = Vec::new();
    for facts in view.all_facts(goal)? {
        let rows = view.turns(goal, &facts.id)?;
        turns.extend(rows.into_iter().map(|row| (facts.id.0.clone(), row)));
    }
    turns.sort_by(|(a, x), (b, y)| (x.started_at, a, x.turn).cmp(&(y.started_at, b, y.turn)));
    let size = |digest: &Digest| -> Result<u64, LedgerError> {
        let bytes = view.blob(digest)?.map_or(0, |bytes| bytes.len() as u64);
        Ok(bytes.div_ceil(BYTES_PER_TOKEN))
    };
    let mut loops = std::collections::BTreeMap::new();
    let mut out = Compared::default();
    let mut session = 0;
    for (job, row) in &turns {
        if row.answer.is_none() {
            continue;
        }
        let fixed = size(&row.system)?;
        let told = match &row.message {
            Some(message) => size(message)?,
            None => 0,
        };
        let said = match &row.answer {
            Some(answer) => size(answer)?,
            None => 0,
        };
        let own = loops.entry((job.clone(), row.attempt)).or_insert(fixed);
        *own += told;
        out.short += *own;
        *own += said;
        session = u64::max(session, fixed) + told;
        out.long += session;
        session += said;
        out.turns += 1;
        if session > COMPACTS_AT {
            out.long += session;
            session = COMPACTS_TO;
            out.compactions += 1;
        }
    }
    Ok(out)
}
