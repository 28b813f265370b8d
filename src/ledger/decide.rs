//! Writing a decision from any process, whether or not an engine runs.

use super::error::LedgerError;
use super::event::{Act, Actor, Entry, Event};
use super::read::Reader;
use super::store::{Batch, Ledger};
use crate::model::{Account, DecisionId, GoalId, JobId, Seq, TimeMs};
use std::path::Path;

/// An engine's time this close to the machine's is the machine's.
const REAL_CLOCK_MS: i64 = 60_000;

/// Everything that a decision says.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Its id, made by whoever asks.
    pub id: DecisionId,
    /// The goal.
    pub goal: GoalId,
    /// The job.
    pub job: JobId,
    /// What is asked.
    pub act: Act,
    /// In whose name.
    pub account: Account,
    /// Where from: `SSH_CONNECTION` if there is one, else the terminal's name.
    pub from: String,
    /// The engine's time, as well as it is known ([`engine_time`]).
    pub at: TimeMs,
}

/// Appends a decision; when this returns it is on the disk, and the engine will answer it once.
///
/// # Errors
/// Nothing was written: the ledger is missing, not one, newer, full or held for too long.
pub fn submit(path: &Path, decision: Decision) -> Result<Seq, LedgerError> {
    let mut ledger = Ledger::open_for_decisions(path)?;
    let entry = Entry {
        at: decision.at,
        goal: decision.goal,
        job: Some(decision.job),
        attempt: None,
        actor: Actor::Person(decision.account),
        event: Event::DecisionSubmitted {
            decision: decision.id,
            act: decision.act,
            from: decision.from,
        },
    };
    let seqs = ledger.append(&Batch {
        entries: vec![entry],
        blobs: Vec::new(),
    })?;
    seqs.first()
        .copied()
        .ok_or_else(|| LedgerError::Refused("nothing was appended".to_owned()))
}

/// The engine's time as well as another process can know it: the machine's clock when the engine's
/// last beat agreed with it, else the engine's time at that beat or at the last entry.
///
/// # Errors
/// When the ledger cannot be read.
pub fn engine_time(path: &Path, wall: TimeMs) -> Result<TimeMs, LedgerError> {
    let reader = Reader::open(path)?;
    let view = reader.view();
    let last = view.last_event_at()?;
    Ok(match view.engine()? {
        Some(engine) if engine.beat_at.since(engine.engine_at).abs() < REAL_CLOCK_MS => wall,
        Some(engine) => last.map_or(engine.engine_at, |last| last.max(engine.engine_at)),
        None => last.unwrap_or(wall),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::LedgerError;

    fn decision(id: &str) -> Decision {
        Decision {
            id: DecisionId::from(id),
            goal: GoalId::from("g"),
            job: JobId::from("a"),
            act: Act::Pause,
            account: Account("ann".into()),
            from: "pts/1".into(),
            at: TimeMs(5),
        }
    }

    #[test]
    fn a_decision_reaches_the_ledger_whether_or_not_an_engine_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        assert!(matches!(
            submit(&path, decision("d0")),
            Err(LedgerError::Missing(_))
        ));
        let engine = Ledger::open_for_engine(&path).unwrap();
        submit(&path, decision("d1")).unwrap();
        drop(engine);
        submit(&path, decision("d2")).unwrap();
        let reader = Reader::open(&path).unwrap();
        let pending = reader.view().pending_decisions().unwrap();
        let ids: Vec<&str> = pending.iter().map(|row| row.decision.as_str()).collect();
        assert_eq!(ids, ["d1", "d2"]);
        assert_eq!(pending[0].by.0, "ann");
    }

    #[test]
    fn the_engine_s_time_is_the_machine_s_only_when_they_agree() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let engine = Ledger::open_for_engine(&path).unwrap();
        let wall = TimeMs(2_000_000_000_000);
        assert_eq!(engine_time(&path, wall).unwrap(), wall, "nothing is known");
        engine.beat(wall, wall.plus_ms(-5), 1_000, "running");
        let later = wall.plus_ms(700);
        assert_eq!(engine_time(&path, later).unwrap(), later);
        engine.beat(wall, TimeMs(1_711_962_000_000), 1_000, "running");
        assert_eq!(
            engine_time(&path, later).unwrap(),
            TimeMs(1_711_962_000_000)
        );
    }
}
