//! The `dogwatch` binary: parse, dispatch, exit code.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dogwatch::cli::Cli::parse().run() {
        Ok(code) => ExitCode::from(code.code()),
        Err(error) => {
            eprintln!("{}", error.render());
            ExitCode::from(1)
        }
    }
}
