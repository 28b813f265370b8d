//! `dogwatch completions` and `dogwatch man`, from the declaration of the command line itself.

use super::Cli;
use super::error::{CliError, ExitCode};
use clap::CommandFactory as _;
use std::io::Write as _;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell.
    shell: clap_complete::Shell,
}

/// Prints a completion script.
///
/// # Errors
/// When standard output is gone.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dogwatch", &mut text);
    print(&text)
}

/// Prints the manual page, every subcommand's options with it.
///
/// # Errors
/// When standard output is gone.
pub fn man() -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    command.build();
    let mut render = || -> std::io::Result<()> {
        clap_mangen::Man::new(command.clone()).render(&mut text)?;
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let page = clap_mangen::Man::new(one.clone());
            writeln!(text, ".SH \"DOGWATCH {}\"", one.get_name().to_uppercase())?;
            page.render_description_section(&mut text)?;
            page.render_options_section(&mut text)?;
        }
        Ok(())
    };
    render().map_err(|error| CliError::new(error.to_string(), ""))?;
    print(&text)
}

/// As it is: these texts are ours, and roff needs its bytes.
fn print(text: &[u8]) -> Result<ExitCode, CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Ok(()) => Ok(ExitCode::Done),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::Done),
        Err(error) => Err(CliError::new(format!("standard output: {error}"), "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
