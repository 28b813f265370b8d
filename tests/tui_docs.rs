//! What the documents say of the interface is what it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a marked block of docs/interface.md; with UPDATE_DOCS set, writes it.
fn block_is(marker: &str, wanted: &str) {
    let path = root().join("docs/interface.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = text.find(&format!("<!-- {marker}:")).unwrap();
    let begin = begin + text[begin..].find("-->\n").unwrap() + 4;
    let end = begin + text[begin..].find("<!-- end -->").unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let new = format!("{}\n{wanted}\n{}", &text[..begin], &text[end..]);
        std::fs::write(&path, new).unwrap();
        return;
    }
    assert_eq!(
        text[begin..end].trim(),
        wanted.trim(),
        "UPDATE_DOCS=1 cargo test --test parts tui_docs:: -- --test-threads=1 writes it"
    );
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut here: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    here.sort();
    for path in here {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// The numbers after the word, as in `Requirements 1, 3 and 15: …`.
fn numbers(line: &str) -> Vec<u32> {
    let Some((_, rest)) = line.split_once("Requirement") else {
        return Vec::new();
    };
    rest.trim_start_matches('s')
        .replace(',', " ")
        .split_whitespace()
        .map(|word| word.trim_end_matches([':', '.']).to_owned())
        .take_while(|word| word == "and" || word.parse::<u32>().is_ok())
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Tests by the requirements that their names or comments name.
fn held() -> BTreeMap<u32, Vec<String>> {
    let mut files = Vec::new();
    for dir in ["src/tui", "src/cli", "tests"] {
        sources(&root().join(dir), &mut files);
    }
    let mut held: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut named = Vec::new();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("///") {
                named.extend(numbers(line));
            } else if line == "#[test]" {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("fn ") {
                if is_test {
                    let name = rest.split('(').next().unwrap();
                    let own = name.strip_prefix("requirement_");
                    named.extend(own.and_then(|rest| rest.get(..2)?.parse::<u32>().ok()));
                    named.sort_unstable();
                    named.dedup();
                    for number in &named {
                        held.entry(*number).or_default().push(name.to_owned());
                    }
                }
                named.clear();
                is_test = false;
            }
        }
    }
    held
}

#[test]
fn the_documented_keys_are_the_table_s() {
    block_is("keys", &dogwatch::tui::keymap::markdown());
}

#[test]
fn every_requirement_is_held_by_a_test_that_names_it() {
    let held = held();
    let by_name = |number: &u32| {
        let own = format!("requirement_{number:02}_");
        let mut names = held.get(number).into_iter().flatten();
        names.any(|name| name.starts_with(&own))
    };
    let missing: Vec<u32> = (1..=20).filter(|number| !by_name(number)).collect();
    assert_eq!(missing, [0_u32; 0]);
    let mut table = String::from("| number | tests |\n|---|---|\n");
    for (number, names) in &held {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        table.push_str(&format!("| {number} | {} |\n", names.join(", ")));
    }
    block_is("requirements", &table);
}

/// With the binary of this build in the place of the installed one.
#[test]
fn the_unit_is_one_that_systemd_accepts() {
    let text = std::fs::read_to_string(root().join("assets/dogwatch.service")).unwrap();
    let start = "ExecStart=/usr/local/bin/dogwatch run --headless";
    assert!(text.contains(start));
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let unit = dir.path().join("dogwatch.service");
    let here = format!(
        "ExecStart={} run --headless",
        env!("CARGO_BIN_EXE_dogwatch")
    );
    let text = text
        .replace(start, &here)
        .replace("man:dogwatch(1)", "https://example.org/");
    std::fs::write(&unit, text).unwrap();
    let out = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&unit)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    let own: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("dogwatch.service"))
        .collect();
    assert!(out.status.success() && own.is_empty(), "{said}");
}
