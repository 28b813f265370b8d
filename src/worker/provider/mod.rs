//! Providers of language models: one turn asked, one turn answered, and nothing done twice.
//!
//! A provider makes exactly one attempt. Whoever calls it decides about retries, because each is a second,
//! billed generation and must be reserved for first.

mod answer;
mod anthropic;
mod assemble;
mod backoff;
mod classify;
mod error_body;
mod failure;
mod fields;
mod http;
mod open;
mod openai_chat;
mod price;
mod probe;
mod reading;
mod reply;
mod request;
mod sse;
mod wait;

pub use backoff::{MOST_TRIES, next_try};
pub use failure::{TurnFailure, TurnFailureClass};
pub use http::HttpProvider;
pub use open::{Opened, open};
pub use price::{Reservation, cost, reserve};
pub use probe::ListedModel;
pub use reply::{Block, BlockKind, Outcome, TurnReply, Usage, UsageSource};
pub use request::{CacheMark, Message, RawJson, SystemBlock, Tool, TurnRequest, UserPart};

pub use sse::{SseError, SseEvent, SseReader};

use crate::contract::Price;
use crate::model::TimeMs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a call in progress to end; shared between whoever waits and whoever may change their mind.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the call within a fraction of a second.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The bounds of one call.
#[derive(Debug, Clone)]
pub struct TurnLimits {
    /// The engine's time at the start; instants in the answer count from it.
    pub now: TimeMs,
    /// Milliseconds of real time until the call is given up.
    pub within_ms: i64,
    /// Ends it earlier.
    pub cancel: Cancel,
}

/// Someone who answers turns.
pub trait Provider: Send + Sync {
    /// Its name in the goal file.
    fn name(&self) -> &str;

    /// The exact bytes that [`Provider::turn`] would send: for reservations, digests and transcripts.
    fn body(&self, request: &TurnRequest) -> Vec<u8>;

    /// The price of a model, if the configuration has one.
    fn price(&self, model: &str) -> Option<Price>;

    /// Asks once and blocks until the answer is complete, the limits are reached or it failed.
    ///
    /// # Errors
    /// When there is no complete answer; the failure says what may be done and whether it may be billed.
    fn turn(
        &self,
        request: &TurnRequest,
        limits: &TurnLimits,
    ) -> Result<TurnReply, Box<TurnFailure>>;
}
