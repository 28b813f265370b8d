//! A run to read.

use crate::ledger::Event;
use crate::ledger::read::EventRow;

/// An entry in one line, without what differs from process to process.
pub(super) fn line_of(row: &EventRow) -> String {
    let body = match &row.event {
        Some(Event::EngineStarted { .. }) => String::new(),
        Some(event) => serde_json::to_value(event)
            .ok()
            .and_then(|value| value.get("body").map(ToString::to_string))
            .unwrap_or_default(),
        None => "?".to_owned(),
    };
    format!(
        "{:>6} {} {:<9} {:<9} {} {body}",
        row.seq.0,
        row.at,
        row.job.as_ref().map_or("", |job| job.as_str()),
        row.actor,
        row.kind,
    )
}
