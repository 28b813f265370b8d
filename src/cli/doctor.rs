//! `dogwatch doctor`: what would keep a goal from running, and measuring its target.

use super::Common;
use super::error::{CliError, ExitCode};
use super::launch::parse_adopted;
use super::output::{print_json, print_text};
use super::place::{goal, job, ledger_path};
use crate::contract::Goal;
use crate::engine::adopt::take_up;
use crate::engine::operation::Proofs;
use crate::engine::prove::{Sample, VALID_MS, prove};
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::{Batch, Ledger, Reader, decide::engine_time};
use crate::model::{Account, Action, GoalId, time::Clock};
use crate::world::open_world;
use crate::world::ports::PortError;
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The goal.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
    /// Measure in staging whether the target keeps one effect per id; the result is recorded. Stages
    /// the config of a job under two ids of its own.
    #[arg(long)]
    prove: bool,
    /// The job whose config is staged; the first that has one otherwise.
    #[arg(long, value_name = "JOB", requires = "prove")]
    job: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When an engine holds the ledger, the world does not open, or no job has a config to measure with.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let reader = Reader::open(&path)?;
    let id = goal(&reader, args.goal.as_deref())?.goal;
    let mut ledger = Ledger::open_for_engine(&path)?;
    let (parsed, _) = take_up(&ledger, &id, parse_adopted)?;
    if args.prove {
        let entry = measure(args, &reader, &ledger, &id, &parsed)?;
        ledger.append(&Batch {
            entries: vec![entry],
            blobs: Vec::new(),
        })?;
    }
    report(common, &ledger, &id, &parsed)
}

fn open(goal: &Goal) -> Result<crate::world::World, PortError> {
    open_world(&goal.contract.world, &goal.base_dir)
        .map_err(|error| PortError::environment(error.to_string()))
}

fn world_error(error: PortError) -> CliError {
    CliError::new(
        error.what,
        "Nothing was measured. Mend the goal's [world] or the adapter.",
    )
}

fn measure(
    args: &Args,
    reader: &Reader,
    ledger: &Ledger,
    id: &GoalId,
    parsed: &Goal,
) -> Result<Entry, CliError> {
    let wanted = args
        .job
        .as_deref()
        .map(|name| job(reader, id, name))
        .transpose()?;
    let facts = ledger
        .read()
        .all_facts(id)?
        .into_iter()
        .find(|one| one.config.is_some() && wanted.as_ref().is_none_or(|job| *job == one.id))
        .ok_or_else(|| {
            CliError::new(
                "no such job has a config to measure with",
                "Run the goal until a worker has proposed one, or name another with --job.",
            )
        })?;
    let Some(digest) = facts.config.clone() else {
        return Err(CliError::new(
            "the job lost its config",
            "This is a defect.",
        ));
    };
    let wall = Clock::Real.now();
    let at = engine_time(ledger.read(), wall)?;
    let sample = Sample {
        job: facts.id,
        config: String::from_utf8_lossy(&ledger.blob(&digest)?).into_owned(),
        config_digest: digest,
        salt: wall.0.to_string(),
        at,
    };
    let measured = prove(&|| open(parsed), &sample).map_err(world_error)?;
    Ok(Entry {
        at,
        goal: id.clone(),
        job: None,
        attempt: None,
        actor: Actor::Person(Account::current()),
        event: Event::ProofRecorded {
            adapter: measured.info.name,
            version: measured.info.version,
            action: Action::Stage,
            method: measured.method,
            counts: measured.counts,
            proven: measured.proven,
            expires_at: at.plus_ms(VALID_MS),
        },
    })
}

/// Says which adapter answers and under which proofs the engine would send an id again by itself.
fn report(
    common: &Common,
    ledger: &Ledger,
    id: &GoalId,
    parsed: &Goal,
) -> Result<ExitCode, CliError> {
    let info = open(parsed).map_err(world_error)?.target.info();
    let proofs = Proofs {
        declared_counts: parsed.contract.world.ports.contains_key("practice"),
        measured: ledger.read().proofs(id)?,
    };
    let now = engine_time(ledger.read(), Clock::Real.now())?;
    let valid: Vec<(Action, Option<String>)> = Action::ALL
        .iter()
        .map(|action| (*action, proofs.valid(&info, *action, now)))
        .collect();
    if common.json {
        let resends: serde_json::Map<String, serde_json::Value> = valid
            .iter()
            .map(|(action, proof)| (action.word().to_owned(), json!(proof)))
            .collect();
        print_json(
            "dogwatch.doctor/1",
            json!({
                "goal": id, "adapter": info.name, "version": info.version, "resends_under": resends,
                "measured": proofs.measured,
            }),
        )?;
        return Ok(ExitCode::Done);
    }
    let mut out = format!(
        "goal {id}: the world opens; target {} {}\n",
        info.name, info.version
    );
    for (action, proof) in &valid {
        out.push_str(&match proof {
            Some(proof) => {
                format!("{action}: an unclear outcome is sent again under its id: {proof}\n")
            }
            None => format!(
                "{action}: no valid proof; an unclear outcome waits for a person (verify-op)\n"
            ),
        });
    }
    if let Some(last) = proofs.measured.first() {
        out.push_str(&format!(
            "last measured {}: {} ({}); void from {}\n  {}\n",
            last.measured_at,
            if last.proven { "proven" } else { "NOT proven" },
            last.method,
            last.expires_at,
            last.counts
        ));
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}
