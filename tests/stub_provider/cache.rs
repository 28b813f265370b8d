//! The stub's own accounting: prefixes that are identical byte for byte are cached, as real providers do.
//! Four bytes are a token.

use super::conversation::{Conversation, Protocol};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const BYTES_PER_TOKEN: usize = 4;
/// How far before a mark an older entry is looked for, in blocks.
const LOOK_BACK: usize = 20;
/// Granularity of the automatic cache, in tokens.
const AUTOMATIC_STEP: usize = 128;
/// Prompts remembered by the automatic cache.
const MAX_PROMPTS: usize = 512;

/// What one turn took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    pub uncached: u64,
    pub read: u64,
    pub written_5m: u64,
    pub written_1h: u64,
    pub output: u64,
}

/// What all turns took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Generations that were billed.
    pub turns: u64,
    pub sum: Counted,
}

impl Accounting {
    pub fn input(&self) -> u64 {
        self.sum.uncached + self.sum.read + self.sum.written_5m + self.sum.written_1h
    }

    /// Input tokens served from the cache, of all.
    pub fn hit_ratio(&self) -> f64 {
        match self.input() {
            0 => 0.0,
            input => self.sum.read as f64 / input as f64,
        }
    }

    pub fn to_json(self) -> Value {
        json!({
            "turns": self.turns, "input": self.input(), "uncached": self.sum.uncached,
            "cache_read": self.sum.read, "cache_write_5m": self.sum.written_5m,
            "cache_write_1h": self.sum.written_1h, "output": self.sum.output,
        })
    }
}

pub struct Cache {
    min_tokens: u64,
    /// Prefix by model and bytes, and until when it lives.
    marked: BTreeMap<(String, String), (Instant, Duration)>,
    prompts: Vec<(String, String)>,
    accounting: Accounting,
}

impl Cache {
    pub fn new(min_tokens: u64) -> Self {
        Self {
            min_tokens,
            marked: BTreeMap::new(),
            prompts: Vec::new(),
            accounting: Accounting::default(),
        }
    }

    pub fn accounting(&self) -> Accounting {
        self.accounting
    }

    /// Counts one generation and remembers its prefixes.
    pub fn count(&mut self, conversation: &Conversation, output: u64) -> Counted {
        let mut counted = match conversation.protocol {
            Protocol::Anthropic => self.by_marks(conversation),
            Protocol::Chat => self.automatic(conversation),
        };
        counted.output = output;
        let sum = &mut self.accounting.sum;
        sum.uncached += counted.uncached;
        sum.read += counted.read;
        sum.written_5m += counted.written_5m;
        sum.written_1h += counted.written_1h;
        sum.output += counted.output;
        self.accounting.turns += 1;
        counted
    }

    fn by_marks(&mut self, conversation: &Conversation) -> Counted {
        let now = Instant::now();
        self.marked.retain(|_, (until, _)| *until > now);
        let mut prefixes = Vec::new();
        let mut all = String::new();
        for segment in &conversation.segments {
            all.push_str(&segment.bytes);
            all.push('\u{1}');
            prefixes.push(all.clone());
        }
        let tokens = |bytes: usize| (bytes / BYTES_PER_TOKEN) as u64;
        let key = |at: usize| (conversation.model.clone(), digest(&prefixes[at]));
        let marks: Vec<usize> = (0..prefixes.len())
            .filter(|at| conversation.segments[*at].mark.is_some())
            .filter(|at| tokens(prefixes[*at].len()) >= self.min_tokens)
            .collect();
        let hit = marks
            .iter()
            .flat_map(|mark| mark.saturating_sub(LOOK_BACK)..=*mark)
            .filter(|at| self.marked.contains_key(&key(*at)))
            .max();
        let read = hit.map_or(0, |at| tokens(prefixes[at].len()));
        if let Some((until, life)) = hit.and_then(|at| self.marked.get_mut(&key(at))) {
            *until = now + *life;
        }
        let mut counted = Counted {
            read,
            ..Counted::default()
        };
        let mut done = read;
        for at in marks {
            let seconds = conversation.segments[at].mark.unwrap_or(300);
            let life = Duration::from_secs(seconds);
            self.marked.insert(key(at), (now + life, life));
            let here = tokens(prefixes[at].len());
            let fresh = here.saturating_sub(done);
            done = done.max(here);
            match seconds {
                3_600 => counted.written_1h += fresh,
                _ => counted.written_5m += fresh,
            }
        }
        counted.uncached = tokens(all.len()).saturating_sub(done);
        counted
    }

    /// The longest common beginning with any earlier prompt of the model.
    fn automatic(&mut self, conversation: &Conversation) -> Counted {
        let prompt: String = conversation
            .segments
            .iter()
            .map(|one| format!("{}\u{1}", one.bytes))
            .collect();
        let common = self
            .prompts
            .iter()
            .filter(|(model, _)| *model == conversation.model)
            .map(|(_, other)| {
                let pairs = other.as_bytes().iter().zip(prompt.as_bytes());
                pairs.take_while(|(a, b)| a == b).count()
            })
            .max()
            .unwrap_or(0);
        let step = AUTOMATIC_STEP * BYTES_PER_TOKEN;
        let read = (common / step * step / BYTES_PER_TOKEN) as u64;
        let read = if read >= self.min_tokens { read } else { 0 };
        let all = (prompt.len() / BYTES_PER_TOKEN) as u64;
        if self.prompts.len() >= MAX_PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push((conversation.model.clone(), prompt));
        Counted {
            uncached: all.saturating_sub(read),
            read,
            ..Counted::default()
        }
    }
}

/// Two different 64-bit sums and the length: enough to tell prompts of a test apart.
fn digest(text: &str) -> String {
    let (mut a, mut b) = (0xcbf2_9ce4_8422_2325_u64, 5381_u64);
    for byte in text.bytes() {
        a = (a ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        b = b.wrapping_mul(33).wrapping_add(u64::from(byte));
    }
    format!("{a:x}-{b:x}-{}", text.len())
}
