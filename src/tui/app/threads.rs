//! The threads beside the loop: one reads the ledger, one writes decisions into it.

use super::load::{Loader, Want};
use super::msg::Msg;
use super::run::{Slot, Wake};
use crate::ledger::{Act, Reader};
use crate::model::{GoalId, JobId, SafeText};
use crate::tui::amend::Amender;
use crate::tui::decisions::Decisions;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the ledger is asked whether it changed.
const LOOK: Duration = Duration::from_millis(100);
/// How often once it has been quiet for a while.
const QUIET_LOOK: Duration = Duration::from_millis(300);
/// Looks without a change after which it is quiet.
const QUIET_AFTER: u32 = 100;

/// Takes snapshots when the ledger or what is wanted of it changed.
pub(super) fn spawn_reader(
    reader: Reader,
    path: PathBuf,
    wants: Receiver<Want>,
    slot: Slot,
    send: Sender<Wake>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("snapshots".to_owned())
        .spawn(move || read_snapshots(reader, &path, &wants, &slot, &send))
}

fn read_snapshots(
    mut reader: Reader,
    path: &std::path::Path,
    wants: &Receiver<Want>,
    slot: &Slot,
    send: &Sender<Wake>,
) {
    let mut loader = Loader::default();
    let Ok(mut want) = wants.recv() else { return };
    let mut due = true;
    let mut version = None;
    let mut not_before = Instant::now();
    let mut unchanged = 0_u32;
    if let Ok(Some(shot)) = Loader::glance(&reader, &want) {
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Ok(Box::new(shot)));
        if send.send(Wake::Fresh).is_err() {
            return;
        }
    }
    loop {
        if !due {
            let look = if unchanged < QUIET_AFTER {
                LOOK
            } else {
                QUIET_LOOK
            };
            match wants.recv_timeout(look) {
                Ok(next) => {
                    want = next;
                    due = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        // Only the newest wish counts.
        for next in wants.try_iter() {
            want = next;
            due = true;
        }
        let seen = reader.data_version().ok();
        if !due && (seen == version && seen.is_some() || Instant::now() < not_before) {
            unchanged = unchanged.saturating_add(1);
            continue;
        }
        unchanged = 0;
        let begun = Instant::now();
        let hurry = due && begun < not_before;
        let loaded = loader.load(&reader, &want, hurry);
        due = false;
        if !hurry {
            version = seen;
        }
        if loaded.is_err() {
            version = None;
            if let Ok(again) = Reader::open(path) {
                reader = again;
                // Versions of one connection mean nothing to another.
                loader = Loader::default();
            }
        }
        // A ledger that takes long to read is read less often: a fifth of the time at most.
        if !hurry {
            not_before = Instant::now() + (begun.elapsed() * 4).max(LOOK);
        }
        let fresh = loaded
            .map(Box::new)
            .map_err(|error| SafeText::line(&format!("{error}. {}", error.hint())).into_string());
        let full = slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(fresh)
            .is_some();
        if !full && send.send(Wake::Fresh).is_err() {
            return;
        }
    }
}

/// A decision on its way: the interface's number for it, and what is written.
pub(super) struct Submission {
    pub(super) local: u64,
    pub(super) goal: GoalId,
    pub(super) job: JobId,
    pub(super) act: Act,
    pub(super) text: Option<String>,
}

/// Reads changed goal files on a thread of its own: the preview asks the ledger about every job.
pub(super) fn spawn_amender(
    mut amender: Box<dyn Amender>,
    wakes: Sender<Wake>,
) -> std::io::Result<Sender<String>> {
    let (send, files) = channel::<String>();
    std::thread::Builder::new()
        .name("amendments".to_owned())
        .spawn(move || {
            for file in files {
                let result = amender
                    .propose(&file)
                    .map(Box::new)
                    .map_err(|why| SafeText::block(&why).into_string());
                let told = wakes.send(Wake::Msg(Msg::Proposed { file, result }));
                if told.is_err() {
                    return;
                }
            }
        })?;
    Ok(send)
}

/// Writes decisions on a thread of its own, since another process may hold the ledger for a while.
pub(super) struct Writer {
    send: Option<Sender<Submission>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        mut decisions: impl Decisions + 'static,
        wakes: Sender<Wake>,
    ) -> std::io::Result<Self> {
        let (send, asked) = channel::<Submission>();
        let thread = std::thread::Builder::new()
            .name("decisions".to_owned())
            .spawn(move || {
                for one in asked {
                    let (local, text) = (one.local, one.text.as_deref());
                    let result = decisions.submit(&one.goal, &one.job, one.act, text);
                    drop(wakes.send(Wake::Msg(Msg::Submitted { local, result })));
                }
            })?;
        Ok(Self {
            send: Some(send),
            thread: Some(thread),
        })
    }

    pub(super) fn send(&self, one: Submission) {
        if let Some(send) = &self.send {
            drop(send.send(one));
        }
    }

    pub(super) fn finish(&mut self) {
        drop(self.send.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
