//! `dogwatch run`: work on a goal.

use super::Common;
use super::adopt::adopt_goal;
use super::attach::{Screen, begin_session, with_engine};
use super::check::read_goal;
use super::error::{CliError, ExitCode};
use super::launch::{Launch, Launched, Speed, launch};
use super::output::{print_json, print_text};
use super::place::{goal, ledger_path};
use crate::engine::report::{Report, report};
use crate::engine::run::{Finish, Settings, Stop};
use crate::ledger::Reader;
use crate::ledger::read::TokenTotals;
use crate::model::{Account, SafeText};
use crate::tui::notice::Watch;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A goal file; adopted first when it is new to the ledger.
    #[arg(conflicts_with = "goal")]
    file: Option<PathBuf>,
    /// A goal that was adopted before.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
    /// Set a key of the goal's world, such as source.path=FILE; only when it is adopted.
    #[arg(long = "set", value_name = "PORT.KEY=VALUE")]
    set: Vec<String>,
    /// Answer yes to every question of adoption; recorded in your name.
    #[arg(long)]
    yes: bool,
    /// Without the interface.
    #[arg(long)]
    headless: bool,
    /// End with exit code 10 when only people can move the goal on.
    #[arg(long, requires = "headless")]
    exit_when_waiting: bool,
    /// Speed of a practice goal's clock: `max`, or virtual seconds a second.
    #[arg(long, default_value = "600")]
    speed: Speed,
    /// Begin a session of its own, so that the terminal's end does not end the work.
    #[arg(long, hide = true, requires = "headless")]
    detached: bool,
    /// The simulated owner decides; only in the practice world.
    #[arg(long, hide = true, requires = "headless")]
    practice_owner: bool,
    #[command(flatten)]
    screen: Screen,
}

/// Runs the command.
///
/// # Errors
/// When the goal cannot be adopted or taken up, or a commit fails.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    if args.detached {
        begin_session();
    }
    let path = ledger_path(common)?;
    let id = match &args.file {
        Some(file) => {
            adopt_goal(
                &path,
                read_goal(file, &args.set)?,
                &Account::current(),
                args.yes,
            )?
            .0
        }
        None => goal(&Reader::open(&path)?, args.goal.as_deref())?.goal,
    };
    let what = Launch {
        ledger: &path,
        goal: &id,
        speed: args.speed,
        settings: Settings {
            exit_when_waiting: args.exit_when_waiting,
            stay_after_end: !args.headless,
            say_on_stderr: args.headless,
            resume: args.screen.config()?.resume,
        },
        practice_owner: args.practice_owner,
    };
    if args.headless {
        // Told also while no interface is open; wrong settings before any work begins.
        let notify = args.screen.config()?.notify;
        let mut launched = launch(&what)?;
        let watch = Watch::start(&notify, &path, &id)?;
        let finish = run_headless(&mut launched)?;
        drop(watch);
        let report = report(launched.engine.ledger().read(), &id)?;
        print_report(common, &report, finish)?;
        return Ok(exit_code(finish));
    }
    with_engine(&what, &args.screen)
}

/// Runs an engine in this thread until it ends; a signal stops it after its current steps.
///
/// # Errors
/// When a commit fails.
pub fn run_headless(launched: &mut Launched) -> Result<Finish, CliError> {
    stop_on_signals(launched.stop.clone())?;
    Ok(launched.engine.run()?)
}

fn stop_on_signals(stop: Stop) -> Result<(), CliError> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(|error| {
        CliError::new(
            format!("signals cannot be caught: {error}"),
            "Nothing was started.",
        )
    })?;
    let watching = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                // A terminal that goes away does not end headless work.
                if signal != SIGHUP {
                    stop.after_current_steps(&format!("signal {signal}"));
                }
            }
        });
    watching.map(drop).map_err(|error| {
        CliError::new(
            format!("no thread for signals: {error}"),
            "Nothing was started.",
        )
    })
}

/// The exit code of a run.
pub fn exit_code(finish: Finish) -> ExitCode {
    match finish {
        Finish::OnlyPeople => ExitCode::OnlyPeople,
        Finish::Budget => ExitCode::Budget,
        Finish::Ended | Finish::Stopped => ExitCode::Done,
    }
}

/// How a run ended, one word for JSON.
pub fn finish_word(finish: Finish) -> &'static str {
    match finish {
        Finish::Ended => "ended",
        Finish::OnlyPeople => "only_people",
        Finish::Budget => "budget",
        Finish::Stopped => "stopped",
    }
}

fn print_report(common: &Common, report: &Report, finish: Finish) -> Result<(), CliError> {
    if common.json {
        let mut body = serde_json::to_value(report).unwrap_or_default();
        if let Some(map) = body.as_object_mut() {
            map.insert("finish".to_owned(), json!(finish_word(finish)));
        }
        return print_json("dogwatch.run/1", body);
    }
    print_text(&text_of(report, finish))
}

/// The closing report as text.
pub fn text_of(report: &Report, finish: Finish) -> String {
    let jobs = &report.jobs;
    let mut out = format!(
        "goal {}: {}\njobs: {} in all, {} cut over, {} handed over, {} cancelled, {} open\n\
         operations: {} applied, {} refused, {} to verify; queries: {}; approvals: {} yes, {} no",
        report.goal,
        match finish {
            Finish::Ended => "every job has ended",
            Finish::OnlyPeople => "only people can move it on (dogwatch approvals)",
            Finish::Budget => "a budget ended the work (dogwatch handoff; dogwatch budget raise)",
            Finish::Stopped => "stopped; run it again and it goes on",
        },
        jobs.total,
        jobs.cut_over,
        jobs.handed_over,
        jobs.cancelled,
        jobs.open,
        report.operations.applied,
        report.operations.refused,
        report.operations.to_verify,
        report.queries_used,
        report.approvals.approved,
        report.approvals.rejected,
    );
    if report.models.turns > 0 {
        out.push('\n');
        out.push_str(&models_text(&report.models));
    }
    if report.held > 0 {
        out.push_str(&format!(
            "\nheld: nothing is started until {} differences between ledger and world are accepted \
             (dogwatch drift list)",
            report.held
        ));
    }
    if !report.handed_over.is_empty() {
        out.push_str("\nhanded over:");
    }
    for one in &report.handed_over {
        out.push_str(&format!("\n  {}: {}", one.job, SafeText::line(&one.reason)));
    }
    out
}

/// What chat workers took, in one line.
fn models_text(models: &TokenTotals) -> String {
    let input = models.uncached + models.cache_write + models.cache_read;
    let share = models.cached_share().unwrap_or(0.0) * 100.0;
    format!(
        "{}: {} turns, {input} tokens in ({share:.1} % of them from cache), {} out; {} drifted, {} calls refused",
        models.names.join(", "),
        models.turns,
        models.output,
        models.drift,
        models.refused
    )
}

/// The same as JSON.
pub fn models_json(models: &TokenTotals) -> serde_json::Value {
    let mut value = serde_json::to_value(models).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.insert("cached_share".to_owned(), models.cached_share().into());
    }
    value
}
