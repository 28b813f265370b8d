//! Reading a stream until its terminal event, or until it cannot become an answer.
use super::answer::stopped;
use super::assemble::{Assemble, Fault, Progress};
use super::classify::{Answered, failure, of_fault};
use super::failure::{TurnFailure, TurnFailureClass as Class};
use super::reply::{TurnReply, Usage, UsageSource};
use super::sse::SseReader;
use super::wait::{Deadline, Stop};
use crate::contract::Protocol;
use reqwest::Response;

/// Most bytes of an answer.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// How long the counts may follow the end of a chat answer, in milliseconds.
const COUNTS_MS: i64 = 5_000;
/// An input token has at most so many bytes on average; fewer tokens mean that the prompt was cut.
const MOST_BYTES_PER_TOKEN: u64 = 16;
/// Shorter prompts are not looked at for it.
const CUT_FROM_BYTES: usize = 16 * 1024;

/// How reading ended.
pub(super) enum Ended {
    /// The terminal event was seen.
    Whole,
    /// It breaks the protocol or reports an error.
    Fault(Fault),
    /// Time or a person ended it.
    Stop(Stop),
}

/// A stream that is being read.
pub(super) struct Reading {
    pub(super) answer: Box<dyn Assemble + Send>,
    pub(super) answered: Answered,
    pub(super) deadline: Deadline,
    pub(super) idle_ms: i64,
}

impl Reading {
    /// Reads until the answer is whole, or cannot become so.
    pub(super) async fn read(&mut self, mut response: Response) -> Ended {
        let (mut sse, mut events, mut total) = (SseReader::default(), Vec::new(), 0_usize);
        let mut ended = false;
        loop {
            let quiet_ms = if ended {
                COUNTS_MS.min(self.idle_ms)
            } else {
                self.idle_ms
            };
            let body_ended = match self.deadline.within(quiet_ms, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    total = total.saturating_add(chunk.len());
                    if total > MAX_ANSWER {
                        return Ended::Fault(Fault::Protocol(format!(
                            "more than {MAX_ANSWER} bytes"
                        )));
                    }
                    if let Err(error) = sse.push(&chunk, &mut events) {
                        return Ended::Fault(Fault::Protocol(error.to_string()));
                    }
                    false
                }
                Ok(Ok(None)) => {
                    if let Err(error) = sse.finish(&mut events) {
                        return Ended::Fault(Fault::Protocol(error.to_string()));
                    }
                    true
                }
                // A broken body after the terminal event only costs the counts.
                Ok(Err(_)) | Err(Stop::Late) if ended => return Ended::Whole,
                Ok(Err(_)) => return Ended::Fault(Fault::Cut),
                Err(stop) => return Ended::Stop(stop),
            };
            for event in events.drain(..) {
                match self.answer.event(&event) {
                    Ok(Progress::More) => {}
                    Ok(Progress::Ended) => ended = true,
                    Ok(Progress::Complete) => return Ended::Whole,
                    Err(fault) => return Ended::Fault(fault),
                }
            }
            if body_ended {
                return if ended {
                    Ended::Whole
                } else {
                    Ended::Fault(Fault::Cut)
                };
            }
        }
    }

    pub(super) fn verdict(
        self,
        ended: Ended,
        sent_bytes: usize,
        protocol: Protocol,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        let now = self.deadline.now();
        let counted = self.answer.usage();
        match ended {
            Ended::Stop(stop) => Err(Box::new(TurnFailure {
                status: Some(self.answered.status),
                request_id: self.answered.request_id,
                ..stopped(stop, counted)
            })),
            Ended::Fault(fault) => Err(Box::new(of_fault(fault, &self.answered, counted, now))),
            Ended::Whole => {
                let mut reply = self
                    .answer
                    .finish(self.answered.request_id.clone())
                    .map_err(|fault| of_fault(fault, &self.answered, counted, now))?;
                if reply.usage.source == UsageSource::Unknown {
                    reply.usage = estimated(&reply, sent_bytes);
                } else if protocol == Protocol::OpenaiChat
                    && sent_bytes >= CUT_FROM_BYTES
                    && reply.usage.input().saturating_mul(MOST_BYTES_PER_TOKEN) < sent_bytes as u64
                {
                    return Err(Box::new(cut_prompt(&reply, sent_bytes, &self.answered)));
                }
                Ok(reply)
            }
        }
    }
}

/// A server whose context is smaller than it says cuts the prompt's beginning, where the contract stands.
pub(super) fn cut_prompt(reply: &TurnReply, sent_bytes: usize, answered: &Answered) -> TurnFailure {
    TurnFailure {
        status: Some(answered.status),
        request_id: answered.request_id.clone(),
        usage: Some(reply.usage),
        maybe_billed: true,
        ..failure(
            Class::StopConfig,
            "cut_prompt",
            format!(
                "the server counted {} tokens in a prompt of {sent_bytes} bytes: it cut the prompt; raise its \
                 context setting",
                reply.usage.input()
            ),
        )
    }
}

/// Counts from sizes, when the provider gives none: two bytes a token, as for the reservation.
pub(super) fn estimated(reply: &TurnReply, sent_bytes: usize) -> Usage {
    let said: usize = reply
        .blocks
        .iter()
        .map(|block| block.raw.as_str().len())
        .sum();
    Usage {
        uncached: (sent_bytes as u64).div_ceil(2),
        output: (said as u64).div_ceil(2).max(1),
        source: UsageSource::Estimated,
        ..Usage::UNKNOWN
    }
}
