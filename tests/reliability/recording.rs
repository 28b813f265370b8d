//! What a run wrote and flushed, in order, as strace saw it; and what a disk may hold of it.

use super::strace::{traced, with_end};
use crate::support::practice::Demo;
use crate::support::{Dice, Running};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A disk writes whole sectors, in any order.
const SECTOR: usize = 512;

/// One act on a file.
#[derive(Debug)]
pub enum Act {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
    Remove,
    Flush,
}

/// A whole run.
pub struct Recording {
    /// File by its number in `files`.
    pub acts: Vec<(usize, Act)>,
    pub files: Vec<PathBuf>,
}

/// Places in [`Recording::files`].
pub const LEDGER: usize = 0;
pub const HEAD: usize = 3;

impl Recording {
    /// Runs a demo to its end under strace.
    pub fn of(demo: &Demo) -> Self {
        let ledger = demo.ledger();
        let files: Vec<PathBuf> = ["", "-wal", "-journal", ".head"]
            .iter()
            .map(|end| with_end(&ledger, end))
            .collect();
        let log = tempfile::NamedTempFile::new().unwrap();
        let calls = "pwrite64,write,fsync,fdatasync,ftruncate,unlink";
        // Whole writes as hex, and the path of each descriptor.
        let more = ["-y", "-xx", "-s", "70000"];
        let mut command = traced(&demo.command(), &more, &[], calls, log.path(), "");
        let ended = Running::start(&mut command).wait(super::share::PATIENCE);
        ended.expect("the recorded run hangs").expect_code(0);
        let text = std::fs::read_to_string(log.path()).unwrap();
        let acts = text.lines().filter_map(|line| act(line, &files)).collect();
        Self { acts, files }
    }

    /// Sequence number and hash that the engine had taken for durable before an act.
    pub fn acknowledged(&self, before: usize) -> Option<(i64, String)> {
        self.acts[..before]
            .iter()
            .rev()
            .find_map(|(file, act)| match act {
                Act::Write { bytes, .. } if *file == HEAD => {
                    let text = String::from_utf8(bytes.clone()).unwrap();
                    let (seq, hash) = text.trim().split_once(' ')?;
                    Some((seq.parse().unwrap(), hash.to_owned()))
                }
                _ => None,
            })
    }
}

/// `123 pwrite64(5</path>, "\x00…", 24, 32) = 24`
fn act(line: &str, files: &[PathBuf]) -> Option<(usize, Act)> {
    let line = line.split_once(' ')?.1.trim_start();
    let (call, rest) = line.split_once('(')?;
    let file = |path: &str| files.iter().position(|own| own.to_str() == Some(path));
    if call == "unlink" {
        let path = String::from_utf8(unhex(quoted(rest)?)).ok()?;
        return Some((file(&path)?, Act::Remove));
    }
    let path = rest.split_once('<')?.1.split_once('>')?.0;
    // With -xx the path of a descriptor may be written in hex as well.
    let path = if path.contains("\\x") {
        String::from_utf8(unhex(path)).ok()?
    } else {
        path.to_owned()
    };
    let place = file(&path)?;
    let numbers: Vec<&str> = rest.rsplit_once(')')?.0.rsplit(", ").collect();
    let act = match call {
        "pwrite64" => Act::Write {
            at: numbers.first()?.parse().ok()?,
            bytes: unhex(quoted(rest)?),
        },
        "write" => Act::Write {
            at: 0,
            bytes: unhex(quoted(rest)?),
        },
        "ftruncate" => Act::Cut(numbers.first()?.parse().ok()?),
        "fsync" | "fdatasync" => Act::Flush,
        _ => return None,
    };
    Some((place, act))
}

fn quoted(text: &str) -> Option<&str> {
    Some(text.split_once('"')?.1.split_once('"')?.0)
}

fn unhex(text: &str) -> Vec<u8> {
    text.split("\\x")
        .skip(1)
        .map(|pair| u8::from_str_radix(&pair[..2], 16).unwrap())
        .collect()
}

/// A file as the disk has it and as the system showed it.
#[derive(Default, Clone)]
struct File {
    durable: Option<Vec<u8>>,
    shown: Option<Vec<u8>>,
    /// Sectors written and cuts made since the last flush.
    pending: Vec<(usize, Vec<u8>)>,
}

/// What may lie on the disk when the power goes before an act: everything flushed, and of the rest any
/// sectors in any order. `lying` is a disk that says it flushed and did not.
pub fn image(
    recording: &Recording,
    before: usize,
    lying: bool,
    dice: &mut Dice,
) -> BTreeMap<usize, Vec<u8>> {
    let mut files: Vec<File> = vec![File::default(); recording.files.len()];
    for (place, act) in &recording.acts[..before] {
        let file = &mut files[*place];
        match act {
            Act::Write { at, bytes } => {
                let shown = file.shown.get_or_insert_default();
                put(shown, *at, bytes);
                file.pending.push((*at, bytes.clone()));
            }
            Act::Cut(length) => {
                // A cut is metadata, which the file systems order before later flushes.
                for content in [&mut file.shown, &mut file.durable].into_iter().flatten() {
                    content.resize(*length, 0);
                }
                file.pending.retain(|(at, _)| at < length);
            }
            Act::Remove => {
                file.shown = None;
                file.pending.clear();
                // The removal itself may not have reached the disk before the next flush of anything.
                if dice.between(0, 2) == 0 {
                    file.durable = None;
                }
            }
            Act::Flush if lying => {}
            Act::Flush => {
                file.durable.clone_from(&file.shown);
                file.pending.clear();
                for other in &mut files {
                    if other.shown.is_none() {
                        other.durable = None;
                    }
                }
            }
        }
    }
    files
        .into_iter()
        .enumerate()
        .filter_map(|(place, file)| Some((place, on_disk(file, dice)?)))
        .collect()
}

fn on_disk(file: File, dice: &mut Dice) -> Option<Vec<u8>> {
    let mut content = match (file.durable, file.pending.is_empty()) {
        (Some(durable), _) => durable,
        (None, true) => return None,
        (None, false) => Vec::new(),
    };
    // All, none, or some: the extremes are drawn as often as the mixtures.
    let luck = dice.between(0, 4);
    for (at, bytes) in &file.pending {
        for (index, sector) in sectors(*at, bytes) {
            let kept = match luck {
                0 => false,
                1 => true,
                _ => dice.between(0, 2) == 0,
            };
            if kept {
                put(&mut content, index, sector);
            }
        }
    }
    Some(content)
}

/// The parts of a write that lie in one sector each.
fn sectors(at: usize, bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    let mut from = 0;
    while from < bytes.len() {
        let place = at + from;
        let until = (SECTOR - place % SECTOR).min(bytes.len() - from);
        parts.push((place, &bytes[from..from + until]));
        from += until;
    }
    parts
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if content.len() < at + bytes.len() {
        content.resize(at + bytes.len(), 0);
    }
    content[at..at + bytes.len()].copy_from_slice(bytes);
}
