//! A full disk: nothing new is started, and work goes on by itself when there is space again.

use super::{BEAT_EVERY, Engine, EngineError, wall};
use crate::ledger::{Batch, LedgerError};
use std::time::{Duration, Instant};

/// Pause between two tries. Short, because a person who has made space looks whether it helped.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Engine {
    /// Appends a turn's entries; on a full disk it waits. A transaction that found no space was rolled back
    /// whole, so the same entries are tried again; no call was made meanwhile. A failed flush is another
    /// matter: nobody knows what the disk has, and the engine ends.
    pub(super) fn append(&mut self, batch: &Batch) -> Result<(), EngineError> {
        let mut told = false;
        loop {
            let full = match self.ledger.append(batch) {
                Ok(_) if told => {
                    self.say(&format!(
                        "there is space again for {}; work goes on",
                        self.ledger.path().display()
                    ));
                    self.beat_now("running");
                    return Ok(());
                }
                Ok(_) => return Ok(()),
                Err(full @ LedgerError::Full { .. }) => full,
                Err(other) => return Err(other.into()),
            };
            if self.is_draining() {
                // The last words may use what was kept for them.
                self.ledger.append_from_reserve(batch)?;
                return Ok(());
            }
            if !told {
                told = true;
                self.say(&format!("{full}. {}", full.hint()));
                self.beat_now("no space");
            }
            self.wait_for_space();
        }
    }

    fn wait_for_space(&mut self) {
        std::thread::sleep(LOOK_AGAIN);
        if self.last_beat.is_none_or(|at| at.elapsed() >= BEAT_EVERY) {
            self.beat_now("no space");
        }
    }

    fn beat_now(&mut self, state: &str) {
        self.last_beat = Some(Instant::now());
        self.ledger
            .beat(wall(), self.now, BEAT_EVERY.as_millis() as i64, state);
    }

    /// One line for whoever reads the log of a run without an interface.
    fn say(&self, what: &str) {
        if self.settings.say_on_stderr {
            eprintln!("dogwatch: {}", crate::model::SafeText::line(what));
        }
    }
}
