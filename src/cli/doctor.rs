//! `dogwatch doctor`: what would keep a goal from running, and measuring its target.

use super::Common;
use super::doctor_models::{self, Findings};
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{goal, job, ledger_path};
use crate::contract::Goal;
use crate::engine::adopt::{parse_adopted, take_up};
use crate::engine::operation::Proofs;
use crate::engine::prove::{Sample, VALID_MS, ids, prove};
use crate::ledger::event::{Actor, Entry, Event};
use crate::ledger::facts::JobFacts;
use crate::ledger::{Batch, Ledger, Reader, decide::engine_time};
use crate::model::{Account, Action, GoalId, JobId, TimeMs, time::Clock};
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
    /// Ask each model that the plan names for one word, and print what that took. Costs a few tokens.
    #[arg(long)]
    call: bool,
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
        measure(args, &reader, &mut ledger, &id, &parsed)?;
    }
    let models = doctor_models::look(&parsed, args.call, Clock::Real.now())?;
    report(common, &ledger, &id, &parsed, &models)
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

/// Measures and records: first the ids that are about to be sent, then what came of them.
fn measure(
    args: &Args,
    reader: &Reader,
    ledger: &mut Ledger,
    id: &GoalId,
    parsed: &Goal,
) -> Result<(), CliError> {
    let wanted = args
        .job
        .as_deref()
        .map(|name| job(reader, id, name))
        .transpose()?;
    let at = engine_time(ledger.read(), Clock::Real.now())?;
    let sample = sample(ledger, id, wanted.as_ref(), at)?;
    let info = open(parsed).map_err(world_error)?.target.info();
    let record = |ledger: &mut Ledger, event: Event| {
        let entry = Entry {
            at,
            goal: id.clone(),
            job: None,
            attempt: None,
            actor: Actor::Person(Account::current()),
            event,
        };
        ledger.append(&Batch {
            entries: vec![entry],
            blobs: Vec::new(),
        })
    };
    let begun = Event::ProofRecorded {
        adapter: info.name,
        version: info.version,
        action: Action::Stage,
        method: format!(
            "a measurement with job {} began and has not ended",
            sample.job
        ),
        counts: json!({ "operation_ids": ids(&sample) }),
        proven: false,
        expires_at: at,
    };
    record(ledger, begun)?;
    let measured = prove(&|| open(parsed), &sample).map_err(world_error)?;
    let ended = Event::ProofRecorded {
        adapter: measured.info.name,
        version: measured.info.version,
        action: Action::Stage,
        method: measured.method,
        counts: measured.counts,
        proven: measured.proven,
        expires_at: at.plus_ms(VALID_MS),
    };
    record(ledger, ended)?;
    Ok(())
}

/// A config that the target has staged before; of a job that has ended, if there is one, so that no check
/// in progress meets another run's output.
fn sample(
    ledger: &Ledger,
    id: &GoalId,
    wanted: Option<&JobId>,
    at: TimeMs,
) -> Result<Sample, CliError> {
    let mut usable: Vec<JobFacts> = ledger
        .read()
        .all_facts(id)?
        .into_iter()
        .filter(|one| one.config.is_some() && one.tries_total > 0)
        .filter(|one| wanted.is_none_or(|job| *job == one.id))
        .collect();
    usable.sort_by_key(|one| (!one.state.has_ended(), one.position));
    let found = usable
        .into_iter()
        .next()
        .and_then(|one| one.config.map(|config| (one.id, config)));
    let Some((job, config_digest)) = found else {
        return Err(CliError::new(
            "no such job has a config that was staged, to measure with",
            "Run the goal until one was staged, or name another with --job.",
        ));
    };
    Ok(Sample {
        job,
        config: String::from_utf8_lossy(&ledger.blob(&config_digest)?).into_owned(),
        config_digest,
        salt: Clock::Real.now().0.to_string(),
        at,
    })
}

/// Says which adapter answers and under which proofs the engine would send an id again by itself.
fn report(
    common: &Common,
    ledger: &Ledger,
    id: &GoalId,
    parsed: &Goal,
    models: &Findings,
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
                "measured": proofs.measured, "providers": models.providers, "agents": models.agents,
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
    for line in &models.lines {
        out.push_str(&format!("{line}\n"));
    }
    print_text(out.trim_end())?;
    Ok(ExitCode::Done)
}
