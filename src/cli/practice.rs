//! `dogwatch practice …`: programs of the practice world, called as any external command would be.

use super::error::{CliError, ExitCode};
use crate::worker::PrepareRequest;
use crate::worker::script::REFUSED_STATUS;
use crate::world::practice::convert::convert;
use serde_json::json;
use std::io::{Read as _, Write as _};

/// Most bytes of a request.
const MAX_REQUEST: u64 = 8 * 1024 * 1024;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, clap::Subcommand)]
enum Program {
    /// The baseline converter: a worker's request on stdin, a worker's reply on stdout.
    Convert {
        /// The job; must be the request's.
        #[arg(long)]
        job: Option<String>,
    },
}

/// Runs the program.
///
/// # Errors
/// When the request is not one.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let Program::Convert { job } = &args.program;
    let bad = |why: String| CliError::new(why, "Nothing was converted.");
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_REQUEST)
        .read_to_string(&mut text)
        .map_err(|error| bad(format!("the request cannot be read: {error}")))?;
    let request: PrepareRequest = serde_json::from_str(&text)
        .map_err(|error| bad(format!("the request is not one: {error}")))?;
    if job.as_ref().is_some_and(|job| *job != request.job.0) {
        return Err(bad("--job and the request name different jobs".to_owned()));
    }
    let (reply, status) = match convert(
        request.job.as_str(),
        &request.origin,
        &request.definition,
        &request.depends_on,
        request.output_table.as_deref(),
    ) {
        Ok(config) => (
            json!({ "config": config, "remark": "mechanical translation" }),
            0,
        ),
        Err(why) => (json!({ "refused": why }), REFUSED_STATUS),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{reply}")
        .and_then(|()| out.flush())
        .map_err(|error| bad(format!("the reply cannot be written: {error}")))?;
    if status == 0 {
        Ok(ExitCode::Done)
    } else {
        Ok(ExitCode::WorkerRefused)
    }
}
