//! Faults of the machine and of other people's programs, on the real binary: docs/reliability.md.
//!
//! `DOGWATCH_SHARE` is the percentage of a night's numbers (1), `DOGWATCH_BIN` the binary (cargo's own),
//! `DOGWATCH_SEED` decides what is drawn. What a run did is printed: `-- --nocapture --test-threads 1`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    reason = "a test that cannot go on says so by panicking; helpers serve several programs"
)]

mod pty_support;
mod support;

#[path = "reliability/damage.rs"]
mod damage;
#[path = "reliability/disk_full.rs"]
mod disk_full;
#[path = "reliability/engines.rs"]
mod engines;
#[path = "reliability/golden.rs"]
mod golden;
#[path = "reliability/hangup.rs"]
mod hangup;
#[path = "reliability/hostile.rs"]
mod hostile;
#[path = "reliability/io_faults.rs"]
mod io_faults;
#[path = "reliability/kills.rs"]
mod kills;
#[path = "reliability/power_cut.rs"]
mod power_cut;
#[path = "reliability/recording.rs"]
mod recording;
#[path = "reliability/recovery.rs"]
mod recovery;
#[path = "reliability/share.rs"]
mod share;
#[path = "reliability/stage.rs"]
mod stage;
#[path = "reliability/strace.rs"]
mod strace;
