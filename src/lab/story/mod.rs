//! Stories: what dogwatch does in the middle of a long goal, played without a screen over the embedded
//! practice world on a virtual clock (docs/practice-world.md). One file a story; [`STORIES`] is the table.
//!
//! A story adopts its goal, lets the real engine work, acts as its people would, and states what must be
//! true. The same seed plays the same story, entry for entry.

mod amendment;
mod budget;
mod cutover;
mod outage;
mod quota;
mod restart;
mod spin;
mod stage;
mod text;
mod worker;

pub use stage::{Check, Line, Moment, Played, Stage, StoryError};
pub use text::{at, faults, offset_ms, replaced};
pub use worker::StoryWorker;

use std::path::Path;

/// One story.
#[derive(Debug)]
pub struct Story {
    /// What `--scenario` takes.
    pub name: &'static str,
    /// What it shows, one sentence.
    pub sentence: &'static str,
    /// Plays it on an empty stage: adopts, runs, acts, says and checks.
    pub play: fn(&mut Stage) -> Result<(), StoryError>,
}

/// All stories, in the order in which they are listed.
pub const STORIES: &[Story] = &[
    restart::STORY,
    outage::STORY,
    cutover::STORY,
    quota::STORY,
    budget::STORY,
    amendment::STORY,
    spin::STORY,
];

/// The story of a name; for an unknown one, the table as a message.
///
/// # Errors
/// When there is no such story.
pub fn find(name: &str) -> Result<&'static Story, String> {
    STORIES
        .iter()
        .find(|story| story.name == name)
        .ok_or_else(|| format!("there is no such story; there are:\n{}", listed()))
}

/// One line a story, for help and messages.
pub fn listed() -> String {
    let width = STORIES.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let lines: Vec<String> = STORIES
        .iter()
        .map(|one| format!("  {:width$}  {}", one.name, one.sentence))
        .collect();
    lines.join("\n")
}

/// Plays a story in an empty directory. `tell` gets each line as it is said.
///
/// # Errors
/// When the directory holds a ledger already, or the engine or the world cannot go on. What was said until
/// then was told.
pub fn play(
    story: &'static Story,
    seed: u64,
    dir: &Path,
    tell: Box<dyn FnMut(&Line)>,
) -> Result<Played, StoryError> {
    let mut stage = Stage::new(story.name, seed, dir, tell)?;
    (story.play)(&mut stage)?;
    stage.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_table() {
        let why = find("outrage").unwrap_err();
        for story in STORIES {
            assert!(why.contains(story.name) && why.contains(story.sentence));
            assert!(story.sentence.ends_with('.'), "{}", story.name);
        }
        assert_eq!(find("restart").unwrap().name, "restart");
    }
}
