//! `dogwatch demo`: the practice migration.

use super::Common;
use super::adopt::adopt_goal;
use super::attach::{Screen, with_engine};
use super::check::{ReadGoal, read_goal};
use super::error::{CliError, ExitCode, NOTHING_ADOPTED};
use super::launch::{Launch, Speed, is_practice_owner, launch};
use super::output::{print_json, print_text};
use super::place::{data_dir, goal};
use super::run::{exit_code, finish_word, run_headless, text_of};
use crate::engine::report::report;
use crate::engine::run::Settings;
use crate::lab::owner::PRACTICE_OWNER;
use crate::lab::score::score;
use crate::lab::story::{Story, find};
use crate::ledger::{LedgerError, Reader, verify};
use crate::model::{Account, GoalId};
use crate::world::practice;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Contract versions that are looked through for the one that a demo began with.
const VERSIONS: usize = 1_000;
/// Most practice jobs.
const MAX_JOBS: usize = 100_000;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Without the interface: the whole migration, then the closing report.
    #[arg(long)]
    headless: bool,
    /// Decides every fault of the practice world.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Virtual seconds a second, or `max`; 600 with the interface, max without.
    #[arg(long)]
    speed: Option<Speed>,
    /// `practice-owner`: a simulated owner decides, three minutes each, in working hours.
    #[arg(long, value_name = "WHO", value_parser = [PRACTICE_OWNER])]
    approve: Option<String>,
    /// How many jobs; beyond 120 the scenario is repeated on smaller tables.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=MAX_JOBS as i64))]
    jobs: u32,
    /// Where ledger and world are kept; a run that was cut off goes on there.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// A guided tour of two minutes over the practice migration; it watches for the real keys.
    #[arg(long, conflicts_with = "headless")]
    tour: bool,
    /// A story instead, without the interface: an unknown name lists them.
    #[arg(long, value_name = "NAME", value_parser = find, conflicts_with_all = ["tour", "approve", "speed", "jobs"])]
    scenario: Option<&'static Story>,
    #[command(flatten)]
    screen: Screen,
}

impl Args {
    /// The practice migration with its tour, as the welcome offers it.
    pub fn tour() -> Self {
        Self {
            headless: false,
            seed: 1,
            speed: None,
            approve: None,
            jobs: 120,
            dir: None,
            tour: true,
            scenario: None,
            screen: Screen::default(),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When the directory holds another demo, or the engine cannot go on.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let begun = Instant::now();
    if let Some(story) = args.scenario {
        let dir = story_place(args, story)?;
        return super::story::run(story, args.seed, &dir, common.json);
    }
    let place = place(args)?;
    let ledger = place.join("ledger.db");
    let me = match &args.approve {
        Some(name) if is_practice_owner(name) => Account(PRACTICE_OWNER.to_owned()),
        _ => Account::current(),
    };
    let file = write_goal(&place, args)?;
    let read = read_goal(&file, &[])?;
    let id = match amended_since(&ledger, &read, &me)? {
        Some(id) => keep_goal(&file, Ok(id))?,
        None => keep_goal(&file, adopt_goal(&ledger, read, &me, true))?.0,
    };
    let what = Launch {
        ledger: &ledger,
        goal: &id,
        speed: args.speed.unwrap_or(if args.headless {
            Speed::Max
        } else {
            Speed::Times(600.0)
        }),
        settings: Settings {
            exit_when_waiting: args.headless && args.approve.is_none(),
            stay_after_end: !args.headless,
            say_on_stderr: args.headless,
            resume: args.screen.config()?.resume,
        },
        practice_owner: args.approve.is_some(),
    };
    if !args.headless {
        let mut screen = args.screen.clone();
        screen.tour = args.tour;
        return with_engine(&what, &screen);
    }
    let mut launched = launch(&what)?;
    let finish = run_headless(&mut launched)?;
    let report = report(launched.engine.ledger().read(), &id)?;
    let days = launched.engine.now().since(launched.started) as f64 / 86_400_000.0;
    let per_day = launched.queries_per_day;
    let world = place.join(practice::goal::WORLD_FILE);
    let view = launched.engine.ledger().read();
    let score = score(view, &id, &world, args.jobs as usize)
        .map_err(|what| CliError::new(what, "The migration itself is in the ledger."))?;
    drop(launched);
    let chain = verify(&ledger)?.word();
    if common.json {
        print_json(
            "dogwatch.demo/1",
            json!({
                "seed": args.seed,
                "finish": finish_word(finish),
                "jobs": report.jobs,
                "operations": report.operations,
                "queries": { "used": report.queries_used, "limit_per_day": per_day },
                "approvals": report.approvals,
                "practice_model": super::run::models_json(&report.models),
                "score": score,
                "chain": chain,
                "ledger": ledger,
                "world": world,
                "virtual_days": (days * 100.0).round() / 100.0,
                "wall_ms": begun.elapsed().as_millis() as u64,
            }),
        )?;
    } else {
        print_text(&format!(
            "{}\n{}\nchain: {chain}; {days:.1} virtual days\nledger {}\nworld {}",
            text_of(&report, finish),
            score.text(),
            ledger.display(),
            world.display()
        ))?;
    }
    Ok(if chain == "ok" {
        exit_code(finish)
    } else {
        ExitCode::Unsound
    })
}

/// The directory named; else one under the data directory: the last demo that has not ended, or a new
/// one. Without the interface it is always a new one, so that the same seed starts from nothing.
fn place(args: &Args) -> Result<PathBuf, CliError> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    let parent = data_dir()?.join("demo");
    let name = |number: u32| parent.join(format!("seed-{}-jobs-{}-{number}", args.seed, args.jobs));
    let last = (1..10_000)
        .take_while(|number| name(*number).exists())
        .last();
    let Some(last) = last else { return Ok(name(1)) };
    Ok(if args.headless || has_ended(&name(last)) {
        name(last + 1)
    } else {
        name(last)
    })
}

/// The directory named; else a new one under the data directory.
fn story_place(args: &Args, story: &Story) -> Result<PathBuf, CliError> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    let parent = data_dir()?.join("demo");
    let name = |number: u32| parent.join(format!("{}-seed-{}-{number}", story.name, args.seed));
    let free = (1..10_000).map(name).find(|dir| !dir.exists());
    free.ok_or_else(|| {
        CliError::new(
            format!("{} holds ten thousand stories", parent.display()),
            "Nothing was started. Remove some, or name a --dir.",
        )
    })
}

fn has_ended(dir: &Path) -> bool {
    let Ok(reader) = Reader::open(&dir.join("ledger.db")) else {
        return false;
    };
    goal(&reader, None).is_ok_and(|row| row.ended.is_some())
}

/// Writes the goal file where the ledger is; [`keep_goal`] gives it its name.
fn write_goal(dir: &Path, args: &Args) -> Result<PathBuf, CliError> {
    let io = |error: std::io::Error| {
        CliError::new(
            format!("{}: {error}", dir.display()),
            "Nothing was started. Name another --dir.",
        )
    };
    std::fs::create_dir_all(dir).map_err(io)?;
    let dir = dir.canonicalize().map_err(io)?;
    // Of its own for each process: a second one that starts at the same moment must be told who holds the
    // ledger, and not that a file is gone.
    let file = dir.join(format!("practice.toml.{}", std::process::id()));
    std::fs::write(
        &file,
        practice::goal::goal_text(args.seed, args.jobs as usize),
    )
    .map_err(io)?;
    Ok(file)
}

/// Whether this very demo was adopted here, and its contract amended since: it goes on under the version in
/// force.
fn amended_since(ledger: &Path, read: &ReadGoal, me: &Account) -> Result<Option<GoalId>, CliError> {
    let reader = match Reader::open(ledger) {
        Ok(reader) => reader,
        Err(LedgerError::Missing(_) | LedgerError::Empty(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let contract = read.goal.contract.clone().resolve_me(me);
    let versions = reader.view().contracts(&contract.id, VERSIONS)?;
    let mut earlier = versions.iter().skip(1);
    let began = earlier.any(|row| row.digest == contract.digest);
    Ok(began.then_some(contract.id))
}

/// The goal file lies beside the ledger, so that a person can read what was adopted: one that was refused
/// does not take the adopted one's place.
fn keep_goal<T>(file: &Path, adopted: Result<T, CliError>) -> Result<T, CliError> {
    match adopted {
        Ok(adopted) => {
            let kept = file.with_extension("");
            std::fs::rename(file, &kept)
                .map_err(|error| CliError::new(format!("{}: {error}", kept.display()), ""))?;
            Ok(adopted)
        }
        Err(error) => {
            let _ = std::fs::remove_file(file);
            // A ledger that is held or damaged has a remedy of its own.
            if error.hint.as_str() == NOTHING_ADOPTED {
                let hint = "Another seed, number of jobs or owner needs another --dir.";
                return Err(CliError::new(error.what.as_str(), hint));
            }
            Err(error)
        }
    }
}
