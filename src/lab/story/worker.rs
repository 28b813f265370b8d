//! The stories' worker: the baseline converter in this process, and manners of getting it wrong.

use crate::contract::Strategy;
use crate::model::FailureClass;
use crate::worker::{PrepareFailure, PrepareReply, PrepareRequest, Worker};
use crate::world::practice::convert::convert;

/// Answers as `dogwatch practice convert` does, without a process for each job: a strategy whose command is
/// anything else is an error, so that no story plays with a worker that is not there.
#[derive(Debug, Clone, Copy)]
pub struct StoryWorker;

impl Worker for StoryWorker {
    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        let words: Vec<&str> = strategy.run.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["dogwatch", "practice", "convert", ..] => baseline(request),
            _ => Err(PrepareFailure {
                why: format!("strategy {}: the story has no such worker", strategy.id),
                class: FailureClass::Environment,
            }),
        }
    }
}

/// The mechanical translation of a request's job.
///
/// # Errors
/// When the converter does not know the job's form.
pub fn baseline(request: &PrepareRequest) -> Result<PrepareReply, PrepareFailure> {
    convert(
        request.job.as_str(),
        &request.origin,
        &request.definition,
        &request.depends_on,
        request.output_table.as_deref(),
    )
    .map(|config| PrepareReply {
        config,
        remark: "mechanical translation".to_owned(),
        claim: None,
    })
    .map_err(|why| PrepareFailure {
        why,
        class: FailureClass::Job,
    })
}
