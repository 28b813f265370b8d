//! Where calls run: inline on a practice clock, or on a few threads in real time.

use super::call::{Call, Context, Reply, perform};
use crate::model::TimeMs;
use std::collections::BTreeMap;
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
        let reply = perform(&call, context).value;
        if done.send((ticket, reply)).is_err() {
            return;
        }
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
        // Calls in progress are bounded by their own time-outs.
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}
