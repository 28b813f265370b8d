//! The house's arrows: which module may import which. Reads the sources; fails on an import that points
//! the wrong way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers may fail it"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Each module and what it may import beside itself. `main.rs`, `lib.rs` and `bin/` are not in it: they may name
/// anything.
const HOUSE: &[(&str, &[&str])] = &[
    (
        "cli",
        &[
            "check", "contract", "engine", "lab", "ledger", "model", "tui", "worker", "world",
        ],
    ),
    ("tui", &["contract", "ledger", "model"]),
    (
        "engine",
        &["check", "contract", "ledger", "model", "worker", "world"],
    ),
    (
        "lab",
        &[
            "check", "contract", "engine", "ledger", "model", "worker", "world",
        ],
    ),
    ("check", &["contract", "model", "world"]),
    ("worker", &["contract", "model", "world"]),
    ("world", &["contract", "model"]),
    ("ledger", &["model"]),
    ("contract", &["model"]),
    ("model", &[]),
];

/// Arrows that point the wrong way and are known to: (importing module, imported module). The test also
/// fails when one of them is gone, so that this list can only shrink.
const KNOWN_FLAWS: &[(&str, &str)] = &[];

/// Crates that only `src/tui` may name.
const TERMINAL_CRATES: &[&str] = &["ratatui", "crossterm", "ratatui_textarea"];

/// Source text without comments and without the content of texts, so that words in them are no imports.
fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_text(rest, out.chars().next_back()) {
            length
        } else if first == '"' {
            plain_text(rest)
        } else if let Some(length) = char_literal(rest) {
            length
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skip..];
    }
    out
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of `r"…"`, `r#"…"#`, also with a `b` before it that was taken for a name.
fn raw_text(text: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c != 'b' && (c.is_alphanumeric() || c == '_')) {
        return None;
    }
    let hashes = text
        .strip_prefix('r')?
        .chars()
        .take_while(|c| *c == '#')
        .count();
    let inside = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(2 + hashes + length)
}

fn plain_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of `'x'` or `'\…'`; a lifetime is none.
fn char_literal(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let mut chars = inside.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (after, _) = chars.nth(1)?;
        return Some(1 + after + inside[after..].find('\'')? + 1);
    }
    let (after, quote) = chars.next()?;
    (quote == '\'').then_some(1 + after + 1)
}

/// The modules of ours that a file names, through `crate::`, `dogwatch::` or a chain of `super::`.
/// `modules` is the file's module path below the crate, such as `["tui", "view", "jobs"]`.
fn imports(source: &str, modules: &[&str]) -> BTreeSet<String> {
    let code: String = code_only(source)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let code = code.replace(" ::", "::").replace(":: ", "::");
    let mut found = BTreeSet::new();
    let climb = "super::".repeat(modules.len());
    let mut roots = vec!["crate::".to_owned(), "dogwatch::".to_owned()];
    if !modules.is_empty() {
        roots.push(climb);
    }
    for root in &roots {
        for (at, _) in code.match_indices(root.as_str()) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            // A module inside the file, such as its tests, climbs one step more.
            let rest = code[at + root.len()..].trim_start_matches("super::");
            found.extend(first_names(rest));
        }
    }
    found
}

/// The first name of a path, or of each path of a `{…}` group.
fn first_names(text: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let Some(group) = text.strip_prefix('{') else {
        return vec![name(text)];
    };
    let mut names = vec![name(group)];
    let mut depth = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(name(&group[at + 1..])),
            _ => {}
        }
    }
    names
}

/// What is wrong with one file: sentences, and the known flaws that it has.
fn judge(path: &str, source: &str) -> (Vec<String>, BTreeSet<(String, String)>) {
    let (mut problems, mut known) = (Vec::new(), BTreeSet::new());
    let modules: Vec<&str> = path
        .trim_end_matches(".rs")
        .split('/')
        .filter(|part| *part != "mod")
        .collect();
    let top = modules[0];
    if top != "tui" {
        let code = code_only(source);
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words: BTreeSet<&str> = words.collect();
        for terminal in TERMINAL_CRATES {
            if words.contains(terminal) {
                problems.push(format!("src/{path} names {terminal}; only src/tui may"));
            }
        }
    }
    if ["main", "lib", "bin"].contains(&top) {
        return (problems, known);
    }
    let Some((_, allowed)) = HOUSE.iter().find(|(module, _)| *module == top) else {
        problems.push(format!("src/{path}: {top} has no place in the house"));
        return (problems, known);
    };
    for import in imports(source, &modules) {
        let is_module = HOUSE.iter().any(|(module, _)| *module == import);
        if !is_module || import == top || allowed.contains(&import.as_str()) {
            continue;
        }
        if KNOWN_FLAWS.contains(&(top, import.as_str())) {
            known.insert((top.to_owned(), import));
        } else {
            problems.push(format!("src/{path} imports {import}; {top} may not"));
        }
    }
    (problems, known)
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_import_points_the_wrong_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    assert!(files.len() > 20, "the sources were not found");
    let (mut problems, mut known) = (Vec::new(), BTreeSet::new());
    for file in files {
        let path = file.strip_prefix(&root).unwrap();
        let path = path.to_string_lossy().replace('\\', "/");
        let (wrong, flaws) = judge(&path, &std::fs::read_to_string(&file).unwrap());
        problems.extend(wrong);
        known.extend(flaws);
    }
    for (from, to) in KNOWN_FLAWS {
        if !known.contains(&((*from).to_owned(), (*to).to_owned())) {
            problems.push(format!(
                "{from} does not import {to} any more: take it off KNOWN_FLAWS"
            ));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn a_planted_wrong_import_is_caught() {
    for (path, source) in [
        ("model/ids.rs", "use crate::world::ports::Side;"),
        ("world/ports.rs", "use crate::check::checker;"),
        ("check/schedule.rs", "fn f() { crate::worker::run() }"),
        (
            "engine/mod.rs",
            "use crate::{model::TimeMs, tui::app::App};",
        ),
        (
            "ledger/read.rs",
            "use crate::{\n    contract::{Clause, Goal},\n    model,\n};",
        ),
        (
            "tui/view/jobs.rs",
            "use super::super::super::engine::Engine;",
        ),
        ("contract/parse.rs", "use super::super::world::World;"),
        (
            "contract/types.rs",
            "mod tests { use super::super::super::world::World; }",
        ),
        ("engine/shell.rs", "use ratatui::Frame;"),
        ("main.rs", "fn f() { crossterm::terminal::size() }"),
        ("worker/mod.rs", "use crate :: ledger :: Ledger;"),
        (
            "lab/mod.rs",
            "let x = '\"'; use crate::cli::Cli; let y = '\"';",
        ),
        ("extra/mod.rs", ""),
    ] {
        let (problems, _) = judge(path, source);
        assert_eq!(problems.len(), 1, "{path}: {source}: {problems:?}");
    }
}

#[test]
fn what_is_allowed_or_only_mentioned_passes() {
    for (path, source) in [
        ("cli/run.rs", "use crate::{engine::Engine, tui, ledger};"),
        ("check/mod.rs", "use crate::world::World; use super::check;"),
        ("tui/app.rs", "use ratatui::Frame; use crate::ledger::read;"),
        (
            "model/time.rs",
            "/// See [`crate::engine`].\nuse super::ids;",
        ),
        (
            "model/ids.rs",
            "const X: &str = \"crate::engine\"; /* crate::tui */",
        ),
        ("model/ids.rs", "const X: &str = r#\"\"crate::engine\"#;"),
        (
            "world/practice/mod.rs",
            "use super::super::ports; use md5::worker;",
        ),
        ("main.rs", "use dogwatch::tui;"),
        ("model/mod.rs", "fn f<'a>(x: &'a str) -> char { '\\'' }"),
    ] {
        let (problems, _) = judge(path, source);
        assert_eq!(problems, Vec::<String>::new(), "{path}: {source}");
    }
}
