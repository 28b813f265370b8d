//! The ledger: what was intended and what came of it.
//!
//! One SQLite file. `events` is append-only and chained by hash; everything else but `blobs` and
//! `engine` is a projection that `apply` alone writes, in the event's own transaction. Nothing
//! outside this module sees SQL.

mod apply;
mod blobs;
pub mod decide;
mod error;
pub mod event;
pub mod facts;
pub mod filter;
mod lock;
pub mod read;
mod reserve;
mod schema;
mod store;
mod verify;

pub use error::LedgerError;
pub use event::{Act, Actor, Entry, Event};
pub use facts::JobFacts;
pub use lock::{Holder, engine_runs};
pub use read::Reader;
pub use store::{Batch, Ledger};
pub use verify::{Damage, VerifyReport, verify};

#[cfg(test)]
mod tests;
