//! Inputs from outside, changed at random: nothing makes a parser panic, hang or let something through.
//!
//! The seeds lie in tests/corpus/, one folder a target; each is replayed as it is, and then cut, spliced and
//! flipped. An input that once failed becomes a file there. `DOGWATCH_FUZZ` is the number of changed inputs
//! a target (300); cargo-fuzz would want a nightly compiler.

use dogwatch::contract::parse_goal_bytes;
use dogwatch::ledger::Event;
use dogwatch::ledger::filter::Filter;
use dogwatch::model::SafeText;
use dogwatch::world::ports::{Output, Rows, RunState};
use dogwatch::world::strict_json;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest that one input may take; they take microseconds.
const SOON: Duration = Duration::from_secs(2);

/// A small generator, the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(target);
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    all.sort();
    assert!(all.len() >= 4, "{target}: {} seeds", all.len());
    all
}

/// Bytes that parsers trip over.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xf0\x9f",
    b"\n",
    b"\r",
    b"1e999",
    b"-",
    b"99999999999999999999",
    b"\\ud800",
    b"'''",
    b"\"\"\"",
    b"#",
    b"=",
    b"\x1b[",
    b"\xe2\x80\xae",
    b"null",
    b"(",
    b")",
];

fn changed(seeds: &[(String, Vec<u8>)], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].1.clone();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 => bytes.truncate(at),
            2 => {
                let until = (at + dice.below(40)).min(bytes.len());
                bytes.drain(at..until);
            }
            3 => {
                let other = &seeds[dice.below(seeds.len())].1;
                let from = dice.below(other.len() + 1);
                let until = (from + dice.below(200)).min(other.len());
                bytes.splice(at..at, other[from..until].iter().copied());
            }
            4 => {
                let piece = PIECES[dice.below(PIECES.len())].repeat(1 + dice.below(3));
                bytes.splice(at..at, piece);
            }
            _ => {
                let until = (at + 1 + dice.below(30)).min(bytes.len());
                let copy = bytes[at..until].repeat(1 + dice.below(20));
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes.truncate(64 * 1024);
    bytes
}

fn fuzz(target: &str, number: u64, holds: impl Fn(&[u8]) -> bool) {
    let seeds = seeds(target);
    let count: u64 = std::env::var("DOGWATCH_FUZZ").map_or(300, |text| text.parse().unwrap());
    let seed: u64 = std::env::var("DOGWATCH_SEED").map_or(1, |text| text.parse().unwrap());
    let mut dice = Dice(seed * 7_919 + number);
    let mut taken = 0_u64;
    let mut try_one = |bytes: &[u8]| {
        let begun = Instant::now();
        taken += u64::from(holds(bytes));
        assert!(
            begun.elapsed() < SOON,
            "{target}: slow: {:?}",
            String::from_utf8_lossy(bytes)
        );
    };
    for (_, bytes) in &seeds {
        try_one(bytes);
    }
    for _ in 0..count {
        try_one(&changed(&seeds, &mut dice));
    }
    assert!(taken > 0, "{target}: not one input was taken");
    println!(
        "{target}: {} seeds, {count} changed, {taken} taken",
        seeds.len()
    );
}

#[test]
fn goal_files() {
    fuzz("goal", 1, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        match parse_goal_bytes(bytes, Path::new("/"), None) {
            Ok(goal) => {
                assert!(!goal.contract.owner.0.is_empty());
                true
            }
            Err(error) => {
                let report = error.report("goal.toml", &text);
                assert!(!report.as_str().is_empty() && report.as_str().len() < 200_000);
                assert!(!report.as_str().contains('\u{1b}'));
                false
            }
        }
    });
}

#[test]
fn replies_of_adapters() {
    fuzz("reply", 2, |bytes| match strict_json::parse(bytes) {
        Ok(value) => {
            let text = serde_json::to_string(&value).unwrap();
            let again = strict_json::parse(text.as_bytes());
            assert_eq!(again, Ok(value.clone()), "written and read again");
            // What a type does not know is refused, never dropped.
            if let Ok(state) = strict_json::typed::<RunState>(value.clone()) {
                assert_eq!(
                    serde_json::to_value(state).unwrap()["state"],
                    value["state"]
                );
            }
            let _ = strict_json::typed::<Output>(value.clone());
            let _ = strict_json::typed::<Rows>(value);
            true
        }
        Err(why) => {
            assert!(!why.is_empty() && why.len() < 2_000, "{why}");
            false
        }
    });
}

#[test]
fn texts() {
    fuzz("text", 3, |bytes| {
        for safe in [
            SafeText::block_from_bytes(bytes),
            SafeText::line(&String::from_utf8_lossy(bytes)),
        ] {
            for c in safe.as_str().chars() {
                let acts = (c.is_control() && c != '\n')
                    || matches!(c as u32, 0x200b..=0x200f | 0x2028..=0x202e | 0x2066..=0x2069 | 0xfeff | 0xe0000..=0xe0fff);
                assert!(!acts, "{:04X} in {safe:?}", c as u32);
            }
        }
        true
    });
}

#[test]
fn filters() {
    fuzz("filter", 4, |bytes| {
        match Filter::parse(&String::from_utf8_lossy(bytes)) {
            Ok(_) => true,
            Err(why) => {
                assert!(!why.is_empty());
                false
            }
        }
    });
}

/// A seed is the kind, a line break and the body.
#[test]
fn bodies_of_entries() {
    fuzz("event", 5, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let (kind, body) = text.split_once('\n').unwrap_or((&text, ""));
        let Ok(event) = Event::from_stored(kind, body) else {
            return false;
        };
        let (own, again) = event.to_stored().unwrap();
        assert_eq!(own, kind, "an entry is of the kind that it says");
        assert_eq!(
            Event::from_stored(&own, &again)
                .unwrap()
                .to_stored()
                .unwrap()
                .1,
            again
        );
        true
    });
}
