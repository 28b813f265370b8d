//! dogwatch: supervise goals that take days to months.
//!
//! The goal is a contract, the ledger is intent, the environment is fact.

pub mod check;
pub mod cli;
pub mod contract;
pub mod engine;
pub mod lab;
pub mod ledger;
pub mod model;
pub mod tui;
pub mod worker;
pub mod world;
