//! What surrounds the interface on the command line: welcome, configuration, completions, manual.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::pty_support;

use pty_support::Term;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// Runs the binary in a home of its own.
fn run(home: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dogwatch"))
        .args(words)
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env_remove("DOGWATCH_LEDGER")
        .env_remove("DOGWATCH_CONFIG")
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn without_a_ledger_it_says_how_to_begin_and_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &[]);
    assert!(output.status.success());
    assert!(out(&output).contains("dogwatch demo --tour"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn at_a_terminal_the_welcome_offers_the_tour() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let program = Path::new("/usr/bin/env");
    let data = format!("XDG_DATA_HOME={home}/data");
    let config = format!("XDG_CONFIG_HOME={home}/config");
    let binary = env!("CARGO_BIN_EXE_dogwatch");
    let mut term = Term::start(program, [data.as_str(), &config, binary]);
    term.sees("with its tour now?");
    term.keys("y\n");
    term.sees("Tour 1 of");
    term.keys("j");
    term.sees("Tour 2 of");
    term.keys("q");
    term.sees("stop after the current steps");
    term.keys("w");
    term.exits(Duration::from_secs(20));
    term.is_restored();
}

#[test]
fn the_printed_default_file_is_accepted_and_a_mistake_in_it_is_not() {
    let home = tempfile::tempdir().unwrap();
    let default = out(&run(home.path(), &["config", "--default"]));
    let dir = home.path().join("config/dogwatch");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("config.toml");
    std::fs::write(&file, &default).unwrap();
    let fine = run(home.path(), &["config"]);
    assert!(out(&fine).contains("is in order"), "{fine:?}");
    let wrong = default.replace("# calm = false", "clam = true");
    let line = wrong
        .lines()
        .position(|line| line == "clam = true")
        .unwrap()
        + 1;
    std::fs::write(&file, wrong).unwrap();
    for words in [&["config"][..], &["attach"], &["demo", "--jobs", "3"]] {
        let output = run(home.path(), words);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let wanted = format!("line {line}: clam is no setting; did you mean calm?");
        assert!(text.contains(&wanted), "{text}");
    }
    let named = run(home.path(), &["config", "--config", "/nowhere/config.toml"]);
    assert_eq!(named.status.code(), Some(1));
}

#[test]
fn every_subcommand_is_in_the_completions_and_in_the_manual() {
    let home = tempfile::tempdir().unwrap();
    let bash = out(&run(home.path(), &["completions", "bash"]));
    let man = out(&run(home.path(), &["man"]));
    assert!(man.starts_with(".ie"), "roff: {}", &man[..40]);
    for name in ["demo", "run", "attach", "approve", "config", "verify"] {
        assert!(bash.contains(name), "{name}");
        assert!(
            man.contains(&format!("DOGWATCH {}", name.to_uppercase())),
            "{name}"
        );
    }
    assert!(man.contains("\\-\\-read\\-only"));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(run(home.path(), &["completions", shell]).status.success());
    }
}
