//! `dogwatch attach`: the interface; and how it is opened over an engine of this process.

use super::Common;
use super::amend::FileAmender;
use super::config::{self, Config};
use super::error::{CliError, ExitCode};
use super::launch::{Launch, launch};
use super::place::ledger_path;
use crate::engine::{EngineError, Finish};
use crate::ledger::{Reader, engine_runs};
use crate::model::GoalId;
use crate::tui::notice::Desktop;
use crate::tui::theme::Theme;
use crate::tui::{
    self, ColourWhen, EngineHandle, EngineHere, Leave, Options, TuiError, locale_is_utf8,
};
use crate::world::process::own_program;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a headless engine is waited for before its place is left.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// How the interface looks. What is not said here is as the configuration file has it.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Screen {
    /// Only look: every changing action is gone.
    #[arg(long)]
    read_only: bool,
    /// ASCII borders and marks; chosen by itself where the locale is not UTF-8.
    #[arg(long)]
    ascii: bool,
    /// For a bad link: at most two frames a second.
    #[arg(long)]
    calm: bool,
    /// Ring the terminal's bell and post a notice when something new needs a person.
    #[arg(long)]
    notify: bool,
    /// `auto`, `always` or `never`; NO_COLOR is obeyed by `auto`.
    #[arg(long, value_parser = ["auto", "always", "never"])]
    color: Option<String>,
    /// A theme: default, light, dark, solarized, high-contrast, mono, or NAME.toml in the
    /// configuration directory's themes/.
    #[arg(long)]
    theme: Option<String>,
    /// The configuration file; the default is config.toml in this account's configuration directory.
    #[arg(long, value_name = "FILE", env = "DOGWATCH_CONFIG")]
    config: Option<PathBuf>,
    /// Set by `demo --tour`.
    #[arg(skip)]
    pub tour: bool,
}

impl Screen {
    /// The configuration with what the command line says over it.
    ///
    /// # Errors
    /// When the file is wrong.
    pub fn config(&self) -> Result<Config, CliError> {
        let mut config = config::load(self.config.as_deref())?;
        if let Some(theme) = &self.theme {
            config.theme.clone_from(theme);
        }
        if let Some(color) = &self.color {
            config.color.clone_from(color);
        }
        if self.ascii {
            "always".clone_into(&mut config.ascii);
        }
        config.calm |= self.calm;
        if self.notify && !config.notify.is_on() {
            config.notify.bell = true;
            config.notify.desktop = Desktop::Osc9;
        }
        Ok(config)
    }

    fn options(
        &self,
        config: Config,
        ledger: &Path,
        goal: Option<GoalId>,
        engine: EngineHere,
    ) -> Options {
        let themes = config::config_dir().map(|dir| dir.join("themes"));
        let theme = Theme::find(&config.theme, themes.as_deref()).unwrap_or_else(|why| {
            eprintln!(
                "{}",
                CliError::new(why, "The default theme is used.").render()
            );
            Theme::built_in("default").unwrap_or_else(|_| Theme::plain())
        });
        Options {
            ledger: ledger.to_path_buf(),
            goal,
            read_only: self.read_only,
            theme,
            ascii: match config.ascii.as_str() {
                "always" => true,
                "never" => false,
                _ => !locale_is_utf8(|name| std::env::var(name).ok()),
            },
            colour: match config.color.as_str() {
                "always" => ColourWhen::Always,
                "never" => ColourWhen::Never,
                _ => ColourWhen::Auto,
            },
            calm: config.calm,
            notify: config.notify,
            keys: config.keys,
            tour: self.tour,
            amender: Some(Box::new(FileAmender::new(ledger))),
            engine,
        }
    }
}

/// Arguments.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// The goal to open on.
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
    #[command(flatten)]
    screen: Screen,
}

/// Runs the command.
///
/// # Errors
/// When there is no ledger or no terminal.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let mut config = args.screen.config()?;
    // Whoever runs the engine tells programs; told by every onlooker, an item would be told many times.
    config.notify.command.clear();
    config.notify.webhook = None;
    let reader = Reader::open(&path)?;
    let goal = match &args.goal {
        Some(name) => Some(super::place::goal(&reader, Some(name))?.goal),
        None => None,
    };
    drop(reader);
    tui::run(args.screen.options(config, &path, goal, EngineHere::None))?;
    Ok(ExitCode::Done)
}

type Outcome = Option<Result<Finish, EngineError>>;

/// The engine's thread, as the interface may know it.
struct EngineThread {
    outcome: Arc<Mutex<Outcome>>,
}

impl EngineHandle for EngineThread {
    fn finished(&self) -> Option<Result<(), String>> {
        let outcome = self.outcome.lock().ok()?;
        outcome.as_ref().map(|one| match one {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// Opens the interface over an engine in a thread of this process, and does what the operator says on
/// leaving: work goes on without a terminal unless it is told to stop.
///
/// # Errors
/// When the engine cannot start or ended with an error, or there is no terminal.
pub fn with_engine(what: &Launch<'_>, screen: &Screen) -> Result<ExitCode, CliError> {
    // Wrong settings are told before any work begins.
    let config = screen.config()?;
    let launched = launch(what)?;
    let stop = launched.stop.clone();
    let outcome: Arc<Mutex<Outcome>> = Arc::default();
    let thread = start_thread(launched, Arc::clone(&outcome))?;
    let handle = EngineThread {
        outcome: Arc::clone(&outcome),
    };
    let options = screen.options(
        config,
        what.ledger,
        Some(what.goal.clone()),
        EngineHere::InProcess(Box::new(handle)),
    );
    let left = tui::run(options).map_err(CliError::from);
    let goes_on = matches!(left, Ok(Leave::Detach | Leave::TtyLost));
    match &left {
        Ok(Leave::Detach) => stop.at_safe_point("detached; work goes on without a terminal"),
        Ok(Leave::TtyLost) => stop.at_safe_point("the terminal went away; work goes on without it"),
        Ok(Leave::StopAtSafePoint) => stop.at_safe_point("stopped by the operator at a safe point"),
        Ok(Leave::Terminated) => stop.after_current_steps("the process was asked to end"),
        _ => stop.after_current_steps("stopped by the operator after the current steps"),
    }
    let panicked = thread.join().is_err();
    let leave = left?;
    if panicked {
        return Err(CliError::new(
            "the engine's thread ended by a defect",
            "Everything committed is kept; run it again and it goes on.",
        ));
    }
    if let Ok(mut outcome) = outcome.lock()
        && let Some(Err(error)) = outcome.take()
    {
        return Err(error.into());
    }
    if goes_on {
        let log = go_on_headless(what, screen)?;
        if leave == Leave::Detach {
            super::output::print_text(&format!(
                "work goes on without a terminal, log {}\nsee it again: dogwatch attach --ledger {}",
                log.display(),
                what.ledger.display()
            ))?;
        }
    }
    Ok(ExitCode::Done)
}

fn start_thread(
    mut launched: super::launch::Launched,
    outcome: Arc<Mutex<Outcome>>,
) -> Result<JoinHandle<()>, CliError> {
    std::thread::Builder::new()
        .name("engine".to_owned())
        .spawn(move || {
            let result = launched.engine.run();
            // The lock is released before the outcome is told, so that the next engine can start.
            drop(launched);
            if let Ok(mut slot) = outcome.lock() {
                *slot = Some(result);
            }
        })
        .map_err(|error| {
            CliError::new(
                format!("no thread for the engine: {error}"),
                "Nothing was started.",
            )
        })
}

/// Starts the same engine in a session of its own; its output goes to a file beside the ledger.
fn go_on_headless(what: &Launch<'_>, screen: &Screen) -> Result<PathBuf, CliError> {
    let mut name = what.ledger.as_os_str().to_owned();
    name.push(".log");
    let log = PathBuf::from(name);
    let failed = |error: std::io::Error| {
        CliError::new(
            format!("work could not go on without the terminal: {error}"),
            "Everything committed is kept. Start it again: dogwatch run --headless.",
        )
    };
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log)
        .map_err(failed)?;
    let also = file.try_clone().map_err(failed)?;
    let mut words: Vec<OsString> = ["run", "--headless", "--detached", "--goal"]
        .map(OsString::from)
        .to_vec();
    words.push(what.goal.as_str().into());
    words.push("--speed".into());
    words.push(what.speed.to_string().into());
    words.push("--ledger".into());
    words.push(
        std::path::absolute(what.ledger)
            .map_err(failed)?
            .into_os_string(),
    );
    if let Some(config) = &screen.config {
        words.push("--config".into());
        words.push(
            std::path::absolute(config)
                .map_err(failed)?
                .into_os_string(),
        );
    }
    if what.practice_owner {
        words.push("--practice-owner".into());
    }
    let mut child = Command::new(own_program().map_err(failed)?)
        .args(words)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(also)
        // Out of the terminal's foreground group from its first instruction: whoever leads the session may
        // end at any moment, and the kernel then sends SIGHUP to that group.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    // "Work goes on" is said only when it does.
    let begun = Instant::now();
    while begun.elapsed() < STARTS_WITHIN {
        if engine_runs(what.ledger) {
            return Ok(log);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(CliError::new(
                format!("work did not go on without the terminal: {status}"),
                format!(
                    "Everything committed is kept. {} says why; start it again: dogwatch run --headless.",
                    log.display()
                ),
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(log)
}

/// Begins a session of its own, so that the terminal's end does not end the work. One that leads its group
/// (as what [`go_on_headless`] starts does) must go back into another for a moment. Failing is no error:
/// work goes on in the old session, where SIGHUP is caught.
pub fn begin_session() {
    use nix::unistd::{Pid, getpgid, getppid, setpgid, setsid};
    if setsid().is_ok() {
        return;
    }
    if let Ok(group) = getpgid(Some(getppid()))
        && setpgid(Pid::from_raw(0), group).is_ok()
        && setsid().is_err()
    {
        // Not left in the foreground group, where SIGHUP would find it.
        let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    }
}

impl From<TuiError> for CliError {
    fn from(error: TuiError) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}
