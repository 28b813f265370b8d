//! The prompt cache of the practice model: prefixes that are byte-identical are served, as real providers do.
//!
//! A request is rendered as tools, system, messages; an entry is written at each cache mark and lives five
//! minutes from its last use (an hour where the mark says so). A read is the longest entry that is a prefix of
//! the request. Shorter than [`MIN_TOKENS`], nothing is kept.

use crate::model::{Digest, TimeMs, digest_bytes};
use crate::worker::provider::{CacheMark, Message, TurnRequest, Usage, UsageSource, UserPart};
use std::collections::BTreeMap;

/// Bytes that count as one token.
pub const BYTES_PER_TOKEN: u64 = 4;
/// Shortest prefix that is kept, in tokens.
pub const MIN_TOKENS: u64 = 512;
/// Most entries; the oldest go first.
const MAX_ENTRIES: usize = 4_096;

/// Prefixes by digest, and until when they are served.
#[derive(Debug, Default)]
pub struct PrefixCache {
    entries: BTreeMap<Digest, TimeMs>,
}

/// A place in the rendered request where a block ends.
struct Seam {
    bytes: u64,
    digest: Digest,
    mark: Option<CacheMark>,
}

impl PrefixCache {
    /// Counts a request's input, and keeps what its marks ask for.
    pub fn count(&mut self, request: &TurnRequest, now: TimeMs) -> Usage {
        self.entries.retain(|_, until| *until > now);
        let seams = seams(request);
        let total = seams.last().map_or(0, |seam| tokens(seam.bytes));
        let hit = seams
            .iter()
            .rev()
            .find(|seam| self.entries.contains_key(&seam.digest));
        let read = hit.map_or(0, |seam| tokens(seam.bytes));
        if let Some(seam) = hit {
            self.keep(seam.digest.clone(), CacheMark::FiveMinutes, now);
        }
        let (mut written_to, mut for_an_hour) = (read, 0);
        for seam in &seams {
            let at = tokens(seam.bytes);
            if let Some(mark) = seam.mark.filter(|_| at >= MIN_TOKENS) {
                self.keep(seam.digest.clone(), mark, now);
                if mark == CacheMark::OneHour {
                    for_an_hour += at.saturating_sub(written_to);
                }
                written_to = written_to.max(at);
            }
        }
        Usage {
            uncached: total - written_to,
            cache_write: written_to - read - for_an_hour,
            cache_write_1h: for_an_hour,
            cache_read: Some(read),
            output: 0,
            reasoning: 0,
            source: UsageSource::Reported,
        }
    }

    fn keep(&mut self, digest: Digest, mark: CacheMark, now: TimeMs) {
        let minutes = match mark {
            CacheMark::FiveMinutes => 5,
            CacheMark::OneHour => 60,
        };
        let until = now.plus_ms(minutes * 60_000);
        let own = self.entries.entry(digest).or_insert(until);
        *own = (*own).max(until);
        while self.entries.len() > MAX_ENTRIES {
            let oldest = self
                .entries
                .iter()
                .min_by_key(|(_, until)| **until)
                .map(|(digest, _)| digest.clone());
            let Some(oldest) = oldest else { return };
            self.entries.remove(&oldest);
        }
    }
}

/// Tokens of so many bytes.
pub fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Every block's end, with the digest of all bytes before it. Marks are no part of the bytes.
fn seams(request: &TurnRequest) -> Vec<Seam> {
    let mut seams = Vec::new();
    let mut digest = digest_bytes(request.model.as_bytes());
    let mut bytes = 0u64;
    let mut push = |kind: &str, text: &str, mark: Option<CacheMark>| {
        bytes += (kind.len() + text.len()) as u64;
        digest = digest_bytes(format!("{digest}{kind}{}:{text}", text.len()).as_bytes());
        seams.push(Seam {
            bytes,
            digest: digest.clone(),
            mark,
        });
    };
    for tool in &request.tools {
        let text = format!(
            "{}\n{}\n{}",
            tool.name,
            tool.description,
            tool.input_schema.as_str()
        );
        push("tool", &text, None);
    }
    for block in &request.system {
        push("system", &block.text, block.cache);
    }
    for message in &request.messages {
        match message {
            Message::User(parts) => {
                for part in parts {
                    match part {
                        UserPart::Text { text, cache } => push("user", text, *cache),
                        UserPart::ToolResult {
                            call,
                            text,
                            failed,
                            cache,
                        } => push("result", &format!("{call} {failed} {text}"), *cache),
                    }
                }
            }
            Message::Assistant(blocks) => {
                for block in blocks {
                    push("assistant", block.raw.as_str(), None);
                }
            }
        }
    }
    seams
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::provider::SystemBlock;

    fn request(system: &str, words: &[&str]) -> TurnRequest {
        let last = words.len().saturating_sub(1);
        TurnRequest {
            model: "m".to_owned(),
            max_output_tokens: 100,
            effort: None,
            tools: Vec::new(),
            system: vec![SystemBlock {
                text: system.to_owned(),
                cache: Some(CacheMark::FiveMinutes),
            }],
            messages: words
                .iter()
                .enumerate()
                .map(|(place, text)| {
                    Message::User(vec![UserPart::Text {
                        text: (*text).to_owned(),
                        cache: (place == last).then_some(CacheMark::FiveMinutes),
                    }])
                })
                .collect(),
        }
    }

    #[test]
    fn only_identical_beginnings_are_served_and_only_for_a_while() {
        let long = "rule ".repeat(1_000);
        let mut cache = PrefixCache::default();
        let now = TimeMs(0);
        let first = cache.count(&request(&long, &["a"]), now);
        assert_eq!((first.cache_read, first.uncached), (Some(0), 0));
        let again = cache.count(&request(&long, &["a", "b"]), now.plus_ms(1_000));
        assert_eq!(
            again.cache_read,
            Some(first.cache_write),
            "all of the turn before"
        );
        let other = cache.count(&request(&long, &["other job"]), now.plus_ms(2_000));
        let shared = other.cache_read.unwrap();
        assert!(shared > 1_200 && shared < first.cache_write, "{other:?}");
        let changed = cache.count(&request(&format!("x{long}"), &["a"]), now.plus_ms(3_000));
        assert_eq!(changed.cache_read, Some(0), "one byte at the front");
        let late = cache.count(&request(&long, &["a"]), now.plus_ms(6 * 60_000));
        assert_eq!(late.cache_read, Some(0), "five minutes later");
        let mut hour = request(&long, &["a"]);
        hour.system[0].cache = Some(CacheMark::OneHour);
        let mut cache = PrefixCache::default();
        let first = cache.count(&hour, now);
        assert!(
            first.cache_write_1h > 1_200 && first.cache_write < 10,
            "{first:?}"
        );
        let later = cache.count(&request(&long, &["b"]), now.plus_ms(50 * 60_000));
        assert_eq!(later.cache_read, Some(first.cache_write_1h));
        let short = PrefixCache::default().count(&request("short", &["a"]), now);
        assert_eq!((short.cache_write, short.cache_read), (0, Some(0)));
    }
}
