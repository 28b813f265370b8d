//! A gigabyte of output costs no memory. Alone in its file, because it measures its own process.

use dogwatch::world::process::{DEFAULT_STDOUT_CAP, ProcessOutcome, ProcessSpec, run};
use std::path::Path;

#[test]
fn a_gigabyte_on_either_stream_does_not_grow_memory() {
    let shell = |script: &str| {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        run(&ProcessSpec::new(argv, Path::new("/"), Vec::new(), 120_000))
    };
    let before = peak_memory_kib();
    let outcome = shell("head -c 1000000000 /dev/zero");
    assert!(
        matches!(
            outcome,
            ProcessOutcome::OutputTooLarge {
                cap: DEFAULT_STDOUT_CAP,
                ..
            }
        ),
        "{outcome:?}"
    );
    let outcome = shell("head -c 1000000000 /dev/zero >&2");
    assert!(matches!(outcome, ProcessOutcome::Exited { code: 0, .. }));
    let grown = peak_memory_kib() - before;
    assert!(grown < 20_000, "{grown} KiB");
}

#[allow(clippy::unwrap_used)] // A helper of tests.
fn peak_memory_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
