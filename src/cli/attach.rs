//! `dogwatch attach`: the interface; and how it is opened over an engine of this process.

use super::Common;
use super::error::{CliError, ExitCode};
use super::launch::{Launch, launch};
use super::place::ledger_path;
use crate::ledger::Reader;
use crate::model::GoalId;

/// How the interface looks.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Screen {
    /// Only look: every changing action is gone.
    #[arg(long)]
    pub read_only: bool,
    /// ASCII borders and marks.
    #[arg(long)]
    pub ascii: bool,
    /// `auto`, `always` or `never`; NO_COLOR is obeyed.
    #[arg(long, default_value = "auto", value_parser = ["auto", "always", "never"])]
    pub color: String,
    /// A theme's name.
    #[arg(long, default_value = "default")]
    pub theme: String,
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
    drop(Reader::open(&path)?);
    let _ = (&args.goal, &args.screen);
    Err(CliError::new("the interface is not wired yet", ""))
}

/// Opens the interface over an engine in a thread of this process.
///
/// # Errors
/// When the engine cannot start or ends with an error, or there is no terminal.
pub fn with_engine(what: &Launch<'_>, screen: &Screen) -> Result<ExitCode, CliError> {
    let launched = launch(what)?;
    let _ = (launched, screen, GoalId::from(""));
    Err(CliError::new("the interface is not wired yet", ""))
}
