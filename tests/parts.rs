//! The parts of the library, tested from outside. One program, linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    reason = "a test that cannot go on says so by panicking; helpers serve several programs"
)]

mod check_world;
mod engine_support;
mod stub_provider;

#[path = "agent_worker.rs"]
mod agent_worker;
#[path = "arrows.rs"]
mod arrows;
#[path = "check_command.rs"]
mod check_command;
#[path = "check_schedule.rs"]
mod check_schedule;
#[path = "check_variants.rs"]
mod check_variants;
#[path = "check_warehouse.rs"]
mod check_warehouse;
#[path = "engine_noop.rs"]
mod engine_noop;
#[path = "fuzz.rs"]
mod fuzz;
#[path = "goal_file.rs"]
mod goal_file;
#[path = "goal_providers.rs"]
mod goal_providers;
#[path = "provider_client.rs"]
mod provider_client;
#[path = "simulation.rs"]
mod simulation;
#[path = "tui_docs.rs"]
mod tui_docs;
