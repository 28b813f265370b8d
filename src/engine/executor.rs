//! Where calls run: inline on a practice clock, or on a few threads in real time.

use super::call::{Call, Context, Reply, ToolQueryError, broken_turn, perform};
use crate::model::{FailureClass, TimeMs};
use crate::worker::provider::Cancel;
use crate::worker::{PrepareFailure, Prepared};
use crate::world::ports::{Effect, Lookup, PortError};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Names a call until it is answered.
pub type Ticket = u64;

/// Runs calls.
pub trait Executor: Send {
    /// Takes a call; its answer comes from [`Executor::finished`].
    fn submit(&mut self, ticket: Ticket, call: Call, now: TimeMs);

    /// Answers that are there by `now`, in a fixed order.
    fn finished(&mut self, now: TimeMs) -> Vec<(Ticket, Reply)>;

    /// When the next answer is due, if that is known beforehand.
    fn next_due(&self) -> Option<TimeMs>;

    /// Sleeps until an answer may be there, at most `longest`.
    fn wait(&mut self, longest: Duration);
}

/// Runs each call at once and hands the answer out when its virtual time has passed: the same seed
/// gives the same order, and a crash meanwhile is a lost reply.
pub struct Inline {
    context: Context,
    answers: BTreeMap<(TimeMs, Ticket), Reply>,
}

impl Inline {
    /// Over a world.
    pub fn new(context: Context) -> Self {
        Self {
            context,
            answers: BTreeMap::new(),
        }
    }
}

impl Executor for Inline {
    fn submit(&mut self, ticket: Ticket, call: Call, now: TimeMs) {
        let answer = perform(&call, &self.context);
        self.answers
            .insert((now.plus_ms(answer.took_ms.max(0)), ticket), answer.value);
    }

    fn finished(&mut self, now: TimeMs) -> Vec<(Ticket, Reply)> {
        let later = self.answers.split_off(&(now.plus_ms(1), 0));
        let due = std::mem::replace(&mut self.answers, later);
        due.into_iter()
            .map(|((_, ticket), reply)| (ticket, reply))
            .collect()
    }

    fn next_due(&self) -> Option<TimeMs> {
        self.answers.keys().next().map(|(at, _)| *at)
    }

    fn wait(&mut self, longest: Duration) {
        std::thread::sleep(longest);
    }
}

/// Runs calls on threads.
pub struct Pool {
    calls: Option<Sender<(Ticket, Call)>>,
    answers: Receiver<(Ticket, Reply)>,
    ready: Vec<(Ticket, Reply)>,
    threads: Vec<JoinHandle<()>>,
    /// Ends calls of language models, whose answers nobody will take any more.
    cancel: Cancel,
}

impl Pool {
    /// `size` threads over a world.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(context: &Context, size: usize) -> std::io::Result<Self> {
        let (calls, queue) = channel::<(Ticket, Call)>();
        let (done, answers) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let mut threads = Vec::new();
        for index in 0..size.max(1) {
            let (queue, done, context) = (Arc::clone(&queue), done.clone(), context.clone());
            threads.push(
                std::thread::Builder::new()
                    .name(format!("call-{index}"))
                    .spawn(move || serve(&queue, &done, &context))?,
            );
        }
        Ok(Self {
            calls: Some(calls),
            answers,
            ready: Vec::new(),
            threads,
            cancel: context.cancel.clone(),
        })
    }
}

fn serve(
    queue: &Mutex<Receiver<(Ticket, Call)>>,
    done: &Sender<(Ticket, Reply)>,
    context: &Context,
) {
    loop {
        let next = match queue.lock() {
            Ok(queue) => queue.recv(),
            Err(_) => return,
        };
        let Ok((ticket, call)) = next else { return };
        // A defect in an adapter is an unclear answer, never silence.
        let reply = catch_unwind(AssertUnwindSafe(|| perform(&call, context).value))
            .unwrap_or_else(|_| broken(&call));
        if done.send((ticket, reply)).is_err() {
            return;
        }
    }
}

/// What a call that panicked amounts to.
fn broken(call: &Call) -> Reply {
    let why = "the call ended by a defect of this program".to_owned();
    let error = PortError {
        what: why.clone(),
        class: FailureClass::Unclear,
        retry_after_ms: None,
    };
    match call {
        Call::Prepare(_) => Reply::Prepared(Box::new(Prepared::free(Err(PrepareFailure {
            why,
            class: FailureClass::Unclear,
        })))),
        Call::Effect(_) => Reply::Effect(Effect::Unknown { why }),
        Call::LookUp { .. } => Reply::LookUp(Lookup::CannotTell { why }),
        Call::RunState { .. } => Reply::RunState(Err(error)),
        Call::Check(_) => Reply::Checked(Err(error)),
        Call::Turn(_) => {
            let mut failure = broken_turn(why);
            failure.maybe_billed = true;
            Reply::Turn(Err(Box::new(failure)))
        }
        Call::ToolQuery(_) => Reply::ToolQuery(Err(ToolQueryError::Failed(why))),
        Call::OldHost { .. } => Reply::OldHost(Err(why)),
        Call::OtherDates { .. } => Reply::OtherDates(Err(error)),
        Call::ListSource => Reply::Source(Err(error)),
        Call::ListProduction => Reply::Production(Err(error)),
        Call::Consequences { .. } => Reply::Consequences(Err(error)),
    }
}

impl Executor for Pool {
    fn submit(&mut self, ticket: Ticket, call: Call, _now: TimeMs) {
        if let Some(calls) = &self.calls {
            // The threads outlive the sender, so this can only fail after a panic in all of them; then
            // no answer comes and the operation is settled at the next start.
            drop(calls.send((ticket, call)));
        }
    }

    fn finished(&mut self, _now: TimeMs) -> Vec<(Ticket, Reply)> {
        let mut all = std::mem::take(&mut self.ready);
        all.extend(self.answers.try_iter());
        all
    }

    fn next_due(&self) -> Option<TimeMs> {
        None
    }

    fn wait(&mut self, longest: Duration) {
        match self.answers.recv_timeout(longest) {
            Ok(answer) => self.ready.push(answer),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(longest),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.calls = None;
        self.cancel.cancel();
        // Other calls in progress are bounded by their own time-outs.
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}
