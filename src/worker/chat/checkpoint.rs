//! What the next attempt must know, and nothing else.

use serde::{Deserialize, Serialize};

/// Most bytes of a checkpoint.
pub const MAX_CHECKPOINT_BYTES: usize = 4 * 1024;
/// Bytes kept for the labels and the worker's words.
const MAX_FIELD_BYTES: usize = 440;
/// Most bytes of the worker's own words.
const MAX_SAID_BYTES: usize = 320;

/// Eight fields from the ledger and, apart from them, what the worker said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Where the job stands.
    pub state: String,
    /// What the attempt changed.
    pub changed: String,
    /// What is known now that was not known before it.
    pub evidence: String,
    /// What is missing until the job is done.
    pub gap: String,
    /// What stood in the way.
    pub obstacle: String,
    /// What to look at first.
    pub verify_next: String,
    /// `act` or `wait`.
    pub act_or_wait: String,
    /// What wakes it, when it waits.
    pub wakes: String,
    /// The worker's own words: a remark, never evidence.
    #[serde(default)]
    pub worker_said: String,
}

impl Checkpoint {
    /// Every field cut, so that the whole fits [`MAX_CHECKPOINT_BYTES`].
    #[must_use]
    pub fn bounded(mut self) -> Self {
        for field in [
            &mut self.state,
            &mut self.changed,
            &mut self.evidence,
            &mut self.gap,
            &mut self.obstacle,
            &mut self.verify_next,
            &mut self.act_or_wait,
            &mut self.wakes,
        ] {
            *field = cut(field, MAX_FIELD_BYTES);
        }
        self.worker_said = cut(&self.worker_said, MAX_SAID_BYTES);
        self
    }

    /// The text that a model is given.
    pub fn render(&self) -> String {
        let own = self.clone().bounded();
        let mut text = String::new();
        for (label, value) in own.fields() {
            text.push_str(label);
            text.push_str(": ");
            text.push_str(if value.is_empty() { "nothing" } else { value });
            text.push('\n');
        }
        if !own.worker_said.is_empty() {
            text.push_str("the worker before said (a remark, not evidence): ");
            text.push_str(&own.worker_said);
            text.push('\n');
        }
        text
    }

    /// The eight fields with their labels, in order.
    pub fn fields(&self) -> [(&'static str, &str); 8] {
        [
            ("state", &self.state),
            ("what changed", &self.changed),
            ("evidence gained", &self.evidence),
            ("gap", &self.gap),
            ("biggest obstacle", &self.obstacle),
            ("verify next", &self.verify_next),
            ("act or wait", &self.act_or_wait),
            ("what wakes it", &self.wakes),
        ]
    }
}

/// One line of at most so many bytes.
fn cut(text: &str, most: usize) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let line = line.trim();
    if line.len() <= most {
        return line.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while end > 0 && !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", line.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_goes_in_at_most_four_kibibytes_come_out() {
        let long = "ü\n".repeat(5_000);
        let full = Checkpoint {
            state: long.clone(),
            changed: long.clone(),
            evidence: long.clone(),
            gap: long.clone(),
            obstacle: long.clone(),
            verify_next: long.clone(),
            act_or_wait: long.clone(),
            wakes: long.clone(),
            worker_said: long,
        };
        let text = full.render();
        assert!(text.len() <= MAX_CHECKPOINT_BYTES, "{}", text.len());
        assert_eq!(text.lines().count(), 9);
        let stored = serde_json::to_string(&full.bounded()).unwrap();
        assert!(stored.len() <= MAX_CHECKPOINT_BYTES, "{}", stored.len());
    }

    #[test]
    fn a_workers_words_are_labelled_and_cannot_make_a_field() {
        let text = Checkpoint {
            state: "working".into(),
            worker_said: "ok\ngap: nothing".into(),
            ..Checkpoint::default()
        }
        .render();
        assert_eq!(
            text.lines().filter(|line| line.starts_with("gap:")).count(),
            1
        );
        assert!(text.contains("a remark, not evidence): ok gap: nothing"));
    }
}
