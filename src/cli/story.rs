//! `dogwatch demo --scenario NAME`: a story, played and told.

use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use crate::lab::story::{Line, Played, Story, StoryError, play};
use crate::model::SafeText;
use std::path::Path;

/// Plays a story and tells it, line by line or as JSON at its end.
///
/// # Errors
/// When the directory is not empty, or the engine cannot go on.
pub fn run(story: &'static Story, seed: u64, dir: &Path, json: bool) -> Result<ExitCode, CliError> {
    let tell: Box<dyn FnMut(&Line)> = if json {
        Box::new(|_| {})
    } else {
        print_text(&format!("{}: {}\n", story.name, story.sentence))?;
        // A reader that went away is noticed when the end is printed.
        Box::new(|line| drop(print_text(&format!("{}  {}", line.clock, line.text))))
    };
    let played = play(story, seed, dir, tell)?;
    if json {
        let body = serde_json::to_value(&played).unwrap_or_default();
        print_json("dogwatch.story/1", with_verdict(body, &played))?;
    } else {
        print_text(&ending(&played))?;
    }
    Ok(if played.holds() {
        ExitCode::Done
    } else {
        ExitCode::Unsound
    })
}

fn with_verdict(mut body: serde_json::Value, played: &Played) -> serde_json::Value {
    if let Some(map) = body.as_object_mut() {
        map.insert("holds".to_owned(), played.holds().into());
    }
    body
}

fn ending(played: &Played) -> String {
    let mut out = String::new();
    if !played.figures.is_empty() {
        out.push_str("\nfigures\n");
    }
    for (name, value) in &played.figures {
        out.push_str(&format!("  {name}: {value}\n"));
    }
    out.push_str("\nwhat must be true\n");
    for check in &played.checks {
        let word = if check.holds { "holds" } else { "FAILS" };
        out.push_str(&format!(
            "  {word}  {} ({})\n",
            check.what,
            SafeText::line(&check.seen)
        ));
    }
    out.push_str(&format!(
        "  {}  the ledger's chains and projections verify ({})\n",
        if played.chain == "ok" {
            "holds"
        } else {
            "FAILS"
        },
        played.chain
    ));
    out.push_str(&format!(
        "\nledger {}\nworld {}",
        played.ledger.display(),
        played.world.display()
    ));
    out
}

impl From<StoryError> for CliError {
    fn from(error: StoryError) -> Self {
        match error {
            StoryError::Ledger(error) => error.into(),
            StoryError::Engine(error) => error.into(),
            StoryError::Adopt(error) => error.into(),
            StoryError::Place(_) => Self::new(error.to_string(), "Nothing was started."),
            other => Self::new(
                other.to_string(),
                "What was played until then is in the directory.",
            ),
        }
    }
}
