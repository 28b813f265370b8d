//! `dogwatch verify`: recompute, replay, compare.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use super::place::ledger_path;
use crate::ledger::verify;
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// When the ledger cannot be read at all.
pub fn run(_args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    let path = ledger_path(common)?;
    let report = verify(&path)?;
    if common.json {
        let damage: Vec<_> = report
            .damage
            .iter()
            .map(|one| json!({ "goal": one.goal, "job": one.job, "what": one.what }))
            .collect();
        print_json(
            "dogwatch.verify/1",
            json!({
                "sound": report.is_sound(), "entries": report.entries, "chains": report.chains,
                "rows": report.rows, "blobs": report.blobs, "damage": damage, "more": report.more,
            }),
        )?;
    } else {
        let mut out = format!(
            "{}: {} entries in {} chains, {} rows and {} blobs recomputed: {}",
            path.display(),
            report.entries,
            report.chains,
            report.rows,
            report.blobs,
            if report.is_sound() {
                "all fit"
            } else {
                "DAMAGED"
            }
        );
        for one in &report.damage {
            out.push_str(&format!("\n  {} {}: {}", one.goal, one.job, one.what));
        }
        if report.more > 0 {
            out.push_str(&format!("\n  and {} more", report.more));
        }
        print_text(&out)?;
    }
    Ok(if report.is_sound() {
        ExitCode::Done
    } else {
        ExitCode::Unsound
    })
}
