//! Files that no worker may change: their digests before and after.

use crate::contract::Goal;
use crate::model::{Digest, digest_bytes};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Most files watched.
const MAX_FILES: usize = 500;
/// Only so much of a file is read, with its length: a checker is no archive.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The files that decide what is true for a goal: executables and files that its clauses and ports name.
pub fn watched_files(goal: &Goal) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for clause in &goal.contract.accept {
        for value in clause.params.values() {
            words(value, &goal.base_dir, &mut found);
        }
    }
    for table in goal.contract.world.ports.values() {
        if let Some(run) = table.get("run") {
            words(run, &goal.base_dir, &mut found);
        }
    }
    found.into_iter().take(MAX_FILES).collect()
}

fn words(value: &Value, base_dir: &Path, found: &mut BTreeSet<PathBuf>) {
    match value {
        Value::String(text) => {
            let file = base_dir.join(text);
            if (text.starts_with("./") || text.starts_with("../") || text.starts_with('/'))
                && file.is_file()
            {
                found.insert(file);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| words(item, base_dir, found)),
        _ => {}
    }
}

/// Digests at one moment.
#[derive(Debug)]
pub struct Watched(Vec<(PathBuf, Option<Digest>)>);

impl Watched {
    /// As the files are now.
    pub fn take(files: &[PathBuf]) -> Self {
        Self(
            files
                .iter()
                .map(|file| (file.clone(), digest(file)))
                .collect(),
        )
    }

    /// Those that are different now, by name.
    pub fn changed(&self) -> Vec<String> {
        self.0
            .iter()
            .filter(|(file, before)| digest(file) != *before)
            .map(|(file, _)| file.to_string_lossy().into_owned())
            .collect()
    }
}

/// `None` for a file that cannot be read, which is a difference too.
fn digest(file: &Path) -> Option<Digest> {
    let open = std::fs::File::open(file).ok()?;
    let length = open.metadata().ok()?.len();
    let mut bytes = length.to_be_bytes().to_vec();
    open.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(digest_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_a_removal_and_a_new_link_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b", "c"] {
            std::fs::write(at(name), "x").unwrap();
        }
        let files = [at("a"), at("b"), at("c"), at("absent")];
        let watched = Watched::take(&files);
        assert!(watched.changed().is_empty());
        std::fs::write(at("a"), "y").unwrap();
        std::fs::remove_file(at("b")).unwrap();
        std::fs::write(at("absent"), "").unwrap();
        let changed = watched.changed();
        assert_eq!(changed.len(), 3, "{changed:?}");
        assert!(!changed.iter().any(|file| file.ends_with("/c")));
    }
}
