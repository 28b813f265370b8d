//! The binary as its users meet it. One program, so that tests which wait do so beside each other and the
//! whole is linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    reason = "a test that cannot go on says so by panicking; helpers serve several programs"
)]

mod pty_support;
mod stub_provider;
mod support;

#[path = "amendments.rs"]
mod amendments;
#[path = "bad_input.rs"]
mod bad_input;
#[path = "budgets.rs"]
mod budgets;
#[path = "chat_kill.rs"]
mod chat_kill;
#[path = "crontab_run.rs"]
mod crontab_run;
#[path = "crontab_to_timers.rs"]
mod crontab_to_timers;
#[path = "doubt.rs"]
mod doubt;
#[path = "json_docs.rs"]
mod json_docs;
#[path = "kill.rs"]
mod kill;
#[path = "models_cli.rs"]
mod models_cli;
#[path = "plans.rs"]
mod plans;
#[path = "practice_migration.rs"]
mod practice_migration;
#[path = "restart_consent.rs"]
mod restart_consent;
#[path = "sampling.rs"]
mod sampling;
#[path = "signals.rs"]
mod signals;
#[path = "stories.rs"]
mod stories;
#[path = "tui_commands.rs"]
mod tui_commands;
