//! Why there is no answer, and what that allows.

use super::reply::Usage;
use crate::model::TimeMs;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What may be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFailureClass {
    /// The same request may be sent again, after a back-off ([`super::next_try`]).
    Retry,
    /// The same, and not before [`TurnFailure::not_before`].
    Wait,
    /// The account, or a budget, is used up: no further call until a person acts.
    StopBudget,
    /// Nobody's call can succeed until a person changes a setting.
    StopConfig,
    /// This request will never work; another one may.
    FailStep,
}

/// A turn without an answer. Nothing of a partial answer is kept: it may be half a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnFailure {
    /// What may be done.
    pub class: TurnFailureClass,
    /// Not before this instant, when the provider or the protocol says so.
    pub not_before: Option<TimeMs>,
    /// HTTP status; `None` when no answer came.
    pub status: Option<u16>,
    /// The provider's code or type, or one of our own words such as `connect`, `cut_stream`, `deadline`.
    pub code: String,
    /// Whether the provider may charge for it all the same: then what was reserved for the input stays
    /// booked, as possible.
    pub maybe_billed: bool,
    /// What the provider had counted before it failed, if anything: its input, and an estimate of the output
    /// until then.
    pub usage: Option<Usage>,
    /// How often this kind may be sent again at most; the engine's own limits come on top.
    pub most_retries: u8,
    /// Whether the next configured model may be tried instead.
    pub fallback: bool,
    /// Whether fewer calls should run at once.
    pub slow_down: bool,
    /// The provider's id of the request, when it gave one.
    pub request_id: Option<String>,
    /// One sentence for people, with no secret in it.
    pub message: String,
}

impl TurnFailure {
    /// The code of a request that is longer than the model's context.
    pub const CONTEXT_FULL: &str = "context_full";
    /// The code of an answer that ended without its terminal event.
    pub const CUT_STREAM: &str = "cut_stream";
    /// The code of an answer that breaks its protocol.
    pub const BROKEN_ANSWER: &str = "broken_answer";
    /// The code of tool schemas that are too large together; the provider leaves `strict` out from then on.
    pub const SCHEMA_TOO_LARGE: &str = "schema_too_large";
    /// The code of an answer that is no API's at all.
    pub const NOT_AN_API: &str = "not_an_api";
    /// The code of a call that ran into its deadline.
    pub const DEADLINE: &str = "deadline";
    /// The code of a call that was told to end.
    pub const CANCELLED: &str = "cancelled";

    /// What it amounts to when no retry is left: a page that is no API will be one tomorrow too, and only a
    /// person can mend the address; anything else ends the step.
    pub fn when_exhausted(&self) -> TurnFailureClass {
        match self.class {
            TurnFailureClass::Retry | TurnFailureClass::Wait => {
                if self.code == Self::NOT_AN_API {
                    TurnFailureClass::StopConfig
                } else {
                    TurnFailureClass::FailStep
                }
            }
            other => other,
        }
    }
}

impl fmt::Display for TurnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TurnFailure {}
