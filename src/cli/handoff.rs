//! `dogwatch handoff`: what a person needs to go on without dogwatch.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::{adopted, goal, reader};
use crate::engine::handoff::{SCHEMA, markdown, package};
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The goal.
    #[arg(value_name = "GOAL")]
    goal: Option<String>,
    /// Write handoff.md and handoff.json into this folder instead of printing.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When the ledger cannot be read or the folder cannot be written.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let reader = reader(common)?;
    let row = goal(&reader, args.goal.as_deref())?;
    let adopted = adopted(&reader, &row.goal)?;
    let package = package(
        reader.view(),
        &adopted.goal.contract,
        "it was asked for",
        adopted.now,
    )?;
    let mut body = serde_json::to_value(&package).unwrap_or_default();
    let text = markdown(&package);
    if let Some(dir) = &args.out {
        let json = serde_json::to_string_pretty(&body).unwrap_or_default();
        let files = [("handoff.md", text.as_str()), ("handoff.json", &json)];
        write(dir, &files)?;
        if !common.json {
            print_text(&format!(
                "{} and {} are written",
                dir.join("handoff.md").display(),
                dir.join("handoff.json").display()
            ))?;
            return Ok(ExitCode::Done);
        }
    }
    if common.json {
        if let Some(map) = body.as_object_mut() {
            map.shift_remove("schema");
        }
        print_json(SCHEMA, body)?;
    } else {
        print_text(text.trim_end())?;
    }
    Ok(ExitCode::Done)
}

fn write(dir: &Path, files: &[(&str, &str)]) -> Result<(), CliError> {
    let failed = |path: &Path, error: std::io::Error| {
        CliError::new(
            format!("{}: {error}", path.display()),
            "The package was not written. Name a folder that can be written.",
        )
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
