//! `dogwatch` alone: the interface on the ledger; where there is none yet, a welcome.

use super::error::{CliError, ExitCode};
use super::output::print_text;
use super::place::ledger_path;
use super::{Common, attach, demo};
use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

const WELCOME: &str = "\
dogwatch supervises goals that take days to months: it works on them, checks
every claim against the environment, and asks you before anything runs in
production.

There is no ledger yet. Two ways to begin:

  dogwatch demo --tour        practice: an invented retailer's 120 jobs;
                              nothing outside is touched
  dogwatch check GOAL.toml    read a goal file of yours, then
  dogwatch run GOAL.toml      adopt it and work on it
                              (docs/goal-file.md says what can stand in it)";

/// Opens the interface, or says how to begin.
///
/// # Errors
/// When the ledger or the terminal cannot be used; without both, when there is nothing to show.
pub fn run(common: &Common) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    if path.exists() {
        return attach::run(&attach::Args::default(), common);
    }
    print_text(WELCOME)?;
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Ok(ExitCode::Done);
    }
    if asks("\nStart the practice migration with its tour now? [y/N] ")? {
        return demo::run(&demo::Args::tour(), common);
    }
    Ok(ExitCode::Done)
}

fn asks(question: &str) -> Result<bool, CliError> {
    let failed = |error: std::io::Error| CliError::new(error.to_string(), "Nothing was started.");
    let mut out = std::io::stdout().lock();
    out.write_all(question.as_bytes())
        .and_then(|()| out.flush())
        .map_err(failed)?;
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(100)
        .read_line(&mut line)
        .map_err(failed)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requirement 13: it is read in a terminal of the design size, before anything is drawn.
    #[test]
    fn the_welcome_fits_the_design_size() {
        let lines: Vec<&str> = WELCOME.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        assert!(lines.len() <= 20);
    }
}
